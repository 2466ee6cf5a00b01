//! Random links and CPUs, some of which are admitted.

use laxity_certify::{CpuFacts, Envelope, Flow, LinkFacts, Reservation};

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
            return Flow {
                name,
                deadline,
                packet,
                envelope: Envelope::Periodic { size: packet, period, jitter },
            };
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
        Flow { name, deadline, packet, envelope: Envelope::Buckets(buckets) }
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
}
