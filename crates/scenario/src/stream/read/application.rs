//! `application`: the needs of a player, converted to attributes.

use laxity_core::Span;
use laxity_dwcs::{Attributes, Tolerance};

use crate::problem::Problems;
use crate::read::values;
use crate::read::walk::{MAX_SPAN, Section};
use crate::stream::model::Application;

pub(super) fn read(class: &Section<'_>, out: &mut Problems<'_>) -> Option<Application> {
    let section = class.table("application", out)?;
    let frames = values::frequency(&section, "frames", out);
    let packets = match section.has("packets") {
        true => values::whole(&section, "packets", out),
        false => Some(1),
    };
    let loss = values::percent(&section, "loss", out);
    let burst = values::whole(&section, "burst", out);
    Some(Application { frames: frames?, packets: packets?, loss: loss?, burst })
}

/// The tolerance and gap for the needs of a player.
pub(super) fn attributes(
    class: &Section<'_>,
    needs: &Application,
    out: &mut Problems<'_>,
) -> Option<(Tolerance, Span)> {
    let Some(terms) = needs.terms() else {
        let what = "this has too many digits";
        class.wrong("application", out, what, "give fewer decimals to `frames`");
        return None;
    };
    match terms.attributes() {
        Ok(Attributes { tolerance, gap: Some(gap), .. }) if gap <= MAX_SPAN => {
            Some((tolerance, gap))
        }
        Ok(_) => {
            let what = "this implies less than a packet in 1000 h";
            class.wrong("application", out, what, "raise `frames`");
            None
        }
        Err(error) => {
            let text = error.to_string();
            let (what, remedy) = text.split_once(": ").unwrap_or((&text, ""));
            class.wrong("application", out, format!("this implies {what}"), remedy);
            None
        }
    }
}
