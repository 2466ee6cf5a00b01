//! The rules of the BPF queueing discipline that policies name in their descriptions, by their
//! numbers in `enum lx_policy` of `crates/kernel/bpf/include/laxity/pipeline.h`. A test of
//! `crates/kernel` compares the two.

use laxity_core::Live;

/// Best effort has no deadlines.
pub const BACKGROUND: Live = Live::Qdisc(0);
/// Deadlines from one line.
pub const LINE: Live = Live::Qdisc(1);
/// Deadlines from all pieces of a curve.
pub const HISTORY: Live = Live::Qdisc(2);
/// No deadlines: best effort is served when no real-time deadline can be missed because of it.
pub const SLACK: Live = Live::Qdisc(3);
