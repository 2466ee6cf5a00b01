//! `laxity check --tc` against the kernel's disciplines in the virtual machine: random trees, greedy, alternating
//! and random traffic behind blocking packets, no measured delay beyond the bound that is printed; and trees of
//! `laxity link plan`.
//!
//! Built with the feature `kernel` only. `LAXITY_TREES=N` sets how many trees run; `scripts/compare-tc.sh` runs 210.
#![cfg(feature = "kernel")]

mod support;
#[path = "support/trees.rs"]
mod trees;

#[path = "../../kernel/tests/machine/mod.rs"]
mod machine;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use laxity_analysis::tc::plan::{self, PlanRequest, Target};
use laxity_core::{FlowId, Span, Time};
use laxity_results::{TcCheck, TcChecks, TcPlan};
use laxity_scenario::link::Scenario;
use laxity_sim::Control;
use laxity_sim::link::{Traffic, simulate_policy};
use laxity_traffic::Arrival;
use machine::{available, number, part, tool};
use support::{Ran, command, laxity};
use trees::{LARGEST, Tree};

/// Timers, system calls and the receiver's turn in the machine, where an instruction takes 2 ns.
const TIMER_LATENESS: &str = "150 us";

/// Least part of the bound that is measured for a tree of a kind whose bound is tight, in percent: over many
/// trees, or over a few.
const TIGHT: [u64; 2] = [80, 65];

fn trees() -> u64 {
    std::env::var("LAXITY_TREES").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// An empty folder of this name, and one in it.
fn folders(name: &str, jobs: &str) -> (PathBuf, PathBuf) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let jobs = folder.join(jobs);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&jobs).expect("a folder");
    (folder, jobs)
}

/// What the machine printed about a tree, in the parts that `laxity check` reads.
fn dump(text: &str) -> String {
    let known = |line: &&str| {
        !line.starts_with("got ") && !line.starts_with("sent ") && !line.starts_with("behind_us")
    };
    text.lines().filter(known).map(|line| format!("{line}\n")).collect()
}

/// A scenario of the flows as they were sent.
fn scenario(tree: &Tree, measured: &str) -> String {
    let rate = tree.link_rate;
    let mut text = format!("[link]\nrate = \"{rate} bit/s\"\nmax_packet = \"{LARGEST} B\"\n");
    for (i, flow) in tree.flows.iter().enumerate().filter(|(_, f)| f.bounded) {
        let start = format!("got f{i} ");
        let burst = number(measured, &start, "burst").max(number(measured, &start, "largest"));
        text += &format!(
            "[[realtime]]\nname = \"f{i}\"\ndeadline = \"100 s\"\nenvelope = {{ burst = \"{burst} B\", rate = \"{} bit/s\" }}\n",
            flow.rate
        );
    }
    // What matches no flow is nothing here, where it shares a class with one.
    if tree.flows.iter().any(|f| f.bounded && f.class == tree.rest) {
        text += "[[best_effort]]\nname = \"other\"\nenvelope = { burst = \"1 B\", rate = \"8 bit/s\" }\n";
    }
    for (i, _) in tree.flows.iter().enumerate().filter(|(_, f)| !f.bounded) {
        text += &format!("[[best_effort]]\nname = \"f{i}\"\nweight = 1\n");
    }
    text
}

/// The bounds of the flows that have one, in ns.
fn bounds(tree: &Tree, folder: &Path, measured: &str) -> BTreeMap<String, u64> {
    let scenario = write(folder, "scenario.toml", &scenario(tree, measured));
    let dump = write(folder, "dump.txt", &dump(measured));
    let classes = tree.flows.iter().enumerate().map(|(i, f)| format!("--class=f{i}={}", f.class));
    let other = format!("--class=other={}", tree.rest);
    let rate = format!("{} bit/s", tree.link_rate);
    let queued = format!("{LARGEST} B");
    let [scenario, dump] = [&scenario, &dump].map(|p| p.to_str().expect("UTF-8"));
    let mut check = command(&["check", scenario, "--tc", dump, "--link-rate", &rate, "--json"]);
    check.args(["--queued-packet", &queued, "--timer-lateness", TIMER_LATENESS]);
    let ran = Ran::of(check.args(classes).arg(other).output().expect("it runs"));
    assert!(ran.code != Some(2), "{}\n{measured}", ran.err);
    let checks: TcChecks = serde_json::from_str(&ran.out).expect("a result");
    let bounds = checks.devices[0].flows.iter();
    bounds.filter_map(|f| Some((f.flow.clone(), f.delay_ns?))).collect()
}

/// Fails when a rule leaves out a packet, a burst, or the state in which a shaper may be: tried without `L` in
/// `bands::strict`, and with the burst of a `tbf` counted for the tree below it.
#[test]
fn no_packet_is_later_than_its_bound() {
    if !available() {
        return;
    }
    let (folder, jobs) = folders("tc-disciplines", "trees");
    let trees: Vec<Tree> = (0..trees()).map(trees::tree).collect();
    for (i, tree) in trees.iter().enumerate() {
        for (kind, text) in [
            ("tc", tree.commands.clone()),
            ("csv", tree.trace()),
            ("send", tree.senders()),
            ("collect", tree.receivers()),
        ] {
            write(&jobs, &format!("{}.{kind}", i + 1), &text);
        }
    }
    let programs = [tool("traffic"), machine::program("chrt")];
    let output = machine::run("tc.sh", &programs, &[jobs]);
    let mut worst: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut late = Vec::new();
    for (i, tree) in trees.iter().enumerate() {
        let measured = part(&output, &(i + 1).to_string());
        assert!(!measured.contains("no tree"), "{}\n{measured}", tree.commands);
        for (flow, bound) in bounds(tree, &folder, measured) {
            let start = format!("got {flow} ");
            let got = number(measured, &start, &flow);
            let max = number(measured, &start, "max_ns");
            if got == 0 {
                continue;
            }
            if max > bound {
                late.push(format!(
                    "{} {}: {flow} {max} ns, bound {bound} ns\n{}",
                    i + 1,
                    tree.kind,
                    tree.commands
                ));
            }
            let entry = worst.entry(tree.kind).or_default();
            *entry = (entry.0 + 1, entry.1.max(max * 100 / bound));
        }
    }
    for (kind, (flows, percent)) in &worst {
        println!("{kind}: {flows} flows, worst {percent} % of the bound");
    }
    assert!(late.is_empty(), "{} flows late\n{}", late.len(), late.join("\n"));
    let least = TIGHT[usize::from(trees.len() < 60)];
    for kind in ["tbf", "prio", "ets strict"] {
        let (flows, percent) = worst.get(kind).copied().unwrap_or_default();
        assert!(flows > 0 && percent >= least, "{kind}: {percent} % of the bound at most");
    }
    // No kind is left out because its trees have no bound.
    assert_eq!(worst.len(), 8, "{worst:?}");
}

/// Two deadlines, flows of all kinds of `match` that filters select.
const SCENARIO: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1514 B"
overhead = "24 B"
min_frame = "84 B"
[[realtime]]
name = "voice"
deadline = "10 ms"
envelope = { packet = "214 B", peak = "200 kB/s", burst = "1284 B", rate = "32100 B/s", min_packet = "60 B" }
match = { dscp = "EF" }
[[realtime]]
name = "video"
deadline = "60 ms"
envelope = { packet = "1214 B", peak = "1 MB/s", burst = "15000 B", rate = "250 kB/s", min_packet = "200 B" }
match = { protocol = "udp", dst = "10.9.0.2", dport = "5000-5010" }
[[realtime]]
name = "game"
deadline = "60 ms"
envelope = { period = "15 ms", size = "300 B", jitter = "5 ms" }
match = { mark = 7 }
[[best_effort]]
name = "web"
weight = 3
flows = { by = "5-tuple" }
match = { protocol = "tcp", dport = 443 }
[[best_effort]]
name = "bulk"
weight = 1
"#;

/// Fails when the kernel refuses a command, or stores or prints less than a deadline needs.
#[test]
fn planned_trees_keep_every_deadline_as_the_kernel_has_them() {
    if !available() {
        return;
    }
    let (folder, jobs) = folders("tc-plans", "plans");
    let scenario = write(&folder, "scenario.toml", SCENARIO);
    let scenario = scenario.to_str().expect("UTF-8");
    let mut plans = Vec::new();
    for (name, target, shape) in [
        ("hfsc", "hfsc", false),
        ("hfsc2", "hfsc", true),
        ("htb", "htb", false),
        ("htb2", "htb", true),
        ("cbs", "cbs", false),
    ] {
        let mut args = vec!["link", "plan", "--target", target, scenario, "--dev", name, "--json"];
        args.extend(shape.then_some("--shape"));
        let plan: TcPlan = serde_json::from_str(&laxity(&args).succeeds()).expect("a plan");
        write(&jobs, &format!("{name}.sh"), &(plan.commands.join("\n") + "\n"));
        plans.push((name, plan));
    }
    let output = machine::run("tc-plan.sh", &[], &[jobs]);
    for (name, plan) in plans {
        let text = part(&output, name);
        assert!(!text.contains("refused"), "{text}");
        let dump = write(&folder, "dump.txt", text);
        let classes = plan.flows.iter().map(|f| (&f.flow, &f.class));
        let classes = classes.chain(plan.best_effort.iter().map(|c| (&c.name, &c.class)));
        let classes: Vec<String> =
            classes.map(|(flow, class)| format!("--class={flow}={class}")).collect();
        let dump = dump.to_str().expect("UTF-8");
        let mut check = command(&["check", scenario, "--tc", dump, "--json"]);
        let ran = Ran::of(check.args(&classes).output().expect("it runs"));
        assert_eq!(ran.code, Some(0), "{} {}\n{text}", ran.err, ran.out);
        let checks: TcChecks = serde_json::from_str(&ran.out).expect("a result");
        let flows = &checks.devices[0].flows;
        assert!(flows.len() == 3 && flows.iter().all(|f| f.met), "{flows:?}");
        // As planned, but for ticks and digits.
        for (live, planned) in flows.iter().zip(&plan.flows) {
            let (live, planned) = (live.delay_ns.expect("met"), planned.delay_ns.expect("met"));
            assert!(live.abs_diff(planned) <= planned / 50, "{name}: {live} {planned}");
        }
    }
}

/// What is sent through a planned tree in 3 s: calls, pictures in bursts, names, and 88 % of the link in bursts of best
/// effort.
fn packets() -> Vec<(u64, u32, &'static str)> {
    let mut out = Vec::new();
    for (flow, period_ms, many, bytes) in [
        ("voice", 7, 1, 214),
        ("video", 60, 11, 1214),
        ("dns", 170, 1, 90),
        ("web", 45, 10, 1514),
        ("bulk", 110, 40, 1514),
    ] {
        for ms in (0..3000).step_by(period_ms) {
            out.extend((0..many).map(|i| (ms * 1_000_000 + i * 1_250_000 / many, bytes, flow)));
        }
    }
    out.sort_unstable();
    out
}

/// Names have four times the weight of what fills the link beside them, so that a tree in which real time takes
/// them back in virtual time serves them late: the kernel's delay of `dns` was 1.3 s while real-time leaves of `hfsc`
/// shared a hundredth of the link.
///
/// Fails when a model gives a class another delay than the kernel's discipline does, or a planned tree starves a class
/// that sends little: tried with a hundredth as the share of real-time leaves.
#[test]
fn planned_trees_serve_as_their_models_do() {
    if !available() {
        return;
    }
    let (folder, jobs) = folders("tc-models", "trees");
    let flow = |name, bounds: &str, port| {
        format!("[[{bounds}\nname = \"{name}\"\nmatch = {{ protocol = \"udp\", dport = {port} }}\n")
    };
    let real_time = |deadline, envelope| {
        format!("realtime]]\ndeadline = \"{deadline}\"\nenvelope = {{ {envelope} }}")
    };
    let best_effort = |weight| format!("best_effort]]\nweight = {weight}");
    let voice = "packet = \"214 B\", peak = \"200 kB/s\", burst = \"1284 B\", rate = \"32100 B/s\"";
    let video = "packet = \"1214 B\", peak = \"2 MB/s\", burst = \"15000 B\", rate = \"250 kB/s\"";
    let flows = [
        ("voice", real_time("10 ms", voice)),
        ("video", real_time("60 ms", video)),
        ("dns", best_effort(4)),
        ("web", best_effort(3)),
        ("bulk", best_effort(1)),
    ];
    let mut text =
        "[link]\nrate = \"10 Mbit/s\"\nmax_packet = \"1514 B\"\noverhead = \"24 B\"\n".to_owned();
    text.extend(flows.iter().zip(5000..).map(|((name, bounds), port)| flow(name, bounds, port)));
    let scenario = Scenario::parse(&text, &folder).expect("a scenario");
    let number_of = |flow| scenario.flow_names().position(|name| name == flow).expect("a flow");
    let packets = packets();
    let trace: String =
        packets.iter().map(|(ns, bytes, flow)| format!("{ns},{bytes},{flow}\n")).collect();
    let ports = |more: &str| -> String {
        flows.iter().zip(5000..).map(|((name, _), port)| format!("{name}={port}:{more} ")).collect()
    };
    let mut models = Vec::new();
    for (number, target) in (1..).zip([Target::Hfsc, Target::Htb]) {
        let timer_lateness = Span(0);
        let request = PlanRequest { target, device: "near", shape: true, timer_lateness };
        let plan = plan::plan(&scenario, &request).expect("a plan");
        let lines =
            plan.result.commands.iter().map(|c| c.trim_start_matches("tc ").to_owned() + "\n");
        for (kind, text) in [
            ("tc", lines.collect()),
            ("csv", format!("time_ns,bytes,flow\n{trace}")),
            ("send", ports("0") + "\n"),
            ("collect", ports("0") + "\n"),
        ] {
            write(&jobs, &format!("{number}.{kind}"), &text);
        }
        let arrivals = packets.iter().map(|(ns, bytes, flow)| {
            Arrival::new(Time(*ns), FlowId(number_of(*flow) as u32), *bytes)
        });
        let traffic = Traffic::Recorded(arrivals.collect::<Vec<_>>().into());
        let model = plan.model.policy(scenario.link.rate.0).expect("a model");
        let control = Control::default();
        let run = simulate_policy(&scenario, (target.name(), model), 0, &traffic, None, &control);
        models.push((number, target, run.expect("a run").result(&scenario).flows));
    }
    let output = machine::run("tc.sh", &[tool("traffic"), machine::program("chrt")], &[jobs]);
    for (tree, target, flows) in models {
        let measured = part(&output, &tree.to_string());
        assert!(!measured.contains("no tree"), "{measured}");
        for (name, simulated) in flows.iter().filter(|(_, f)| f.packets > 0) {
            let start = format!("got {name} ");
            assert_eq!(number(measured, &start, name), simulated.packets, "{measured}");
            let [mean, max] =
                ["mean_ns", "max_ns"].map(|key| number(measured, &start, key) as f64 / 1e6);
            let [model, most] =
                [simulated.mean_ms, simulated.max_ms].map(|ms| ms.expect("packets"));
            println!(
                "{target} {name}: mean {mean:.2}, simulated {model:.2} ms; largest {max:.2}, {most:.2}"
            );
            // The shaper lets a packet go when it begins in the model, or later.
            let near = |a: f64, b: f64| (a - b).abs() <= 0.8 + 0.1 * b;
            assert!(
                near(mean, model) && near(max, most),
                "{target} {name}: {mean} {model}, {max} {most}"
            );
            assert!(*name != "dns" || max < 10.0, "{target}: names wait {max} ms");
        }
    }
}

/// Trees of every discipline that is read; `DEV` is the interface.
const TREES: &[&str] = &[
    "hfsc;qdisc add DEV root handle 1: hfsc default 30;class add DEV parent 1: classid 1:1 hfsc ls m2 10mbit ul m2 10mbit;class add DEV parent 1:1 classid 1:10 hfsc rt m1 4mbit d 10ms m2 800kbit ls m2 800kbit;class add DEV parent 1:1 classid 1:20 hfsc rt m1 0 d 20ms m2 4mbit ls m1 2mbit d 50ms m2 4mbit;class add DEV parent 1:1 classid 1:30 hfsc sc m2 1mbit;filter add DEV parent 1: protocol ip pref 1 u32 match ip dport 5000 0xffff flowid 1:10;filter add DEV parent 1: pref 3 handle 7 fw classid 1:20",
    "htb;qdisc add DEV root handle 1: htb default 30;class add DEV parent 1: classid 1:1 htb rate 10mbit burst 15k;class add DEV parent 1:1 classid 1:10 htb prio 0 rate 1mbit ceil 10mbit burst 6k cburst 3k;class add DEV parent 1:1 classid 1:20 htb prio 1 rate 4mbit burst 1600 cburst 1600;class add DEV parent 1:1 classid 1:30 htb prio 2 rate 500kbit overhead 24 burst 3000 cburst 3000;qdisc add DEV parent 1:30 handle 30: fq_codel;filter add DEV parent 1: pref 9 matchall classid 1:20",
    "tbf;qdisc add DEV root handle 1: stab overhead 24 mpu 84 mtu 2047 tsize 2048 linklayer ethernet tbf rate 10mbit burst 10k latency 30ms peakrate 12mbit mtu 1540;qdisc add DEV parent 1:1 handle 2: prio bands 4 priomap 3 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1",
    "drr;qdisc add DEV root handle 1: drr;class add DEV parent 1: classid 1:1 drr quantum 1514;class add DEV parent 1: classid 1:2 drr quantum 3028;filter add DEV parent 1: protocol ip pref 1 flower ip_proto udp dst_port 5 classid 1:2",
    "ets;qdisc add DEV root handle 1: ets bands 4 strict 1 quanta 1500 3000 4500 priomap 3 2 1 0 3 3 3 3 3 3 3 3 3 3 3 3",
    "cbs;qdisc add DEV root handle 1: mqprio num_tc 3 map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 2@2 hw 0;qdisc add DEV parent 1:1 handle 11: cbs idleslope 20000 sendslope -80000 hicredit 303 locredit -1212 offload 0",
    "taprio;qdisc add DEV root handle 1: taprio num_tc 3 map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 queues 1@0 1@1 2@2 base-time 1000000000 sched-entry S 01 300000 sched-entry S 02 300000 sched-entry S 04 400000 clockid CLOCK_TAI",
    "etf;qdisc add DEV root handle 1: mqprio num_tc 2 map 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 3@1 hw 0;qdisc add DEV parent 1:1 handle 11: etf clockid CLOCK_TAI delta 300000",
    "fq;qdisc add DEV root handle 1: fq",
    "fqcodel;qdisc add DEV root handle 1: fq_codel",
    "cake;qdisc add DEV root handle 1: cake bandwidth 20mbit",
    "qfq;qdisc add DEV root handle 1: qfq;class add DEV parent 1: classid 1:1 qfq weight 3",
    "prio;qdisc add DEV root handle 1: prio bands 3;qdisc add DEV parent 1:1 handle 10: tbf rate 2mbit burst 4k latency 50ms;qdisc add DEV parent 1:2 handle 20: pfifo limit 50;qdisc add DEV parent 1:3 handle 30: bfifo limit 20480",
];

/// Fails when an attribute of rtnetlink is read at the wrong place or in the wrong unit, or a filter or size table
/// is lost: the kernel's answers and the text of tc are then judged differently.
#[test]
fn interfaces_are_read_as_their_text() {
    if !available() {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tc-read");
    std::fs::create_dir_all(&folder).expect("a folder");
    let trees = write(&folder, "trees", &(TREES.join("\n") + "\n"));
    let laxity = machine::stripped(Path::new(env!("CARGO_BIN_EXE_laxity")));
    let output = machine::run("tc-read.sh", &[laxity], &[trees]);
    for tree in TREES {
        let name = tree.split(';').next().expect("a name");
        let both = part(&output, name);
        assert!(!both.contains("refused"), "{both}");
        let text = both.split("-- text\n").nth(1).expect("text");
        let (text, kernel) = text.split_once("-- kernel\n").expect("both");
        let kernel = kernel.lines().take_while(|line| !line.starts_with("ended"));
        let kernel: TcChecks = serde_json::from_str(&kernel.collect::<String>())
            .unwrap_or_else(|e| panic!("{name}: {e}\n{both}"));
        let dump = write(&folder, "dump.txt", text);
        let dump = dump.to_str().expect("UTF-8");
        let ran = command(&["check", "--tc", dump, "--link-rate", "100 Mbit/s", "--json"]).output();
        let of_text: TcChecks = serde_json::from_slice(&ran.expect("it runs").stdout)
            .unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
        let (kernel, of_text) = (&kernel.devices[0], &of_text.devices[0]);
        assert!(!kernel.rounded_input && of_text.rounded_input);
        let codes = |c: &TcCheck| -> Vec<_> {
            c.findings.iter().map(|f| (f.code.clone(), f.at.clone())).collect()
        };
        assert_eq!(codes(kernel), codes(of_text), "{name}");
        assert_eq!(kernel.classes.len(), of_text.classes.len(), "{name}: {both}");
        for (exact, rounded) in kernel.classes.iter().zip(&of_text.classes) {
            assert_eq!(
                (&exact.class, &exact.discipline, &exact.reason, &exact.rule),
                (&rounded.class, &rounded.discipline, &rounded.reason, &rounded.rule),
                "{name}"
            );
            for (exact, rounded) in [
                (exact.rate_bit_s, rounded.rate_bit_s),
                (exact.latency_ns, rounded.latency_ns),
                (exact.delay_ns, rounded.delay_ns),
            ] {
                let (exact, rounded) = (exact.unwrap_or(0), rounded.unwrap_or(0));
                // Text has three digits at least.
                assert!(exact.abs_diff(rounded) <= exact / 500, "{name}: {exact} {rounded}");
            }
        }
    }
}
