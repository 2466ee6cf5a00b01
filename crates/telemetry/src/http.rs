//! Pages over HTTP on loopback, one request a connection, and for pages that stay open events and actions:
//! so little that no HTTP crate is worth its code.
//!
//! One thread serves all connections without waiting for any of them, nor for an action. A connection has a deadline
//! from request to answer, and when all places are occupied the oldest one makes room. Requests that
//! come soon after one another share one page, so scraping costs no more the more clients scrape.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;

mod actions;
mod host;
mod live;
mod request;
#[cfg(test)]
mod tests;

pub use actions::{Action, Actions, Refusal};
use actions::{Done, Gate, Pending};
use host::{Host, host, is_loopback};
pub use live::Events;
use live::Fields;
use request::{BodyLength, head_of};

/// The longest request that is read.
pub const LONGEST: usize = 8 << 10;

/// How often to look for deadlines, and how long to pause when no descriptors are left.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The type of a metrics page.
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The type of JSON.
const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

/// The content of a page, or why it is unavailable now.
pub type Body = Result<String, String>;

/// A page: its path, its type, and how it is made.
pub struct Page {
    path: &'static str,
    kind: &'static str,
    /// Further fields of the answer, each with its end of line.
    fields: &'static str,
    make: Box<dyn Fn() -> Body + Send>,
    /// How it was made last, and when.
    last: Option<(Instant, Arc<Made>)>,
}

type Made = Result<Arc<[u8]>, String>;

impl Page {
    /// A page.
    pub fn new(
        path: &'static str,
        kind: &'static str,
        make: impl Fn() -> Body + Send + 'static,
    ) -> Page {
        Page { path, kind, fields: "", make: Box::new(make), last: None }
    }

    /// Adds fields to its answers, each with its end of line.
    pub fn with_fields(mut self, fields: &'static str) -> Page {
        self.fields = fields;
        self
    }

    /// The page of metrics, which [`Text`](crate::exposition::Text) writes, at `/metrics`.
    pub fn metrics(make: impl Fn() -> Body + Send + 'static) -> Page {
        Page::new("/metrics", METRICS, make)
    }

    /// The status as JSON, at `/status`.
    pub fn status<T: Serialize>(make: impl Fn() -> Result<T, String> + Send + 'static) -> Page {
        Page::new("/status", JSON, move || {
            serde_json::to_string_pretty(&make()?).map_err(|e| e.to_string())
        })
    }

    /// The page, rebuilt only if the last one is older than `fresh`.
    fn get(&mut self, fresh: Duration) -> Arc<Made> {
        if let Some((made_at, made)) = &self.last {
            if made_at.elapsed() < fresh {
                return Arc::clone(made);
            }
        }
        let made = Arc::new((self.make)().map(|body| body.into_bytes().into()));
        self.last = Some((Instant::now(), Arc::clone(&made)));
        made
    }
}

/// Limits on clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time.
    pub connections: usize,
    /// How long a connection may last, from its beginning to the last byte of the answer.
    pub patience: Duration,
    /// For how long a page is cached.
    pub fresh: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 32,
            patience: Duration::from_secs(5),
            fresh: Duration::from_millis(250),
        }
    }
}

/// Pages that are served. Dropping it closes them at once, and waits for the action that runs.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// The thread ends when this is closed.
    alive: Option<UnixStream>,
    /// The one that serves, then the one that acts, which ends after it.
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Serves pages on an address of this machine's loopback, by a thread that first calls `prepare`: it
    /// drops there the privileges that no page needs.
    ///
    /// # Errors
    /// Another address than loopback: counts and names are private, and a proxy
    /// can decide otherwise. Or the address cannot be bound.
    pub fn listen(
        bind: SocketAddr,
        pages: Vec<Page>,
        prepare: impl FnOnce() + Send + 'static,
    ) -> io::Result<Server> {
        Server::with(bind, pages, Limits::default(), prepare)
    }

    /// The same with other limits.
    ///
    /// # Errors
    /// As [`listen`](Server::listen).
    pub fn with(
        bind: SocketAddr,
        pages: Vec<Page>,
        limits: Limits,
        prepare: impl FnOnce() + Send + 'static,
    ) -> io::Result<Server> {
        Server::live(bind, pages, None, None, limits, prepare)
    }

    /// The same with a stream of events and actions.
    ///
    /// # Errors
    /// As [`listen`](Server::listen).
    pub fn live(
        bind: SocketAddr,
        pages: Vec<Page>,
        events: Option<Events>,
        actions: Option<Actions>,
        limits: Limits,
        prepare: impl FnOnce() + Send + 'static,
    ) -> io::Result<Server> {
        if !bind.ip().is_loopback() {
            let only = "pages are served on loopback only; put a proxy before it";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, only));
        }
        let listener = TcpListener::bind(bind)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (alive, ended) = UnixStream::pair()?;
        let builder = std::thread::Builder::new().name("metrics".to_owned());
        let (gate, worker) = actions.map(Actions::split).transpose()?.unzip();
        let mut threads = Vec::new();
        if let Some(worker) = worker {
            let builder = std::thread::Builder::new().name("actions".to_owned());
            threads.push(builder.spawn(move || worker.run())?);
        }
        let offer = Offer { pages, events, gate, fresh: limits.fresh };
        let service =
            Service { listener, ended, offer, limits, due: None, connections: Vec::new() };
        let serving = builder.spawn(move || {
            prepare();
            service.run();
        })?;
        threads.insert(0, serving);
        Ok(Server { address, alive: Some(alive), threads })
    }

    /// Where they are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.alive.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// State of the thread.
struct Service {
    listener: TcpListener,
    ended: UnixStream,
    /// Connections, in order of arrival. They are dropped before the other end of the actions, so that none
    /// that waits begins.
    connections: Vec<Connection>,
    offer: Offer,
    limits: Limits,
    /// When the next event is due, while there is a client.
    due: Option<Instant>,
}

/// Everything that can be asked for.
struct Offer {
    pages: Vec<Page>,
    events: Option<Events>,
    gate: Option<Gate>,
    fresh: Duration,
}

struct Connection {
    stream: TcpStream,
    began: Instant,
    state: State,
}

enum State {
    /// The head of a request, as far as received.
    Asking(Vec<u8>),
    /// The head of the answer and its body, and how much of both together was sent.
    Answering { head: Vec<u8>, body: Arc<[u8]>, sent: usize },
    /// The action that makes the answer.
    Acting(Pending),
    /// An event, as far as it was sent; none while the next is not due.
    Streaming { event: Arc<[u8]>, sent: usize },
}

/// Whether a connection stays open.
#[derive(PartialEq, Eq)]
enum Next {
    Waits,
    Over,
}

impl Service {
    fn run(mut self) {
        loop {
            let mut fds = vec![PollFd::new(self.ended.as_fd(), PollFlags::POLLIN)];
            fds.push(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN));
            let woken = self.offer.gate.as_ref().and_then(|gate| gate.woken.as_ref());
            fds.push(PollFd::new(woken.unwrap_or(&self.ended).as_fd(), PollFlags::POLLIN));
            fds.extend(self.connections.iter().map(|connection| {
                let wanted = match connection.state {
                    // Of an action that runs, to see that the client closes.
                    State::Asking(_) | State::Acting(_) => PollFlags::POLLIN,
                    State::Answering { .. } => PollFlags::POLLOUT,
                    State::Streaming { ref event, sent } if sent < event.len() => {
                        PollFlags::POLLOUT
                    }
                    // A client that closes becomes readable.
                    State::Streaming { .. } => PollFlags::POLLIN,
                };
                PollFd::new(connection.stream.as_fd(), wanted)
            }));
            let timeout = match self.connections.is_empty() {
                true => PollTimeout::NONE,
                false => {
                    let due = self.due.map(|due| due.saturating_duration_since(Instant::now()));
                    let wait = due.map_or(POLL_INTERVAL, |due| due.min(POLL_INTERVAL));
                    // Rounded up, so that an event is due when the wait ends.
                    let wait = wait.saturating_add(Duration::from_millis(1));
                    PollTimeout::try_from(wait).unwrap_or(PollTimeout::MAX)
                }
            };
            let polled = poll(&mut fds, timeout);
            let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(true)).collect();
            if polled.is_err_and(|e| e != nix::Error::EINTR) || ready[0] {
                return;
            }
            let patience = self.limits.patience;
            let offer = &mut self.offer;
            let mut ready = ready[1..].iter();
            let incoming = ready.next() == Some(&true);
            let answered = ready.next() == Some(&true);
            self.connections.retain_mut(|connection| {
                let ready = ready.next() == Some(&true);
                connection.lasts(patience) && !(ready && connection.advance(offer) == Next::Over)
            });
            if answered {
                self.answers();
            }
            self.event();
            if incoming {
                self.accept();
            }
        }
    }

    /// Gives their answers to the clients of actions. One that has left gets none.
    fn answers(&mut self) {
        let Some(gate) = &mut self.offer.gate else { return };
        let answers = gate.answers();
        for connection in &mut self.connections {
            let State::Acting(ref pending) = connection.state else { continue };
            let done = answers.iter().find(|done| done.id == pending.id());
            let (status, kind, text) = match (done, gate.has_ended()) {
                (Some(Done { status, body: Ok(text), .. }), _) => (*status, JSON, text.clone()),
                (Some(Done { status, body: Err(why), .. }), _) => {
                    (*status, PLAIN, format!("{why}\n"))
                }
                (None, true) => (actions::BROKEN, PLAIN, format!("{}\n", actions::ENDED)),
                (None, false) => continue,
            };
            let (head, body) = whole(status, kind, "", Arc::from(text.into_bytes()));
            connection.began = Instant::now();
            connection.state = State::Answering { head, body, sent: 0 };
        }
    }

    /// Gives all clients of the events the next one, when it is due. A client that has not yet read the last
    /// one misses it.
    fn event(&mut self) {
        let Some(events) = &mut self.offer.events else { return };
        let idle = |c: &&mut Connection| matches!(c.state, State::Streaming { ref event, sent } if sent == event.len());
        if !self.connections.iter().any(|c| matches!(c.state, State::Streaming { .. })) {
            self.due = None;
            return;
        }
        let now = Instant::now();
        if self.due.is_some_and(|due| due > now) {
            return;
        }
        self.due = Some(now + events.interval);
        let next = events.next();
        for connection in self.connections.iter_mut().filter(idle) {
            connection.began = now;
            connection.state = State::Streaming { event: Arc::clone(&next), sent: 0 };
        }
    }

    fn accept(&mut self) {
        // Not all clients, or accepted ones would wait.
        for _ in 0..self.limits.connections {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if self.connections.len() >= self.limits.connections.max(1) {
                        self.connections.remove(0);
                    }
                    let state = State::Asking(Vec::new());
                    self.connections.push(Connection { stream, began: Instant::now(), state });
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                // Descriptors may have run out; they come back when connections end.
                Err(_) => {
                    std::thread::sleep(POLL_INTERVAL);
                    return;
                }
            }
        }
    }
}

impl Connection {
    /// Whether it has time left: a client that waits for an event has no deadline, one that waits for an action
    /// that of actions.
    fn lasts(&self, patience: Duration) -> bool {
        let patience = match self.state {
            State::Streaming { ref event, sent } if sent == event.len() => return true,
            State::Acting(_) => actions::PATIENCE.max(patience),
            _ => patience,
        };
        self.began.elapsed() < patience
    }

    /// Reads or writes as much as possible without blocking.
    fn advance(&mut self, offer: &mut Offer) -> Next {
        loop {
            let done = match &mut self.state {
                State::Asking(request) => match request::read(
                    &mut self.stream,
                    request,
                    offer.gate.as_ref().map_or(0, Gate::longest),
                ) {
                    Ok(true) => {
                        self.state = match answer(request, offer) {
                            Answer::Whole { head, body } => {
                                State::Answering { head, body, sent: 0 }
                            }
                            Answer::Later(pending) => State::Acting(pending),
                            // The head, and the first event at once.
                            Answer::Events(head) => {
                                let first = offer.events.as_mut().map(Events::next);
                                let event = [head.as_slice(), &first.unwrap_or_default()].concat();
                                State::Streaming { event: event.into(), sent: 0 }
                            }
                        };
                        Ok(false)
                    }
                    other => other.map(|_| true),
                },
                State::Streaming { event, sent } => match &event[*sent..] {
                    // A client of events says nothing; one that closes, or speaks all the same, is left.
                    [] => self.stream.read(&mut [0; 256]).map(|_| true),
                    rest => self.stream.write(rest).map(|bytes| {
                        *sent += bytes;
                        bytes == 0
                    }),
                },
                // What a client says now is not kept. It is read once, so that one that does not stop delays
                // no other.
                State::Acting(_) => match self.stream.read(&mut [0; 256]) {
                    Ok(1..) => return Next::Waits,
                    other => other.map(|_| true),
                },
                State::Answering { head, body, sent } => {
                    let rest = match sent.checked_sub(head.len()) {
                        None => &head[*sent..],
                        Some(of_body) => &body[of_body..],
                    };
                    match rest.is_empty() {
                        true => Ok(true),
                        false => self.stream.write(rest).map(|bytes| {
                            *sent += bytes;
                            bytes == 0
                        }),
                    }
                }
            };
            match done {
                Ok(false) => {}
                Ok(true) => return Next::Over,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Next::Waits,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                // A client that closes has its answer.
                Err(_) => return Next::Over,
            }
        }
    }
}

/// The answer to a request.
enum Answer {
    /// A head and a body.
    Whole { head: Vec<u8>, body: Arc<[u8]> },
    /// The action that makes it.
    Later(Pending),
    /// The head of a stream of events.
    Events(Vec<u8>),
}

fn answer(request: &[u8], offer: &mut Offer) -> Answer {
    let (head, body) = request.split_at(head_of(request).unwrap_or(request.len()));
    let head = String::from_utf8_lossy(head);
    let mut lines = head.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (method, path, version) = (word(), word(), word());
    let path = path.split('?').next().unwrap_or_default();
    let fields = Fields::of(lines);
    let known: String = offer.known();
    let plain = |status, text: String| (status, PLAIN, "", Arc::from(text.into_bytes()));
    let streams = offer.events.as_ref().is_some_and(|events| events.path == path);
    let page = offer.pages.iter_mut().find(|page| page.path == path);
    let action = offer.gate.as_mut().and_then(|gate| Some((gate.find(path)?, gate)));
    let (status, kind, more, body) = match (method, host(&fields, version)) {
        (_, Err(Host::Missing)) => {
            plain("400 Bad Request", "name one host, such as localhost\n".into())
        }
        (_, Err(Host::Foreign)) => {
            let text = "these pages are for hosts of this machine's loopback, such as localhost\n";
            plain("421 Misdirected Request", text.into())
        }
        ("GET", Ok(())) if streams => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                        Cache-Control: no-store\r\nConnection: close\r\n\r\n";
            return Answer::Events(head.as_bytes().to_vec());
        }
        ("GET" | "HEAD", Ok(())) => match page {
            Some(page) => match &*page.get(offer.fresh) {
                Ok(body) => ("200 OK", page.kind, page.fields, Arc::clone(body)),
                Err(error) => plain("503 Service Unavailable", format!("{error}\n")),
            },
            None => plain("404 Not Found", known),
        },
        ("POST", Ok(())) => match action {
            Some(((place, longest), gate)) => match BodyLength::of_fields(&fields) {
                BodyLength::Missing => {
                    plain("411 Length Required", "give the length of the body\n".into())
                }
                BodyLength::Invalid => {
                    plain("400 Bad Request", "give one length of the body, in digits\n".into())
                }
                BodyLength::Known(bytes) if bytes > longest => {
                    let text = format!("a body of at most {longest} bytes\n");
                    plain("413 Content Too Large", text)
                }
                BodyLength::Known(bytes) => {
                    // What follows the body is not part of it.
                    let body = String::from_utf8_lossy(&body[..bytes.min(body.len())]);
                    match gate.submit(place, &fields, &body) {
                        Ok(pending) => return Answer::Later(pending),
                        Err((status, why)) => plain(status, format!("{why}\n")),
                    }
                }
            },
            None => plain("405 Method Not Allowed", known),
        },
        _ => plain("405 Method Not Allowed", known),
    };
    let (head, body) = whole(status, kind, more, body);
    let body = if method == "HEAD" { Arc::from([]) } else { body };
    Answer::Whole { head, body }
}

/// The answer to a request, without a connection; none where an action makes it.
pub(crate) fn answer_of(
    request: &[u8],
    page: Page,
    events: Events,
    actions: Actions,
) -> Option<Vec<u8>> {
    let (gate, _worker) = actions.split().ok()?;
    let pages = vec![page];
    let mut offer = Offer { pages, events: Some(events), gate: Some(gate), fresh: Duration::ZERO };
    match answer(request, &mut offer) {
        Answer::Whole { head, body } => Some([&head, &*body].concat()),
        Answer::Events(head) => Some(head),
        Answer::Later(_) => None,
    }
}

/// A whole answer: its head with further fields, and its body.
fn whole(status: &str, kind: &str, more: &str, body: Arc<[u8]>) -> (Vec<u8>, Arc<[u8]>) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         {more}Connection: close\r\n\r\n",
        body.len()
    );
    (head.into_bytes(), body)
}

impl Offer {
    /// A line for each request that is answered.
    fn known(&self) -> String {
        let pages = self.pages.iter().map(|p| format!("GET {}\n", p.path));
        let events = self.events.iter().map(|e| format!("GET {}\n", e.path));
        pages
            .chain(events)
            .chain(self.gate.iter().flat_map(Gate::paths).map(|path| format!("POST {path}\n")))
            .collect()
    }
}
