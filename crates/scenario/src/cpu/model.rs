//! The model of a CPU scenario.

use std::path::PathBuf;

use laxity_core::{Span, Time};
use laxity_cpu::clusters::{self, Layout, LayoutError};
use laxity_cpu::registry::Options;
use laxity_cpu::{CpuSet, Nice, Reservation, Service};

use super::locks::{Locks, Section};
use super::policies;
pub use crate::value::{Share, Step};

/// The most tasks of a scenario.
pub const MAX_TASKS: u32 = 10_000;
/// Least execution time of a job, so that every job makes progress.
pub const LEAST_COST: Span = Span(1_000);

/// The greatest overhead.
pub const MAX_OVERHEAD: Span = Span::from_millis(100);

/// A whole scenario file for CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuScenario {
    /// The file's stem, used in results and titles.
    pub name: String,
    /// Where it was read from, for messages; empty for a scenario made in memory.
    pub path: PathBuf,
    /// The CPUs.
    pub cpu: Cpu,
    /// What scheduling itself costs.
    pub overheads: Overheads,
    /// Locks that jobs take.
    pub locks: Locks,
    /// How tasks are scheduled.
    pub policy: CpuPolicyChoice,
    /// Reservations that tasks refer to, in file order.
    pub reservations: Vec<NamedReservation>,
    /// Classes of like tasks in file order; task numbers follow this order.
    pub tasks: Vec<TaskClass>,
    /// Files of tasks, whose numbers follow.
    pub recordings: Vec<RecordedTasks>,
}

/// `[cpu]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// How many CPUs.
    pub cpus: u32,
    /// CPUs of a cluster, which share one queue; the last cluster may be smaller.
    pub cluster: u32,
    /// Whether idle CPUs run best-effort tasks of other clusters.
    pub steal: bool,
    /// Period of load balancing of best-effort tasks between clusters; zero for never.
    pub balance: Span,
}

impl Default for Cpu {
    fn default() -> Cpu {
        let clusters::Options { steal, balance, .. } = clusters::Options::default();
        Cpu { cpus: 1, cluster: 1, steal, balance }
    }
}

impl Cpu {
    /// The clusters of CPUs; `None` for one CPU, which is not divided.
    ///
    /// # Errors
    /// When there are none, or too many.
    pub fn layout(&self) -> Result<Option<Layout>, LayoutError> {
        match self.cpus {
            1 => Ok(None),
            _ => Layout::clustered(self.cpus, self.cluster.min(self.cpus)).map(Some),
        }
    }

    /// Work stealing and load balancing between clusters.
    pub fn options(&self) -> clusters::Options {
        let (steal, balance) = (self.steal, self.balance);
        clusters::Options { steal, balance, ..clusters::Options::default() }
    }
}

/// `[overheads]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overheads {
    /// A switch between two tasks.
    pub switch: Span,
    /// A timer or wake-up that releases a job.
    pub release: Span,
    /// What a job loses that continues on another CPU.
    pub migration: Span,
}

impl Overheads {
    /// The overheads that arise on these CPUs: no migration where each has a queue of its own.
    pub fn on(self, cpu: &Cpu) -> Overheads {
        let migration = if cpu.cluster > 1 { self.migration } else { Span::ZERO };
        Overheads { migration, ..self }
    }

    /// What a job costs besides its work: the switch to it and the one back to the task that it preempts, its
    /// release and the migration of the preempted task.
    pub fn per_job(self) -> Span {
        let Overheads { switch, release, migration } = self;
        switch + switch + release + migration
    }

    /// The same on these CPUs.
    pub fn of_job(self, cpu: &Cpu) -> Span {
        self.on(cpu).per_job()
    }
}

/// `[policy]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuPolicyChoice {
    /// The policy of the CPU, by its one name.
    pub use_: String,
    /// Further policies that a simulation runs beside it.
    pub compare: Vec<String>,
    /// The options of all policies. Those of a policy hold also where it runs under another.
    pub options: Options,
}

/// The defaults without the section.
impl Default for CpuPolicyChoice {
    fn default() -> CpuPolicyChoice {
        CpuPolicyChoice {
            use_: policies::DEFAULT_POLICY.into(),
            compare: Vec::new(),
            options: Options::default(),
        }
    }
}

/// `[[reservation]]`: a server that the tasks which name it share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedReservation {
    /// Unique over all reservations.
    pub name: String,
    /// Its budget, period and service.
    pub reserved: Reserved,
}

/// A budget in every period, and its kind of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Budget, period and deadline; they make sense by themselves.
    pub reservation: Reservation,
    /// Hard (guaranteed and enforced) or soft.
    pub hard: bool,
}

impl Reserved {
    /// In the terms of policies.
    pub fn service(&self) -> Service {
        match self.hard {
            true => Service::Hard(self.reservation),
            false => Service::Soft(self.reservation),
        }
    }
}

/// `[[task]]`: a class of tasks that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskClass {
    /// Unique over all classes.
    pub name: String,
    /// How many tasks.
    pub count: u32,
    /// Share among best-effort tasks.
    pub nice: Nice,
    /// The server that serves them.
    pub server: TaskServer,
    /// Where they may run.
    pub affinity: CpuSet,
    /// The work of each.
    pub work: Work,
    /// Locks that each job takes, in file order.
    pub sections: Vec<Section>,
    /// Instant at which they join.
    pub join: Time,
    /// Time from joining, or from the start of their reservation, to their first wake-up.
    pub phase: Span,
    /// Instant at which they leave, unless they end before.
    pub leave: Option<Time>,
    /// Later changes of attributes, in order of time.
    pub changes: Vec<TaskChange>,
}

/// `[[recording]]`: the threads of a recorded schedule, or of a workload of rt-app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTasks {
    /// The file; absolute or relative to the working directory.
    pub path: PathBuf,
    /// Replay of recorded sleeps.
    pub sleeps: RecordedSleeps,
    /// Only threads whose names begin with one of these; all where none is given.
    pub only: Vec<String>,
    /// When it begins.
    pub join: Time,
}

/// The event that ends a recorded sleep in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordedSleeps {
    /// Each is as long as it was.
    #[default]
    Lengths,
    /// Each ends when it did, unless the thread is still busy then.
    Instants,
    /// Those that another thread ended wait for that thread to get as far again.
    Wakers,
}

impl RecordedSleeps {
    /// Every choice, in the order of [`NAMES`](Self::NAMES).
    pub const ALL: [RecordedSleeps; 3] =
        [RecordedSleeps::Lengths, RecordedSleeps::Instants, RecordedSleeps::Wakers];
    /// Their names in scenario files.
    pub const NAMES: [&str; 3] = ["lengths", "instants", "wakers"];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        RecordedSleeps::NAMES[self as usize]
    }

    /// The choice of this name.
    pub fn named(name: &str) -> Option<RecordedSleeps> {
        RecordedSleeps::ALL.into_iter().find(|sleeps| sleeps.name() == name)
    }
}

/// The server of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskServer {
    /// Its own, best effort.
    BestEffort,
    /// One for all tasks of the group, best effort: the threads of a process.
    Group(String),
    /// Its own, with a reservation.
    Own(Reserved),
    /// That of a [`CpuScenario::reservations`], by its place there.
    Shared(usize),
}

/// A change of a task's attributes at some instant; absent ones stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    /// Instant of the change.
    pub at: Time,
    /// Another nice value.
    pub nice: Option<Nice>,
    /// Another server; never a group.
    pub server: Option<TaskServer>,
}

/// The work of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Computes for ever.
    CpuBound,
    /// Sleeps and computes in turn: an interactive task.
    Interactive {
        /// Execution time after each wake-up.
        burst: Cost,
        /// Length of its sleeps.
        think: Gap,
    },
    /// Computes one job in each period.
    Periodic {
        /// From release to release.
        period: Span,
        /// Execution time of a job.
        cost: Cost,
        /// Relative deadline.
        deadline: Span,
        /// Effect of a late job on the next release.
        late: Late,
    },
    /// Computes for ever and polls for an event.
    Poller {
        /// From seeing one event to the next.
        poll: Gap,
    },
    /// Plays steps.
    Script {
        /// The steps.
        steps: Vec<Step>,
        /// Whether it begins again at the end.
        repeat: bool,
    },
}

/// Execution time of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always the same.
    Fixed(Span),
    /// Uniform between the two.
    Uniform {
        /// The least.
        least: Span,
        /// The greatest.
        most: Span,
    },
    /// Independent and normal.
    Normal {
        /// The mean.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
    },
    /// Groups of twelve pictures, I BB P BB P BB P BB, at 2 : 1.2 : 0.8 of the mean.
    Gop {
        /// The mean over a group.
        mean: Span,
        /// Standard deviation of a picture as long as the mean; others in proportion.
        deviation: Span,
    },
    /// Normal, each correlated with the last: an autoregressive process of the first order.
    Correlated {
        /// The mean.
        mean: Span,
        /// Standard deviation.
        deviation: Span,
        /// Correlation of neighbours.
        correlation: Share,
    },
    /// Normal levels, each held for a number of jobs.
    Scenes {
        /// The mean.
        mean: Span,
        /// Standard deviation of the levels.
        deviation: Span,
        /// Jobs to each level.
        frames: u32,
    },
}

/// A length of time that may be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// Always the same.
    Fixed(Span),
    /// Uniform between the two.
    Uniform {
        /// The least.
        least: Span,
        /// The greatest.
        most: Span,
    },
    /// Exponential with this mean.
    Exponential(Span),
}

/// Effect of a job that ends after the next release on that release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// The next job is released when the late one ends, and so all later ones.
    Rephase,
    /// The next job is released at the next point of the grid; those passed are left out.
    Skip,
    /// Jobs stay on the grid; a backlog builds up.
    Grid,
}

impl Cost {
    /// The shortest job; `None` where it is drawn without a limit.
    pub fn least(&self) -> Option<Span> {
        match *self {
            Cost::Fixed(cost) | Cost::Uniform { least: cost, .. } => Some(cost.max(LEAST_COST)),
            _ => None,
        }
    }

    /// The longest job; `None` where it is drawn without a limit.
    pub fn most(&self) -> Option<Span> {
        match *self {
            Cost::Fixed(cost) => Some(cost),
            Cost::Uniform { most, .. } => Some(most),
            Cost::Normal { mean, deviation } | Cost::Scenes { mean, deviation, .. } => {
                (deviation == Span::ZERO).then_some(mean)
            }
            Cost::Correlated { mean, deviation, .. } => (deviation == Span::ZERO).then_some(mean),
            Cost::Gop { mean, deviation } => {
                (deviation == Span::ZERO).then_some(Span(mean.0.saturating_mul(2)))
            }
        }
    }
}

impl Work {
    /// Execution time of its jobs; `None` where there are none.
    pub fn job(&self) -> Option<&Cost> {
        match self {
            Work::Interactive { burst: cost, .. } | Work::Periodic { cost, .. } => Some(cost),
            Work::CpuBound | Work::Poller { .. } | Work::Script { .. } => None,
        }
    }
}

impl TaskClass {
    /// The names of its tasks: its own, or numbered from 1.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (1..=self.count).map(|i| match self.count {
            1 => self.name.clone(),
            _ => format!("{}-{i}", self.name),
        })
    }
}

impl CpuScenario {
    /// Every task by its name, in the order of task numbers, with its class.
    pub fn each(&self) -> impl Iterator<Item = (String, &TaskClass)> {
        self.tasks.iter().flat_map(|class| class.names().map(move |name| (name, class)))
    }

    /// The reservation of a task's server; `None` for best effort.
    pub fn reserved(&self, server: &TaskServer) -> Option<Reserved> {
        match server {
            TaskServer::BestEffort | TaskServer::Group(_) => None,
            TaskServer::Own(reserved) => Some(*reserved),
            TaskServer::Shared(place) => Some(self.reservations.get(*place)?.reserved),
        }
    }
}
