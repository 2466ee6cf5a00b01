//! Locks: which task executes, which one is charged, and which ones wait.

use std::cell::RefCell;
use std::rc::Rc;

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, build};
use laxity_cpu::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, Reservation, TaskId};
use laxity_scenario::cpu::locks::{LockProtocol, Section};
use laxity_sim::Control;
use laxity_sim::cpu::{
    Cost, EngineError, Gap, Job, Machine, Measure, Observer, Recording, Task, Workload, run,
};

use crate::cpu_common::ms;

fn section(lock: u32, at: u64, hold: u64) -> Section {
    Section { lock, at: ms(at), hold: ms(hold) }
}

fn hard(name: &str, cost: u64, budget: u64, period: u64) -> Task {
    let reservation = Reservation::new(ms(budget), ms(period));
    Task::hard(name, reservation, Cost::Fixed(ms(cost)))
}

fn after(phase: u64, task: Task) -> Task {
    Task { phase: ms(phase), ..task }
}

fn hog() -> Task {
    Task::new("hog", Workload::CpuBound)
}

/// A best-effort task holds lock 0 in its first 30 ms; a hard one needs it 1 ms after that began.
fn inversion(hogs: usize) -> Vec<Task> {
    let low = Task::frames("low", ms(1000), Cost::Fixed(ms(31)));
    let low = low.locking(0, ms(0), ms(30));
    let high = after(1, hard("high", 2, 32, 50)).locking(0, ms(0), ms(1));
    let mut tasks = vec![low, high];
    tasks.resize_with(2 + hogs, || after(1, hog()));
    tasks
}

fn machine(locks: LockProtocol, length: u64) -> Machine {
    Machine { locks, ..Machine::single(Time::ZERO + ms(length), 1) }
}

fn play<O: Observer>(policy: &str, tasks: &[Task], machine: Machine, seen: &mut O) {
    let mut policy = build(policy, &Options::default()).expect("a policy of the registry");
    run(&mut policy, tasks, machine, seen, &Control::default()).expect("a run to its end");
}

/// The slices in ms: the task, from when and to when.
fn slices(policy: &str, tasks: &[Task], locks: LockProtocol, length: u64) -> Vec<(u32, u64, u64)> {
    let mut seen = Recording::new();
    play(policy, tasks, machine(locks, length), &mut seen);
    let ms = |at: Time| at.0 / 1_000_000;
    seen.slices.iter().map(|s| (s.task.0, ms(s.from), ms(s.to))).collect()
}

/// The holder executes at once when the waiter is picked, and stops when it releases.
///
/// Fails when the picked task executes although it waits (tried: `resolve` without its loop), or the lock is kept to
/// the end of the job (tried: `release_due` only there).
#[test]
fn the_holder_executes_for_the_picked_task() {
    let found = slices("edf", &inversion(1), LockProtocol::Inherit, 40);
    assert_eq!(found[..2], [(0, 0, 30), (1, 30, 32)]);
}

/// Without inheritance the holder shares the CPU with others, and the hard job is late; with it, it is not.
///
/// Fails when waiters under `none` stay ready (tried: `resolve` follows the chain under both).
#[test]
fn inheritance_ends_priority_inversion() {
    // Best effort under edf is not among them: its quantum is longer than the section.
    for policy in ["bebs", "bebs-credit", "cbs", "iris", "iris-naive"] {
        let late = |locks| {
            let mut seen = Measure::new(12);
            play(policy, &inversion(10), machine(locks, 600), &mut seen);
            (seen.tasks[1].missed, seen.tasks[1].jobs)
        };
        let (inherit, none) = (late(LockProtocol::Inherit), late(LockProtocol::None));
        assert!(inherit.0 == 0 && inherit.1 >= 11 && none.0 > 0, "{policy}: {inherit:?} {none:?}");
    }
}

/// A lock goes to the task that came first, also if another waiter is due earlier; each waits for one section of
/// each other task.
///
/// Fails when the last waiter is next (tried: `pop_back`).
#[test]
fn locks_are_handed_on_in_order_of_arrival() {
    let low = Task::frames("low", ms(1000), Cost::Fixed(ms(5))).locking(0, ms(0), ms(5));
    let first = after(1, hard("first", 2, 12, 100)).locking(0, ms(0), ms(2));
    let second = after(2, hard("second", 2, 12, 50)).locking(0, ms(0), ms(2));
    let tasks = [low, first, second];
    for locks in LockProtocol::ALL {
        let found = slices("edf", &tasks, locks, 20);
        assert_eq!(found, [(0, 0, 5), (1, 5, 7), (2, 7, 9)], "{locks:?}");
    }
}

/// A waiter executes the task at the end of its chain of waits.
///
/// Fails when only the holder of its own lock executes (tried: `resolve` with two steps).
#[test]
fn chains_of_waits_are_followed() {
    let inner = Task::frames("inner", ms(1000), Cost::Fixed(ms(6))).locking(1, ms(0), ms(5));
    let outer = after(1, hard("outer", 4, 4, 200)).locking(0, ms(0), ms(3));
    let outer = outer.locking(1, ms(1), ms(1));
    let high = after(3, hard("high", 1, 10, 50)).locking(0, ms(0), ms(1));
    let mut tasks = vec![inner, outer, high];
    tasks.resize_with(6, || after(1, hog()));
    let found = slices("edf", &tasks, LockProtocol::Inherit, 12);
    // From 2 ms the outer one waits and pays, from 3 ms the high one.
    assert_eq!(found[..4], [(0, 0, 1), (1, 1, 2), (0, 2, 6), (1, 6, 8)]);
    assert_eq!(found[4], (2, 8, 9));
}

/// A task that leaves with a lock hands it on, and one that leaves a queue is not waited for.
///
/// Fails when it keeps them (tried: no `depart`).
#[test]
fn a_task_that_leaves_releases_its_locks() {
    for locks in LockProtocol::ALL {
        let low = Task::frames("low", ms(1000), Cost::Fixed(ms(9))).locking(0, ms(0), ms(9));
        let low = Task { leaves: Some(Time::ZERO + ms(4)), ..low };
        let gone = after(1, hard("gone", 2, 9, 40)).locking(0, ms(0), ms(2));
        let gone = Task { leaves: Some(Time::ZERO + ms(3)), ..gone };
        let high = after(2, hard("high", 2, 9, 40)).locking(0, ms(0), ms(2));
        let found = slices("edf", &[low, gone, high], locks, 20);
        assert_eq!(found, [(0, 0, 4), (2, 4, 6)], "{locks:?}");
    }
}

/// Fails when a circle of waits is not found (tried: `resolve` without its loop), or another mistake.
#[test]
fn senseless_locks_are_errors() {
    let error = |tasks: &[Task], machine: Machine| {
        let mut policy = build("edf", &Options::default()).expect("a policy of the registry");
        run(&mut policy, tasks, machine, &mut (), &Control::default()).expect_err("an error")
    };
    let one = machine(LockProtocol::Inherit, 50);
    let task = |phase| after(phase, hard("t", 4, 8, 20));
    let bad = EngineError::BadSections { task: TaskId(0) };
    let crossing = task(0).locking(0, ms(0), ms(2)).locking(1, ms(1), ms(2));
    assert_eq!(error(&[crossing], one), bad);
    assert_eq!(error(&[task(0).locking(0, ms(3), ms(2))], one), bad);
    assert_eq!(error(&[task(0).locking(0, ms(3), ms(0))], one), bad);
    assert_eq!(error(&[hog().locking(0, ms(3), ms(1))], one), bad);
    let several = Machine { cpus: 2, ..one };
    assert_eq!(error(&[task(0).locking(0, ms(0), ms(1))], several), EngineError::SharedLocks);
    // The second takes both locks in the other order, while the first waits.
    let first = task(0).locking(0, ms(0), ms(4)).locking(1, ms(2), ms(1));
    let reservation = Reservation::new(ms(8), ms(15));
    let second = after(1, Task::hard("u", reservation, Cost::Fixed(ms(4))));
    let second = second.locking(1, ms(0), ms(4)).locking(0, ms(2), ms(1));
    let found = error(&[first, second], one);
    assert!(matches!(found, EngineError::Deadlock { .. }), "{found:?}");
}

/// The task that the policy picked last; by task, what it was charged and what it executed.
#[derive(Default)]
struct Paid {
    picked: Option<TaskId>,
    charged: Vec<Span>,
    executed: Vec<Span>,
    for_others: Span,
    /// What executed while each was picked.
    while_picked: Vec<Span>,
}

/// A policy whose charges are noted.
struct Charged<P>(P, Rc<RefCell<Paid>>);

impl<P: Policy> Charged<P> {
    fn charge(&self, task: TaskId, ran: Span) {
        let paid = &mut *self.1.borrow_mut();
        assert!(ran == Span::ZERO || paid.picked == Some(task), "charged without a pick");
        paid.charged[task.index()] = paid.charged[task.index()] + ran;
    }
}

impl<P: Policy> Policy for Charged<P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.0.join(now, task, a)
    }
    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charge(task, ran);
        self.0.leave(now, task, ran);
    }
    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.0.change(now, task, a)
    }
    fn wake(&mut self, now: Time, task: TaskId) {
        self.0.wake(now, task);
    }
    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charge(task, ran);
        self.0.block(now, task, ran);
    }
    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charge(task, ran);
        self.0.ran(now, task, ran);
    }
    fn timer(&mut self, now: Time) {
        self.0.timer(now);
    }
    fn next_event(&self) -> Option<Time> {
        self.0.next_event()
    }
    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let pick = self.0.pick(now, cpu);
        self.1.borrow_mut().picked = pick.map(|pick| pick.task);
        pick
    }
}

/// Checks from execution alone that no two tasks are within sections of one lock.
struct Exclusion<'a> {
    tasks: &'a [Task],
    progress: Vec<Span>,
    paid: Rc<RefCell<Paid>>,
    jobs: u64,
}

impl Exclusion<'_> {
    /// Whether a task is between its taking and its release of a lock.
    fn within(&self, task: usize, lock: u32) -> bool {
        let done = self.progress[task];
        let inside = |s: &Section| s.lock == lock && s.at < done && done < s.end();
        self.tasks[task].sections.iter().any(inside)
    }
}

impl Observer for Exclusion<'_> {
    fn ran(&mut self, from: Time, to: Time, _: CpuId, task: TaskId) {
        let (ran, paid) = (to.since(from), &mut *self.paid.borrow_mut());
        paid.executed[task.index()] = paid.executed[task.index()] + ran;
        let picked = paid.picked.expect("a pick");
        paid.while_picked[picked.index()] = paid.while_picked[picked.index()] + ran;
        if picked != task {
            paid.for_others = paid.for_others + ran;
        }
        self.progress[task.index()] = self.progress[task.index()] + ran;
        for lock in 0..2 {
            let inside: Vec<usize> =
                (0..self.tasks.len()).filter(|i| self.within(*i, lock)).collect();
            assert!(inside.len() <= 1, "tasks {inside:?} hold lock {lock} at {to}");
        }
    }
    fn ended(&mut self, task: TaskId, _: &Job) {
        self.progress[task.index()] = Span::ZERO;
        self.jobs += 1;
    }
}

/// Sections of two locks in a job of 3 ms.
fn shapes() -> Vec<Vec<Section>> {
    let mut all = vec![Vec::new()];
    for (at, hold) in [(0, 1), (0, 3), (1, 1), (1, 2), (2, 1)] {
        all.extend((0..2).map(|lock| vec![section(lock, at, hold)]));
    }
    all.push(vec![section(0, 0, 3), section(1, 1, 1)]);
    all.push(vec![section(0, 0, 3), section(1, 0, 3)]);
    all.push(vec![section(0, 0, 1), section(1, 1, 2)]);
    all.push(vec![section(1, 0, 1), section(0, 1, 2)]);
    all.push(vec![section(0, 0, 1), section(0, 2, 1)]);
    all
}

/// In all small systems a lock has one holder, and each task is charged what executes while it is picked: under
/// inheritance others' sections too, without it its own execution alone.
///
/// Fails when a lock is taken that is held (tried: `take_due` without the check), or the executing task is charged
/// (tried: `executes` in `book`).
#[test]
fn locks_are_exclusive_and_the_picked_task_pays() {
    let shapes = shapes();
    for policy in ["edf", "bebs", "bebs-credit", "cbs", "eevdf", "sched-deadline"] {
        let (mut for_others, mut jobs) = ([Span::ZERO; 2], 0);
        for (a, b, c) in triples(shapes.len()) {
            let low = Task::frames("low", ms(16), Cost::Fixed(ms(3)));
            let poll =
                Workload::Interactive { sleep: Gap::Fixed(ms(5)), burst: Cost::Fixed(ms(3)) };
            let mut tasks = [after(1, hard("a", 3, 5, 10)), Task::new("poll", poll), low, hog()];
            for (task, shape) in tasks.iter_mut().zip([a, b, c]) {
                task.sections.clone_from(&shapes[shape]);
            }
            for locks in LockProtocol::ALL {
                let zeros = || vec![Span::ZERO; tasks.len()];
                let (charged, executed, while_picked) = (zeros(), zeros(), zeros());
                let paid = Paid { charged, executed, while_picked, ..Paid::default() };
                let paid = Rc::new(RefCell::new(paid));
                let policy = build(policy, &Options::default()).expect("a policy");
                let mut policy = Charged(policy, paid.clone());
                let mut seen =
                    Exclusion { tasks: &tasks, progress: zeros(), paid: paid.clone(), jobs: 0 };
                let end =
                    run(&mut policy, &tasks, machine(locks, 40), &mut seen, &Control::default());
                end.expect("a run to its end");
                jobs += seen.jobs;
                let paid = paid.borrow();
                assert_eq!(paid.charged, paid.while_picked, "{locks:?} {a} {b} {c}");
                if locks == LockProtocol::None {
                    assert_eq!(paid.charged, paid.executed, "{locks:?} {a} {b} {c}");
                }
                let sum = &mut for_others[locks as usize];
                *sum = *sum + paid.for_others;
            }
        }
        let [inherit, none] = for_others;
        assert!(inherit > ms(1000) && none == Span::ZERO, "{policy}: {inherit} {none}");
        assert!(jobs > 20_000, "{policy}: {jobs} jobs");
    }
}

fn triples(n: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..n).flat_map(move |a| (0..n).flat_map(move |b| (0..n).map(move |c| (a, b, c))))
}
