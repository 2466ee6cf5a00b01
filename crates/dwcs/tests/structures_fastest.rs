//! The structure selected by the options implements their order.

use crate::play::{agrees, events, options};
use laxity_dwcs::structure::{Fastest, Structure};
use laxity_dwcs::{Options, ZeroTie};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Fails when an order is given a structure that cannot implement it: tried with buckets for
    /// any ties.
    #[test]
    fn every_structure_follows_its_order(options in options(), events in events()) {
        agrees::<Fastest>(&options, &events);
    }
}

#[test]
fn the_order_selects_the_structure() {
    let structure = |options: Options| Fastest::new(options.rank()).expect("it never refuses");
    assert!(matches!(structure(Options::default()), Fastest::Wheel(_)));
    assert!(matches!(structure(Options::tolerance_first()), Fastest::Buckets(_)));
    let first_come = Options { zero_tie: ZeroTie::FirstCome, ..Options::tolerance_first() };
    assert!(matches!(structure(first_come), Fastest::Heaps(_)));
    assert!(matches!(structure(Options::paper()), Fastest::Heaps(_)));
}
