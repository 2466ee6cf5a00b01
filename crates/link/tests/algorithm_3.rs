//! Algorithm 3 of the paper is unsafe as printed; the corrected form is not.

use crate::common::random::Rng;
use crate::common::{BYTE_PER_NS, Link, admitted, arrival, config, flow, leaky, try_build};
use laxity_core::{Rate, Span, Time};
use laxity_curve::{InverseCurve, TwoSegment};
use laxity_link::assign::{Algorithm3, Algorithm3Printed, Assigner, History};

/// Fails when the printed form keeps the previous deadline (it would be safe then), or when the
/// corrected form loses it.
#[test]
fn printed_algorithm_3_undercuts_the_least_safe_deadlines() {
    let (mut unsafe_traces, mut corrected_below) = (0, 0);
    for seed in 0..2_000 {
        let mut rng = Rng(seed);
        let first = rng.range(1_000_000_000, 8_000_000_000);
        let two = TwoSegment {
            first: Rate(first),
            second: Rate(first + rng.range(0, 24_000_000_000)),
            corner: Span(rng.range(10, 600)),
        };
        let curve = InverseCurve::from_two_segment(&two).unwrap();
        let mut least = History::new(&curve, 64);
        let mut printed = Algorithm3Printed::new(&two);
        let mut corrected = Algorithm3::new(&two);
        let (mut now, mut below) = (0, false);
        for _ in 0..12 {
            now += if rng.chance(1, 2) { 0 } else { rng.range(0, 400) };
            let bytes = rng.range(1, 300) as u32;
            let safe = least.push(Time(now), bytes);
            below |= printed.assign(Time(now), bytes) < safe;
            corrected_below += usize::from(corrected.assign(Time(now), bytes) < safe);
        }
        unsafe_traces += usize::from(below);
    }
    println!("as printed: {unsafe_traces} of 2000 traces hold a deadline below the safe minimum");
    assert!(unsafe_traces > 500);
    assert_eq!(corrected_below, 0);
}

/// One flow may send 4 B at once, due in 20 ns; best effort may have one packet of 4 B on the
/// wire. Eight best-effort packets of 4 B come together: as printed all but the first share one
/// deadline (first segment left behind: 4 + 4 bytes exceed it), so all of them go before the
/// real-time packet that arrives with them.
///
/// Fails when the corrected form loses the previous deadline: the real-time packet is late then.
#[test]
fn printed_algorithm_3_makes_a_real_time_packet_late() {
    let mut config = config(BYTE_PER_NS, 4, vec![flow(leaky(4, 4, BYTE_PER_NS / 8), 20)]);
    assert!(admitted(&config));
    // E(20) = 20 - 4 - 4 = 12 bytes; the segments stay below E from the deadline on.
    let two = TwoSegment {
        first: Rate(BYTE_PER_NS / 5),
        second: Rate(BYTE_PER_NS * 3 / 4),
        corner: Span(12),
    };
    config.options.two_segment = Some(two);
    let mut trace: Vec<_> = (0..8).map(|_| arrival(0, 1, 4)).collect();
    trace.push(arrival(0, 0, 4));
    let late = |name: &str| {
        let mut link = Link::new(try_build(name, &config).unwrap(), &config);
        link.run(&trace);
        assert_eq!(link.sent.len(), trace.len());
        let best = link.sent.iter().filter(|s| !s.realtime());
        println!("{name}: {:?}", best.map(|s| s.departure.deadline.0).collect::<Vec<_>>());
        let late = link.late_realtime().copied();
        println!("{late:?}");
        late
    };
    let missed = late("algorithm-3-printed").expect("unsafe as printed");
    assert_eq!(missed.departure.deadline, Time(20));
    assert_eq!(missed.end, Time(36), "behind all eight best-effort packets");
    assert_eq!(late("algorithm-3"), None);
    assert_eq!(late("two-segment"), None);
    assert_eq!(late("exact"), None);
}
