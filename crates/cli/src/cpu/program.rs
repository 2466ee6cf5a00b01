//! What the command asks for on behalf of tasks: of the scheduler itself where it may, and else, as
//! any program does, of the server.

use std::time::Duration;

use laxity_cpu::Reservation;
use laxity_reserve::{Client, Code, Error, Request};

use super::backend;
use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let text = error.to_string();
        match error.code() {
            Some(Code::NoTask | Code::Unusable) => Failure::Input(text),
            Some(Code::Malformed | Code::Version | Code::Internal) => Failure::Internal(text),
            Some(_) => Failure::Refused(text),
            None if matches!(error, Error::Unreachable { .. }) => Failure::Lacking(text),
            None => Failure::Internal(text),
        }
    }
}

/// Asks the server when the scheduler cannot be asked from here.
fn or_server<T>(
    direct: Result<T, Failure>,
    ask: impl FnOnce(&Client) -> Result<T, Error>,
) -> Result<T, Failure> {
    match direct {
        Err(Failure::Lacking(why)) => match Client::connect() {
            Ok(client) => Ok(ask(&client)?),
            Err(error) => Err(Failure::Lacking(format!("{why}; or else: {error}"))),
        },
        done => done,
    }
}

/// Answers on which CPU.
pub fn reserve(pid: u32, asked: Reservation, inherit: bool) -> Result<u32, Failure> {
    or_server(backend::reserve(pid, asked, inherit), |client| {
        let [runtime, period] = [asked.budget, asked.period].map(|s| Duration::from_nanos(s.0));
        let request = Request::new(runtime, period).for_task(pid);
        let request = if inherit { request.inherited() } else { request };
        client.reserve(&request).map(|reserved| reserved.cpu)
    })
}

pub fn release(pid: u32) -> Result<(), Failure> {
    or_server(backend::release(pid), |client| client.release(Some(pid)))
}
