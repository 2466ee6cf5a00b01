//! ffmpeg as the client: it is given a session description and writes what it decodes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::media::{Item, Kind, OF_PACKET, PICTURES};
use crate::network::Network;

/// Time for what must happen, on a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ticks of the RTP clock from one picture to the next.
const OF_PICTURE: i64 = 90_000 * PICTURES.seconds as i64 / PICTURES.pictures as i64;

/// A client that runs.
pub struct Player {
    child: Child,
    decoded: PathBuf,
    index: PathBuf,
    kind: Kind,
    port: u16,
}

/// The output of a player, piece by piece: pictures, or runs of samples.
#[derive(Debug)]
pub struct Decoded {
    /// Pictures or samples, by [`Item::raw`].
    pub bytes: Vec<u8>,
    /// Where each piece belongs, counted from the first: in pictures or in samples.
    pub places: Vec<i64>,
}

impl Player {
    /// Starts it; it listens when [`wait_until_it_listens`](Self::wait_until_it_listens) returns.
    pub fn start(network: &Network, item: &Item, sdp: &Path, port: u16) -> Player {
        let (decoded, index) = (sdp.with_extension("decoded"), sdp.with_extension("index"));
        for old in [&decoded, &index] {
            let _ = fs::remove_file(old);
        }
        let mut command = network.at_player("ffmpeg");
        command.args(["-v", "error", "-nostdin", "-y", "-protocol_whitelist", "file,udp,rtp"]);
        // Packets are not reordered in this network: a missing one is not waited for long.
        command.args(["-max_delay", "100000", "-i"]).arg(sdp);
        command.args(item.raw()).arg(&decoded);
        // The same once more, for the time of each piece.
        let clock = match item.kind {
            Kind::Audio => "1/48000",
            Kind::Video => "1/90000",
        };
        // Sound has 48 kHz on either side.
        let index_as = ["-vsync", "passthrough", "-enc_time_base", clock, "-f", "framecrc"];
        command.args(index_as).arg(&index);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("ffmpeg has run before");
        Player { child, decoded, index, kind: item.kind, port }
    }

    pub fn wait_until_it_listens(&mut self) {
        let sockets = format!("/proc/{}/net/udp", self.child.id());
        let port = format!(":{:04X} ", self.port);
        let end = Instant::now() + PATIENCE;
        while !fs::read_to_string(&sockets).is_ok_and(|text| text.contains(&port)) {
            assert!(Instant::now() < end, "no player at port {}", self.port);
            assert!(self.child.try_wait().is_ok_and(|status| status.is_none()), "it has ended");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end; it decodes what it has received.
    pub fn wait(mut self) -> Decoded {
        let pid = Pid::from_raw(self.child.id() as i32);
        let end = Instant::now() + PATIENCE;
        // The server's goodbye ends it. One that has received nothing still waits for a picture to
        // begin with.
        if !self.index.exists() {
            kill(pid, Signal::SIGINT).expect("it is ours");
        }
        while self.child.try_wait().expect("it is ours").is_none() {
            assert!(Instant::now() < end, "the player does not stop");
            std::thread::sleep(Duration::from_millis(50));
        }
        // A player that got nothing writes nothing.
        let bytes = fs::read(&self.decoded).unwrap_or_default();
        let index = fs::read_to_string(&self.index).unwrap_or_default();
        Decoded { bytes, places: self.places(&index) }
    }

    /// `framecrc`: stream, decoding time, presentation time, duration, bytes, sum.
    fn places(&self, index: &str) -> Vec<i64> {
        let lines = index.lines().filter(|line| !line.starts_with('#'));
        let times = lines.map(|line| {
            let time = line.split(',').nth(2).and_then(|t| t.trim().parse::<i64>().ok());
            time.expect("a time in the index")
        });
        // Ticks of the index, and what one of them is in pictures or samples.
        let (usual, unit) = match self.kind {
            Kind::Audio => (OF_PACKET as i64, 1),
            Kind::Video => (OF_PICTURE, OF_PICTURE),
        };
        let mut times: Vec<i64> = times.collect();
        // ffmpeg guesses the times of the first ones when it had to look at several before it knew
        // what they are. Later ones are whole pieces apart.
        let last = times.last().copied().unwrap_or(0);
        let known = times.iter().position(|t| (last - t) % usual == 0).unwrap_or(0);
        for i in (0..known.max(1)).rev() {
            if let [guessed, next, ..] = &mut times[i..] {
                let before = *next - usual;
                *guessed = if i < known { before } else { before.min(*guessed) };
            }
        }
        let first = times.first().copied().unwrap_or(0);
        times.into_iter().map(|t| (t - first + unit / 2).div_euclid(unit)).collect()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
