//! Banachowski, Bisson and Brandt on BEBS: the systems of its figures.

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, Nice, Reservation};

use super::{cpu_bound, ms};
use crate::cpu::{Cost, Gap, Late, Step, Task, Workload};

fn soft(budget: u64, period: u64) -> Attributes {
    Attributes::soft(Reservation::new(ms(budget), ms(period)))
}

/// A hard task of so many hundredths of the CPU.
pub fn hard(percent: u64, period: u64) -> Task {
    let budget = Span(ms(period).0 * percent / 100);
    Task::hard("hard", Reservation::new(budget, ms(period)), Cost::Fixed(budget))
}

/// Task 1 of figure 1: 2 ms in every 20 ms for a while, then all the CPU that it can get.
pub fn waking_for_good(after: Span) -> Task {
    let mut steps: Vec<Step> = (1..=after.0 / 20_000_000)
        .flat_map(|k| [Step::Run(ms(2)), Step::SleepUntil(ms(20 * k))])
        .collect();
    steps.push(Step::Run(ms(1_000_000)));
    Task::new("waking", Workload::Script { steps, repeat: false })
}

/// Figure 1(a, b): two servers of 10 ms in every 20 ms; the first uses a fifth of its share until
/// 0.4 s, the second all that it can get.
pub fn figure_1() -> Vec<Task> {
    [waking_for_good(ms(400)), cpu_bound("task 2")].map(|t| t.with(soft(10, 20))).into()
}

/// Figure 1(c) and figure 3.
#[derive(Clone, Copy, Debug)]
pub struct Media {
    /// Budget that the soft task requests, in thousandths of its present one.
    pub load: u64,
    /// Period of its server.
    pub server: Span,
    /// Its frames, made from their mean.
    pub frames: fn(Span) -> Cost,
    /// The hard tasks, which have half of the CPU.
    pub hard: HardLoad,
}

/// The load of the hard tasks of figure 1(c) in their half, of which the paper says no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardLoad {
    /// 5 ms in 40, 10 in 80, 25 in 100, of which they always use so many hundredths.
    Steady(u64),
    /// Five of 100 ms in every second, which have work in every fifth second only, all at once: in
    /// between everything is idle time for others.
    Intermittent,
}

impl HardLoad {
    fn tasks(self) -> Vec<Task> {
        let hard = |budget, period, hundredths| {
            let cost = Cost::Fixed(Span(ms(budget).0 * hundredths / 100));
            Task::hard("hard", Reservation::new(ms(budget), ms(period)), cost)
        };
        match self {
            HardLoad::Steady(used) => {
                vec![hard(5, 40, used), hard(10, 80, used), hard(25, 100, used)]
            }
            HardLoad::Intermittent => {
                let mut task = hard(100, 1000, 100);
                if let Workload::Frames { period, .. } = &mut task.workload {
                    *period = ms(5000);
                }
                vec![task; 5]
            }
        }
    }
}

impl Media {
    /// Hard tasks reserve half of the CPU, a server of half of the CPU has a frame every 40 ms. The
    /// soft task is the last.
    pub fn tasks(&self) -> Vec<Task> {
        let period = ms(40);
        let cost = (self.frames)(Span(period.0 / 2 * self.load / 1000));
        // Frames are due at a constant rate, even after a late one.
        let frames = Workload::Frames { period, deadline: period, cost, late: Late::Grid };
        let server = Reservation::new(Span(self.server.0 / 2), self.server);
        let soft = Task::new("soft", frames).with(Attributes::soft(server));
        let mut tasks = self.hard.tasks();
        tasks.push(soft);
        tasks
    }
}

/// Figure 2: three servers of 10 ms in every 30 ms; the first sleeps from 5 to 26 ms.
pub fn figure_2() -> Vec<Task> {
    let steps = vec![Step::Run(ms(5)), Step::SleepUntil(ms(26)), Step::Run(ms(1000))];
    let first = Workload::Script { steps, repeat: false };
    [first, Workload::CpuBound, Workload::CpuBound]
        .into_iter()
        .zip(["task 1", "task 2", "task 3"])
        .map(|(w, name)| Task::new(name, w).with(soft(10, 30)))
        .collect()
}

/// Figure 4: five hard tasks of a tenth each, then three CPU-bound ones and two soft ones of 25 and
/// 12.5 frames a second that need `percent` hundredths of their share, a tenth. The five share
/// equally, by servers of period `server` or, without one, as the policy likes.
pub fn figure_4(percent: u64, server: Option<Span>) -> Vec<Task> {
    let attributes = server
        .map_or(Attributes::default(), |p| Attributes::soft(Reservation::new(Span(p.0 / 10), p)));
    let mut tasks: Vec<Task> = [20, 30, 40, 50, 60].iter().map(|p| hard(10, *p)).collect();
    tasks.extend((0..3).map(|_| cpu_bound("cpu-bound").with(attributes)));
    for period in [40, 80] {
        let mean = Span(ms(period).0 * percent / 1000);
        let frames = Task::frames("soft", ms(period), Cost::Gauss { mean, cv: 0.1 });
        tasks.push(frames.with(attributes));
    }
    tasks
}

/// Competitors of the task with the measured response: `extra` CPU-bound tasks, and `count` hard
/// ones of 15 % each, with periods of 15, 30, 45, 60 ms.
fn competitors(extra: usize, count: u64) -> Vec<Task> {
    let mut tasks = vec![cpu_bound("cpu-bound"); extra];
    tasks.extend((1..=count).map(|k| hard(15, 15 * k)));
    tasks
}

/// From seeing an event to the next, of which the paper says that it is random: long enough to hit
/// any phase of what the scheduler does.
pub const ANY_TIME: Gap = Gap::Uniform(ms(10), ms(2000));

/// The same, often within the budget in which the last event was seen.
pub const SOON: Gap = Gap::Uniform(ms(10), ms(200));

/// Figures 6(a), 7(a), 8(a): the last task computes for ever and polls for events.
pub fn compute(extra: usize, hard_tasks: u64, gap: Gap) -> Vec<Task> {
    let mut tasks = competitors(extra, hard_tasks);
    tasks.push(Task::new("poller", Workload::Poller { gap }));
    tasks
}

/// Figures 6(b), 7(b), 8(b): the last task sleeps until an event comes, then computes for `burst`.
pub fn interactive(extra: usize, hard_tasks: u64, burst: Span) -> Vec<Task> {
    let mut tasks = competitors(extra, hard_tasks);
    let workload = Workload::Interactive { sleep: SOON, burst: Cost::Fixed(burst) };
    tasks.push(Task::new("interactive", workload));
    tasks
}

/// Figure 9: three greedy tasks; a hard one of 40 % from 20 s on, and a soft one of 25 frames a
/// second that take 12 % from 30 s on.
pub fn figure_9() -> Vec<Task> {
    let second = |n: u64| Time::ZERO + ms(n * 1000);
    let mut tasks = vec![cpu_bound("greedy"); 3];
    tasks.push(hard(40, 50).joining(second(20)));
    let cost = Cost::Gauss { mean: Span(4_800_000), cv: 0.1 };
    tasks.push(Task::frames("soft", ms(40), cost).joining(second(30)));
    tasks
}

/// A system in which changing shares carelessly makes a hard job late (section 4.4 is silent on how
/// to do it). Half of the CPU is reserved: 12 ms in every 24 ms. Task A, of nice 19, has the other
/// half, and uses its first budget of 7.5 ms at once. Then B, of nice -20, comes.
///
/// Stretched, A is due half a second later, but its use ahead of its share is forgotten: B starts
/// with 7.5 ms due by 22.9 ms, and the hard job, due at 24 ms, ends at 27 ms. At zero-lag times B's
/// share begins when A has been paid for, and the hard job ends at 19.5 ms. The first average
/// execution must be 5 ms.
pub fn newcomer(first: Workload) -> Vec<Task> {
    let nice = |n| Attributes::best_effort(Nice::new(n).unwrap_or_default());
    let reservation = Reservation::new(ms(12), ms(24));
    vec![
        Task::new("A", first).with(nice(19)),
        Task::hard("hard", reservation, Cost::Fixed(ms(12))),
        cpu_bound("B").with(nice(-20)).joining(Time(7_500_000)),
    ]
}
