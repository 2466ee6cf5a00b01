//! Verdicts about recorded runs of CPUs in words.

use std::fmt;

use laxity_core::{Span, Time};

use super::{CpuFault, LateJob, Premise};

fn when(time: Time) -> Span {
    Span(time.0)
}

impl CpuFault {
    /// When it happened.
    pub fn at(&self) -> Time {
        match self {
            CpuFault::NoServers => Time::ZERO,
            CpuFault::Together { at, .. }
            | CpuFault::NotReady { at, .. }
            | CpuFault::Wrong { at, .. }
            | CpuFault::Idle { at, .. }
            | CpuFault::Budget { at, .. }
            | CpuFault::Share { at, .. }
            | CpuFault::Early { at, .. }
            | CpuFault::Pending { at, .. }
            | CpuFault::Back { at, .. }
            | CpuFault::Release { at, .. }
            | CpuFault::Sum { at, .. }
            | CpuFault::Unready { at, .. }
            | CpuFault::Later { at, .. } => *at,
        }
    }
}

impl fmt::Display for CpuFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = when(self.at());
        match self {
            CpuFault::NoServers => write!(f, "the policy has no servers with deadlines"),
            CpuFault::Together { task, .. } => {
                write!(f, "at {at} {task} began beside another slice")
            }
            CpuFault::NotReady { task, .. } => {
                write!(f, "at {at} {task} ran although its server was not ready")
            }
            CpuFault::Wrong { task, waiting, .. } => {
                write!(f, "at {at} {task} ran although {waiting} had the earlier deadline")
            }
            CpuFault::Idle { waiting, .. } => {
                write!(f, "from {at} on a CPU idled while {waiting} waited")
            }
            CpuFault::Budget { task, .. } => {
                write!(f, "at {at} the server of {task} had no budget left, and went on")
            }
            CpuFault::Share { task, from, zero_lag, .. } => write!(
                f,
                "at {at} the share of {task} changed from {} on, which is used up to {}",
                when(*from),
                when(*zero_lag)
            ),
            CpuFault::Early { task, deadline, least, .. } => write!(
                f,
                "at {at} the server of {task} was due at {}, and its share gives its budget by {}",
                when(*deadline),
                when(*least)
            ),
            CpuFault::Pending { task, .. } => {
                write!(f, "at {at} all shares were reset while a job of {task} was pending")
            }
            CpuFault::Back { task, .. } => write!(f, "at {at} the deadline of {task} moved back"),
            CpuFault::Release { task, release, .. } => write!(
                f,
                "at {at} {task} was to be released at {}, before its share had caught up",
                when(*release)
            ),
            CpuFault::Sum { thousandths, cpus, .. } => {
                let percent = format!("{}.{} %", thousandths / 10, thousandths % 10);
                write!(f, "from {at} on the shares added up to {percent} of a CPU, and there ")?;
                if *cpus == 1 { write!(f, "is one") } else { write!(f, "are {cpus}") }
            }
            CpuFault::Unready { task, .. } => {
                write!(f, "at {at} a job of {task} was released, and its server was not ready")
            }
            CpuFault::Later { task, deadline, due, .. } => write!(
                f,
                "at {at} a job of {task} was released that was due at {}, and its server at {}",
                when(*due),
                when(*deadline)
            ),
        }
    }
}

impl Premise {
    /// When it failed.
    pub fn at(&self) -> Time {
        match self {
            Premise::Refused { at, .. } | Premise::HigherClass { at, .. } => *at,
            Premise::Budget { release, .. }
            | Premise::Period { release, .. }
            | Premise::Deadline { release, .. } => *release,
        }
    }
}

impl fmt::Display for Premise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = when(self.at());
        match self {
            Premise::Refused { task, .. } => {
                write!(f, "the reservation of {task} was refused at {at}")
            }
            Premise::HigherClass { length, .. } => {
                write!(
                    f,
                    "a higher scheduling class wanted the CPU from {at} on, for {length} in all"
                )
            }
            Premise::Budget { task, needed, declared, .. } => {
                write!(f, "the job of {task} released at {at} needed {needed}, declared {declared}")
            }
            Premise::Period { task, distance, declared, .. } => write!(
                f,
                "the job of {task} released at {at} came {distance} after the one before, declared \
                 {declared}"
            ),
            Premise::Deadline { task, within, declared, .. } => write!(
                f,
                "the job of {task} released at {at} was due within {within}, declared {declared}"
            ),
        }
    }
}

impl fmt::Display for LateJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LateJob { task, release, deadline, by, .. } = self;
        write!(
            f,
            "the job of {task} released at {}, due at {}, by {by}",
            when(*release),
            when(*deadline)
        )
    }
}
