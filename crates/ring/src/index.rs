//! Positions on a ring of `slots` slots: numbers below `slots`.
//!
//! The ring is empty when front and back are the same and full when one more would make them so;
//! one slot is always free. That is the circular queue of DWCS (section 4), in which the producer
//! writes only back and the consumer only front.

/// The position after `index`.
#[inline(always)]
pub(crate) fn next(index: usize, slots: usize) -> usize {
    if index + 1 == slots { 0 } else { index + 1 }
}

/// How many slots are in use from `front` to `back`.
#[inline(always)]
pub(crate) fn used(front: usize, back: usize, slots: usize) -> usize {
    if back >= front { back - front } else { slots - (front - back) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the wrap is one slot early or late, or `used` counts from the wrong end: tried
    /// with `index + 2 == slots` and with `front - back` without the ring's length.
    #[test]
    fn advancing_by_one_uses_one_more_slot() {
        for slots in 1..6 {
            for front in 0..slots {
                let mut back = front;
                for count in 0..slots {
                    assert_eq!(used(front, back, slots), count);
                    back = next(back, slots);
                    assert!(back < slots);
                }
                assert_eq!(back, front, "after as many steps as slots");
            }
        }
    }
}
