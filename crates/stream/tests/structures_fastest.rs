//! The structure that is chosen by the options keeps whatever order they ask for.

mod common;
mod play;

use laxity_stream::structure::{Fastest, Structure};
use laxity_stream::{Options, ZeroTie};
use play::{agrees, events, options};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Fails when an order gets a structure that cannot keep it: tried with buckets whatever the
    /// ties.
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
