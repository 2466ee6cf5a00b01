//! Reasons for refusing a task, with the excess and the largest admissible budget.

use core::fmt;

use laxity_core::Span;

use crate::{CpuSet, Reservation, ReservationFault, Share, TaskId};

/// Why a task or a change was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The reservation is invalid.
    Fault(ReservationFault),
    /// The reservation exceeds the free bandwidth of the CPU.
    Overload {
        /// The requested reservation.
        asked: Reservation,
        /// The share that it needs in addition to the others, accounting for deadlines.
        needs: Share,
        /// The free share.
        free: Share,
        /// The greatest admissible budget with the same period and deadline; zero if none is.
        fits: Span,
    },
    /// The reservation exceeds the free bandwidth of every cluster that the task may use.
    NoCluster {
        /// The cluster with the greatest admissible budget.
        closest: u32,
        /// The requested reservation.
        asked: Reservation,
        /// The share of a CPU that it needs there.
        needs: Share,
        /// The free share there.
        free: Share,
        /// The greatest admissible budget there with the same period and deadline.
        fits: Span,
    },
    /// No cluster lies within the affinity of the task.
    Affinity {
        /// The affinity.
        affinity: CpuSet,
    },
    /// Reservations leave nothing for best effort.
    NothingLeft,
    /// The task has joined already.
    Known(TaskId),
    /// The task has not joined.
    Unknown(TaskId),
    /// All members of a group must have the same service.
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
