//! Figures 5 and 6: the cost of a decision on this machine. Numbers vary from run to run.

use std::hint::black_box;

use laxity_bench::baselines::channels::{Heads, Ring, SystemV};
use laxity_bench::cpu_time;
use laxity_bench::ring::cost_per_packet;
use laxity_core::Time;
use laxity_dwcs::structure::{Heaps, List, Structure, Wheel};
use laxity_dwcs::{Attributes, Decision, Late, Options, Queues, Scheduler, StreamId};
use laxity_report::Figure;
use laxity_report::plot::Unit;
use laxity_sim::Control;

use super::checks::{GAPS, PERIODS};
use super::runs::GAP;
use super::simulation::joined;
use super::variants::check;
use super::workload::{Backlog, SERVICE, streams};
use crate::Measured;
use crate::draw::{Line, Panel, figure};

/// Numbers and their drawing.
pub type Timing = (Vec<Measured>, Figure);

/// Turns of contenders, one after the other; the median counts.
const TURNS: usize = 5;

/// Decisions of a turn, and before the first.
const TURN: u64 = 4_000;
const WARM: u64 = 10_000;

/// A scheduler that makes more decisions of the same kind; returns the number of packets sent.
type Contender = Box<dyn FnMut(u64) -> u64>;

fn contender<S: Structure + 'static>(options: &Options, streams: &[Attributes]) -> Contender {
    let scheduler = joined::<S, ()>(options, streams, ());
    let mut queues = Backlog::new(streams.len());
    let mut unit = 0;
    let Some(mut scheduler) = scheduler else { return Box::new(|_| 0) };
    Box::new(move |decisions| {
        let mut sent = 0;
        for _ in 0..decisions {
            let decision = black_box(scheduler.next(Time(unit * SERVICE.0), &mut queues));
            sent += u64::from(matches!(decision, Decision::Serve { .. }));
            unit += 1;
        }
        sent
    })
}

/// Nanoseconds of each contender for each packet sent.
fn measure(mut contenders: Vec<Contender>) -> Vec<f64> {
    for decide in &mut contenders {
        decide(WARM);
    }
    let mut turns = vec![Vec::with_capacity(TURNS); contenders.len()];
    for _ in 0..TURNS {
        for (decide, turns) in contenders.iter_mut().zip(&mut turns) {
            let begun = cpu_time();
            let sent = decide(TURN);
            let took = cpu_time().saturating_sub(begun);
            turns.push(took.as_nanos() as f64 / sent.max(1) as f64);
        }
    }
    turns.into_iter().map(median).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Costs by structure and count of streams.
struct Costs {
    /// Structure, streams, nanoseconds.
    each: Vec<(&'static str, usize, f64)>,
}

impl Costs {
    fn of(&self, structure: &str, streams: usize) -> f64 {
        let found = self.each.iter().find(|(s, n, _)| *s == structure && *n == streams);
        found.map_or(f64::NAN, |(.., cost)| *cost)
    }

    fn rows(&self) -> Vec<Measured> {
        let row = |(structure, n, cost): &(&str, usize, f64)| {
            Measured::new(format!("{structure}/{n}-streams/cost"), "ns", vec![*cost])
        };
        self.each.iter().map(row).collect()
    }

    fn panel<'a>(&self, title: &'a str, desc: &'a str, names: &[(&str, &str)]) -> Panel<'a> {
        let line = |(i, (structure, name)): (usize, &(&str, &str))| {
            let of = self.each.iter().filter(|(s, ..)| s == structure);
            Line::new(*name, of.map(|(_, n, cost)| (*n as f64, *cost)).collect(), i)
        };
        Panel {
            title,
            desc,
            x: "streams",
            y: "CPU time of a decision",
            unit: Unit::Time,
            log_from: None,
            lines: names.iter().enumerate().map(line).collect(),
        }
    }
}

fn ratio(label: &str, above: f64, below: f64) -> Measured {
    Measured::new(label, "times", vec![above / below])
}

const COUNTS: [usize; 7] = [80, 160, 240, 360, 480, 640, 760];
const MOST: usize = COUNTS[COUNTS.len() - 1];

/// Figure 5(a); `None` when stopped.
pub fn structures(control: &Control) -> Option<Timing> {
    let mut costs = Costs { each: Vec::new() };
    for n in COUNTS {
        if control.stopped() {
            return None;
        }
        let late = streams(n, GAP, Late::Send);
        let dropped = streams(n, GAP, Late::Drop);
        let printed = Options::paper();
        let contenders = vec![
            contender::<List>(&printed, &late),
            contender::<Heaps>(&printed, &late),
            contender::<Wheel>(&Options::default(), &dropped),
        ];
        let names = ["list", "heaps", "default"];
        costs.each.extend(names.iter().zip(measure(contenders)).map(|(s, cost)| (*s, n, cost)));
    }
    let of = |structure, n| costs.of(structure, n);
    let mut rows = vec![
        ratio("list/480-streams/over-heaps", of("list", 480), of("heaps", 480)),
        ratio("list/760-streams/over-heaps", of("list", MOST), of("heaps", MOST)),
        ratio("list/all/growth", of("list", 480), of("list", 80)),
        ratio("heaps/all/growth", of("heaps", 480), of("heaps", 80)),
        ratio("heaps/480-streams/over-default", of("heaps", 480), of("default", 480)),
        ratio("heaps/760-streams/over-default", of("heaps", MOST), of("default", MOST)),
    ];
    rows.extend(costs.rows());
    let names = [
        ("list", "list, as printed"),
        ("heaps", "two heaps, as printed"),
        ("default", "wheel, by default"),
    ];
    let panel = costs.panel("", "The list grows in proportion, the others hardly.", &names);
    let caption = "CPU time of this machine for a decision, the median of five turns, without any \
                   packet being moved. After West, Schwan and Poellabauer, RTAS 1999, Figure 5(a).";
    let figure = figure("dwcs-fig5a", "Cost of a decision by structure", caption, &[panel]);
    Some((rows, figure))
}

/// Queues of a real server as the scheduler sees them.
struct Ends<'a, C: Heads> {
    ends: &'a mut [(C::In, C::Out)],
}

impl<C: Heads> Queues for Ends<'_, C> {
    fn serve(&mut self, stream: StreamId) -> Option<Time> {
        let (_, output) = self.ends.get_mut(stream.slot())?;
        let (_, next) = black_box(C::take(output))?;
        // Streams stay backlogged, so heads follow each other at the gap whenever they came.
        next.map(|_| Time::ZERO)
    }

    fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
        self.serve(stream)
    }
}

/// Figure 5(b): a packet into its stream's queue, a decision, and the packet out of it.
fn synchronised<C: Heads>(n: usize) -> std::io::Result<f64> {
    let streams = streams(n, GAP, Late::Send);
    let scheduler: Option<Scheduler<Heaps>> = joined(&Options::paper(), &streams, ());
    let Some(mut scheduler) = scheduler else { return Ok(f64::NAN) };
    let decide = |unit: u64, ends: &mut [(C::In, C::Out)]| {
        let mut queues = Ends::<C> { ends };
        match scheduler.next(Time(unit * SERVICE.0), &mut queues) {
            Decision::Serve { stream, .. } => stream.slot(),
            _ => usize::MAX,
        }
    };
    cost_per_packet::<C>(n, TURN, decide)
}

/// The reason why this machine cannot measure Figure 5(b), if it cannot.
pub fn no_semaphores() -> Option<String> {
    let error = cost_per_packet::<SystemV>(MOST, 0, |_, _| 0).err()?;
    Some(format!(
        "{MOST} System V semaphores are not available ({error}): `ipcs -ls` shows the limits, \
         `ipcs -s` the owners"
    ))
}

/// Figure 5(b); `None` when stopped or without semaphores.
pub fn synchronisation(control: &Control) -> Option<Timing> {
    let mut costs = Costs { each: Vec::new() };
    for n in COUNTS {
        let mut turns = [Vec::new(), Vec::new()];
        for _ in 0..TURNS {
            if control.stopped() {
                return None;
            }
            turns[0].push(synchronised::<Ring>(n).ok()?);
            turns[1].push(synchronised::<SystemV>(n).ok()?);
        }
        let [ring, semaphore] = turns.map(median);
        costs.each.extend([("ring", n, ring), ("semaphore", n, semaphore)]);
    }
    let over = |n| costs.of("semaphore", n) / costs.of("ring", n);
    let mut rows = vec![
        Measured::new("semaphore/480-streams/over-ring", "times", vec![over(480)]),
        Measured::new("semaphore/760-streams/over-ring", "times", vec![over(MOST)]),
    ];
    rows.extend(costs.rows());
    let names = [("semaphore", "System V semaphores"), ("ring", "rings without locks")];
    let panel = costs.panel("", "Semaphores cost a multiple of rings at any count.", &names);
    let caption = "CPU time of this machine for a packet into its stream's queue, a decision by two \
                   heaps as printed, and the packet out of the queue, both ends on one thread. After \
                   West, Schwan and Poellabauer, RTAS 1999, Figure 5(b).";
    let figure = figure("dwcs-fig5b", "Cost of synchronisation", caption, &[panel]);
    Some((rows, figure))
}

/// Streams of Figure 6.
const CHECK_COUNTS: [usize; 3] = [240, 480, 760];

/// Figure 6; `None` when stopped.
pub fn check_interval(control: &Control) -> Option<Timing> {
    let mut rows = Vec::new();
    let mut lines: [Vec<Line>; 2] = Default::default();
    let mut costs = Vec::new();
    for (gap, lines) in GAPS.into_iter().zip(&mut lines) {
        for (place, n) in CHECK_COUNTS.into_iter().enumerate() {
            let streams = streams(n, gap, Late::Send);
            if control.stopped() {
                return None;
            }
            for structure in ["heaps", "list"] {
                let build = |every: u32| {
                    let options = check(Options::paper(), every);
                    match structure {
                        "list" => contender::<List>(&options, &streams),
                        _ => contender::<Heaps>(&options, &streams),
                    }
                };
                let each = measure(PERIODS.into_iter().map(build).collect());
                if structure == "heaps" {
                    let points = PERIODS.into_iter().map(f64::from).zip(each.iter().copied());
                    lines.push(Line::new(format!("{n} streams"), points.collect(), place));
                }
                for (every, cost) in PERIODS.into_iter().zip(&each) {
                    costs.push(((structure, n, gap, every), *cost));
                    let label = format!("{structure}/{n}-streams-{gap}/cost-p{every}");
                    rows.push(Measured::new(label, "ns", vec![*cost]));
                }
            }
        }
    }
    let of = |key| costs.iter().find(|(k, _)| *k == key).map_or(f64::NAN, |(_, cost)| *cost);
    let mut ratios = Vec::new();
    for structure in ["heaps", "list"] {
        for gap in GAPS {
            let label = format!("{structure}/760-streams-{gap}/p50-over-p1");
            let cost = |every| of((structure, 760, gap, every));
            ratios.push(ratio(&label, cost(50), cost(1)));
        }
        let label = format!("{structure}/all/growth-with-streams");
        ratios.push(ratio(&label, of((structure, 760, 200, 1)), of((structure, 240, 200, 1))));
    }
    ratios.extend(rows);
    let titles = GAPS.map(|gap| format!("Deadlines {gap} units apart"));
    let panels: Vec<Panel> = titles
        .iter()
        .zip(lines)
        .map(|(title, lines)| Panel {
            title,
            desc: "One line for each number of streams.",
            x: "services between two checks of deadlines",
            y: "CPU time of a decision",
            unit: Unit::Time,
            log_from: None,
            lines,
        })
        .collect();
    let caption = "CPU time of this machine for a decision by two heaps as printed. After West, \
                   Schwan and Poellabauer, RTAS 1999, Figure 6.";
    let name = "Cost of a decision when deadlines are checked less often";
    Some((ratios, figure("dwcs-fig6", name, caption, &panels)))
}
