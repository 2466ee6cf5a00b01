//! Service curves of real-time flows (SCED).
//!
//! A flow may ask for a service curve `S` in place of an envelope and a deadline: the scheduler
//! gives each packet the deadline at which the curve reaches its last byte, and serves by earliest
//! deadline. Source: Sariowan, Cruz and Polyzos, "SCED: a generalized scheduling policy for
//! guaranteeing quality-of-service", IEEE/ACM Transactions on Networking 7(5), 1999.
//!
//! [`ServiceCurve`] is the curve, [`ServiceDeadlines`] the deadlines of a flow's packets,
//! [`check_flows`] the admission test of links whose flows have curves or envelopes.

mod admission;
mod anchored;
mod best_effort;
mod curve;
mod deadlines;
mod demand;
mod flow;
mod inverse;
mod room;
mod suggest;

pub use admission::{check_flows, residual};
pub use anchored::AnchoredCurve;
pub use best_effort::{share_of, strict_service};
pub use curve::{MAX_SERVICE_PIECES, ServiceCurve};
pub use deadlines::ServiceDeadlines;
pub use flow::{LinkFlow, ServiceSpec};
pub use inverse::{ServiceInverse, ServiceLine, ServiceUpperInverse};
pub use suggest::{FlowSuggestion, ServiceSuggestion, suggest_flows};
