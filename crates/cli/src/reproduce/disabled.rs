//! `laxity reproduce`, built without the papers' experiments.

use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;

use crate::args::ReproduceArgs;
use crate::failure::Failure;

/// Any name: the papers are not known.
pub fn papers() -> NonEmptyStringValueParser {
    NonEmptyStringValueParser::new()
}

/// Refuses.
pub fn run(args: &ReproduceArgs) -> Result<ExitCode, Failure> {
    let ReproduceArgs { paper, only, seeds, quick, report, json, .. } = args;
    let _ = (only, seeds, quick, report, json);
    Err(Failure::Lacking(format!(
        "this laxity was built without experiments, so it cannot rerun {paper}; build it with \
         `--features reproduce`"
    )))
}
