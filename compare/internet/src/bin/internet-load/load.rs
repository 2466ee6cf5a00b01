//! Web pages and a film over TCP, in the virtual machine: a server that sends as many bytes as it is
//! asked for, and a client that measures.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Bytes of a request; the first eight are how many are wanted.
const REQUEST: usize = 300;
/// Pause between two pages.
const PAUSE: Duration = Duration::from_millis(200);
/// Objects of the large page, after its HTML, and the connections that fetch them.
const OBJECTS: usize = 40;
const CONNECTIONS: usize = 6;
const LARGE_HTML: u64 = 60_000;
const LARGE: u64 = 2_000_000;
const SMALL: u64 = 100_000;
/// Bitrates of the film, in bit/s, and the length of a segment and of the client's buffer, in s.
const BITRATES: [u64; 5] = [400_000, 1_000_000, 2_500_000, 5_000_000, 8_000_000];
const SEGMENT: f64 = 4.0;
const BUFFER: f64 = 20.0;
/// Segments whose throughput foretells that of the next.
const REMEMBERED: usize = 5;

/// Serves on a port until it is killed.
///
/// # Errors
/// The port is not to be had.
pub fn serve(port: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind(("0.0.0.0", port.parse::<u16>()?))?;
    for stream in listener.incoming() {
        let mut stream = stream?;
        thread::spawn(move || {
            let mut request = [0; REQUEST];
            let content = [0x55; 16_384];
            while stream.read_exact(&mut request).is_ok() {
                let mut left = u64::from_be_bytes(request[..8].try_into().unwrap_or_default());
                while left > 0 {
                    let some = left.min(content.len() as u64);
                    if stream.write_all(&content[..some as usize]).is_err() {
                        return;
                    }
                    left -= some;
                }
            }
        });
    }
    Ok(())
}

/// The measured time, and what was received in it.
struct Window {
    server: String,
    begin: Instant,
    end: Instant,
    bytes: AtomicU64,
}

impl Window {
    fn connect(&self) -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect(&self.server)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_millis(500)))?;
        Ok(stream)
    }

    /// Fetches so many bytes; `None` when the time ended before.
    fn fetch(&self, stream: &mut TcpStream, bytes: u64) -> Option<()> {
        let mut request = [0; REQUEST];
        request[..8].copy_from_slice(&bytes.to_be_bytes());
        stream.write_all(&request).ok()?;
        let mut buffer = [0; 16_384];
        let mut left = bytes;
        while left > 0 {
            let most = buffer.len().min(left as usize);
            let got = match stream.read(&mut buffer[..most]) {
                Ok(0) => return None,
                Ok(got) => got as u64,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => 0,
                Err(_) => return None,
            };
            let now = Instant::now();
            if now >= self.end {
                return None;
            }
            if now >= self.begin {
                self.bytes.fetch_add(got, Ordering::Relaxed);
            }
            left -= got;
        }
        Some(())
    }

    fn small(&self) -> Option<()> {
        self.fetch(&mut self.connect().ok()?, SMALL)
    }

    /// HTML, then its objects on connections side by side, the first of which had the HTML.
    fn large(&self) -> Option<()> {
        let mut first = self.connect().ok()?;
        self.fetch(&mut first, LARGE_HTML)?;
        let object = (LARGE - LARGE_HTML) / OBJECTS as u64;
        let left = Mutex::new(OBJECTS);
        let take = || {
            let mut left = left.lock().ok()?;
            *left = left.checked_sub(1)?;
            Some(())
        };
        let first = Mutex::new(Some(first));
        let done = thread::scope(|scope| {
            let workers: Vec<_> = (0..CONNECTIONS)
                .map(|_| {
                    scope.spawn(|| {
                        let reused = first.lock().ok()?.take();
                        let mut stream = match reused {
                            Some(stream) => stream,
                            None => self.connect().ok()?,
                        };
                        while take().is_some() {
                            self.fetch(&mut stream, object)?;
                        }
                        Some(())
                    })
                })
                .collect();
            workers.into_iter().all(|w| w.join().ok().flatten().is_some())
        });
        done.then_some(())
    }

    /// One page after the other; a line, in us, for each that began in the measured time or had not
    /// ended with it.
    fn pages(&self, name: &str, page: fn(&Window) -> Option<()>) -> String {
        let mut lines = String::new();
        loop {
            let begin = Instant::now();
            if begin >= self.end {
                return lines;
            }
            let done = page(self).is_some();
            let took = begin.elapsed().as_micros();
            // One that began before and never ended is slower than any.
            if begin >= self.begin || !done {
                let how = if done { "took" } else { "unfinished" };
                lines += &format!("page {name} {how} {took}\n");
            }
            thread::sleep(PAUSE);
        }
    }

    /// A film whose client picks bitrates by 0.8 of the harmonic mean of recent throughput.
    fn film(&self) -> String {
        let (mut rates, mut lines) = (Vec::<f64>::new(), String::new());
        let (mut buffered, mut stalled) = (0.0, 0.0);
        let Ok(mut stream) = self.connect() else { return lines };
        let mut playing = false;
        loop {
            if buffered > BUFFER - SEGMENT {
                thread::sleep(Duration::from_secs_f64(buffered - (BUFFER - SEGMENT)));
                buffered = BUFFER - SEGMENT;
            }
            let recent = &rates[rates.len().saturating_sub(REMEMBERED)..];
            let inverse: f64 = recent.iter().map(|r| 1.0 / r).sum();
            let expected =
                if recent.is_empty() { 0.0 } else { 0.8 * recent.len() as f64 / inverse };
            let fits = BITRATES.iter().rev().find(|b| **b as f64 <= expected);
            let bitrate = *fits.unwrap_or(&BITRATES[0]);
            let begin = Instant::now();
            let done = self.fetch(&mut stream, bitrate * SEGMENT as u64 / 8).is_some();
            let took = begin.elapsed().as_secs_f64();
            if playing {
                stalled += (took - buffered).max(0.0);
                buffered = (buffered - took).max(0.0);
            }
            if Instant::now() >= self.begin {
                lines += &format!("film {bitrate} stalled_us {}\n", (stalled * 1e6) as u64);
                stalled = 0.0;
            }
            if !done {
                return lines;
            }
            playing = true;
            buffered += SEGMENT;
            rates.push(bitrate as f64 * SEGMENT / took.max(1e-6));
        }
    }
}

/// Fetches pages of two sizes and a film; prints what was measured from `warm` to `total` seconds.
///
/// # Errors
/// Words that are no numbers.
pub fn fetch(server: &str, [warm, total, seed]: [&str; 3]) -> Result<(), Failure> {
    let start = Instant::now();
    let seed: u64 = seed.parse()?;
    let window = |bytes| {
        Ok::<_, Failure>(Arc::new(Window {
            server: server.into(),
            begin: start + Duration::from_secs(warm.parse()?),
            end: start + Duration::from_secs(total.parse()?),
            bytes,
        }))
    };
    let (pages, film) = (window(AtomicU64::new(0))?, window(AtomicU64::new(0))?);
    let of_pages = |name: &'static str, page: fn(&Window) -> Option<()>, wait: u64| {
        let window = Arc::clone(&pages);
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(wait));
            window.pages(name, page)
        })
    };
    let small = of_pages("100kB", Window::small, seed * 137 % 700);
    let large = of_pages("2MB", Window::large, seed * 389 % 1900);
    let watched = Arc::clone(&film);
    let watching = thread::spawn(move || watched.film());
    for thread in [small, large, watching] {
        print!("{}", thread.join().map_err(|_| "a client panicked")?);
    }
    for (name, window) in [("pages", &pages), ("film", &film)] {
        println!("bytes {name} {}", window.bytes.load(Ordering::Relaxed));
    }
    Ok(())
}
