//! A web page: a document, then its objects over several connections, as by HTTP/1.1.

use alloc::vec;
use alloc::vec::Vec;

use laxity_core::{Bytes, Time};

use super::requests::Exchange;
use super::{Completion, Pairs, Workload};

/// The size of a request with its headers.
const REQUEST: Bytes = Bytes(300);

/// The objects of a page. Sizes of a distribution come from the caller.
#[derive(Clone, Debug)]
pub struct Page {
    /// The document that names the objects.
    pub document: Bytes,
    /// The objects, in the order in which they are requested.
    pub objects: Vec<Bytes>,
    /// Connections; those after the first open when the document has arrived.
    pub connections: usize,
}

impl Page {
    /// A page of `total`, its objects of equal size.
    pub fn uniform(document: Bytes, objects: u64, connections: usize, total: Bytes) -> Page {
        let each = Bytes(total.0.saturating_sub(document.0) / objects.max(1));
        Page { document, objects: vec![each; objects as usize], connections }
    }

    /// The median page of the HTTP Archive, 2024: 2.65 MB in 71 files.
    pub fn median() -> Page {
        Page::uniform(Bytes(18_000), 70, 6, Bytes(2_650_000))
    }

    /// A test page of 100 kB in one file.
    pub fn small() -> Page {
        Page { document: Bytes(100_000), objects: Vec::new(), connections: 1 }
    }

    /// A test page of 2 MB: 60 kB, then 40 objects on 6 connections.
    pub fn large() -> Page {
        Page::uniform(Bytes(60_000), 40, 6, Bytes(2_000_000))
    }
}

/// One load of a page, with new connections. It completes once, when all of it has arrived.
#[derive(Clone, Debug)]
pub struct PageLoad {
    page: Page,
    exchanges: Vec<Exchange>,
    started: Option<Time>,
    /// Objects requested.
    requested: usize,
    /// Files that have arrived.
    arrived: usize,
    bytes: Bytes,
}

impl PageLoad {
    /// A load of `page`, for as many connections as it has.
    pub fn new(page: Page) -> PageLoad {
        let exchanges = vec![Exchange::default(); page.connections.max(1)];
        let bytes = Bytes(0);
        PageLoad { page, exchanges, started: None, requested: 0, arrived: 0, bytes }
    }
}

impl Workload for PageLoad {
    fn advance(&mut self, now: Time, pairs: &mut Pairs) -> Option<Completion> {
        let started = *self.started.get_or_insert_with(|| {
            self.exchanges[0].request(now, &mut pairs.open()[0], REQUEST, self.page.document);
            now
        });
        let mut new = false;
        for (exchange, ends) in self.exchanges.iter_mut().zip(pairs.open()) {
            if let Some(file) = exchange.advance(now, ends) {
                new = true;
                self.arrived += 1;
                self.bytes += file.bytes;
            }
        }
        if self.arrived == 0 {
            return None;
        }
        pairs.open_all();
        for (exchange, ends) in self.exchanges.iter_mut().zip(pairs.open()) {
            if let (false, Some(object)) =
                (exchange.is_pending(), self.page.objects.get(self.requested))
            {
                exchange.request(now, ends, REQUEST, *object);
                self.requested += 1;
            }
        }
        let complete = new && self.arrived == 1 + self.page.objects.len();
        complete.then_some(Completion { started, ended: now, bytes: self.bytes })
    }
}
