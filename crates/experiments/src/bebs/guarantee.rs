//! Section 4's guarantees: the distance of deadlines, and no late hard job.

use laxity_core::{Span, Time};
use laxity_cpu::servers::{Servers, Transition};
use laxity_cpu::{Share, TaskId, bebs, cbs, iris};
use laxity_sim::Control;
use laxity_sim::cpu::papers::bebs::{figure_1, figure_4, newcomer};
use laxity_sim::cpu::papers::ms;
use laxity_sim::cpu::{Machine, Recording, Step, Workload, run};

use crate::tasks::contenders::{BEBS, BEBS_AVERAGE, BEBS_CREDIT, changing};
use crate::tasks::{Rule, Runs, Scale, Trial, numbers};
use crate::{ExperimentError, Measured};

/// Budget and period of the servers of figure 1, in ms.
const BUDGET: f64 = 10.0;
const PERIOD: f64 = 20.0;

/// The furthest that the second task's deadline lies ahead, in ms, sampled after every whole
/// millisecond of figure 1 up to `length`; all its releases are at such.
fn furthest(servers: impl Fn() -> Servers, length: u64) -> Result<f64, ExperimentError> {
    let mut furthest = 0;
    for n in 0..length {
        let mut policy = servers();
        // A nanosecond later the decisions of the instant are made.
        let until = Time::ZERO + ms(n) + Span(1);
        let machine = Machine::single(until, 1);
        run(&mut policy, &figure_1(), machine, &mut (), &Control::default())?;
        let deadline = policy.server_of(TaskId(1)).map_or(Time::ZERO, |s| s.2);
        furthest = furthest.max(deadline.since(Time::ZERO + ms(n)).0);
    }
    Ok(furthest as f64 / 1e6)
}

/// Distance of deadlines ahead of time.
pub fn bounds(_: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let bebs =
        || bebs::new(&bebs::Options { best_effort_bw_min: Share::ZERO, ..Default::default() });
    let whole = || cbs::Options { best_effort_bw_min: Share::ZERO, ..Default::default() };
    let (iris, cbs) = (|| iris::new(&whole()), || cbs::new(&whole()));
    let row = |label: &str, value| Measured::new(label, "ms", vec![value]);
    let over = |label: &str, value| Measured::new(label, "times", vec![value]);
    let (early, late) = (furthest(cbs, 200)?, furthest(cbs, 400)?);
    let bebs = furthest(bebs, 600)?;
    Ok(vec![
        row("bebs/deadline/furthest-ahead", bebs),
        row("iris/deadline/furthest-ahead", furthest(iris, 600)?),
        row("cbs/deadline/furthest-ahead-in-200ms", early),
        row("cbs/deadline/furthest-ahead-in-400ms", late),
        over("bebs/deadline/over-2p-minus-b", bebs / (2.0 * PERIOD - BUDGET)),
        over("cbs/deadline/400ms-over-200ms", late / early),
    ])
}

/// The hard job of the system in which a joining task needs a share that others must release first.
const DUE: f64 = 24.0;

const CHANGES: [(&str, Transition); 5] = [
    ("zero-lag", Transition::ZeroLag),
    ("wait", Transition::Wait),
    ("stretch", Transition::Stretch),
    ("stretch-and-wait", Transition::StretchAndWait),
    ("neither", Transition::Neither),
];

/// When the hard job ends, in ms.
fn hard_end(transition: Transition, first: Workload) -> Result<f64, ExperimentError> {
    let mut recording = Recording::new();
    let machine = Machine::single(Time::ZERO + ms(40), 1);
    let mut policy = changing(transition);
    run(&mut policy, &newcomer(first), machine, &mut recording, &Control::default())?;
    let end = recording.jobs.first().map_or(f64::NAN, |(_, job)| job.end.0 as f64 / 1e6);
    Ok(end)
}

fn system(percent: u64) -> String {
    format!("guarantee-{percent}")
}

/// Figure 4's hard tasks beside adaptive servers.
pub fn trials(scale: Scale) -> Vec<Trial> {
    let policies = [BEBS, BEBS_AVERAGE, BEBS_CREDIT];
    let what = (numbers::missed_and_switches as numbers::Numbers, 0, Rule::NEAREST_TENTH);
    policies.map(|p| scale.trial(p, &system(90), figure_4(90, None), what)).into()
}

/// Late hard jobs by reading.
pub fn rows(runs: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for policy in [BEBS, BEBS_AVERAGE, BEBS_CREDIT] {
        // The number after the two soft tasks and the switches.
        rows.extend(runs.row(policy, &system(90), "hard/late-in-a-run", "jobs", 3));
    }
    let sleeper = Workload::Script {
        steps: vec![Step::Run(Span(7_500_000)), Step::Sleep(ms(1000))],
        repeat: false,
    };
    for (name, transition) in CHANGES {
        for (first, workload) in [("stays", Workload::CpuBound), ("sleeps", sleeper.clone())] {
            let lateness = (hard_end(transition, workload)? - DUE).max(0.0);
            let label = format!("bebs-{name}/other-{first}/lateness");
            rows.push(Measured::new(label, "ms", vec![lateness]));
        }
    }
    Ok(rows)
}
