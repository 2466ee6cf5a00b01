//! Every structure decides as the list does, for any sequence of events.

use crate::play::{Event, Play, agrees, events, options};
use laxity_dwcs::structure::{Heaps, List};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Fails when a heap forgets to move a record, or compares otherwise than the list: tried
    /// with `sink` alone in `IndexHeap::move_from`, with `>` for `<` in `by_release`, and with
    /// `before` by deadline where arrivals decide.
    #[test]
    fn heaps_decide_as_the_list(options in options(), events in events()) {
        agrees::<Heaps>(&options, &events);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Fails when a packet leaves a queue without being served or dropped, or when the ledger
    /// counts otherwise than the queues: tried without `measures.dropped` for several at once.
    #[test]
    fn every_packet_is_accounted_for(options in options(), events in events()) {
        let mut play = Play::<List>::new(&options);
        let mut arrived = 0;
        for event in &events {
            // A leaving stream's packets leave with it.
            if matches!(event, Event::Leave(_)) {
                continue;
            }
            if let Event::Arrive(_, count) = event {
                arrived += usize::from(*count) * usize::from(!play.streams.is_empty());
            }
            play.play(event);
            let queues = &play.queues;
            let seen = queues.waiting() + queues.served.len() + queues.dropped.len();
            prop_assert_eq!(seen, arrived);
            let measures = play.scheduler.meter().total();
            prop_assert_eq!(measures.served, queues.served.len() as u64);
            prop_assert_eq!(measures.dropped, queues.dropped.len() as u64);
            let kinds = measures.met + measures.late + measures.hidden;
            prop_assert_eq!(kinds, measures.served);
            prop_assert!(measures.missed >= measures.dropped);
        }
    }
}
