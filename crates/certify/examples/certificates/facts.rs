//! Random links and CPUs, some of which are admitted.

use laxity_certify::{
    ClusterFacts, CpuFacts, Envelope, Flow, LinkFacts, Piece, Promise, Reservation, Service,
};

/// Random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// A link with up to so many flows.
    pub fn link(&mut self, most: u64) -> LinkFacts {
        let rate = 1000 * self.within(1000, 1_000_000);
        let flows = self.within(1, most);
        let best_effort = self.within(40, 1536);
        let flow = |number| self.flow(number, rate / (flows + 2), flows);
        let flows = (0..flows).map(flow).collect();
        let backlog = if self.within(0, 3) == 0 { self.within(0, 3000) } else { 0 };
        LinkFacts { rate, best_effort, backlog, paper: self.within(0, 1) == 0, flows }
    }

    fn flow(&mut self, number: u64, share: u64, flows: u64) -> Flow {
        let packet = self.within(40, 1536);
        // A packet of each flow and best effort in this many ns, times 1 to 40.
        let all = 8_000_000_000 * 1536 * (flows + 1) / (share * (flows + 2));
        let deadline = all * self.within(2, 80) / 4;
        let name = format!("flow {number}");
        if self.within(0, 2) == 0 {
            let period = (8_000_000_000 * packet / share + 1) * self.within(8, 30) / 10;
            let jitter = if self.within(0, 1) == 0 { 0 } else { self.within(0, 2 * period) };
            let envelope = Envelope::Periodic { size: packet, period, jitter };
            return Flow { name, packet, promise: Promise::Deadline { deadline, envelope } };
        }
        let (mut burst, mut rate) = (packet, share * self.within(10, 40) / 10);
        let mut buckets = vec![(burst, rate)];
        // Rates fall by a quarter as much each time, bursts grow by a third at least: each bucket binds somewhere.
        let mut fall = rate / 3;
        for _ in 0..self.within(0, 3) {
            burst += self.within(1000, 3000);
            rate -= fall.max(1);
            fall /= 4;
            if fall == 0 {
                break;
            }
            buckets.push((burst, rate));
        }
        let envelope = Envelope::Buckets(buckets);
        Flow { name, packet, promise: Promise::Deadline { deadline, envelope } }
    }

    /// A link of which at least one of up to so many flows has a service curve.
    pub fn served_link(&mut self, most: u64) -> LinkFacts {
        let mut link = self.link(most);
        let flows = link.flows.len() as u64;
        // Flows are not likely to fit beside packets of others that are much larger than theirs.
        link.best_effort = if self.within(0, 2) == 0 { 0 } else { link.best_effort };
        let always = self.within(0, flows - 1);
        for number in 0..flows {
            if number == always || self.within(0, 1) == 0 {
                link.flows[number as usize] = self.served(number, link.rate, flows);
            }
        }
        link
    }

    /// A flow with a curve of up to five pieces, of those that scenarios have: slopes of whole bit/s, lines
    /// between points of whole bytes, jumps, and a last line that begins at a fraction of a ns.
    fn served(&mut self, number: u64, rate: u64, flows: u64) -> Flow {
        const NANOBITS: i128 = 8_000_000_000;
        let share = rate / (flows + 2);
        let packet = self.within(40, 1536);
        let smallest = match self.within(0, 3) {
            0 => packet,
            1 => self.within(40, packet),
            _ => self.within(packet - packet / 4, packet),
        };
        let time = |bytes: u64| 8_000_000_000 * bytes / share;
        let flat = |from: (i128, i128), level| Piece { from, level, rise: 0, over: 1 };
        // From 0 on, or later by up to some packets.
        let later = self.within(0, 3) * self.within(0, time(1536));
        let (mut t, mut work) = (i128::from(later), 0i128);
        let mut pieces = vec![flat((0, 1), 0)];
        for _ in 0..self.within(0, 3) {
            let long = i128::from(1 + self.within(0, time(3000)));
            let from = (t, 1);
            let slope = i128::from(share * self.within(0, 30) / 10);
            pieces.push(match self.within(0, 2) {
                // A slope of whole bit/s.
                0 => {
                    let piece = Piece { from, level: work - slope * t, rise: slope, over: 1 };
                    work += slope * long;
                    piece
                }
                // A line to a point of whole bytes.
                1 => {
                    let up =
                        NANOBITS * i128::from(self.within(0, 1 + (slope * long / NANOBITS) as u64));
                    let divisor = greatest(up, long);
                    let (rise, over) = (up / divisor, long / divisor);
                    let piece = Piece { from, level: work * over - rise * t, rise, over };
                    work += up;
                    piece
                }
                // A jump.
                _ => {
                    work += if t > 0 { NANOBITS * i128::from(self.within(0, packet)) } else { 0 };
                    flat(from, work)
                }
            });
            t += long;
        }
        let rise = i128::from(share * self.within(4, 12) / 10 + 1);
        // Through a point from which it goes back to the level before.
        let back =
            if self.within(0, 2) == 0 { i128::from(self.within(1, packet)) * NANOBITS } else { 0 };
        if back > 0 {
            let through = t + back / rise + 2;
            let start = rise * through - back;
            let (level, divisor) = (work + back - rise * through, greatest(start, rise));
            pieces.push(flat((t, 1), work));
            pieces.push(Piece { from: (start / divisor, rise / divisor), level, rise, over: 1 });
        } else {
            pieces.push(Piece { from: (t, 1), level: work - rise * t, rise, over: 1 });
        }
        // Of pieces from one instant on the last holds; equal lines are one.
        let mut kept: Vec<Piece> = Vec::new();
        for piece in pieces {
            if kept.last().is_some_and(|last| last.from == piece.from) {
                kept.pop();
            }
            let same = |last: &Piece| {
                (last.level, last.rise, last.over) == (piece.level, piece.rise, piece.over)
            };
            if !kept.last().is_some_and(same) {
                kept.push(piece);
            }
        }
        let mut buckets = Vec::new();
        if self.within(0, 2) == 0 {
            let (burst, rate) = (packet, share * self.within(8, 30) / 10);
            buckets.push((burst, rate));
            if self.within(0, 1) == 0 {
                buckets.push((burst + self.within(1, 3000), rate - rate / 3 - 1));
            }
        }
        let service = Service { smallest, pieces: kept, buckets };
        Flow { name: format!("flow {number}"), packet, promise: Promise::Service(service) }
    }

    /// A CPU with up to six reservations.
    pub fn cpu(&mut self) -> CpuFacts {
        let unit = 1 << 40;
        let count = self.within(1, 6);
        let reservations = (0..count).map(|number| {
            let period = 1_000_000 * self.within(1, 100);
            let budget = (period * self.within(5, 120) / (100 * count)).clamp(1, period);
            let deadline =
                if self.within(0, 2) == 0 { period } else { self.within(budget, period) };
            Reservation { name: format!("task {number}"), budget, period, deadline }
        });
        let reservations = reservations.collect();
        let number = (self.within(0, 1) == 1).then(|| self.within(0, 511) as u32);
        CpuFacts {
            number,
            from: 0,
            unit,
            best_effort: unit * self.within(0, 10) / 100,
            reservations,
        }
    }

    /// A cluster of up to 16 CPUs with up to two reservations a CPU, deadlines in whole milliseconds, or any.
    pub fn cluster(&mut self) -> ClusterFacts {
        let unit = 1 << 40;
        let cpus = self.within(2, 16);
        let count = self.within(1, 2 * cpus);
        let long = self.within(0, 3) == 0;
        let reservations = (0..count).map(|number| {
            let deadline = match long {
                true => self.within(1_000_000, 100_000_000),
                false => 1_000_000 * self.within(1, 100),
            };
            let most = (120 * cpus / count).min(100);
            let budget = (deadline * self.within(1, most) / 100).max(1);
            let period =
                if self.within(0, 1) == 0 { deadline } else { deadline * self.within(1, 5) };
            Reservation { name: format!("task {number}"), budget, period, deadline }
        });
        let reservations = reservations.collect();
        let number = (self.within(0, 1) == 1).then(|| self.within(0, 63) as u32);
        let best_effort = unit * self.within(0, 10) / 100;
        ClusterFacts { number, cpus: cpus as u32, from: 0, unit, best_effort, reservations }
    }
}

fn greatest(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { greatest(b, a % b) }
}
