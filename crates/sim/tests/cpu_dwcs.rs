//! DWCS for threads: windows of quanta are met whenever the admission sum is at most one.

use crate::cpu_common::ms;
use laxity_core::{Span, Time};
use laxity_cpu::dwcs::Dwcs;
use laxity_cpu::layered::Layered;
use laxity_cpu::round_robin::RoundRobin;
use laxity_cpu::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, Reservation, Share, TaskId};
use laxity_dwcs::Tolerance;
use laxity_sim::cpu::{Machine, Measure, Task, Workload, run};
use laxity_sim::{Control, Random};

const BUDGET: Span = ms(2);

/// Notes when each quantum begins.
struct Begun {
    policy: Dwcs,
    starts: Vec<Vec<u64>>,
}

impl Policy for Begun {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.policy.join(now, task, a)
    }
    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.policy.leave(now, task, ran);
    }
    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.policy.change(now, task, a)
    }
    fn wake(&mut self, now: Time, task: TaskId) {
        self.policy.wake(now, task);
    }
    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.policy.block(now, task, ran);
    }
    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.policy.ran(now, task, ran);
    }
    fn timer(&mut self, now: Time) {
        self.policy.timer(now);
    }
    fn next_event(&self) -> Option<Time> {
        self.policy.next_event()
    }
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let pick = self.policy.pick(now, cpu)?;
        // All of the budget is left only when the quantum begins.
        if pick.until == now + BUDGET {
            let starts = &mut self.starts[pick.task.index()];
            if starts.last() != Some(&now.0) {
                starts.push(now.0);
            }
        }
        Some(pick)
    }
}

/// The most periods without a quantum in any window, of windows counted back to back from the
/// thread's first period.
fn most_missed(starts: &[u64], from: u64, period: u64, y: u64, until: u64) -> u64 {
    let mut starts = starts.iter().copied().peekable();
    let (mut most, mut missed) = (0, 0);
    for k in 0.. {
        let (begin, end) = (from + k * period, from + (k + 1) * period);
        if end > until {
            return most;
        }
        missed = if k % y == 0 { 0 } else { missed };
        match starts.peek() {
            Some(start) if *start <= end => {
                assert!(*start >= begin, "more than one quantum in a period");
                starts.next();
            }
            _ => missed += 1,
        }
        most = most.max(missed);
    }
    most
}

/// Threads of one budget and period, started at any time, that compute for ever and need as much as
/// there is or a little less.
fn threads(seed: u64) -> (Span, Vec<(Task, Tolerance)>) {
    let mut r = Random::new(seed, 0);
    let period = Span(BUDGET.0 * r.uniform(1, 4));
    let mut threads: Vec<(Task, Tolerance)> = Vec::new();
    // In thousandths of a quantum per period; there are period / budget quanta.
    let mut free = (period.0 / BUDGET.0) as f64;
    for _ in 0..40 {
        let y = r.uniform(1, 8);
        let x = r.uniform(0, y);
        let need = 1.0 - x as f64 / y as f64;
        if need > free + 1e-9 {
            continue;
        }
        free -= need;
        let joins = Time(r.uniform(0, 3) * r.uniform(0, period.0));
        let attributes = Attributes::soft(Reservation::new(BUDGET, period));
        let task = Task::new("thread", Workload::CpuBound).with(attributes).joining(joins);
        threads.push((task, Tolerance::new(x, y).expect("a tolerance")));
    }
    (period, threads)
}

/// Fails when windows stay as they are after a quantum or a miss, so that tolerances order threads
/// for good, and when the next quantum is due one period after the last one ended.
#[test]
fn admitted_windows_are_kept() {
    let (mut full, mut missed) = (0, 0);
    for seed in 0..400 {
        let (period, threads) = threads(seed);
        let mut policy = Dwcs::new();
        for (i, (_, window)) in threads.iter().enumerate() {
            policy.set_window(TaskId(i as u32), *window);
        }
        let starts = vec![Vec::new(); threads.len()];
        let mut begun = Begun { policy, starts };
        let tasks: Vec<Task> = threads.iter().map(|(task, _)| task.clone()).collect();
        let until = Time::ZERO + ms(1500);
        let mut measure = Measure::new(tasks.len());
        run(&mut begun, &tasks, Machine::single(until, 1), &mut measure, &Control::default())
            .expect("a run to its end");
        full += u64::from(measure.tasks.iter().map(|t| t.executed.0).sum::<u64>() > 1_450_000_000);
        for (i, (task, window)) in threads.iter().enumerate() {
            assert_eq!(measure.tasks[i].refused, None, "system {seed}");
            let (x, y) = (u64::from(window.x()), u64::from(window.y()));
            let most = most_missed(&begun.starts[i], task.joins.0, period.0, y, until.0);
            assert!(most <= x, "system {seed}, thread {i} of {x}/{y}: {most} missed");
            missed += most;
        }
    }
    // The systems must be full enough, and lose enough, to mean something.
    assert!(full > 200 && missed > 500, "{full} full, {missed} missed");
}

/// Fails when the sum counts whole budgets, or refusals do not say what would fit.
#[test]
fn inadmissible_tasks_are_refused() {
    let mut policy = Dwcs::new();
    let attributes = Attributes::hard(Reservation::new(ms(10), ms(10)));
    for task in 0..4 {
        policy.set_window(TaskId(task), Tolerance::new(2, 3).expect("a tolerance"));
    }
    // Each needs a third of the CPU, exactly.
    let join = |policy: &mut Dwcs, task| policy.join(Time::ZERO, TaskId(task), &attributes);
    for task in 0..3 {
        assert!(join(&mut policy, task).is_ok());
    }
    let Err(Refusal::Overload { fits, needs, .. }) = join(&mut policy, 3) else {
        panic!("a fourth fits")
    };
    assert!(fits < Span(10) && needs >= Share::per_mille(333), "{fits} {needs}");
    policy.leave(Time::ZERO, TaskId(0), Span::ZERO);
    let strict = Attributes::hard(Reservation::new(ms(5), ms(10)));
    policy.set_window(TaskId(3), Tolerance::new(0, 1).expect("a tolerance"));
    let Err(Refusal::Overload { fits, .. }) = policy.join(Time::ZERO, TaskId(3), &strict) else {
        panic!("half fits into a third")
    };
    assert!(fits > Span(3_333_000) && fits <= Span(3_333_333), "{fits}");
    let third = Attributes::hard(Reservation::new(fits, ms(10)));
    assert!(policy.join(Time::ZERO, TaskId(3), &third).is_ok());
}

/// Other tasks use the time beyond the windows; a thread uses at most its budget in a period.
///
/// Fails when threads may work ahead without limit.
#[test]
fn best_effort_has_the_remaining_cpu_time() {
    let reserved = Attributes::hard(Reservation::new(ms(2), ms(10)));
    let tasks = [
        Task::new("window", Workload::CpuBound).with(reserved),
        Task::new("other", Workload::CpuBound),
    ];
    let mut policy = Layered::new(Dwcs::new(), RoundRobin::new(ms(10)));
    let mut measure = Measure::new(2);
    let end = Time::ZERO + ms(1000);
    run(&mut policy, &tasks, Machine::single(end, 1), &mut measure, &Control::default())
        .expect("a run to its end");
    assert_eq!(measure.tasks[0].executed, ms(200));
    assert_eq!(measure.tasks[1].executed, ms(800));
    assert_eq!(measure.tasks[0].longest_gap, ms(8));
}
