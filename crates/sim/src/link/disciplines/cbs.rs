//! CBS (IEEE 802.1Q, annex L) as `net/sched/sch_cbs.c` computes it without offload, below the queues of a device
//! that sends the first queue first.

use super::{BYTE, Choice, Order};

/// A queue with credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CbsClass {
    /// Idle slope in bit/s.
    pub idle: u64,
    /// Largest credit in bytes.
    pub hicredit: u64,
    /// Least credit in bytes, negative.
    pub locredit: i64,
}

struct Queue {
    options: Option<CbsClass>,
    active: bool,
    /// In nanobits.
    credit: i128,
    /// Until when it is counted.
    last: i128,
}

impl Queue {
    /// From when on it may send.
    fn from(&self, now: i128) -> i128 {
        let Some(options) = self.options else { return now };
        let credit = self.credit_at(now, options);
        match credit < 0 {
            true => now.max(self.last) + (-credit).div_euclid(i128::from(options.idle.max(1))) + 1,
            false => now.max(self.last),
        }
    }

    /// Credit that is below zero grows while packets wait.
    fn credit_at(&self, now: i128, options: CbsClass) -> i128 {
        let passed = (now - self.last).max(0);
        let grown = self.credit + passed * i128::from(options.idle);
        grown.min(i128::from(options.hicredit) * BYTE)
    }
}

pub(super) struct Cbs {
    queues: Vec<Queue>,
    rate: i128,
}

impl Cbs {
    pub(super) fn new(classes: &[Option<CbsClass>], rate: u64) -> Cbs {
        let queue = |options: &Option<CbsClass>| Queue {
            options: *options,
            active: false,
            credit: 0,
            last: 0,
        };
        Cbs { queues: classes.iter().map(queue).collect(), rate: rate.into() }
    }
}

impl Order for Cbs {
    fn begin(&mut self, class: usize, now: i128, _: u32) {
        let queue = &mut self.queues[class];
        queue.active = true;
        // An empty queue saves no credit.
        if queue.credit > 0 {
            (queue.credit, queue.last) = (0, now);
        }
    }

    fn choose(&mut self, now: i128, _: &[Option<u32>]) -> Choice {
        let active = || self.queues.iter().enumerate().filter(|(_, q)| q.active);
        if let Some((first, _)) = active().find(|(_, q)| q.from(now) <= now) {
            return Choice::Send(first);
        }
        Choice::Wait(active().map(|(_, q)| q.from(now)).min())
    }

    fn sent(&mut self, class: usize, now: i128, length: u32, next: Option<u32>) {
        let rate = self.rate;
        let queue = &mut self.queues[class];
        queue.active = next.is_some();
        let Some(options) = queue.options else { return };
        // While it sends, the send slope, which is the idle slope less the port's rate.
        let work = i128::from(length) * BYTE;
        let spent = work - work * i128::from(options.idle) / rate;
        let credit = queue.credit_at(now, options) - spent;
        queue.credit = credit.max(i128::from(options.locredit) * BYTE);
        queue.last = now + work / rate;
    }
}
