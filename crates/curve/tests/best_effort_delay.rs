//! Bounds of best-effort delay on the paper's link (Chakraborty, Gries, Thiele, RTAS 2002, Tables 3
//! and 4), worked out by an independent model.

use crate::common::{table3, ten_megabit, tspec};
use laxity_core::Bytes;
use laxity_curve::service::*;
use laxity_curve::*;

/// Table 4: ftp, http, mail, and their weights in tenths.
fn table4() -> [(Envelope, u64); 3] {
    [
        (tspec(1536, 250_000, 30_720, 150_000), 5),
        (tspec(1536, 150_000, 50_000, 100_000), 2),
        (tspec(1536, 100_000, 12_288, 46_080), 1),
    ]
}

fn flows() -> Vec<LinkFlow> {
    table3().into_iter().map(LinkFlow::Deadline).collect()
}

fn microseconds(num: i128, den: i128) -> Rational {
    Rational::new(num * 1000, den).unwrap()
}

fn delay(envelope: &Envelope, service: &Curve) -> Rational {
    envelope.curve().unwrap().delay(service).unwrap().unwrap()
}

/// Fails when the deviation is taken at a corner alone, or from the wrong residual.
#[test]
fn a_class_alone_has_the_effective_residual() {
    let residual = residual(&ten_megabit(Blocking::Exact), &flows()).unwrap();
    let mut all = Curve::line(Rational::ZERO, Rational::ZERO);
    for (envelope, _) in table4() {
        assert_eq!(delay(&envelope, residual.effective()), microseconds(12_288, 5));
        all = all.sum(&envelope.curve().unwrap()).unwrap();
    }
    let fifo = all.delay(residual.effective()).unwrap().unwrap();
    assert_eq!(fifo, microseconds(13_446_424, 125));
}

/// Fails when a share is of the capacity or of the residual for deadlines, or of a curve below 0.
#[test]
fn classes_as_flows_have_their_share_of_it() {
    let (link, mut set) = (ten_megabit(Blocking::Exact), flows());
    let spare = residual(&link, &set).unwrap().admission().infimum_from().unwrap();
    let expected = [(256_712, 7), (3_872_440, 9), (836_880_760, 3033)];
    for ((envelope, weight), (num, den)) in table4().into_iter().zip(expected) {
        let share = Rational::new(weight.into(), 8).unwrap();
        let curve = share_of(&spare, share, Bytes(0)).unwrap();
        assert_eq!(delay(&envelope, &curve), microseconds(num, den));
        let curve = ServiceCurve::new(curve).unwrap();
        set.push(LinkFlow::Service(ServiceSpec::new(curve, Bytes(40), Bytes(1536)).unwrap()));
    }
    // They fit into what the others leave.
    assert!(check_flows(&link, &set).unwrap().admitted);
}

/// Fails when real-time packets count from their arrival on, or a lag is left out.
#[test]
fn a_fair_queue_divides_strict_service() {
    let strict = strict_service(&ten_megabit(Blocking::Exact), &flows()).unwrap().unwrap();
    let expected = [(157_234, 1), (4_662_440, 9), (1_103_110_760, 3033)];
    for ((envelope, weight), (num, den)) in table4().into_iter().zip(expected) {
        let share = Rational::new(weight.into(), 8).unwrap();
        let curve = share_of(&strict, share, Bytes(1536)).unwrap();
        assert_eq!(delay(&envelope, &curve), microseconds(num, den));
    }
    let free = ServiceCurve::rate_latency(laxity_core::Rate(8), laxity_core::Span(8)).unwrap();
    let free = LinkFlow::Service(ServiceSpec::new(free, Bytes(40), Bytes(1536)).unwrap());
    assert_eq!(strict_service(&ten_megabit(Blocking::Exact), &[free]), Ok(None));
}
