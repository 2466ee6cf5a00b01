//! The C headers as a program of their own, compiled with sanitizers, spoken to through pipes: no
//! unsafe code is needed to compare them with the Rust policies.

pub mod headers;

use laxity_kernel::Plan;
use laxity_kernel::plan::QueueMemory;

/// Calls of the headers, in order.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A packet of so many bytes arrives for a flow.
    Arrival { now: u64, flow: u32, bytes: u32 },
    /// The same with the key of its flow and its ECN field.
    #[allow(dead_code)]
    Keyed { now: u64, flow: u32, bytes: u32, key: u64, ecn: u8 },
    /// The link is free.
    Free { now: u64 },
    /// The link's clock sends.
    #[allow(dead_code)] // not every test asks for it
    Transmit { start: u64, wire: u32 },
    /// The link has lost time.
    #[allow(dead_code)]
    Stall,
    /// A packet waits that may go from an instant on.
    #[allow(dead_code)]
    Waits { since: u64 },
    /// The pace sends a packet that is taken at an instant.
    #[allow(dead_code)]
    Send { now: u64, wire: u32 },
}

/// The answers of the headers, a line for each step; `None`, with the reason printed, where they cannot be
/// compiled.
pub fn answers(plan: &Plan, steps: &[Step]) -> Option<Vec<String>> {
    let mut input = Vec::with_capacity(plan.config.len() + steps.len() * 64 + 24);
    let QueueMemory { managed, flow_queues, flow_orders, host_tables } = plan.queues;
    let managed = u32::from(managed);
    let memory = [flow_queues, flow_orders, host_tables, plan.served.len() as u32];
    for word in [plan.rule.number(), plan.slots, managed].into_iter().chain(memory) {
        input.extend_from_slice(&word.to_ne_bytes());
    }
    input.extend_from_slice(&plan.config);
    input.extend_from_slice(&plan.served.concat());
    for step in steps {
        let words = match *step {
            Step::Arrival { now, flow, bytes } => {
                [0, now, u64::from(flow) << 32 | u64::from(bytes), 0]
            }
            Step::Keyed { now, flow, bytes, key, ecn } => {
                let field = [7, u64::from(ecn), 0, 0];
                field.iter().for_each(|w| input.extend_from_slice(&w.to_ne_bytes()));
                [0, now, u64::from(flow) << 32 | u64::from(bytes), key]
            }
            Step::Free { now } => [1, now, 0, 0],
            Step::Transmit { start, wire } => [2, start, u64::from(wire), 0],
            Step::Stall => [4, 0, 0, 0],
            Step::Waits { since } => [5, since, 0, 0],
            Step::Send { now, wire } => [6, now, u64::from(wire), 0],
        };
        words.iter().for_each(|w| input.extend_from_slice(&w.to_ne_bytes()));
    }
    headers::ask("driver.c", input)
}
