//! Controls the qdisc on an interface for tests and comparisons, and verifies its programs. Prints status
//! in lines of words and numbers.
//!
//! ```text
//! kernel-link verify SCENARIO | up SCENARIO DEVICE [POLICY] | status DEVICE | down DEVICE | profile
//! ```
#![forbid(unsafe_code)]

use laxity_kernel::{Plan, qdisc};
use laxity_scenario::link::model::Scenario;
use laxity_tools_kernel::command;

fn main() {
    command::main(run);
}

fn run(arguments: &[&str]) -> Result<(), command::Failure> {
    let read = |path: &str| Scenario::read(path);
    match arguments {
        ["verify", path, policies @ ..] => {
            for policy in policies {
                let plan = Plan::with_policy(&read(path)?, policy)?;
                let queues = if plan.queues.managed { "+queues" } else { "" };
                let curves = if plan.served.is_empty() { "" } else { "+curves" };
                for (program, instructions) in qdisc::verify(&plan)? {
                    println!("{policy}{queues}{curves} {program} {instructions}");
                }
            }
        }
        ["up", path, device, policy @ ..] => {
            let scenario = read(path)?;
            let policy = policy.first().copied().unwrap_or(&scenario.policy.use_);
            let plan = Plan::with_policy(&scenario, policy)?;
            for notice in &plan.notices {
                eprintln!("note: {notice}");
            }
            let egress = qdisc::LinkRequest { plan: &plan, policy, scenario: &scenario };
            qdisc::up(&qdisc::Links { egress: Some(egress), ingress: None }, device, false)?;
        }
        ["status", device] => {
            let status = qdisc::status(device)?;
            let scenario = Scenario::parse(&status.scenario, "")?;
            println!("policy {} attached {}", status.policy, status.attached);
            let qdisc::Stalls { count, total, longest } = status.stalls;
            println!("stalls {count} total_us {} longest_us {}", total / 1000, longest / 1000);
            for (name, n) in scenario.flow_names().zip(&status.counts) {
                let mean =
                    n.delay_sum.checked_div(n.packets.saturating_sub(n.demoted)).unwrap_or(0);
                println!(
                    "{name} packets {} late {} dropped {} demoted {} mean_us {} p99_us {} max_us {} \
                     demoted_max_us {}",
                    n.packets,
                    n.deadline_misses,
                    n.all_dropped(),
                    n.demoted,
                    mean / 1000,
                    n.quantile(990).unwrap_or(0) / 1000,
                    n.delay_max / 1000,
                    n.demoted_max / 1000,
                );
                for (reason, count) in laxity_link::buffer::DropReason::ALL.iter().zip(n.dropped) {
                    if count > 0 {
                        println!("  {reason} {count}");
                    }
                }
                if n.flushed > 0 {
                    println!("  flushed {}", n.flushed);
                }
            }
        }
        ["profile"] => {
            for (program, time, runs) in qdisc::profile() {
                println!(
                    "{program} {} ns in each of {runs} runs",
                    time.checked_div(runs).unwrap_or(0)
                );
            }
        }
        ["down", device] => qdisc::down(device)?,
        _ => return Err("kernel-link verify|up|status|down|profile ...".into()),
    }
    Ok(())
}
