//! Why a task is not admitted, by how much, and what would be.

use core::fmt;

use laxity_core::Span;

use crate::{CpuSet, Reservation, ReservationFault, Share, TaskId};

/// Why a task or a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The reservation makes no sense by itself.
    Fault(ReservationFault),
    /// More of the CPU than is left.
    Overload {
        /// What was asked for.
        asked: Reservation,
        /// The share that it needs on top of the others, deadlines included.
        needs: Share,
        /// The share that is left.
        free: Share,
        /// The greatest budget that fits with the same period and deadline; zero when none does.
        fits: Span,
    },
    /// More than is left in any cluster of CPUs that may be used.
    NoCluster {
        /// The cluster in which most would fit.
        closest: u32,
        /// What was asked for.
        asked: Reservation,
        /// The share of a CPU that it needs there.
        needs: Share,
        /// The share that is left there.
        free: Share,
        /// The greatest budget that fits there with the same period and deadline.
        fits: Span,
    },
    /// No cluster lies within the CPUs that it may use.
    Affinity {
        /// Those CPUs.
        affinity: CpuSet,
    },
    /// Reservations leave nothing for best effort.
    NothingLeft,
    /// This task is there already.
    Known(TaskId),
    /// There is no such task.
    Unknown(TaskId),
    /// Members of a group must ask for the same service.
    GroupDiffers,
}

impl From<ReservationFault> for Refusal {
    fn from(fault: ReservationFault) -> Refusal {
        Refusal::Fault(fault)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Fault(fault) => fault.fmt(f),
            Refusal::Overload { asked, needs, free, fits } => {
                overload(f, *asked, *needs, *free, *fits)
            }
            Refusal::NoCluster { closest, asked, needs, free, fits } => {
                write!(f, "no cluster of CPUs has room, cluster {closest} comes closest: ")?;
                overload(f, *asked, *needs, *free, *fits)
            }
            Refusal::Affinity { affinity } => write!(
                f,
                "no cluster of CPUs lies within CPUs {affinity}: allow all CPUs of one, or make \
                 these a cluster"
            ),
            Refusal::NothingLeft => {
                write!(f, "reservations leave nothing for best effort: release one")
            }
            Refusal::Known(task) => write!(f, "task {} is there already", task.0),
            Refusal::Unknown(task) => write!(f, "there is no task {}", task.0),
            Refusal::GroupDiffers => {
                write!(f, "all tasks of a group must ask for the service of the first")
            }
        }
    }
}

fn overload(
    f: &mut fmt::Formatter<'_>,
    asked: Reservation,
    needs: Share,
    free: Share,
    fits: Span,
) -> fmt::Result {
    let over = needs.minus(free);
    write!(f, "{asked} needs {needs} of the CPU, {over} more than the {free} left; ")?;
    if fits == Span::ZERO {
        write!(f, "no budget fits this period and deadline")
    } else {
        write!(f, "a budget of {fits} would fit")
    }
}

impl core::error::Error for Refusal {}
