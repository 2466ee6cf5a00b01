//! How many bulk flows each host has.

use alloc::{boxed::Box, vec};

use crate::config::Hosts;

/// Hosts are distinguished by 16 bits of their hash.
const HOSTS: usize = 1 << 16;

/// Counts of bulk flows by source and by destination.
#[derive(Clone, Debug)]
pub(super) struct HostCounts {
    sources: Option<Box<[u16]>>,
    destinations: Option<Box<[u16]>>,
}

impl HostCounts {
    pub(super) fn new(hosts: Hosts) -> HostCounts {
        let counts = |on: bool| on.then(|| vec![0; HOSTS].into_boxed_slice());
        HostCounts {
            sources: counts(hosts != Hosts::Destination),
            destinations: counts(hosts != Hosts::Source),
        }
    }

    /// A flow becomes bulk.
    pub(super) fn add(&mut self, source: u16, destination: u16) {
        // At most one a queue, so it does not overflow.
        self.counts(source, destination).for_each(|count| *count += 1);
    }

    /// It no longer is.
    pub(super) fn subtract(&mut self, source: u16, destination: u16) {
        self.counts(source, destination).for_each(|count| *count -= 1);
    }

    /// The counts of the two ends, as far as they are kept.
    fn counts(&mut self, source: u16, destination: u16) -> impl Iterator<Item = &mut u16> {
        let source = self.sources.iter_mut().map(move |c| &mut c[usize::from(source)]);
        let both = self.destinations.iter_mut().map(move |c| &mut c[usize::from(destination)]);
        source.chain(both)
    }

    /// The greater count of the two ends, at least 1.
    #[inline]
    pub(super) fn load(&self, source: u16, destination: u16) -> u16 {
        let of = |counts: &Option<Box<[u16]>>, host: u16| {
            counts.as_ref().map_or(0, |counts| counts[usize::from(host)])
        };
        of(&self.sources, source).max(of(&self.destinations, destination)).max(1)
    }
}
