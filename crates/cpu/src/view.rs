//! What a policy's servers have at an instant, for records of runs that are judged without the policy.

use laxity_core::{Span, Time};

/// A place for a server of a policy. It is taken again by another server once its own has gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId {
    /// The cluster of CPUs, counted from zero; zero where there is one.
    pub cluster: u32,
    /// The place within the cluster, counted from zero.
    pub slot: u32,
}

/// The state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerState {
    /// No member is runnable.
    Blocked,
    /// It competes under its deadline: the paper's *executing*.
    Ready,
    /// Runnable members wait for its next release.
    Expired,
    /// Its members have left; its bandwidth is not reclaimed yet.
    Leaving,
    /// There is no server at this place.
    Vacant,
}

/// The kind of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// Of a guaranteed reservation: suspended when its budget is exhausted, and never released early.
    Hard,
    /// With a declared budget and period.
    Soft,
    /// With a share of the best-effort bandwidth.
    Shared,
}

/// A server at an instant, and its promise: the share that it has from some instant on, as known now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// Its place.
    pub id: ServerId,
    /// Its number among all servers that its cluster had.
    pub serial: u64,
    /// Its state.
    pub state: ServerState,
    /// Its kind.
    pub kind: ServerKind,
    /// Whether it is of a reservation whose deadline is shorter than its period.
    pub constrained: bool,
    /// How often it was replenished.
    pub replenished: u64,
    /// The remaining budget.
    pub remaining: Span,
    /// The deadline, while it is ready.
    pub deadline: Time,
    /// The next release of an expired one.
    pub release: Option<Time>,
    /// The instant from which the promise holds: its zero-lag time, at least now.
    pub from: Time,
    /// The ends of steps and their shares, in units of 2^-56 of a CPU. Steps that end by `from`, or before the
    /// one listed earlier, are none.
    pub steps: [(Time, u64); 2],
    /// The share after the steps, in units of 2^-56 of a CPU.
    pub rest: u64,
}

/// What the execution of a task is charged to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charge {
    /// To this server.
    Server(ServerId),
    /// To none: the policy has none for this task.
    Unserved,
    /// To none: it runs on a CPU that would idle.
    Background,
}
