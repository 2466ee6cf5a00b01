//! Traffic that usually has deadlines: its rates, bursts and marks.
//!
//! An envelope holds one use of a preset (three calls, one meeting, one game) with room; what exceeds
//! it travels as best effort. The largest packet of each is that of the interface, because larger
//! packets of a flow would be dropped.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::Bucket;

/// A direction of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the provider.
    Up,
    /// From the provider.
    Down,
}

impl Direction {
    /// Both.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// Its option and the suffix of its file.
    pub fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}

/// How packets are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// By their code point.
    Dscp(&'static str),
    /// By the UDP ports of the server.
    Udp(u16, u16),
}

/// Traffic of one direction.
#[derive(Clone, Copy, Debug)]
pub struct Traffic {
    /// Long-term rate.
    pub rate: Rate,
    /// Burst beyond it.
    pub burst: Bytes,
    /// Rate within a burst; a burst is sent at once without one.
    pub peak: Option<Rate>,
}

/// A preset.
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Description and source of the numbers, as lines of a comment.
    pub about: &'static [&'static str],
    /// Deadline on this link.
    pub deadline: Span,
    /// Towards the provider.
    pub up: Traffic,
    /// From the provider.
    pub down: Traffic,
    /// Smaller packets count as this long.
    pub min_packet: Bytes,
    /// How its packets are recognised.
    pub mark: Mark,
}

/// A picture: bursts of 60 ms of its rate, sent at four times that rate.
const fn video(kbit: u64) -> Traffic {
    Traffic { rate: Rate(kbit * 1000), burst: Bytes(kbit * 60 / 8), peak: Some(Rate(kbit * 4000)) }
}

const fn small(rate: Rate) -> Traffic {
    Traffic { rate, burst: Bytes(0), peak: None }
}

/// All presets, in the order in which a packet is matched.
pub const PRESETS: [Preset; 6] = [
    Preset {
        name: "voice",
        about: &[
            "Telephone calls, marked EF (RFC 4594 section 4.1): three of 50 packets a second and",
            "214 B each (G.711 in RTP: RFC 3551).",
        ],
        deadline: Span::from_millis(10),
        up: small(Rate(256_800)),
        down: small(Rate(256_800)),
        min_packet: Bytes(60),
        mark: Mark::Dscp("EF"),
    },
    Preset {
        name: "meeting",
        about: &[
            "Meetings that mark their picture AF41 (RFC 4594 section 4.3), 2 Mbit/s; pictures come in",
            "bursts.",
        ],
        deadline: Span::from_millis(40),
        up: video(2000),
        down: video(2000),
        min_packet: Bytes(200),
        mark: Mark::Dscp("AF41"),
    },
    Preset {
        name: "game",
        about: &[
            "Games on the ports of Steam (UDP 27000-27100): a packet each tick of 15 ms (Valve, Source",
            "multiplayer networking), up to 300 B up and 1000 B down. Other games: change the ports.",
        ],
        deadline: Span::from_millis(15),
        up: small(Rate(160_000)),
        down: small(Rate(533_336)),
        min_packet: Bytes(60),
        mark: Mark::Udp(27_000, 27_100),
    },
    Preset {
        name: "zoom",
        about: &[
            "Zoom without marks (UDP 8801-8810): a group meeting in 720p, 2.6 Mbit/s up and 1.8 down",
            "(Zoom, bandwidth of meetings).",
        ],
        deadline: Span::from_millis(40),
        up: video(2600),
        down: video(1800),
        min_packet: Bytes(200),
        mark: Mark::Udp(8801, 8810),
    },
    Preset {
        name: "teams",
        about: &[
            "Teams without marks (UDP 3478-3481): a meeting, 2.5 Mbit/s up and 4 down (Microsoft,",
            "Prepare your organization's network for Teams).",
        ],
        deadline: Span::from_millis(40),
        up: video(2500),
        down: video(4000),
        min_packet: Bytes(200),
        mark: Mark::Udp(3478, 3481),
    },
    Preset {
        name: "meet",
        about: &[
            "Google Meet without marks (UDP 19302-19309): a meeting in HD, 3.2 Mbit/s up and 4 down",
            "(Google, Prepare your network for Meet).",
        ],
        deadline: Span::from_millis(40),
        up: video(3200),
        down: video(4000),
        min_packet: Bytes(200),
        mark: Mark::Udp(19_302, 19_309),
    },
];

impl Preset {
    /// The preset of a name.
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }

    /// The buckets that bound its packets, where the network has delayed each by up to `jitter`:
    /// `A(t + jitter)`, rounded up. The last has the long-term rate.
    pub fn buckets(&self, direction: Direction, packet: Bytes, jitter: Span) -> Vec<Bucket> {
        let traffic = match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        };
        let late = |burst: Bytes, rate: Rate| {
            let work = u128::from(rate.0) * u128::from(jitter.0);
            let more = u64::try_from(work.div_ceil(NANOBITS_PER_BYTE as u128)).unwrap_or(u64::MAX);
            Bucket { burst: Bytes(burst.0.saturating_add(more)), rate }
        };
        let long = late(traffic.burst.max(packet), traffic.rate);
        let short = traffic.peak.map(|peak| late(packet, peak));
        short.into_iter().filter(|short| short.burst < long.burst).chain([long]).collect()
    }
}
