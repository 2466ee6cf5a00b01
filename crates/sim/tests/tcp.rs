//! TCP sources on a simulated link.

use crate::common::scenario;
use laxity_core::Span;
use laxity_results::{FlowResult, TcpResult};
use laxity_sim::Control;
use laxity_sim::link::{PolicyRun, Traffic, simulate};

const LINK: &str = r#"
    [link]
    rate = "19 Mbit/s"
    buffer = { total = "3 MB", best_effort = "1514 kB" }
    [[realtime]]
    name = "voice"
    deadline = "10 ms"
    envelope = { packet = "214 B", peak = "200 kB/s", burst = "1284 B", rate = "32100 B/s", min_packet = "60 B" }
    source = { period = "7 ms", length = "214 B", jitter = "3 ms" }
"#;

fn run(classes: &str, policy: &str, seed: u64) -> (PolicyRun, impl Fn(&str) -> FlowResult + use<>) {
    run_on(LINK, classes, policy, seed)
}

fn run_on(
    link: &str,
    classes: &str,
    policy: &str,
    seed: u64,
) -> (PolicyRun, impl Fn(&str) -> FlowResult + use<>) {
    let scenario = scenario(&format!("{link}{classes}"));
    let traffic =
        Traffic::Generated { duration: Span::from_millis(16_000), replayed: Default::default() };
    let control = Control::default();
    let run = simulate(&scenario, policy, seed, &traffic, None, &control).unwrap();
    let result = run.result(&scenario);
    assert_eq!(result.realtime_deadline_misses > 0, policy == "fifo", "{policy}");
    (run, move |name| result.flows[name].clone())
}

fn tcp(flow: &FlowResult) -> TcpResult {
    flow.tcp.expect("a TCP source")
}

fn bulk(count: u32, keys: &str, source: &str) -> String {
    format!(
        "[[best_effort]]\nname = \"bulk\"\n{keys}\n\
         source = {{ tcp = \"cubic\", rtt = \"40 ms\", count = {count}{source} }}\n"
    )
}

/// Linux fills a FIFO of 1000 packets on this link until packets wait 435 ms with one flow and 530 ms
/// with eight, over 12 s from the fourth on; here the first seconds count, and voice takes 1.3 %. Fails
/// when sources send regardless of losses, a drop loses all that waits, or packets are delivered before
/// their transmission.
#[test]
fn bulk_transfers_fill_a_fifo() {
    for (count, least, most) in [(1, 250.0, 500.0), (8, 330.0, 560.0)] {
        let (run, flow) = run(&bulk(count, "", ""), "fifo", 1);
        let flow = flow("bulk");
        let mean = flow.mean_ms.unwrap();
        assert!((least..most).contains(&mean), "{count}: {mean} ms");
        assert!(tcp(&flow).goodput_mbit_s > 16.5, "{flow:?}");
        assert!(flow.dropped > 0 && flow.dropped * 20 < flow.packets, "{flow:?}");
        assert_eq!(run.measure.flows[1].unfinished(), 0);
    }
}

/// Fails when drops of an AQM do not reach the sources: the queue stays full. CoDel on one queue of Linux has 17.4 to 18.1 Mbit/s.
#[test]
fn an_aqm_keeps_the_queue_short() {
    for (policy, keys) in [
        ("slack", "flows = {}\naqm = \"codel\""),
        ("exact", "flows = {}\naqm = \"codel\""),
        ("background", "aqm = \"codel\""),
        ("slack", "aqm = \"pie\""),
    ] {
        let flow = run(&bulk(4, keys, ""), policy, 1).1("bulk");
        assert!(flow.mean_ms.unwrap() < 25.0, "{policy} {keys}: {flow:?}");
        assert!(flow.aqm_drops.unwrap() > 20, "{policy} {keys}: {flow:?}");
        assert!(tcp(&flow).goodput_mbit_s > 15.0, "{policy} {keys}: {flow:?}");
    }
}

/// Fails when marks do not reach the receiver, when packets of ECN-capable connections are not
/// ECN-capable, or when a scalable control is not: it would lose packets.
#[test]
fn marks_replace_drops() {
    let codel = "flows = {}\naqm = \"codel\"";
    let prague = bulk(4, "flows = {}\naqm = \"l4s\"", "").replace("cubic", "prague");
    for classes in [bulk(4, codel, ", ecn = true"), prague] {
        let flow = run(&classes, "slack", 1).1("bulk");
        let (drops, marks) = (flow.aqm_drops.unwrap(), flow.ecn_marks.unwrap());
        assert!(marks > 50 && drops * 10 < marks, "{drops} drops, {marks} marks: {classes}");
        assert!(tcp(&flow).goodput_mbit_s > 15.0, "{flow:?}");
        assert!(flow.mean_ms.unwrap() < 25.0, "{flow:?}");
    }
}

/// Fails when connections of a class share a queue, so that pages wait behind downloads, or when the seed
/// does not change when sources start.
#[test]
fn flows_of_a_class_have_queues_of_their_own() {
    let both = |keys: &str| {
        let page = "source = { tcp = \"cubic\", rtt = \"40 ms\", app = \"page-100kB\" }";
        let web = format!("[[best_effort]]\nname = \"web\"\n{keys}\n{page}\n");
        let classes = format!("{web}{}", bulk(4, keys, ""));
        let flow = run(&classes, "slack", 1).1;
        let web = tcp(&flow("web"));
        (web.completed, web.completion_mean_ms.unwrap())
    };
    // A handshake, a request, and 70 segments from a window of ten take 4 round trips, 160 ms, and
    // 42 ms on the wire.
    let (completed, mean) = both("flows = {}\naqm = \"codel\"");
    assert!(completed >= 12 && (200.0..400.0).contains(&mean), "{completed}, {mean} ms");

    let one = |keys: &str, seed| {
        // Without jitter of voice, so that only the TCP sources draw.
        let link = LINK.replace(", jitter = \"3 ms\"", "");
        let flow = run_on(&link, &bulk(2, keys, ", start = \"1 s\""), "slack", seed).1("bulk");
        (flow.packets, flow.mean_ms)
    };
    let keys = "flows = { by = \"host-and-flow\" }\naqm = \"codel\"";
    assert_ne!(one(keys, 1), one("aqm = \"codel\"", 1), "`flows` has no effect");
    assert_eq!(one(keys, 1), one(keys, 1), "the same seed, another result");
    assert_ne!(one(keys, 1), one(keys, 2), "the seed has no effect");
}

/// Fails when pages are loaded once only, or a page begins before the last one is complete, or
/// segments of a film are not requested in time.
#[test]
fn applications_complete_and_go_on() {
    let class = |app: &str| {
        format!(
            "[[best_effort]]\nname = \"app\"\nsource = {{ tcp = \"cubic\", rtt = \"40 ms\", app = \"{app}\" }}\n"
        )
    };
    let mut completed = Vec::new();
    for app in ["page", "page-100kB", "page-2MB", "video"] {
        let tcp = tcp(&run(&class(app), "slack", 1).1("app"));
        assert!(tcp.completion_max_ms >= tcp.completion_mean_ms, "{app}: {tcp:?}");
        completed.push((tcp.completed, tcp.goodput_mbit_s));
    }
    // Of 16 s a second passes between two pages; 2.65 MB take 1.1 s on the wire, 2 MB 0.85 s.
    let [page, small, large, film] = completed[..] else { unreachable!() };
    assert!((5..=7).contains(&page.0), "{completed:?}");
    assert!((12..=14).contains(&small.0), "{completed:?}");
    assert!((6..=8).contains(&large.0), "{completed:?}");
    // Five segments fill the buffer; then one every 4 s.
    assert!((7..=9).contains(&film.0), "{completed:?}");
    assert!((small.1 - small.0 as f64 * 0.8 / 16.0).abs() < 0.06, "{completed:?}");
}

/// Fails when a source sends before its start. Does not end when a source sends after the end of the run.
#[test]
fn sources_keep_to_their_time() {
    let (run, flow) = run(&bulk(1, "", ", start = \"15900 ms\""), "slack", 1);
    let flow = flow("bulk");
    // The handshake, the initial window, and twice that a round trip later at most.
    assert!((2..40).contains(&flow.packets), "{flow:?}");
    assert!(run.ending.time.0 < 16_100_000_000, "{:?}", run.ending);
}

/// Fails when a bound of a key overflows, panics or does not end: a segment of a link's smallest packets,
/// the shortest and the longest round trip, the most connections, a start after the end.
#[test]
fn bounds_of_keys_are_simulated() {
    for (rtt, count) in [("10 us", 1000), ("10 s", 1000), ("10 s", 1)] {
        for app in ["bulk", "page", "video"] {
            for start in ["0 s", "1000 h"] {
                let link = "[link]\nrate = \"1 Mbit/s\"\nmax_packet = \"256 B\"\n";
                let class = format!(
                    "[[best_effort]]\nname = \"app\"\nsource = {{ tcp = \"cubic\", rtt = \"{rtt}\", \
                     app = \"{app}\", count = {count}, start = \"{start}\" }}\n"
                );
                let scenario = scenario(&format!("{link}{class}"));
                let (duration, replayed) = (Span::from_millis(40_000), Default::default());
                let traffic = Traffic::Generated { duration, replayed };
                let control = Control::default();
                let run = simulate(&scenario, "slack", 1, &traffic, None, &control).unwrap();
                let packets = run.measure.flows[0].packets;
                assert_eq!(packets > 0, start == "0 s", "{class}");
            }
        }
    }
}
