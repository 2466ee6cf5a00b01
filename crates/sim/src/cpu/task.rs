//! Workloads of tasks, as data.

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, Reservation, TaskId};
use laxity_scenario::cpu::locks::Section;

use super::Cost;

/// A task of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// For results.
    pub name: String,
    /// Attributes passed to the policy.
    pub attributes: Attributes,
    /// Its workload.
    pub workload: Workload,
    /// When it appears. Its work starts `phase` after its reservation is in force.
    pub joins: Time,
    /// Delay of its first wake-up.
    pub phase: Span,
    /// When it leaves, unless it ends before.
    pub leaves: Option<Time>,
    /// Other attributes later on.
    pub changes: Vec<Change>,
    /// Locks that each of its jobs takes. Two sections of a task nest or follow each other, and end within the
    /// shortest job.
    pub sections: Vec<Section>,
}

/// Other attributes from some instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// When the policy receives the request.
    pub at: Time,
    /// For what.
    pub attributes: Attributes,
}

/// The workload of a task.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// Computes for ever.
    CpuBound,
    /// Sleeps for a while, then computes a little, over and over.
    Interactive {
        /// How long it sleeps.
        sleep: Gap,
        /// How long it computes after each wake-up.
        burst: Cost,
    },
    /// Computes one job in each period: the papers' srtsim, and hard periodic tasks.
    Frames {
        /// Distance between releases.
        period: Span,
        /// From a release to the latest end.
        deadline: Span,
        /// Computation of a job.
        cost: Cost,
        /// The effect of a late job on the next release.
        late: Late,
    },
    /// Computes for ever and looks for an event all the time; the next event comes some time
    /// after the last was seen.
    Poller {
        /// From seeing one event to the next.
        gap: Gap,
    },
    /// Follows these steps, repeatedly if `repeat`.
    Script {
        /// The steps, in order.
        steps: Vec<Step>,
        /// Whether to start again at the end.
        repeat: bool,
    },
}

/// A step of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Compute for so long.
    Run(Span),
    /// Sleep for so long.
    Sleep(Span),
    /// Sleep until so long after the task's first wake-up; no sleep if that has passed.
    SleepUntil(Span),
    /// Sleep until a period after the timer was due last, or after the task's first wake-up; no
    /// sleep if that has passed.
    Timer {
        /// One of the task's timers, counted from zero; few, as there is a place for each.
        timer: u32,
        /// From one time to the next.
        period: Span,
        /// Whether a timer whose time had passed counts from then on.
        relative: bool,
    },
    /// Sleep until another task wakes this one; no sleep for each time that it did so before.
    Await,
    /// Wake a task that waits in [`Step::Await`], or will.
    Wake(TaskId),
    /// Wake a task that waits in [`Step::Await`] now; no effect on any other.
    Notify(TaskId),
    /// Write a message to a buffer of so many; sleep while it is full.
    Send {
        /// The buffer's number.
        buffer: u32,
        /// Messages that it can hold.
        capacity: u32,
    },
    /// Read a message of a buffer; sleep while there is none.
    Receive(u32),
    /// Take a lock, and compute until it is free. Right after a sleep it is taken at the wake-up, before the task runs.
    SpinLock(u32),
    /// Give it back. Of the tasks that spin for it, the first to run takes it.
    SpinUnlock(u32),
}

/// A random length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Always the same.
    Fixed(Span),
    /// Each length between the two as likely.
    Uniform(Span, Span),
    /// Exponential with this mean.
    Exponential(Span),
}

/// The effect of a job that ends after the next release on that release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Late {
    /// The next job is released when the late one ends, and so later ones: the grid moves.
    #[default]
    Rephase,
    /// The next job is released at the next point of the grid; those passed are left out.
    Skip,
    /// Jobs stay on the grid; a backlog builds up.
    Grid,
}

impl Task {
    /// Best effort at nice 0, there from the start.
    pub fn new(name: impl Into<String>, workload: Workload) -> Task {
        Task {
            name: name.into(),
            attributes: Attributes::default(),
            workload,
            joins: Time::ZERO,
            phase: Span::ZERO,
            leaves: None,
            changes: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// The same with other attributes.
    #[must_use]
    pub fn with(self, attributes: Attributes) -> Task {
        Task { attributes, ..self }
    }

    /// The same, appearing at an instant.
    #[must_use]
    pub fn joining(self, joins: Time) -> Task {
        Task { joins, ..self }
    }

    /// The same, with a section of a lock in each job.
    #[must_use]
    pub fn locking(mut self, lock: u32, at: Span, hold: Span) -> Task {
        self.sections.push(Section { lock, at, hold });
        self
    }

    /// A hard task with a job of `cost` in each period of its reservation.
    pub fn hard(name: impl Into<String>, reservation: Reservation, cost: Cost) -> Task {
        let Reservation { period, deadline, .. } = reservation;
        let workload = Workload::Frames { period, deadline, cost, late: Late::Grid };
        Task::new(name, workload).with(Attributes::hard(reservation))
    }

    /// A soft periodic task that is due at its next release, late frames moving the grid.
    pub fn frames(name: impl Into<String>, period: Span, cost: Cost) -> Task {
        let late = Late::Rephase;
        Task::new(name, Workload::Frames { period, deadline: period, cost, late })
    }
}
