//! Constructors, their errors, and envelopes on the wire.

use crate::slow::{BYTE_PER_NS, GRID, grid, nanobits, shape};
use laxity_core::{Bytes, Rate, Span};
use laxity_curve::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(crate::slow::cases(200))]

    /// Function and curve. Fails when a bucket that binds is left out, or a step falls late.
    #[test]
    fn value_and_curve_follow_the_definition(shape in shape(true)) {
        let envelope = shape.envelope();
        let curve = envelope.curve().unwrap();
        prop_assert_eq!(i128::from(envelope.max_packet().0), shape.packet());
        for t in -5..50 * GRID {
            let want = nanobits(shape.work(t, false));
            prop_assert_eq!(envelope.value(grid(t)).unwrap(), want);
            prop_assert_eq!(curve.value(grid(t)).unwrap(), want);
            if t >= 0 {
                // The single bucket lies above.
                let burst = Rational::whole(i128::from(envelope.burst().0) * 8_000_000_000);
                let line = grid(t).times(envelope.rate().0.into()).unwrap().plus(burst).unwrap();
                prop_assert!(line >= want);
            }
        }
    }

    /// Any packets that the policer passes fit the envelope on the wire. Packets shorter than the
    /// smallest policed one count as that one. Fails when the factor is taken from the largest
    /// packet, or the minimum frame is forgotten.
    #[test]
    fn wire_envelopes_cover_conforming_packets(
        (m, packet, burst) in (1u64..100).prop_flat_map(|m| {
            (Just(m), m..200).prop_flat_map(|(m, p)| (Just(m), Just(p), p..2000))
        }),
        rate in 1u64..3, overhead in 0u64..50, frame in 0u64..120,
        packets in proptest::collection::vec((1u64..200, 0u64..300), 1..60),
    ) {
        let envelope = Envelope::tspec(
            Bytes(packet), Rate(9 * BYTE_PER_NS), Bytes(burst), Rate(rate * BYTE_PER_NS),
        ).unwrap().with_min_packet(Bytes(m)).unwrap();
        let wire = envelope.on_wire(Bytes(overhead), Bytes(frame)).unwrap();
        let frame_of = |size: u64| (size + overhead).max(frame);
        prop_assert_eq!(wire.max_packet(), Bytes(frame_of(packet)));
        if frame_of(m) == m {
            prop_assert_eq!(&wire, &envelope);
        }
        // Two buckets, filled greedily.
        let mut tokens = [packet, burst];
        let mut sent: Vec<(u64, u64)> = Vec::new();
        let mut now = 0;
        for (size, wait) in packets {
            let size = size.min(packet);
            now += wait;
            for (token, (rate, most)) in tokens.iter_mut().zip([(9, packet), (rate, burst)]) {
                *token = (*token + rate * wait).min(most);
            }
            let counted = size.max(m);
            if tokens.iter().all(|t| *t >= counted) {
                tokens.iter_mut().for_each(|t| *t -= counted);
                sent.push((now, frame_of(size)));
            }
        }
        for i in 0..sent.len() {
            let mut work = 0;
            for (at, size) in &sent[i..] {
                work += size;
                let most = wire.value(Rational::from(at - sent[i].0)).unwrap();
                prop_assert!(most >= Rational::whole(i128::from(work) * 8_000_000_000));
            }
        }
    }
}

#[test]
fn each_invalid_envelope_has_its_error() {
    let (b, r) = (Bytes, Rate);
    let error = |x: Result<Envelope, CurveError>| x.unwrap_err();
    assert_eq!(
        error(Envelope::tspec(b(100), r(9), b(200), r(10))),
        CurveError::PeakBelowRate { peak: r(9), rate: r(10) }
    );
    assert_eq!(
        error(Envelope::tspec(b(300), r(10), b(200), r(10))),
        CurveError::PacketLargerThanBurst { packet: b(300), burst: b(200) }
    );
    assert_eq!(error(Envelope::tspec(b(0), r(10), b(200), r(10))), CurveError::ZeroPacket);
    assert_eq!(error(Envelope::leaky_bucket(b(0), r(10))), CurveError::ZeroPacket);
    let over = b(MAX_BURST.0 + 1);
    assert_eq!(
        error(Envelope::leaky_bucket(over, r(1))),
        CurveError::BurstTooLarge { burst: over }
    );
    assert_eq!(error(Envelope::buckets(&[], b(1))), CurveError::NoBuckets);
    let many = [Bucket { burst: b(1), rate: r(1) }; MAX_BUCKETS + 1];
    assert_eq!(error(Envelope::buckets(&many, b(1))), CurveError::TooManyBuckets { count: 17 });
    let ms = Span::from_millis;
    assert_eq!(error(Envelope::periodic(ms(0), b(1), ms(0))), CurveError::ZeroPeriod);
    assert_eq!(error(Envelope::periodic(ms(1), b(0), ms(0))), CurveError::ZeroPacket);
    let late = Envelope::periodic(Span(1), b(1000), ms(1));
    assert!(matches!(late, Err(CurveError::BurstTooLarge { .. })));
    let envelope = Envelope::leaky_bucket(b(100), r(8)).unwrap();
    assert_eq!(error(envelope.clone().with_min_packet(b(0))), CurveError::ZeroPacket);
    assert_eq!(
        error(envelope.clone().with_min_packet(b(101))),
        CurveError::MinimumAboveMaximum { minimum: b(101), maximum: b(100) }
    );
    assert!(matches!(envelope.on_wire(MAX_BURST, b(0)), Err(CurveError::BurstTooLarge { .. })));
    // Each says what to do.
    for error in [CurveError::ZeroPeriod, CurveError::NoBuckets, CurveError::EmptyTrace] {
        assert!(error.to_string().contains(';'), "{error}");
    }
}

/// A bucket of rate 0 limits a flow for good; the longer of two equal rates never binds.
#[test]
fn buckets_that_never_bind_are_left_out() {
    let bucket = |burst, rate| Bucket { burst: Bytes(burst), rate: Rate(rate) };
    let given = [bucket(900, 8), bucket(100, 80), bucket(200, 80), bucket(500, 44), bucket(950, 8)];
    let envelope = Envelope::buckets(&given, Bytes(50)).unwrap();
    // 500 + 44 t passes exactly through the knee of the other two and binds nowhere.
    assert_eq!(envelope.lines().unwrap(), [bucket(100, 80), bucket(900, 8)]);
    assert_eq!((envelope.burst(), envelope.rate()), (Bytes(900), Rate(8)));
}
