//! An ordinary UDP server that gets DWCS pacing: what it sent with `send_to`, it now pushes.
//!
//! The server makes a speech packet for each of its listeners every 20 ms and four of a picture
//! every 40 ms, which together are a third more than its 2 Mbit/s carry. With `send_to`, the link
//! would drop what comes when its buffer is full. Paced, speech is whole and pictures lose no more
//! than the one packet in two that they tolerate.
//!
//! ```text
//! cargo run -p laxity-media --example pace_udp
//! ```

use std::error::Error;
use std::net::UdpSocket;
use std::thread::sleep;
use std::time::{Duration, Instant};

use laxity_core::{Rate, Span};
use laxity_dwcs::{Attributes, Tolerance};
use laxity_media::server::{Config, Inlet, Server, Source, Stop, StreamConfig};

/// Serves two listeners for a moment and prints the packets received.
///
/// # Errors
///
/// A socket or stream that was refused.
pub fn main() -> Result<(), Box<dyn Error>> {
    let listener = UdpSocket::bind("127.0.0.1:0")?;
    let to = listener.local_addr()?;

    // Added: a server on the link's rate, and an inlet for each stream in place of the socket.
    let rate = Some(Rate::bytes_per_second(250_000));
    let pacing = Server::start(Config { rate, ..Config::default() })?;
    let stream = |name: String, id, losses, window, gap_ms| -> Result<Inlet, Box<dyn Error>> {
        let tolerance = Tolerance::new(losses, window)?;
        let attributes = Attributes::new(tolerance, Span::from_millis(gap_ms));
        let config = StreamConfig::new(&name, attributes, to, id, Source::Inlet);
        pacing.handle().add(config)?;
        Ok(pacing.handle().inlet(&name).ok_or("the inlet is in use")?)
    };
    let mut speech = Vec::new();
    let mut pictures = Vec::new();
    for id in 0..3 {
        speech.push(stream(format!("speech-{id}"), 2 * id, 0, 1, 20)?);
        pictures.push(stream(format!("picture-{id}"), 2 * id + 1, 1, 2, 10)?);
    }

    // As before, but for `push` instead of `send_to`.
    let began = Instant::now();
    for tick in 0..100 {
        for inlet in &mut speech {
            inlet.push(&[1; 160])?;
        }
        for inlet in pictures.iter_mut().filter(|_| tick % 2 == 0) {
            (0..4).try_for_each(|_| inlet.push(&[2; 1000]))?;
        }
        sleep((Duration::from_millis(20) * (tick + 1)).saturating_sub(began.elapsed()));
    }

    // Added: where every packet went.
    for stream in pacing.stop(Stop::Drain(Span::from_millis(100))).streams {
        let (row, name) = (&stream.row, &stream.config.name);
        let (sent, late, violated) = (row.counts.sent, row.counts.expired, row.measures.tumbling);
        println!("{name}: {sent} sent, {late} dropped as late, {violated} windows violated");
    }
    Ok(())
}
