//! The `laxity` command. Results go to standard output and nothing else does; progress, warnings
//! and errors go to standard error.
#![forbid(unsafe_code)]

mod analysis;
mod args;
mod bench;
mod bridge;
mod check;
mod confine;
mod cpu;
mod cpus;
mod failure;
mod files;
mod fit;
mod interrupt;
mod link;
mod memory;
mod output;
mod progress;
mod recorder;
mod reproduce;
mod running;
mod simulate;
mod stream;
mod streams;
mod tooling;
mod top;
mod trace_events;
mod warning;

use std::process::ExitCode;

use clap::Parser;

use args::{Command, Laxity};

fn main() -> ExitCode {
    // clap exits with 2 on bad usage and with 0 after --help, as agreed.
    let arguments = Laxity::parse();
    let resources = match &arguments.command {
        Command::Check(args) => Some(&args.resources),
        Command::Simulate(args) => Some(&args.resources),
        Command::Fit(args) => Some(&args.resources),
        Command::Reproduce(args) => Some(&args.resources),
        _ => None,
    };
    if let Some(resources) = resources {
        memory::limit(resources.memory);
    }
    let done = match &arguments.command {
        Command::Check(args) => check::run(args),
        Command::Simulate(args) => simulate::run(args),
        Command::Fit(args) => fit::run(args),
        Command::Reproduce(args) => reproduce::run(args),
        Command::Stream(command) => stream::run(command),
        Command::Link(command) => link::run(command),
        Command::Top(args) => top::run(args),
        Command::Cpu(command) => cpu::run(command),
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
