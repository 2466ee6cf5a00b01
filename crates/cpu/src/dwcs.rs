//! DWCS for threads: a quantum in every period, with a tolerance of missed periods per window.
//!
//! The paper on DWCS leaves threads to future work. Here a reserved thread demands its budget in
//! every period, not preempted, and tolerates `x` of any `y` consecutive periods without it. Order,
//! windows and misses are those of `laxity-dwcs`, tolerances first: a CPU-bound thread is a stream
//! with a packet waiting, and one quantum is one packet.
//!
//! # The guarantee
//!
//! Threads are admitted while `sum (1 - x/y) C/T <= 1`. With equal budgets and equal periods each
//! CPU-bound thread then begins its quantum within the period in all but `x` of every `y` periods,
//! counted back to back, whenever it started (`laxity_dwcs::admission` states the conditions and
//! shows what fails without them). With unequal ones the order is the same without a guarantee. A
//! quantum may end after its period, by a budget at most.

use alloc::vec::Vec;

use laxity_core::{OptionTable, PolicyInfo, Span, Time};
use laxity_dwcs::admission::{Demand, Utilisation};
use laxity_dwcs::structure::Heaps;
use laxity_dwcs::{
    Attributes as Stream, Decision, Late, Options, Queues, Scheduler, StreamId, Tolerance,
};

use crate::table::Table;
use crate::{Admitted, Attributes, CpuId, Pick, Policy, Refusal, Reservation, Service, Share};
use crate::{Nice, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "dwcs",
    summary: "A reserved thread has its budget in every period but for `nice` of any 20; others \
              have what is left, by EEVDF.",
    source: "West, Schwan and Poellabauer 1999, whose future work it is",
    keeps_deadlines: false,
    live: &[],
    options: &[],
    table: OptionTable::None,
};

/// Windowed threads on one CPU. Tasks without a reservation are served last, in quanta, in no
/// particular order: put the policy above another one.
#[derive(Debug)]
pub struct Dwcs {
    scheduler: Scheduler<Heaps>,
    threads: Table<Thread>,
    /// Explicit windows, by task.
    windows: Vec<Option<Tolerance>>,
    /// By stream.
    owners: Vec<TaskId>,
    running: Option<TaskId>,
    /// The next time at which a thread may get a quantum, if none may now.
    release: Option<Time>,
}

#[derive(Debug)]
struct Thread {
    stream: StreamId,
    terms: Terms,
    runnable: bool,
    /// The remainder of the current quantum.
    remaining: Span,
}

/// The quantum of threads without a reservation.
const QUANTUM: Span = Span::from_millis(10);

/// The window for tolerances derived from nice values.
const NICE_WINDOW: u64 = 20;

/// The backlog of a thread that keeps waiting: after a missed period the next is due one later.
struct PersistentBacklog;

impl Queues for PersistentBacklog {
    fn serve(&mut self, _: StreamId) -> Option<Time> {
        // The end of the quantum shows whether the thread blocks.
        None
    }

    fn drop_head(&mut self, _: StreamId) -> Option<Time> {
        Some(Time::ZERO)
    }
}

/// No losses.
const NONE: Tolerance = match Tolerance::new(0, 1) {
    Ok(none) => none,
    Err(_) => unreachable!(),
};

/// Tolerates `nice` of 20 missed periods, none at nice 0 and below: the required share is then
/// proportional to `20 - nice`, as in other policies.
fn tolerance_from_nice(nice: Nice) -> Tolerance {
    let x = NICE_WINDOW.saturating_sub(u64::from(nice.scale()));
    Tolerance::new(x, NICE_WINDOW).unwrap_or(NONE)
}

/// The admitted parameters of a thread.
#[derive(Clone, Copy, Debug)]
struct Terms {
    stream: Stream,
    budget: Span,
}

impl Terms {
    fn demand(&self) -> Demand {
        Demand { attributes: self.stream, service: self.budget, count: 1 }
    }

    /// The tolerated losses, and the window.
    fn window(&self) -> (u64, u64) {
        let tolerance = self.stream.tolerance;
        (u64::from(tolerance.x()), u64::from(tolerance.y()).max(1))
    }

    /// The share that it needs, rounded up.
    fn needs(&self) -> Share {
        let (x, y) = self.window();
        let needed = (u128::from(self.budget.0) * u128::from(y - x)).div_ceil(u128::from(y));
        self.stream.gap.map_or(Share::ZERO, |period| Share::up(Span(needed as u64), period))
    }
}

impl Dwcs {
    /// No threads yet.
    pub fn new() -> Dwcs {
        let scheduler = match Scheduler::new(&Options::tolerance_first()) {
            Ok(scheduler) => scheduler,
            Err(_) => unreachable!("two heaps keep any order"),
        };
        Dwcs {
            scheduler,
            threads: Table::new(),
            windows: Vec::new(),
            owners: Vec::new(),
            running: None,
            release: None,
        }
    }

    /// Sets the window of a task, which applies at its next join or change; the default follows
    /// from the nice value.
    pub fn set_window(&mut self, task: TaskId, window: Tolerance) {
        if self.windows.len() <= task.index() {
            self.windows.resize(task.index() + 1, None);
        }
        self.windows[task.index()] = Some(window);
    }

    /// The parameters of a task, if they are admissible beside all others.
    fn terms(&mut self, task: TaskId, a: &Attributes) -> Result<Terms, Refusal> {
        let set = self.windows.get(task.index()).copied().flatten();
        let tolerance = set.unwrap_or(tolerance_from_nice(a.nice));
        let (Service::Hard(asked) | Service::Soft(asked)) = a.service else {
            let stream = Stream { tolerance: NONE, gap: None, late: Late::Send };
            return Ok(Terms { stream, budget: QUANTUM });
        };
        asked.check()?;
        let Reservation { budget, period, .. } = asked;
        let terms = Terms { stream: Stream::new(tolerance, period), budget };
        let own = self.threads.get(task).map(|t| t.stream);
        let others = self.threads.iter_mut().filter(|t| Some(t.stream) != own);
        let others: Vec<Terms> = others.map(|t| t.terms).collect();
        let demands: Vec<Demand> = others.iter().chain([&terms]).map(Terms::demand).collect();
        if Utilisation::of(&demands).fits() {
            return Ok(terms);
        }
        let reserved = others.iter().fold(Share::ZERO, |sum, t| sum.plus(t.needs()));
        let (needs, free) = (terms.needs(), Share::ONE.minus(reserved));
        let (x, y) = terms.window();
        // A window that tolerates all misses needs no bandwidth and was admitted above.
        let fits = u128::from(free.of(period).0) * u128::from(y) / u128::from((y - x).max(1));
        let fits = Span(u64::try_from(fits).unwrap_or(u64::MAX).min(budget.0 - 1));
        Err(Refusal::Overload { asked, needs, free, fits })
    }

    fn charge(&mut self, task: TaskId, ran: Span) {
        let Some(thread) = self.threads.get_mut(task) else { return };
        thread.remaining = Span(thread.remaining.0.saturating_sub(ran.0));
    }

    /// The task no longer runs.
    fn stop(&mut self, task: TaskId) {
        self.running = self.running.filter(|r| *r != task);
    }
}

impl Default for Dwcs {
    fn default() -> Dwcs {
        Dwcs::new()
    }
}

impl Policy for Dwcs {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        if self.threads.get(task).is_some() {
            return Err(Refusal::Known(task));
        }
        let terms = self.terms(task, a)?;
        // Periods and windows are valid, so the only failure is too many streams.
        let Ok(stream) = self.scheduler.join(now, &terms.stream) else {
            return Err(Refusal::NothingLeft);
        };
        if self.owners.len() <= stream.slot() {
            self.owners.resize(stream.slot() + 1, task);
        }
        self.owners[stream.slot()] = task;
        let thread = Thread { stream, terms, runnable: false, remaining: Span::ZERO };
        self.threads.join(task, thread)?;
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
        if let Some(thread) = self.threads.leave(task) {
            let _ = self.scheduler.leave(thread.stream);
        }
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let stream = self.threads.known(task)?.stream;
        let terms = self.terms(task, a)?;
        if self.scheduler.change(now, stream, &terms.stream, &mut PersistentBacklog).is_err() {
            return Err(Refusal::Unknown(task));
        }
        self.threads.known(task)?.terms = terms;
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        let Some(thread) = self.threads.get_mut(task).filter(|t| !t.runnable) else { return };
        thread.runnable = true;
        let _ = self.scheduler.arrive(now, thread.stream);
    }

    fn block(&mut self, _: Time, task: TaskId, ran: Span) {
        self.charge(task, ran);
        if let Some(thread) = self.threads.get_mut(task) {
            thread.runnable = false;
        }
        self.stop(task);
    }

    fn ran(&mut self, _: Time, task: TaskId, ran: Span) {
        self.charge(task, ran);
        let Some(thread) = self.threads.get(task).filter(|t| t.remaining == Span::ZERO) else {
            return;
        };
        if self.running == Some(task) {
            // The next deadline is one period after the last, whenever the quantum ended.
            let _ = self.scheduler.arrive(Time::ZERO, thread.stream);
            self.stop(task);
        }
    }

    fn timer(&mut self, now: Time) {
        self.release = self.release.filter(|at| *at > now);
    }

    fn next_event(&self) -> Option<Time> {
        self.release.filter(|_| self.running.is_none())
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if cpu != CpuId::FIRST {
            return None;
        }
        while self.running.is_none() {
            self.release = None;
            match self.scheduler.next(now, &mut PersistentBacklog) {
                Decision::Serve { stream, .. } => {
                    let task = *self.owners.get(stream.slot())?;
                    let Some(thread) = self.threads.get_mut(task) else { continue };
                    // A thread that blocked while waiting needs no quantum.
                    if thread.runnable {
                        thread.remaining = thread.terms.budget;
                        self.running = Some(task);
                    }
                }
                Decision::Wait(until) => {
                    self.release = Some(until);
                    return None;
                }
                Decision::Idle => return None,
            }
        }
        let task = self.running?;
        let left = self.threads.get(task)?.remaining;
        Some(Pick { task, until: now + left })
    }
}
