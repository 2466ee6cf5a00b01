//! `laxity init --cpus`: reservations of CPU time for audio, video and games that run now.

mod draft;
mod programs;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::failure::Failure;
use crate::files::{self, Pending};
use crate::live::link::duration;
use crate::output;

use super::args::InitArgs;
use super::error::InitError;

/// The name of the file.
const FILE: &str = "cpus.toml";

/// Runs the command.
pub fn run(args: &InitArgs) -> Result<ExitCode, Failure> {
    let sample = duration("--sample", &args.sample)?;
    if sample.is_zero() || sample > Duration::from_secs(600) {
        let text = format!("--sample {}: choose a time up to 10 min", args.sample);
        return Err(Failure::Input(text));
    }
    let path = args.output.join(FILE);
    files::plan([("--output", Some(&path))])?;
    if !args.force && path.symlink_metadata().is_ok() {
        return Err(InitError::Exists(path).into());
    }
    let proc = Path::new("/proc");
    let found = programs::find(proc);
    if found.is_empty() {
        return Err(Failure::Refused(
            "no audio, video or game runs here that is known or plays sound; start it and run this \
             again, as its user or root"
                .to_owned(),
        ));
    }
    let measured = programs::measure(proc, found, sample);
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get().min(128));
    let draft = draft::draft(&measured, cpus, sample)?;
    write(&path, &draft.text)?;
    output::print(&summary(&draft, &path))?;
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let (mut file, pending) = Pending::create(path)?;
    file.write_all(text.as_bytes()).map_err(|e| Failure::write(&path.display().to_string(), &e))?;
    pending.complete()
}

fn summary(draft: &draft::Draft, path: &Path) -> String {
    let path = path.display();
    format!(
        "Wrote {path}: {} reservations, admitted; {} do not fit.\nNext:\n  laxity check {path}\n  sudo laxity cpu up, \
         then the commands in its comments\n",
        draft.admitted, draft.refused
    )
}
