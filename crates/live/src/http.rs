//! Pages over HTTP on loopback, one request a connection: so little that no HTTP crate is worth
//! its code.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest request that is read.
pub(crate) const LONGEST: usize = 8 << 10;

/// How long one client may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// The type of a metrics page.
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The type of JSON.
pub const JSON: &str = "application/json";

/// What a page holds, or why it cannot be had now.
pub type Body = Result<String, String>;

/// A page: its path, its type, and how it is made for each request.
pub struct Page {
    path: &'static str,
    kind: &'static str,
    make: Box<dyn Fn() -> Body + Send>,
}

impl Page {
    /// A page.
    pub fn new(
        path: &'static str,
        kind: &'static str,
        make: impl Fn() -> Body + Send + 'static,
    ) -> Page {
        Page { path, kind, make: Box::new(make) }
    }
}

/// Pages that are served. Dropping it closes them.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves pages on an address of this machine's loopback.
    ///
    /// # Errors
    /// Another address than loopback: counts and names are nobody else's business, and a proxy
    /// can decide otherwise. Or the address cannot be bound.
    pub fn listen(bind: SocketAddr, pages: Vec<Page>) -> io::Result<Server> {
        if !bind.ip().is_loopback() {
            let only = "metrics are served on loopback only; put a proxy before it";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, only));
        }
        let listener = TcpListener::bind(bind)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let builder = std::thread::Builder::new().name("metrics".to_owned());
        let thread = builder.spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                match listener.accept() {
                    // A client that hangs up has what it wanted.
                    Ok((stream, _)) => drop(answer(stream, &pages)),
                    Err(_) => std::thread::sleep(Duration::from_millis(20)),
                }
            }
        })?;
        Ok(Server { address, stop, thread: Some(thread) })
    }

    /// Where they are served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(mut stream: TcpStream, pages: &[Page]) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read_head(&mut stream)?;
    let first = request.split(|b| *b == b'\r' || *b == b'\n').next().unwrap_or_default();
    let mut words = first.split(|b| *b == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split(|b| *b == b'?').next().unwrap_or_default();
    let plain = "text/plain; charset=utf-8";
    let offer = || pages.iter().map(|p| format!("GET {}\n", p.path)).collect::<String>();
    let page = pages.iter().find(|page| page.path.as_bytes() == path);
    let (status, kind, body) = match (method, page) {
        (b"GET" | b"HEAD", Some(page)) => match (page.make)() {
            Ok(body) => ("200 OK", page.kind, body),
            Err(error) => ("503 Service Unavailable", plain, format!("{error}\n")),
        },
        (b"GET" | b"HEAD", None) => ("404 Not Found", plain, offer()),
        _ => ("405 Method Not Allowed", plain, offer()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if method != b"HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    Ok(())
}

/// Reads up to the empty line that ends the head of a request.
fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let began = Instant::now();
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let left = PATIENCE.saturating_sub(began.elapsed());
        if left.is_zero() || head.len() > LONGEST {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let bytes = stream.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..bytes]);
        let ended =
            head.windows(4).any(|w| w == b"\r\n\r\n") || head.windows(2).any(|w| w == b"\n\n");
        if bytes == 0 || ended {
            return Ok(head);
        }
    }
}
