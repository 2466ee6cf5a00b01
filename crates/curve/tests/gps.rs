//! Rates under PGPS and deadlines of reservations.

use crate::common::{table3, ten_megabit, tspec};
use crate::slow::{BYTE_PER_NS, GRID, shape, world};
use laxity_core::{Bytes, Rate, Span};
use laxity_curve::*;
use proptest::prelude::*;

/// Whether rate `g` (bit/s) meets the deadline, by looking at every point of the grid.
fn serves(shape: &crate::slow::Shape, g: u64, deadline: u64, packet: u64, link: u64) -> bool {
    // A(t) <= g (t + d - packet / link), times 60, link and 8e9.
    let unit = i128::from(BYTE_PER_NS);
    (0..400 * GRID).all(|t| {
        let later =
            (t + i128::from(deadline) * GRID) * i128::from(link) - i128::from(packet) * GRID;
        shape.work(t, false) * unit * i128::from(link) <= i128::from(g) * later
    })
}

proptest! {
    #![proptest_config(crate::slow::cases(150))]

    /// Fails when a knee or the jump at 0 is left out, or the rate is rounded down.
    #[test]
    fn rates_are_the_smallest(s in shape(true), d in 1u64..40, packet in 0u64..9, link in 1u64..5) {
        let rate = |bytes: u64| Rate(bytes * BYTE_PER_NS);
        let found = smallest_rate(&s.envelope(), Span(d), Bytes(packet), rate(link)).unwrap();
        match found {
            None => prop_assert!(packet >= link * d),
            Some(Rate(g)) => {
                prop_assert!(serves(&s, g, d, packet, link));
                // One bit/s less fails, at the long-term rate for ever longer intervals.
                let long = s.envelope().rate().0;
                prop_assert!(g == long || g == 0 || !serves(&s, g - 1, d, packet, link));
            }
        }
    }

    /// EDF admits all that PGPS admits: summing `A_k(t - d_k) <= g_k (t - L / C)`. Fails when either
    /// test forgets the largest packet.
    #[test]
    fn edf_admits_what_gps_admits(world in world(true, 4)) {
        let (link, flows) = (world.link(), world.specs());
        let gps = check_gps(&link, &flows).unwrap();
        if gps.admitted {
            prop_assert!(check(&link, &flows).unwrap().admitted);
            let sum: u64 = gps.rates.iter().map(|r| r.unwrap().0).sum();
            prop_assert_eq!(sum + gps.remainder.0, link.rate.0);
        }
    }

    /// The delay at the reserved rate: the reservation's deadline is one that the rate serves.
    #[test]
    fn reservations_and_rates_agree(s in shape(true), extra in 0u64..4_000_000_000) {
        let envelope = s.envelope();
        let rate = Rate((envelope.rate().0 + extra).max(1));
        let exact = deadline_from_rspec(&envelope, rate, Span(0)).unwrap();
        prop_assert!(serves(&s, rate.0, exact.0 + 1, 0, 1));
        prop_assert!(exact.0 == 0 || !serves(&s, rate.0, exact.0 - 1, 0, 1));
        let later = deadline_from_rspec(&envelope, rate, Span(7)).unwrap();
        prop_assert_eq!(later.0, exact.0 + 7);
    }
}

/// Table 3. Transactions are bound by their knee, 67150 B after 443 ms, over 443 ms and the
/// deadline less a packet of 1.2288 ms; the others by their long-term rates.
#[test]
fn gps_rates_of_the_paper_are_reproduced() {
    let gps = check_gps(&ten_megabit(Blocking::Paper), &table3()).unwrap();
    let rates: Vec<u64> = gps.rates.iter().map(|r| r.unwrap().0 / 8).collect();
    assert_eq!(rates, [145_418, 600_000, 150_000]);
    assert!(gps.admitted);
}

/// RFC 2212 with p > R >= r: (b - M) (p - R) / (R (p - r)) + M / R.
#[test]
fn the_delay_formula_of_rfc_2212() {
    let envelope = tspec(1000, 5000, 10_000, 1000);
    let deadline = deadline_from_rspec(&envelope, Rate::bytes_per_second(2000), Span(5)).unwrap();
    // 9000 * 3000 / (2000 * 4000) + 0.5 s
    assert_eq!(deadline, Span(3_375_000_000 + 500_000_000 + 5));
    let fast = deadline_from_rspec(&envelope, Rate::bytes_per_second(8000), Span(0)).unwrap();
    assert_eq!(fast, Span(125_000_000));
    let slow = deadline_from_rspec(&envelope, Rate(7999), Span(0));
    assert!(matches!(slow, Err(CurveError::OutOfRange { .. })));
}
