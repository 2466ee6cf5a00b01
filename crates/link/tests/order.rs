//! Theorem 1: deadlines of the best-effort aggregate never decrease between restarts, and its
//! packets never overtake each other.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use crate::common::random::{Rng, Source, best_effort, conforming_source, envelope};
use crate::common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, GUARANTEES, Link, RELEASES, Sent, admitted, config, flow,
    merge, safe_policies, try_build,
};
use laxity_core::{Bytes, PolicyInfo, Time, Weight};
use laxity_curve::{Residual, fit_line, fit_shifted_line, fit_two_segment};
use laxity_link::assign::{
    Algorithm3, Assigner, Background, Exact, Shifted, TotalBandwidthServer, TwoSegments,
};
use laxity_link::config::{BestEffortClass, Buffer, FairQueue, LinkConfig};
use laxity_link::pipeline::{ByDeadline, Pipeline};

/// A random admitted set of up to four flows at half to nearly all of the link.
fn random_config(rng: &mut Rng) -> LinkConfig {
    loop {
        let flows = rng.range(1, 4);
        let share = BYTE_PER_NS * rng.range(4, 9) / 10 / flows;
        let mut realtime = vec![];
        for _ in 0..flows {
            realtime.push(flow(envelope(rng, 400, share), rng.range(1_000, 20_000)));
        }
        let mut config = config(BYTE_PER_NS, 400, realtime);
        config.buffer = Some(Buffer { total: Bytes(200_000), best_effort: Bytes(100_000) });
        if admitted(&config) {
            return config;
        }
    }
}

fn random_trace(rng: &mut Rng, config: &LinkConfig) -> Vec<Arrival> {
    let classes = config.realtime.len() as u32..;
    let mut parts = vec![];
    for (k, f) in (0..).zip(&config.realtime) {
        let source = rng.pick(&[Source::Greedy, Source::Bursts, Source::Random]);
        parts.push(conforming_source(rng, k, f, source, 60_000, 150));
    }
    for (class, _) in classes.zip(&config.best_effort) {
        parts.push(best_effort(rng, class, 400, BYTE_PER_NS / 2, 60_000, 80));
    }
    let mut trace = vec![];
    merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
    trace
}

/// Whether deadlines may restart as a packet starts, from what is sent after it: `exact` when no
/// real-time packet waits, the paper's rules when nothing does.
fn restarts(name: &str, start: Time, later: &[Sent]) -> bool {
    let mut waits = later.iter().filter(|s| s.departure.packet.arrival <= start);
    waits.all(|s| name == "exact" && !s.realtime())
}

/// Fails when a line or Algorithm 3 forgets the previous deadline, when `exact` forgets the latest
/// release.
#[test]
fn the_aggregate_leaves_in_order_with_deadlines_that_never_decrease() {
    let mut finite = BTreeMap::new();
    for seed in 0..25 {
        let mut rng = Rng(seed);
        let mut config = random_config(&mut rng);
        for blocking in BLOCKINGS {
            for guarantee in GUARANTEES {
                for release in RELEASES {
                    (config.blocking, config.guarantee, config.release) =
                        (blocking, guarantee, release);
                    for name in safe_policies() {
                        let Some(policy) = try_build(name, &config) else { continue };
                        let mut link = Link::new(policy, &config);
                        let trace = random_trace(&mut rng, &config);
                        link.run(&trace);
                        let (mut deadline, mut seq, mut end) = (Time::ZERO, None, Time::ZERO);
                        for (i, s) in link.sent.iter().enumerate() {
                            if s.start > end {
                                // An idle link has forgotten the packets before.
                                deadline = Time::ZERO;
                            }
                            end = s.end;
                            if !s.realtime() {
                                let next = s.departure;
                                let what = || format!("{name}, seed {seed}: {next:?}");
                                assert!(deadline <= next.deadline, "{}", what());
                                assert!(seq < Some(next.packet.seq), "{}", what());
                                (deadline, seq) = (next.deadline, Some(next.packet.seq));
                                let count = usize::from(deadline < Time::MAX);
                                *finite.entry(name).or_insert(0) += count;
                            }
                            if restarts(name, s.start, &link.sent[i + 1..]) {
                                deadline = Time::ZERO;
                            }
                        }
                    }
                }
            }
        }
    }
    println!("deadlines assigned: {finite:?}");
    for name in ["exact", "shifted-line", "two-segment", "algorithm-3", "tbs"] {
        assert!(finite[name] > 1_000, "{name}: {finite:?}");
    }
}

/// Notes what an assigner was asked and answered.
struct Recorded<A> {
    inner: A,
    log: Rc<RefCell<Vec<(Time, u32, Time)>>>,
    /// Releases and deadlines since the link was idle.
    latest: (Time, Time),
}

impl<A: Assigner> Assigner for Recorded<A> {
    const INFO: PolicyInfo = A::INFO;

    fn assign(&mut self, release: Time, wire: u32) -> Time {
        let deadline = self.inner.assign(release, wire);
        assert!(self.latest.0 <= release && release <= deadline, "releases decrease");
        assert!(self.latest.1 <= deadline, "deadlines decrease");
        self.latest = (release, deadline);
        self.log.borrow_mut().push((release, wire, deadline));
        deadline
    }

    fn reset(&mut self) {
        self.inner.reset();
        self.latest = (Time::ZERO, Time::ZERO);
    }
}

/// Several classes in fair order: what leaves is the aggregate as it was committed, packet by
/// packet.
fn leaves_as_committed<A: Assigner>(inner: A, config: &LinkConfig, trace: &[Arrival]) {
    let log = Rc::new(RefCell::new(vec![]));
    let recorded = Recorded { inner, log: Rc::clone(&log), latest: (Time::ZERO, Time::ZERO) };
    let pipeline = Pipeline::new(config, ByDeadline(recorded)).unwrap();
    let mut link = Link::new(pipeline, config);
    link.run(trace);
    let log = log.borrow();
    let best = link.sent.iter().filter(|s| !s.realtime());
    let sent: Vec<_> = best.map(|s| (s.departure.packet.wire, s.departure.deadline)).collect();
    let committed: Vec<_> = log.iter().map(|&(_, wire, d)| (wire, d)).collect();
    assert_eq!(sent, committed);
    for sent in link.sent.iter().filter(|s| !s.realtime()) {
        assert!(sent.departure.packet.arrival <= sent.start);
    }
}

/// Fails when the release under `arrival` is the packet's own arrival instead of the running
/// maximum, when a line forgets the previous deadline.
#[test]
fn several_classes_leave_in_the_order_in_which_they_were_committed() {
    for seed in 0..20 {
        let mut rng = Rng(1 << 32 | seed);
        let mut config = random_config(&mut rng);
        let class = |weight| BestEffortClass::new(Weight(weight), None);
        config.best_effort = vec![class(500_000), class(200_000), class(100_000)];
        config.fair_queue = rng.pick(&[FairQueue::Wfq, FairQueue::Scfq, FairQueue::Wf2qPlus]);
        for guarantee in GUARANTEES {
            for release in RELEASES {
                (config.guarantee, config.release) = (guarantee, release);
                let trace = random_trace(&mut rng, &config);
                let residual: Residual = config.residual().unwrap();
                let service = residual.service(guarantee).unwrap();
                leaves_as_committed(Exact::new(&service, 64), &config, &trace);
                leaves_as_committed(Background, &config, &trace);
                if let Ok(line) = fit_shifted_line(&residual, guarantee) {
                    leaves_as_committed(Shifted::new(&line), &config, &trace);
                }
                if let Ok(slope) = fit_line(&residual, guarantee) {
                    leaves_as_committed(TotalBandwidthServer::new(slope), &config, &trace);
                }
                if let Ok(two) = fit_two_segment(&residual, guarantee) {
                    leaves_as_committed(Algorithm3::new(&two), &config, &trace);
                    leaves_as_committed(TwoSegments::new(&two, 64).unwrap(), &config, &trace);
                }
            }
        }
        assert_eq!(config.max_packet, Bytes(400));
    }
}
