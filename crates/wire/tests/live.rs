//! The link on real traffic, in network namespaces that each test makes and removes.
//!
//! The machine may be busy, and then threads wake late. The link measures that itself
//! (`Counts::excuse`); deadlines are held to what it says, and to nothing else that depends on
//! speed. Skipped, with the reason, without root; `LAXITY_REQUIRE_ALL=1` makes that a failure.

mod support;

use std::time::Duration;

use laxity_core::{Span, Time};
use laxity_scenario::model::Scenario;
use laxity_sim::Arrival;
use laxity_trace::LinkType;
use laxity_wire::WireError;
use laxity_wire::bridge::{Attached, Ended, Io, Running, Schedule};
use laxity_wire::compare::compare;
use laxity_wire::counts::Counts;
use laxity_wire::lock::Lock;
use laxity_wire::offload::Offload;
use support::traffic::{self, Outcome, Receivers};
use support::{LINK, Network};

/// Voice, video and two bursty best-effort classes, nine tenths of 10 Mbit/s.
const FAMILY: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1500 B"
credit = "1 ms"
buffer = { total = "600 kB", best_effort = "400 kB" }
[policy]
use = "exact"
[[realtime]]
name = "voice"
deadline = "10 ms"
envelope = { packet = "200 B", peak = "1 MB/s", burst = "3 kB", rate = "42 kB/s" }
source = { period = "5 ms", length = "200 B" }
match = { dport = 49152 }
[[realtime]]
name = "video"
deadline = "100 ms"
envelope = { burst = "42 kB", rate = "400 kB/s", packet = "1400 B" }
source = { length = "1400 B", on = ["20 ms", "40 ms"], off = ["40 ms", "90 ms"] }
match = { dport = 49153 }
[[best_effort]]
name = "http"
envelope = { packet = "1000 B", peak = "1 MB/s", burst = "8 kB", rate = "250 kB/s" }
source = { length = "1000 B", on = ["5 ms", "20 ms"], off = ["5 ms", "30 ms"] }
match = { dport = 49154 }
[[best_effort]]
name = "bulk"
envelope = { packet = "1400 B", peak = "2 MB/s", burst = "20 kB", rate = "400 kB/s" }
source = { length = "1400 B", on = ["20 ms", "60 ms"], off = ["10 ms", "60 ms"] }
match = { dport = 49155 }
"#;
const FLOWS: usize = 5;
const VOICE: usize = 0;
const VIDEO: usize = 1;
const BULK: usize = 3;

/// The time of 1500 bytes at 10 Mbit/s, in ns.
const LONGEST_FRAME: f64 = 1.2e6;

const WAYS: [Io; 2] = [Io::Packet, Io::Xdp];

fn family() -> Scenario {
    Scenario::parse(FAMILY, "family.toml").expect("it is well-formed")
}

/// Both directions between `in` and `out`; the other one is not scheduled.
struct Link {
    forth: Running,
    back: Running,
    scenario: Scenario,
    policy: String,
    holds: [(Offload, Lock); 2],
}

impl Link {
    fn start(network: &Network, scenario: Scenario, policy: &str, io: Io) -> Link {
        network.enter(LINK);
        let (input, output) = (attach("in", io), attach("out", io));
        // Awake in time, as far as the machine lets them.
        let (record, spin) = (1 << 20, Span(100_000));
        let policy = policy.to_owned();
        let schedule =
            Schedule { policy: policy.clone(), record, spin, scenario: scenario.clone() };
        let ethernet = LinkType::ETHERNET;
        let forth = Running::start("forth", &schedule, ethernet, input.receive, output.transmit);
        let schedule = Schedule::unscheduled();
        let back = Running::start("back", &schedule, ethernet, output.receive, input.transmit);
        let (forth, back) = (forth.expect("it starts"), back.expect("it starts"));
        let holds = [input.hold, output.hold];
        Link { forth, back, scenario, policy, holds }
    }

    /// Waits until each frame is sent or dropped for a reason; none is stuck.
    fn drains(&self, what: &str) {
        for _ in 0..200 {
            let counts = self.forth.report().expect("it runs").counts;
            if counts.classes.iter().all(|class| class.waiting() == 0) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("{what}: frames still wait");
    }

    fn stop(self) -> Ended {
        self.back.stop().expect("it stops");
        let ended = self.forth.stop().expect("it stops");
        if let Some(error) = &ended.error {
            panic!("the link ended: {error}");
        }
        ended
    }
}

fn attach(device: &str, io: Io) -> Attached {
    Attached::to(device, io).unwrap_or_else(|e| panic!("{e}"))
}

/// Sends arrivals through a link and waits for what comes.
fn pass(network: &Network, link: &Link, arrivals: Vec<Arrival>) -> Outcome {
    let receivers = Receivers::start(network, FLOWS);
    let sent = traffic::send(network, arrivals, FLOWS).join().expect("it sends");
    link.drains("pass");
    Outcome { sent, received: receivers.finish() }
}

/// No real-time frame is lost, nor later than the threads were.
fn keeps_its_promise(link: &str, counts: &Counts, scenario: &Scenario, flows: &[usize]) {
    let excuse = counts.excuse(scenario.link.credit);
    for flow in flows {
        let class = &counts.classes[*flow];
        let dropped: Vec<_> = class.drops().collect();
        assert_eq!(dropped, [], "{link}: real-time flow {flow} lost frames");
        assert!(
            class.most_late <= excuse,
            "{link}: real-time flow {flow} was late by {} ns, the threads by {excuse} ns only",
            class.most_late
        );
    }
    assert_eq!(counts.malformed, 0, "{link}");
}

/// Each frame that was sent is sent on, dropped for a reason, or waits.
fn loses_nothing_unseen(link: &str, outcome: &Outcome, counts: &Counts) {
    assert_eq!(counts.overflow, 0, "{link}: the sender is slow, nothing may be lost before");
    for flow in 0..FLOWS - 1 {
        let (class, received) = (&counts.classes[flow], &outcome.received[flow]);
        assert_eq!(class.packets, outcome.sent[flow], "{link}: arrivals of flow {flow}");
        assert_eq!(received.packets, class.sent(), "{link}: departures of flow {flow}");
        assert_eq!(received.disorder, 0, "{link}: order of flow {flow}");
    }
}

/// Fails when best effort is served before real time, when frames are lost or doubled, or when
/// delays are not those of the simulator: tried with `best-effort-first`, and with stamps that are
/// 20 ms off.
#[test]
fn voice_video_and_bursts_keep_their_deadlines() {
    for io in WAYS {
        for policy in ["background", "exact", "slack"] {
            let Some(network) = support::network() else { return };
            let name = format!("{policy} by {io:?}");
            let link = Link::start(&network, family(), policy, io);
            traffic::warm_up(&network);
            let arrivals = traffic::arrivals(&link.scenario, 7, Span::from_millis(1500));
            let outcome = pass(&network, &link, arrivals);
            let (scenario, policy) = (link.scenario.clone(), link.policy.clone());
            let ended = link.stop();
            let counts = &ended.report.counts;
            loses_nothing_unseen(&name, &outcome, counts);
            keeps_its_promise(&name, counts, &scenario, &[VOICE, VIDEO]);
            let (record, complete) = ended.record.expect("it was asked for");
            assert!(complete, "the record is long enough");
            let lag = counts.lag.mean().unwrap_or(0.0);
            eprintln!(
                "{name}: lag {:.1} us, at most {:?} ns, stalled {}, woken {:?} us late",
                lag / 1e3,
                counts.lag.max(),
                counts.stalled,
                counts.wakes.quantile(990).map(|ns| ns / 1000)
            );
            for row in compare(&scenario, &policy, record, counts).expect(&name) {
                let (Some(live), Some(simulated)) = row.mean else { continue };
                eprintln!(
                    "  {:6} live {:.3} ms, simulated {:.3} ms",
                    row.name,
                    live / 1e6,
                    simulated / 1e6
                );
                assert_eq!(row.sent.0, row.sent.1, "{name}: {}", row.name);
                // A class of few frames may have had just those that the thread sent late; and where
                // the link stalled, a frame that came meanwhile may go before one that waited.
                let late = counts.lag.max().unwrap_or(0) + counts.stalled.0;
                let late = late as f64 + LONGEST_FRAME;
                assert!(
                    (live - simulated).abs() <= simulated / 10.0 + late,
                    "{name}: {} took {live} ns, simulated {simulated} ns, threads late by {late} ns",
                    row.name
                );
            }
        }
    }
}

/// Fails when a flow beyond its envelope is let through, or harms others: tried without the
/// policer.
#[test]
fn a_flow_that_lies_hurts_itself() {
    for io in WAYS {
        for excess in ["delay", "demote", "drop"] {
            let Some(network) = support::network() else { return };
            let name = format!("{excess} by {io:?}");
            // A limit of its own, so that the room beyond what is reserved is not all the liar's.
            let keys = format!("deadline = \"100 ms\"\nexcess = \"{excess}\"\nbuffer = \"150 kB\"");
            let lying = FAMILY.replace("deadline = \"100 ms\"", &keys);
            let scenario = Scenario::parse(&lying, "lying.toml").expect("it is well-formed");
            let mut arrivals = traffic::arrivals(&scenario, 3, Span::from_millis(800));
            // Each video packet four times over.
            let more: Vec<Arrival> = arrivals
                .iter()
                .flat_map(|a| std::iter::repeat_n(*a, if a.flow.index() == VIDEO { 4 } else { 1 }))
                .collect();
            arrivals = more;
            let link = Link::start(&network, scenario, "exact", io);
            traffic::warm_up(&network);
            let outcome = pass(&network, &link, arrivals);
            let scenario = link.scenario.clone();
            let ended = link.stop();
            let counts = &ended.report.counts;
            keeps_its_promise(&name, counts, &scenario, &[VOICE]);
            let video = &counts.classes[VIDEO];
            let dropped = video.drops().map(|(_, n)| n).sum::<u64>();
            match excess {
                "delay" => assert!(video.delay.max() > Some(100_000_000), "{name}: it waits"),
                "demote" => assert!(video.demoted > 50, "{name}: {} demoted", video.demoted),
                _ => assert!(dropped > 50, "{name}: {dropped} dropped"),
            }
            let late = video.most_late;
            assert!(late <= counts.excuse(scenario.link.credit), "{name}: late by {late} ns");
            assert_eq!(outcome.received[VOICE].packets, outcome.sent[VOICE], "{name}");
        }
    }
}

/// Fails when best effort takes real time's place in the buffers: tried without pushing out.
#[test]
fn a_flood_of_best_effort_costs_real_time_nothing() {
    for io in WAYS {
        let Some(network) = support::network() else { return };
        let name = format!("{io:?}");
        // Best effort alone may fill all there is.
        let buffer = "{ total = \"450 kB\", best_effort = \"450 kB\" }";
        let tight = FAMILY.replace("{ total = \"600 kB\", best_effort = \"400 kB\" }", buffer);
        let scenario = Scenario::parse(&tight, "tight.toml").expect("it is well-formed");
        let mut arrivals = traffic::arrivals(&scenario, 5, Span::from_millis(1000));
        // 100 Mbit/s: eight packets of 1400 B each 0.9 ms.
        let flood = (0..1100u64).flat_map(|n| {
            let packet = Arrival {
                time: Time(n * 900_000),
                flow: laxity_core::FlowId(BULK as u32),
                bytes: 1400,
            };
            std::iter::repeat_n(packet, 8)
        });
        arrivals.extend(flood);
        arrivals.sort_by_key(|a| a.time);
        let link = Link::start(&network, scenario, "exact", io);
        traffic::warm_up(&network);
        let outcome = pass(&network, &link, arrivals);
        let scenario = link.scenario.clone();
        let ended = link.stop();
        let counts = &ended.report.counts;
        keeps_its_promise(&name, counts, &scenario, &[VOICE, VIDEO]);
        loses_nothing_unseen(&name, &outcome, counts);
        let dropped = counts.classes[BULK].drops().map(|(_, n)| n).sum::<u64>();
        assert!(
            dropped > 4000,
            "{name}: a tenth of the flood fits, yet only {dropped} are dropped"
        );
    }
}

/// Fails when a frame is lost to an interface that is down, or the thread spins or ends there:
/// tried with such frames given up, and without a pause before the next attempt.
#[test]
fn an_interface_may_go_down_and_come_back() {
    for io in WAYS {
        let Some(network) = support::network() else { return };
        let name = format!("{io:?}");
        let link = Link::start(&network, family(), "exact", io);
        traffic::warm_up(&network);
        for (role, device) in [(LINK, "out"), (LINK, "in")] {
            let arrivals = traffic::arrivals(&link.scenario, 5, Span::from_millis(900));
            let receivers = Receivers::start(&network, FLOWS);
            let sending = traffic::send(&network, arrivals, FLOWS);
            std::thread::sleep(Duration::from_millis(300));
            let before = link.forth.report().expect("it runs").cpu_ns;
            network.ip(role, &format!("link set {device} down")).expect("it goes down");
            std::thread::sleep(Duration::from_millis(300));
            network.ip(role, &format!("link set {device} up")).expect("it comes up");
            let busy = link.forth.report().expect("it runs").cpu_ns - before;
            assert!(busy < 200_000_000, "{name}: {busy} ns of CPU while {device} was down");
            let sent = sending.join().expect("it sends");
            let received = receivers.finish();
            assert!(received[VOICE].packets > 0 && sent[VOICE] > received[VOICE].packets / 2);
            link.drains(&format!("{name}: {device}"));
        }
        // It works as before.
        let before = link.forth.report().expect("it runs").counts;
        let arrivals = traffic::arrivals(&link.scenario, 6, Span::from_millis(300));
        traffic::warm_up(&network);
        let outcome = pass(&network, &link, arrivals);
        let ended = link.stop();
        let sent = ended.report.counts.classes[VOICE].sent() - before.classes[VOICE].sent();
        assert_eq!(outcome.received[VOICE].packets, outcome.sent[VOICE], "{name}");
        // What lay in the interface while it was down may come after all.
        assert!(sent >= outcome.received[VOICE].packets, "{name}: {sent} sent");
    }
}

/// Fails when a thread that was asked something no longer sleeps: tried with what woke it not read
/// away.
#[test]
fn an_idle_link_sleeps() {
    for io in WAYS {
        let Some(network) = support::network() else { return };
        let link = Link::start(&network, family(), "exact", io);
        let mut before = 0;
        for _ in 0..200 {
            before = link.forth.report().expect("it runs").cpu_ns;
        }
        std::thread::sleep(Duration::from_millis(500));
        let busy = link.forth.report().expect("it runs").cpu_ns - before;
        assert!(busy < 100_000_000, "{io:?}: {busy} ns of CPU in half a second without a frame");
    }
}

/// Fails when the thread does not notice, or ends without saying so: tried without the check of
/// the interface.
#[test]
fn a_removed_interface_ends_the_link_with_its_name() {
    for io in WAYS {
        let Some(network) = support::network() else { return };
        for removed in ["in", "out"] {
            let link = Link::start(&network, family(), "exact", io);
            traffic::warm_up(&network);
            let arrivals = traffic::arrivals(&link.scenario, 5, Span::from_millis(200));
            traffic::send(&network, arrivals, FLOWS).join().expect("it sends");
            network.ip(LINK, &format!("link delete {removed}")).expect("it goes");
            let mut looks = 0;
            while link.forth.is_running() {
                std::thread::sleep(Duration::from_millis(50));
                looks += 1;
                assert!(looks < 200, "{io:?}: ten seconds after {removed} was removed it runs");
            }
            let ended = link.forth.stop().expect("it ended");
            match ended.error {
                Some(WireError::Gone { device }) => assert_eq!(device, removed),
                other => panic!("{io:?}: {removed} was removed, and it ended with {other:?}"),
            }
            drop((link.back, link.holds));
            let joined = if removed == "in" { network.join_in() } else { network.join_out() };
            joined.expect("they come back");
        }
    }
}
