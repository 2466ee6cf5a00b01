//! Examples of the service curves behind the low-delay paper's section 6: SCED (Sariowan, Cruz, Polyzos 1999), HFSC
//! (Stoica, Zhang, Ng 1997) and Fair Service Curve (Ng, Stephens, Stoica, Zhang 1999), beside a model of HFSC in Linux.
//!
//! The papers draw their examples without numbers; the curves are those of tc-hfsc(7) and of `docs/results`.

mod contender;

use std::path::Path;

use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::disciplines::{HfscClass, Slopes};

use crate::{ExperimentError, Finished, Job, Measured, Paper};
use contender::{Burst, Contender, Sent};

/// The row of these papers.
pub const PAPER: Paper = Paper {
    name: "service-curves",
    title: "service curves: promises, fairness, delay apart from rate",
    sheet: include_str!("../../../../experiments/service-curves/published.toml"),
    until_known: false,
    work: |job| job.ids.len() as u128 * 1_000_000_000,
    measure,
};

const PROMISES: &str = include_str!("../../../../experiments/service-curves/promises.toml");
const SHARES: &str = include_str!("../../../../experiments/service-curves/shares.toml");
const DECOUPLED: &str = include_str!("../../../../experiments/service-curves/decoupled.toml");
const CONVEX: &str = include_str!("../../../../experiments/service-curves/convex.toml");

const MS: u64 = 1_000_000;

/// The curves of tc-hfsc(7), as in `promises.toml`.
const FIRST: Slopes = Slopes { m1: 2_000_000, d: 100 * MS, m2: 7_000_000 };
const SECOND: Slopes = Slopes { m1: 7_000_000, d: 100 * MS, m2: 2_000_000 };

fn scenario(text: &str) -> Result<Scenario, ExperimentError> {
    Ok(Scenario::parse(text, Path::new("experiments/service-curves"))?)
}

fn measure(job: &Job, control: &Control) -> Result<Finished, ExperimentError> {
    let mut finished = Finished::default();
    let mut add = |short: &str, rows: Vec<Measured>| {
        finished.measured.push((format!("{}.{short}", PAPER.name), Vec::new(), rows));
    };
    if job.wants("promise-and-punishment") {
        add("promise-and-punishment", promise_and_punishment(control)?);
    }
    if job.wants("delay-apart-from-rate") {
        add("delay-apart-from-rate", delay_apart_from_rate(control)?);
    }
    if job.wants("convex-curve") {
        add("convex-curve", convex_curve(control)?);
    }
    Ok(finished)
}

fn ms(label: &str, ns: f64) -> Measured {
    Measured::new(label, "ms", vec![ns / 1e6])
}

/// The first class has a backlog from 0 on, the second from 200 ms on.
fn promise_and_punishment(control: &Control) -> Result<Vec<Measured>, ExperimentError> {
    let (back, both) = (200 * MS, |rt| HfscClass { rt: Some(rt), ls: Some(rt) });
    let traffic = [Burst::new(0, 0, 1500, 400), Burst::new(back, 1, 1500, 200)];
    let hfsc = Contender::Hfsc(vec![both(FIRST), both(SECOND)]);
    let mut rows = Vec::new();
    for (name, text, contender) in [
        ("sced", PROMISES, Contender::Policy("exact")),
        ("hfsc", PROMISES, hfsc),
        ("fsc", SHARES, Contender::Policy("background")),
    ] {
        let sent = contender.run(&scenario(text)?, &traffic, control)?;
        rows.push(ms(&format!("{name}/second/late"), lateness(&sent, 1, back, SECOND)));
        let served = sent.iter().filter(|s| s.flow == 0 && s.end > back).map(|s| s.end);
        let mut before = back;
        let mut longest = 0;
        for end in served {
            longest = longest.max(end - before);
            before = end;
        }
        rows.push(ms(&format!("{name}/first/pause"), longest as f64));
    }
    Ok(rows)
}

/// By how much the packets of a flow that are all there at `start` miss its curve, at most; 0 if none does.
fn lateness(sent: &[Sent], flow: usize, start: u64, curve: Slopes) -> f64 {
    let (first, mut bits, mut late) = (curve.m1 as f64 * curve.d as f64 / 1e9, 0.0, 0.0f64);
    for s in sent.iter().filter(|s| s.flow == flow) {
        bits += f64::from(s.bytes) * 8.0;
        let due = if bits <= first {
            bits / curve.m1 as f64 * 1e9
        } else {
            curve.d as f64 + (bits - first) / curve.m2 as f64 * 1e9
        };
        late = late.max((s.end - start) as f64 - due);
    }
    late
}

fn largest_delay(sent: &[Sent], flow: usize) -> f64 {
    let delays = sent.iter().filter(|s| s.flow == flow).map(|s| s.end - s.arrival);
    delays.max().unwrap_or(0) as f64
}

/// Telnet sends three or four packets of 200 or 400 B now and then; ftp and mail always have some.
fn delay_apart_from_rate(control: &Control) -> Result<Vec<Measured>, ExperimentError> {
    let mut traffic = vec![Burst::new(0, 1, 1500, 120), Burst::new(0, 2, 1000, 90)];
    for (i, at) in (2..140).step_by(7).enumerate() {
        let (bytes, packets) = [(200, 4), (200, 3), (400, 3)][i % 3];
        traffic.push(Burst::new(at * MS, 0, bytes, packets));
    }
    let mut rows = Vec::new();
    let by_curves = scenario(DECOUPLED)?;
    let line = "service_curve = { rate = \"800 kbit/s\", latency = \"0 ms\" }";
    let steep = "service_curve = { m1 = \"8 Mbit/s\", d = \"2 ms\", m2 = \"800 kbit/s\" }";
    let by_lines = scenario(&DECOUPLED.replace(steep, line))?;
    let by_starts = "fair_queue = \"fsc\"\nfair_order = \"start\"";
    let by_starts = scenario(&DECOUPLED.replace("fair_queue = \"fsc\"", by_starts))?;
    let share = |m1, d, m2| HfscClass { rt: None, ls: Some(Slopes { m1, d, m2 }) };
    let linux = Contender::Hfsc(vec![
        share(8_000_000, 2 * MS, 800_000),
        share(0, 0, 4_800_000),
        share(0, 0, 2_400_000),
    ]);
    let policy = Contender::Policy("background");
    for (name, scenario, contender) in [
        ("fsc", &by_curves, &policy),
        ("fsc-lines", &by_lines, &policy),
        ("fsc-starts", &by_starts, &policy),
        ("hfsc", &by_curves, &linux),
    ] {
        let sent = contender.run(scenario, &traffic, control)?;
        rows.push(ms(&format!("{name}/telnet/max"), largest_delay(&sent, 0)));
    }
    let [curves, lines, ..] = &rows[..] else { return Ok(rows) };
    let percent = 100.0 * curves.values[0] / lines.values[0];
    rows.push(Measured::new("fsc/telnet/max-percent", "%", vec![percent]));
    Ok(rows)
}

/// `docs/results/hfsc-convex.md`.
fn convex_curve(control: &Control) -> Result<Vec<Measured>, ExperimentError> {
    let back = 12_990_000;
    let traffic =
        [Burst::new(0, 0, 1500, 1), Burst::new(back, 0, 1500, 10), Burst::new(back, 1, 1250, 10)];
    let class = |m1| HfscClass { rt: Some(Slopes { m1, d: 10 * MS, m2: 4_000_000 }), ls: None };
    let scenario = scenario(CONVEX)?;
    let mut rows = Vec::new();
    for (name, contender) in [
        ("exact", Contender::Policy("exact")),
        ("hfsc", Contender::Hfsc(vec![class(0), class(10_000_000)])),
    ] {
        let sent = contender.run(&scenario, &traffic, control)?;
        rows.push(ms(&format!("{name}/concave/max"), largest_delay(&sent, 1)));
    }
    Ok(rows)
}
