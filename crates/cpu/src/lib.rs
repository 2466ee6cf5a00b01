//! Task policies for CPUs, sans-io: which task runs now, and until when at most.
//!
//! The driver reports events to a policy ([`Policy`]) and asks it for the task to run. A policy has
//! no clock, thread or float; times are integer nanoseconds. Only joining and changing allocate.
//!
//! Sources: Banachowski, Bisson, Brandt, "Integrating Best-Effort Scheduling into a Real-Time
//! System" (BEBS), and Banachowski, Brandt, "Better Real-time Response for Time-share Scheduling"
//! (BeRate). Where they are silent or ambiguous, the interpretation is an option of the policy.
//!
//! ```
//! use laxity_core::{Span, Time};
//! use laxity_cpu::{Attributes, CpuId, Reservation, TaskId, registry};
//!
//! let mut policy = registry::build("bebs-credit", &registry::Options::default())?;
//! let (sound, editor) = (TaskId(0), TaskId(1));
//! let reservation = Reservation::new(Span::from_millis(1), Span::from_millis(5));
//! policy.join(Time::ZERO, sound, &Attributes::hard(reservation))?;
//! policy.join(Time::ZERO, editor, &Attributes::default())?;
//! policy.wake(Time::ZERO, editor);
//! policy.wake(Time::ZERO, sound);
//! // The reserved task has the earlier deadline; its driver asks again when the slice ends.
//! let pick = policy.pick(Time::ZERO, CpuId::FIRST).expect("two tasks wait");
//! assert_eq!((pick.task, pick.until), (sound, Time(1_000_000)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

/// The table of options of the policy of a name, with an example of such a table.
macro_rules! options_table {
    ($policy:literal, $example:expr) => {
        laxity_core::OptionTable::Own {
            schema: concat!("cpu ", $policy),
            doc: concat!("Options of the policy `", $policy, "`."),
            key: "Options of the policy of this name.",
            default: "every default below",
            example: $example,
        }
    };
}

mod admission;
mod attributes;
pub mod bebs;
pub mod bebs_credit;
pub mod berate;
pub mod best;
pub mod cbs;
pub mod clusters;
mod cpu_set;
pub mod dwcs;
pub mod edf;
pub mod eevdf;
mod gfb;
pub mod iris;
pub mod iris_naive;
pub mod layered;
pub mod linux_2_4;
pub mod linux_2_6;
mod options;
mod order;
mod policy;
pub mod posix;
pub mod quantum;
mod queue;
mod ready;
mod refusal;
pub mod registry;
pub mod round_robin;
pub mod sched_deadline;
pub mod servers;
mod share;
mod table;
mod ticks;
mod view;

pub use admission::reserved_bandwidth;
pub use attributes::{
    Attributes, GroupId, LONGEST_PERIOD, Nice, Reservation, ReservationFault, Service,
};
pub use cpu_set::CpuSet;
pub use policy::{Admitted, CpuId, Pick, Policy, TaskId};
pub use refusal::Refusal;
pub use servers::Sample;
pub use share::Share;
pub use view::{Charge, ServerId, ServerKind, ServerState, ServerView};
