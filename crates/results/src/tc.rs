//! Results of `laxity check --tc`.

use serde::{Deserialize, Serialize};

/// `laxity check --tc --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcChecks {
    /// A result for each device.
    pub devices: Vec<TcCheck>,
}

/// Guarantees of the queueing disciplines of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcCheck {
    /// The device, where the dump names it.
    pub device: Option<String>,
    /// Whether nothing is misconfigured and every flow's deadline is guaranteed.
    pub guaranteed: bool,
    /// Assumed: the rate at which the device takes packets.
    pub link_rate_bit_s: u64,
    /// Assumed: the largest packet as queued.
    pub max_packet_bytes: u64,
    /// Assumed: how late timers of the kernel are.
    pub timer_lateness_ns: u64,
    /// Whether values come from text, where `tc` rounds them to three or four digits.
    pub rounded_input: bool,
    /// Classes, and disciplines without classes.
    pub classes: Vec<TcClass>,
    /// Real-time flows of the scenario.
    pub flows: Vec<TcFlow>,
    /// Misconfigurations.
    pub findings: Vec<TcFinding>,
}

/// The guarantee of a class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcClass {
    /// Its handle.
    pub class: String,
    /// The kind of its discipline.
    pub discipline: String,
    /// Guaranteed rate in the long run, rounded down.
    pub rate_bit_s: Option<u64>,
    /// When service begins at the latest, rounded up.
    pub latency_ns: Option<u64>,
    /// Bound of the delay of its flows, or of a token bucket of the asked burst at its rate, rounded up.
    pub delay_ns: Option<u64>,
    /// The service curve.
    pub rule: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
    /// Why there is no guarantee, or none of the delay.
    pub reason: Option<String>,
}

/// A real-time flow of a scenario in its class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcFlow {
    /// Its name.
    pub flow: String,
    /// Its class.
    pub class: String,
    /// Its deadline.
    pub deadline_ns: u64,
    /// Bound of its delay in the class.
    pub delay_ns: Option<u64>,
    /// Whether that is within the deadline.
    pub met: bool,
    /// Whether Laxity admits the scenario.
    pub laxity_admits: bool,
    /// The least deadline that Laxity would admit beside the other flows.
    pub laxity_min_deadline_ns: Option<u64>,
}

/// `laxity link plan --json`: a scenario as a tree of the kernel's disciplines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcPlan {
    /// The scenario.
    pub scenario: String,
    /// The discipline: `hfsc`, `htb` or `cbs`.
    pub target: String,
    /// The interface in the commands.
    pub device: String,
    /// Whether every deadline is guaranteed and nothing is misconfigured.
    pub guaranteed: bool,
    /// Assumed: the rate at which the device takes packets, or to which it is shaped.
    pub link_rate_bit_s: u64,
    /// Assumed: the largest packet as queued, on the wire.
    pub max_packet_bytes: u64,
    /// Assumed: how late timers of the kernel are.
    pub timer_lateness_ns: u64,
    /// Whether `tbf` shapes the interface.
    pub shaped: bool,
    /// Real-time flows with their bounds, beside what Laxity admits.
    pub flows: Vec<TcFlow>,
    /// Best-effort classes.
    pub best_effort: Vec<TcPlanClass>,
    /// What the tree lacks beside a link of Laxity.
    pub losses: Vec<TcLoss>,
    /// Misconfigurations of the tree.
    pub findings: Vec<TcFinding>,
    /// The commands, in order.
    pub commands: Vec<String>,
}

/// A best-effort class in a planned tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcPlanClass {
    /// Its name.
    pub name: String,
    /// Its class in the tree.
    pub class: String,
    /// Bound of its delay in the tree.
    pub delay_ns: Option<u64>,
    /// Why there is none.
    pub reason: Option<String>,
    /// Bound of its delay under the scenario's policy, whatever other classes send.
    pub laxity_delay_ns: Option<u64>,
    /// The same while no other class sends.
    pub laxity_alone_delay_ns: Option<u64>,
    /// Mean delay in the tree, simulated; none without sources.
    pub tree_mean_ms: Option<f64>,
    /// Largest delay in that simulation.
    pub tree_max_ms: Option<f64>,
    /// Mean delay of the same packets under the scenario's policy.
    pub laxity_mean_ms: Option<f64>,
    /// Largest delay in that simulation.
    pub laxity_max_ms: Option<f64>,
}

/// What a planned tree lacks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcLoss {
    /// Its name, stable.
    pub code: String,
    /// The loss.
    pub text: String,
}

/// A misconfiguration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcFinding {
    /// Its name, stable.
    pub code: String,
    /// The class or discipline.
    pub at: String,
    /// The fault.
    pub text: String,
    /// The remedy.
    pub remedy: String,
}
