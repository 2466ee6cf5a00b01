//! Figure 2: a task wakes while others use idle time.

use laxity_core::{Span, Time};
use laxity_cpu::servers::Servers;
use laxity_cpu::{Share, TaskId, bebs, cbs, iris};
use laxity_report::plot::{Axis, Body, Hue, Ink, Mark, Plot, Unit};
use laxity_report::{Figure, Key};
use laxity_sim::Control;
use laxity_sim::cpu::papers::bebs::figure_2;
use laxity_sim::cpu::papers::ms;
use laxity_sim::cpu::{Machine, run};

use crate::tasks::contenders::{BEBS_FIXED, IRIS_FIXED};
use crate::tasks::progress::{Single, single};
use crate::tasks::{Contender, Runs};
use crate::{ExperimentError, Measured};

/// The end of the figure.
const LENGTH: Span = ms(55);
/// When task 1 wakes.
const WAKE: Time = Time(26_000_000);

const NAMES: [&str; 3] = ["task-1", "task-2", "task-3"];

/// Deadlines in ms just after an instant.
fn deadlines(mut policy: Servers, after: Span) -> Result<[f64; 3], ExperimentError> {
    let until = Time::ZERO + after + Span(1);
    run(&mut policy, &figure_2(), Machine::single(until, 1), &mut (), &Control::default())?;
    let deadline = |task| policy.server_of(TaskId(task)).map_or(f64::NAN, |s| s.2.0 as f64 / 1e6);
    Ok([deadline(0), deadline(1), deadline(2)])
}

fn servers(policy: Contender) -> Servers {
    let best_effort_bw_min = Share::ZERO;
    if policy.name == BEBS_FIXED.name {
        bebs::new(&bebs::Options { best_effort_bw_min, ..Default::default() })
    } else {
        iris::new(&cbs::Options { best_effort_bw_min, ..Default::default() })
    }
}

/// Numbers of the figure.
pub fn rows(_: &Runs) -> Result<Vec<Measured>, ExperimentError> {
    let mut rows = Vec::new();
    let mut add = |label: String, unit, value: f64| {
        rows.push(Measured::new(label, unit, vec![value]));
    };
    let mut both = Vec::new();
    for policy in [IRIS_FIXED, BEBS_FIXED] {
        let name = policy.name;
        let run = single(policy, &figure_2(), LENGTH)?;
        let dated = deadlines(servers(policy), ms(26))?;
        for (task, deadline) in NAMES.iter().zip(dated) {
            add(format!("{name}/{task}/deadline"), "ms", deadline);
        }
        let first = run.recording.slices.iter().find(|s| s.task.0 == 0 && s.from >= WAKE);
        let first = first.map_or(f64::NAN, |s| s.from.since(WAKE).0 as f64 / 1e6);
        add(format!("{name}/task-1/wait-after-waking"), "ms", first);
        let executed = [0, 1, 2].map(|t| run.executed(t, Time::ZERO, run.end) as f64 / 1e6);
        // Deadlines give the instants of the next releases.
        both.push((executed, deadlines(servers(policy), ms(56))?));
    }
    let off = |a: [f64; 3], b: [f64; 3]| (0..3).map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max);
    if let [(cpu, next), (cpu_bebs, next_bebs)] = both[..] {
        add("bebs/tasks/cpu-time-off-iris".into(), "ms", off(cpu, cpu_bebs));
        add("bebs/tasks/next-release-off-iris".into(), "ms", off(next, next_bebs));
    }
    Ok(rows)
}

fn panel(policy: Contender, run: &Single) -> Plot {
    let x = Axis::linear("time", Unit::Time, 0.0, LENGTH.0 as f64);
    let mut y = Axis::names(["task 1", "task 2", "task 3"]);
    // Room for the label above the bars.
    y.max = 1.2;
    let mut plot = Plot::new(policy.title, x, y)
        .sized(440.0, 170.0)
        .described("Bars show which task runs when.");
    for slice in &run.recording.slices {
        let place = slice.task.index();
        plot = plot.with(Mark::Bar {
            y: -(place as f64),
            x: (slice.from.0 as f64, slice.to.0 as f64),
            thick: 18.0,
            hue: Hue::Series(place + 1),
            body: Body::Solid,
        });
    }
    plot.with(Mark::Vertical {
        x: WAKE.0 as f64,
        label: "task 1 wakes".into(),
        ink: Ink::new(Hue::Muted).wide(1.2),
    })
}

/// The drawing.
pub fn figures(_: &Runs) -> Result<Vec<Figure>, ExperimentError> {
    let panels = [IRIS_FIXED, BEBS_FIXED]
        .map(|policy| single(policy, &figure_2(), LENGTH).map(|run| panel(policy, &run)));
    let panels = panels.into_iter().collect::<Result<Vec<_>, _>>()?;
    let keys = ["task 1", "task 2", "task 3"].iter().enumerate();
    let keys = keys.map(|(i, name)| Key::patch(*name, Ink::new(Hue::Series(i + 1)))).collect();
    let figure = Figure::new("bebs-fig2", "Waking while others use idle time", 2)
        .keyed(keys)
        .with(panels)
        .captioned(
            "Three servers of 10 ms in every 30 ms; task 1 sleeps from 5 to 26 ms. After \
             Banachowski, Bisson and Brandt (BEBS), Figure 2.",
        );
    Ok(vec![figure])
}
