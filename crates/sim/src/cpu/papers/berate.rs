//! Banachowski and Brandt on BeRate: section 5, and tick accounting, section 2.2.

use laxity_core::Span;
use laxity_cpu::{Attributes, Nice};

use super::{cpu_bound, ms};
use crate::cpu::{Cost, Gap, Late, Task, Workload};

/// How the costs of srtsim's frames vary. The paper says only that they do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Independent and normal, with this coefficient of variation.
    Gauss(f64),
    /// Groups of pictures at 2 : 1.2 : 0.8, each varying by this much.
    Gop(f64),
}

/// Parameters of srtsim that the paper leaves open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Srtsim {
    /// How costs vary.
    pub shape: Shape,
    /// Their mean in thousandths of the one stated.
    pub scale: u64,
    /// The effect of a late frame on the next.
    pub late: Late,
}

impl Srtsim {
    /// The reading under which table 1 comes out best: normal costs of variability 0.2, means as
    /// stated, late frames moving the grid.
    pub const STATED: Srtsim =
        Srtsim { shape: Shape::Gauss(0.2), scale: 1000, late: Late::Rephase };

    /// `fps` frames a second that take `numerator / denominator` of the CPU.
    fn task(self, fps: u64, numerator: u64, denominator: u64) -> Task {
        let period = Span(1_000_000_000 / fps);
        let mean = Span(period.0 * numerator * self.scale / (denominator * 1000));
        let cost = match self.shape {
            Shape::Gauss(cv) => Cost::Gauss { mean, cv },
            Shape::Gop(cv) => Cost::Gop { mean, cv },
        };
        let workload = Workload::Frames { period, deadline: period, cost, late: self.late };
        Task::new(format!("srtsim-{fps}"), workload)
    }
}

/// The tasks of a row of table 1, from 1 to 6. The srtsim tasks come last, and there are so many
/// of them.
pub fn experiment(number: u32, srtsim: Srtsim) -> (Vec<Task>, usize) {
    let cpu = |n: usize| vec![cpu_bound("cpu-bound"); n];
    let (mut tasks, srt) = match number {
        1 => (cpu(1), vec![srtsim.task(25, 1, 2)]),
        2 => (cpu(2), vec![srtsim.task(25, 1, 4), srtsim.task(25, 1, 4)]),
        3 => (cpu(2), vec![srtsim.task(25, 1, 4), srtsim.task(33, 1, 4)]),
        4 => (cpu(3), vec![srtsim.task(25, 1, 4)]),
        5 => {
            let nice = Attributes::best_effort(Nice::new(10).unwrap_or_default());
            (vec![cpu_bound("cpu-bound").with(nice)], vec![srtsim.task(33, 2, 3)])
        }
        _ => (cpu(1), vec![srtsim.task(25, 1, 2), srtsim.task(50, 1, 2)]),
    };
    let count = srt.len();
    tasks.extend(srt);
    (tasks, count)
}

/// So many tasks that wake twice a second and compute for 10 us: a live kernel's own threads. They
/// use next to nothing, but each has a reserved share.
pub fn background(count: usize) -> Vec<Task> {
    let sleep = Gap::Fixed(ms(500));
    let burst = Cost::Fixed(Span(10_000));
    vec![Task::new("background", Workload::Interactive { sleep, burst }); count]
}

/// Section 2.2: the first task wakes every 10 ms, `after` a clock tick of 100 Hz, and computes for
/// `cost`; `others` compute for ever.
pub fn in_phase(after: Span, cost: Cost, others: usize) -> Vec<Task> {
    let period = ms(10);
    let workload = Workload::Frames { period, deadline: period, cost, late: Late::Skip };
    let mut tasks = vec![Task { phase: after, ..Task::new("periodic", workload) }];
    tasks.extend(vec![cpu_bound("cpu-bound"); others]);
    tasks
}
