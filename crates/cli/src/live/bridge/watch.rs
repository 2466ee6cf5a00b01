//! Looking at a bridge while it runs: over HTTP and in a file.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use laxity_telemetry::http::{Page, Server};

use super::Bridge;
use crate::failure::Failure;
use crate::live::confine::{Capabilities, keep};
use crate::live::link::export;
use crate::{output, warning};

/// Calls `query` with the bridge, as long as there is one.
pub fn with<T>(bridge: &Mutex<Option<Bridge>>, query: impl Fn(&Bridge) -> T) -> Option<T> {
    bridge.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(query)
}

/// Serves metrics and the status.
///
/// # Errors
/// The address cannot be listened at.
pub fn serve(address: SocketAddr, bridge: &Arc<Mutex<Option<Bridge>>>) -> Result<Server, Failure> {
    let look = || {
        let bridge = Arc::clone(bridge);
        move || with(&bridge, Bridge::status).flatten().ok_or("the link ends".to_owned())
    };
    let (metrics, status) = (look(), look());
    let pages =
        vec![Page::metrics(move || Ok(export::page(&metrics()?.links))), Page::status(status)];
    let failed = |e| Failure::input(format!("--listen {address}: {e}; choose another"));
    let server = Server::listen(address, pages, || keep(Capabilities::empty())).map_err(failed)?;
    warning::say(format!("metrics at http://{}/metrics", server.address()));
    Ok(server)
}

/// Writes the status, so that readers see a whole one.
///
/// # Errors
/// It cannot be written.
pub fn write_status(path: &Path, bridge: &Mutex<Option<Bridge>>) -> Result<(), Failure> {
    let Some(status) = with(bridge, Bridge::status).flatten() else { return Ok(()) };
    let text = serde_json::to_string_pretty(&status).map_err(Failure::input)?;
    output::file(path, &text)
}
