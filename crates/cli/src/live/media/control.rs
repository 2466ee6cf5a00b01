//! `laxity stream control`: one request to a running server.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use laxity_media::control::Request;
use serde::Deserialize as _;
use serde_json::Value;

use super::of_system;
use crate::args::ControlArgs;
use crate::failure::{Failure, NO};
use crate::{output, warning};

/// Runs the command.
pub fn run(args: &ControlArgs) -> Result<ExitCode, Failure> {
    // Checked before sending, so that the error has a remedy.
    let request: Value = serde_json::from_str(&args.request).map_err(|e| {
        Failure::input(format!(
            "the request is not JSON: {e}; write one such as '{{\"list\": {{}}}}'"
        ))
    })?;
    Request::deserialize(&request).map_err(|e| {
        Failure::input(format!(
            "the request: {e}; `laxity stream control --help` shows some, docs/reference/running.md all"
        ))
    })?;
    let path = args.socket.display();
    let failed = |e: std::io::Error| of_system(format!("{path}: {e}"), &e);
    let mut stream = UnixStream::connect(&args.socket)
        .map_err(|e| Failure::input(format!("{path}: {e}; is a server running with --control?")))?;
    writeln!(stream, "{request}").map_err(failed)?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).map_err(failed)?;
    let answer: Value = serde_json::from_str(&line)
        .map_err(|_| Failure::Internal(format!("{path}: the server answered {line:?}")))?;
    match answer {
        Value::Object(mut answer) if answer.contains_key("ok") => {
            output::json(&answer.remove("ok"))?;
            Ok(ExitCode::SUCCESS)
        }
        answer => {
            warning::say(answer["error"].as_str().unwrap_or("the server refused without a reason"));
            Ok(ExitCode::from(NO))
        }
    }
}
