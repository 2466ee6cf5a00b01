//! Weighted fair queueing as it is usually written: packets in an ordered map by finish tag, the
//! fluid server's classes in another, virtual time in floating point.

use std::collections::{BTreeMap, BTreeSet};

use laxity_link::Packet;

/// Packetised GPS on ordered maps; the bits of a positive float sort like its value.
pub struct WfqBtree {
    weights: Vec<f64>,
    packets: BTreeMap<(u64, usize, u64), Packet>,
    busy: BTreeSet<(u64, usize)>,
    busy_weight: f64,
    last: Vec<f64>,
    virtual_time: f64,
}

impl WfqBtree {
    /// One class for each weight.
    pub fn new(weights: &[f64]) -> WfqBtree {
        WfqBtree {
            weights: weights.to_vec(),
            packets: BTreeMap::new(),
            busy: BTreeSet::new(),
            busy_weight: 0.0,
            last: vec![0.0; weights.len()],
            virtual_time: 0.0,
        }
    }

    /// Adds a packet at the end of its class.
    #[inline]
    pub fn enqueue(&mut self, class: usize, packet: Packet) {
        let weight = self.weights[class];
        let start = self.last[class].max(self.virtual_time);
        let finish = start + f64::from(packet.wire) / weight;
        if !self.busy.remove(&(self.last[class].to_bits(), class)) {
            self.busy_weight += weight;
        }
        self.busy.insert((finish.to_bits(), class));
        self.last[class] = finish;
        self.packets.insert((finish.to_bits(), class, packet.seq), packet);
    }

    /// Removes the next packet in fair order.
    #[inline]
    pub fn dequeue(&mut self) -> Option<(usize, Packet)> {
        let ((_, class, _), packet) = self.packets.pop_first()?;
        let mut work = f64::from(packet.wire);
        while let Some(&(bits, idle)) = self.busy.first() {
            let needed = (f64::from_bits(bits) - self.virtual_time) * self.busy_weight;
            if needed > work {
                self.virtual_time += work / self.busy_weight;
                break;
            }
            work -= needed;
            self.virtual_time = f64::from_bits(bits);
            self.busy.pop_first();
            self.busy_weight -= self.weights[idle];
        }
        Some((class, packet))
    }
}
