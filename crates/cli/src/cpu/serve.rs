//! `laxity cpu serve`

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use laxity_broker::share::Rules;
use laxity_broker::{Broker, Limits, Server, activated, group};
use laxity_daemon::folder::hides;
use laxity_daemon::socket::{folder_of, listen};
use laxity_live::http::{self, Page};

use super::args::ServeArgs;
use super::{backend, metrics};
use crate::confine::{Bpf, OF_KERNEL, confine};
use crate::failure::Failure;
use crate::{interrupt, warning};

/// How often it looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);

/// Serves until interrupted. Reservations stay, and so does the scheduler.
pub fn run(args: &ServeArgs) -> Result<(), Failure> {
    let (keeper, not_yet) = backend::keeper()?;
    let group = args.group.as_deref().map(|name| {
        group(name).ok_or_else(|| Failure::input(format!("--group {name}: there is no such group")))
    });
    let group = group.transpose()?;
    // Before anybody is served, so that nothing is left behind.
    let interrupted = interrupt::control();
    let path = args.socket.display();
    let passed = activated().map_err(|e| Failure::input(format!("socket activation: {e}")))?;
    let (listener, _place, at) = match passed {
        Some(listener) => (listener, None, "the socket that was passed".to_owned()),
        None => {
            let failed = |e| Failure::input(format!("--socket {path}: {e}; choose another"));
            let (listener, place) = listen(&args.socket, args.mode, group).map_err(failed)?;
            (listener, Some(place), path.to_string())
        }
    };
    let folder = folder_of(&args.socket);
    if _place.is_some() && hides(folder, args.mode) {
        let folder = folder.display();
        warning::say(format!(
            "note: the permissions of {folder} restrict {path} to its owner; `chmod 755 \
             {folder}` admits the others"
        ));
    }
    let broker = Arc::new(Broker::new(Rules::new(args.share), keeper));
    let mut said = format!("programs may reserve at {at}, each user up to {}", args.share);
    let watch = Mutex::new(backend::Watch::default());
    let counted = Arc::clone(&broker);
    let page = Page::new("/metrics", http::METRICS, move || {
        let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(metrics::page(watch.status().ok().as_ref(), &counted.counts))
    });
    let failed = |address, e| Failure::input(format!("--listen {address}: {e}; choose another"));
    let limits = http::Limits::default();
    let pages = args.listen.map(|address| {
        let served = http::Server::with(address, vec![page], limits, OF_KERNEL);
        served.map_err(|e| failed(address, e))
    });
    let pages = pages.transpose()?;
    confine(OF_KERNEL, Bpf::Used);
    let server = Server::start(listener, broker, Limits::default());
    let _server = server.map_err(|e| Failure::Internal(format!("{path}: {e}")))?;
    if let Some(pages) = &pages {
        said += &format!(", metrics at http://{}/metrics", pages.address());
    }
    warning::say(said);
    if let Some(not_yet) = not_yet {
        warning::say(not_yet);
    }
    while !interrupted.stopped() {
        std::thread::sleep(LOOK);
    }
    Ok(())
}
