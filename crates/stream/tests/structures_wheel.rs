//! The wheel decides as the list does.

mod common;
mod play;

use laxity_stream::structure::Wheel;
use laxity_stream::{Options, Order};
use play::{agrees, events, options};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn the_wheel_decides_as_the_list(options in options(), events in events()) {
        let options = Options { order: Order::DeadlineFirst, ..options };
        agrees::<Wheel>(&options, &events);
    }
}
