//! Policies under the compared readings, with their names in labels.

use laxity_core::Span;
use laxity_cpu::eevdf::{self as eevdf_policy, Eevdf};
use laxity_cpu::layered::Layered;
use laxity_cpu::linux_2_6::Linux26;
use laxity_cpu::posix::FixedPriority;
use laxity_cpu::quantum::Clock;
use laxity_cpu::sched_deadline::SchedDeadline;
use laxity_cpu::servers::{Adaptation, Basis, Transition};
use laxity_cpu::{
    Policy, Sample, Share, bebs as bebs_policy, bebs_credit, berate as berate_policy,
    best as best_policy, cbs as cbs_policy, iris as iris_policy, iris_naive, linux_2_4,
};

/// A policy as engines accept it.
pub type Boxed = Box<dyn Policy + Send>;

/// A policy under one reading.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// In labels.
    pub name: &'static str,
    /// In figures.
    pub title: &'static str,
    /// Builds it.
    pub build: fn() -> Boxed,
}

const fn contender(name: &'static str, title: &'static str, build: fn() -> Boxed) -> Contender {
    Contender { name, title, build }
}

fn adapted(adaptation: Adaptation) -> Boxed {
    Box::new(bebs_policy::new(&bebs_policy::Options { adaptation, ..Default::default() }))
}

/// BEBS with changes of servers' shares by a reading.
pub fn changing(transition: Transition) -> Boxed {
    // The system that distinguishes them needs a first budget of 7.5 ms.
    let adaptation = Adaptation { initial_average: Span::from_millis(5), ..Adaptation::PAPER };
    let options = bebs_policy::Options { transition, adaptation, ..Default::default() };
    Box::new(bebs_policy::new(&options))
}

const MOST_100: Adaptation = Adaptation { max_budget: Span::from_millis(100), ..Adaptation::PAPER };

fn naive(period: u64) -> Boxed {
    let period = Span::from_millis(period);
    Box::new(iris_naive::new(&cbs_policy::Options { period, ..Default::default() }))
}

fn clocked(clock: Clock) -> Boxed {
    Box::new(linux_2_4::Linux24::new(&linux_2_4::Options { clock, ..Default::default() }))
}

fn berate_with(options: berate_policy::Options) -> Boxed {
    Box::new(berate_policy::BeRate::new(&options))
}

/// Real-time tasks by fixed priority above another policy.
fn below_fifo(lower: impl Policy + Send + 'static) -> Boxed {
    Box::new(Layered::new(FixedPriority::new(), lower))
}

fn eevdf() -> Eevdf {
    Eevdf::new(&eevdf_policy::Options::default())
}

/// BEBS as written.
pub const BEBS: Contender = contender("bebs", "BEBS", || adapted(Adaptation::PAPER));

/// BEBS with the longest budget at 100 ms (A7).
pub const BEBS_100: Contender =
    contender("bebs-100ms", "BEBS, at most 100 ms", || adapted(MOST_100));

/// The same, sampling at every context switch (A14).
pub const BEBS_SWITCH: Contender =
    contender("bebs-100ms-switch", "BEBS, 100 ms, each switch", || {
        adapted(Adaptation { sample: Sample::Switch, ..MOST_100 })
    });

/// BEBS with one sample from wake-up to sleep (A17).
pub const BEBS_JOB: Contender = contender("bebs-job", "BEBS, whole jobs", || {
    adapted(Adaptation { sample: Sample::Job, ..Adaptation::PAPER })
});

/// BEBS with `p = e_avg / u` (A4).
pub const BEBS_AVERAGE: Contender = contender("bebs-average", "BEBS, p = e/u", || {
    adapted(Adaptation { basis: Basis::Average, ..Adaptation::PAPER })
});

/// BEBS that replenishes at once and records the use of idle time: not in the papers.
pub const BEBS_CREDIT: Contender = contender("bebs-credit", "BEBS with credit", || {
    Box::new(bebs_credit::new(&bebs_credit::Options::default()))
});

/// BEBS where declared servers have the whole CPU (figures 1 to 4).
pub const BEBS_FIXED: Contender = contender("bebs", "BEBS", || {
    let best_effort_bw_min = Share::ZERO;
    Box::new(bebs_policy::new(&bebs_policy::Options { best_effort_bw_min, ..Default::default() }))
});

/// CBS where declared servers have the whole CPU.
pub const CBS_FIXED: Contender = contender("cbs", "CBS", || {
    let best_effort_bw_min = Share::ZERO;
    Box::new(cbs_policy::new(&cbs_policy::Options { best_effort_bw_min, ..Default::default() }))
});

/// IRIS where declared servers have the whole CPU.
pub const IRIS_FIXED: Contender = contender("iris", "IRIS", || {
    let best_effort_bw_min = Share::ZERO;
    Box::new(iris_policy::new(&cbs_policy::Options { best_effort_bw_min, ..Default::default() }))
});

/// CBS with equal periods of 40 ms.
pub const CBS: Contender =
    contender("cbs", "CBS, 40 ms", || Box::new(cbs_policy::new(&cbs_policy::Options::default())));

/// Naive IRIS with periods of 40 ms.
pub const NAIVE_40: Contender = contender("iris-naive-40", "naive IRIS, 40 ms", || naive(40));

/// Naive IRIS with periods of 100 ms.
pub const NAIVE_100: Contender = contender("iris-naive-100", "naive IRIS, 100 ms", || naive(100));

/// Linux 2.6, real-time tasks above the others by fixed priorities.
pub const LINUX_26: Contender = contender("linux-2.6", "Linux 2.6", || below_fifo(Linux26::new()));

/// EEVDF, real-time tasks above the others by fixed priorities.
pub const EEVDF_BELOW: Contender =
    contender("eevdf-below-fifo", "EEVDF below FIFO", || below_fifo(eevdf()));

/// SCHED_DEADLINE above EEVDF.
pub const SCHED_DEADLINE: Contender =
    contender("sched-deadline", "EEVDF below SCHED_DEADLINE", || {
        Box::new(Layered::new(SchedDeadline::new(true), eevdf()))
    });

/// EEVDF alone.
pub const EEVDF: Contender = contender("eevdf", "EEVDF", || Box::new(eevdf()));

/// Linux 2.4 at 800 Hz with quanta of 60 ms (A12).
pub const LINUX_24: Contender = contender("linux-2.4", "Linux 2.4", || clocked(Clock::Hz800Times8));

/// Linux 2.4 at 800 Hz with quanta of 51.25 ms.
pub const LINUX_24_800: Contender =
    contender("linux-2.4-51ms", "Linux 2.4, 51 ms", || clocked(Clock::Hz800));

/// Linux 2.4 at 100 Hz.
pub const LINUX_24_100: Contender =
    contender("linux-2.4-100hz", "Linux 2.4, 100 Hz", || clocked(Clock::Hz100));

/// Linux 2.4 comparing what is left of quanta alone (A11).
pub const LINUX_24_COUNTER: Contender =
    contender("linux-2.4-counter", "Linux 2.4, quanta alone", || {
        let goodness = linux_2_4::Goodness::Counter;
        Box::new(linux_2_4::Linux24::new(&linux_2_4::Options { goodness, ..Default::default() }))
    });

/// Linux 2.4 with the one that the kernel adds for the address space that is loaded.
pub const LINUX_24_MEMORY: Contender =
    contender("linux-2.4-memory", "Linux 2.4, same memory", || {
        let goodness = linux_2_4::Goodness::SameMemory;
        Box::new(linux_2_4::Linux24::new(&linux_2_4::Options { goodness, ..Default::default() }))
    });

/// BeRate, the deadline after a quantum counting from the old one (A8).
pub const BERATE: Contender =
    contender("berate", "BeRate", || berate_with(berate_policy::Options::default()));

/// BeRate by the letter (A8).
pub const BERATE_NOW: Contender = contender("berate-now", "BeRate, from now", || {
    let base = berate_policy::Base::Now;
    berate_with(berate_policy::Options { base, ..Default::default() })
});

/// BeRate with the load of runnable tasks (A9).
pub const BERATE_RUNNABLE: Contender = contender("berate-runnable", "BeRate, runnable", || {
    let load = berate_policy::LoadOf::Runnable;
    berate_with(berate_policy::Options { load, ..Default::default() })
});

/// BeRate with quanta of 51.25 ms (A12).
pub const BERATE_800: Contender = contender("berate-51ms", "BeRate, 51 ms", || {
    berate_with(berate_policy::Options { clock: Clock::Hz800, ..Default::default() })
});

/// BEST as BeRate describes it: the reading is uncertain.
pub const BEST: Contender =
    contender("best", "BEST", || Box::new(best_policy::Best::new(Clock::default())));
