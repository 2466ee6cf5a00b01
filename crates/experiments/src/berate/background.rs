//! Table 1 beside tasks that hardly compute but count in the load:
//! the effect of a kernel's own threads on shares when experiments run live.

use laxity_sim::cpu::papers::berate::{Srtsim, background, experiment};

use super::table1::soft_tasks;
use crate::tasks::contenders::{BEBS, BEBS_CREDIT, BERATE};
use crate::tasks::{Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

const POLICIES: [crate::tasks::Contender; 3] = [BEBS, BEBS_CREDIT, BERATE];
/// In experiment 6 there is more to do than time anyway.
const EXPERIMENTS: [u32; 5] = [1, 2, 3, 4, 5];
/// How many background tasks there are.
const COUNTS: [usize; 4] = [1, 2, 4, 7];
/// There are so many trials that each gets a part of the runs.
const PART: u64 = 12;

fn system(number: u32, count: usize) -> String {
    format!("experiment-{number}-beside-{count}")
}

/// All of them.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let scale = scale.part(PART);
    let mut trials = Vec::new();
    for number in EXPERIMENTS {
        for count in COUNTS {
            for policy in POLICIES {
                // The last ones: what the others draw does not depend on them.
                let (mut tasks, soft) = experiment(number, Srtsim::STATED);
                tasks.extend(background(count));
                let what = (numbers::missed as numbers::Numbers, soft, Rule::NEAREST_TENTH);
                trials.push(scale.trial(policy, &system(number, count), tasks, what));
            }
        }
    }
    trials
}

/// Deadlines missed, by number of background tasks.
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for policy in POLICIES {
        for number in EXPERIMENTS {
            for count in COUNTS {
                for task in 0..soft_tasks(number) {
                    let soft = format!("experiment-{number}-srtsim-{}", task + 1);
                    let label = format!("{soft}/missed-beside-{count}");
                    rows.extend(runs.row(policy, &system(number, count), &label, "%", task));
                }
            }
        }
    }
    Ok(rows)
}
