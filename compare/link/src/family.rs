//! The family of traces: voice and video that conform, and best effort in bursts.

use std::fmt::Write as _;

use laxity_sim::Random;

/// Rate of the link, in bytes a second.
const LINK: u64 = 1_250_000;
const SECOND: u64 = 1_000_000_000;

const VOICE: Source = Source { name: "voice", bytes: 200, packets: (1, 1), gap: 5_000_000 };
const VIDEO: Source = Source { name: "video", bytes: 1400, packets: (45, 45), gap: 100_000_000 };
const BULK: Source = Source { name: "bulk", bytes: 1400, packets: (2, 2), gap: 15_000_000 };
/// Its gap is what sets the load; this one gives 86.5 %.
const HTTP: Source = Source { name: "http", bytes: 1000, packets: (1, 8), gap: 20_000_000 };

/// Bursts of packets of one length.
#[derive(Clone, Copy, Debug)]
struct Source {
    name: &'static str,
    bytes: u64,
    /// Packets of a burst, at least and at most, all equally likely.
    packets: (u64, u64),
    /// From burst to burst, or its mean, in ns.
    gap: u64,
}

impl Source {
    /// Bytes a burst has in the mean, twice.
    fn twice_burst(&self) -> u64 {
        self.bytes * (self.packets.0 + self.packets.1)
    }

    /// Bytes a second.
    fn rate(&self) -> u64 {
        self.twice_burst() * SECOND / (2 * self.gap)
    }
}

/// A packet: arrival, length, flow.
pub type Packet = (u64, u64, &'static str);

/// The packets of `seconds` at a load in per cent of the link.
///
/// Real time is periodic with a phase of the seed's; gaps of best effort are uniform between
/// nothing and twice their mean, and bursts arrive at once.
pub fn packets(load: u64, seed: u64, seconds: u64) -> Vec<Packet> {
    let fixed: u64 = [VOICE, VIDEO, BULK].iter().map(Source::rate).sum();
    let rest = (LINK * load / 100).saturating_sub(fixed).max(1);
    let http = Source { gap: HTTP.twice_burst() * SECOND / (2 * rest), ..HTTP };
    let mut packets = Vec::new();
    for (stream, source) in [VOICE, VIDEO, http, BULK].into_iter().enumerate() {
        let mut random = Random::new(seed, stream as u32);
        let periodic = stream < 2;
        let mut at = random.uniform(0, source.gap);
        while at < seconds * SECOND {
            let burst = random.uniform(source.packets.0, source.packets.1);
            packets.extend((0..burst).map(|i| (at + i, source.bytes, source.name)));
            at += if periodic { source.gap } else { random.uniform(1, 2 * source.gap) };
        }
    }
    packets.sort_unstable();
    packets
}

/// A packet trace.
pub fn csv(packets: &[Packet]) -> String {
    let mut text = String::from("time_ns,bytes,flow\n");
    for (time, bytes, flow) in packets {
        let _ = writeln!(text, "{time},{bytes},{flow}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the load does not follow from the gaps.
    #[test]
    fn loads_match_their_names() {
        for load in [80, 90, 95] {
            let bytes: u64 = (1..=20).flat_map(|seed| packets(load, seed, 20)).map(|p| p.1).sum();
            let per_mille = bytes * 1000 / (LINK * 20 * 20);
            assert!(per_mille.abs_diff(load * 10) <= 10, "{load} %: {per_mille}");
        }
    }
}
