use super::*;
use laxity_core::Span;
use proptest::prelude::*;
use std::vec;

const SENT: Service = Service { delay: Span(3), late: false, hidden: false };

/// Counts by definition, from the whole list of slots (`true`: missed).
fn by_definition(slots: &[bool], x: usize, y: usize) -> (u64, u64, u64, u64) {
    let misses = |w: &[bool]| w.iter().filter(|m| **m).count();
    let runs = slots.split(|missed| !missed).map(<[bool]>::len);
    let longest = runs.max().unwrap_or(0) as u64;
    if y == 0 {
        return (0, 0, 0, longest);
    }
    // A last window that is not over counts once it holds more than x misses.
    let tumbling = slots.chunks(y).filter(|w| misses(w) > x).count() as u64;
    let sliding = slots.windows(y).filter(|w| misses(w) > x).count() as u64;
    let at_miss =
        |end: &usize| slots[*end] && misses(&slots[(end + 1).saturating_sub(y)..=*end]) > x;
    let at_miss = (0..slots.len()).filter(at_miss).count() as u64;
    (tumbling, sliding, at_miss, longest)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Fails when any of the counts differs from its definition: tried with `after >= x` in
    /// `tumble`, without `self.full` in `History::missed`, and with `rest` always added there.
    #[test]
    fn window_counts_match_their_definition(
        (x, y) in (0..9u64).prop_flat_map(|y| (0..=y, Just(y))),
        events in prop::collection::vec((0..4u64, 0..20u64), 1..20),
    ) {
        let mut ledger = Ledger::new().with_history();
        ledger.join(0, Tolerance::new(x, y).expect("a tolerance"), true);
        let mut slots = vec![];
        for (services, count) in events {
            (0..services).for_each(|_| ledger.served(0, SENT));
            slots.extend((0..services).map(|_| false));
            if count > 0 {
                ledger.missed(0, Misses { count, violations: 0, dropped: false });
                slots.extend((0..count).map(|_| true));
            }
            let m = ledger.total();
            let want = by_definition(&slots, x as usize, y as usize);
            prop_assert_eq!((m.tumbling, m.sliding, m.at_miss, m.longest_run), want);
            prop_assert_eq!(m.served + m.missed, slots.len() as u64);
        }
    }
}

/// Fails when a bound in the docs of [`Ledger`] is exceeded.
#[test]
fn memory_use_matches_the_documentation() {
    assert!(size_of::<Row>() <= 128);
    assert!(size_of::<History>() <= 48);
}

/// Fails when a stream inherits from the one that held its place, or loses its counts in a change.
#[test]
fn reused_slots_start_at_zero_and_changes_preserve_counts() {
    let tolerance = Tolerance::new(1, 3).expect("a tolerance");
    let mut ledger = Ledger::new().with_classes(1);
    ledger.join(2, tolerance, true);
    ledger.rows[2].class = 0;
    ledger.missed(2, Misses { count: 2, violations: 1, dropped: true });
    ledger.served(2, SENT);
    assert_eq!(ledger.total().tumbling, 1);
    ledger.join(2, tolerance, false);
    ledger.served(2, SENT);
    assert_eq!((ledger.total().served, ledger.rows[2].slots), (2, 1));
    assert_eq!(ledger.delays(0).map(Histogram::count), Some(2));
    ledger.join(2, tolerance, true);
    assert_eq!(ledger.total(), Measures::default());
    assert_eq!(ledger.rows[2].class, NO_CLASS);
}
