//! Properties of every policy: the CPU never idles beside work, shares are fair in the long run,
//! the same input gives the same schedule, nonsense changes nothing. And how far deadlines reach.

use crate::cpu_common::systems::{Mix, system};
use crate::cpu_common::{cpu_bound, measure, ms};
use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES, build};
use laxity_cpu::servers::Servers;
use laxity_cpu::{
    Admitted, Attributes, CpuId, Nice, Pick, Policy, Refusal, Reservation, Service, Share, TaskId,
    bebs, cbs, iris,
};
use laxity_sim::Control;
use laxity_sim::cpu::{Machine, Observer, Recording, Step, Task, Workload, run};

const MIX: Mix = Mix { soft: true, constrained: true, greedy: true, length: ms(2000) };

/// Counts idle time beside runnable best-effort tasks.
struct Idle {
    best_effort: Vec<bool>,
    runnable: u32,
    decisions: u64,
}

impl Observer for Idle {
    fn woke(&mut self, _: Time, task: TaskId) {
        self.runnable += u32::from(self.best_effort[task.index()]);
    }
    fn slept(&mut self, _: Time, task: TaskId) {
        self.runnable -= u32::from(self.best_effort[task.index()]);
    }
    fn dispatched(&mut self, now: Time, _: CpuId, task: Option<TaskId>) {
        let idle = task.is_none();
        assert!(!idle || self.runnable == 0, "idle at {now} beside {} tasks", self.runnable);
        self.decisions += 1;
    }
}

/// Fails when slack is left unused: tried with `Slack::Unused` for `bebs`.
#[test]
fn no_policy_idles_while_best_effort_waits() {
    for p in POLICIES {
        let mut decisions = 0;
        for seed in 0..300 {
            let tasks = system(seed, MIX);
            let hard = |t: &Task| matches!(t.attributes.service, Service::Hard(_));
            let best_effort = tasks.iter().map(|t| !hard(t)).collect();
            let mut idle = Idle { best_effort, runnable: 0, decisions: 0 };
            let mut policy = build(p.name, &Options::default()).expect("of the registry");
            let machine = Machine::single(Time::ZERO + MIX.length, seed);
            run(&mut policy, &tasks, machine, &mut idle, &Control::default()).expect(p.name);
            decisions += idle.decisions;
        }
        assert!(decisions > 10_000, "{}: {decisions}", p.name);
    }
}

/// Fails when anything depends on addresses, clocks or the order of a hash map.
#[test]
fn the_same_input_gives_the_same_schedule() {
    for p in POLICIES {
        for seed in 0..20 {
            let once = || {
                let mut recording = Recording::new();
                let mut policy = build(p.name, &Options::default()).expect("of the registry");
                let machine = Machine::single(Time::ZERO + MIX.length, seed);
                run(&mut policy, &system(seed, MIX), machine, &mut recording, &Control::default())
                    .expect(p.name);
                recording
            };
            let first = once();
            assert!(!first.slices.is_empty());
            assert_eq!(first, once(), "{}", p.name);
        }
    }
}

/// CPU-bound tasks of equal nice values get equal shares; of others, shares by weight where the
/// policy has weights.
#[test]
fn long_runs_are_fair() {
    let nice = |n: i8| Attributes::best_effort(Nice::new(n).expect("in range"));
    for p in POLICIES {
        let policy = || build(p.name, &Options::default()).expect("of the registry");
        let equal = vec![cpu_bound("equal"); 5];
        let m = measure(&mut policy(), &equal, ms(200_000), 1);
        for t in &m.tasks {
            let share = t.executed.0 as f64 / 200e9;
            assert!((share - 0.2).abs() < 0.01, "{}: {share}", p.name);
        }
    }
    let by_weight = ["bebs", "bebs-credit", "cbs", "iris", "iris-naive"];
    for name in by_weight {
        let tasks = [0, 10, 15].map(|n| cpu_bound("weighted").with(nice(n))).to_vec();
        let mut policy = build(name, &Options::default()).expect("of the registry");
        let m = measure(&mut policy, &tasks, ms(200_000), 1);
        for (t, weight) in m.tasks.iter().zip([20.0, 10.0, 5.0]) {
            let share = t.executed.0 as f64 / 200e9;
            assert!((share - weight / 35.0).abs() < 0.01, "{name}: {share}");
        }
    }
}

/// Members of a group share one server's share.
#[test]
fn a_group_has_one_share() {
    let group = Attributes::default().in_group(laxity_cpu::GroupId(7));
    let mut tasks = vec![cpu_bound("alone")];
    tasks.extend((0..10).map(|_| cpu_bound("thread").with(group)));
    for name in ["bebs", "bebs-credit", "cbs", "iris"] {
        let mut policy = build(name, &Options::default()).expect("of the registry");
        let m = measure(&mut policy, &tasks, ms(100_000), 1);
        let share = |i: usize| m.tasks[i].executed.0 as f64 / 100e9;
        assert!((share(0) - 0.5).abs() < 0.01, "{name}: {}", share(0));
        for i in 1..=10 {
            assert!((share(i) - 0.05).abs() < 0.01, "{name}: {}", share(i));
        }
    }
}

/// Reports about tasks that are not there, twice, or in any order, do not panic and change nothing.
#[test]
fn invalid_reports_do_not_panic() {
    for p in POLICIES {
        let mut policy = build(p.name, &Options::default()).expect("of the registry");
        let (a, b, now) = (TaskId(0), TaskId(9), Time(5));
        for _ in 0..2 {
            policy.wake(now, b);
            policy.block(now, b, Span(1));
            policy.ran(now, b, Span(1));
            policy.leave(now, b, Span(1));
            policy.timer(now);
            assert_eq!(policy.pick(now, CpuId::FIRST), None, "{}", p.name);
            let change = policy.change(now, b, &Attributes::default());
            assert_eq!(change, Err(Refusal::Unknown(b)), "{}", p.name);
        }
        assert!(policy.join(now, a, &Attributes::default()).is_ok());
        let again = policy.join(now, a, &Attributes::default());
        assert_eq!(again, Err(Refusal::Known(a)), "{}", p.name);
        policy.block(now, a, Span(1));
        assert_eq!(policy.pick(now, CpuId::FIRST), None, "{}", p.name);
        policy.wake(now, a);
        policy.wake(now, a);
        assert_eq!(policy.pick(now, CpuId::FIRST).map(|p| p.task), Some(a), "{}", p.name);
        policy.leave(now, a, Span(1));
        policy.leave(now, a, Span(1));
        assert_eq!(policy.pick(now, CpuId::FIRST), None, "{}", p.name);
    }
}

/// Watches how far deadlines lie ahead, as a policy around servers.
struct Reach {
    servers: Servers,
    tasks: u32,
    /// The greatest `d - t` less its bound, in ns.
    excess: i64,
    bound: fn(budget: u64, period: u64) -> u64,
}

impl Reach {
    fn look(&mut self, now: Time) {
        for task in 0..self.tasks {
            let Some((budget, period, deadline)) = self.servers.server_of(TaskId(task)) else {
                continue;
            };
            if period > Span::ZERO && deadline > now {
                let ahead = deadline.since(now).0 as i64;
                self.excess = self.excess.max(ahead - (self.bound)(budget.0, period.0) as i64);
            }
        }
    }
}

impl Policy for Reach {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.servers.join(now, task, a)
    }
    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.servers.leave(now, task, ran);
    }
    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.servers.change(now, task, a)
    }
    fn wake(&mut self, now: Time, task: TaskId) {
        self.servers.wake(now, task);
    }
    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.servers.block(now, task, ran);
    }
    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.servers.ran(now, task, ran);
    }
    fn timer(&mut self, now: Time) {
        self.servers.timer(now);
    }
    fn next_event(&self) -> Option<Time> {
        self.servers.next_event()
    }
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let pick = self.servers.pick(now, cpu);
        self.look(now);
        pick
    }
}

/// Random servers of fixed budgets and periods, asleep and awake.
fn fixed_servers(seed: u64) -> Vec<Task> {
    let mut r = laxity_sim::Random::new(seed, 0);
    (0..r.uniform(1, 4))
        .map(|_| {
            let period = r.uniform(10, 100) * 1_000_000;
            let budget = period * r.uniform(5, 25) / 100;
            let mut steps = Vec::new();
            for _ in 0..4 {
                steps.push(Step::Run(Span(r.uniform(1, 60_000_000))));
                steps.push(Step::Sleep(Span(r.uniform(1, 60_000_000))));
            }
            let workload = match r.uniform(0, 1) {
                0 => Workload::CpuBound,
                _ => Workload::Script { steps, repeat: true },
            };
            let reservation = Reservation::new(Span(budget), Span(period));
            Task::new("fixed", workload).with(Attributes::soft(reservation))
        })
        .collect()
}

/// `d - t` is at most `2p - b` under BEBS and `p` under IRIS, exactly; under CBS it grows with the
/// idle time that was used.
///
/// Fails when BEBS counts deadlines from anything later than the original release, and when the
/// bounds are smaller by a nanosecond.
#[test]
fn deadlines_reach_as_far_as_the_paper_says() {
    let furthest = |servers: fn() -> Servers, bound: fn(u64, u64) -> u64| {
        let excess = |seed| {
            let tasks = fixed_servers(seed);
            let mut reach =
                Reach { servers: servers(), tasks: tasks.len() as u32, excess: i64::MIN, bound };
            let machine = Machine::single(Time::ZERO + ms(5000), seed);
            run(&mut reach, &tasks, machine, &mut (), &Control::default()).expect("a run");
            reach.excess
        };
        (0..500).map(excess).max().expect("500 systems")
    };
    let bebs =
        || bebs::new(&bebs::Options { best_effort_bw_min: Share::ZERO, ..Default::default() });
    assert_eq!(furthest(bebs, |b, p| 2 * p - b), 0);
    assert_eq!(furthest(|| iris::new(&cbs::Options::default()), |_, p| p), 0);
    assert!(furthest(|| cbs::new(&cbs::Options::default()), |_, p| 50 * p) > 0);
}
