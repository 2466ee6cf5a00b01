//! The policies that the kernel runs, and their parameters where the papers leave a choice.

use std::any::Any;

use laxity_core::{Choice as _, OptionInfo, OptionValue, PolicyOptions as _, Span};
use laxity_cpu::berate::{self, BeRate, Limits};
use laxity_cpu::quantum::Clock;
use laxity_cpu::registry::{self, Options};
use laxity_cpu::servers::{Load, Rules, Servers};
use laxity_cpu::{Share, bebs};

use super::{CpuError, CpuRules, Overheads};

/// Their names, from the descriptors.
pub fn policies() -> impl Iterator<Item = &'static str> {
    registry::POLICIES.iter().filter(|p| p.sched_ext().is_some()).map(|p| p.name)
}

/// No best-effort task waits for longer than about twice this, even when hundreds compute: the
/// kernel would take the scheduler away after 30 s.
const LONGEST: Span = Span::from_millis(5_000);
/// The greatest value of an option: with longer ones tasks might wait for too long.
const LONGEST_SETTING: Span = Span::from_millis(1_000);
/// The least budget: below it timers cost more than it is worth.
const LEAST: Span = Span(100_000);
/// The least share of best effort, in thousandths, of which each of its tasks has a part.
const LEAST_BW: u32 = 10;
/// The greatest budget. With the papers' 200 ms compute-bound tasks take turns half as often as
/// under Linux 2.6, to which BEBS is compared there.
const MOST: Span = Span::from_millis(100);
/// The average of a task that has not yet slept, under `bebs-credit`. Budgets that are recharged at once
/// may be as small as jobs or smaller: deadlines come no later for it, and interactive tasks are not
/// delayed by an overestimate. Under `bebs` the rest of a job waits for the next period.
const FIRST: Span = Span::from_millis(1);

/// Under `bebs-credit` with slices the greatest budget is how far a task that sleeps may be ahead of those
/// that compute before they precede it: with less of it more frames of a film at its full share are late,
/// with more a task that has just begun waits longer.
const MOST_CREDIT: Span = Span::from_millis(300);
/// The turns of tasks that compute, and what a task has had before another one preempts it: more of it means
/// fewer switches, and longer waits.
const SLICE: Span = Span::from_millis(3);
const WAKEUP_GRANULARITY: Span = Span::from_millis(1);

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

/// The options of policies on live CPUs, where they are not set otherwise.
fn live_defaults() -> Options {
    let mut options = Options::default();
    let credit = &mut options.bebs_credit;
    (credit.slice, credit.wakeup_granularity) = (SLICE, WAKEUP_GRANULARITY);
    let credit = &mut credit.adaptation;
    (credit.initial_average, credit.margin) = (FIRST, 0);
    (credit.min_budget, credit.max_budget) = (LEAST, MOST_CREDIT);
    let bebs = &mut options.bebs.adaptation;
    (bebs.min_budget, bebs.max_budget) = (LEAST, MOST);
    options.bebs.load = Load::Unblocked;
    options.berate.limits = Some(LIMITS);
    options
}

/// Checks what live CPUs can bear of an option: timers shorter than [`LEAST`] cost more than they are worth,
/// the kernel takes a scheduler away that lets a task wait for 30 s, and its own threads are best effort.
fn live_bounds(policy: &str, option: &str, value: OptionValue) -> Result<(), String> {
    match (option, value) {
        ("load", OptionValue::Choice(load))
            if policy == bebs::INFO.name && load != Load::Unblocked.name() =>
        {
            Err("on live CPUs the load is `unblocked`".to_owned())
        }
        ("clock", OptionValue::Choice(clock)) if clock != Clock::default().name() => {
            Err(format!("on live CPUs the clock is `{}`", Clock::default().name()))
        }
        ("min-best-effort-bw", OptionValue::Integer(permille)) if permille < LEAST_BW => {
            Err(format!("on live CPUs give at least {LEAST_BW}"))
        }
        ("min-budget", OptionValue::Time(time)) if time < LEAST => {
            Err(format!("on live CPUs give at least {LEAST}"))
        }
        ("slice", OptionValue::Time(time)) if time > Span::ZERO && time < LEAST => {
            Err(format!("on live CPUs give at least {LEAST}, or 0 ms"))
        }
        (_, OptionValue::Time(time)) if time > LONGEST_SETTING => {
            Err(format!("on live CPUs give at most {LONGEST_SETTING}"))
        }
        _ => Ok(()),
    }
}

/// A policy as it runs in the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Its name.
    pub name: &'static str,
    /// Its number in the scheduler, as it describes itself.
    pub number: u32,
    /// Its options, and those of other policies.
    options: Options,
    /// Of all best effort, or of reservations above BeRate.
    rules: Rules,
    is_berate: bool,
    /// `None`: those of the scheduler that runs already.
    overheads: Option<Overheads>,
}

impl Policy {
    /// The policy of a name, with its defaults on live CPUs.
    ///
    /// Only tasks that ran lately divide the bandwidth.
    ///
    /// # Errors
    /// When there is none, or the kernel does not run it.
    pub fn named(name: &str) -> Result<Policy, CpuError> {
        Policy::with_options(name, &live_defaults())
    }

    /// The policy of a name with settings, each the name of an option and its value; other options have
    /// their defaults on live CPUs.
    ///
    /// # Errors
    /// When there is no such policy or option, or the kernel does not run it with this value.
    pub fn configured(name: &str, settings: &[(String, OptionValue)]) -> Result<Policy, CpuError> {
        let mut options = live_defaults();
        let wrong = |option: &str, why: String| CpuError::Option {
            policy: name.into(),
            option: option.into(),
            why,
        };
        // An unknown policy is reported as such, not as one without options.
        Policy::with_options(name, &options)?;
        for (option, value) in settings {
            live_bounds(name, option, *value).map_err(|why| wrong(option, why))?;
            options.set(name, option, *value).map_err(|fault| wrong(option, fault.to_string()))?;
        }
        options.check(name).map_err(|conflict| wrong(conflict.options[0], conflict.to_string()))?;
        let policy = Policy::with_options(name, &options)?;
        policy.rules()?;
        Ok(policy)
    }

    fn with_options(name: &str, options: &Options) -> Result<Policy, CpuError> {
        let unknown = || CpuError::Policy { name: name.into(), why: None };
        let info = registry::find(name).ok_or_else(unknown)?;
        let number = info.sched_ext().ok_or_else(unknown)?;
        let algorithm = registry::visit(name, options, AlgorithmOf).ok().flatten();
        let (mut rules, is_berate) = match algorithm.ok_or_else(unknown)? {
            Algorithm::Servers(rules) => (rules, false),
            // Reservations above BeRate have the servers of BEBS.
            Algorithm::BeRate => (*bebs::new(&live_defaults().bebs).rules(), true),
        };
        if name != bebs::INFO.name {
            rules.load = Load::Unblocked;
        }
        (rules.lapse, rules.max_period) = (LAPSE, Some(LONGEST));
        let name = info.name;
        Ok(Policy { name, number, options: *options, rules, is_berate, overheads: None })
    }

    /// The policy on a machine with these overheads, which are added to the budget of each reservation made from now
    /// on. Reservations do not migrate, so `migration` counts for nothing.
    #[must_use]
    pub fn with_overheads(self, overheads: Overheads) -> Policy {
        let overheads = Overheads { migration: Span::ZERO, ..overheads };
        Policy { overheads: Some(overheads), ..self }
    }

    /// The policy with the overheads of another one, unless it has some.
    #[cfg(feature = "kernel")]
    pub(super) fn or_overheads_of(self, other: &Policy) -> Policy {
        Policy { overheads: self.overheads.or(other.overheads), ..self }
    }

    /// The costs of a switch and of a release.
    pub fn overheads(&self) -> Overheads {
        self.overheads.unwrap_or_default()
    }

    /// The values of its options, in the order in which it describes them.
    pub fn options(&self) -> Vec<(&'static str, OptionValue)> {
        let described = registry::find(self.name).map_or(&[][..], |info| info.options);
        let value = |o: &OptionInfo| Some((o.name, self.options.get(self.name, o.name)?));
        described.iter().filter_map(value).collect()
    }

    /// The policy of a number that the scheduler reports.
    #[cfg(feature = "kernel")]
    pub(super) fn numbered(
        number: u32,
        image: &[u8],
        best_effort_bw_min: Share,
    ) -> Result<Policy, CpuError> {
        let info = registry::POLICIES.iter().find(|p| p.sched_ext() == Some(number));
        let mut options = live_defaults();
        super::rules::read(image, &mut options);
        options.bebs.best_effort_bw_min = best_effort_bw_min;
        options.bebs_credit.best_effort_bw_min = best_effort_bw_min;
        Policy::with_options(info.map_or("", |p| p.name), &options)
    }

    /// As the kernel takes them.
    ///
    /// # Errors
    /// When the kernel does not run one of them.
    pub fn rules(&self) -> Result<CpuRules, CpuError> {
        let named = |why| CpuError::Policy { name: self.name.into(), why: Some(why) };
        match self.berate() {
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
        self.is_berate.then_some(&self.options.berate)
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

    /// Fails when a value is accepted that live CPUs cannot bear, or one that they can is refused.
    #[test]
    fn settings_are_bounded() {
        let span = |ns| OptionValue::Time(Span(ns));
        let set = |option: &str, value| {
            let settings = [(option.to_owned(), value)];
            Policy::configured("bebs-credit", &settings).map_err(|error| error.to_string())
        };
        for (option, ns) in [
            ("slice", 99_999),
            ("min-budget", 10_000),
            ("max-budget", 1_000_000_001),
            ("wakeup-granularity", 60_000_000_000),
            ("max-ahead", 3_600_000_000_000),
        ] {
            let error = set(option, span(ns)).expect_err(option);
            assert!(error.contains(option) && error.contains("on live CPUs give"), "{error}");
        }
        for (option, ns) in [("slice", 0), ("slice", 100_000), ("wakeup-granularity", 0)] {
            let policy = set(option, span(ns)).expect("sound");
            let given = policy.options().into_iter().find(|(name, _)| *name == option);
            assert_eq!(given.map(|(_, value)| value), Some(span(ns)), "{option}");
        }
        for (policy, option, value, why) in [
            ("bebs", "load", OptionValue::Choice("live"), "`unblocked`"),
            ("berate", "clock", OptionValue::Choice("100-hz"), "`800-hz-x8`"),
            ("bebs-credit", "min-best-effort-bw", OptionValue::Integer(9), "at least 10"),
        ] {
            let error = Policy::configured(policy, &[(option.to_owned(), value)]);
            let error = error.expect_err(option).to_string();
            assert!(error.contains(option) && error.contains(why), "{error}");
        }
        // BeRate has a load of its own.
        for load in ["live", "runnable"] {
            let load = [("load".to_owned(), OptionValue::Choice(load))];
            assert!(Policy::configured("berate", &load).is_ok());
        }
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
