//! A CPU scenario as the rest of Laxity sees it.

use std::path::PathBuf;

use laxity_core::{Span, Time};
use laxity_cpu::clusters::{self, Layout, LayoutError};
use laxity_cpu::registry::Options;
use laxity_cpu::{CpuSet, Nice, Reservation, Service};

use super::policies;
pub use crate::value::{Share, Step};

/// The most tasks of a scenario.
pub const MAX_TASKS: u32 = 10_000;
/// No job computes for less: every job then makes progress.
pub const LEAST_COST: Span = Span(1_000);

/// A whole scenario file for CPUs.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuScenario {
    /// The file's stem, used in results and titles.
    pub name: String,
    /// Where it was read from, for messages; empty for a scenario made in memory.
    pub path: PathBuf,
    /// What computes.
    pub cpu: Cpu,
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
    /// How many of them share one queue; the last such cluster may be smaller.
    pub cluster: u32,
    /// Whether idle CPUs run best-effort tasks of other clusters.
    pub steal: bool,
    /// How often best-effort tasks move to where they get more; zero for never.
    pub balance: Span,
}

impl Default for Cpu {
    fn default() -> Cpu {
        let clusters::Options { steal, balance, .. } = clusters::Options::default();
        Cpu { cpus: 1, cluster: 1, steal, balance }
    }
}

impl Cpu {
    /// Which CPUs share a queue; `None` for one CPU, where there is nothing to divide.
    ///
    /// # Errors
    /// When there are none, or too many.
    pub fn layout(&self) -> Result<Option<Layout>, LayoutError> {
        match self.cpus {
            1 => Ok(None),
            _ => Layout::clustered(self.cpus, self.cluster.min(self.cpus)).map(Some),
        }
    }

    /// What clusters do for each other.
    pub fn options(&self) -> clusters::Options {
        let (steal, balance) = (self.steal, self.balance);
        clusters::Options { steal, balance, ..clusters::Options::default() }
    }
}

/// `[policy]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuPolicyChoice {
    /// The policy of the CPU, by its one name.
    pub use_: String,
    /// Further policies that a simulation runs beside it.
    pub compare: Vec<String>,
    /// The options of all policies. Those of a policy hold where it runs below another, too.
    pub options: Options,
}

/// What holds without the section.
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
    /// What it gives.
    pub reserved: Reserved,
}

/// A budget in every period, and how it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reserved {
    /// Budget, period and deadline; they make sense by themselves.
    pub reservation: Reservation,
    /// Whether it is guaranteed, and the task held to it.
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
    /// By which server they are served.
    pub server: TaskServer,
    /// Where they may run.
    pub affinity: CpuSet,
    /// What each of them does.
    pub work: Work,
    /// When they appear.
    pub join: Time,
    /// From then, or from when what they ask for is in force, to their first wake-up.
    pub phase: Span,
    /// When they are gone, unless they end before.
    pub leave: Option<Time>,
    /// What they ask for later on, in order of time.
    pub changes: Vec<TaskChange>,
}

/// `[[recording]]`: the threads of a recorded schedule, or of a workload of rt-app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedTasks {
    /// The file; absolute or relative to the working directory.
    pub path: PathBuf,
    /// What recorded sleeps are when they are played again.
    pub sleeps: RecordedSleeps,
    /// Only threads whose names begin with one of these; all where none is given.
    pub only: Vec<String>,
    /// When it begins.
    pub join: Time,
}

/// What ends a recorded sleep when it is played again.
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

/// Whose server a task is served by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskServer {
    /// Its own, as well as possible.
    BestEffort,
    /// One for all tasks of the group, as well as possible: the threads of a process.
    Group(String),
    /// Its own, with a reservation.
    Own(Reserved),
    /// That of a [`CpuScenario::reservations`], by its place there.
    Shared(usize),
}

/// What a task asks for from some instant on; what is absent stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskChange {
    /// When.
    pub at: Time,
    /// Another nice value.
    pub nice: Option<Nice>,
    /// Another server; never a group.
    pub server: Option<TaskServer>,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Computes for ever.
    CpuBound,
    /// Thinks for a while, then computes a little, over and over.
    Interactive {
        /// How long it computes after each wake-up.
        burst: Cost,
        /// How long it sleeps.
        think: Gap,
    },
    /// Computes one job in each period.
    Periodic {
        /// From release to release.
        period: Span,
        /// What a job computes.
        cost: Cost,
        /// From a release to the latest end.
        deadline: Span,
        /// What a late job does to the next release.
        late: Late,
    },
    /// Computes for ever and looks for an event all the time.
    Poller {
        /// From seeing one event to the next.
        poll: Gap,
    },
    /// Plays steps.
    Script {
        /// What to do.
        steps: Vec<Step>,
        /// Whether it begins again at the end.
        repeat: bool,
    },
}

/// How long a job computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Always the same.
    Fixed(Span),
    /// Each time between the two as likely.
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
    /// Each length between the two as likely.
    Uniform {
        /// The least.
        least: Span,
        /// The greatest.
        most: Span,
    },
    /// Exponential with this mean.
    Exponential(Span),
}

/// What a job that ends after the next release does to it.
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

    /// What the server of a task reserves; `None` for best effort.
    pub fn reserved(&self, server: &TaskServer) -> Option<Reserved> {
        match server {
            TaskServer::BestEffort | TaskServer::Group(_) => None,
            TaskServer::Own(reserved) => Some(*reserved),
            TaskServer::Shared(place) => Some(self.reservations.get(*place)?.reserved),
        }
    }
}
