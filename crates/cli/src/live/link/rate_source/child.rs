//! The program that measures rates, as a child process.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::SyncSender;

use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};

use super::super::args::RunRateSourceArgs;
use crate::failure::Failure;

/// Longer lines are garbage.
const MAX_LINE: usize = 256;

/// Output of a program, with the number of its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It has printed a line.
    Line(u64, String),
    /// It has closed its output.
    End(u64),
}

/// A running program, alone in its process group. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Program(Child);

impl Program {
    /// Starts a program. `number` tells its events from those of earlier starts.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        words: &[String],
        number: u64,
        events: &SyncSender<Event>,
    ) -> std::io::Result<Program> {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let output = child.stdout.take();
        let events = events.clone();
        std::thread::spawn(move || {
            if let Some(output) = output {
                read_lines(output, number, &events);
            }
            let _ = events.send(Event::End(number));
        });
        Ok(Program(child))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

/// Hands over lines until the output is closed or nobody wants them.
fn read_lines(mut output: impl std::io::Read, number: u64, events: &SyncSender<Event>) {
    let (mut line, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = output.read(&mut buffer) {
        for byte in &buffer[..length] {
            if *byte != b'\n' {
                if line.len() <= MAX_LINE {
                    line.push(*byte);
                }
                continue;
            }
            // A line that is too long is handed over as garbage.
            let text = match line.len() > MAX_LINE {
                true => String::from("?"),
                false => String::from_utf8_lossy(&line).into_owned(),
            };
            line.clear();
            if events.send(Event::Line(number, text)).is_err() {
                return;
            }
        }
    }
}

/// Runs `laxity link run-rate-source`: becomes the program, which the kernel kills with its parent.
pub fn run(args: &RunRateSourceArgs) -> Result<ExitCode, Failure> {
    let internal = |error: std::io::Error| Failure::Internal(format!("--rate-from: {error}"));
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| internal(e.into()))?;
    // The parent may have died before.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get().unsigned_abs() != args.parent) {
        return Ok(ExitCode::FAILURE);
    }
    let Some((program, arguments)) = args.command.split_first() else {
        return Ok(ExitCode::FAILURE);
    };
    let error = Command::new(program).args(arguments).exec();
    Err(Failure::Input(format!("--rate-from {program}: {error}")))
}
