//! `laxity cpu serve`

use std::sync::{Arc, Mutex, PoisonError};

use laxity_broker::share::UserLimits;
use laxity_broker::{Broker, ConnectionLimits, Server, activation_socket, group_id};
use laxity_daemon::directory::denies_access;
use laxity_daemon::socket::{directory_of, listen};
use laxity_telemetry::http::{self, Page};

use super::args::ServeArgs;
use super::{backend, metrics};
use crate::failure::Failure;
use crate::live::confine::{Bpf, OF_KERNEL, confine, keep};
use crate::{interrupt, warning};

/// Serves until interrupted. The scheduler and its reservations remain.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    let (reservation_backend, not_running) = backend::reservation_backend()?;
    let group = args.group.as_deref().map(|name| {
        group_id(name)
            .ok_or_else(|| Failure::input(format!("--group {name}: there is no such group")))
    });
    let group = group.transpose()?;
    // Handles signals before the socket exists, so that an interrupt removes it.
    interrupt::control();
    let path = args.socket.display();
    let passed =
        activation_socket().map_err(|e| Failure::input(format!("socket activation: {e}")))?;
    let (listener, _file, address) = match passed {
        Some(listener) => (listener, None, "the socket that was passed".to_owned()),
        None => {
            let failed = |e| Failure::input(format!("--socket {path}: {e}; choose another"));
            let (listener, file) = listen(&args.socket, args.mode, group).map_err(failed)?;
            (listener, Some(file), path.to_string())
        }
    };
    let directory = directory_of(&args.socket);
    if _file.is_some() && denies_access(directory, args.mode) {
        let directory = directory.display();
        warning::say(format!(
            "note: the permissions of {directory} restrict {path} to its owner; `chmod 755 \
             {directory}` admits the others"
        ));
    }
    let broker = Arc::new(Broker::new(UserLimits::new(args.share), reservation_backend));
    let mut message = format!("programs may reserve at {address}, each user up to {}", args.share);
    let monitor = Mutex::new(backend::StatusMonitor::default());
    let counting = Arc::clone(&broker);
    let page = Page::metrics(move || {
        let mut monitor = monitor.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(metrics::page(monitor.status().ok().as_ref(), &counting.counters))
    });
    let failed = |address, e| Failure::input(format!("--listen {address}: {e}; choose another"));
    let pages = args.listen.map(|address| {
        let served = http::Server::listen(address, vec![page], || keep(OF_KERNEL));
        served.map_err(|e| failed(address, e))
    });
    let pages = pages.transpose()?;
    confine(OF_KERNEL, Bpf::Allowed);
    let server = Server::start(listener, broker, ConnectionLimits::default());
    let _server = server.map_err(|e| Failure::Internal(format!("{path}: {e}")))?;
    if let Some(pages) = &pages {
        message += &format!(", metrics at http://{}/metrics", pages.address());
    }
    warning::say(message);
    if let Some(warning) = not_running {
        warning::say(warning);
    }
    interrupt::wait(None);
    Ok(())
}
