//! The curve from which best-effort deadlines follow.

use laxity_curve::{InverseCurve, InversePiece};
use laxity_link::assign::{Assigner, Exact};

use super::{Notice, PlanError, Rule, TERM, corners};
use crate::struct_writer::StructWriter;

/// `LX_PIECES`.
const MOST_PIECES: usize = 16;
/// `LX_REMEMBERED`.
pub const REMEMBERED: usize = 1024;
/// `LX_RANGE`.
const RANGE: u64 = 1 << 62;

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
        policy: &'static str,
        curve: Option<&InverseCurve>,
        notices: &mut Vec<Notice>,
    ) -> Result<Service, PlanError> {
        let Some(curve) = curve else {
            let rule = if policy == "slack" { Rule::Slack } else { Rule::Background };
            return Ok(Service { pieces: Vec::new(), saturated: 0, rule, restarts: false });
        };
        let given = corners::at_most(MOST_PIECES, curve.pieces());
        if given.len() < curve.pieces().len() {
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
            let above = i128::from(piece.above) * laxity_core::NANOBITS_PER_BYTE;
            if above >= TERM || piece.intercept.abs() >= TERM {
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
        let rule = if line { Rule::Line } else { Rule::History };
        Ok(Service { pieces, saturated, rule, restarts: policy == Exact::INFO.name })
    }

    /// Whether deadlines restart whenever no real-time packet waits; see
    /// [`laxity_link::assign`].
    pub(super) fn restarts(&self) -> bool {
        self.restarts
    }

    pub(super) fn rule(&self) -> Rule {
        self.rule
    }

    /// `struct lx_service`.
    pub(super) fn write(&self, writer: &mut StructWriter) {
        writer.array(MOST_PIECES, 32, &self.pieces, |i, (piece, intercept)| {
            i.u64(piece.above).u64(piece.slope).i64(*intercept).u64(RANGE / piece.slope.max(1));
        });
        writer.u64(self.saturated).u32(self.pieces.len() as u32).u32(REMEMBERED as u32 - 1);
    }
}
