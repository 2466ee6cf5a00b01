//! `laxity simulate` and `check`: results in their agreed form, files that agree with them, and
//! the same bytes whatever the number of threads.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::time::Duration;

use laxity_results::{CheckResult, FlowKind, SimulationResult, SimulationRuns};
use laxity_trace::{Capture, LinkType, PcapngWriter, SimPacket, decode};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use support::{Folder, Process, Ran, command, file, laxity};

fn link() -> String {
    file("scenarios/access-link.toml")
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// Fails when a key of the contract is renamed, or unknown values change their kind.
#[test]
fn check_prints_the_agreed_json() {
    let out = laxity(&["check", &link(), "--json"]).succeeds();
    let value: Value = serde_json::from_str(&out).unwrap();
    let top = [
        "admitted",
        "best_effort",
        "binding_interval_ns",
        "flows",
        "residual",
        "slack_bytes",
        "utilisation",
        "version",
    ];
    assert_eq!(keys(&value), BTreeSet::from(top));
    let mut flow = vec!["demand_bytes", "max_burst", "max_rate", "min_deadline_ns"];
    // The ends of the two searches; left out where they are the exact limits.
    flow.extend(["burst_is_limit", "rate_is_peak"]);
    assert_eq!(keys(&value["flows"]["voice"]), BTreeSet::from_iter(flow));
    let result: CheckResult = serde_json::from_str(&out).unwrap();
    assert!(result.admitted && result.flows.len() == 3);
    // Corners of Figure 8: the last one at 463 ms, then 450000 B/s.
    let (time, bytes, slope) = *result.residual.last().unwrap();
    assert_eq!((time, bytes.round(), slope), (463_000_000, 166_264.0, 450_000.0));
    assert!(result.flows["voice"].max_rate.as_ref().unwrap().ends_with("/s"));
}

/// Fails when a key of the contract is renamed, or a flow is missing.
#[test]
fn simulate_prints_the_agreed_json() {
    let arguments = ["simulate", &link(), "--duration", "2s", "--seed", "7", "--json"];
    let out = laxity(&arguments).succeeds();
    let value: Value = serde_json::from_str(&out).unwrap();
    let top = ["duration_ns", "policies", "scenario", "seed", "version"];
    assert_eq!(keys(&value), BTreeSet::from(top));
    let policies: Vec<&String> = value["policies"].as_object().unwrap().keys().collect();
    assert_eq!(policies, ["background", "shifted-line", "two-segment", "exact"]);
    let exact = &value["policies"]["exact"];
    let policy = ["best_effort_mean_ms", "flows", "realtime_deadline_misses", "utilisation"];
    assert_eq!(keys(exact), BTreeSet::from(policy));
    let flow = [
        "kind",
        "packets",
        "bytes",
        "mean_ms",
        "p50_ms",
        "p99_ms",
        "max_ms",
        "deadline_misses",
        "dropped",
    ];
    assert!(keys(&exact["flows"]["ftp"]).is_superset(&BTreeSet::from(flow)));
    assert_eq!(exact["flows"]["ftp"]["kind"], "best_effort");
    let result: SimulationResult = serde_json::from_str(&out).unwrap();
    assert_eq!((result.scenario.as_str(), result.seed), ("access-link", Some(7)));
    assert_eq!(result.duration_ns, 2_000_000_000);
    assert_eq!(result.policies["exact"].flows["voice"].kind, FlowKind::Realtime);
    // The table holds the same numbers.
    let table = laxity(&arguments[..arguments.len() - 1]).succeeds();
    assert!(table.contains("voice (5 ms)") && !table.contains('\u{1b}'), "{table}");
}

/// Fails when several seeds print another form, whether one of them or all were finished.
#[test]
fn several_seeds_are_runs_and_a_summary() {
    for seeds in ["3..3", "3..5"] {
        let arguments = [
            "simulate",
            &link(),
            "--duration",
            "1s",
            "--seeds",
            seeds,
            "--policy",
            "all",
            "--json",
        ];
        let out = laxity(&arguments).succeeds();
        let result: SimulationRuns = serde_json::from_str(&out).unwrap();
        let last = seeds[3..].parse().unwrap();
        assert!(result.runs.iter().map(|r| r.seed.unwrap()).eq(3..=last));
        let mean = result.runs.iter().map(|r| r.policies["exact"].best_effort_mean_ms.unwrap());
        let mean = mean.sum::<f64>() / result.runs.len() as f64;
        let spread = result.summary["exact"].best_effort_mean_ms.unwrap();
        assert!((spread.mean - mean).abs() < 1e-9 && spread.min <= mean && mean <= spread.max);
    }
}

/// Fails when results depend on what ran beside them: seeds run alone, on one processor, again.
#[test]
fn the_same_seed_gives_the_same_bytes() {
    let run = |seeds: &str| {
        let link = link();
        laxity(&[
            "simulate",
            &link,
            "--duration",
            "1s",
            "--policy",
            "all",
            "--seeds",
            seeds,
            "--json",
        ])
        .succeeds()
    };
    let all = run("1..4");
    assert_eq!(all, run("1..4"));
    let together: SimulationRuns = serde_json::from_str(&all).unwrap();
    for (one, seed) in together.runs.iter().zip(1..) {
        let alone: SimulationRuns = serde_json::from_str(&run(&format!("{seed}..{seed}"))).unwrap();
        assert_eq!(&alone.runs[0], one);
    }
    // On one processor there is one thread.
    let mut single = Command::new("taskset");
    single.args(["1", env!("CARGO_BIN_EXE_laxity"), "simulate", &link(), "--duration", "1s"]);
    single.args(["--policy", "all", "--seeds", "1..4", "--json"]);
    match single.output() {
        Ok(output) if output.status.success() => assert_eq!(Ran::of(output).out, all),
        _ => eprintln!("skipped: no taskset, or processor 0 is not to be had"),
    }
}

/// Fails when a packet has no row, or when the rows say other things than the results.
#[test]
fn the_packet_file_agrees_with_the_results() {
    let folder = Folder::new("packets");
    let path = folder.path("packets.csv");
    let scenario = folder.write(
        "small.toml",
        std::fs::read_to_string(link()).unwrap().replace(
            "max_packet = \"1536 B\"\n",
            "max_packet = \"1536 B\"\nbuffer = { total = \"80 kB\", best_effort = \"3 kB\" }\n",
        ),
    );
    let arguments = [
        "simulate",
        &scenario,
        "--duration",
        "2s",
        "--packets",
        &path,
        "--policy",
        "all",
        "--json",
    ];
    let out = laxity(&arguments).succeeds();
    let result: SimulationResult = serde_json::from_str(&out).unwrap();
    agrees(&path, &result);
    assert!(result.policies.values().any(|p| p.flows.values().any(|f| f.dropped > 0)));

    // A policy that leaves packets for ever: bulk sees no gap after the last voice packet.
    let slow = folder.write("slow.toml", concat!(
        "[link]\nrate = \"1 Mbit/s\"\nmax_packet = \"1536 B\"\n",
        "[policy]\nuse = \"slack\"\nslack = { always-check = true, idle-timeout = \"0 s\" }\n",
        "[[realtime]]\nname = \"voice\"\ndeadline = \"5 ms\"\n",
        "envelope = { period = \"20 ms\", size = \"200 B\" }\n[[best_effort]]\nname = \"bulk\"\n",
    ));
    let trace =
        folder.write("t.csv", "time_ns,bytes,flow\n0,200,voice\n1,1500,bulk\n2,1500,bulk\n");
    let out =
        laxity(&["simulate", &slow, "--trace", &trace, "--packets", &path, "--json"]).succeeds();
    let result: SimulationResult = serde_json::from_str(&out).unwrap();
    assert_eq!(result.policies["slack"].flows["bulk"].drop_reasons["unserved"], 1);
    agrees(&path, &result);
}

/// Fails when best effort that waits while voice is silent is not spoken of, or waits for longer.
#[test]
fn waits_for_silence_are_reported_and_bounded() {
    let folder = Folder::new("silence");
    let slow = folder.write("slow.toml", concat!(
        "[link]\nrate = \"1 Mbit/s\"\nmax_packet = \"1536 B\"\n",
        "[policy]\nuse = \"slack\"\nslack = { always-check = true, idle-timeout = \"200 ms\" }\n",
        "[[realtime]]\nname = \"voice\"\ndeadline = \"5 ms\"\n",
        "envelope = { period = \"20 ms\", size = \"200 B\" }\n[[best_effort]]\nname = \"bulk\"\n",
    ));
    let sentence = "best-effort packets of more than 225 B on the wire wait for the gap after a \
                    real-time packet, or for 200 ms of silence (`idle-timeout`)";
    let out = laxity(&["check", &slow]).succeeds();
    assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(sentence), "{out}");
    let trace = folder.write("t.csv", "time_ns,bytes,flow\n0,200,voice\n50000000,1500,bulk\n");
    assert!(laxity(&["simulate", &slow, "--trace", &trace]).succeeds().contains(sentence));
    let out = laxity(&["simulate", &slow, "--trace", &trace, "--json"]).succeeds();
    let result: SimulationResult = serde_json::from_str(&out).unwrap();
    // Until 200 ms after the packet of voice, and then 12 ms on the wire.
    assert_eq!(result.policies["slack"].flows["bulk"].mean_ms, Some(162.0));
}

fn agrees(path: &str, result: &SimulationResult) {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let header = "policy,seq,flow,bytes,arrival_ns,departure_ns,deadline_ns,outcome,demoted,reason";
    assert_eq!(lines.next(), Some(header));
    #[derive(Default)]
    struct Sum {
        packets: u64,
        bytes: u64,
        delay: u64,
        sent: u64,
        late: u64,
        dropped: u64,
    }
    let mut sums: BTreeMap<(String, String), Sum> = BTreeMap::new();
    let mut seen: BTreeSet<(String, u64)> = BTreeSet::new();
    let mut rows = 0u64;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), 10, "{line}");
        let number = |i: usize| fields[i].parse::<u64>().unwrap();
        assert!(seen.insert((fields[0].to_owned(), number(1))), "twice: {line}");
        let sum = sums.entry((fields[0].to_owned(), fields[2].to_owned())).or_default();
        sum.packets += 1;
        sum.bytes += number(3);
        match fields[7] {
            "dropped" => {
                assert!(fields[5].is_empty() && !fields[9].is_empty(), "{line}");
                sum.dropped += 1;
            }
            outcome => {
                assert!(outcome == "sent" || outcome == "late", "{line}");
                sum.delay += number(5) - number(4);
                sum.sent += 1;
                sum.late += u64::from(outcome == "late");
            }
        }
        rows += 1;
    }
    let packets: u64 =
        result.policies.values().flat_map(|p| p.flows.values()).map(|f| f.packets).sum();
    assert_eq!(rows, packets);
    for (policy, p) in &result.policies {
        for (name, f) in p.flows.iter().filter(|(_, f)| f.packets > 0) {
            let sum = &sums[&(policy.clone(), name.clone())];
            let got = (sum.packets, sum.bytes, sum.late, sum.dropped);
            assert_eq!(got, (f.packets, f.bytes, f.deadline_misses, f.dropped), "{policy} {name}");
            let mean = (sum.sent > 0).then(|| sum.delay as f64 / sum.sent as f64 / 1e6);
            let difference = mean.unwrap_or(0.0) - f.mean_ms.unwrap_or(0.0);
            assert!(difference.abs() < 1e-9, "{policy} {name}: {mean:?} {:?}", f.mean_ms);
        }
    }
}

/// Fails when a departure is missing, out of order, or not marked as its flow is matched.
#[test]
fn the_capture_of_departures_holds_all_of_them() {
    let folder = Folder::new("pcap-out");
    let path = folder.path("out.pcapng");
    let (scenario, trace) =
        (file("scenarios/captured-link.toml"), file("captures/cooked-sll.pcap"));
    let out = laxity(&[
        "simulate",
        &scenario,
        "--trace",
        &trace,
        "--policy",
        "exact,fifo",
        "--pcap-out",
        &path,
        "--json",
    ])
    .succeeds();
    let result: SimulationResult = serde_json::from_str(&out).unwrap();
    let flows = &result.policies["exact"].flows;
    let sent: u64 = flows.values().map(|f| f.packets - f.dropped).sum();
    let mut capture = Capture::open(std::fs::File::open(&path).unwrap()).unwrap();
    let (mut count, mut voice, mut last) = (0, 0, 0);
    while let Some(frame) = capture.next_frame().unwrap() {
        assert!(frame.time_ns >= last);
        last = frame.time_ns;
        count += 1;
        voice += u64::from(decode(frame.link_type, frame.data).dscp == Some(46));
    }
    assert!(capture.report().faults.is_empty());
    assert_eq!((count, voice), (sent, flows["voice"].packets));
    assert!(voice > 0);
}

/// Fails when the page is not written, needs something else, or lacks a plot in one of the formats.
#[test]
fn a_page_is_written() {
    let folder = Folder::new("page");
    let [page, plots, data] = ["page.html", "plots", "data"].map(|name| folder.path(name));
    let ran = laxity(&[
        "simulate",
        &link(),
        "--duration",
        "1s",
        "--report",
        &page,
        "--svg",
        &plots,
        "--vega",
        &data,
        "--json",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.err.contains(&page), "{}", ran.err);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("</html>") && html.matches("<script").count() == 1);
    let names = |folder: &str, ending: &str| {
        let files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().file_name());
        let names = files.map(|name| name.into_string().unwrap());
        names.map(|n| n.strip_suffix(ending).unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let drawn = names(&plots, ".svg");
    assert!(!drawn.is_empty());
    assert_eq!(drawn, names(&data, ".vl.json"));
}

/// Fails when a drop or mark of an AQM is missing in the JSON, the table or the packets.
#[test]
fn aqm_drops_and_marks_are_in_every_output() {
    let folder = Folder::new("aqm");
    let [scenario, trace, packets] =
        ["link.toml", "in.pcapng", "packets.csv"].map(|name| folder.path(name));
    let text = "[link]\nrate = \"10 Mbit/s\"\nbuffer = { total = \"4 MB\", best_effort = \"4 MB\" }\n\
                [[best_effort]]\nname = \"bulk\"\nmatch = { protocol = \"udp\" }\nflows = {}\n\
                aqm = \"codel\"\n";
    std::fs::write(&scenario, text).unwrap();
    // Two flows that send twice what the link carries; the second is ECN-capable.
    let mut writer = PcapngWriter::new(Vec::new()).unwrap();
    let port = writer.add_interface(LinkType::ETHERNET, 0, "in").unwrap();
    for n in 0..4000u64 {
        let packet = SimPacket { flow: (n % 2) as u32, bytes: 1250, dscp: 0, sequence: n };
        let mut frame = packet.frame().unwrap().bytes().to_vec();
        frame[15] |= if n % 2 == 0 { 0 } else { 2 };
        writer.packet(port, 1_000_000_000 + n * 500_000, 1250, &frame, None).unwrap();
    }
    std::fs::write(&trace, writer.finish().unwrap()).unwrap();
    let arguments = ["simulate", &scenario, "--trace", &trace, "--policy", "exact"];
    let json = [&arguments[..], &["--packets", &packets, "--json"]].concat();
    let result: SimulationResult = serde_json::from_str(&laxity(&json).succeeds()).unwrap();
    let bulk = &result.policies["exact"].flows["bulk"];
    let (drops, marks) = (bulk.aqm_drops.unwrap(), bulk.ecn_marks.unwrap());
    assert!(drops > 10 && marks > 10, "{drops} dropped, {marks} marked");
    let rows = std::fs::read_to_string(&packets).unwrap();
    let count = |end: &str| rows.lines().filter(|line| line.ends_with(end)).count() as u64;
    assert_eq!(count("dropped,false,aqm"), drops);
    assert_eq!(count("sent,false,marked"), marks);
    // Packets are numbered in order, so the second flow has the odd numbers.
    let marked = rows.lines().filter(|line| line.ends_with("marked"));
    let numbers = marked.map(|line| line.split(',').nth(1).unwrap().parse::<u64>().unwrap());
    assert!(numbers.into_iter().all(|n| n % 2 == 1));
    let table = laxity(&arguments).succeeds();
    assert!(table.contains(&format!("{drops} / {marks}")), "{table}");
}

/// Waits for two minutes at most.
#[cfg(target_os = "linux")]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..12_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("timed out waiting until {what}");
}

/// Whether a process has its own handler of SIGINT.
#[cfg(target_os = "linux")]
fn handles_interrupts(process: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    let bit = Signal::INT.as_raw() - 1;
    u64::from_str_radix(caught.trim(), 16).unwrap() >> bit & 1 == 1
}

/// The processor time of a process in its own code.
#[cfg(target_os = "linux")]
fn computed(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The name, in parentheses, is the second; 100 ticks are a second on every Linux.
    let ticks = stat.rsplit(')').next().unwrap().split_whitespace().nth(11).unwrap();
    Duration::from_millis(10 * ticks.parse::<u64>().unwrap())
}

/// Ctrl-C: finished runs are a valid result, the status marks it as partial.
///
/// Fails when the run ignores the signal, loses its results, or exits as if it were complete.
#[cfg(target_os = "linux")]
#[test]
fn interrupted_simulations_print_finished_runs() {
    for extra in [&[][..], &["--seeds", "1..3"]] {
        let link = link();
        let mut arguments =
            vec!["simulate", &link, "--duration", "10000000s", "--policy", "exact", "--json"];
        arguments.extend(extra);
        let mut command = command(&arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = Process::new(command.spawn().unwrap());
        // Before its handler is there a signal would end it at once; packets take a while.
        let id = process.child().id();
        until("it has a handler and has computed for a second", || {
            assert!(process.child().try_wait().unwrap().is_none(), "it was to take hours");
            handles_interrupts(id) && computed(id) > Duration::from_secs(1)
        });
        process.signal(Signal::INT);
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(process.ended()));
        let ran = ended.recv_timeout(Duration::from_secs(120)).unwrap_or_else(|_| {
            let _ = kill_process(Pid::from_raw(id as i32).unwrap(), Signal::KILL);
            panic!("it goes on after the signal");
        });
        assert_eq!(ran.code, Some(130), "{ran:#?}");
        assert!(ran.err.contains("interrupted"), "{}", ran.err);
        let run = match extra {
            [] => serde_json::from_str::<SimulationResult>(&ran.out).unwrap(),
            _ => serde_json::from_str::<SimulationRuns>(&ran.out).unwrap().runs.remove(0),
        };
        let voice = &run.policies["exact"].flows["voice"];
        assert!(voice.packets > 1000 && voice.deadline_misses == 0);
    }
}
