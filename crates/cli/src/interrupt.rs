//! Ctrl-C stops a run and leaves what was finished; a second one ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use laxity_daemon::privileges;
use laxity_sim::Control;

/// Whether Ctrl-C or SIGTERM came, for threads that wait for it.
static INTERRUPTED: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());

/// Waits until a [`control`] is stopped, at most so long; whether it is. A process that has nothing else to do sleeps until
/// then, since a look every few milliseconds would keep a CPU from its deeper idle states.
pub fn wait(longest: Option<Duration>) -> bool {
    let (interrupted, changed) = &INTERRUPTED;
    let guard = interrupted.lock().unwrap_or_else(PoisonError::into_inner);
    match longest {
        None => *changed.wait_while(guard, |i| !*i).unwrap_or_else(PoisonError::into_inner),
        Some(longest) => {
            let waited = changed.wait_timeout_while(guard, longest, |i| !*i);
            *waited.unwrap_or_else(PoisonError::into_inner).0
        }
    }
}

/// A control that Ctrl-C stops.
pub fn control() -> Arc<Control> {
    let control = Arc::new(Control::default());
    let (interrupted, stop) = (AtomicBool::new(false), Arc::clone(&control));
    // Without a handler Ctrl-C ends the process as usual, which loses only the partial result.
    let handle = move || {
        if interrupted.swap(true, Ordering::Relaxed) {
            crate::files::abandon();
            std::process::exit(i32::from(crate::failure::INTERRUPTED));
        }
        stop.stop();
        *INTERRUPTED.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        INTERRUPTED.1.notify_all();
    };
    // The thread that waits for it has the privileges of the one that starts it, and needs none.
    let started = std::thread::spawn(move || {
        let _ = privileges::drop_all();
        let _ = ctrlc::set_handler(handle);
    });
    let _ = started.join();
    control
}
