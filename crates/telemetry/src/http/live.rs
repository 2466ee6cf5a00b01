//! Events and actions: what a page that is open in a browser needs beside pages.
//!
//! Events are server-sent events (HTML Living Standard, section 9.2): a connection that stays, bounded like
//! all connections, and dropped when its client does not read. An action is a POST that says the secret of
//! this server; a page of another site knows none, and its browser names the site in `Origin`.

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

/// A request that needs the secret: a POST with a bounded body.
pub struct Action {
    pub(super) path: &'static str,
    pub(super) longest: usize,
    pub(super) secret: String,
    pub(super) act: Box<dyn FnMut(&str) -> Body + Send>,
}

impl Action {
    /// An action at a path, on bodies of at most `longest` bytes. The field `Laxity-Token` of a request has
    /// to say `secret`. Answers are JSON.
    pub fn new(
        path: &'static str,
        longest: usize,
        secret: String,
        act: impl FnMut(&str) -> Body + Send + 'static,
    ) -> Action {
        Action { path, longest, secret, act: Box::new(act) }
    }

    /// The answer to a request with these fields: its status, and its body.
    pub(super) fn answer(&mut self, fields: &Fields<'_>, body: &str) -> (&'static str, Body) {
        let refused = |status, why: &str| (status, Err(why.to_owned()));
        if !fields.get("origin").is_none_or(is_own) {
            return refused("403 Forbidden", "this request comes from the page of another site");
        }
        match fields.get("laxity-token") {
            None => refused("401 Unauthorized", "the token is missing; open the printed address"),
            Some(token) if !same(token.as_bytes(), self.secret.as_bytes()) => refused(
                "403 Forbidden",
                "the token is that of another run; open the printed address",
            ),
            Some(_) => match (self.act)(body) {
                Ok(text) => ("200 OK", Ok(text)),
                Err(why) => refused("422 Unprocessable Content", &why),
            },
        }
    }
}

/// Compares in a time that does not tell how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

/// Whether an origin is a host of the loopback.
fn is_own(origin: &str) -> bool {
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
