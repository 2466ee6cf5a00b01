//! `laxity init`: two commented scenarios for the line of a home or an office, or one for the CPUs of a machine.

mod admission;
mod answers;
pub mod args;
mod cpus;
mod device;
mod draft;
mod error;
mod line;
mod presets;
#[cfg(test)]
mod tests;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use laxity_scenario::quantity::print_bit_rate;

use crate::failure::Failure;
use crate::files::{self, Pending};
use crate::output;
use answers::{Answers, Machine, Terminal};
use args::InitArgs;
use draft::Draft;
use error::InitError;
use presets::Direction;

/// Runs the command.
pub fn run(args: &InitArgs) -> Result<ExitCode, Failure> {
    if args.cpus {
        return cpus::run(args);
    }
    let answers = ask(args)?;
    let drafts = Direction::BOTH.map(|direction| admission::admitted(&answers, direction));
    let [up, down] = drafts;
    let drafts = [up?, down?];
    let paths = Direction::BOTH.map(|direction| args.output.join(answers.file(direction)));
    write(args, &drafts, &paths)?;
    output::print(&summary(&answers, &drafts, &paths))?;
    Ok(ExitCode::SUCCESS)
}

/// The answers, with questions where input and messages are a terminal.
fn ask(args: &InitArgs) -> Result<Answers, InitError> {
    let table =
        |name: &str| std::fs::read_to_string(format!("/proc/net/{name}")).unwrap_or_default();
    let machine = Machine {
        default_route: device::default_route(&table("route"), &table("ipv6_route")),
        link_type: &|device| std::fs::read_to_string(format!("/sys/class/net/{device}/type")).ok(),
    };
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr().lock());
    let asks = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    let terminal = asks.then_some(Terminal { input: &mut input, output: &mut output });
    answers::answers(args, &machine, terminal)
}

/// Writes both files, or neither.
fn write(args: &InitArgs, drafts: &[Draft; 2], paths: &[PathBuf; 2]) -> Result<(), Failure> {
    files::plan(paths.iter().map(|path| ("--output", Some(path))))?;
    if let Some(path) = paths.iter().find(|path| !args.force && path.symlink_metadata().is_ok()) {
        return Err(InitError::Exists(path.clone()).into());
    }
    let mut complete = Vec::new();
    for (draft, path) in drafts.iter().zip(paths) {
        let (mut file, pending) = Pending::create(path)?;
        file.write_all(draft.text.as_bytes())
            .map_err(|e| Failure::write(&path.display().to_string(), &e))?;
        complete.push(pending);
    }
    complete.into_iter().try_for_each(Pending::complete)
}

/// The files written, and the next commands.
fn summary(answers: &Answers, drafts: &[Draft; 2], paths: &[PathBuf; 2]) -> String {
    let names: Vec<&str> = answers.with.iter().map(|(preset, _)| preset.name).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let mut text = String::new();
    for (draft, path) in drafts.iter().zip(paths) {
        let rate = print_bit_rate(draft.scenario.link.rate);
        text += &format!("Wrote {}: {rate}, admitted. With deadlines: {names}.\n", path.display());
    }
    let [up, down] = paths.each_ref().map(|path| path.display());
    text += &format!(
        "Next:\n  laxity check {up}\n  laxity check {down}\n  \
         sudo laxity link up {up} --ingress {down} --dev {}\n",
        answers.wan
    );
    text
}
