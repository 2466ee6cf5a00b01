//! The curve from which best-effort deadlines follow.

use laxity_curve::InversePiece;
use laxity_link::registry::DeadlineCurve;

use super::{Notice, PlanError, Rule, corners};
use crate::layout::link::{self, lx_piece, lx_service};

const MOST_PIECES: usize = link::LX_MAX_PIECES as usize;

/// Pieces of the curve, within the range of the programs.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pieces: Vec<(InversePiece, i64)>,
    saturated: u64,
    rule: Rule,
    restarts: bool,
}

impl Service {
    pub(super) fn new(
        (policy, rule): (&str, Rule),
        curve: Option<&DeadlineCurve>,
        managed: bool,
        notices: &mut Vec<Notice>,
    ) -> Result<Service, PlanError> {
        let Some(DeadlineCurve { inverse: curve, restarts_before_best_effort }) = curve else {
            return Ok(Service { pieces: Vec::new(), saturated: 0, rule, restarts: false });
        };
        let given = corners::at_most(MOST_PIECES, &corners::in_range(curve.pieces()));
        if given != curve.pieces() {
            let (found, kept) = (curve.pieces().len(), given.len());
            notices.push(Notice::FewerCorners { found, kept });
        }
        if given.len() > MOST_PIECES {
            return Err(PlanError::TooMany {
                what: "corners of the residual capacity, where `two-segment` has two",
                of: None,
                found: given.len(),
                most: MOST_PIECES,
            });
        }
        let out_of_range = || PlanError::OutOfRange {
            what: format!("the curve of `{policy}`"),
            remedy: "shorten deadlines and bursts, so that less than 144 MB lie below its last \
                     corner"
                .into(),
        };
        let mut pieces = Vec::with_capacity(given.len());
        for piece in &given {
            if !corners::is_in_range(piece) {
                return Err(out_of_range());
            }
            let intercept = i64::try_from(piece.intercept).map_err(|_| out_of_range())?;
            pieces.push((*piece, intercept));
        }
        let saturated = curve.saturated_above().unwrap_or(u64::MAX);
        let line = given.len() == 1
            && curve.saturated_above().is_none()
            && given[0].above == 0
            && given[0].intercept <= 0;
        // Where deadlines may be raised, the two rules count sizes that were not sent in different
        // ways.
        let line = line && (rule == Rule::Line || !managed);
        let rule = if line { Rule::Line } else { Rule::History };
        Ok(Service { pieces, saturated, rule, restarts: *restarts_before_best_effort })
    }

    /// Whether deadlines restart whenever no real-time packet waits; see
    /// [`laxity_link::assign`].
    pub(super) fn restarts(&self) -> bool {
        self.restarts
    }

    pub(super) fn rule(&self) -> Rule {
        self.rule
    }

    /// Writes a `struct lx_service`.
    pub(super) fn write(&self, place: &mut [u8]) {
        let places = lx_service::PIECE.elements(place, lx_piece::SIZEOF);
        for ((piece, intercept), place) in self.pieces.iter().zip(places) {
            lx_piece::ABOVE.set_u64(place, piece.above);
            lx_piece::SLOPE.set_u64(place, piece.slope);
            lx_piece::INTERCEPT.set(place, &intercept.to_ne_bytes());
            lx_piece::HORIZON.set_u64(place, link::LX_RANGE / piece.slope.max(1));
        }
        lx_service::MAX_WORK.set_u64(place, self.saturated);
        lx_service::NR_PIECES.set_u32(place, self.pieces.len() as u32);
        lx_service::MASK.set_u32(place, link::LX_HISTORY_PACKETS as u32 - 1);
    }
}
