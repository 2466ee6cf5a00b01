//! Server-sent events (HTML Living Standard, section 9.2): a connection that stays, bounded like all
//! connections, and dropped when its client does not read. And the fields of requests.

use std::sync::Arc;
use std::time::Duration;

use super::Body;

/// A stream of events, one at a time made for all clients.
pub struct Events {
    pub(super) path: &'static str,
    pub(super) interval: Duration,
    pub(super) make: Box<dyn FnMut() -> Body + Send>,
}

impl Events {
    /// A stream at a path, with an event each interval. Bodies are one line; an error ends no stream, it is
    /// an event named `problem`.
    pub fn new(
        path: &'static str,
        interval: Duration,
        make: impl FnMut() -> Body + Send + 'static,
    ) -> Events {
        Events { path, interval, make: Box::new(make) }
    }

    /// The next event as text.
    pub(super) fn next(&mut self) -> Arc<[u8]> {
        let text = match (self.make)() {
            Ok(line) => format!("data: {}\n\n", line.replace(['\r', '\n'], " ")),
            Err(why) => format!("event: problem\ndata: {}\n\n", why.replace(['\r', '\n'], " ")),
        };
        Arc::from(text.into_bytes())
    }
}

/// Whether an origin is a host of the loopback.
pub(super) fn is_own(origin: &str) -> bool {
    origin.strip_prefix("http://").is_some_and(super::is_loopback)
}

/// The fields of a request.
pub(super) struct Fields<'a>(pub Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    /// Of the lines behind the first.
    pub(super) fn of(lines: impl Iterator<Item = &'a str>) -> Fields<'a> {
        let lines = lines.take_while(|line| !line.is_empty());
        let field = |line: &'a str| line.split_once(':').map(|(name, v)| (name, v.trim()));
        Fields(lines.filter_map(field).collect())
    }

    /// All values of a field.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'a str> + use<'a, '_> {
        let is = name.to_owned();
        let of = move |(name, value): &(&'a str, &'a str)| {
            name.eq_ignore_ascii_case(&is).then_some(*value)
        };
        self.0.iter().filter_map(of)
    }

    /// The first value of a field.
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.all(name).next()
    }
}
