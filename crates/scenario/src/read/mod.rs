//! Reading shared by all kinds: files, sections, names and values.

pub(crate) mod file;
pub(crate) mod flows;
pub(crate) mod length;
pub(crate) mod policies;
pub(crate) mod trace;
pub(crate) mod values;
pub(crate) mod walk;

use std::path::Path;

use laxity_core::{Bytes, Time};

use crate::problem::Problems;

/// Returns the packets of one flow in a trace, in order of time, or an error.
pub type TraceLoader<'l> = dyn FnMut(&Path, &str) -> Result<Vec<(Time, Bytes)>, String> + 'l;

/// The context of every section beside its table.
pub(crate) struct Context<'c, 't> {
    pub(crate) out: &'c mut Problems<'t>,
    /// The folder of the scenario, to which paths are relative.
    pub(crate) folder: &'c Path,
    pub(crate) traces: &'c mut TraceLoader<'c>,
}
