//! A compilation: jobs that start one process after the other.

use laxity_core::{Span, Time};
use laxity_cpu::TaskId;

use crate::cpu::{Observer, Step, Task, Workload};

/// What a job executes between two processes: next to nothing, since starting and ending a process are its own
/// execution. A step of some length is needed, as a task without work needs no CPU.
const BETWEEN: Span = Span(1);

/// Jobs, each of which starts a process, waits until it has ended, and starts the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compilation {
    /// The execution times of the processes of each job, starting and ending included; more than there is time for.
    pub jobs: Vec<Vec<Span>>,
    /// Jobs start no process that counts from then on.
    pub until: Time,
}

impl Compilation {
    /// The tasks, with ids from `first`: the jobs, then all processes. A process has joined asleep and is woken by its
    /// job, once.
    pub fn tasks(&self, first: u32) -> Vec<Task> {
        let mut processes = Vec::new();
        let jobs = self.jobs.iter().zip(first..).map(|(works, job)| {
            let mut steps = Vec::new();
            for work in works {
                let process = TaskId(self.first_process(first) + processes.len() as u32);
                steps.extend([Step::Run(BETWEEN), Step::Wake(process), Step::Await]);
                let of_process = [Step::Await, Step::Run(*work), Step::Wake(TaskId(job))];
                processes.push(script("process", of_process.into()));
            }
            script("job", steps)
        });
        let jobs: Vec<Task> = jobs.collect();
        [jobs, processes].concat()
    }

    /// Counts its processes, in a run of its tasks with ids from `first`.
    pub fn started(&self, first: u32) -> Started {
        Started { first: self.first_process(first), until: self.until, count: 0 }
    }

    fn first_process(&self, first: u32) -> u32 {
        first + self.jobs.len() as u32
    }
}

fn script(name: &str, steps: Vec<Step>) -> Task {
    Task::new(name, Workload::Script { steps, repeat: false })
}

/// Counts the processes that were started in time; each ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    first: u32,
    until: Time,
    /// Processes.
    pub count: u64,
}

impl Observer for Started {
    fn woke(&mut self, now: Time, task: TaskId) {
        self.count += u64::from(task.0 >= self.first && now < self.until);
    }
}
