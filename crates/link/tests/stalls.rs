//! Lost time: no policy is worse for real time than `background` from the end of a stall on, and no
//! packet is late by more than what was lost.
//!
//! In small, every conforming trace of tiny links with a stall of every length at every instant; in
//! the large, random links that stall again and again. Both also with flow queues and an AQM, where
//! the deadline after a stall belongs to the slot of best effort.

use crate::common::random::{Rng, Source, best_effort, conforming_source, envelope};
use crate::common::scopes::{Scope, scopes};
use crate::common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, GUARANTEES, Link, RELEASES, Resumed, Sent, Stall, admitted,
    arrival, config, flow, leaky, merge, safe_policies, tighten, try_build,
};
use laxity_core::{Bytes, LinkClock, Span, Time};
use laxity_curve::{Blocking, Guarantee};
use laxity_link::buffer::DropReason;
use laxity_link::config::{Aqm, Buffer, FlowQueueing, LinkConfig};
use laxity_link::{LinkPolicy, Packet};

/// How late a packet ends.
fn lateness(end: Time, deadline: Time) -> u64 {
    end.0.saturating_sub(deadline.0)
}

/// `background` by definition, from a state on: earliest deadline first among real time, the first
/// class on equal ones, then in order of arrival; best effort where no real-time packet waits.
/// Returns how late each real-time packet is, by its place in the trace. Which best-effort packets
/// it sends decides nothing: before the first decision without real time it sends none, and what
/// arrives later is in time.
fn background_from(
    config: &LinkConfig,
    trace: &[Arrival],
    base: u64,
    before: &[Sent],
    from: Time,
) -> Vec<Option<u64>> {
    let mut gone = vec![false; trace.len()];
    before.iter().for_each(|s| gone[s.departure.packet.seq as usize] = true);
    let mut late = vec![None; trace.len()];
    let mut clock = LinkClock::new(config.rate).unwrap();
    let mut now = from.0;
    let deadline = |a: &Arrival| {
        let flow = config.realtime.get(a.flow as usize)?;
        Some((base + a.at + flow.deadline.0, flow.deadline.0))
    };
    loop {
        let waiting = || (0..).zip(trace).filter(|(i, a)| !gone[*i] && base + a.at <= now);
        let urgent = waiting().filter_map(|(i, a)| deadline(a).map(|d| (d, i))).min();
        let next = urgent.map(|(_, i)| i).or_else(|| waiting().map(|(i, _)| i).next());
        let Some(i) = next else {
            let Some(a) = (0..).zip(trace).find(|(i, a)| !gone[*i] && base + a.at > now) else {
                return late;
            };
            now = base + a.1.at;
            continue;
        };
        gone[i] = true;
        let end = clock.transmit(Time(now), Bytes(config.wire.of(trace[i].bytes).into()));
        now = end.0;
        if let Some((deadline, _)) = deadline(&trace[i]) {
            late[i] = Some(lateness(end, Time(deadline)));
        }
    }
}

/// The results of a run with stalls.
#[derive(Default)]
struct Shown {
    runs: usize,
    stalls: usize,
    late: usize,
    /// Best effort that goes before a real-time packet which waits, after a stall.
    ahead: usize,
    /// Best effort that an AQM dropped or the buffer pushed out.
    dropped: usize,
}

/// Holds a run of a policy against the promise.
fn judge<P: LinkPolicy>(
    config: &LinkConfig,
    trace: &[Arrival],
    stalls: &[Stall],
    link: &Link<P>,
    name: &str,
    shown: &mut Shown,
) {
    let base = link.base;
    // Where real time has another order than that of deadlines, a single packet may be later than
    // under `background` at any time.
    let by_deadline = name != "proportional-share";
    let say = || format!("{name}: {config:#?}\n{trace:?}\n{stalls:?}\n{:?}", link.sent);
    let unsent = link.sent.iter().filter(|s| s.departure.dropped).count();
    let sent = link.sent.len() - unsent;
    assert_eq!(sent + link.dropped.len(), trace.len(), "lost: {}", say());
    for (_, packet, reason) in &link.dropped {
        let managed =
            config.best_effort[0].is_managed() && packet.flow.index() >= config.realtime.len();
        let queued = matches!(reason, DropReason::Aqm | DropReason::PushedOut);
        assert!(managed && queued, "dropped for {reason:?}: {}", say());
    }
    shown.dropped += link.dropped.len();
    // Whether a real-time packet waits while another one starts.
    let waits = |s: &Sent| {
        let real = link.sent.iter().filter(|r| r.realtime());
        real.filter(|r| r.start > s.start).any(|r| r.departure.packet.arrival <= s.start)
    };
    let mut lost = 0;
    for (n, Resumed { at, sent, .. }) in link.resumed.iter().enumerate() {
        lost += link.resumed[n].lost;
        let next = link.resumed.get(n + 1).map_or(link.sent.len(), |r| r.sent);
        let reference = background_from(config, trace, base, &link.sent[..*sent], *at);
        // The first decision at which no real-time packet waits.
        let caught_up = (*sent..next).find_map(|i| {
            let s = &link.sent[i];
            let idle = i.checked_sub(1).filter(|i| i >= sent && link.sent[*i].end < s.start);
            let free = idle.map(|i| link.sent[i].end);
            free.or_else(|| (!s.realtime() && !waits(s)).then_some(s.start))
        });
        for s in link.sent[*sent..next].iter().filter(|s| s.realtime()) {
            let late = lateness(s.end, s.departure.deadline);
            let Packet { seq, arrival, .. } = s.departure.packet;
            assert!(late <= lost, "late by more than was lost: {}", say());
            if by_deadline {
                let most = reference[seq as usize].unwrap_or(0);
                assert!(late <= most, "{late} > {most} under background, packet {seq}: {}", say());
            }
            let fresh = caught_up.is_some_and(|at| arrival > at);
            assert!(!fresh || late == 0, "late after all was caught up: {}", say());
            shown.late += usize::from(late > 0);
        }
        for s in link.sent[*sent..next].iter().filter(|s| !s.realtime() && waits(s)) {
            // Where the slack is known, best effort need not yield beyond it.
            let yields_to_realtime = name != "slack" && caught_up.is_none_or(|at| s.start < at);
            assert!(!yields_to_realtime, "best effort goes ahead after a stall: {}", say());
            shown.ahead += 1;
        }
    }
    shown.runs += 1;
    shown.stalls += link.resumed.len();
}

/// All lengths up to where nothing that came before the stall can be in time, and one far longer.
const LENGTHS: [u64; 6] = [1, 2, 4, 7, 13, 70];

/// A link's one class gets flow queues, and CoDel at its shortest for packets of `time` ns.
fn manage(config: &mut LinkConfig, time: u64, ingress: bool) {
    let class = &mut config.best_effort[0];
    class.flows = Some(FlowQueueing { queues: 64, ..FlowQueueing::default() });
    class.aqm = Aqm::Codel {
        rtt: Span(time),
        target: Some(Span(time)),
        interval: Some(Span(2 * time)),
        ecn: false,
        sojourn: None,
        ingress,
    };
}

/// Every trace of a scope with every stall.
fn explore(scope: &Scope, config: &LinkConfig, name: &str, shown: &mut Shown) {
    let Some(policy) = try_build(name, config) else { return };
    let mut link = Link::new(policy, config);
    link.flows = 2;
    scope.traces(config, &[1, 3], |trace| {
        let last = trace.last().map_or(0, |a| a.at);
        for at in 0..=last + 2 {
            for length in LENGTHS {
                let stalls = [Stall { at, length }];
                link.run_stalled(trace, 0, &stalls);
                if !link.resumed.is_empty() {
                    judge(config, trace, &stalls, &link, name, shown);
                }
                link.rest(128);
            }
        }
    });
}

fn every_policy(blocking: Blocking, guarantee: Guarantee, managed: bool) {
    let mut shown = Shown::default();
    for mut scope in scopes() {
        // Stalls take the place of some packets.
        let one = scope.config.realtime.len() == 1;
        (scope.horizon, scope.packets) = if one { (5, scope.packets.min(3)) } else { (4, 2) };
        scope.best_effort = 2;
        let mut config = scope.with(|s| (s.blocking, s.guarantee) = (blocking, guarantee));
        if managed {
            manage(&mut config, 1, false);
        }
        for name in safe_policies() {
            explore(&scope, &config, name, &mut shown);
        }
    }
    let Shown { runs, stalls, late, ahead, .. } = shown;
    println!(
        "{blocking:?} {guarantee:?}: {runs} runs, {stalls} stalls, {late} late, {ahead} ahead"
    );
    assert!(stalls > 500_000 && late > 100_000 && ahead > 1_000);
}

/// Every stall on tiny links, under every policy that promises to keep deadlines.
///
/// Fails when `handle_stall` does nothing in `Pipeline` or in `ProportionalShare`; when yielding
/// ends while real-time packets wait; when the head is not assigned again at the end of it, so that
/// later deadlines do not count it; when `slack` keeps its lower bound.
#[test]
fn stalls_on_tiny_links_with_paper_blocking() {
    every_policy(Blocking::Paper, Guarantee::Realtime, false);
}

/// The same where best effort has the most of the link.
#[test]
fn stalls_on_tiny_links_with_exact_blocking() {
    every_policy(Blocking::Exact, Guarantee::Realtime, false);
}

/// The same where best-effort deadlines are kept too, as long as nothing is lost.
#[test]
fn stalls_on_tiny_links_with_all_deadlines() {
    every_policy(Blocking::Exact, Guarantee::All, false);
}

/// The same where best effort is chosen at each decision. Fails when best effort goes while yielding
/// and real-time packets wait, or when the slot is not assigned again at the end of it, so that later
/// deadlines do not count its packet.
#[test]
fn stalls_on_tiny_links_with_flow_queues() {
    every_policy(Blocking::Exact, Guarantee::Realtime, true);
}

/// A few flows at 60 to 95 % of a link, deadlines often as short as admission allows.
fn random_config(rng: &mut Rng) -> LinkConfig {
    loop {
        let rate = rng.pick(&[BYTE_PER_NS, 3 * BYTE_PER_NS, 777_777_777]);
        let flows = rng.range(1, 6);
        let share = rate / 20 * rng.range(12, 19) / flows;
        let slowest = 8_000_000_000 * 300 / rate;
        let deadline = |rng: &mut Rng| slowest * rng.range(1, 40);
        let realtime: Vec<_> =
            (0..flows).map(|_| flow(envelope(rng, 300, share), deadline(rng))).collect();
        let mut config = config(rate, 300, realtime);
        config.buffer = Some(Buffer { total: Bytes(900_000), best_effort: Bytes(300_000) });
        (config.blocking, config.guarantee, config.release) =
            (rng.pick(&BLOCKINGS), rng.pick(&GUARANTEES), rng.pick(&RELEASES));
        if config.flow_specs().is_ok() && config.residual().is_ok() && admitted(&config) {
            let part = rng.range(1, 4);
            let given: Vec<_> = config.realtime.iter().map(|f| f.deadline.0).collect();
            for (f, d) in config.realtime.iter_mut().zip(given) {
                f.deadline.0 = (d * part / 4).max(1);
            }
            if admitted(&config) {
                return config;
            }
        }
    }
}

/// Links that stall again and again, for a packet's time up to several deadlines.
fn random_links(managed: bool) -> Shown {
    let mut shown = Shown::default();
    for seed in 0..60 {
        let mut rng = Rng(4 << 32 | seed);
        let mut config = random_config(&mut rng);
        let longest = config.realtime.iter().map(|f| f.deadline.0).max().unwrap();
        let until = 12 * longest;
        let mut parts = vec![];
        for (k, f) in (0..).zip(&config.realtime) {
            let source =
                rng.pick(&[Source::Greedy, Source::Greedy, Source::Bursts, Source::Random]);
            parts.push(conforming_source(&mut rng, k, f, source, until, 120));
        }
        let class = config.realtime.len() as u32;
        let load = config.rate.0 / 4 * rng.range(1, 4);
        parts.push(best_effort(&mut rng, class, 300, load, until, 300));
        let mut trace = vec![];
        merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
        let packet = 8_000_000_000 * 300 / config.rate.0;
        let mut stalls = vec![];
        let mut at = rng.range(0, longest);
        while at < until {
            let most = rng.pick(&[packet, longest / 2 + 1, longest + 1, 3 * longest]);
            let length = rng.range(1, most);
            stalls.push(Stall { at, length });
            at += length + rng.range(1, 4 * longest);
        }
        if managed {
            manage(&mut config, packet, seed % 2 == 0);
            config.buffer = Some(Buffer { total: Bytes(900_000), best_effort: Bytes(12_000) });
        }
        // `proportional-share` has no flow queues, and pushes out as it does without them.
        for name in safe_policies().filter(|name| !managed || *name != "proportional-share") {
            let Some(policy) = try_build(name, &config) else { continue };
            let mut link = Link::new(policy, &config);
            link.flows = 5;
            link.run_stalled(&trace, 0, &stalls);
            judge(&config, &trace, &stalls, &link, name, &mut shown);
        }
    }
    shown
}

/// Fails with the breaks above, and when the fluid server of `proportional-share` keeps real-time
/// flows busy that were served outside of it.
#[test]
fn stalls_on_random_links() {
    let Shown { runs, stalls, late, ahead, dropped } = random_links(false);
    println!("{runs} runs, {stalls} stalls, {late} late, {ahead} ahead");
    assert!(stalls > 1_000 && late > 1_000 && ahead > 100 && dropped == 0);
}

/// The same with drops by CoDel, charged on every other link, and push-out. Fails as on tiny links.
#[test]
fn stalls_on_random_links_with_flow_queues_and_aqm() {
    let Shown { runs, stalls, late, ahead, dropped } = random_links(true);
    println!("{runs} runs, {stalls} stalls, {late} late, {ahead} ahead, {dropped} dropped");
    assert!(stalls > 1_000 && late > 1_000 && ahead > 100 && dropped > 1_000);
}

/// The smallest case: best effort that came before a stall goes after the real-time packets that
/// came since, not by a deadline that the stall has used up. One byte takes one nanosecond.
#[test]
fn best_effort_has_no_claim_on_lost_time() {
    let realtime = vec![flow(leaky(1, 1, BYTE_PER_NS / 4), 8)];
    let mut config = config(BYTE_PER_NS, 1, realtime);
    assert!(tighten(&mut config));
    config.realtime[0].deadline.0 += 1;
    for name in safe_policies() {
        let Some(policy) = try_build(name, &config) else { continue };
        let mut link = Link::new(policy, &config);
        let mut trace = vec![arrival(0, 1, 1); 8];
        trace.extend([arrival(30, 0, 1), arrival(34, 0, 1)]);
        link.run_stalled(&trace, 0, &[Stall { at: 0, length: 30 }]);
        assert_eq!(link.late_realtime(), None, "{name}");
    }
}
