//! Links in the virtual machine that are forced to lose time: under no policy is real time later for it than under
//! `background`, but for what best effort took before, and status and metrics say what was lost.
#![cfg(feature = "kernel")]

mod support;

#[path = "support/links.rs"]
mod links;
#[path = "../../kernel/tests/machine/mod.rs"]
mod machine;

use std::path::PathBuf;

use serde_json::Value;

use links::{VIDEO, VOICE, assert_contains, count, run_with, status, trace_ms};
use machine::{available, part};

const POLICIES: [&str; 3] = ["background", "exact", "slack"];

/// Voice, video, and more best effort than they leave room for, for so many ms.
fn load(ms: u64) -> PathBuf {
    trace_ms("stalls.csv", ms, &[VOICE, VIDEO, ("bulk", 5_000_000, 4, 1400)])
}

/// Stalls of a status, and the late packets of voice and of video.
#[derive(Debug)]
struct Lost {
    count: u64,
    total_ms: f64,
    max_ms: f64,
    late: [u64; 2],
}

impl Lost {
    fn of(status: &Value) -> Lost {
        let stalls = &status["stalls"];
        let ms = |name: &str| stalls[name].as_f64().expect("ms");
        Lost {
            count: count(&stalls["count"]),
            total_ms: ms("total_ms"),
            max_ms: ms("max_ms"),
            late: ["voice", "video"].map(|flow| count(&status["flows"][flow]["deadline_misses"])),
        }
    }
}

/// The value of a metric of the card.
fn metric(metrics: &str, name: &str, policy: &str) -> f64 {
    let start = format!("laxity_link_{name}{{device=\"card\",policy=\"{policy}\"}} ");
    let value = metrics.lines().find_map(|l| l.strip_prefix(&start)?.parse().ok());
    value.unwrap_or_else(|| panic!("no {start}in {metrics}"))
}

/// Packets of voice and of video that a stall may make late under a policy that lets real time wait for as long as
/// its deadlines permit, beyond those under `background`: a frame of video that waits, 45 packets, has been sent
/// there. With it real time catches up later, by 50 ms over the 45 % of the link that real time leaves, and late
/// in that time are a packet of voice each 5 ms, the frame, and the next one.
const LATE_PER_STALL: [u64; 2] = [22, 90];

/// The queue of a card is stopped for 40 ms since the other end takes nothing, the timer of the link waits for 40 ms
/// for other work, the carrier is lost. Each of the first two is one stall; what waits when the carrier goes is
/// flushed and nothing of it late.
///
/// With the rule 6 to 13 packets of voice and up to 22 of video after the first, 6 to 16 and 32 after both. Fails
/// when `lx_handle_stall` does nothing: under `exact` then 43 and 88, 160 and 369; `slack`, which looks at what
/// waits at each decision, has 9 and 21 even so. Fails when `laxity_reset` lets `link.pace.ready` be: the time
/// without a carrier is then a stall.
#[test]
fn after_a_stall_no_policy_misses_more_than_background() {
    if !available() {
        return;
    }
    let text = run_with(&["--cards", "--with", "chrt"], "stalls.sh", &[load(1500)]);
    let lost = |policy: &str, way: &str| {
        let part = part(&text, &format!("{policy}, {way}"));
        let lost = Lost::of(&status(part));
        eprintln!("{policy}, {way}: {lost:?}");
        lost
    };
    let mut background = None;
    for policy in POLICIES {
        let stalls = ["queue stopped", "watchdog late"].map(|way| lost(policy, way));
        let background = background.get_or_insert(stalls.each_ref().map(|lost| lost.late));
        for (n, lost) in (1..).zip(&stalls) {
            assert_eq!(lost.count, n, "{policy}: {lost:?}");
            assert!(lost.max_ms > 30.0 && lost.max_ms < 50.0, "{policy}: {lost:?}");
            assert!(lost.total_ms > 30.0 * n as f64, "{policy}: {lost:?}");
            for flow in 0..2 {
                let most = background[n as usize - 1][flow] + n * LATE_PER_STALL[flow];
                assert!(lost.late[flow] <= most, "{policy}: {lost:?}, more than {most}");
            }
        }
        assert_contains(
            part(&text, &format!("{policy}, queue stopped")),
            &["The link stalled once"],
        );
        let metrics = part(&text, &format!("{policy}, watchdog late"));
        assert_eq!(metric(metrics, "stalls_total", policy), 2.0);
        for (name, ms) in
            [("stall_seconds_total", stalls[1].total_ms), ("max_stall_seconds", stalls[1].max_ms)]
        {
            let seconds = metric(metrics, name, policy);
            assert!((seconds * 1e3 - ms).abs() < 1e-6, "{policy}: {name} {seconds}, {ms} ms");
        }
    }
    let carrier = lost("exact", "carrier lost");
    assert_eq!((carrier.count, carrier.late), (0, [0; 2]), "{carrier:?}");
    let flows = &status(part(&text, "exact, carrier lost"))["flows"];
    assert!(count(&flows["bulk"]["drop_reasons"]["flushed"]) > 0, "{flows}");
    // It was preempted for less than a tenth of the time.
    assert!(count(&flows["voice"]["packets"]) > 270, "{flows}");
    assert!(text.ends_with("kernel content\n"), "{text}");
}

/// The processor is preempted for 40 ms again and again, and for shorter whenever this machine is busy, so counts
/// are not known. Late are of voice, sent each 5 ms, at most a packet for 2 ms that were lost: those of that time,
/// and of 1.2 times as much in which real time, which needs 55 % of the link, catches up. And one for each stall,
/// since any time is too long where a deadline was met just so. It is 0.05 to 0.35 for each ms.
///
/// Fails when `lx_handle_stall` does nothing: 1.3 for each ms under `exact`, 236 packets of voice.
#[test]
fn misses_after_preemption_are_bounded_by_the_stall() {
    if !available() {
        return;
    }
    let text = run_with(&["--steal", "40/400", "--with", "chrt"], "stalls.sh", &[load(4000)]);
    for policy in POLICIES {
        let lost = Lost::of(&status(part(&text, &format!("{policy}, stolen"))));
        eprintln!("{policy}: {lost:?}");
        assert!(lost.count >= 3 && lost.max_ms > 35.0, "{policy}: {lost:?}");
        let most = lost.total_ms / 2.0 + lost.count as f64;
        assert!(lost.late[0] as f64 <= most, "{policy}: {lost:?}, more than {most}");
    }
    assert!(text.ends_with("kernel content\n"), "{text}");
}
