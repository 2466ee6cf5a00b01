//! Made-up data of the size and shape of a real run of the access-link scenario.
#![allow(dead_code)]

pub mod cpus;
pub mod streams;

use laxity_core::Histogram;
use laxity_report::{FlowDetail, Kind, Meta, PolicyDetail, ResidualPlot};
use laxity_results::*;

pub const POLICIES: [&str; 4] = ["background", "shifted-line", "two-segment", "exact"];

/// Name, deadline in ms, packets a second, mean packet, mean delay and tail in ms by policy.
type Flow = (&'static str, Option<u64>, u64, u64, [(f64, f64); 6]);

const FLOWS: [Flow; 6] = [
    (
        "transactions",
        Some(20),
        20,
        300,
        [(0.77, 2.1), (0.86, 3.4), (1.0, 5.7), (1.1, 6.6), (0.8, 2.5), (1.2, 7.0)],
    ),
    (
        "video",
        Some(30),
        390,
        1536,
        [(1.5, 3.5), (1.8, 10.0), (1.9, 14.0), (2.2, 19.0), (1.6, 4.0), (2.5, 24.0)],
    ),
    (
        "voice",
        Some(5),
        700,
        100,
        [(0.53, 1.3), (0.53, 1.3), (0.62, 2.5), (0.7, 3.1), (0.55, 1.5), (0.8, 4.0)],
    ),
    (
        "ftp",
        None,
        90,
        1450,
        [(2.5, 22.0), (1.87, 14.2), (1.73, 7.6), (1.61, 6.4), (2.4, 20.0), (1.5, 6.0)],
    ),
    (
        "http",
        None,
        60,
        1450,
        [(2.6, 21.3), (1.93, 16.1), (1.78, 11.1), (1.66, 9.8), (2.5, 20.0), (1.6, 9.0)],
    ),
    (
        "mail",
        None,
        10,
        1450,
        [(3.6, 28.8), (2.28, 22.8), (1.97, 16.7), (1.9, 12.1), (3.3, 25.0), (1.8, 12.0)],
    ),
];

struct Lcg(u64);

impl Lcg {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub fn simulation(policies: &[&str], seconds: u64) -> (SimulationResult, Vec<PolicyDetail>) {
    let mut results = indexmap::IndexMap::new();
    let mut details = Vec::new();
    for (p, policy) in policies.iter().enumerate() {
        let mut flows = indexmap::IndexMap::new();
        let mut detail = PolicyDetail { policy: policy.to_string(), flows: Vec::new() };
        let (mut sum, mut n) = (0.0, 0u64);
        for (f, spec) in FLOWS.iter().enumerate() {
            let (result, series) = flow(spec, p, f as u64, seconds);
            if spec.1.is_none() {
                sum += result.mean_ms.unwrap_or(0.0) * result.packets as f64;
                n += result.packets;
            }
            flows.insert(spec.0.to_string(), result);
            detail.flows.push(series);
        }
        results.insert(
            policy.to_string(),
            PolicyResult {
                utilisation: 0.912,
                best_effort_mean_ms: Some(sum / n as f64),
                realtime_deadline_misses: 0,
                flows,
            },
        );
        details.push(detail);
    }
    let result = SimulationResult {
        scenario: "home-access".into(),
        seed: Some(1),
        duration_ns: seconds * 1_000_000_000,
        policies: results,
    };
    (result, details)
}

fn flow(spec: &Flow, policy: usize, seed: u64, seconds: u64) -> (FlowResult, FlowDetail) {
    let (name, deadline, rate, bytes, shapes) = *spec;
    let (mean, tail) = shapes[policy % shapes.len()];
    // The same arrivals and bursts under every policy.
    let (mut bursts, mut noise) = (Lcg(seed * 77 + 5), Lcg(seed * 31 + policy as u64 + 1));
    let mut h = Histogram::new();
    let (mut series, mut excerpt) = (Vec::new(), Vec::new());
    let packets = rate * seconds;
    let stride = (packets / 4000).max(1);
    let (mut kept, mut level) = ((0, 0), 0.0f64);
    for i in 0..packets {
        let at = i * 1_000_000_000 / rate + (bursts.unit() * 3e5) as u64;
        if bursts.unit() < 0.004 {
            level = bursts.unit();
        }
        level *= 0.93;
        let base = mean * 0.25 - mean * 0.7 * (1.0 - noise.unit()).ln();
        let ms = (base + level.powi(2) * (tail - mean) * 1.1).min(tail);
        let ns = (ms * 1e6) as u64;
        h.record(ns);
        if ns >= kept.1 {
            kept = (at, ns);
        }
        if i % stride == stride - 1 {
            series.push(std::mem::take(&mut kept));
        }
        if (100_000_000_000..101_500_000_000).contains(&at) {
            excerpt.push((at, ns));
        }
    }
    let ms = |ns: Option<u64>| ns.map(|v| v as f64 / 1e6);
    let max = ms(h.max());
    let result = FlowResult {
        kind: if deadline.is_some() { FlowKind::Realtime } else { FlowKind::BestEffort },
        packets,
        bytes: packets * bytes,
        mean_ms: h.mean().map(|m| m / 1e6),
        p50_ms: ms(h.quantile(500)),
        p99_ms: ms(h.quantile(990)),
        max_ms: max,
        deadline_ms: deadline.map(|d| d as f64),
        max_lateness_ms: deadline.and_then(|d| Some(max? - d as f64)),
        deadline_misses: 0,
        dropped: if name == "mail" { 12 * (4 - policy.min(4) as u64) } else { 0 },
        demoted: 0,
        demoted_mean_ms: None,
        demoted_max_ms: None,
        aqm_drops: None,
        ecn_marks: None,
        tcp: None,
        drop_reasons: if name == "mail" && policy < 4 {
            [("best-effort buffer full".to_string(), 12 * (4 - policy as u64))].into()
        } else {
            Default::default()
        },
    };
    let detail = FlowDetail {
        flow: name.into(),
        kind: result.kind,
        deadline_ns: deadline.map(|d| d * 1_000_000),
        series,
        excerpt,
        distribution: h.iter().collect(),
    };
    (result, detail)
}

pub fn meta() -> Meta {
    Meta {
        kind: Kind::Simulated,
        version: "0.1.0".into(),
        command:
            "laxity simulate scenarios/home-access.toml --policy all --seed 1 --report out.html"
                .into(),
        link_rate: Some(10_000_000),
        max_packet: Some(1536),
        deadlines: FLOWS.iter().filter_map(|f| Some((f.0.to_string(), f.1? * 1_000_000))).collect(),
        policy: Some("exact".into()),
        featured: vec!["video".into(), "ftp".into()],
        excerpt: Some((100_000_000_000, 101_500_000_000)),
        facts: vec![("Blocking".into(), "paper".into())],
    }
}

pub fn check(admitted: bool) -> CheckResult {
    let flow = |demand, min, rate: &str, burst: &str| FlowCheck {
        service: None,
        demand_bytes: demand,
        min_deadline_ns: Some(min),
        max_rate: Some(rate.into()),
        max_burst: Some(burst.into()),
        rate_is_peak: false,
        burst_is_limit: false,
        conservative: false,
    };
    let mut flows = indexmap::IndexMap::new();
    flows.insert("transactions".into(), flow(19_700, 13_204_000, "2.34 Mbit/s", "53.1 kB"));
    flows.insert("video".into(), flow(43_536, 11_873_344, "7.9 Mbit/s", "43.6 kB"));
    flows.insert(
        "voice".into(),
        flow(6300, if admitted { 2_101_000 } else { 5_311_000 }, "3.1 Mbit/s", "4.25 kB"),
    );
    CheckResult {
        admitted,
        utilisation: 0.64,
        binding_interval_ns: Some(5_000_000),
        slack_bytes: Some(if admitted { 4414 } else { -389 }),
        flows,
        residual: corners(&residual().effective),
        best_effort: Default::default(),
        shares: None,
        later_auto: None,
        idle_realtime: None,
    }
}

/// A rising polyline as corners with the slope in B/s from there on.
fn corners(points: &[(f64, f64)]) -> Vec<(u64, f64, f64)> {
    let slope = |i: usize| match points.get(i + 1) {
        Some(next) if next.0 > points[i].0 => (next.1 - points[i].1) / (next.0 - points[i].0) * 1e9,
        _ => 450e3,
    };
    points.iter().enumerate().map(|(i, p)| (p.0 as u64, p.1, slope(i))).collect()
}

/// The link of the paper's Table 3: TSpec envelopes over 10 Mbit/s.
pub fn residual() -> ResidualPlot {
    let specs = [
        (0.020, 700.0, 150e3, 45_000.0, 50e3),
        (0.030, 1536.0, 800e3, 15_000.0, 600e3),
        (0.005, 100.0, 250e3, 300.0, 150e3),
    ];
    let left = |t: f64, after: bool| {
        let demand: f64 = specs
            .iter()
            .filter(|s| if after { t >= s.0 } else { t > s.0 })
            .map(|s| (s.1 + s.2 * (t - s.0)).min(s.3 + s.4 * (t - s.0)))
            .sum();
        1.25e6 * t - 1536.0 - demand
    };
    let mut times = vec![0.0, 0.7];
    for s in specs {
        times.extend([s.0, s.0 + (s.3 - s.1) / (s.2 - s.4)]);
    }
    times.sort_by(f64::total_cmp);
    let mut residual = Vec::new();
    for t in &times {
        residual.extend([(t * 1e9, left(*t, false)), (t * 1e9, left(*t, true))]);
    }
    // The largest rising curve below R(t): sweep from the right.
    let mut effective: Vec<(f64, f64)> = Vec::new();
    let mut lowest = f64::INFINITY;
    for pair in residual.windows(2).rev() {
        let (a, b) = (pair[0], pair[1]);
        if effective.is_empty() {
            effective.push(b);
            lowest = b.1;
        }
        if b.1 < lowest {
            lowest = b.1;
            effective.push((b.0, b.1));
        }
        if a.1 < lowest && b.0 > a.0 {
            if b.1 > lowest {
                let t = a.0 + (b.0 - a.0) * (lowest - a.1) / (b.1 - a.1);
                effective.push((t, lowest));
            }
            lowest = a.1;
            effective.push(a);
        } else if b.0 > a.0 {
            effective.push((a.0, lowest));
        }
    }
    effective.reverse();
    for p in &mut effective {
        p.1 = p.1.max(0.0);
    }
    ResidualPlot {
        residual,
        effective,
        approximations: vec![
            ("shifted-line".into(), vec![(0.0, 0.0), (15e6, 0.0), (700e6, 253_813.0)]),
            ("two-segment".into(), vec![(0.0, 0.0), (463e6, 165_999.0), (700e6, 272_649.0)]),
        ],
        near_ns: Some(110e6),
        whole_ns: Some(600e6),
    }
}

pub fn reproduction() -> Reproduction {
    let published = [
        ("background/ftp/mean", 2.50, 2.61),
        ("background/http/mean", 2.61, 2.57),
        ("background/mail/mean", 3.61, 3.52),
        ("shifted-line/ftp/mean", 1.87, 1.93),
        ("shifted-line/http/mean", 1.93, 1.95),
        ("shifted-line/mail/mean", 2.28, 2.31),
        ("two-segment/ftp/mean", 1.73, 1.22),
        ("two-segment/http/mean", 1.78, 1.80),
        ("two-segment/mail/mean", 1.97, 2.11),
    ];
    let row = |(label, p, m): (&str, f64, f64)| {
        let near = (m - p).abs() / p <= 0.15;
        ReproductionRow {
            label: label.into(),
            unit: "ms".into(),
            published: Some(p),
            measured: m,
            spread: 0.07,
            live: label.starts_with("two").then_some(m * 1.04),
            tolerance: 0.15,
            claim: format!("low-delay.table2/{label}"),
            verdict: if near {
                ReproductionVerdict::Reproduced
            } else {
                ReproductionVerdict::Differs
            },
            why: if near {
                String::new()
            } else {
                "the paper does not state the queue length of the fair queue; a shorter one gives \
                 the published number"
                    .into()
            },
            ..ReproductionRow::default()
        }
    };
    let mut rows: Vec<_> = published.into_iter().map(row).collect();
    rows.push(ReproductionRow {
        label: "two-segment/video/missed".into(),
        unit: "packets".into(),
        published: None,
        measured: 0.0,
        spread: 0.0,
        live: None,
        tolerance: 0.0,
        verdict: ReproductionVerdict::Reproduced,
        why: "no deadline of a real-time flow is missed".into(),
        claim: "missed".into(),
        ..ReproductionRow::default()
    });
    rows.push(ReproductionRow {
        label: "exact/ftp/mean".into(),
        unit: "ms".into(),
        published: None,
        measured: 1.61,
        spread: 0.05,
        live: None,
        tolerance: 0.0,
        verdict: ReproductionVerdict::NotStated,
        why: "the paper gives no numbers for the exact assignment".into(),
        ..ReproductionRow::default()
    });
    let experiment = |id: &str, source: &str, rows| Experiment {
        id: id.into(),
        source: source.into(),
        reading: "Delays of each packet from its arrival to the end of its transmission, averaged \
                  over a run of 360 s."
            .into(),
        seeds: vec![1, 2, 3, 4, 5],
        rows,
    };
    let claims = rows.iter().filter(|r| !r.claim.is_empty()).map(|r| ClaimResult {
        claim: r.claim.clone(),
        origin: r.origin,
        // The first stands in both experiments.
        rows: if r.label == published[0].0 { 2 } else { 1 },
        verdict: match r.verdict {
            ReproductionVerdict::Reproduced => ClaimVerdict::Reproduced,
            _ => ClaimVerdict::Differs,
        },
        live: None,
    });
    Reproduction {
        paper: "low-delay".into(),
        quick: false,
        duration: "360 s".into(),
        claims: claims.collect(),
        experiments: vec![
            experiment("low-delay.table2", "Table 2", rows.clone()),
            experiment("low-delay.fig8", "Figure 8", rows[..1].to_vec()),
        ],
    }
}
