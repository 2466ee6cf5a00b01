//! Theorem 3: how short deadlines could be.
//!
//! With `blocking = "exact"` and `guarantee = "all"` no deadline of `exact` can be shortened: some
//! conforming pattern would make a packet late. Time is whole here, so a packet that blocks starts
//! at least one nanosecond before the packet that it blocks, and the theorem holds less that one
//! nanosecond of capacity: to the nanosecond where nothing blocks. Envelopes are floored to whole
//! bytes by choosing those that only take whole values at whole instants.
//!
//! Erratum: with best-effort packets inside `s_max` (the paper's residual) it does not hold; see
//! the last test.

use std::cell::Cell;
use std::rc::Rc;

use crate::common::adversary::greedy;
use crate::common::random::Rng;
use crate::common::{
    Arrival, BYTE_PER_NS, Link, admitted, arrival, config, conforming, flow, merge, periodic,
};
use laxity_core::{NANOBITS_PER_BYTE, PolicyInfo, Time};
use laxity_curve::{Blocking, Guarantee};
use laxity_link::assign::{Assigner, Exact, History};
use laxity_link::config::{LinkConfig, RealtimeFlow};
use laxity_link::pipeline::{ByDeadline, Pipeline};

/// `exact`, but the deadline of one packet is shorter.
struct Shortened {
    exact: Exact,
    /// Which packet, counted from now on, and by how much.
    which: Rc<Cell<(i64, u64)>>,
}

impl Assigner for Shortened {
    const INFO: PolicyInfo = Exact::INFO;

    fn assign(&mut self, release: Time, wire: u32) -> Time {
        let deadline = self.exact.assign(release, wire);
        let (n, less) = self.which.get();
        self.which.set((n - 1, less));
        if n == 0 { Time(deadline.0 - less) } else { deadline }
    }

    fn reset(&mut self) {
        self.exact.reset();
    }

    /// The theorem is about the history since the link was idle.
    fn restart(&mut self, _: Time, _: u32, _: Option<(u32, Time)>) -> Option<Time> {
        None
    }
}

struct Trial {
    config: LinkConfig,
    link: Link<Pipeline<ByDeadline<Shortened>>>,
    which: Rc<Cell<(i64, u64)>>,
}

impl Trial {
    fn new(config: LinkConfig) -> Trial {
        let service = config.residual().unwrap().service(config.guarantee).unwrap();
        let which = Rc::new(Cell::new((-1, 0)));
        let exact = Exact::new(&service, History::CAPACITY);
        let assigner = Shortened { exact, which: Rc::clone(&which) };
        let link = Link::new(Pipeline::new(&config, ByDeadline(assigner)).unwrap(), &config);
        Trial { config, link, which }
    }

    /// Whether any packet is late with the deadline of best-effort packet `n` shorter by `less`.
    fn late(&mut self, trace: &[Arrival], n: usize, less: u64) -> bool {
        self.which.set((n as i64, less));
        self.link.run(trace);
        self.link.rest(1_000);
        self.link.sent.iter().any(|s| s.late())
    }

    /// Tries the patterns of the proof: from some instant on all flows send what they may, after
    /// at most one packet that blocks; started at every instant.
    fn breaks(&mut self, best: &[Arrival], n: usize, less: u64, until: u64) -> bool {
        let flows = self.config.realtime.clone();
        let mut parts = vec![];
        let mut trace = vec![];
        for start in 0..until {
            for blocker in 0..=flows.len() {
                if blocker < flows.len() && start == 0 {
                    continue;
                }
                parts.clear();
                for (k, f) in flows.iter().enumerate() {
                    let blocks = if k == blocker { f.envelope.max_packet().0 as u32 } else { 0 };
                    greedy(k as u32, f, start, until, blocks, &mut parts);
                }
                // Real time of the start before best effort of the same instant or after it.
                merge(&[best, &parts], &mut trace);
                if self.late(&trace, n, less) {
                    return true;
                }
            }
        }
        false
    }
}

/// Periodic flows at one byte a nanosecond: their envelopes are whole at whole instants, and no
/// packet ends within a nanosecond (the next one could then start before it has arrived, see
/// `LinkClock`).
fn floored(rng: &mut Rng) -> LinkConfig {
    loop {
        let mut realtime = vec![];
        for _ in 0..rng.range(1, 2) {
            let envelope = periodic(rng.range(2, 12), rng.range(1, 4), rng.range(0, 9));
            realtime.push(flow(envelope, rng.range(2, 24)));
        }
        let mut config = config(BYTE_PER_NS, rng.range(1, 5), realtime);
        config.blocking = Blocking::Exact;
        config.guarantee = Guarantee::All;
        if config.residual().is_ok() && admitted(&config) {
            return config;
        }
    }
}

/// The textbook deadline of the last packet, by definition at every whole instant, with packets
/// that block for `less` bytes less than their size.
fn by_definition(config: &LinkConfig, best: &[Arrival], less: i64) -> u64 {
    let residual = |t: u64| {
        let demand = |f: &RealtimeFlow| match t.checked_sub(f.deadline.0) {
            Some(y) => (f.envelope.value(y.into()).unwrap().floor() / NANOBITS_PER_BYTE) as i64,
            None => 0,
        };
        let blocks = config.realtime.iter().filter(|f| f.deadline.0 > t);
        let blocked = blocks.map(|f| (f.envelope.max_packet().0 as i64).saturating_sub(less)).max();
        let demand: i64 = config.realtime.iter().map(demand).sum();
        t as i64 - demand - blocked.unwrap_or(0).max(0)
    };
    let values: Vec<i64> = (0..400).map(residual).collect();
    let inverse = |work: u32| {
        let short = values.iter().rposition(|v| *v < i64::from(work));
        short.map_or(0, |t| t as u64 + 1)
    };
    let mut work = 0;
    let needs = best.iter().rev().map(|a| {
        work += a.bytes;
        a.at + inverse(work)
    });
    needs.max().unwrap()
}

/// Deadlines are those of the definition. Where no packet of a flow blocks they break when a
/// nanosecond shorter, always. Where one does, it must start a whole nanosecond earlier on a link
/// that is free just then, so a nanosecond of capacity is lost, and now and then no pattern of the
/// proof fits.
///
/// Fails when `exact` is not exact: with best effort counted as blocking, with deadlines a
/// nanosecond longer or shorter than the textbook's, without blocking.
#[test]
fn no_deadline_can_be_shorter() {
    let (mut packets, mut unblocked, mut blocked, mut open) = (0, 0, [0; 3], 0);
    for seed in 0..400 {
        let mut rng = Rng(seed);
        let config = floored(&mut rng);
        let class = config.realtime.len() as u32;
        let largest = config.max_packet.0;
        let mut trial = Trial::new(config);
        let mut at = 2;
        let best: Vec<Arrival> = (0..rng.range(1, 4))
            .map(|_| {
                at += rng.pick(&[0, 0, 1, 2, 5]);
                arrival(at, class, rng.range(1, largest) as u32)
            })
            .collect();
        for n in 0..best.len() {
            let config = trial.config.clone();
            let assigned = textbook(&config, &best[..=n]);
            let definition = |less| by_definition(&config, &best[..=n], less);
            // Periodic flows are followed step by step up to a horizon, and bounded beyond it.
            let horizon = config.residual().unwrap().horizon().unwrap();
            if assigned > 90 || i128::from(assigned) > horizon / 2 {
                assert!(assigned >= definition(0));
                continue;
            }
            packets += 1;
            assert_eq!(assigned, definition(0), "seed {seed} {best:?} {config:#?}");
            let what = || format!("seed {seed} packet {n} of {best:?}, {config:#?}");
            assert!(!trial.breaks(&best, n, 0, 120), "unsafe: {}", what());
            let alone = definition(i64::MAX);
            let broken = trial.breaks(&best, n, assigned - alone + 1, 120);
            assert!(broken, "{} instead of {assigned} is safe: {}", alone - 1, what());
            unblocked += usize::from(alone == assigned);
            if alone < assigned {
                match (1..=3).find(|less| trial.breaks(&best, n, *less, 120)) {
                    Some(less) => blocked[less as usize - 1] += 1,
                    None => open += 1,
                }
            }
        }
    }
    println!("{packets} packets; {unblocked} tight without blocking; with it {blocked:?} {open}");
    assert!(packets > 300 && unblocked > 20);
    assert!(blocked[0] + blocked[1] > 20 * (blocked[2] + open));
}

/// The deadline of the last packet without any reset.
fn textbook(config: &LinkConfig, best: &[Arrival]) -> u64 {
    let service = config.residual().unwrap().service(config.guarantee).unwrap();
    let mut exact = Exact::new(&service, History::CAPACITY);
    best.iter().map(|a| exact.assign(Time(a.at), a.bytes).0).last().unwrap()
}

/// The erratum: the flow (M, p, b, r) = (1, 1/3, 1, 1/3), which in whole bytes is one byte every
/// 3 ns, d = 5, best-effort (release, size) (2, 2), (3, 1).
fn erratum(blocking: Blocking) -> (Trial, Vec<Arrival>) {
    let mut config = config(BYTE_PER_NS, 2, vec![flow(periodic(3, 1, 0), 5)]);
    config.blocking = blocking;
    config.guarantee = Guarantee::All;
    assert!(admitted(&config));
    (Trial::new(config), vec![arrival(2, 1, 2), arrival(3, 1, 1)])
}

/// Fails when the paper's residual leaves best effort out of `s_max`, or when some conforming
/// pattern does make a packet late.
#[test]
fn erratum_with_the_papers_blocking_a_deadline_is_longer_than_needed() {
    let (mut trial, best) = erratum(Blocking::Paper);
    assert!(!trial.late(&best, 2, 0));
    let deadlines: Vec<_> = trial.link.sent.iter().map(|s| s.departure.deadline).collect();
    assert_eq!(deadlines, [Time(6), Time(8)]);
    // Every pattern until long after both deadlines.
    let envelope = trial.config.realtime[0].envelope.clone();
    let patterns = conforming(&envelope, 16, 6, 0);
    let mut trace = vec![];
    for pattern in &patterns {
        for parts in [[&best[..], &pattern[..]], [&pattern[..], &best[..]]] {
            merge(&parts, &mut trace);
            assert!(!trial.late(&trace, 1, 1), "{trace:?}");
        }
    }
    println!("7 instead of 8 is never late in {} patterns", patterns.len());
    assert!(patterns.len() > 300);
}

/// With best effort left out of its own blocking the same packets get shorter deadlines, and those
/// are tight. Fails when `exact` blocking counts best effort in the deadlines' residual.
#[test]
fn with_exact_blocking_the_same_deadlines_are_tight() {
    let (mut trial, best) = erratum(Blocking::Exact);
    assert!(!trial.late(&best, 2, 0));
    let deadlines: Vec<_> = trial.link.sent.iter().map(|s| s.departure.deadline.0).collect();
    println!("deadlines {deadlines:?}");
    assert!(deadlines[1] < 8);
    for n in 0..2 {
        assert!(trial.breaks(&best, n, 1, 30) || trial.breaks(&best, n, 2, 30), "packet {n}");
    }
}
