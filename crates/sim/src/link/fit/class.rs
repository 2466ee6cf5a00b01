//! Service of a code point: its usual deadline, otherwise a weight.
//!
//! RFC 4594 names the kinds of traffic; it gives no numbers. The deadlines are for one hop: a
//! share of what conversation (150 ms one way, ITU-T G.114) and video leave to each link of a path.

use laxity_core::{Span, Weight};

/// A guess from a code point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Kept by a deadline.
    Realtime {
        /// The guess.
        deadline: Span,
        /// The usual traffic of such packets.
        usual: &'static str,
    },
    /// Shares what is left.
    BestEffort {
        /// The guess.
        weight: Weight,
        /// The usual traffic of such packets.
        usual: &'static str,
    },
}

/// The guess for a code point.
pub fn class_of(dscp: u8) -> Class {
    let realtime = |ms, usual| Class::Realtime { deadline: Span::from_millis(ms), usual };
    let best_effort =
        |tenths: u32, usual| Class::BestEffort { weight: Weight(tenths * 100_000), usual };
    match dscp {
        46 | 44 => realtime(10, "voice"),
        32 => realtime(30, "interactive video and games"),
        34 | 36 | 38 => realtime(30, "video conferences"),
        40 => realtime(30, "signalling"),
        24 => realtime(100, "broadcast video"),
        26 | 28 | 30 => realtime(100, "streamed video"),
        48 | 56 => best_effort(40, "routing and control of the network"),
        16 => best_effort(20, "management"),
        18 | 20 | 22 => best_effort(20, "transactions"),
        8 | 1 => best_effort(5, "what may wait"),
        _ => best_effort(10, "everything else"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn voice_is_more_urgent_than_video_and_bulk_is_best_effort() {
        let ms = |dscp| match class_of(dscp) {
            Class::Realtime { deadline, .. } => Some(deadline.0 / 1_000_000),
            Class::BestEffort { .. } => None,
        };
        assert_eq!([46, 44, 34, 36, 38, 32, 40].map(ms), [10, 10, 30, 30, 30, 30, 30].map(Some));
        assert_eq!([0, 1, 8, 10, 48, 63].map(ms), [None; 6]);
    }
}
