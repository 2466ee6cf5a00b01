//! Numbers of the paper's flows, refusals, and plans read back as `tc` would print them.

use std::fmt::Write as _;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::{Envelope, Rational};
use laxity_scenario::link::Scenario;
use laxity_sim::Control;
use laxity_sim::link::{Traffic, simulate_policy};
use laxity_tc::{ClassOptions, Config, Limit, QdiscOptions, Reader, Tbf};

use super::arrivals::Arrivals;
use super::{Plan, PlanError, PlanRequest, Target, hfsc, plan};
use crate::tc::{Device, Request, analyse, largest_packet};

fn request(target: Target) -> PlanRequest<'static> {
    PlanRequest { target, device: "eth0", shape: false, timer_lateness: Span(0) }
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "s.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Bytes a second and ns.
fn tspec(packet: u64, peak: u64, burst: u64, rate: u64) -> Arrivals {
    let envelope = Envelope::tspec(Bytes(packet), Rate(peak * 8), Bytes(burst), Rate(rate * 8))
        .expect("a T-SPEC");
    Arrivals::of([&envelope])
}

// Fails when L/C is left out, the corner of a T-SPEC is not met, or a burst that fits the rate gets a steep piece.
#[test]
fn the_flows_of_table_3_have_the_least_curves() {
    let late = Rational::new(1536 * 8_000_000_000, 10_000_000).expect("a fraction");
    // In 0.1 kB/s and 0.1 ms, as rounded half up.
    let rounded =
        |x: Rational, unit: i128| (x.over(Rational::whole(unit)).expect("fits").floor() + 5) / 10;
    for (arrivals, ms, m1, d, m2) in [
        (tspec(700, 150_000, 45_000, 50_000), 20u64, 1454, 46_177, 500),
        (tspec(1536, 800_000, 15_000, 600_000), 30, 0, 377, 6000),
        (tspec(100, 250_000, 300, 150_000), 5, 0, 177, 1500),
    ] {
        let left = Rational::from(ms * 1_000_000).minus(late).expect("fits");
        let curve = hfsc::curve(&arrivals, left).expect("fits");
        // Slopes in tenths of kB/s, times in hundredths of ms.
        assert_eq!(
            (rounded(curve.0, 80), rounded(curve.1, 1000), rounded(curve.2, 80)),
            (m1, d, m2)
        );
    }
}

/// A rate as `tc` prints it (`print_rate`, `tc_util.c`).
fn rate(mut bits: u64) -> String {
    for unit in ["", "K", "M", "G"] {
        if bits < 1000 || (bits % 1000 != 0 && bits < 1_000_000) {
            return format!("{bits}{unit}bit");
        }
        bits /= 1000;
    }
    format!("{bits}Tbit")
}

/// A size (`print_size`).
fn size(bytes: u64) -> String {
    for (unit, name, near) in [(1u64 << 20, "Mb", 1024), (1 << 10, "Kb", 16)] {
        let whole = (bytes + unit / 2) / unit;
        if bytes >= unit && (whole * unit).abs_diff(bytes) < near {
            return format!("{whole}{name}");
        }
    }
    format!("{bytes}b")
}

/// A burst, stored as a time in whole microseconds.
fn burst(bytes: u64, bits: u64) -> String {
    let us = u128::from(bytes) * 8_000_000 / u128::from(bits);
    size((us * u128::from(bits) / 8_000_000) as u64)
}

/// A time with three digits (`sprint_time`).
fn time(ns: u64) -> String {
    let (per, unit) = match ns {
        1_000_000_000.. => (1_000_000_000, "s"),
        1_000_000.. => (1_000_000, "ms"),
        _ => return format!("{}us", ns / 1000),
    };
    let digits = (ns / per).to_string().len() as u32;
    let scale = 10u64.pow(3u32.saturating_sub(digits));
    let thousandths = (ns * scale + per / 2) / per;
    format!(
        "{}.{:0w$}{unit}",
        thousandths / scale,
        thousandths % scale,
        w = scale.ilog10().max(1) as usize
    )
}

/// The output of `tc -d qdisc show` and `class show` for a plan.
fn dump(config: &Config) -> String {
    let mut out = String::new();
    for q in &config.qdiscs {
        let at = q.parent.map_or_else(|| "root refcnt 2".to_owned(), |p| format!("parent {p}"));
        let options = match &q.options {
            QdiscOptions::Hfsc { default } => format!("default {default:x}"),
            QdiscOptions::Htb { default, .. } => {
                format!(
                    "r2q 10 default {default:#x} direct_packets_stat 0 ver 3.17 direct_qlen 1000"
                )
            }
            QdiscOptions::Tbf(Tbf { rate: r, burst: b, .. }) => {
                format!(
                    "rate {} burst {}/1 mpu 0b lat 30ms linklayer ethernet",
                    rate(*r),
                    burst(*b, *r)
                )
            }
            QdiscOptions::Cbs { idle, send, hicredit, .. } => format!(
                "hicredit {hicredit} locredit -1 sendslope {} idleslope {} offload 0",
                send / 1000,
                idle / 1000
            ),
            QdiscOptions::Mqprio { queues } => {
                let each = queues.iter().map(|(q, _)| format!(" ({q}:{q})"));
                format!(
                    "tc {} map 0\n             queues:{}",
                    queues.len(),
                    each.collect::<String>()
                )
            }
            QdiscOptions::Fifo(Limit::Bytes(b)) => format!("limit {}", size(*b)),
            _ => "limit 10240p flows 1024 quantum 1514".to_owned(),
        };
        writeln!(out, "qdisc {} {} {at} {options} ", q.options.kind(), q.handle).expect("a string");
        if let Some(table) = &q.size_table {
            let (overhead, mpu) = (table.overhead, table.mpu);
            writeln!(out, " linklayer ethernet overhead {overhead} mpu {mpu} mtu 2047 tsize 2048 ")
                .expect("a string");
        }
    }
    for c in &config.classes {
        let tree = c.handle.qdisc();
        let at = c.parent.map_or_else(|| format!("parent {tree}"), |p| format!("parent {p}"));
        let options = match &c.options {
            ClassOptions::Hfsc { rt, ls, .. } => [("rt", rt), ("ls", ls)]
                .iter()
                .filter_map(|(name, curve)| Some((name, (*curve).as_ref()?)))
                .map(|(name, c)| {
                    format!("{name} m1 {} d {} m2 {} ", rate(c.m1), time(c.d), rate(c.m2))
                })
                .collect(),
            ClassOptions::Htb(h) => format!(
                "{}rate {} ceil {} linklayer ethernet burst {}/1mpu 0b cburst {}/1mpu 0b level 0",
                h.prio.map(|p| format!("prio {p} quantum 1514 ")).unwrap_or_default(),
                rate(h.rate),
                rate(h.ceil),
                burst(h.burst, h.rate),
                burst(h.cburst, h.ceil)
            ),
            _ => String::new(),
        };
        writeln!(out, "class {} {} {at} {options} ", c.kind, c.handle).expect("a string");
    }
    out
}

/// A small generator with a period of 2^64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn random(seed: u64, deadlines: u64) -> String {
    let mut dice = Dice(seed * 7919 + 1);
    let mbit = [1, 3, 10, 34, 100, 1000, 2500][dice.below(7) as usize];
    let mut text = format!("[link]\nrate = \"{mbit} Mbit/s\"\nmax_packet = \"1514 B\"\n");
    if dice.below(2) == 0 {
        text += "overhead = \"24 B\"\nmin_frame = \"84 B\"\n";
    }
    let flows = 1 + dice.below(9);
    for i in 0..flows {
        let rate = mbit * 125_000 / (flows * (2 + dice.below(6)));
        let packet = 60 + dice.below(1440);
        let burst = packet + dice.below(20_000);
        let ms =
            20 * (1 + if deadlines > 0 { i % deadlines } else { i }) + dice.below(1 + 400 / mbit);
        let ms = if deadlines > 0 { 40 * (1 + i % deadlines) } else { ms };
        let peak = rate * (1 + dice.below(8));
        let source = if i % 2 == 0 {
            "greedy = true"
        } else {
            "on = [\"9 ms\", \"9 ms\"], off = [\"5 ms\", \"90 ms\"]"
        };
        text += &format!(
            "[[realtime]]\nname = \"f{i}\"\ndeadline = \"{ms} ms\"\nenvelope = {{ packet = \"{packet} B\", \
             peak = \"{peak} B/s\", burst = \"{burst} B\", rate = \"{rate} B/s\" }}\n\
             source = {{ {source}, length = \"{packet} B\" }}\n"
        );
    }
    for i in 0..dice.below(4) {
        let (weight, burst) = (1 + dice.below(9), 1514 * (1 + dice.below(40)));
        text += &format!(
            "[[best_effort]]\nname = \"b{i}\"\nweight = {weight}\nenvelope = {{ burst = \"{burst} B\", \
             rate = \"{mbit} Mbit/s\" }}\nsource = {{ greedy = true, length = \"1514 B\" }}\n"
        );
    }
    text
}

fn read_back(planned: &Plan, scenario: &Scenario) -> bool {
    let text = dump(&planned.config);
    let mut reader = Reader::default();
    reader.text("dump", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let config = reader.finish().unwrap_or_else(|e| panic!("{e}\n{text}"));
    let device = Device {
        rate: scenario.link.rate,
        max_packet: largest_packet(scenario),
        timer_lateness: Span(planned.result.timer_lateness_ns),
    };
    let request = Request {
        device,
        burst: device.max_packet,
        slower_hop: None,
        flows: Some((scenario, &planned.classes)),
    };
    let check = analyse(&config, &request).expect("fits");
    assert!(check.guaranteed, "{:#?}\n{:#?}\n{text}", check.flows, check.findings);
    true
}

// Fails when a value is rounded to the wrong side, a wait or a packet is left out, a dump of the tree loses digits
// that a deadline needs, or the plan's own bound is not that of `check --tc`.
#[test]
fn plans_read_back_keep_every_deadline() {
    for (target, deadlines, least) in
        [(Target::Hfsc, 0, 60), (Target::Htb, 0, 40), (Target::Cbs, 2, 30)]
    {
        let mut planned = 0;
        for seed in 1..150 {
            let scenario = scenario(&random(seed, deadlines));
            for shape in [false, true] {
                if shape && target == Target::Cbs {
                    continue;
                }
                let late = Span(if seed % 3 == 0 { 50_000 } else { 0 });
                let request = PlanRequest { shape, timer_lateness: late, ..request(target) };
                match plan(&scenario, &request) {
                    Ok(plan) => {
                        assert!(plan.result.guaranteed, "{target} {seed}: {:#?}", plan.result);
                        planned += u32::from(read_back(&plan, &scenario));
                    }
                    Err(error) => assert!(error.is_refusal(), "{target} {seed}: {error}"),
                }
            }
        }
        assert!(planned >= least, "{target}: {planned} plans");
    }
}

/// Greedy flows, flows in bursts, and best effort without an end, through models of the planned trees.
///
/// Fails when a class gets less than its bound needs: tried with slopes of HFSC an eighth lower, and with rates of HTB
/// and idle slopes of CBS a quarter lower.
#[test]
fn models_of_plans_keep_every_bound() {
    for (target, deadlines, least) in
        [(Target::Hfsc, 0, 80), (Target::Htb, 0, 60), (Target::Cbs, 2, 60)]
    {
        let (mut flows, mut worst) = (0, 0.0f64);
        for seed in 1..60 {
            let scenario = scenario(&random(seed, deadlines));
            let Ok(plan) = plan(&scenario, &request(target)) else { continue };
            let model = plan.model.policy(scenario.link.rate.0).expect("a model");
            // Long enough for several bursts; the faster the link, the more packets.
            let ms = (30_000_000_000 / scenario.link.rate.0).clamp(50, 2000);
            let duration = Span(ms * 1_000_000);
            let traffic = Traffic::Generated { duration, replayed: Vec::new().into() };
            let control = Control::default();
            let run =
                simulate_policy(&scenario, (target.name(), model), seed, &traffic, None, &control);
            let measured = run.expect("sources").result(&scenario).flows;
            for flow in &plan.result.flows {
                let (got, bound) = (&measured[&flow.flow], flow.delay_ns.expect("a bound"));
                assert_eq!(got.dropped, 0, "{target} {seed}: {got:?}");
                let Some(max) = got.max_ms else { continue };
                let part = max * 1e6 / bound as f64;
                assert!(part <= 1.0, "{target} {seed}: {} has {max} ms, {bound} ns", flow.flow);
                (flows, worst) = (flows + 1, worst.max(part));
            }
        }
        assert!(
            flows >= least && worst > 0.5,
            "{target}: {flows} flows, worst {worst:.2} of its bound"
        );
    }
}

const VOICE: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1514 B"
[[realtime]]
name = "voice"
deadline = "DEADLINE"
envelope = { burst = "3000 B", rate = "RATE" }
match = { MATCH }
"#;

fn voice(deadline: &str, rate: &str, selection: &str) -> Scenario {
    let text = VOICE.replace("DEADLINE", deadline).replace("RATE", rate);
    scenario(&text.replace("MATCH", selection))
}

fn error(target: Target, scenario: &Scenario) -> PlanError {
    plan(scenario, &request(target)).expect_err("refused")
}

// Fails when a deadline below a packet's time, or flows beyond the link, are planned.
#[test]
fn what_does_not_fit_is_refused_with_place_and_remedy() {
    for target in [Target::Hfsc, Target::Htb, Target::Cbs] {
        let soon = error(target, &voice("1.2112 ms", "100 kB/s", "dscp = 46"));
        assert!(matches!(soon, PlanError::Deadline { .. }), "{soon:?}");
        let text = soon.to_string();
        assert!(
            text.contains("`voice`: deadline 1211200 ns") || text.contains("1.2112 ms"),
            "{text}"
        );
        assert!(text.contains("lengthen the deadline"), "{text}");
        let sum = error(target, &voice("50 ms", "1250001 B/s", "dscp = 46"));
        assert!(matches!(sum, PlanError::Sum { .. }), "{target}: {sum:?}");
    }
    let flow = |i: u64| {
        format!(
            "[[realtime]]\nname = \"f{i}\"\ndeadline = \"{} ms\"\nenvelope = {{ burst = \"1000 B\", rate = \"10 kB/s\" }}\n",
            20 + i
        )
    };
    let three = format!("[link]\nrate = \"10 Mbit/s\"\n{}{}{}", flow(0), flow(1), flow(2));
    let classes = error(Target::Cbs, &scenario(&three));
    assert_eq!(classes, PlanError::Classes { flow: "f2".into(), deadlines: 3, classes: 2 });
    let mixed = error(Target::Htb, &voice("50 ms", "100 kB/s", "dscp = 46, mark = 7"));
    assert!(matches!(mixed, PlanError::Match { .. }), "{mixed:?}");
}

// Fails when a selection is widened, or comes after a later flow's.
#[test]
fn filters_select_what_match_selects() {
    let commands = |selection: &str| {
        let planned = plan(&voice("50 ms", "100 kB/s", selection), &request(Target::Htb));
        let commands = planned.expect("fits").result.commands;
        let filters = commands.into_iter().filter_map(|c| {
            Some(c.strip_prefix("tc filter add dev eth0 parent 1: protocol ")?.to_owned())
        });
        filters.collect::<Vec<_>>()
    };
    assert_eq!(
        commands("dscp = 46"),
        [
            "ip pref 1 flower ip_tos 0xb8/0xfc classid 1:10",
            "ipv6 pref 2 flower ip_tos 0xb8/0xfc classid 1:10"
        ]
    );
    assert_eq!(
        commands("protocol = \"udp\", dst = \"10.0.0.0/8\", dport = \"5000-5010\""),
        ["ip pref 1 flower ip_proto udp dst_ip 10.0.0.0/8 dst_port 5000-5010 classid 1:10"]
    );
    assert_eq!(commands("dst = \"10.0.0.1\", sport = 53").len(), 3);
    assert_eq!(commands("mark = 7"), ["all pref 1 handle 0x7 fw classid 1:10"]);
    assert_eq!(
        commands("priority = 6"),
        ["all pref 1 basic match 'meta(priority eq 6)' classid 1:10"]
    );
}
