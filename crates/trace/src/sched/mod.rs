//! Recordings of a Linux scheduler as text: who ran, slept and woke whom, and when.
//!
//! [`SchedReader`] takes what these print, told apart line by line:
//! - `perf sched script` and `perf script` of the events of `perf sched record`, with times of six or
//!   nine decimals, with `pid` or `pid/tid`, with or without `sched:` before event names;
//! - `trace-cmd report`, with fields by name or as its plugins write them
//!   (`bash:1234 [120] S ==> idle:0 [120]`), with or without the flags between CPU and time;
//! - the file `trace` of tracefs itself.
//!
//! It understands `sched_switch`, `sched_waking`, `sched_wakeup`, `sched_wakeup_new`,
//! `sched_process_fork` and `sched_process_exit`; other events are counted by name and passed over.
//! [`Recorded`] turns events into bursts and sleeps of each thread.

mod cycles;
mod error;
mod line;
mod reader;
mod threads;

pub use error::{SchedError, SchedErrorKind};
pub use reader::SchedReader;
pub use threads::{Burst, Recorded, RecordedThread, Rest};

/// What happened at an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedEvent {
    /// When, by the clock of the recording.
    pub time_ns: u64,
    /// Where the event was recorded.
    pub cpu: u32,
    /// Who ran there then, 0 for nobody.
    pub current: u32,
    /// The line of the file, counted from one.
    pub line: u64,
    /// What happened.
    pub kind: SchedKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedKind {
    /// A CPU goes from one thread to another; 0 is nobody.
    Switch {
        /// Who ran.
        from: u32,
        /// Its name.
        from_name: String,
        /// Why it stops.
        left: Left,
        /// Who runs now.
        to: u32,
        /// Its name.
        to_name: String,
    },
    /// The current thread, or an interrupt, makes a thread runnable.
    Wakeup {
        /// Who wakes.
        thread: u32,
        /// Its name.
        name: String,
        /// Whether it has never run before.
        new: bool,
    },
    /// A thread makes another.
    Fork {
        /// Who.
        parent: u32,
        /// The new thread.
        child: u32,
        /// Its name.
        name: String,
    },
    /// A thread is about to end.
    Exit {
        /// Who.
        thread: u32,
    },
}

/// Why a thread stops running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It would go on.
    Preempted,
    /// It sleeps until woken.
    Blocked,
    /// It is gone.
    Dead,
}
