//! Ctrl-C stops a run and leaves what was finished; a second one ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use laxity_daemon::privileges;
use laxity_sim::Control;

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
    };
    // The thread that waits for it has the privileges of the one that starts it, and needs none.
    let started = std::thread::spawn(move || {
        let _ = privileges::drop_all();
        let _ = ctrlc::set_handler(handle);
    });
    let _ = started.join();
    control
}
