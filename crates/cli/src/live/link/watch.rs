//! `laxity link watch`

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::args::WatchArgs;
use super::{duration, now, table};
use crate::failure::Failure;
use crate::{interrupt, output};

/// Moves to the corner of the terminal and clears it.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Runs the command.
pub fn run(args: &WatchArgs) -> Result<ExitCode, Failure> {
    let interval = duration("--interval", &args.interval)?;
    let clear = if std::io::stdout().is_terminal() { CLEAR } else { "" };
    repeat(interval, args.count, || {
        let links = now(args.dev.as_deref())?;
        output::print(&format!("{clear}{}", table::links(&links, output::style())))
    })
}

/// Calls a function at once and after each interval, until Ctrl-C or a number of times.
pub fn repeat(
    interval: Duration,
    count: Option<u64>,
    mut act: impl FnMut() -> Result<(), Failure>,
) -> Result<ExitCode, Failure> {
    interrupt::control();
    let mut left = count.unwrap_or(u64::MAX);
    while left > 0 {
        let began = Instant::now();
        act()?;
        left -= 1;
        let rest = if left > 0 { interval.saturating_sub(began.elapsed()) } else { Duration::ZERO };
        if interrupt::wait(Some(rest)) {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}
