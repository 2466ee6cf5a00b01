//! `laxity sweep`, built without the writer of Parquet files.

use std::process::ExitCode;

use crate::args::SweepArgs;
use crate::failure::Failure;

/// Refuses.
pub fn run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let SweepArgs { sweep, output, .. } = args;
    Err(Failure::Lacking(format!(
        "this laxity was built without sweeps, so it cannot write {} of {}; build it with `--features sweep`",
        output.display(),
        sweep.display()
    )))
}
