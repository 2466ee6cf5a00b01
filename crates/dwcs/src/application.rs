//! From what an application knows to `x`, `y` and the gap.

use core::fmt;

use laxity_core::Span;

use crate::{Attributes, Late, Tolerance};

/// An application's description of one of its streams.
///
/// A camera of 30000/1001 frames a second, cut into 8 packets a frame, of which one frame in 30
/// may be spoilt, and never more than four frames in a row:
///
/// ```
/// use laxity_dwcs::{Application, Loss};
///
/// let video = Application {
///     frames: 30_000,
///     seconds: 1001,
///     packets_per_frame: 8,
///     loss: Loss::Frames { lost: 1, of: 30 },
///     burst: Some(4),
/// };
/// let attributes = video.attributes()?;
/// assert_eq!(attributes.tolerance.to_string(), "2/480");
/// assert_eq!(attributes.gap.map(|gap| gap.0), Some(4_170_833)); // a frame's 33.37 ms in 8
/// # Ok::<(), laxity_dwcs::ApplicationError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Application {
    /// So many frames (or samples, or messages) ...
    pub frames: u32,
    /// ... in so many seconds: 30,000 in 1001 for NTSC video, 50 in 1 for Opus.
    pub seconds: u32,
    /// Packets into which a frame is cut. They are spread over the frame's time, so that no frame
    /// goes out as a burst.
    pub packets_per_frame: u32,
    /// The loss tolerated in the long run.
    pub loss: Loss,
    /// Longest loss in a row, in the units of `loss`. `None`: no limit beyond `loss`.
    pub burst: Option<u32>,
}

/// The loss tolerated in the long run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// So many packets of so many: for audio and for video that conceals losses.
    Packets {
        /// Packets that may be lost ...
        lost: u32,
        /// ... of these.
        of: u32,
    },
    /// So many frames of so many, where a frame with any packet lost is lost. At worst each lost
    /// packet spoils another frame, so this tolerates as many packets as frames.
    Frames {
        /// Frames that may be lost ...
        lost: u32,
        /// ... of these.
        of: u32,
    },
}

/// Error: an application's description makes no stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationError {
    /// No frames, no seconds or no packets in a frame.
    NothingToSend,
    /// Packets less than a nanosecond apart.
    TooFast,
    /// More losses than packets.
    MoreLossesThanPackets,
    /// The window would be longer than the counters hold.
    LossTooRare,
}

impl Application {
    /// The attributes that guarantee this quality wherever back-to-back windows are kept
    /// ([`admission`](crate::admission)); late packets are dropped.
    ///
    /// - `T` is the time of a frame divided by its packets, rounded down: deadlines never fall
    ///   behind the packets.
    /// - At the end of one window and the start of the next, `2x` packets can be lost in a row. So
    ///   a burst of `b` allows `x = b/2`, rounded down; a burst of one allows no loss at all.
    ///   Without a limit on bursts, `x/y` is the loss in lowest terms: the shortest window of that
    ///   ratio, and so the one with the shortest bursts.
    /// - `y` is the least for which `x/y` does not exceed the loss. Where that would be more than
    ///   65,535, bursts are made shorter.
    ///
    /// # Errors
    /// When the numbers contradict each other, or no window up to 65,535 packets has such a loss.
    pub fn attributes(&self) -> Result<Attributes, ApplicationError> {
        let packets = u64::from(self.frames) * u64::from(self.packets_per_frame);
        if packets == 0 || self.seconds == 0 {
            return Err(ApplicationError::NothingToSend);
        }
        let gap = u128::from(self.seconds) * 1_000_000_000 / u128::from(packets);
        let gap = u64::try_from(gap).map_err(|_| ApplicationError::TooFast)?;
        if gap == 0 {
            return Err(ApplicationError::TooFast);
        }
        let late = Late::Drop;
        Ok(Attributes { tolerance: self.tolerance()?, gap: Some(Span(gap)), late })
    }

    fn tolerance(&self) -> Result<Tolerance, ApplicationError> {
        let (lost, of) = match self.loss {
            Loss::Packets { lost, of } => (u64::from(lost), u64::from(of)),
            Loss::Frames { lost, of } => {
                (u64::from(lost), u64::from(of) * u64::from(self.packets_per_frame))
            }
        };
        if lost > of || of == 0 {
            return Err(ApplicationError::MoreLossesThanPackets);
        }
        let divisor = gcd(lost, of);
        let (lost, of) = (lost / divisor, of / divisor);
        let asked = self.burst.map_or(lost, |burst| u64::from(burst / 2));
        if asked == 0 || lost == 0 {
            return Tolerance::new(0, 1).map_err(|_| ApplicationError::LossTooRare);
        }
        // A window of fewer losses is stricter, so one that would be too long gives way to it.
        let longest = u128::from(u16::MAX);
        let x = u128::from(asked).min(longest * u128::from(lost) / u128::from(of));
        if x == 0 || self.burst.is_none() && x < u128::from(asked) {
            return Err(ApplicationError::LossTooRare);
        }
        let y = (x * u128::from(of)).div_ceil(u128::from(lost));
        Tolerance::new(x as u64, y as u64).map_err(|_| ApplicationError::LossTooRare)
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for ApplicationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ApplicationError::NothingToSend => {
                "nothing to send: give at least one frame, one second and one packet a frame"
            }
            ApplicationError::TooFast => {
                "packets less than 1 ns apart: give fewer frames or packets a frame"
            }
            ApplicationError::MoreLossesThanPackets => {
                "more losses than packets: give a loss of at most 1 of 1"
            }
            ApplicationError::LossTooRare => {
                "a window of more than 65,535 packets: give no loss, a greater one, or one in \
                 lower terms"
            }
        })
    }
}

impl core::error::Error for ApplicationError {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const VOICE: Application = Application {
        frames: 50,
        seconds: 1,
        packets_per_frame: 1,
        loss: Loss::Packets { lost: 2, of: 100 },
        burst: None,
    };

    fn tolerance(application: Application) -> (u16, u16) {
        let tolerance = application.attributes().expect("makes sense").tolerance;
        (tolerance.x(), tolerance.y())
    }

    #[test]
    fn media_parameters_become_windows() {
        assert_eq!(VOICE.attributes().map(|a| a.gap), Ok(Some(Span::from_millis(20))));
        assert_eq!(tolerance(VOICE), (1, 50));
        for (burst, want) in [(0, (0, 1)), (1, (0, 1)), (2, (1, 50)), (3, (1, 50)), (6, (3, 150))] {
            assert_eq!(tolerance(Application { burst: Some(burst), ..VOICE }), want);
        }
        let thirds = Loss::Packets { lost: 2, of: 3 };
        assert_eq!(tolerance(Application { loss: thirds, burst: Some(2), ..VOICE }), (1, 2));
        let none = Loss::Frames { lost: 0, of: 7 };
        assert_eq!(tolerance(Application { loss: none, ..VOICE }), (0, 1));
        let all = Loss::Frames { lost: 7, of: 7 };
        assert_eq!(tolerance(Application { loss: all, ..VOICE }), (1, 1));
    }

    #[test]
    fn contradictory_options_are_errors() {
        let refused = |application: Application| application.attributes().expect_err("refused");
        let nothing = [
            Application { frames: 0, ..VOICE },
            Application { seconds: 0, ..VOICE },
            Application { packets_per_frame: 0, ..VOICE },
        ];
        for application in nothing {
            assert_eq!(refused(application), ApplicationError::NothingToSend);
        }
        let fast = Application { frames: u32::MAX, packets_per_frame: u32::MAX, ..VOICE };
        assert_eq!(refused(fast), ApplicationError::TooFast);
        for (lost, of) in [(2, 1), (0, 0)] {
            let loss = Loss::Packets { lost, of };
            let more = refused(Application { loss, ..VOICE });
            assert_eq!(more, ApplicationError::MoreLossesThanPackets);
        }
        for burst in [None, Some(2)] {
            let loss = Loss::Packets { lost: 1, of: 65_536 };
            let rare = refused(Application { loss, burst, ..VOICE });
            assert_eq!(rare, ApplicationError::LossTooRare);
        }
        let loss = Loss::Packets { lost: 1, of: 65_535 };
        assert_eq!(tolerance(Application { loss, burst: Some(9), ..VOICE }), (1, 65_535));
    }

    proptest! {
        /// Fails when windows allow a greater loss or longer bursts than said, or when a window
        /// shorter by one would do: tried with `burst` for `burst / 2`, and without `div_ceil`.
        #[test]
        fn media_windows_guarantee_the_requested_quality(
            lost in 0..50u32, more in 0..500u32, frames in any::<bool>(), packets in 1..20u32,
            burst in prop::option::of(0..40u32),
        ) {
            let of = lost + more + 1;
            let loss = if frames { Loss::Frames { lost, of } } else { Loss::Packets { lost, of } };
            let asked = Application { packets_per_frame: packets, loss, burst, ..VOICE };
            let (x, y) = tolerance(asked);
            let (x, y) = (u64::from(x), u64::from(y));
            let of = u64::from(of) * if frames { u64::from(packets) } else { 1 };
            prop_assert!(x * of <= y * u64::from(lost));
            prop_assert!(x == 0 || x * of > (y - 1) * u64::from(lost));
            prop_assert!(burst.is_none_or(|burst| 2 * x <= u64::from(burst)));
        }
    }
}
