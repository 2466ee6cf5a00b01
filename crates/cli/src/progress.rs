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
                    let part = control.reached() as f64 / total_ns as f64;
                    eprint!("\r\x1b[K{}", line(part, begun.elapsed()));
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

/// Places of the bar.
const BAR: usize = 24;

/// The line for a part that is done after a time: a bar, a percentage, and the time that the rest takes at that
/// speed.
fn line(part: f64, elapsed: Duration) -> String {
    let part = part.clamp(0.0, 1.0);
    let full = (part * BAR as f64) as usize;
    let bar = format!("{}{}", "#".repeat(full), "-".repeat(BAR - full));
    let percent = (part * 100.0) as u32;
    // Of less than a hundredth the speed says little.
    let left = match part {
        0.01.. => elapsed.as_secs_f64() * (1.0 - part) / part,
        _ => return format!("simulating [{bar}] {percent:3} %"),
    };
    let left = match left.ceil() as u64 {
        s if s < 100 => format!("{s} s"),
        s if s < 6000 => format!("{} min", s.div_ceil(60)),
        s => format!("{} h", s.div_ceil(3600)),
    };
    format!("simulating [{bar}] {percent:3} %, {left} left")
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the rest is not that of the speed so far, or a part beyond its ends breaks the bar.
    #[test]
    fn the_rest_is_that_of_the_speed_so_far() {
        let after = |part, seconds| line(part, Duration::from_secs(seconds));
        assert_eq!(after(0.25, 10), "simulating [######------------------]  25 %, 30 s left");
        assert!(after(0.5, 3600).ends_with(" 50 %, 60 min left"));
        assert!(after(0.1, 3600).ends_with(" 10 %, 9 h left"));
        assert!(after(0.001, 5).ends_with("]   0 %"));
        assert!(after(1.5, 5).ends_with("100 %, 0 s left"));
        assert!(after(f64::NAN, 5).starts_with("simulating ["));
    }
}
