//! The `laxity` command. Results go to standard output and nothing else does; progress, warnings
//! and errors go to standard error.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod certify;
mod check;
mod doctor;
#[cfg(test)]
mod examples_tests;
mod failure;
mod files;
mod fit;
mod init;
mod interrupt;
mod kind;
mod live;
mod memory;
mod output;
mod page;
mod progress;
#[cfg(test)]
mod reference_tests;
mod renamed;
mod reproduce;
mod simulate;
mod sweep;
mod tooling;
mod trace_events;
mod validate;
mod warning;

use std::process::ExitCode;

use clap::{Arg, CommandFactory as _, FromArgMatches as _};

use args::{Command, Laxity};

/// Parses the command line; wrong usage and --help end the process.
fn arguments() -> Laxity {
    let mut command = with_signs(renamed::accepted(Laxity::command()));
    let matches = command.get_matches_mut();
    warning::begin(&command, &matches);
    Laxity::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Lets options accept values with a sign, so that errors name the value: clap would parse it as an option
/// and advise to write `-- -1`.
fn with_signs(command: clap::Command) -> clap::Command {
    let with_sign = |arg: Arg| {
        if arg.is_positional() || !arg.get_action().takes_values() {
            return arg;
        }
        match arg.get_value_names() {
            Some([name]) if ["TIME", "RATE", "SIZE"].contains(&name.as_str()) => {
                arg.allow_hyphen_values(true)
            }
            _ => arg.allow_negative_numbers(true),
        }
    };
    command.mut_args(with_sign).mut_subcommands(with_signs)
}

fn main() -> ExitCode {
    // clap exits with 2 on bad usage and with 0 after --help, as agreed.
    let arguments = arguments();
    let resources = match &arguments.command {
        Command::Check(args) => Some(&args.resources),
        Command::Certify(args) => Some(&args.resources),
        Command::Simulate(args) => Some(&args.resources),
        Command::Sweep(args) => Some(&args.resources),
        Command::Validate(args) => Some(&args.resources),
        Command::Fit(args) => Some(&args.resources),
        Command::Reproduce(args) => Some(&args.resources),
        _ => None,
    };
    if let Some(resources) = resources {
        memory::limit(resources.memory);
    }
    let done = match &arguments.command {
        Command::Init(args) => init::run(args),
        Command::Check(args) => check::run(args),
        Command::Certify(args) => certify::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Sweep(args) => sweep::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Stream(command) => live::media::run(command),
        Command::Link(command) => live::link::run(command),
        Command::Top(args) => live::top::run(args),
        Command::Web(args) => live::web::run(args),
        Command::Cpu(command) => live::cpu::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Policies(args) => tooling::policies(args),
        Command::Schema => tooling::schema(),
        Command::Completions { shell } => tooling::completions(*shell),
        Command::Man { directory } => tooling::man(directory),
    };
    match done {
        Ok(code) => code,
        Err(failure) => {
            failure.print();
            failure.code()
        }
    }
}
