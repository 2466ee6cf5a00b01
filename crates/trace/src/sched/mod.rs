//! Recordings of a Linux scheduler as text: context switches, sleeps and wake-ups of threads.
//!
//! [`SchedReader`] reads these formats, recognised line by line:
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

/// An event of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedEvent {
    /// Time by the clock of the recording.
    pub time_ns: u64,
    /// The CPU that recorded the event.
    pub cpu: u32,
    /// Thread running on that CPU, 0 for the idle task.
    pub current: u32,
    /// The line of the file, counted from one.
    pub line: u64,
    /// The kind of event, with its fields.
    pub kind: SchedKind,
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedKind {
    /// Context switch; 0 is the idle task.
    Switch {
        /// The previous thread.
        from: u32,
        /// Its name.
        from_name: String,
        /// State in which the previous thread stopped.
        prev_state: PrevState,
        /// The next thread.
        to: u32,
        /// Its name.
        to_name: String,
    },
    /// The current thread, or an interrupt, makes a thread runnable.
    Wakeup {
        /// The woken thread.
        thread: u32,
        /// Its name.
        name: String,
        /// Whether it is a new thread.
        new: bool,
    },
    /// A thread creates another.
    Fork {
        /// The creator.
        parent: u32,
        /// The new thread.
        child: u32,
        /// Its name.
        name: String,
    },
    /// A thread is about to end.
    Exit {
        /// The thread.
        thread: u32,
    },
}

/// State of a thread that stops running (`prev_state` of `sched_switch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// Still runnable.
    Preempted,
    /// Asleep until woken.
    Blocked,
    /// Ended.
    Dead,
}
