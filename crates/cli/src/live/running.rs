//! Links and media servers in processes of their own: their announcements and the list of them.

use laxity_daemon::announce::{Announcement, RunningProgram, announce, running_programs};

use crate::live::link::record::{Link, Links, MediaServer, Process, STATUS_VERSION};
use crate::warning;

/// Announces this process to `laxity link status`. A failure is a note only.
pub fn show(what: impl Fn() -> Option<Links> + Send + 'static) -> Option<Announcement> {
    let say = move || serde_json::to_string(&what()?).ok();
    let failed = |error| {
        warning::say(format!("note: `laxity link status` cannot show this process: {error}"));
    };
    announce(say).map_err(failed).ok()
}

/// This process in its own announcement; readers get its ID and user from the kernel.
pub fn myself(program: &str) -> Process {
    Process { id: std::process::id(), user: 0, program: program.to_owned() }
}

/// The programs that run in this network namespace, on an interface or all.
pub fn look(device: Option<&str>) -> Links {
    let mut found = Links::default();
    // A kernel that does not list sockets gives none.
    for program in running_programs().unwrap_or_default() {
        match read(&program) {
            Some(links) => {
                found.links.extend(links.links);
                found.media_servers.extend(links.media_servers);
            }
            None => found.unresponsive.push(program.pid),
        }
    }
    if let Some(device) = device {
        found.links.retain(|link| link.device == device);
        (found.media_servers, found.unresponsive) = Default::default();
    }
    found
}

fn read(program: &RunningProgram) -> Option<Links> {
    let mut links: Links = serde_json::from_str(program.status.as_deref()?).ok()?;
    let is = |process: &mut Process| {
        (process.id, process.user) = (program.pid, program.user);
    };
    if links.version != STATUS_VERSION {
        return None;
    }
    links.links.iter_mut().filter_map(|link| link.process.as_mut()).for_each(is);
    links.media_servers.iter_mut().map(|server| &mut server.process).for_each(is);
    links.links.retain(|link| link.process.is_some());
    Some(links)
}

impl Links {
    /// Links of this process.
    pub fn of(program: &str, links: Vec<Link>) -> Links {
        let links = links.into_iter().map(|link| Link { process: Some(myself(program)), ..link });
        Links { links: links.collect(), ..Links::default() }
    }

    /// A media server in this process.
    pub fn of_server(server: MediaServer) -> Links {
        Links { media_servers: vec![server], ..Links::default() }
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.media_servers.is_empty() && self.unresponsive.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the status of a program of another version is shown, or that of this one is not.
    #[test]
    fn other_versions_are_unresponsive() {
        let read_version = |version| {
            let status = Links { version, ..Links::default() };
            let status = serde_json::to_string(&status).ok();
            read(&RunningProgram { pid: 7, user: 0, status }).is_some()
        };
        assert!(read_version(STATUS_VERSION));
        assert!(!read_version(STATUS_VERSION + 1));
    }
}
