//! `laxity sweep`, on as many threads as there are processors.

use std::process::ExitCode;

use laxity_sim::parallel;
use laxity_sweep::{Dataset, Sweep, SweepError};

use crate::args::SweepArgs;
use crate::failure::{Failure, INTERRUPTED};
use crate::{files, interrupt, output, warning};

/// Runs the command: the missing parts of the dataset.
pub fn run(args: &SweepArgs) -> Result<ExitCode, Failure> {
    let sweep = Sweep::read(&args.sweep).map_err(failure)?;
    files::read([args.sweep.as_path()]);
    let dataset = Dataset::open(&args.output, &sweep).map_err(failure)?;
    let missing = dataset.missing(&sweep);
    let there = sweep.parts() - missing.len() as u64;
    if there > 0 {
        warning::say(format_args!("{there} of {} parts are there already", sweep.parts()));
    }
    let control = interrupt::control();
    let done = parallel::all(&missing, &control, |part| {
        let bytes = sweep.run_until(*part, &control)?;
        // A stopped run lacks its end.
        if control.stopped() {
            return Ok(0);
        }
        dataset.write(*part, &bytes)?;
        Ok::<u64, SweepError>(1)
    });
    let done: u64 = done.map_err(failure)?.iter().sum();
    let parts = sweep.parts();
    if control.stopped() {
        warning::say(format_args!(
            "interrupted; {} of {parts} parts are there, and the same command goes on with the rest",
            there + done
        ));
        return Ok(ExitCode::from(INTERRUPTED));
    }
    let (simulations, folder) = (sweep.simulations(), args.output.display());
    output::print(&format!("{simulations} simulations in {parts} parts: {folder}"))?;
    Ok(ExitCode::SUCCESS)
}

fn failure(error: SweepError) -> Failure {
    match error {
        SweepError::File { .. } | SweepError::Encoding(_) => Failure::Internal(error.to_string()),
        _ => Failure::input(error),
    }
}
