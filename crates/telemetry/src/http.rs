//! Pages over HTTP on loopback, one request a connection: so little that no HTTP crate is worth
//! its code.
//!
//! One thread serves all connections without waiting for any of them. A connection has a deadline
//! from request to answer, and when all places are occupied the oldest one makes room. Requests that
//! come soon after one another share one page, so scraping costs no more the more clients scrape.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::Serialize;

#[cfg(test)]
mod tests;

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
        Page { path, kind, make: Box::new(make), last: None }
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

/// Pages that are served. Dropping it closes them at once.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    /// The thread ends when this is closed.
    alive: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
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
        if !bind.ip().is_loopback() {
            let only = "metrics are served on loopback only; put a proxy before it";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, only));
        }
        let listener = TcpListener::bind(bind)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (alive, ended) = UnixStream::pair()?;
        let builder = std::thread::Builder::new().name("metrics".to_owned());
        let service = Service { listener, ended, pages, limits, connections: Vec::new() };
        let thread = builder.spawn(move || {
            prepare();
            service.run();
        })?;
        Ok(Server { address, alive: Some(alive), thread: Some(thread) })
    }

    /// Where they are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the thread.
struct Service {
    listener: TcpListener,
    ended: UnixStream,
    pages: Vec<Page>,
    limits: Limits,
    /// Connections, in order of arrival.
    connections: Vec<Connection>,
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
            fds.extend(self.connections.iter().map(|connection| {
                let wanted = match connection.state {
                    State::Asking(_) => PollFlags::POLLIN,
                    State::Answering { .. } => PollFlags::POLLOUT,
                };
                PollFd::new(connection.stream.as_fd(), wanted)
            }));
            let timeout = match self.connections.is_empty() {
                true => PollTimeout::NONE,
                false => PollTimeout::try_from(POLL_INTERVAL).unwrap_or(PollTimeout::MAX),
            };
            let polled = poll(&mut fds, timeout);
            let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(true)).collect();
            if polled.is_err_and(|e| e != nix::Error::EINTR) || ready[0] {
                return;
            }
            let patience = self.limits.patience;
            let (pages, limits) = (&mut self.pages, &self.limits);
            let mut ready = ready[1..].iter();
            let incoming = ready.next() == Some(&true);
            self.connections.retain_mut(|connection| {
                let ready = ready.next() == Some(&true);
                connection.began.elapsed() < patience
                    && !(ready && connection.advance(pages, limits) == Next::Over)
            });
            if incoming {
                self.accept();
            }
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
    /// Reads or writes as much as possible without blocking.
    fn advance(&mut self, pages: &mut [Page], limits: &Limits) -> Next {
        loop {
            let done = match &mut self.state {
                State::Asking(head) => match read_head(&mut self.stream, head) {
                    Ok(true) => {
                        let (head, body) = answer(head, pages, limits.fresh);
                        self.state = State::Answering { head, body, sent: 0 };
                        Ok(false)
                    }
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

/// Reads up to the empty line that ends the head of a request: true when it came, false when it
/// never will.
fn read_head(stream: &mut TcpStream, head: &mut Vec<u8>) -> io::Result<bool> {
    let mut buffer = [0; 1024];
    loop {
        let bytes = stream.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..bytes]);
        let ends = |end: &[u8]| head.windows(end.len()).any(|window| window == end);
        if ends(b"\r\n\r\n") || ends(b"\n\n") {
            return Ok(true);
        }
        if bytes == 0 || head.len() > LONGEST {
            return Ok(false);
        }
    }
}

/// The head and the body of the answer to a request.
fn answer(request: &[u8], pages: &mut [Page], fresh: Duration) -> (Vec<u8>, Arc<[u8]>) {
    let request = String::from_utf8_lossy(request);
    let mut lines = request.lines();
    let mut words = lines.next().unwrap_or_default().split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (method, path, version) = (word(), word(), word());
    let path = path.split('?').next().unwrap_or_default();
    let offer: String = pages.iter().map(|p| format!("GET {}\n", p.path)).collect();
    let page = pages.iter_mut().find(|page| page.path == path);
    let plain = |status, text: String| (status, PLAIN, Arc::from(text.into_bytes()));
    let (status, kind, body) = match (method, host(lines, version), page) {
        (_, Err(Host::Missing), _) => {
            plain("400 Bad Request", "name one host, such as localhost\n".into())
        }
        (_, Err(Host::Foreign), _) => {
            let text = "these pages are for hosts of this machine's loopback, such as localhost\n";
            plain("421 Misdirected Request", text.into())
        }
        ("GET" | "HEAD", Ok(()), Some(page)) => match &*page.get(fresh) {
            Ok(body) => ("200 OK", page.kind, Arc::clone(body)),
            Err(error) => plain("503 Service Unavailable", format!("{error}\n")),
        },
        ("GET" | "HEAD", Ok(()), None) => plain("404 Not Found", offer),
        _ => plain("405 Method Not Allowed", offer),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    (head.into_bytes(), if method == "HEAD" { Arc::from([]) } else { body })
}

/// Why the host of a request is refused.
enum Host {
    Missing,
    Foreign,
}

/// Whether a request names a host of the loopback. The name of another site that resolves to this
/// machine would let that site's scripts read the pages in a browser on this machine.
fn host<'a>(fields: impl Iterator<Item = &'a str>, version: &str) -> Result<(), Host> {
    let mut hosts = fields.take_while(|line| !line.is_empty()).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then_some(value.trim())
    });
    match (hosts.next(), hosts.next()) {
        (None, _) if version == "HTTP/1.0" => Ok(()),
        (None, _) | (Some(_), Some(_)) => Err(Host::Missing),
        (Some(host), None) if is_loopback(host) => Ok(()),
        (Some(_), None) => Err(Host::Foreign),
    }
}

fn is_loopback(host: &str) -> bool {
    // A port may be another than ours where it is forwarded.
    let name = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => {
            if port.is_empty() || !port.bytes().all(|b| b.is_ascii_digit()) {
                return false;
            }
            name
        }
        _ => host,
    };
    let v6 = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    match v6 {
        Some(v6) => v6.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback()),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        }
    }
}
