//! `application`: what a player needs, turned into attributes.

use laxity_core::Span;
use laxity_stream::Tolerance;

use crate::problem::Problems;
use crate::read::values;
use crate::read::walk::{MAX_SPAN, Section};
use crate::streams::model::{Application, Share};

pub(super) fn read(class: &Section<'_>, out: &mut Problems<'_>) -> Option<Application> {
    let section = class.table("application", out)?;
    let frames = values::frequency(&section, "frames", out);
    let packets = match section.has("packets") {
        true => values::whole(&section, "packets", out),
        false => Some(1),
    };
    let loss = values::percent(&section, "loss", out);
    let burst = match section.has("burst") {
        true => values::whole(&section, "burst", out),
        false => Some(1),
    };
    Some(Application { frames: frames?, packets: packets?, loss: loss?, burst: burst? })
}

/// The tolerance and gap that keep a player content, on the safe side.
///
/// A frame is lost when any of its packets is. So `burst` losses harm at most so many frames, and
/// spread over a window of `burst * packets / loss` packets they are no larger share of its frames
/// than `loss`. The gap is rounded down.
pub(super) fn attributes(
    class: &Section<'_>,
    needs: &Application,
    out: &mut Problems<'_>,
) -> Option<(Tolerance, Span)> {
    let per_second = u128::from(needs.frames.0) * u128::from(needs.packets);
    let gap = u64::try_from(1_000_000_000_000_000 / per_second.max(1)).unwrap_or(u64::MAX);
    if gap == 0 || gap > MAX_SPAN.0 {
        let (what, remedy) = match gap {
            0 => ("more than a packet each nanosecond", "lower `frames` or `packets`"),
            _ => ("less than a packet in 1000 h", "raise `frames`"),
        };
        class.wrong("application", out, format!("this stands for {what}"), remedy);
        return None;
    }
    let tolerance = match needs.loss {
        Share(0) => Tolerance::new(0, 1),
        Share::WHOLE => Tolerance::new(1, 1),
        Share(millionths) => {
            let packets = u64::from(needs.burst) * u64::from(needs.packets);
            Tolerance::new(needs.burst.into(), (packets * 1_000_000).div_ceil(millionths.into()))
        }
    };
    if let Err(error) = &tolerance {
        let what = format!("this stands for {error}");
        let remedy = "lower `burst` or `packets`, or raise `loss`";
        class.wrong("application", out, what, remedy);
    }
    Some((tolerance.ok()?, Span(gap)))
}
