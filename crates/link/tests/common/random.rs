//! Random systems from a named seed, the same on every machine.

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::{Bucket, Envelope};
use laxity_link::config::RealtimeFlow;

use super::{Arrival, arrival};

/// SplitMix64.
pub struct Rng(pub u64);

impl Rng {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw() % (high - low + 1)
    }

    pub fn chance(&mut self, num: u64, den: u64) -> bool {
        self.draw() % den < num
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[(self.draw() % from.len() as u64) as usize]
    }
}

/// An envelope of random kind for packets of up to `largest` bytes and a long-term rate of about
/// `rate` bit/s.
pub fn envelope(rng: &mut Rng, largest: u64, rate: u64) -> Envelope {
    let packet = rng.range((largest / 8).max(1), largest);
    let smallest = rng.range(1, packet.min(64));
    if rng.chance(1, 4) {
        let period = (packet * 8_000_000_000).div_ceil(rate.max(1)).max(1);
        let jitter = period * rng.range(0, 25) / 10;
        return Envelope::periodic(Span(period), Bytes(packet), Span(jitter)).unwrap();
    }
    let mut buckets = vec![Bucket { burst: Bytes(packet * rng.range(1, 20)), rate: Rate(rate) }];
    for _ in 0..rng.range(0, 5) {
        let last = buckets[buckets.len() - 1];
        let burst = Bytes(rng.range(packet, last.burst.0));
        buckets.push(Bucket { burst, rate: Rate(last.rate.0 * rng.range(11, 30) / 10) });
    }
    let envelope = Envelope::buckets(&buckets, Bytes(packet)).unwrap();
    envelope.with_min_packet(Bytes(smallest)).unwrap()
}

/// How a source uses its envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// As soon as the envelope allows, always.
    Greedy,
    /// As soon as it allows during bursts with pauses between them.
    Bursts,
    /// Now and then, never more than allowed.
    Random,
    /// As soon as the envelope allows, the smallest packets only.
    Tiny,
}

/// Conforming arrivals of one flow until `until`, at most `most` packets.
pub fn conforming_source(
    rng: &mut Rng,
    flow: u32,
    real: &RealtimeFlow,
    source: Source,
    until: u64,
    most: usize,
) -> Vec<Arrival> {
    use laxity_core::Time;
    let mut policer = laxity_link::police::Policer::new(&real.envelope);
    let largest = real.envelope.max_packet().0;
    let mut now = match source {
        Source::Greedy | Source::Tiny => 0,
        _ => rng.range(0, until / 4),
    };
    let mut trace = vec![];
    while trace.len() < most {
        let random = if rng.chance(1, 3) { rng.range(1, largest) } else { largest };
        let bytes = if source == Source::Tiny { 1 } else { random as u32 };
        let Some(at) = policer.conforms_at(Time(now), bytes) else { break };
        if at.0 >= until {
            break;
        }
        policer.take(at, bytes);
        trace.push(arrival(at.0, flow, bytes));
        now = at.0;
        match source {
            Source::Greedy | Source::Tiny => {}
            Source::Bursts if rng.chance(29, 30) => {}
            Source::Bursts => now += rng.range(0, until / 4),
            Source::Random => now += rng.range(0, 2 * real.deadline.0 / 3),
        }
    }
    trace
}

/// Best-effort arrivals at about `rate` bit/s in clumps.
pub fn best_effort(
    rng: &mut Rng,
    flow: u32,
    largest: u64,
    rate: u64,
    until: u64,
    most: usize,
) -> Vec<Arrival> {
    let mut trace: Vec<Arrival> = vec![];
    let mut now = 0;
    while trace.len() < most {
        let clump = rng.range(1, 12);
        let mut work = 0;
        for _ in 0..clump {
            let bytes = if rng.chance(1, 2) { rng.range(1, largest) } else { largest };
            work += bytes;
            trace.push(arrival(now, flow, bytes as u32));
        }
        let mean = (u128::from(work) * 8_000_000_000 / u128::from(rate.max(1))) as u64;
        now += rng.range(0, 2 * mean);
        if now >= until {
            break;
        }
    }
    trace
}
