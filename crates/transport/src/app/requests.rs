//! Requests and answers, one after another on one connection.

use laxity_core::{Bytes, Span, Time};

use super::{Completion, Endpoints, Pairs, Workload};

/// Sizes and pauses of [`Requests`].
#[derive(Clone, Copy, Debug)]
pub struct RequestsPlan {
    /// The size of a request.
    pub request: Bytes,
    /// The size of its answer.
    pub response: Bytes,
    /// From an answer to the next request.
    pub pause: Span,
}

/// Requests without end; each answer is a completion.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    plan: RequestsPlan,
    exchange: Exchange,
    next: Option<Time>,
}

impl Requests {
    /// The first request leaves with the handshake.
    pub fn new(plan: RequestsPlan) -> Requests {
        Requests { plan, exchange: Exchange::default(), next: Some(Time::ZERO) }
    }
}

impl Workload for Requests {
    fn advance(&mut self, now: Time, pairs: &mut Pairs) -> Option<Completion> {
        let ends = &mut pairs.open()[0];
        if self.next.is_some_and(|at| at <= now) {
            self.next = None;
            self.exchange.request(now, ends, self.plan.request, self.plan.response);
        }
        let completion = self.exchange.advance(now, ends)?;
        self.next = Some(now + self.plan.pause);
        Some(completion)
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.next
    }
}

/// A request and its answer on a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exchange {
    started: Time,
    /// The answer, once requested and until it has arrived.
    pending: Option<Bytes>,
    answered: bool,
}

impl Exchange {
    pub(super) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    pub(super) fn request(&mut self, now: Time, ends: &mut Endpoints, bytes: Bytes, answer: Bytes) {
        ends.client.write(bytes);
        *self = Exchange { started: now, pending: Some(answer), answered: false };
    }

    /// Answers a request that has arrived whole; completes when the answer has.
    pub(super) fn advance(&mut self, now: Time, ends: &mut Endpoints) -> Option<Completion> {
        let bytes = self.pending?;
        if !self.answered && ends.server.received() == ends.client.written() {
            ends.server.write(bytes);
            self.answered = true;
        }
        if !self.answered || ends.client.received() != ends.server.written() {
            return None;
        }
        self.pending = None;
        Some(Completion { started: self.started, ended: now, bytes })
    }
}
