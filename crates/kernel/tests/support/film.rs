//! `tasks frames` of a recorded run, to be replayed: its frames come as the program asks for them, also
//! where they end at other times than live.

use laxity_core::Span;
use laxity_sim::cpu::{Step, Task, Workload};

use crate::random::Random;
use crate::simulated::Slices;

const PERIOD: Span = Span::from_millis(40);
/// A longer execution is a frame; the program needs less to start.
const STARTS: Span = Span::from_millis(5);

/// The program, which draws costs of 20 ms from the seed 1.
pub struct Film {
    /// With all of its frames.
    pub task: Task,
    /// Its execution before the first.
    starts: Span,
    /// When that is released, from its first wake-up on.
    first: Span,
    costs: Vec<Span>,
}

/// The whole execution of a recorded task.
pub fn executed(task: &Task) -> Span {
    let Workload::Script { steps, .. } = &task.workload else { return Span::ZERO };
    runs(steps)
}

fn runs(steps: &[Step]) -> Span {
    let length = |step: &Step| if let Step::Run(length) = step { length.0 } else { 0 };
    Span(steps.iter().map(length).sum())
}

impl Film {
    /// From the task as it was recorded; `None` where no frame is seen.
    pub fn of(recorded: &Task, frames: usize) -> Option<Film> {
        let Workload::Script { steps, .. } = &recorded.workload else { return None };
        let is_frame = |step: &Step| matches!(step, Step::Run(length) if *length > STARTS);
        let (before, first) = match &steps[..steps.iter().position(is_frame)?] {
            [before @ .., Step::SleepUntil(first)] => (before, *first),
            _ => return None,
        };
        let mut random = Random(1);
        let costs: Vec<Span> =
            (0..frames).map(|_| Span(random.normal(20_000, 20) * 1000)).collect();
        let timer = |period| Step::Timer { timer: 0, period, relative: true };
        let mut steps = [before, &[timer(first)]].concat();
        for cost in &costs {
            steps.extend([Step::Run(*cost), timer(PERIOD)]);
        }
        let workload = Workload::Script { steps, repeat: false };
        let task = Task { workload, ..recorded.clone() };
        Some(Film { task, starts: runs(before), first, costs })
    }

    /// How many of its frames are late, the task being the one at `place`; `None` where they have not
    /// all ended.
    pub fn late(&self, slices: &Slices, place: u32) -> Option<usize> {
        let mut slices = slices.iter().filter(|(task, ..)| *task == place);
        let (mut from, mut to) = slices.next().map(|(_, from, to)| (*from, *to))?;
        // When it has executed so much more.
        let mut end_of = |mut work: Span| {
            while to.since(from) < work {
                work = Span(work.0 - to.since(from).0);
                (from, to) = slices.next().map(|(_, from, to)| (*from, *to))?;
            }
            from += work;
            Some(from)
        };
        end_of(self.starts)?;
        let mut release = self.task.joins + self.task.phase + self.first;
        let mut late = 0;
        for cost in &self.costs {
            let end = end_of(*cost)?;
            late += usize::from(end.since(release) > PERIOD);
            release = end.max(release + PERIOD);
        }
        Some(late)
    }
}
