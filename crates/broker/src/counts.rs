//! What was asked and how it went.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use laxity_reserve::protocol::{Answer, Request};

/// Requests, and connections that were turned away.
#[derive(Debug, Default)]
pub struct Counts {
    requests: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    turned_away: AtomicU64,
}

/// So many requests of a kind ended so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// `reserve`, `query`, `release`; `none` for what is no request.
    pub request: &'static str,
    /// `done`, or the code of the refusal.
    pub outcome: &'static str,
    /// So many.
    pub count: u64,
}

impl Counts {
    pub(crate) fn answered(&self, request: Option<&Request>, answer: &Answer) {
        let request = match request {
            Some(Request::Reserve(_)) => "reserve",
            Some(Request::Query(_)) => "query",
            Some(Request::Release(_)) => "release",
            None => "none",
        };
        let outcome = match answer {
            Answer::Refused(refusal) => refusal.code.name(),
            _ => "done",
        };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((request, outcome)).or_default() += 1;
    }

    pub(crate) fn turn_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests by kind and outcome, in order.
    pub fn requests(&self) -> Vec<Count> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = requests.iter();
        counts.map(|(&(request, outcome), &count)| Count { request, outcome, count }).collect()
    }

    /// Connections that were one too many, of their user or of all.
    pub fn turned_away(&self) -> u64 {
        self.turned_away.load(Ordering::Relaxed)
    }
}
