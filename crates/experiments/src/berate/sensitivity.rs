//! Table 1 under other readings, to explain differing numbers.

use laxity_sim::cpu::Late;
use laxity_sim::cpu::papers::berate::{Shape, Srtsim};

use super::table1::{EXPERIMENTS, STATED, soft_tasks, system, trial};
use crate::tasks::contenders::{
    BERATE, BERATE_800, BERATE_NOW, BERATE_RUNNABLE, LINUX_24, LINUX_24_800, LINUX_24_COUNTER,
};
use crate::tasks::{Contender, Runs, Scale, Trial};
use crate::{ExperimentError, Measured};

/// Other readings of the policies (A8, A9, A11, A12).
const POLICIES: [Contender; 5] =
    [BERATE_NOW, BERATE_RUNNABLE, BERATE_800, LINUX_24_COUNTER, LINUX_24_800];

/// Other readings of srtsim (A13).
const READINGS: [(&str, Srtsim); 7] = [
    ("variability-0.1", Srtsim { shape: Shape::Gauss(0.1), ..Srtsim::STATED }),
    ("variability-0.4", Srtsim { shape: Shape::Gauss(0.4), ..Srtsim::STATED }),
    ("groups", Srtsim { shape: Shape::Gop(0.1), ..Srtsim::STATED }),
    ("skip", Srtsim { late: Late::Skip, ..Srtsim::STATED }),
    ("grid", Srtsim { late: Late::Grid, ..Srtsim::STATED }),
    ("mean-98", Srtsim { scale: 980, ..Srtsim::STATED }),
    ("mean-90", Srtsim { scale: 900, ..Srtsim::STATED }),
];

/// There are so many trials that each gets a part of the runs.
const PART: u64 = 3;

/// All of them.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let scale = scale.part(PART);
    let mut trials = Vec::new();
    for number in EXPERIMENTS {
        for policy in POLICIES {
            trials.push(trial(scale, policy, number, STATED, Srtsim::STATED));
        }
        for (name, srtsim) in READINGS {
            for policy in [LINUX_24, BERATE] {
                trials.push(trial(scale, policy, number, name, srtsim));
            }
        }
    }
    trials
}

/// Deadlines missed under each reading.
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    let mut add = |policy: Contender, reading: &str| {
        for number in EXPERIMENTS {
            for task in 0..soft_tasks(number) {
                let label = format!("experiment-{number}-srtsim-{}/missed-{reading}", task + 1);
                rows.extend(runs.row(policy, &system(number, reading), &label, "%", task));
            }
        }
    };
    for policy in POLICIES {
        add(policy, STATED);
    }
    for (name, _) in READINGS {
        for policy in [LINUX_24, BERATE] {
            add(policy, name);
        }
    }
    Ok(rows)
}
