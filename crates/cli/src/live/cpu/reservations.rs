//! Reserving and releasing: directly by the scheduler with the privileges for it, else through the server.

use std::time::Duration;

use laxity_cpu::Reservation;
use laxity_reserve::{Client, Code, Error, Request};

use super::backend;
use crate::failure::Failure;

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let text = error.to_string();
        match error.code() {
            Some(Code::NoTask | Code::Invalid) => Failure::Input(text),
            Some(Code::Malformed | Code::Version | Code::Internal) => Failure::Internal(text),
            Some(_) => Failure::Refused(text),
            None if matches!(error, Error::Unreachable { .. }) => Failure::Lacking(text),
            None => Failure::Internal(text),
        }
    }
}

/// Falls back to the server when the scheduler is not accessible.
fn with_fallback<T>(
    direct: Result<T, Failure>,
    request: impl FnOnce(&Client) -> Result<T, Error>,
) -> Result<T, Failure> {
    match direct {
        Err(Failure::Lacking(why)) => match Client::connect() {
            Ok(client) => Ok(request(&client)?),
            Err(error) => Err(Failure::Lacking(format!("{why}; or else: {error}"))),
        },
        result => result,
    }
}

/// Returns the CPU.
pub fn reserve(pid: u32, reservation: Reservation, inherit: bool) -> Result<u32, Failure> {
    with_fallback(backend::reserve(pid, reservation, inherit), |client| {
        request(client, pid, reservation, inherit)
    })
}

/// Reserves for a task and its future children. The server is asked first: a service may have root's privileges and
/// still be killed for a call of `bpf(2)`.
pub fn reserve_by_server_first(pid: u32, reservation: Reservation) -> Result<u32, Failure> {
    match Client::connect() {
        Ok(client) => Ok(request(&client, pid, reservation, true)?),
        Err(_) => reserve(pid, reservation, true),
    }
}

fn request(
    client: &Client,
    pid: u32,
    reservation: Reservation,
    inherit: bool,
) -> Result<u32, Error> {
    let Reservation { budget, period, .. } = reservation;
    let [runtime, period] = [budget, period].map(|span| Duration::from_nanos(span.0));
    let request = Request::new(runtime, period).for_task(pid);
    let request = if inherit { request.inherited() } else { request };
    client.reserve(&request).map(|grant| grant.cpu)
}

pub fn release(pid: u32) -> Result<(), Failure> {
    with_fallback(backend::release(pid), |client| client.release(Some(pid)))
}
