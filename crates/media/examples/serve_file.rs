//! Serves media files to this machine until interrupted and prints what a player needs:
//!
//! ```text
//! cargo run -p laxity-media --example serve_file crates/media/tests/media/tone.ogg > tone.sdp
//! ffplay -protocol_whitelist file,udp,rtp tone.sdp
//! ```

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use laxity_core::Span;
use laxity_dwcs::{Attributes, Tolerance};
use laxity_media::media::{Codec, FrameRate, Media};
use laxity_media::server::{Config, Server, Source, StreamConfig};

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::start(Config { rtcp: Some(local(0)), ..Config::default() })?;
    let files: Vec<String> = std::env::args().skip(1).collect();
    for (number, file) in (0..).zip(&files) {
        let media = Media::open(Path::new(file), FrameRate { pictures: 15, seconds: 1 })?;
        media.faults().iter().for_each(|fault| eprintln!("{file}: {fault}"));
        // Audio loses nothing and has a packet each 20 ms. Of video 1 packet in 20 may be lost; at
        // 15 pictures a second of few packets each, a packet every 10 ms keeps up.
        let attributes = match media.codec() {
            Codec::Opus { .. } => Attributes::new(Tolerance::new(0, 100)?, Span(20_000_000)),
            _ => Attributes::new(Tolerance::new(1, 20)?, Span(10_000_000)),
        };
        let source = Source::Media { media: Arc::new(media), repeat: true };
        let to = local(5004 + 2 * number);
        server.handle().add(StreamConfig::new(file, attributes, to, number.into(), source))?;
    }
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    print!("{}", server.handle().describe("files", &names)?);
    loop {
        std::thread::park();
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
