//! Figures 2 to 6: the progress of applications in single runs, and the text's claims about them.

use laxity_core::{Span, Time};
use laxity_report::Figure;
use laxity_sim::cpu::papers::berate::{Srtsim, experiment};
use laxity_sim::cpu::papers::ms;

use super::table1::{STATED, soft_tasks, system, trial};
use crate::tasks::contenders::{BERATE, BEST, LINUX_24};
use crate::tasks::progress::{keys, single};
use crate::tasks::{Contender, Runs, Scale, Trial};
use crate::{ExperimentError, Measured};

const BOTH: [Contender; 2] = [LINUX_24, BERATE];

fn stated(scale: Scale, policies: &[Contender], number: u32) -> Vec<Trial> {
    let each = policies.iter();
    each.map(|policy| trial(scale, *policy, number, STATED, Srtsim::STATED)).collect()
}

/// Shares and misses of an experiment under some policies.
fn rows(runs: &Runs, policies: &[Contender], number: u32) -> Vec<Measured> {
    let mut rows = Vec::new();
    let (system, soft) = (system(number, STATED), soft_tasks(number));
    for policy in policies {
        for task in 0..soft {
            let label = format!("srtsim-{}/missed", task + 1);
            rows.extend(runs.row(*policy, &system, &label, "%", task));
        }
        rows.extend(runs.row(*policy, &system, "cpu-bound/share", "%", soft));
    }
    rows
}

/// Demands of srtsim in thousandths of the CPU, at which Linux is compared with BeRate at a half.
const DEMANDS: [u64; 5] = [350, 375, 400, 425, 450];

fn demand(part: u64) -> String {
    format!("demand-{part}")
}

/// Trials of Figure 2.
pub fn trials_2(scale: Scale) -> Vec<Trial> {
    let mut trials = stated(scale, &BOTH, 1);
    for part in DEMANDS {
        let srtsim = Srtsim { scale: 2 * part, ..Srtsim::STATED };
        trials.push(trial(scale, LINUX_24, 1, &demand(part), srtsim));
    }
    trials
}

/// Figure 2, and the demand at which Linux misses as few as BeRate at a half.
pub fn rows_2(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = rows(runs, &BOTH, 1);
    let berate = runs.mean(BERATE, &system(1, STATED), 0);
    for part in DEMANDS {
        let system = system(1, &demand(part));
        let label = format!("srtsim-at-{}-percent/missed", part as f64 / 10.0);
        rows.extend(runs.row(LINUX_24, &system, &label, "%", 0));
        let above = runs.mean(LINUX_24, &system, 0) - berate;
        let label = format!("linux-2.4/srtsim-at-{}-percent/above-berate", part as f64 / 10.0);
        rows.push(Measured::new(label, "points", vec![above]));
    }
    Ok(rows)
}

/// Trials of Figure 3.
pub fn trials_3(scale: Scale) -> Vec<Trial> {
    stated(scale, &BOTH, 2)
}

/// Figure 3.
pub fn rows_3(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    Ok(rows(runs, &BOTH, 2))
}

/// Trials of Figure 4.
pub fn trials_4(scale: Scale) -> Vec<Trial> {
    stated(scale, &BOTH, 4)
}

/// Figure 4, and the longest wait of srtsim.
pub fn rows_4(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = rows(runs, &BOTH, 4);
    let (tasks, count) = experiment(4, Srtsim::STATED);
    for policy in BOTH {
        let run = single(policy, &tasks, ms(100_000))?;
        let soft = &run.measure.tasks[tasks.len() - count];
        let wait = soft.longest_gap.0 as f64 / 1e6;
        rows.push(Measured::new(
            format!("{}/srtsim-1/longest-wait", policy.name),
            "ms",
            vec![wait],
        ));
        // A wake-up that finds the CPU busy and waits for a whole quantum of 60 ms.
        let p99 = soft.latency.quantile(990).unwrap_or(0) as f64 / 1e6;
        rows.push(Measured::new(format!("{}/srtsim-1/p99-wait", policy.name), "ms", vec![p99]));
    }
    Ok(rows)
}

/// Trials of Figure 5.
pub fn trials_5(scale: Scale) -> Vec<Trial> {
    stated(scale, &BOTH, 5)
}

/// Figure 5.
pub fn rows_5(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    Ok(rows(runs, &BOTH, 5))
}

/// Trials of Figure 6.
pub fn trials_6(scale: Scale) -> Vec<Trial> {
    stated(scale, &[LINUX_24, BERATE, BEST], 6)
}

/// Figure 6.
pub fn rows_6(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    Ok(rows(runs, &[LINUX_24, BERATE, BEST], 6))
}

/// The contents of a figure.
struct Drawing {
    number: u32,
    policies: [Contender; 2],
    /// The window, after the start has passed.
    length: Span,
    names: &'static [&'static str],
    caption: &'static str,
}

const FROM: Time = Time(10_000_000_000);

impl Drawing {
    fn figure(&self, n: u32, title: &str) -> Result<Vec<Figure>, ExperimentError> {
        let (tasks, _) = experiment(self.number, Srtsim::STATED);
        let shown: Vec<usize> = (0..tasks.len()).collect();
        let until = FROM + self.length;
        let mut panels = Vec::new();
        for policy in self.policies {
            let run = single(policy, &tasks, until.since(Time::ZERO))?;
            panels.push(run.plot(policy.title, &shown, FROM, until));
        }
        let figure = Figure::new(format!("berate-fig{n}"), title, 2)
            .keyed(keys(self.names))
            .with(panels)
            .captioned(format!(
                "A single run: CPU time since {} s; a cross for each deadline missed. {} After \
                 Banachowski and Brandt (BeRate), Figure {n}.",
                FROM.0 / 1_000_000_000,
                self.caption
            ));
        Ok(vec![figure])
    }
}

/// The drawing of Figure 2.
pub fn figures_2(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let drawing = Drawing {
        number: 1,
        policies: BOTH,
        length: ms(10_000),
        names: &["CPU-bound", "srtsim, 25 fps, 50 %"],
        caption: "",
    };
    drawing.figure(2, "One CPU-bound and one soft task")
}

/// The drawing of Figure 3.
pub fn figures_3(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let drawing = Drawing {
        number: 2,
        policies: BOTH,
        length: ms(10_000),
        names: &["CPU-bound", "CPU-bound", "srtsim, 25 fps, 25 %", "srtsim, 25 fps, 25 %"],
        caption: "",
    };
    drawing.figure(3, "Two CPU-bound and two soft tasks")
}

/// The drawing of Figure 4.
pub fn figures_4(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let drawing = Drawing {
        number: 4,
        policies: BOTH,
        length: ms(1_500),
        names: &["CPU-bound", "CPU-bound", "CPU-bound", "srtsim, 25 fps, 25 %"],
        caption: "On a shorter scale.",
    };
    drawing.figure(4, "Three CPU-bound tasks and a soft one")
}

/// The drawing of Figure 5.
pub fn figures_5(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let drawing = Drawing {
        number: 5,
        policies: BOTH,
        length: ms(10_000),
        names: &["CPU-bound, nice +10", "srtsim, 33 fps, 67 %"],
        caption: "",
    };
    drawing.figure(5, "A CPU-bound task of nice +10 and a soft one")
}

/// The drawing of Figure 6.
pub fn figures_6(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let drawing = Drawing {
        number: 6,
        policies: [BEST, BERATE],
        length: ms(10_000),
        names: &["CPU-bound", "srtsim, 25 fps, 50 %", "srtsim, 50 fps, 50 %"],
        caption: "The reading of BEST is uncertain.",
    };
    drawing.figure(6, "More than there is")
}
