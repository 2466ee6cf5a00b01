//! Service curves on one link of 10 Mbit/s, with numbers computed independently.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span, Time};
use laxity_curve::service::*;
use laxity_curve::*;

const fn us(us: u64) -> Span {
    Span(us * 1000)
}

/// Bytes per us as a fraction.
const fn rate(num: u64, den: u64) -> Rate {
    Rate(num * 8_000_000 / den)
}

fn served(curve: ServiceCurve, min: u64, max: u64) -> LinkFlow {
    LinkFlow::Service(ServiceSpec::new(curve, Bytes(min), Bytes(max)).unwrap())
}

fn voice(m1: Rate) -> ServiceCurve {
    ServiceCurve::two_piece(m1, us(5000), rate(1, 10)).unwrap()
}

fn video() -> ServiceCurve {
    let points = [(10_000, 0), (10_000, 3000), (20_000, 6000), (40_000, 6000)];
    let points = points.map(|(t, w)| (us(t), Bytes(w)));
    ServiceCurve::points(&points, rate(3, 10)).unwrap()
}

fn flows(voice_m1: Rate) -> Vec<LinkFlow> {
    let control = ServiceCurve::rate_latency(rate(1, 4), us(8000)).unwrap();
    let sensor = Envelope::tspec(Bytes(300), rate(1, 5), Bytes(1200), rate(1, 10)).unwrap();
    vec![
        served(voice(voice_m1), 64, 400),
        served(control, 64, 1000),
        served(video(), 64, 1500),
        LinkFlow::Deadline(FlowSpec { envelope: sensor, deadline: us(12_000) }),
    ]
}

fn link(best_effort: u64) -> LinkSpec {
    crate::common::link(rate(5, 4), best_effort, Blocking::Exact)
}

/// A fraction of bytes, and of us.
fn bytes(num: i128, den: i128) -> Rational {
    Rational::new(num * NANOBITS_PER_BYTE, den).unwrap()
}

fn micros(num: i128, den: i128) -> Rational {
    Rational::new(num * 1000, den).unwrap()
}

/// Fails when whole packets, the blocking of a flow served ahead, or an instant of `first` is
/// left out or misplaced.
#[test]
fn admission_and_residual_of_four_flows() {
    let set = flows(rate(1, 25));
    let verdict = check_flows(&link(1500), &set).unwrap();
    assert!(verdict.admitted && verdict.exact && !verdict.overload, "{verdict:?}");
    assert_eq!((verdict.slack_bytes, verdict.binding_interval), (436, Some(micros(1600, 1))));
    assert_eq!(verdict.demand, [Bytes(64), Bytes(0), Bytes(0), Bytes(0)]);
    assert_eq!(verdict.blocking, Bytes(1500));
    let residual = residual(&link(1500), &set).unwrap();
    for (t, left) in [(8000, 8000), (10_000, 6800), (12_000, 7700), (40_000, 26_800)] {
        let value = residual.admission().value(micros(t, 1)).unwrap();
        assert_eq!(value, bytes(left, 1), "R({t})");
    }
    let corners: Vec<(Rational, Rational)> =
        residual.effective().pieces().iter().map(|p| (p.start, p.at(p.start).unwrap())).collect();
    let want = [
        (0, 1, -1500),
        (7744, 5, 436),
        (1600, 1, 436),
        (5000, 1, 4550),
        (180_000, 23, 7800),
        (10_000, 1, 7800),
        (10_800, 1, 8480),
        (12_000, 1, 9200),
        (20_000, 1, 12_400),
        (21_000, 1, 13_100),
        (40_000, 1, 28_300),
    ];
    let want = want.map(|(num, den, left)| (micros(num, den), bytes(left, 1)));
    assert_eq!(corners, want);
    assert_eq!(residual.least_deadline(), us(1600));
}

/// Fails when a small packet of a steep curve is not held against what blocks it, or the blocking
/// is counted where nothing else is due.
#[test]
fn a_steep_curve_is_refused_beside_a_blocker_only() {
    let steep = rate(2, 5);
    let verdict = check_flows(&link(1500), &flows(steep)).unwrap();
    assert!(!verdict.admitted && verdict.exact);
    assert_eq!((verdict.slack_bytes, verdict.binding_interval), (-1364, Some(micros(160, 1))));
    let alone = [served(voice(steep), 64, 400)];
    let verdict = check_flows(&link(0), &alone).unwrap();
    assert_eq!((verdict.admitted, verdict.slack_bytes), (true, 136));
    // The delay of HFSC's own guarantee admits it.
    let later = ServiceSpec::safe_delay(Bytes(1500), rate(5, 4));
    assert_eq!(later, us(1200));
    let mut set = flows(steep);
    for flow in &mut set {
        if let LinkFlow::Service(flow) = flow {
            flow.curve = flow.curve.later(later).unwrap();
        }
    }
    assert!(check_flows(&link(1500), &set).unwrap().admitted);
}

/// Deadlines of one flow, with the packets' ends on a link that best effort shares. Fails when
/// a start is missed, recorded too often, or counted on the wrong line of the curve.
#[test]
fn deadlines_of_the_video() {
    let packets = [
        (0, 1000),
        (0, 1500),
        (500, 500),
        (2000, 1500),
        (3000, 1200),
        (8000, 1500),
        (8100, 64),
        (8100, 1500),
        (11_000, 800),
        (30_000, 1500),
    ];
    let ends = [
        (800, 1),
        (2000, 1),
        (2400, 1),
        (3600, 1),
        (4560, 1),
        (9200, 1),
        (46_256, 5),
        (52_256, 5),
        (61_456, 5),
        (31_200, 1),
    ];
    let mut deadlines = ServiceDeadlines::new(&video().inverse().unwrap(), 16);
    let mut got = Vec::new();
    let mut end = Rational::ZERO;
    for (i, (at, wire)) in packets.into_iter().enumerate() {
        let at_ns = Rational::from(at * 1000);
        // A completion precedes an arrival of the same instant. The link was idle before the
        // sixth and the last packet, best effort of 1500 B being sent from 4560 and 8200 us on.
        let starts = end <= at_ns;
        if i == 5 || i == 9 {
            deadlines.reset();
        }
        got.push(deadlines.push(Time(at as u64 * 1000), wire, starts).0);
        end = micros(ends[i].0, ends[i].1);
    }
    let last = Rational::new(54_640_000, 3).unwrap().ceil() as u64;
    let want = [
        10_000_000, 10_000_000, 10_000_000, 15_000_000, 19_000_000, 18_000_000, 18_000_000, last,
        21_000_000, 40_000_000,
    ];
    assert_eq!(got, want);
}

/// The curve of `tc`'s words, and what each constructor refuses.
#[test]
fn named_curves() {
    let concave = ServiceCurve::umax_dmax(Bytes(1500), us(10_000), Rate(800_000)).unwrap();
    assert_eq!(
        concave,
        ServiceCurve::two_piece(Rate(1_200_000), us(10_000), Rate(800_000)).unwrap()
    );
    let convex = ServiceCurve::umax_dmax(Bytes(1500), us(10_000), Rate(1_600_000)).unwrap();
    assert_eq!(convex, ServiceCurve::rate_latency(Rate(1_600_000), us(2500)).unwrap());
    let odd = ServiceCurve::umax_dmax(Bytes(1000), us(3000), Rate(1_000_000)).unwrap();
    // 8/3 Mbit/s, a fraction of bit/s.
    assert_eq!(odd.inverse().unwrap().at(500), Span(1_500_000));
    assert_eq!(odd.inverse().unwrap().at(1), Span(3000));
    let bucket = Envelope::tspec(Bytes(100), rate(1, 2), Bytes(400), rate(1, 4)).unwrap();
    let delay = ServiceCurve::delay(&bucket, us(50)).unwrap();
    let knee = [(us(50), Bytes(0)), (us(50), Bytes(100)), (us(1250), Bytes(700))];
    assert_eq!(delay, ServiceCurve::points(&knee, rate(1, 4)).unwrap());
    assert_eq!(delay.later(us(7)), ServiceCurve::delay(&bucket, us(57)));
    assert_eq!(ServiceCurve::delay(&bucket, Span(0)), Err(CurveError::ServiceAtZero));
    let periodic = Envelope::periodic(us(10), Bytes(10), Span(0)).unwrap();
    assert!(matches!(ServiceCurve::delay(&periodic, us(5)), Err(CurveError::Shape { .. })));
    assert!(ServiceCurve::rate_latency(Rate(0), us(5)).is_err());
    assert!(ServiceCurve::umax_dmax(Bytes(1), Span(0), Rate(1)).is_err());
    let points = |list: &[(u64, u64)]| {
        let list: Vec<_> = list.iter().map(|(t, w)| (us(*t), Bytes(*w))).collect();
        ServiceCurve::points(&list, Rate(8))
    };
    assert_eq!(points(&[(0, 5)]), Err(CurveError::ServiceAtZero));
    assert!(matches!(points(&[(5, 9), (7, 8)]), Err(CurveError::Decreasing { .. })));
    assert!(matches!(points(&[(5, 9), (4, 9)]), Err(CurveError::Decreasing { .. })));
    assert!(points(&[(5, 1), (5, 2), (5, 3)]).is_err());
    assert!(points(&[(0, 0), (5, 1), (5, 2), (9, 2)]).is_ok());
    // A slope whose denominator in ns is too large for exact deadlines.
    let fine = ServiceCurve::points(&[(Span(9_999_999_967), Bytes(7))], Rate(8)).unwrap();
    assert_eq!(fine.inverse(), Err(CurveError::ServiceSlope { at: Rational::ZERO }));
    assert!(ServiceSpec::new(fine, Bytes(64), Bytes(64)).is_err());
    let falls = Curve::line(Rational::whole(-1), Rational::ZERO);
    assert_eq!(ServiceCurve::new(falls), Err(CurveError::Decreasing { at: Rational::ZERO }));
}

/// A jump between two ns counts from the later one. Fails when it is rounded down.
#[test]
fn fractional_jumps_are_rounded_up() {
    let half = Rational::new(3, 2).unwrap();
    let piece = |start, work: i128| Piece {
        start,
        slope: Rational::whole(8_000_000_000),
        intercept: Rational::whole(work * NANOBITS_PER_BYTE),
    };
    let pieces = vec![piece(Rational::ZERO, 0), piece(half, 5)];
    let curve = ServiceCurve::new(Curve::affine(pieces).unwrap()).unwrap();
    let inverse = curve.inverse().unwrap();
    let at = [1, 2, 3, 6, 7].map(|work| inverse.at(work));
    assert_eq!(at, [1, 2, 2, 2, 2].map(Span));
}

/// Fails when a curve above the link's rate is not told from one that fits.
#[test]
fn curves_above_the_link_are_refused() {
    let spec = |curve| ServiceSpec::new(curve, Bytes(64), Bytes(1500)).unwrap();
    assert_eq!(spec(video()).fits(rate(5, 4)), Ok(()));
    let burst = [(us(1000), Bytes(0)), (us(1000), Bytes(1251))];
    let burst = spec(ServiceCurve::points(&burst, rate(1, 4)).unwrap());
    let capacity = rate(5, 4);
    assert_eq!(
        burst.fits(capacity),
        Err(CurveError::AboveCapacity { at: micros(1000, 1), capacity })
    );
    assert_eq!(burst.fits(Rate(capacity.0 + capacity.0 / 1250)), Ok(()));
    let fast = spec(ServiceCurve::rate_latency(Rate(capacity.0 + 1), us(100)).unwrap());
    assert!(matches!(fast.fits(capacity), Err(CurveError::AboveCapacity { .. })));
}

/// Horizontal and vertical deviation for a flow whose envelope is known. Fails when one packet in
/// service is left out of the backlog.
#[test]
fn bounds_of_a_known_envelope() {
    let curve = ServiceCurve::two_piece(rate(1, 2), us(10_000), rate(1, 10)).unwrap();
    let spec = ServiceSpec::new(curve, Bytes(64), Bytes(1000)).unwrap();
    assert_eq!((spec.delay_bound(), spec.backlog_bound()), (Ok(None), Ok(None)));
    let envelope = Envelope::leaky_bucket(Bytes(4000), rate(1, 10)).unwrap();
    let spec = spec.with_envelope(envelope);
    assert_eq!(spec.delay_bound(), Ok(Some(micros(8000, 1))));
    assert_eq!(spec.backlog_bound(), Ok(Some(bytes(5000, 1))));
    let faster = Envelope::leaky_bucket(Bytes(4000), rate(1, 8)).unwrap();
    let spec = spec.with_envelope(faster);
    assert_eq!((spec.delay_bound(), spec.backlog_bound()), (Ok(None), Ok(None)));
}

/// Slopes that are fractions of bit/s. Fails when the inverse that assigners read promises a
/// byte before the residual has it, when it falls, or when a lost fraction grows beyond a byte.
#[test]
fn fractional_slopes_are_rounded_to_the_safe_side() {
    let third =
        |umax, dmax| ServiceCurve::umax_dmax(Bytes(umax), us(dmax), Rate(1_000_001)).unwrap();
    let set = [
        served(third(10_000, 30_000).later(us(1500)).unwrap(), 64, 1500),
        served(third(7_000, 31_000).later(us(1500)).unwrap(), 64, 1500),
    ];
    let residual = residual(&link(1500), &set).unwrap();
    let effective = residual.effective();
    assert!(effective.pieces().iter().any(|p| !p.slope.is_whole()));
    let inverse = residual.service(Guarantee::All).unwrap();
    let mut last = Span(0);
    for work in 1..60_000 {
        let at = inverse.at(work).unwrap();
        assert!(at >= last, "{work}");
        last = at;
        let value = |at: Span| effective.value(at.0.into()).unwrap();
        assert!(value(at) >= bytes(work.into(), 1), "{work}");
        let early = Span(at.0.saturating_sub(2000));
        assert!(value(early) < bytes(work.into(), 1) || inverse.free() >= work, "{work}");
    }
}
