//! How far each flow may go: smallest deadline, largest rate, largest burst.

use alloc::vec::Vec;

use laxity_core::{Bytes, Rate, Span};

use crate::{CurveError, FlowSpec, LinkSpec};

/// What would be admitted for one flow, all else unchanged; counted on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Suggestion {
    /// The smallest deadline in whole ns; `None` when none would do.
    pub min_deadline: Option<Span>,
    /// The largest long-term rate in whole bit/s, at most the peak rate.
    pub max_rate: Option<Rate>,
    /// The largest burst in whole bytes.
    pub max_burst: Option<Bytes>,
}

/// For each flow how far it may go.
pub fn suggest(_link: &LinkSpec, flows: &[FlowSpec]) -> Result<Vec<Suggestion>, CurveError> {
    Ok(alloc::vec![Suggestion::default(); flows.len()])
}
