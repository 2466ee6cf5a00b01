//! Declared real time beside the load: voice, a meeting's video, a game.

use std::fmt::Write as _;

use laxity_sim::Random;

/// Packets of a period.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of a packet with its Ethernet header.
    pub packet: u64,
    /// Packets a period.
    pub packets: u64,
}

impl Shape {
    /// Bytes a period.
    pub fn period_bytes(&self) -> u64 {
        self.packet * self.packets
    }

    /// Bytes a second, rounded up.
    pub fn rate(&self, period_us: u64) -> u64 {
        (self.period_bytes() * 1_000_000).div_ceil(period_us)
    }
}

/// A stream in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// Its name.
    pub name: &'static str,
    /// Its UDP port.
    pub port: u16,
    /// From burst to burst, in us.
    pub period_us: u64,
    /// Down and up.
    pub shape: [Shape; 2],
}

/// All of them, in the order of `Link::deadlines_us`.
pub const STREAMS: [Stream; 3] = [
    Stream {
        name: "voice",
        port: 5001,
        period_us: 20_000,
        shape: [Shape { packet: 214, packets: 1 }, Shape { packet: 214, packets: 1 }],
    },
    Stream {
        name: "meeting",
        port: 5002,
        period_us: 33_333,
        shape: [Shape { packet: 1134, packets: 9 }, Shape { packet: 1054, packets: 4 }],
    },
    Stream {
        name: "game",
        port: 5003,
        period_us: 33_333,
        shape: [Shape { packet: 314, packets: 1 }, Shape { packet: 114, packets: 1 }],
    },
];

/// A sender may be late by so much in each period, in us.
const SENDER_JITTER_US: u64 = 2000;

/// The packet trace of a direction (0 down, 1 up): phases and jitter follow from the seed.
pub fn trace(direction: usize, seed: u64, seconds: u64) -> String {
    let mut packets = Vec::new();
    for (number, stream) in STREAMS.iter().enumerate() {
        let mut random = Random::new(seed, (2 * number + direction) as u32);
        let phase = random.uniform(0, stream.period_us);
        let shape = stream.shape[direction];
        let mut due = phase;
        while due < seconds * 1_000_000 {
            let at = (due + random.uniform(0, SENDER_JITTER_US)) * 1000;
            packets.extend((0..shape.packets).map(|i| (at + i, shape.packet, stream.name)));
            due += stream.period_us;
        }
    }
    packets.sort_unstable();
    let mut text = String::from("time_ns,bytes,flow\n");
    for (time, bytes, name) in packets {
        let _ = writeln!(text, "{time},{bytes},{name}");
    }
    text
}
