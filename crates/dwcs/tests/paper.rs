//! The paper's workload, against the counts of an independent implementation that was written
//! from the paper in another language: `n` streams of eight classes that tolerate 1/80 to 1/150,
//! one packet a unit of time, always backlogged.
//!
//! The paper prints no numbers; these hold the reading in place, packet by packet.

use std::num::NonZeroU32;

use crate::common::{backlogged, sent_late, stream, unit_service};
use laxity_core::Time;
use laxity_dwcs::structure::Heaps;
use laxity_dwcs::{Attributes, Check, Late, Ledger, Measures, Options};

/// The packets of the paper's runs.
const PACKETS: u64 = 5_000_000;

struct Run {
    total: Measures,
    classes: [Measures; 8],
    /// Back-to-back windows that are over and violated.
    tumbling_complete: u64,
}

fn streams(n: usize, gap: u64, late: Late) -> Vec<Attributes> {
    let make = if late == Late::Send { sent_late } else { stream };
    (0..n).map(|i| make(&format!("1/{}", 80 + 10 * (i % 8)), gap)).collect()
}

fn run(options: &Options, streams: &[Attributes], packets: u64) -> Run {
    let (mut scheduler, mut queues) = backlogged::<Heaps, _>(options, streams, Ledger::new());
    unit_service(&mut scheduler, &mut queues, 0..packets);
    scheduler.check(Time(packets), &mut queues);
    let ledger = scheduler.meter();
    let mut classes = [Measures::default(); 8];
    let mut open = 0;
    for i in 0..streams.len() {
        let id = scheduler.stream_at(i).expect("a stream");
        classes[i % 8].merge(&ledger.of(id));
        open += u64::from(ledger.current(id).1 > 1);
    }
    let total = ledger.total();
    Run { total, classes, tumbling_complete: total.tumbling - open }
}

fn paper(n: usize) -> Run {
    run(&Options::paper(), &streams(n, 500, Late::Send), PACKETS)
}

/// Figure 2 in paper mode. Fails when any rule, tie or count of that mode changes: tried with
/// rolling windows, ties at zero by deadline, late packets dropped, and ties not by arrival.
#[test]
fn the_paper_options_match_the_replay() {
    assert_eq!(paper(400).tumbling_complete, 290);
    let at_480 = paper(480);
    assert_eq!(at_480.tumbling_complete, 1025);
    assert_eq!(at_480.classes.map(|m| m.missed), [3480, 2160, 1665, 1200, 660, 420, 300, 240]);
    let at_496 = paper(496);
    assert_eq!((at_496.tumbling_complete, at_496.classes[0].missed), (1958, 5022));
    assert_eq!(paper(504).tumbling_complete, 7231);
    assert_eq!(paper(520).tumbling_complete, 35_561);
    let at_560 = paper(560);
    assert_eq!((at_560.tumbling_complete, at_560.total.missed), (50_687, 608_277));
    assert_eq!(at_560.total.longest_run, 50);
    // Packets of one stream of each class, to the nearest (Figure 4(b)).
    let served = at_560.classes.map(|m| (m.served + 35) / 70);
    assert_eq!(served, [5639, 8087, 9162, 9531, 9642, 9759, 9806, 9802]);
    assert_eq!(paper(760).total.longest_run, 2309);
}

/// A claim of the paper (section 5): 560 streams miss 60 deadlines in every 500 units; with
/// deadlines first the first 61 are not missed. Fails when a first deadline is not a gap after
/// arrival.
#[test]
fn deadlines_first_misses_match_conservation_of_work() {
    for ahead in [None, NonZeroU32::new(1)] {
        let options = Options { ahead, ..Options::default() };
        let at_560 = run(&options, &streams(560, 500, Late::Drop), PACKETS);
        assert_eq!((at_560.total.missed, at_560.total.longest_run), (599_939, 6));
    }
    let at_760 = run(&Options::default(), &streams(760, 500, Late::Drop), 300_000);
    assert_eq!(at_760.total.longest_run, 23);
}

/// At 504 streams sum (1 - x/y) C/T is 0.9989: every window is kept, by either order, where paper
/// mode violates 7231. Fails without rolling windows; tried.
#[test]
fn the_default_keeps_all_windows_up_to_full_load() {
    for options in [Options::default(), Options::tolerance_first()] {
        for (n, missed) in [(480, 0), (500, 0), (504, 39_995)] {
            let packets = if n == 504 { PACKETS } else { PACKETS / 10 };
            let total = run(&options, &streams(n, 500, Late::Drop), packets).total;
            assert_eq!((total.tumbling, total.rule_c), (0, 0), "{n} streams");
            // By tolerance one stream more is late at the very end.
            assert!(total.missed.abs_diff(missed) <= 1, "{} at {n}", total.missed);
        }
    }
    // Beyond it no scheduler can.
    let at_520 = run(&Options::default(), &streams(520, 500, Late::Drop), PACKETS / 5).total;
    assert!(at_520.tumbling > 0);
}

/// Working ahead alone makes the misses of an underloaded server. Fails when `ahead` does not
/// bound it as stated: tried with one gap more.
#[test]
fn serving_before_the_release_costs_deadlines() {
    let misses = |ahead| {
        let options = Options { ahead: NonZeroU32::new(ahead), ..Options::paper() };
        let total = run(&options, &streams(500, 500, Late::Drop), 300_000).total;
        (total.missed, total.tumbling, total.longest_run)
    };
    assert_eq!([1, 2, 8].map(misses), [(0, 0, 0), (438, 0, 1), (3072, 341, 17)]);
    let options = Options { ahead: NonZeroU32::new(1), ..Options::paper() };
    let at_760 = run(&options, &streams(760, 500, Late::Drop), 300_000).total;
    assert_eq!(at_760.longest_run, 597);
}

/// Figures 7 and 8: looking less often hides misses and changes hardly any window. Fails when a
/// deadline is lost although the chosen stream is settled, or when none is hidden without.
#[test]
fn checking_deadlines_less_often() {
    let streams = streams(760, 200, Late::Send);
    let every = |p, settle| {
        let check = Check::Every(NonZeroU32::new(p).expect("not zero"));
        let options = Options { check, settle, ..Options::paper() };
        run(&options, &streams, PACKETS / 5)
    };
    let always = every(1, false);
    assert_eq!((always.total.rule_c, always.tumbling_complete), (1_399_918, 34_010));
    assert_eq!(always.total.hidden, 0);
    let infrequent = every(12, false);
    assert_eq!((infrequent.total.rule_c, infrequent.tumbling_complete), (1_399_949, 34_010));
    assert_eq!(infrequent.total.hidden, 2027);
    for p in [12, 50] {
        let settled = every(p, true).total;
        assert_eq!(settled.hidden, 0);
        assert!(settled.missed <= always.total.missed);
    }
}
