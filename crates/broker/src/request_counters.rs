//! Counters of requests by outcome, and of rejected connections.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use laxity_reserve::protocol::{Answer, Request};

/// Counters of requests and connections, since the server started.
#[derive(Debug, Default)]
pub struct RequestCounters {
    requests: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    rejected_connections: AtomicU64,
}

/// The number of requests of a kind with the same outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestCount {
    /// `reserve`, `query`, `release`; `none` for a line that is no request.
    pub request: &'static str,
    /// `done`, or the code of the refusal.
    pub outcome: &'static str,
    /// The number of requests.
    pub count: u64,
}

impl RequestCounters {
    pub(crate) fn record(&self, request: Option<&Request>, answer: &Answer) {
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

    pub(crate) fn record_rejected_connection(&self) {
        self.rejected_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests by kind and outcome, sorted.
    pub fn requests(&self) -> Vec<RequestCount> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = requests.iter();
        counts
            .map(|(&(request, outcome), &count)| RequestCount { request, outcome, count })
            .collect()
    }

    /// Connections rejected because their user, or the server, had too many.
    pub fn rejected_connections(&self) -> u64 {
        self.rejected_connections.load(Ordering::Relaxed)
    }
}
