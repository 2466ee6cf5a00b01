//! Progress on standard error, for work over two seconds on a terminal.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use laxity_sim::Control;

/// Shows how far a simulation is until it is dropped.
pub struct Progress {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Watches `control` on its way to `total_ns` simulated nanoseconds.
    pub fn watch(control: &Arc<Control>, total_ns: u128) -> Progress {
        let done = Arc::new(AtomicBool::new(false));
        if !std::io::stderr().is_terminal() || total_ns == 0 {
            return Progress { done, thread: None };
        }
        let (control, stop) = (Arc::clone(control), Arc::clone(&done));
        let thread = std::thread::spawn(move || {
            let begun = Instant::now();
            let mut shown = false;
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(100));
                if begun.elapsed() > Duration::from_secs(2) {
                    let percent = u128::from(control.reached()) * 100 / total_ns;
                    eprint!("\rsimulating: {:3} %", percent.min(100));
                    let _ = std::io::stderr().flush();
                    shown = true;
                }
            }
            if shown {
                eprint!("\r\x1b[K");
            }
        });
        Progress { done, thread: Some(thread) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
