//! The policies that the kernel runs, and their parameters where the papers leave a choice.

use std::any::Any;

use laxity_core::Span;
use laxity_cpu::berate::{self, BeRate, Limits};
use laxity_cpu::registry::{self, Options};
use laxity_cpu::servers::{Exhaustion, Load, Rules, Servers, Sizing};
use laxity_cpu::{Share, bebs};

use super::{CpuError, CpuRules};

/// Their names, from the descriptors.
pub fn policies() -> impl Iterator<Item = &'static str> {
    registry::POLICIES.iter().filter(|p| p.sched_ext().is_some()).map(|p| p.name)
}

/// No best-effort task waits for longer than about twice this, even when hundreds compute: the
/// kernel would take the scheduler away after 30 s.
const LONGEST: Span = Span::from_millis(5_000);
/// The least budget: below it timers cost more than it is worth.
const LEAST: Span = Span(100_000);
/// The greatest budget. With the papers' 200 ms compute-bound tasks take turns half as often as
/// under Linux 2.6, to which BEBS is compared there.
const MOST: Span = Span::from_millis(100);
/// The average of a task that has not yet slept, under `bebs-credit`. Budgets that are recharged at once
/// may be as small as jobs or smaller: deadlines come no later for it, and interactive tasks are not
/// delayed by an overestimate. Under `bebs` the rest of a job waits for the next period.
const FIRST: Span = Span::from_millis(1);

/// The load are tasks that ran within a second: nearly all of a system's hundreds sleep for longer,
/// while all that the papers play have shorter periods.
const LAPSE: Span = Span::from_millis(1_000);
/// Of BeRate. A task that had a CPU to itself is half a second ahead at most, as under `bebs-credit`,
/// and waits for about as long when others come.
const LIMITS: Limits = Limits { lapse: LAPSE, ahead: Span::from_millis(500), max_period: LONGEST };

/// The part of the scheduler that serves the best effort of a policy.
enum Algorithm {
    Servers(Rules),
    BeRate,
}

/// Finds the algorithm of a policy by its type; `None` for one that the scheduler does not have.
struct AlgorithmOf;

impl registry::Visitor for AlgorithmOf {
    type Output = Option<Algorithm>;

    fn visit<P: laxity_cpu::Policy + Send + 'static>(self, policy: P) -> Option<Algorithm> {
        let policy: &dyn Any = &policy;
        match policy.downcast_ref::<Servers>() {
            Some(servers) => Some(Algorithm::Servers(*servers.rules())),
            None => policy.is::<BeRate>().then_some(Algorithm::BeRate),
        }
    }
}

/// A policy as it runs in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: &'static str,
    /// Its number in the scheduler, as it describes itself.
    pub number: u32,
    /// Of all best effort, or of reservations above BeRate.
    rules: Rules,
    berate: Option<berate::Options>,
}

impl Policy {
    /// The policy of a name.
    ///
    /// Only tasks that ran lately divide the bandwidth.
    ///
    /// # Errors
    /// When there is none, or the kernel does not run it.
    pub fn named(name: &str) -> Result<Policy, CpuError> {
        let unknown = || CpuError::Policy { name: name.into(), why: None };
        let info = registry::find(name).ok_or_else(unknown)?;
        let number = info.sched_ext().ok_or_else(unknown)?;
        let algorithm = registry::visit(name, &Options::default(), AlgorithmOf).ok().flatten();
        let (mut rules, berate) = match algorithm.ok_or_else(unknown)? {
            Algorithm::Servers(rules) => (rules, false),
            // Reservations above BeRate have the servers of BEBS.
            Algorithm::BeRate => (*bebs::new(&bebs::Options::default()).rules(), true),
        };
        (rules.load, rules.lapse, rules.max_period) = (Load::Unblocked, LAPSE, Some(LONGEST));
        if let Sizing::Adaptive(how) = &mut rules.sizing {
            (how.min_budget, how.max_budget) = (LEAST, MOST);
            if rules.exhaustion == Exhaustion::Recharge {
                (how.initial_average, how.margin) = (FIRST, 0);
            }
        }
        let options = berate::Options { limits: Some(LIMITS), ..berate::Options::default() };
        let berate = berate.then_some(options);
        Ok(Policy { name: info.name, number, rules, berate })
    }

    /// The policy of a number that the scheduler reports.
    #[cfg(feature = "kernel")]
    pub(super) fn numbered(number: u32) -> Result<Policy, CpuError> {
        let info = registry::POLICIES.iter().find(|p| p.sched_ext() == Some(number));
        Policy::named(info.map_or("", |p| p.name))
    }

    /// As the kernel takes them.
    ///
    /// # Errors
    /// When the kernel does not run one of them.
    pub fn rules(&self) -> Result<CpuRules, CpuError> {
        let named = |why| CpuError::Policy { name: self.name.into(), why: Some(why) };
        match &self.berate {
            Some(options) => CpuRules::berate(options),
            None => CpuRules::new(&self.rules),
        }
        .map_err(named)
    }

    /// The share of each CPU that reservations leave.
    pub fn best_effort_min(&self) -> Share {
        self.rules.best_effort_bw_min
    }

    /// How best effort is served where that is BeRate, below the servers of reservations.
    pub fn berate(&self) -> Option<&berate::Options> {
        self.berate.as_ref()
    }

    /// Its scheduler of one CPU without tasks, for admission and for comparisons.
    pub fn servers(&self) -> Servers {
        Servers::new(self.rules)
    }
}

#[cfg(test)]
mod tests {
    use laxity_core::Time;
    use laxity_cpu::{Attributes, CpuId, Nice, Policy as _, TaskId};

    use super::*;

    /// Budgets in us: of a new task, and after many jobs of 200 us, 4 ms of sleep between them.
    fn budgets(name: &str) -> [u64; 2] {
        let (task, job, mut now) = (TaskId(0), Span(200_000), Time(0));
        let mut servers = Policy::named(name).expect("a policy").servers();
        let budget = |servers: &Servers| servers.server_of(task).expect("a server").0.0 / 1000;
        servers.join(now, task, &Attributes::default()).expect("room");
        servers.wake(now, task);
        let first = budget(&servers);
        for _ in 0..100 {
            servers.pick(now, CpuId(0));
            now += job;
            servers.block(now, task, job);
            now += Span::from_millis(4);
            servers.timer(now);
            servers.wake(now, task);
        }
        [first, budget(&servers)]
    }

    /// Under `bebs-credit` the mean job length: a longer budget is a later deadline. Under
    /// `bebs` as the paper has them, with half as much again.
    #[test]
    fn budgets_that_are_recharged_at_once_are_short() {
        assert_eq!(budgets("bebs-credit"), [1000, 200]);
        assert_eq!(budgets("bebs"), [15_000, 300]);
    }

    /// The share of the CPU, in thousandths, of a task that wakes after the nice value of another was
    /// changed to `nice` in its sleep; that one sleeps for `asleep` or wakes as well.
    fn share_after_renice(nice: i8, asleep: Span, wakes: bool) -> u64 {
        let (stays, sleeper, job) = (TaskId(0), TaskId(1), Span(100_000));
        let mut servers = Policy::named("bebs").expect("a policy").servers();
        let mut now = Time(0);
        for task in [sleeper, stays] {
            servers.join(now, task, &Attributes::default()).expect("room");
            servers.wake(now, task);
            servers.pick(now, CpuId(0));
            now += job;
            servers.block(now, task, job);
        }
        let niced = Attributes::best_effort(Nice::new(nice).expect("nice"));
        servers.change(now, sleeper, &niced).expect("best effort");
        now += asleep;
        servers.timer(now);
        if wakes {
            servers.wake(now, sleeper);
        }
        now += Span::from_millis(100);
        servers.timer(now);
        servers.wake(now, stays);
        let (budget, period, _) = servers.server_of(stays).expect("a server");
        budget.0 * 1000 / period.0
    }

    /// Fails when a weight raised in sleep counts at once, when a lowered one stops counting before the
    /// sleep is long enough, and when it still counts afterwards.
    #[test]
    fn sleeping_tasks_count_with_their_old_weight() {
        let (short, long) = (Span::from_millis(10), Span::from_millis(2_000));
        // Weights of 40, 20 and 1.
        for nice in [-20, 0, 19] {
            assert_eq!(share_after_renice(nice, short, false), 500, "{nice}");
            assert_eq!(share_after_renice(nice, long, false), 1000, "{nice}");
        }
        assert_eq!([-20, 0, 19].map(|nice| share_after_renice(nice, short, true)), [333, 500, 952]);
    }

    #[test]
    fn every_policy_is_one_that_the_kernel_runs() {
        let mut numbers = std::collections::BTreeSet::new();
        for name in policies() {
            assert!(numbers.insert(Policy::named(name).expect("a policy").number), "{name}");
            assert!(Policy::named(name).expect("a policy").rules().is_ok(), "{name}");
        }
        let error = Policy::named("bebs-").expect_err("no such policy");
        assert!(error.to_string().contains("bebs, bebs-credit, berate"), "{error}");
    }
}
