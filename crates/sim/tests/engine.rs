//! The engine on traces small enough to compute by hand.

use std::sync::Arc;

use crate::common::{Log, arrivals, generated, replay, scenario, simulated};
use laxity_core::{Span, Time};
use laxity_link::buffer::DropReason;
use laxity_link::registry::POLICIES;
use laxity_sim::Control;
use laxity_sim::link::measure::UNSERVED;
use laxity_sim::link::{Traffic, simulate};

/// One byte takes a microsecond.
const SMALL: &str = r#"
    [link]
    rate = "8 Mbit/s"
    max_packet = "1000 B"

    [[realtime]]
    name = "voice"
    deadline = "3 ms"
    envelope = { packet = "300 B", peak = "1 MB/s", burst = "600 B", rate = "100 kB/s" }
"#;

/// Flow 0 is voice, 1 is best effort.
const TRACE: [(u64, u32, u32); 5] =
    [(0, 1, 1000), (100, 1, 500), (200, 0, 200), (300, 1, 300), (1500, 0, 300)];

/// Fails when real time passes a packet on the wire, or waits behind best effort that came before.
#[test]
fn background_serves_real_time_first_but_interrupts_nothing() {
    let (_, log) = replay(&scenario(SMALL), "background", arrivals(&TRACE));
    let expected = [(0, 1000), (2, 1200), (1, 1700), (4, 2000), (3, 2300)];
    assert_eq!(log.departures_us(), expected);
}

/// With E(t) = t - 1000 up to 1700 B, flat until 3333.3 us, then 0.9 B/us, and nothing to protect
/// before 3 ms: 1700 B go at once. The history that begins with the first packet holds 1800 B by
/// the third, which is due 100 / 0.9 us after the flat part and goes behind the first voice packet.
/// The history that begins when the first packet has started holds 800 B by then (E already leaves
/// out the packet in flight), so the third packet is due when it arrives and goes before voice.
///
/// Fails when deadlines round down, when best effort is ordered by release instead, and when a
/// history restarts although it must not, or does not although it may.
#[test]
fn exact_serves_best_effort_up_to_the_residual_curve() {
    let idle = SMALL.to_owned() + "[policy]\nrestart = \"idle\"\n";
    let (_, log) = replay(&scenario(&idle), "exact", arrivals(&TRACE));
    let expected = [(0, 1000), (1, 1500), (2, 1700), (3, 2000), (4, 2300)];
    assert_eq!(log.departures_us(), expected);
    let deadlines: Vec<_> = log.sent.iter().map(|(d, _)| d.deadline.0).collect();
    assert_eq!(deadlines, [0, 100_000, 3_200_000, 3_444_445, 4_500_000]);

    let (_, log) = replay(&scenario(SMALL), "exact", arrivals(&TRACE));
    let expected = [(0, 1000), (1, 1500), (3, 1800), (2, 2000), (4, 2300)];
    assert_eq!(log.departures_us(), expected);
    let deadlines: Vec<_> = log.sent.iter().map(|(d, _)| d.deadline.0).collect();
    assert_eq!(deadlines, [0, 100_000, 300_000, 3_200_000, 4_500_000]);
}

/// Fails when the bound serves the real-time queue first.
#[test]
fn best_effort_first_is_the_other_bound() {
    let (_, log) = replay(&scenario(SMALL), "best-effort-first", arrivals(&TRACE));
    let expected = [(0, 1000), (1, 1500), (3, 1800), (2, 2000), (4, 2300)];
    assert_eq!(log.departures_us(), expected);
}

/// Fails when `fifo` orders by deadline, or orders best effort by class.
#[test]
fn fifo_sends_in_order_of_arrival() {
    let scenario = laxity_scenario::link::model::Scenario::read(crate::common::file(
        "scenarios/access-link.toml",
    ));
    let (run, log) = simulated(&scenario.unwrap(), "fifo", 5, &generated(5_000));
    assert!(log.sent.len() > 3000, "{}", log.sent.len());
    assert!(log.sent.iter().map(|(d, _)| d.packet.seq).eq(0..log.sent.len() as u64));
    assert_eq!(run.ending.unsent, 0);
}

const SHAPED: &str = r#"
    [link]
    rate = "8 Mbit/s"
    max_packet = "1000 B"

    [[realtime]]
    name = "voice"
    deadline = "5 ms"
    envelope = { burst = "100 B", rate = "100 kB/s" }
    excess = "delay"
"#;

/// Three packets at once conform 1 ms apart; the idle link must wake for each of them.
///
/// Fails when the engine ignores `next_event`, or counts the deadline from arrival.
#[test]
fn the_link_wakes_for_shaped_packets() {
    let packets = arrivals(&[(0, 0, 100), (0, 0, 100), (0, 0, 100)]);
    for policy in ["background", "exact", "slack", "fifo"] {
        let (run, log) = replay(&scenario(SHAPED), policy, packets.clone());
        assert_eq!(log.departures_us(), [(0, 100), (1, 1100), (2, 2100)], "{policy}");
        let due: Vec<_> = log.sent.iter().map(|(d, _)| d.deadline.0).collect();
        assert_eq!(due, [5_000_000, 6_000_000, 7_000_000], "{policy}");
        assert_eq!(run.ending.time, Time(2_100_000));
        let result = run.result(&scenario(SHAPED));
        assert_eq!(result.flows["voice"].max_ms, Some(2.1), "delay counts from arrival");
    }
}

/// Fails when excess is treated alike for all values of `excess`.
#[test]
fn excess_is_dropped_or_demoted_as_configured() {
    let packets = arrivals(&[(0, 0, 100), (0, 0, 100), (0, 0, 101)]);
    let text = SHAPED.replace("\"delay\"", "\"drop\"");
    let (run, log) = replay(&scenario(&text), "exact", packets.clone());
    assert_eq!(log.dropped, [(1, DropReason::Excess), (2, DropReason::Oversize)]);
    let voice = &run.result(&scenario(&text)).flows["voice"];
    assert_eq!((voice.dropped, voice.packets, voice.deadline_misses), (2, 3, 0));
    assert_eq!(voice.drop_reasons["oversize"], 1);

    let text = SHAPED.replace("\"delay\"", "\"demote\"");
    let (run, log) = replay(&scenario(&text), "background", packets);
    assert_eq!(log.departures_us(), [(0, 100), (1, 200)]);
    assert!(log.sent[1].0.packet.demoted && !log.sent[1].0.realtime);
    assert_eq!(run.result(&scenario(&text)).flows["voice"].demoted, 1);
}

/// Everything that waits when arrivals end is sent, and the time counts.
///
/// Fails when the engine stops at the last arrival.
#[test]
fn the_queue_drains_after_the_last_arrival() {
    let packets = arrivals(&[(0, 1, 1000); 10]);
    for policy in POLICIES.iter().filter(|p| p.name != "proportional-share") {
        let (run, log) = replay(&scenario(SMALL), policy.name, packets.clone());
        assert_eq!(log.sent.len(), 10, "{}", policy.name);
        assert_eq!((run.ending.time, run.ending.busy), (Time(10_000_000), 10_000_000));
        assert_eq!(run.result(&scenario(SMALL)).utilisation, 1.0);
    }
}

/// Best effort as large as the gap between voice packets, which `always-check` sends only just
/// after one of them.
const SLOW: &str = r#"
    [link]
    rate = "1 Mbit/s"
    max_packet = "1536 B"
    [policy]
    use = "slack"
    slack = { always-check = true, idle-timeout = "0 s" }
    [[realtime]]
    name = "voice"
    deadline = "5 ms"
    envelope = { period = "20 ms", size = "200 B" }
    [[best_effort]]
    name = "bulk"
"#;

/// Fails when packets that no policy decision will ever send vanish from the results.
#[test]
fn unserved_packets_are_reported() {
    let scenario = scenario(SLOW);
    let (run, log) = replay(&scenario, "slack", arrivals(&[(0, 0, 200), (0, 1, 1536)]));
    assert_eq!(log.departures_us(), [(0, 1600), (1, 13_888)]);
    assert!(run.result(&scenario).flows["bulk"].drop_reasons.is_empty());

    let (run, log) = replay(&scenario, "slack", arrivals(&[(0, 1, 1536)]));
    assert!(log.sent.is_empty());
    assert_eq!((run.ending.unsent, run.ending.complete), (1, true));
    let bulk = &run.result(&scenario).flows["bulk"];
    assert_eq!((bulk.dropped, bulk.drop_reasons[UNSERVED]), (1, 1));
}

/// Fails when the flag is not looked at, or when what waits in a broken run counts as lost.
#[test]
fn a_stopped_run_says_that_it_is_incomplete() {
    let scenario = scenario(SMALL);
    let control = Control::default();
    control.stop();
    let packets: Vec<_> = (0..10_000).map(|i| (i, 1, 1000)).collect();
    let traffic = Traffic::Recorded(Arc::new(arrivals(&packets)));
    let mut log = Log::default();
    let run = simulate(&scenario, "exact", 1, &traffic, Some(&mut log), &control).unwrap();
    assert!(!run.ending.complete);
    let other = &run.result(&scenario).flows["other"];
    assert!(other.packets > 0 && other.packets < 10_000, "{}", other.packets);
    assert!(run.ending.unsent > 0, "the link is slower than what arrives");
    assert_eq!(other.drop_reasons.get(UNSERVED), None);
    assert!(control.reached() > 0);
}

/// Fails when a policy changes what arrives, loses a packet, or sends two at once.
#[test]
fn every_policy_sees_the_same_arrivals_and_accounts_for_all() {
    let path = crate::common::file("scenarios/access-link.toml");
    let text = std::fs::read_to_string(path).unwrap();
    // Little room, so that packets are dropped and pushed out too.
    let text = text.replace(
        "max_packet = \"1536 B\"\n",
        concat!(
            "max_packet = \"1536 B\"\n",
            "buffer = { total = \"80 kB\", best_effort = \"3 kB\" }\n"
        ),
    );
    let scenario = scenario(&text);
    let mut first: Option<Log> = None;
    let mut dropped = 0;
    for policy in POLICIES {
        let name = policy.name;
        let (run, log) = simulated(&scenario, name, 3, &generated(3_000));
        assert_eq!(
            log.arrived.len(),
            log.sent.len() + log.dropped.len() + run.ending.unsent,
            "{name}"
        );
        let mut seen: Vec<u64> = log.sent.iter().map(|(d, _)| d.packet.seq).collect();
        seen.extend(log.dropped.iter().map(|d| d.0));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), log.sent.len() + log.dropped.len(), "{name}: a packet twice");
        let rate = u128::from(scenario.link.rate.0);
        let mut free = Time::ZERO;
        for (d, end) in &log.sent {
            let start = free.max(d.packet.arrival);
            let least = u128::from(d.packet.wire) * 8_000_000_000 / rate;
            assert!(u128::from(end.0) >= u128::from(start.0) + least - 1, "{name}: two at once");
            free = *end;
        }
        dropped += log.dropped.len();
        match &first {
            None => first = Some(log),
            Some(first) => assert_eq!(first.arrived, log.arrived, "{name}"),
        }
    }
    assert!(dropped > 0, "the buffer was to be too small");
}

/// Fails when the busy time leaves out wire overhead or the duration is that of the arrivals only.
#[test]
fn utilisation_is_busy_time_over_the_whole_run() {
    let text = SMALL.replace("max_packet", "overhead = \"100 B\"\n max_packet");
    let scenario = scenario(&text);
    let (run, log) = replay(&scenario, "background", arrivals(&[(0, 1, 900), (3000, 1, 900)]));
    assert_eq!(log.departures_us(), [(0, 1000), (1, 4000)]);
    assert_eq!(run.result(&scenario).utilisation, 0.5);
    assert_eq!(Traffic::Recorded(Arc::new(arrivals(&[(7, 0, 1)]))).duration(), Span(7000));
}
