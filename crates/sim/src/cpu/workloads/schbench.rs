//! schbench: workers that ask a message thread to wake them, then do requests under a lock.

use laxity_core::{Span, Time};
use laxity_cpu::TaskId;

use crate::cpu::{Observer, Step, Task, Workload};

/// The lock of the only CPU.
const LOCK: u32 = 0;

/// A system call that wakes a task or sleeps: with a switch, so its time is in that of the switch. A step of some
/// length is needed, as a task without work needs no CPU.
const CALL: Span = Span(1);

/// One message thread and its workers, on one CPU: `schbench -m 1 -t WORKERS -n 1`.
///
/// A worker asks the message thread, which wakes it. Then a request begins: the worker sleeps, takes the lock of the CPU,
/// for which it spins, computes, gives the lock back, and asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schbench {
    /// Number of workers.
    pub workers: u32,
    /// From a worker's sleep to its timer, slack included.
    pub sleep: Span,
    /// Execution time under the lock.
    pub work: Span,
}

impl Schbench {
    /// The tasks, with ids from `first`: the message thread, then the workers.
    pub fn tasks(&self, first: u32) -> Vec<Task> {
        let workers = first + 1..first + 1 + self.workers;
        let mut messages = vec![Step::Await, Step::Run(CALL)];
        messages.extend(workers.map(|worker| Step::Notify(TaskId(worker))));
        let requests = vec![
            Step::Sleep(self.sleep),
            Step::Run(CALL),
            Step::SpinLock(LOCK),
            Step::Run(self.work),
            Step::SpinUnlock(LOCK),
            Step::Wake(TaskId(first)),
            Step::Await,
            Step::Run(CALL),
        ];
        let task = |name, steps| Task::new(name, Workload::Script { steps, repeat: true });
        let mut tasks = vec![task("messages", messages)];
        tasks.extend(vec![task("worker", requests); self.workers as usize]);
        tasks
    }

    /// Measures a run of its tasks with ids from `first`.
    pub fn times(&self, first: u32) -> Times {
        let worker = Worker { woken: Time::ZERO, asks: false, began: None };
        let workers = vec![worker; self.workers as usize];
        Times { first: first + 1, workers, wake_ups: Vec::new(), requests: Vec::new() }
    }
}

/// What schbench prints the percentiles of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    first: u32,
    workers: Vec<Worker>,
    /// From a wake-up by the message thread to the worker's execution.
    pub wake_ups: Vec<Span>,
    /// From there to the end of the request.
    pub requests: Vec<Span>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Worker {
    woken: Time,
    /// Whether it has asked, and no request began.
    asks: bool,
    /// When the last request began; the first one has no begin.
    began: Option<Time>,
}

/// A worker sleeps at the begin of each request and at its end, in turn.
impl Observer for Times {
    fn woke(&mut self, now: Time, task: TaskId) {
        if let Some(worker) = self.worker(task) {
            worker.woken = now;
        }
    }

    fn slept(&mut self, now: Time, task: TaskId) {
        let Some(worker) = self.worker(task) else { return };
        let (woken, began) = (worker.woken, worker.began);
        worker.asks = !worker.asks;
        if worker.asks {
            self.requests.extend(began.map(|began| now.since(began)));
        } else {
            worker.began = Some(now);
            self.wake_ups.push(now.since(woken));
        }
    }
}

impl Times {
    fn worker(&mut self, task: TaskId) -> Option<&mut Worker> {
        self.workers.get_mut(task.0.checked_sub(self.first)? as usize)
    }
}
