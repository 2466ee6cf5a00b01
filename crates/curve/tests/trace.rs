//! Envelopes and TSpecs of traces against all pairs of packets.

use laxity_core::{Bytes, Rate, Span, Time};
use laxity_curve::*;
use proptest::prelude::*;

type Trace = Vec<(Time, Bytes)>;

fn trace() -> impl Strategy<Value = Trace> {
    proptest::collection::vec((0u64..6, 1u64..9, 0u64..40), 1..40).prop_map(|raw| {
        let mut now = 1_000;
        raw.iter()
            .map(|&(small, size, large)| {
                now += if large > 30 { large } else { small };
                (Time(now), Bytes(size))
            })
            .collect()
    })
}

/// Every interval from one packet to another.
fn intervals(trace: &Trace) -> Vec<(u64, u64)> {
    let mut out = Vec::new();
    for i in 0..trace.len() {
        let mut work = 0;
        for (at, size) in &trace[i..] {
            work += size.0;
            out.push((at.0 - trace[i].0.0, work));
        }
    }
    out
}

fn conforms(trace: &Trace, envelope: &Envelope) -> bool {
    intervals(trace).iter().all(|(length, work)| {
        let most = envelope.value(Rational::from(*length)).unwrap();
        most >= Rational::whole(i128::from(*work) * 8_000_000_000)
    })
}

proptest! {
    #![proptest_config(crate::slow::cases(300))]

    /// Fails when the merge drops a step or keeps one that another one beats.
    #[test]
    fn the_staircase_is_minimal(trace in trace()) {
        let steps = staircase(&trace).unwrap();
        prop_assert!(steps.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1));
        let all = intervals(&trace);
        let curve = staircase_curve(&trace).unwrap();
        for length in 0..200u64 {
            let most = all.iter().filter(|x| x.0 <= length).map(|x| x.1).max().unwrap();
            let value = curve.value(length.into()).unwrap();
            prop_assert_eq!(value, Rational::whole(i128::from(most) * 8_000_000_000));
        }
    }

    /// Fails when the queue is not emptied in time, or the burst is rounded down.
    #[test]
    fn bursts_are_the_smallest(trace in trace(), rate in 0u64..40_000_000_000) {
        let burst = smallest_burst(&trace, Rate(rate)).unwrap();
        let fits = |burst: u64| {
            let above = |(length, work): &(u64, u64)| {
                u128::from(*work) * 8_000_000_000
                    <= u128::from(burst) * 8_000_000_000 + u128::from(rate) * u128::from(*length)
            };
            intervals(&trace).iter().all(above)
        };
        prop_assert!(fits(burst.0) && (burst.0 == 0 || !fits(burst.0 - 1)));
    }

    /// The trace conforms to its envelope however few buckets it gets; with enough of them the
    /// envelope touches every corner of the hull that is as steep as the mean rate, but for less
    /// than a byte of rounding. Fails when a corner is missed or the buckets cut into the trace.
    #[test]
    fn buckets_cover_the_trace(trace in trace(), few in 1usize..5) {
        prop_assert!(conforms(&trace, &Envelope::from_trace(&trace, few).unwrap()));
        let envelope = Envelope::from_trace(&trace, 16).unwrap();
        prop_assert!(conforms(&trace, &envelope));
        let lines = envelope.lines().unwrap();
        prop_assume!(lines.len() < 16);
        let byte = Rational::whole(8_000_000_000);
        for rate in lines.iter().map(|l| l.rate) {
            // The envelope is no higher than any bucket that covers the trace.
            for extra in 0..20u64 {
                let rate = Rate(rate.0 + extra * 100_000_000);
                let burst = smallest_burst(&trace, rate).unwrap().max(envelope.max_packet());
                for t in 0..100u64 {
                    let t = Rational::from(t);
                    let line = t.times(rate.0.into()).unwrap();
                    let line = line.plus(byte.times(burst.0.into()).unwrap()).unwrap();
                    prop_assert!(envelope.value(t).unwrap() <= line.plus(byte).unwrap());
                }
            }
        }
    }

    /// Fails when peak, rate or burst could be smaller, or the flow does not conform.
    #[test]
    fn tspecs_are_minimal(trace in trace(), packet in 8u64..30, tight in 0i128..=4) {
        let tightness = Rational::new(tight, 4).unwrap();
        let spec = fit_tspec(&trace, Bytes(packet), tightness).unwrap();
        prop_assert!(conforms(&trace, &spec.envelope().unwrap()), "{:?}", spec);
        prop_assert_eq!(spec.burst, smallest_burst(&trace, spec.rate).unwrap().max(Bytes(packet)));
        let covers = |p: Rate| smallest_burst(&trace, p).unwrap() <= Bytes(packet);
        let mean = mean_rate(&trace).unwrap();
        match spec.peak {
            Some(peak) => {
                prop_assert!(covers(peak) && peak >= spec.rate);
                prop_assert!(peak == mean || peak.0 == 0 || !covers(Rate(peak.0 - 1)));
                if tight == 0 {
                    prop_assert_eq!(spec.rate, peak);
                }
            }
            None => prop_assert!(!covers(Rate(u64::MAX))),
        }
        if tight == 4 {
            prop_assert_eq!(spec.rate, mean);
        }
    }
}

/// A packet of 1000 B each 10 ms: what it is asked to be, whatever the method.
#[test]
fn a_periodic_flow() {
    let trace: Trace = (0..101).map(|i| (Time(i * 10_000_000), Bytes(1000))).collect();
    let spec = fit_tspec(&trace, Bytes(1000), Rational::ONE).unwrap();
    // 101 packets in 1 s; one packet at once needs just the nominal rate.
    assert_eq!((spec.rate, spec.peak), (Rate(808_000), Some(Rate(808_000))));
    assert_eq!(spec.burst, Bytes(1000));
    let steps = staircase(&trace).unwrap();
    assert_eq!(steps[1], (Span::from_millis(10), Bytes(2000)));
    assert_eq!(steps.len(), 101);
}

#[test]
fn invalid_traces_are_errors() {
    let packet = |t, n| (Time(t), Bytes(n));
    assert_eq!(staircase(&[]), Err(CurveError::EmptyTrace));
    let unsorted = [packet(5, 1), packet(4, 1)];
    assert_eq!(smallest_burst(&unsorted, Rate(1)), Err(CurveError::UnsortedTrace { packet: 1 }));
    let long = vec![packet(1, 1); MAX_STAIRCASE_PACKETS + 1];
    assert!(matches!(staircase(&long), Err(CurveError::TraceTooLong { .. })));
    assert_eq!(Envelope::from_trace(&long[..1], 0), Err(CurveError::NoBuckets));
    let many = Envelope::from_trace(&long[..1], 17);
    assert_eq!(many, Err(CurveError::TooManyBuckets { count: 17 }));
    assert_eq!(mean_rate(&[packet(1, 0)]), Err(CurveError::ZeroPacket));
    let tight = Rational::whole(2);
    assert!(matches!(fit_tspec(&long, Bytes(1), tight), Err(CurveError::OutOfRange { .. })));
    let large = fit_tspec(&[packet(1, 9)], Bytes(8), Rational::ONE);
    assert!(matches!(large, Err(CurveError::PacketLargerThanBurst { .. })));
}
