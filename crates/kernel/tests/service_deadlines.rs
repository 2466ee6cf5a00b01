//! The deadlines of service curves in C are those of Rust, packet by packet.

#[path = "support/headers.rs"]
mod headers;
#[path = "support/random.rs"]
mod random;

use laxity_core::{Bytes, Rate, Span, Time};
use laxity_curve::service::{ServiceCurve, ServiceDeadlines, ServiceSpec};
use laxity_kernel::PlanError;
use laxity_kernel::plan::{MOST_CURVE_LINES, MOST_CURVE_STARTS, served_flow};
use random::Random;

/// What happens to a flow.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// A packet of so many bytes; whether it is a start.
    Packet(u64, u32, bool),
    /// The link was idle.
    Idle,
}

/// Flows with what happens to them, and the deadlines that Rust gives.
#[derive(Default)]
struct Script {
    input: Vec<u8>,
    wanted: Vec<u64>,
    /// The flows, with the number of packets before each.
    flows: Vec<(usize, ServiceSpec, Vec<Step>)>,
}

impl Script {
    fn words(&mut self, words: [u64; 4]) {
        words.iter().for_each(|w| self.input.extend_from_slice(&w.to_ne_bytes()));
    }

    fn flow(&mut self, spec: &ServiceSpec, steps: &[Step]) {
        let image = served_flow(spec, "flow").unwrap_or_else(|error| panic!("{error}: {spec:?}"));
        self.words([2, image.len() as u64, 0, 0]);
        self.input.extend_from_slice(&image);
        let inverse = spec.curve.inverse().expect("an inverse");
        let mut deadlines = ServiceDeadlines::new(&inverse, MOST_CURVE_STARTS as usize);
        self.flows.push((self.wanted.len(), spec.clone(), steps.to_vec()));
        for step in steps {
            match *step {
                Step::Packet(now, wire, starts) => {
                    self.words([0, now, wire.into(), starts.into()]);
                    let counted = wire.max(spec.min_packet.0 as u32);
                    self.wanted.push(deadlines.push(Time(now), counted, starts).0);
                }
                Step::Idle => {
                    self.words([1, 0, 0, 0]);
                    deadlines.reset();
                }
            }
        }
        assert_eq!(deadlines.joined(), 0, "the plan bounds the starts: {spec:?}");
    }

    /// Compares; returns how many packets there were, none without a compiler.
    fn compare(self) -> usize {
        let Some(answers) = headers::ask("service_deadlines.c", self.input) else { return 0 };
        assert_eq!(answers.len(), self.wanted.len());
        for (place, (answer, due)) in answers.iter().zip(&self.wanted).enumerate() {
            if *answer != due.to_string() {
                let flow = self.flows.iter().rfind(|(first, ..)| *first <= place).expect("a flow");
                panic!("packet {}: {answer} for {due}: {flow:?}", place - flow.0);
            }
        }
        answers.len()
    }
}

fn spec(curve: ServiceCurve, least: u64, most: u64) -> ServiceSpec {
    ServiceSpec::new(curve, Bytes(least), Bytes(most)).expect("a flow")
}

/// A curve of any kind, of some milliseconds and kilobytes.
fn curve(random: &mut Random) -> ServiceCurve {
    let rate = |random: &mut Random| {
        Rate(random.of(&[1, 8_000, 64_000, 1_000_000, 7_654_321, 1_000_000_007, 25_000_000_000]))
    };
    let time = |random: &mut Random| Span(1 + random.below(20_000_000));
    let (first, last) = (rate(random), rate(random));
    let curve = match random.below(5) {
        0 => ServiceCurve::rate_latency(last, time(random)),
        1 => ServiceCurve::two_piece(Rate(first.0.min(100_000_000)), time(random), last),
        2 => ServiceCurve::umax_dmax(Bytes(100 + random.below(9_000)), Span(7_000_000), last),
        3 => ServiceCurve::points(&[(Span(0), Bytes(0)), (time(random), Bytes(3_000))], last),
        _ => {
            let (mut at, mut bytes) = (0, 0);
            let points: Vec<(Span, Bytes)> = (0..1 + random.below(7))
                .map(|_| {
                    // Slopes are fractions with small denominators; every third is a jump or flat.
                    let (wait, more) =
                        (random.of(&[0, 1, 2, 3, 7]), random.of(&[0, 200, 900, 7_000]));
                    at += if at == 0 { 1_000_000 } else { wait * 1_000_000 };
                    bytes += more;
                    (Span(at), Bytes(bytes))
                })
                .collect();
            ServiceCurve::points(&points, last)
        }
    };
    curve.unwrap_or_else(|_| ServiceCurve::rate_latency(last, Span(1_000_000)).expect("a curve"))
}

/// Packets in periods of backlog, between them pauses short and long, and idle links.
fn traffic(random: &mut Random, spec: &ServiceSpec) -> Vec<Step> {
    let mut now = 1_000_000_000 + random.below(1 << 50);
    let pace = random.of(&[1_000, 100_000, 3_000_000]);
    let mut steps = vec![];
    let (mut starts, mut often) = (true, 1);
    for _ in 0..400 {
        let most = spec.max_packet.0;
        let any = 1 + random.below(most);
        let wire = random.of(&[1, spec.min_packet.0, most, most, any]);
        steps.push(Step::Packet(now, wire as u32, starts));
        now += random.below(pace);
        starts = random.below(often) == 0;
        match random.below(60) {
            0 => often = random.of(&[1, 2, 9, 60]),
            1 => {
                let most = random.below(45);
                now += random.below(1 << most);
            }
            2 => {
                steps.push(Step::Idle);
                starts = true;
            }
            _ => {}
        }
    }
    steps
}

/// Random curves, far and near starts, days of pauses.
///
/// Fails when the last line loses its remainder, forgets to move with the bytes, or takes each new
/// start; when a window keeps a start that has moved on; when the older of two starts always decides,
/// or the newer; when a corner belongs to the line beyond it; when a flow keeps its starts while the
/// link idles; when short packets count as such. All tried.
#[test]
fn random_flows_have_the_deadlines_of_rust() {
    let mut script = Script::default();
    let (mut flows, mut refused) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random(seed);
        let curve = curve(&mut random);
        let least = random.of(&[1, 60, 64, 300]);
        let most = least + random.below(1500);
        let spec = spec(curve, least, most);
        if served_flow(&spec, "flow").is_err() {
            refused += 1;
            continue;
        }
        let steps = traffic(&mut random, &spec);
        script.flow(&spec, &steps);
        flows += 1;
    }
    assert!(flows > 2000 && refused > 50, "{flows} and {refused} refused");
    script.compare();
}

/// All sequences of six packets of 1 or 3 bytes, at distances of 0, 1 and 5 ns, each a start or not, on
/// small curves: a line, concave, convex, with jumps and flats, with slopes that divide badly.
///
/// Fails as `random_flows_have_the_deadlines_of_rust` does, on less traffic.
#[test]
fn all_small_flows_have_the_deadlines_of_rust() {
    let at = |points: &[(u64, u64)], (num, den): (u64, u64)| {
        let points: Vec<_> = points.iter().map(|(t, w)| (Span(*t), Bytes(*w))).collect();
        ServiceCurve::points(&points, Rate(8_000_000_000 * num / den)).expect("a curve")
    };
    let curves = [
        at(&[], (1, 3)),
        at(&[(4, 0)], (2, 5)),
        at(&[(4, 8)], (1, 3)),
        at(&[(5, 1)], (2, 1)),
        at(&[(3, 0), (3, 4)], (1, 7)),
        at(&[(3, 2), (6, 2), (6, 5)], (3, 4)),
        at(&[(2, 6), (4, 7), (7, 13), (9, 13)], (1, 2)),
    ];
    let mut script = Script::default();
    for curve in curves {
        for count in 0..12u64.pow(5) {
            let (mut code, mut now) = (count, 100);
            let mut steps = vec![Step::Packet(now, 1 + 2 * (count as u32 % 2), true)];
            for _ in 0..5 {
                now += [0, 1, 5][(code % 3) as usize];
                let (large, starts) = (code / 3 % 2, code / 6 % 2);
                steps.push(Step::Packet(now, 1 + 2 * large as u32, starts > 0));
                code /= 12;
            }
            if count % 7 == 0 {
                steps.insert(3, Step::Idle);
                if let Step::Packet(.., starts) = &mut steps[4] {
                    *starts = true;
                }
            }
            // Each eighth; `LAXITY_SEARCH_EVERY=1` tries all.
            if count % every() == 0 {
                script.flow(&spec(curve.clone(), 1, 3), &steps);
            }
        }
    }
    let compared = script.compare();
    assert!(compared == 0 || compared > 1_000_000, "{compared}");
}

fn every() -> u64 {
    std::env::var("LAXITY_SEARCH_EVERY").ok().and_then(|v| v.parse().ok()).unwrap_or(8)
}

/// A flow that is served far ahead for long: 64 GB, 26 GB of them in one backlog, whose products 64
/// bits would not hold.
///
/// Fails when the instant on the last line is computed from all bytes since the start.
#[test]
fn long_backlogs_have_the_deadlines_of_rust() {
    for (rate, wire) in [(1_000_000_007, 64_000), (99_999_999_977, 64_000), (3_000_000, 9_000)] {
        let curve = ServiceCurve::two_piece(Rate(10_000_000), Span(10_000_000), Rate(rate));
        let flow = spec(curve.expect("a curve"), 60, wire.into());
        let packet = |i: u64| Step::Packet(1_000 + i * 900_000, wire, i % 400_000 == 0);
        let steps: Vec<Step> = (0..1_000_000).map(packet).collect();
        let mut script = Script::default();
        script.flow(&flow, &steps);
        script.compare();
    }
}

/// On a line that rises by 2^33 nanobits a nanosecond a start 2^31 ns later has a key larger by 2^64.
///
/// Fails when that product wraps: without the comparison with `horizon`.
#[test]
fn long_pauses_do_not_wrap() {
    let curve = ServiceCurve::two_piece(Rate(1 << 33), Span(1_000_000), Rate(1_000_000));
    let flow = spec(curve.expect("a curve"), 1500, 1500);
    let steps: Vec<Step> = (0..300).map(|i| Step::Packet(7 + (i << 31), 1500, true)).collect();
    let mut script = Script::default();
    script.flow(&flow, &steps);
    script.compare();
}

/// Fails when a curve beyond the programs is cut, or the refusal does not say what to do.
#[test]
fn curves_beyond_the_programs_are_refused() {
    let stairs: Vec<(Span, Bytes)> = (1..12u64)
        .flat_map(|i| [(Span(i * 1_000), Bytes((i - 1) * 9)), (Span(i * 1_000), Bytes(i * 9))])
        .collect();
    let steep = [(Span(10_000_000), Bytes(125_000))];
    let odd = [(Span(1_000_003), Bytes(30_011))];
    let rate = Rate(4_000_000);
    let refusal = |points: &[(Span, Bytes)], least| {
        let curve = ServiceCurve::points(points, rate).expect("a curve");
        served_flow(&spec(curve, least, 1500), "video").expect_err("a refusal")
    };
    // Eleven jumps, and the flats between them cost nothing.
    assert!(served_flow(&spec(ServiceCurve::points(&stairs, rate).unwrap(), 60, 90), "v").is_ok());
    let stairs: Vec<(Span, Bytes)> =
        (1..20u64).map(|i| (Span(i * 1_000), Bytes(i * i * 9))).collect();
    let most = MOST_CURVE_LINES;
    let error = refusal(&stairs, 60);
    assert!(
        matches!(&error, PlanError::TooMany { found: 20, most: m, .. } if *m == most),
        "{error:?}"
    );
    // 125,000 B in packets of 122 B are 1024 starts and more.
    let error = refusal(&steep, 122).to_string();
    assert!(error.contains("video") && error.contains("to 123 B"), "{error}");
    let curve = ServiceCurve::points(&steep, rate).expect("a curve");
    assert!(served_flow(&spec(curve, 123, 1500), "video").is_ok());
    let error = refusal(&odd, 60).to_string();
    assert!(error.contains("slopes of whole bit/s"), "{error}");
}
