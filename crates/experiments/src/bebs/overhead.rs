//! Figure 5 without a kernel: the cost of a decision.

use std::hint::black_box;

use laxity_bench::{Operation, cpu, cpu_time};
use laxity_sim::Control;

use crate::Measured;

/// Processes of a group of hackbench: 20 that send and 20 that receive.
const GROUP: u32 = 40;
const GROUPS: [u32; 3] = [1, 5, 10];

const POLICIES: [&str; 3] = ["bebs", "linux-2.6", "linux-2.4"];

const DECISIONS: u64 = 100_000;
const TURNS: usize = 5;

/// ns for each decision.
fn cost(operation: &mut Operation) -> f64 {
    let before = cpu_time();
    operation(black_box(DECISIONS));
    cpu_time().saturating_sub(before).as_nanos() as f64 / DECISIONS as f64
}

/// CPU time of a decision by policy and number of processes, the median of turns; `None` when
/// stopped.
pub fn rows(control: &Control) -> Option<Vec<Measured>> {
    let mut costs = Vec::new();
    let mut ratios = Vec::new();
    for groups in GROUPS {
        let tasks = groups * GROUP;
        let mut operations = POLICIES.map(|name| cpu::registered(name, tasks));
        let mut values = POLICIES.map(|_| Vec::new());
        for _ in 0..TURNS {
            for (operation, values) in operations.iter_mut().zip(&mut values) {
                if control.stopped() {
                    return None;
                }
                values.push(cost(operation));
            }
        }
        let medians = values.map(|mut values| {
            values.sort_by(f64::total_cmp);
            values[TURNS / 2]
        });
        for (name, value) in POLICIES.iter().zip(medians) {
            let label = format!("{name}/{tasks}-processes/cost-of-a-decision");
            costs.push(Measured::new(label, "ns", vec![value]));
        }
        let label = format!("bebs/{tasks}-processes/cost-over-linux-2.6");
        ratios.push(Measured::new(label, "times", vec![medians[0] / medians[1]]));
    }
    ratios.extend(costs);
    Some(ratios)
}
