//! `laxity stream`: a media server, a receiver that measures, and requests to a running server.

mod control;
mod receive;
mod serve;
mod table;

use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

use laxity_core::Span;
use laxity_media::server::ServerError;
use laxity_scenario::quantity;

use crate::args::StreamCommand;
use crate::failure::Failure;

/// Runs the command.
pub fn run(command: &StreamCommand) -> Result<ExitCode, Failure> {
    match command {
        StreamCommand::Serve(args) => serve::run(args),
        StreamCommand::Receive(args) => receive::run(args),
        StreamCommand::Control(args) => control::run(args),
    }
}

/// The failure of a server: of its input, of this machine, or of the system.
fn of_server(error: ServerError) -> Failure {
    match &error {
        ServerError::System { source, .. } => of_system(&error, source),
        ServerError::Stopped => Failure::Internal(error.to_string()),
        _ => Failure::input(error),
    }
}

fn of_system(what: impl Display, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind::{
        AddrInUse, AddrNotAvailable, AlreadyExists, InvalidInput, NotADirectory, NotFound,
        PermissionDenied,
    };
    match error.kind() {
        PermissionDenied => Failure::Lacking(format!("{what}; run as a permitted user")),
        // Addresses, and paths of sockets, which are short and lie in folders that exist.
        AddrInUse | AddrNotAvailable | AlreadyExists | NotFound | NotADirectory | InvalidInput => {
            Failure::input(format!("{what}; choose another"))
        }
        _ => Failure::Internal(what.to_string()),
    }
}

fn span(option: &str, text: &str) -> Result<Span, Failure> {
    quantity::span(text).map_err(|e| Failure::quantity(option, text, &e))
}

fn duration(option: &str, text: Option<&String>) -> Result<Option<Duration>, Failure> {
    let read = |text: &String| span(option, text).map(|span| Duration::from_nanos(span.0));
    text.map(read).transpose()
}
