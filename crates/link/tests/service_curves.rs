//! Flows with service curves (SCED) under every policy that serves them: no admitted curve is
//! missed, whatever its flow, the others and best effort send.

use crate::common::random::{Rng, best_effort};
use crate::common::{
    Arrival, BLOCKINGS, BYTE_PER_NS, GUARANTEES, Link, RELEASES, Sent, Stall, admits, arrival,
    backlogs, config, flow, leaky, merge, points, safe_policies, served, try_build,
};
use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::service::{ServiceCurve, ServiceSpec};
use laxity_curve::{Blocking, CurveError, Guarantee};
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    Aqm, BestEffortClass, Buffer, Excess, FlowQueueing, LinkConfig, LinkConfigError, RealtimeFlow,
    Service,
};
use laxity_link::registry::{BuildError, Visitor, build, serves_curves, visit};
use laxity_link::{LinkPolicy, Wire};

const HALF: u64 = BYTE_PER_NS / 2;
const QUARTER: u64 = BYTE_PER_NS / 4;

/// Every safe policy that serves curves.
fn policies() -> impl Iterator<Item = &'static str> {
    safe_policies().filter(|name| serves_curves(name))
}

/// Deadlines by definition, from what was sent when: `D(w) = max_i [a_i + Sinv(w - R_i)]`.
fn expected(config: &LinkConfig, k: usize, sent: &[Sent]) -> Vec<u64> {
    let service = config.realtime[k].service.as_ref().unwrap();
    let inverse = service.curve.inverse().unwrap();
    let idle: Vec<u64> =
        sent.windows(2).filter(|w| w[0].end < w[1].start).map(|w| w[1].start.0).collect();
    let own: Vec<&Sent> = sent.iter().filter(|s| s.departure.packet.flow.index() == k).collect();
    let (mut starts, mut work, mut last) = (vec![], 0, 0);
    let mut out = vec![];
    for (i, packet) in own.iter().enumerate() {
        let at = packet.departure.packet.arrival.0;
        if idle.iter().any(|t| (last..=at).contains(t) && *t > last) {
            starts.clear();
            work = 0;
        }
        last = at;
        // One that ends when the packet arrives is still being sent.
        if starts.is_empty() || own[..i].iter().all(|s| s.end.0 < at) {
            starts.push((at, work));
        }
        work += u64::from(packet.departure.packet.wire);
        let due = starts.iter().map(|(a, r)| a + inverse.at(work - r).0);
        out.push(due.max().unwrap());
    }
    out
}

fn nothing_late(link: &Link<impl LinkPolicy>, config: &LinkConfig) -> bool {
    let all = config.guarantee == Guarantee::All;
    link.late_realtime().is_none() && (!all || link.late_best_effort().is_none())
}

/// Small links: general, convex and concave curves, policed or not, beside a flow with a deadline.
fn small_links() -> Vec<(&'static str, LinkConfig)> {
    let one = || leaky(1, 1, QUARTER);
    let two = || leaky(2, 2, QUARTER);
    let free = |curve, envelope| served(curve, envelope, false, Wire::default());
    let policed = |curve, envelope| served(curve, envelope, true, Wire::default());
    let link = |name, flows| (name, config(BYTE_PER_NS, 3, flows));
    vec![
        link("convex", vec![free(points(&[(5, 0), (9, 1)], HALF), two())]),
        link("stairs", vec![free(points(&[(4, 0), (4, 1), (9, 1), (9, 4)], QUARTER), two())]),
        link(
            "convex and concave",
            vec![
                free(points(&[(7, 0)], HALF), one()),
                free(points(&[(5, 0), (9, 2)], QUARTER), one()),
            ],
        ),
        link(
            "policed and free",
            vec![
                policed(points(&[(4, 0), (4, 2)], HALF), two()),
                free(points(&[(9, 0)], QUARTER), one()),
            ],
        ),
        link(
            "curve and deadline",
            vec![free(points(&[(6, 0)], HALF), two()), flow(leaky(2, 2, QUARTER), 9)],
        ),
    ]
}

/// All traffic of small links: free flows send what they like. Fails when a start is left out: tried
/// with the first start alone.
#[test]
fn all_small_traffic_keeps_every_curve() {
    let mut count = 0;
    for (name, given) in small_links() {
        for (blocking, guarantee) in BLOCKINGS.into_iter().flat_map(|b| GUARANTEES.map(|g| (b, g)))
        {
            let mut config = given.clone();
            (config.blocking, config.guarantee) = (blocking, guarantee);
            if !admits(&config) {
                config.max_packet = Bytes(1);
            }
            assert!(admits(&config), "{name}");
            let most = if config.realtime.len() == 1 { 5 } else { 3 };
            let sent_by = |k: u32, f: &RealtimeFlow| match f.envelope.max_packet().0 {
                1 => backlogs(&[1], 8, most, k),
                _ => backlogs(&[1, 2], 5, most, k),
            };
            let flows: Vec<_> = (0..).zip(&config.realtime).map(|(k, f)| sent_by(k, f)).collect();
            let nothing = vec![vec![]];
            let second = flows.get(1).unwrap_or(&nothing);
            let largest = config.max_packet.0 as u32;
            let best = backlogs(&[largest], 4, 2, flows.len() as u32);
            for policy in policies() {
                let Some(built) = try_build(policy, &config) else { continue };
                let mut link = Link::new(built, &config);
                let mut trace = vec![];
                for (i, a) in flows[0].iter().enumerate() {
                    for (j, b) in second.iter().enumerate() {
                        // A part of the product where it is large, a different one each time.
                        if second.len() > 1 && (i * 7 + j * 3 + policy.len()) % 19 != 0 {
                            continue;
                        }
                        for c in &best {
                            merge(&[a, b, c], &mut trace);
                            link.run(&trace);
                            assert!(
                                nothing_late(&link, &config),
                                "{policy} on {name}, {blocking:?} {guarantee:?}\n{trace:?}\n{:?}",
                                link.sent
                            );
                            link.rest(64);
                            count += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{count} traces");
    assert!(count > 300_000, "{count}");
}

/// A curve of a random kind with this long-term rate, later by what one packet may block.
fn curve(rng: &mut Rng, rate: u64, blocked: u64) -> ServiceCurve {
    let us = |rng: &mut Rng, most| Span(rng.range(1, most) * 1000);
    let curve = match rng.range(0, 4) {
        0 => ServiceCurve::rate_latency(Rate(rate), us(rng, 40)),
        1 => ServiceCurve::two_piece(Rate(rate * rng.range(11, 20) / 10), us(rng, 30), Rate(rate)),
        2 => ServiceCurve::two_piece(Rate(rate / rng.range(2, 9)), us(rng, 30), Rate(rate)),
        3 => ServiceCurve::umax_dmax(Bytes(rng.range(100, 4000)), us(rng, 90), Rate(rate)),
        _ => {
            let (mut at, mut work) = (Span(0), Bytes(0));
            let mut list = vec![];
            for _ in 0..rng.range(1, 5) {
                at = at + us(rng, 15);
                list.push((at, work));
                work = Bytes(work.0 + rng.range(0, 3000));
                list.push((at, work));
            }
            list.dedup();
            ServiceCurve::points(&list, Rate(rate))
        }
    };
    let later = Span(blocked + rng.range(0, 20_000));
    curve.unwrap().later(later).unwrap()
}

/// One to twelve flows of both kinds on links of 1 Gbit/s or about so.
fn system(rng: &mut Rng) -> LinkConfig {
    loop {
        let rate = rng.pick(&[1_000_000_000, 2_000_000_000, 777_777_777]);
        let wire = match rng.chance(1, 3) {
            true => Wire { overhead: 24, min_frame: 84 },
            false => Wire::default(),
        };
        let flows = rng.range(1, 12);
        let mut realtime = vec![];
        for _ in 0..flows {
            let share = rate / flows * rng.range(4, 9) / 10;
            let packet = rng.range(64, 1500);
            let least = if wire.overhead > 0 { 64 } else { 1 };
            let smallest = Bytes(if rng.chance(1, 2) { least } else { rng.range(least, packet) });
            let envelope = leaky(packet, packet * rng.range(1, 4), share / rng.range(3, 6));
            let envelope = envelope.with_min_packet(smallest).unwrap();
            realtime.push(if rng.chance(1, 4) {
                flow(envelope, rng.range(40_000, 400_000))
            } else {
                let blocked = ServiceSpec::safe_delay(Bytes(1524), Rate(rate)).0;
                served(curve(rng, share, blocked), envelope, rng.chance(1, 2), wire)
            });
        }
        let mut config = config(rate, 1500, realtime);
        config.wire = wire;
        config.buffer = Some(Buffer { total: Bytes(16_000_000), best_effort: Bytes(1_000_000) });
        (config.blocking, config.guarantee, config.release) =
            (rng.pick(&BLOCKINGS), rng.pick(&GUARANTEES), rng.pick(&RELEASES));
        if rng.chance(1, 3) {
            config.best_effort = vec![
                BestEffortClass {
                    flows: Some(FlowQueueing::default()),
                    aqm: Aqm::CODEL,
                    ..BestEffortClass::new(Weight(300_000), None)
                },
                BestEffortClass::new(Weight(700_000), None),
            ];
        }
        if config.residual().is_ok() && admits(&config) {
            return config;
        }
    }
}

/// Bursts and pauses of a flow that heeds no envelope.
fn heedless(rng: &mut Rng, k: u32, f: &RealtimeFlow, until: u64) -> Vec<Arrival> {
    let (smallest, largest) =
        (f.smallest_counted().0.min(f.envelope.max_packet().0), f.envelope.max_packet().0);
    let mut trace = vec![];
    let mut at = rng.range(0, until / 2);
    while at < until && trace.len() < 400 {
        let small = rng.chance(1, 2);
        for _ in 0..rng.range(1, 30) {
            // Now and then smaller than the smallest that counts.
            let bytes = if small { smallest } else { rng.range(1, largest) };
            trace.push(arrival(at, k, bytes as u32));
            if rng.chance(1, 2) {
                at += rng.range(0, 20_000);
            }
        }
        at += rng.range(0, until / 5);
    }
    trace
}

/// Fails when a start is left out or taken while a packet of the flow is sent, when starts outlive an
/// idle link, and when small packets count with their length: all tried.
#[test]
fn random_traffic_keeps_every_curve() {
    let (mut packets, mut compared) = (0, 0);
    for seed in 0..60 {
        let mut rng = Rng(4 << 32 | seed);
        let config = system(&mut rng);
        let until = 3_000_000;
        let mut parts = vec![];
        for (k, f) in (0..).zip(&config.realtime) {
            parts.push(heedless(&mut rng, k, f, until));
        }
        for (class, _) in (config.realtime.len() as u32..).zip(&config.best_effort) {
            let rate = config.rate.0 * rng.range(1, 4) / 4;
            parts.push(best_effort(&mut rng, class, 1500, rate, until, 1000));
        }
        let mut trace = vec![];
        merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
        for name in policies() {
            let Some(policy) = try_build(name, &config) else { continue };
            let mut link = Link::new(policy, &config);
            link.flows = 5;
            link.run(&trace);
            assert!(
                nothing_late(&link, &config),
                "{name}, seed {seed}: {:?} {config:#?}",
                link.late_realtime()
            );
            packets += link.sent.len();
            for (k, f) in config.realtime.iter().enumerate() {
                let counts_all = config.wire.of_bytes(f.smallest_counted()).0 <= 1;
                if f.service.as_ref().is_none_or(|s| s.policed) || !counts_all {
                    continue;
                }
                let own = link.sent.iter().filter(|s| s.departure.packet.flow.index() == k);
                let got: Vec<u64> = own.map(|s| s.departure.deadline.0).collect();
                assert_eq!(got, expected(&config, k, &link.sent), "{name}, seed {seed}");
                compared += got.len();
            }
        }
    }
    println!("{packets} packets, {compared} deadlines compared");
    assert!(packets > 100_000);
}

/// No packet is later than all the time that was lost. Fails when a start is left out: tried with the
/// first start alone.
#[test]
fn stalls_cost_no_more_than_their_length() {
    let (mut late, mut lost) = (0, 0);
    for seed in 0..25 {
        let mut rng = Rng(6 << 32 | seed);
        let config = system(&mut rng);
        let mut parts = vec![];
        for (k, f) in (0..).zip(&config.realtime) {
            parts.push(heedless(&mut rng, k, f, 1_000_000));
        }
        let class = config.realtime.len() as u32;
        parts.push(best_effort(&mut rng, class, 1500, config.rate.0, 1_000_000, 500));
        let mut trace = vec![];
        merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
        let stall = |i: u64, rng: &mut Rng| Stall {
            at: 200_000 * i + rng.range(0, 100_000),
            length: rng.range(1, 60_000),
        };
        let stalls: Vec<Stall> = (0..5).map(|i| stall(i, &mut rng)).collect();
        for name in policies() {
            let Some(policy) = try_build(name, &config) else { continue };
            let mut link = Link::new(policy, &config);
            link.run_stalled(&trace, 0, &stalls);
            let all: u64 = link.resumed.iter().map(|r| r.lost).sum();
            let real = link.sent.iter().filter(|s| s.realtime());
            let over = real.map(|s| s.end.since(s.departure.deadline).0).max().unwrap_or(0);
            assert!(over <= all, "{name}, seed {seed}: {over} late, {all} lost");
            late = late.max(over);
            lost += all;
        }
    }
    assert!(late > 10_000 && lost > 0, "{late} {lost}");
}

/// Deadlines are those of the definition. Fails when starts outlive an idle link, or one is left out:
/// both tried.
#[test]
fn deadlines_are_those_of_the_definition() {
    let mut compared = 0;
    for seed in 0..40 {
        let mut rng = Rng(5 << 32 | seed);
        let flows = rng.range(1, 3);
        let realtime = (0..flows)
            .map(|_| {
                let share = BYTE_PER_NS / flows / 2;
                let envelope = leaky(300, 300, share / 2);
                served(curve(&mut rng, share, 300), envelope, false, Wire::default())
            })
            .collect();
        let mut config = config(BYTE_PER_NS, 300, realtime);
        config.buffer = Some(Buffer { total: Bytes(900_000), best_effort: Bytes(20_000) });
        let mut parts = vec![best_effort(&mut rng, flows as u32, 300, HALF, 300_000, 300)];
        for (k, f) in (0..).zip(&config.realtime) {
            parts.push(heedless(&mut rng, k, f, 300_000));
        }
        let mut trace = vec![];
        merge(&parts.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut trace);
        let mut link = Link::new(try_build("background", &config).unwrap(), &config);
        link.run(&trace);
        for k in 0..config.realtime.len() {
            let own = link.sent.iter().filter(|s| s.departure.packet.flow.index() == k);
            let got: Vec<u64> = own.map(|s| s.departure.deadline.0).collect();
            assert_eq!(got, expected(&config, k, &link.sent), "seed {seed}");
            compared += got.len();
        }
    }
    assert!(compared > 3_000, "{compared}");
}

/// Packets of a policed flow beyond its envelope are dropped, those of a free one are not. Fails
/// when a free flow is policed, or when a policed one is not.
#[test]
fn only_policed_flows_are_policed() {
    for policed in [false, true] {
        let envelope = leaky(100, 200, QUARTER);
        let curve = points(&[(500, 0)], HALF);
        let realtime = vec![served(curve, envelope, policed, Wire::default())];
        let config = config(BYTE_PER_NS, 100, realtime);
        assert!(admits(&config));
        // h(A, S): 200 B are served 400 ns after the latency.
        assert_eq!(config.realtime[0].deadline, Span(900));
        let mut link = Link::new(try_build("exact", &config).unwrap(), &config);
        link.run(&[arrival(0, 0, 100); 5]);
        let excess = link.dropped.iter().filter(|(_, _, why)| *why == DropReason::Excess).count();
        assert_eq!((link.sent.len(), excess), if policed { (2, 3) } else { (5, 0) });
        // Larger packets would block for longer than admission assumes.
        link.rest(5000);
        link.run(&[arrival(0, 0, 101)]);
        assert_eq!(link.dropped[0].2, DropReason::Oversize);
    }
}

/// Fails when a policy that cannot keep curves takes them, or a bound without limit is accepted.
#[test]
fn curves_are_refused_where_they_cannot_be_kept() {
    let envelope = leaky(100, 200, QUARTER);
    let curve = points(&[(500, 0)], HALF);
    let flows = vec![
        flow(leaky(1, 1, QUARTER), 900),
        served(curve, envelope.clone(), false, Wire::default()),
    ];
    let config = config(BYTE_PER_NS, 100, flows);
    let Err(error) = build("proportional-share", &config) else { panic!("it takes a curve") };
    assert_eq!(error, BuildError::LinkConfig(LinkConfigError::ServiceCurve { flow: 1 }));
    assert!(error.to_string().contains("flow 1"), "{error}");
    for name in ["fifo", "best-effort-first"] {
        assert!(build(name, &config).is_ok(), "{name}");
    }
    let service = Service { curve: points(&[(500, 0)], QUARTER / 2), policed: true };
    let error = RealtimeFlow::served(envelope, service, Wire::default(), Excess::Drop, None);
    assert!(matches!(error, Err(CurveError::Shape { .. })));
}

/// Fails when packets of a link without service curves run their code.
#[test]
fn only_links_with_curves_run_their_code() {
    struct TypeName;
    impl Visitor for TypeName {
        type Output = &'static str;
        fn visit<P: LinkPolicy + Send + 'static>(self, _: P) -> &'static str {
            std::any::type_name::<P>()
        }
    }
    let relative = flow(leaky(1, 1, QUARTER), 900);
    let curve = served(points(&[(500, 0)], HALF), leaky(100, 200, QUARTER), false, Wire::default());
    let plain = config(BYTE_PER_NS, 100, vec![relative.clone()]);
    let with_curve = config(BYTE_PER_NS, 100, vec![relative, curve]);
    for name in policies() {
        for (config, without) in [(&plain, true), (&with_curve, false)] {
            let policy = visit(name, config, TypeName).unwrap();
            assert_eq!(policy.contains("NoCurves"), without, "{name}: {policy}");
        }
    }
}

/// A free flow in a flood makes only its own packets wait. Fails when its deadlines do not follow from
/// all that it sent: tried with its first start alone.
#[test]
fn a_flood_of_a_free_flow_affects_only_itself() {
    let steady = served(points(&[(400, 0)], HALF), leaky(100, 100, QUARTER), true, Wire::default());
    let free =
        served(points(&[(400, 0)], QUARTER), leaky(100, 100, QUARTER / 2), false, Wire::default());
    let mut config = config(BYTE_PER_NS, 100, vec![steady, free]);
    config.blocking = Blocking::Exact;
    config.buffer = Some(Buffer { total: Bytes(60_000), best_effort: Bytes(2000) });
    assert!(admits(&config));
    let mut trace: Vec<Arrival> = (0..500).map(|i| arrival(40 * i, 1, 100)).collect();
    trace.extend((0..50).map(|i| arrival(7 + 400 * i, 0, 100)));
    trace.extend((0..50).map(|i| arrival(9 + 400 * i, 2, 100)));
    trace.sort_by_key(|a| a.at);
    for name in policies() {
        let Some(policy) = try_build(name, &config) else { continue };
        let mut link = Link::new(policy, &config);
        link.run(&trace);
        assert!(link.late_realtime().is_none(), "{name}");
        assert!(link.dropped.iter().all(|(_, p, _)| p.flow.index() != 0), "{name}");
        let steady = link.sent.iter().filter(|s| s.departure.packet.flow.index() == 0).count();
        assert_eq!(steady, 50, "{name}");
    }
}
