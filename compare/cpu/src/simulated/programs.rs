//! Programs of the tests that look at their own execution, and what they print.

use laxity_core::{Span, Time};
use laxity_cpu::{CpuId, TaskId};
use laxity_sim::cpu::papers::ms;
use laxity_sim::cpu::{Observer, Step, Task, Workload};

use super::random::Random;

/// What a program executes from its start to its first step (docs/results/cpu-compare.md).
pub const START: Span = ms(3);

/// Frames of a film of 25 a second (compare/cpu/src/plan.rs).
const FRAMES: u64 = 100;

/// `tasks frames PERIOD MEAN SEED COUNT`: starts, sleeps for three periods, and computes a frame in each. After a late one
/// the grid moves.
#[derive(Clone)]
pub struct Film {
    period: Span,
    costs: Vec<Span>,
}

impl Film {
    /// The film that a seed makes, of frames that take `mean` us.
    pub fn new(fps: u64, mean: u64, seed: u64) -> Film {
        let mut random = Random(seed);
        let cost = |_| Span(random.normal(mean, 20) * 1000);
        let costs = (0..fps * FRAMES / 25).map(cost).collect();
        Film { period: Span(1_000_000 / fps * 1000), costs }
    }

    /// Its task.
    pub fn task(&self) -> Task {
        let period = self.period;
        let next = Step::Timer { timer: 0, period, relative: true };
        // The timer has passed, so it counts from the end of the sleep on.
        let mut steps = vec![Step::Run(START), Step::Sleep(period + period + period), next];
        steps.extend(self.costs.iter().flat_map(|cost| [Step::Run(*cost), next]));
        Task::new("film", Workload::Script { steps, repeat: false })
    }

    /// Watches it as this task, under a scheduler whose switches take so long.
    pub fn watched(&self, task: usize, switch: Span) -> Watched {
        let (film, task) = (self.clone(), TaskId(task as u32));
        let (executed, left) = (Span::ZERO, START);
        Watched { film, task, switch, executed, left, release: None, ended: 0, late: 0 }
    }
}

/// Frames of a film that ended, and how many of them were late.
pub struct Watched {
    film: Film,
    task: TaskId,
    switch: Span,
    /// Since the last end of a frame, and what it takes until the next, switches included.
    executed: Span,
    left: Span,
    /// Of the current frame; of none in the start.
    release: Option<Time>,
    ended: usize,
    late: u64,
}

/// Films of a run.
pub struct Films(pub Vec<Watched>);

impl Observer for Films {
    fn dispatched(&mut self, _: Time, _: CpuId, task: Option<TaskId>) {
        for film in self.0.iter_mut().filter(|film| Some(film.task) == task) {
            film.left = film.left + film.switch;
        }
    }

    fn ran(&mut self, from: Time, to: Time, _: CpuId, task: TaskId) {
        for film in self.0.iter_mut().filter(|film| film.task == task) {
            film.executed = film.executed + to.since(from);
            if film.executed >= film.left {
                film.end(to);
            }
        }
    }
}

impl Watched {
    /// A frame ends, or the start.
    fn end(&mut self, now: Time) {
        let period = self.film.period;
        let next = match self.release {
            None => now + period + period + period,
            Some(release) => {
                self.ended += 1;
                self.late += u64::from(now > release + period);
                now.max(release + period)
            }
        };
        self.release = Some(next);
        self.executed = Span::ZERO;
        self.left = self.film.costs.get(self.ended).copied().unwrap_or(Span(u64::MAX / 2));
    }

    /// Per cent of frames that were late.
    pub fn percent(&self) -> f64 {
        self.late as f64 * 100.0 / self.ended.max(1) as f64
    }
}

/// When a task executed.
pub struct Executed(pub TaskId, pub Vec<(Time, Time)>);

impl Observer for Executed {
    fn ran(&mut self, from: Time, to: Time, _: CpuId, task: TaskId) {
        if task == self.0 {
            self.1.push((from, to));
        }
    }
}

impl Executed {
    /// The response times of `tasks poll 10000 200000 1`, which computes all the time and looks for an event, 10 to 200 ms
    /// after the last was seen; drawn as there.
    pub fn responses(&self, end: Time) -> Vec<Span> {
        let mut random = Random(1);
        let mut times = Vec::new();
        let mut runs = self.1.iter().peekable();
        let mut start = START;
        while let Some((from, to)) = runs.next_if(|(from, to)| to.since(*from) <= start) {
            start = Span(start.0 - to.since(*from).0);
        }
        let mut seen = runs.peek().map_or(end, |run| run.0 + start);
        loop {
            let event = seen + Span(1000 * (10_000 + random.below(190_001)));
            while runs.next_if(|run| run.1 <= event).is_some() {}
            let Some((from, _)) = runs.peek().filter(|_| event < end) else { return times };
            seen = event.max(*from);
            times.push(seen.since(event));
        }
    }
}

/// Response times of a task that sleeps for `gap` after each job.
pub struct Responses {
    /// The task.
    pub task: TaskId,
    /// Its sleep.
    pub gap: Span,
    /// When it slept last.
    pub before: Option<Time>,
    /// From each wake-up, as planned, to the end of the job.
    pub times: Vec<Span>,
}

impl Observer for Responses {
    fn slept(&mut self, now: Time, task: TaskId) {
        if task == self.task {
            if let Some(before) = self.before.replace(now) {
                self.times.push(now.since(before + self.gap));
            }
        }
    }
}
