//! Keys by which flow queues distinguish flows and hosts.

use laxity_core::FlowId;
use laxity_link::config::{Excess, QueueBy};
use laxity_link::packet::flow_key;
use laxity_scenario::link::model::Scenario;
use laxity_trace::{FlowIdentity, IDENTITY_BYTES, LinkType};
use siphasher::sip::SipHasher13;

/// Version of an identity without headers in the input of the hash; those of IP are 4 and 6.
const NO_HEADERS: u8 = 1;

/// Hashes flow identities into keys of packets, with SipHash-1-3 (Aumasson and Bernstein 2012).
///
/// Without the 128 secret bits nobody can choose packets that share the queue of another flow.
#[derive(Clone, Copy)]
pub struct FlowHasher(SipHasher13);

impl std::fmt::Debug for FlowHasher {
    /// Shows nothing of the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FlowHasher").finish_non_exhaustive()
    }
}

impl FlowHasher {
    /// A hasher with a secret; a program draws one at random each time it starts.
    pub fn new(secret: [u8; 16]) -> FlowHasher {
        FlowHasher(SipHasher13::new_with_key(&secret))
    }

    /// A hasher without a secret, for simulations: a trace of generated packets gives the results
    /// of the generator under every seed.
    pub fn fixed() -> FlowHasher {
        FlowHasher(SipHasher13::new_with_keys(0, 0))
    }

    /// The key of packets with this identity, where `by` makes packets one flow.
    ///
    /// | `by` | hashed as the flow | as the hosts |
    /// |---|---|---|
    /// | 5-tuple | the identity | – |
    /// | source, destination | that address | – |
    /// | host and flow | the identity | source and destination |
    pub fn key(&self, by: QueueBy, identity: &FlowIdentity) -> u64 {
        self.key_of_bytes(by, &identity.to_bytes())
    }

    fn key_of_bytes(&self, by: QueueBy, bytes: &[u8; IDENTITY_BYTES]) -> u64 {
        match by {
            QueueBy::FiveTuple => flow_key(self.0.hash(bytes) as u32, 0, 0),
            QueueBy::Source => flow_key(self.host(bytes, 0) as u32, 0, 0),
            QueueBy::Destination => flow_key(self.host(bytes, 16) as u32, 0, 0),
            QueueBy::HostAndFlow => {
                let hosts = [0, 16].map(|start| self.host(bytes, start) as u16);
                flow_key(self.0.hash(bytes) as u32, hosts[0], hosts[1])
            }
        }
    }

    /// The key of a simulated connection. Each client of a flow or class is a host, and so is its
    /// server.
    pub fn key_of_connection(&self, by: QueueBy, flow: FlowId, client: u32, number: u32) -> u64 {
        let mut bytes = [0; IDENTITY_BYTES];
        for (host, start) in (1..).zip([0, 16]) {
            bytes[start] = host;
            bytes[start + 8..start + 12].copy_from_slice(&flow.0.to_be_bytes());
            bytes[start + 12..start + 16].copy_from_slice(&client.to_be_bytes());
        }
        bytes[32] = NO_HEADERS;
        bytes[36..].copy_from_slice(&number.to_be_bytes());
        self.key_of_bytes(by, &bytes)
    }

    /// The hash of the address that starts at a place of [`FlowIdentity::to_bytes`].
    fn host(&self, identity: &[u8; IDENTITY_BYTES], start: usize) -> u64 {
        // The version, so that an IPv4 host differs from the IPv6 host of its mapped address.
        let mut host = [0; 17];
        host[0] = identity[32];
        host[1..].copy_from_slice(&identity[start..start + 16]);
        self.0.hash(&host)
    }

    /// The key of packets without headers, all of one flow between two hosts of its own.
    pub fn key_of_number(&self, number: u32) -> u64 {
        let mut bytes = [0; IDENTITY_BYTES];
        bytes[32] = NO_HEADERS;
        bytes[36..].copy_from_slice(&number.to_be_bytes());
        let hash = self.0.hash(&bytes);
        flow_key(hash as u32, (hash >> 32) as u16, (hash >> 48) as u16)
    }
}

/// The keys of a scenario's packets.
#[derive(Clone, Debug)]
pub struct FlowKeys {
    hasher: FlowHasher,
    /// The key that makes packets of a flow or class one flow queue; `None` where there is only one.
    by: Box<[Option<QueueBy>]>,
}

impl FlowKeys {
    /// The keys of a scenario's packets under a hasher.
    pub fn new(scenario: &Scenario, hasher: FlowHasher) -> FlowKeys {
        let by = scenario.best_effort.iter().map(|class| class.flows.map(|flows| flows.by));
        // Packets beyond the envelope of a real-time flow join the last class.
        let last = by.clone().next_back().flatten();
        let realtime = scenario.realtime.iter();
        let realtime = realtime.map(|flow| last.filter(|_| flow.excess == Excess::Demote));
        FlowKeys { hasher, by: realtime.chain(by).collect() }
    }

    /// The key of a frame of a flow or class. It costs a hash only where there are flow queues.
    #[inline]
    pub fn of_frame(&self, flow: FlowId, link_type: LinkType, frame: &[u8]) -> u64 {
        match self.by.get(flow.index()).copied().flatten() {
            Some(by) => self.hasher.key(by, &FlowIdentity::of(link_type, frame)),
            None => 0,
        }
    }

    /// The key of packets that were generated or come from a trace without headers: all packets
    /// of a flow or class are one flow.
    pub fn of_flow(&self, flow: FlowId) -> u64 {
        self.hasher.key_of_number(flow.0)
    }
}
