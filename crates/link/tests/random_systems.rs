//! Theorem 2 on large random links: no packet of an admitted set is late, whatever its flows and
//! best effort do, under every policy that promises it.

use crate::common::adversary::greedy;
use crate::common::random::{Rng, Source, best_effort, conforming_source, envelope};
use crate::common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, GUARANTEES, Link, RELEASES, admitted, arrival, config, flow,
    merge, safe_policies, tighten, try_build,
};
use laxity_core::{Bytes, Span, Weight};
use laxity_curve::{Blocking, Guarantee, check};
use laxity_link::Wire;
use laxity_link::buffer::DropReason;
use laxity_link::config::{BestEffortClass, Buffer, Excess, LinkConfig};

/// Up to 40 flows at about 90 % of the link, deadlines as short as admission allows or up to
/// three times that.
fn system(rng: &mut Rng) -> LinkConfig {
    loop {
        let flows = rng.range(5, 40);
        let rate = rng.pick(&[1_000_000_000, 10_000_000_000, BYTE_PER_NS, 777_777_777]);
        let share = rate / flows * rng.range(5, 9) / 10;
        let slowest = 8_000_000_000 * 30_000 / rate;
        let mut realtime = vec![];
        for _ in 0..flows {
            let deadline = slowest * rng.range(10, 100) / 10;
            realtime.push(flow(envelope(rng, 1500, share), deadline));
        }
        let mut config = config(rate, 1500, realtime);
        config.buffer = Some(Buffer { total: Bytes(8_000_000), best_effort: Bytes(1_000_000) });
        (config.blocking, config.guarantee, config.release) =
            (rng.pick(&BLOCKINGS), rng.pick(&GUARANTEES), rng.pick(&RELEASES));
        if rng.chance(1, 3) {
            config.wire = Wire { overhead: 24, min_frame: 84 };
        }
        if config.flow_specs().is_err() || config.residual().is_err() || !admitted(&config) {
            continue;
        }
        // All deadlines by one factor: the shortest in steps of a sixteenth.
        let given: Vec<u64> = config.realtime.iter().map(|f| f.deadline.0).collect();
        let scale = |config: &mut LinkConfig, part: u64| {
            for (f, d) in config.realtime.iter_mut().zip(&given) {
                f.deadline = Span((d * part / 16).max(1));
            }
            admitted(config)
        };
        let part = (1..=16).find(|part| scale(&mut config, *part)).unwrap_or(16);
        if rng.chance(1, 2) {
            scale(&mut config, part * rng.range(1, 3));
        }
        return config;
    }
}

fn traffic(
    rng: &mut Rng,
    config: &LinkConfig,
    until: u64,
    most: usize,
    flood: u64,
) -> Vec<Arrival> {
    let mut parts = vec![];
    for (k, f) in (0..).zip(&config.realtime) {
        // Overhead weighs most on the smallest packets.
        let usual = if config.wire.overhead > 0 { Source::Tiny } else { Source::Greedy };
        let source = rng.pick(&[usual, Source::Greedy, Source::Bursts, Source::Random]);
        parts.push(conforming_source(rng, k, f, source, until, most));
    }
    for (class, _) in (config.realtime.len() as u32..).zip(&config.best_effort) {
        parts.push(best_effort(rng, class, 1500, config.rate.0 * flood / 2, until, 4 * most));
    }
    let mut trace = vec![];
    merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
    trace
}

fn span(config: &LinkConfig) -> u64 {
    8_000_000_000 * 600_000 / config.rate.0
}

/// Fails when a line forgets its shift, with overhead left out of the envelopes, when the residual
/// leaves out blocking, when `background` ignores that real time waits.
#[test]
fn no_packet_is_late_under_any_safe_policy() {
    let (mut packets, mut tightest) = (0, i64::MAX);
    for seed in 0..8 {
        let mut rng = Rng(seed);
        let config = system(&mut rng);
        let until = 10 * span(&config);
        let trace = traffic(&mut rng, &config, until, 4_000, 1);
        for name in safe_policies() {
            let Some(policy) = try_build(name, &config) else { continue };
            let mut link = Link::new(policy, &config);
            link.run(&trace);
            let late = link.late_realtime();
            assert!(late.is_none(), "{name}, seed {seed}: {late:?}");
            if config.guarantee == Guarantee::All {
                let late = link.late_best_effort();
                assert!(late.is_none(), "{name}, seed {seed}: {late:?}");
            }
            let lost = link.dropped.iter().find(|(_, p, _)| p.flow.index() < config.realtime.len());
            assert!(lost.is_none(), "{name}, seed {seed}: {lost:?}");
            packets += link.sent.len();
            let spare = |s: &crate::common::Sent| s.departure.deadline.0 as i64 - s.end.0 as i64;
            let real = link.sent.iter().filter(|s| s.realtime());
            tightest = tightest.min(real.map(spare).min().unwrap_or(i64::MAX));
        }
    }
    println!("{packets} packets, the tightest {tightest} ns before its deadline");
    assert!(packets > 200_000);
}

/// A set that the exact test refuses misses a deadline: all flows send greedily from one instant
/// on, after the packet that blocks has started one nanosecond before. Less than that nanosecond
/// of the link and a byte a flow may be lost to whole nanoseconds and bytes.
///
/// Fails when admission refuses sets that are twenty bytes short of refusal.
#[test]
fn a_refused_set_misses_a_deadline() {
    let mut refused = 0;
    for seed in 0..60 {
        let mut rng = Rng(1 << 32 | seed);
        let flows = rng.range(1, 5);
        let mut realtime = vec![];
        for _ in 0..flows {
            let share = BYTE_PER_NS * rng.range(3, 8) / 10 / flows;
            let mut envelope = envelope(&mut rng, 60, share);
            envelope = envelope.with_min_packet(Bytes(1)).unwrap();
            realtime.push(flow(envelope, rng.range(60, 3_000)));
        }
        let mut config = config(BYTE_PER_NS, 60, realtime);
        config.blocking = Blocking::Exact;
        config.buffer = Some(Buffer { total: Bytes(400_000), best_effort: Bytes(4_000) });
        if !tighten(&mut config) {
            continue;
        }
        let victim = rng.range(0, flows - 1) as usize;
        let verdict = loop {
            config.realtime[victim].deadline.0 -= 1;
            let verdict = check(&config.link_spec(), &config.flow_specs().unwrap()).unwrap();
            if verdict.slack_bytes < -(flows as i64 + 2) || config.realtime[victim].deadline.0 == 1
            {
                break verdict;
            }
        };
        if verdict.slack_bytes >= -(flows as i64 + 2) {
            continue;
        }
        refused += 1;
        let interval = verdict.binding_interval.unwrap().floor() as u64;
        let later = (0..).zip(&config.realtime).filter(|(_, f)| f.deadline.0 > interval);
        let sizes = later.map(|(k, f)| (f.envelope.max_packet().0 as u32, k));
        let blocker = sizes.chain([(60, flows as u32)]).max().unwrap();
        let mut trace = vec![];
        if blocker.1 == flows as u32 {
            trace.push(arrival(9, blocker.1, blocker.0));
        }
        for (k, f) in (0..).zip(&config.realtime) {
            let blocks = if k == blocker.1 { blocker.0 } else { 0 };
            greedy(k, f, 10, 10 + interval + 1, blocks, &mut trace);
        }
        trace.sort_by_key(|a| a.at);
        let mut link = Link::new(try_build("background", &config).unwrap(), &config);
        link.run(&trace);
        assert!(link.dropped.is_empty());
        assert!(
            link.late_realtime().is_some(),
            "seed {seed}: {verdict:?} and nothing late, {config:#?}"
        );
    }
    println!("{refused} refused sets");
    assert!(refused > 30);
}

/// One flow sends ten times what it may. Fails when its excess is let in unpoliced or before it
/// conforms, when a demoted packet counts as real time.
#[test]
fn a_nonconforming_flow_is_isolated() {
    for (seed, excess) in (0..9).zip([Excess::Delay, Excess::Demote, Excess::Drop].iter().cycle()) {
        let mut rng = Rng(2 << 32 | seed);
        let mut config = system(&mut rng);
        let until = span(&config);
        let mut trace = traffic(&mut rng, &config, until, 200, 1);
        let liar = rng.range(0, config.realtime.len() as u64 - 1) as u32;
        config.realtime[liar as usize].excess = *excess;
        let honest = trace.iter().filter(|a| a.flow == liar).copied().collect::<Vec<_>>();
        for a in honest {
            trace.extend((0..10).map(|i| arrival(a.at + i, liar, a.bytes)));
        }
        trace.sort_by_key(|a| a.at);
        for name in safe_policies() {
            let Some(policy) = try_build(name, &config) else { continue };
            let mut link = Link::new(policy, &config);
            link.run(&trace);
            // Even the liar's packets keep the deadline that counts from their conformance.
            let late = link.late_realtime();
            assert!(late.is_none(), "{name} {excess:?}, seed {seed}: {late:?}");
            let others = |flow: usize| flow < config.realtime.len() && flow != liar as usize;
            let lost = link.dropped.iter().find(|(_, p, _)| others(p.flow.index()));
            assert!(lost.is_none(), "{name} {excess:?}, seed {seed}: {lost:?}");
            let demoted = link.sent.iter().filter(|s| s.departure.packet.demoted).count();
            let refused = link.dropped.iter().filter(|(_, _, why)| *why == DropReason::Excess);
            match excess {
                Excess::Delay => assert_eq!(demoted, 0),
                Excess::Demote => assert!(demoted > 0, "{name}, seed {seed}"),
                Excess::Drop => assert!(refused.count() > 0, "{name}, seed {seed}"),
            }
        }
    }
}

/// Best effort at ten times the link, in three classes, with a buffer that it fills. Fails when a
/// flood takes the places reserved for real time, when it is not pushed out for it, when
/// proportional share gives real time a quarter of its weights.
#[test]
fn a_best_effort_flood_does_not_affect_real_time() {
    let mut pushed_out = 0;
    for seed in 0..6 {
        let mut rng = Rng(3 << 32 | seed);
        let mut config = system(&mut rng);
        let class = |w: u32, buffer: Option<u64>| {
            let buffer = buffer.map(Bytes);
            BestEffortClass::new(Weight(w), buffer)
        };
        config.best_effort =
            vec![class(500_000, None), class(100_000, Some(20_000)), class(200_000, None)];
        // Just what real time may need, and best effort may fill all of it.
        let needed = |f: &laxity_link::config::RealtimeFlow| {
            let work = f.envelope.value(f.deadline.0.into()).unwrap().ceil();
            work.unsigned_abs().div_ceil(8_000_000_000) as u64
        };
        let total = Bytes(config.realtime.iter().map(needed).sum::<u64>() + 2_000);
        config.buffer = Some(Buffer { total, best_effort: total });
        let until = span(&config) / 4;
        let trace = traffic(&mut rng, &config, until, 300, 7);
        for name in safe_policies() {
            let Some(policy) = try_build(name, &config) else { continue };
            let mut link = Link::new(policy, &config);
            link.run(&trace);
            let late = link.late_realtime();
            assert!(late.is_none(), "{name}, seed {seed}: {late:?}");
            let lost = link.dropped.iter().find(|(_, p, _)| p.flow.index() < config.realtime.len());
            assert!(lost.is_none(), "{name}, seed {seed}: {lost:?}");
            assert_eq!(link.sent.len() + link.dropped.len(), trace.len(), "{name}, seed {seed}");
            let out = link.dropped.iter().filter(|(_, _, why)| *why == DropReason::PushedOut);
            pushed_out += out.count();
        }
    }
    println!("{pushed_out} packets pushed out");
    assert!(pushed_out > 1_000);
}
