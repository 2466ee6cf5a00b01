//! Tasks that do again what threads were recorded doing, or what a workload of rt-app describes.
//!
//! A recorded thread becomes a script: its bursts of CPU time, and between them its sleeps. Time
//! that it waited for a CPU is in neither, so under another policy it waits as long as that policy
//! lets it. What its sleeps were is a matter of judgement ([`Sleeps`]), as a recording shows when a
//! thread slept and not why.

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, CpuId, CpuSet, Nice, Reservation, TaskId};
use laxity_trace::rt_app::{RtApp, RtPolicy, RtStep, RtThread};
use laxity_trace::sched::{Burst, Recorded, RecordedThread, Rest};

use super::{Step, Task, Workload};

/// The event that ends a recorded sleep in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sleeps {
    /// Each is as long as it was: a thread that is served sooner does more in the same time.
    #[default]
    Lengths,
    /// Each ends when it did, unless the thread is still busy then: driven by the outside world.
    Instants,
    /// A sleep that another thread ended waits for that thread to get as far again; others are as
    /// long as they were. Needs recordings that know interrupts: in the text of perf a timer's
    /// wake-up looks like that of the thread it interrupted.
    Wakers,
}

/// The threads of a recording as tasks, in its order: best effort at nice 0, all CPUs.
pub fn replay(recorded: &Recorded, sleeps: Sleeps) -> Vec<Task> {
    let task = |thread: &RecordedThread| {
        let mut steps = Vec::new();
        for burst in &thread.bursts {
            play(burst, thread.appears_ns, sleeps, &mut steps);
        }
        let name = format!("{}:{}", thread.name, thread.tid);
        Task::new(name, Workload::Script { steps, repeat: false }).joining(Time(thread.appears_ns))
    };
    recorded.threads.iter().map(task).collect()
}

fn play(burst: &Burst, appears: u64, sleeps: Sleeps, steps: &mut Vec<Step>) {
    let mut done = 0;
    if sleeps == Sleeps::Wakers {
        for (at, wakee) in &burst.wakes {
            steps.push(Step::Run(Span(at.saturating_sub(done))));
            steps.push(Step::Wake(TaskId(*wakee as u32)));
            done = done.max(*at);
        }
    }
    steps.push(Step::Run(Span(burst.cpu_ns.saturating_sub(done))));
    match (burst.rest, sleeps) {
        (Rest::Sleep { waker: Some(_), .. }, Sleeps::Wakers) => steps.push(Step::Await),
        (Rest::Sleep { until_ns, .. }, Sleeps::Instants) => {
            steps.push(Step::SleepUntil(Span(until_ns.saturating_sub(appears))));
        }
        (Rest::Sleep { length_ns, .. }, _) => steps.push(Step::Sleep(Span(length_ns))),
        (Rest::Open | Rest::Exit, _) => {}
    }
}

/// The threads of a workload of rt-app as tasks: instances beside each other, `SCHED_DEADLINE` as
/// reservations, `SCHED_IDLE` as nice 19. Other policies for CPUs have no fixed priorities, so
/// `SCHED_FIFO` and `SCHED_RR` become nice -20.
pub fn rt_app(app: &RtApp) -> Vec<Task> {
    // Where the tasks of each kind of thread begin.
    let mut first = Vec::new();
    let mut count = 0u32;
    for thread in &app.threads {
        first.push(count);
        count += thread.instances;
    }
    let mut tasks = Vec::new();
    for thread in &app.threads {
        let mut steps = Vec::new();
        for step in &thread.steps {
            match *step {
                RtStep::Run(ns) => steps.push(Step::Run(Span(ns))),
                RtStep::Sleep(ns) => steps.push(Step::Sleep(Span(ns))),
                RtStep::Timer { timer, period_ns, relative } => {
                    steps.push(Step::Timer { timer, period: Span(period_ns), relative });
                }
                RtStep::Await => steps.push(Step::Await),
                RtStep::Wake(wakee) => {
                    let instances = app.threads.get(wakee).map_or(0, |t| t.instances);
                    let from = first.get(wakee).copied().unwrap_or(count);
                    steps.extend((from..from + instances).map(|t| Step::Wake(TaskId(t))));
                }
            }
        }
        for instance in 0..thread.instances {
            let name = match thread.instances {
                1 => thread.name.clone(),
                _ => format!("{}-{instance}", thread.name),
            };
            let workload = Workload::Script { steps: steps.clone(), repeat: thread.repeat };
            let task = Task::new(name, workload).with(attributes(thread));
            tasks.push(task.joining(Time(thread.delay_ns)));
        }
    }
    tasks
}

fn attributes(thread: &RtThread) -> Attributes {
    let nice = |nice| Attributes::best_effort(Nice::new(nice).unwrap_or_default());
    let attributes = match thread.policy {
        RtPolicy::Other { nice: n } => nice(n),
        RtPolicy::Idle => nice(19),
        RtPolicy::Realtime { .. } => nice(-20),
        RtPolicy::Deadline { runtime_ns, period_ns, deadline_ns } => Attributes::hard(
            Reservation::new(Span(runtime_ns), Span(period_ns)).within(Span(deadline_ns)),
        ),
    };
    match thread.cpus.is_empty() {
        true => attributes,
        false => attributes.on(thread.cpus.iter().map(|c| CpuId(*c)).collect::<CpuSet>()),
    }
}
