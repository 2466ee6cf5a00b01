//! Section 2.2: tick accounting of a task that is in phase with the clock ticks.

use laxity_core::{Span, Time};
use laxity_report::Figure;
use laxity_report::plot::Unit;
use laxity_sim::cpu::Cost;
use laxity_sim::cpu::papers::berate::in_phase;
use laxity_sim::cpu::papers::ms;

use crate::draw::{Line, Panel, figure};
use crate::tasks::contenders::{
    BEBS, BEBS_CREDIT, BERATE, EEVDF, LINUX_24, LINUX_24_100, LINUX_26,
};
use crate::tasks::progress::{Single, single};
use crate::tasks::{Contender, Runs};
use crate::{ExperimentError, Measured};

const LENGTH: Span = ms(100_000);
/// A clock interrupt of 100 Hz.
const TICK: u64 = 10_000_000;
/// Execution time of the task in every 10 ms: for the bill, and to exceed its share.
const BILLED: Span = ms(5);
const GREEDY: Span = Span(7_500_000);
/// CPU-bound tasks beside the greedy one: its fair share is a quarter.
const OTHERS: usize = 3;

/// From a tick to the task's wake-up, in us.
const PHASES: [u64; 9] = [1, 1250, 2500, 3750, 5001, 6250, 7500, 8750, 9999];

/// Per cent of its CPU time that a task is billed for when each tick bills a whole one to the task
/// that it finds running.
fn billed(run: &Single) -> f64 {
    let slices = run.recording.slices.iter().filter(|s| s.task.index() == 0);
    // Ticks strictly inside: at its ends the task is not running any more, or not yet.
    let ticks: u64 = slices.map(|s| s.to.0.saturating_sub(1) / TICK - s.from.0 / TICK).sum();
    let executed = run.executed(0, Time::ZERO, run.end);
    (ticks * TICK) as f64 * 100.0 / executed.max(1) as f64
}

fn play(
    policy: Contender,
    phase: u64,
    cost: Cost,
    others: usize,
) -> Result<Single, ExperimentError> {
    single(policy, &in_phase(Span(phase * 1000), cost, others), LENGTH)
}

/// The task's CPU time as a multiple of its fair share.
fn over_fair(run: &Single, others: usize) -> f64 {
    run.measure.share(0, run.end) * (others + 1) as f64
}

/// Billed and used CPU time.
pub fn rows(_: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    for phase in PHASES {
        let run = play(LINUX_24_100, phase, Cost::Fixed(BILLED), 1)?;
        let label = format!("linux-2.4-100hz/phase-{phase}-us/billed");
        rows.push(Measured::new(label, "%", vec![billed(&run)]));
    }
    let frames = Cost::Gauss { mean: BILLED, cv: 0.4 };
    let run = play(LINUX_24_100, 1, frames, 1)?;
    rows.push(Measured::new("linux-2.4-100hz/variable-frames/billed", "%", vec![billed(&run)]));
    for policy in POLICIES {
        let run = play(policy, 1, Cost::Fixed(GREEDY), OTHERS)?;
        let label = format!("{}/in-phase/share-over-fair", policy.name);
        rows.push(Measured::new(label, "times", vec![over_fair(&run, OTHERS)]));
    }
    Ok(rows)
}

const POLICIES: [Contender; 7] =
    [LINUX_24_100, LINUX_24, LINUX_26, BERATE, BEBS, BEBS_CREDIT, EEVDF];

/// Both against the phase.
pub fn figures(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let mut bill = Vec::new();
    for phase in PHASES {
        let run = play(LINUX_24_100, phase, Cost::Fixed(BILLED), 1)?;
        bill.push((phase as f64 / 1000.0, billed(&run)));
    }
    let mut shares = Vec::new();
    for (i, policy) in [LINUX_24_100, LINUX_24, BERATE, BEBS].into_iter().enumerate() {
        let mut points = Vec::new();
        for phase in PHASES {
            let run = play(policy, phase, Cost::Fixed(GREEDY), OTHERS)?;
            points.push((phase as f64 / 1000.0, over_fair(&run, OTHERS)));
        }
        shares.push(Line::new(policy.title, points, i));
    }
    let x = "from a tick to the wake-up, ms";
    let panels = [
        Panel {
            title: "5 ms in every 10 ms",
            desc: "Ticks of 100 Hz bill nothing or twice the time used.",
            x,
            y: "billed, % of what was used",
            unit: Unit::Plain,
            log_from: None,
            lines: vec![Line::new("Linux 2.4, 100 Hz", bill, 0)],
        },
        Panel {
            title: "7.5 ms in every 10 ms beside three CPU-bound tasks",
            desc: "Share by policy against the phase.",
            x,
            y: "share, times the fair one",
            unit: Unit::Plain,
            log_from: None,
            lines: shares,
        },
    ];
    let caption = "A task that wakes every 10 ms, by its distance from the clock ticks. After \
                   section 2.2 of Banachowski and Brandt (BeRate).";
    Ok(vec![figure("berate-accounting", "Tick accounting", caption, &panels)])
}
