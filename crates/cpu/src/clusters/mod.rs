//! Several CPUs: a policy and its deadline queue for each cluster, idle time shared among all.
//!
//! Every task lives in one cluster, whose policy schedules it as if there were no others. A cluster
//! of one CPU takes any policy; one of several CPUs those that can share a queue ([`build`]). On top:
//!
//! - *Placement.* A reservation is admitted by a cluster, the one with least reserved that has room
//!   (or with most, [`Options::pack`]);
//!   best effort goes where its share of a CPU will be greatest, and moves when that has changed
//!   (`balance`).
//! - *Background.* A CPU that its own policy leaves idle runs best-effort tasks that have no CPU: of
//!   its own cluster first, then of others, those first that had least CPU time for their weight.
//!   On a cluster of one CPU the policy's own rule for slack comes before that.
//!
//! # Why no hard deadline is missed
//!
//! A cluster's policy keeps its promises whatever its tasks do: come, go, sleep, ask for less.
//! Placement and moves are joins and leaves to it. Background time is neither given nor charged by
//! any policy. Where it is taken, the CPU was idle, and is given back at the very instant at which
//! the policy there picks somebody; the policy does not know that it was lent. At home the task stays
//! what it was, ready or expired, and runs there when its turn comes; all that its policy sees is that
//! it goes to sleep after less execution than it might have needed. So no promise of either
//! cluster is touched, and stolen work can be served at once without any admission.
//!
//! # Cost
//!
//! A report touches one cluster only. What others have executed in the meantime is told them when
//! something happens there, so a decision does not depend on how many CPUs there are, except that
//! CPUs without work are looked at while some task waits. Besides joining and changing only moves
//! between clusters allocate, which are joins.

mod balance;
mod build;
mod decide;
mod layout;
mod place;
mod policy;
mod waiting;

use alloc::vec::Vec;

use laxity_core::{Span, Time};

pub use build::{BuildError, build};
pub use layout::{Layout, LayoutError};

use crate::queue::Queue;
use crate::{Attributes, CpuId, CpuSet, GroupId, Pick, Policy, Share, TaskId};
use waiting::Waiting;

/// A cluster by its place in the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u32);

/// What clusters do for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether idle CPUs run best-effort tasks of other clusters.
    pub steal: bool,
    /// How long a task has an idle CPU before others of less service get it.
    pub quantum: Span,
    /// How often best-effort tasks are moved to where they get more; zero for never.
    pub balance: Span,
    /// Whether reservations fill one cluster before they go to the next, which keeps room for large
    /// ones. If not, they are spread, which leaves best effort most everywhere.
    pub pack: bool,
    /// Whether the policies keep reservations. If not, hard tasks are helped like all others.
    pub reservations: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            steal: true,
            quantum: Span::from_millis(10),
            balance: Span::from_millis(1000),
            pack: false,
            reservations: true,
        }
    }
}

/// Policies of one kind on several CPUs, as one policy.
#[derive(Clone, Debug)]
pub struct Clusters<P> {
    options: Options,
    clusters: Vec<Cluster<P>>,
    cpus: Vec<Cpu>,
    /// By task.
    rows: Vec<Option<Row>>,
    groups: Vec<(GroupId, u32, u32)>,
    waiting: Waiting,
    /// CPUs that nobody has, and those that run background work.
    idle: CpuSet,
    lent: CpuSet,
    /// When clusters want their timers, except those that are dirty.
    events: Queue,
    /// Clusters that something was reported to since the last decision.
    dirty: Vec<u32>,
    /// Whether anything may have changed since the last decision.
    stale: bool,
    /// What a cluster answered, kept for its memory.
    answers: Vec<Option<Pick>>,
    /// No task that wakes counts as having had less: sleep is not saved up.
    floor: u64,
    next_balance: u64,
    moves: u64,
    /// How often a task joined anew where it was.
    turns: u64,
}

#[derive(Clone, Debug)]
struct Cluster<P> {
    policy: P,
    cpus: Vec<CpuId>,
    set: CpuSet,
    /// Tasks by their number within the cluster, and numbers that are free.
    tasks: Vec<u32>,
    vacant: Vec<u32>,
    dirty: bool,
    reserved: Share,
    /// Weights of best-effort tasks, each times its demand.
    load: u64,
    /// The least and the most service that its best-effort tasks had.
    poorest: u64,
    richest: u64,
    /// Own best-effort tasks without a CPU, where there are several CPUs.
    waiting: Queue,
}

#[derive(Clone, Copy, Debug)]
struct Cpu {
    cluster: u32,
    given: Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    Idle,
    /// By its policy.
    Home(Pick),
    /// As background work.
    Lent(Pick),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    /// Runnable, without a CPU.
    Waiting,
    Home(CpuId),
    Lent(CpuId),
}

#[derive(Clone, Debug)]
struct Row {
    cluster: u32,
    /// Its number there.
    local: u32,
    attributes: Attributes,
    /// Whether it may have background time.
    helped: bool,
    /// Among waiting tasks, by affinity.
    class: u32,
    state: State,
    /// Executed at home, and not yet told there.
    untold: u64,
    /// CPU time divided by weight.
    service: u64,
    /// The same when load was last balanced, and what was added in the interval before.
    before: u64,
    gained: u64,
    demand: balance::Demand,
}

/// Service of weight one for a nanosecond.
const SCALE: u64 = 40;

/// A free number of a cluster.
const NOBODY: u32 = u32::MAX;

impl<P: Policy> Clusters<P> {
    /// No tasks yet. `policy` makes the policy of a cluster of so many CPUs.
    pub fn new(layout: &Layout, options: Options, mut policy: impl FnMut(u32) -> P) -> Clusters<P> {
        let cpu = Cpu { cluster: 0, given: Given::Idle };
        let mut cpus = alloc::vec![cpu; layout.cpus() as usize];
        let clusters: Vec<Cluster<P>> = layout
            .clusters()
            .iter()
            .enumerate()
            .map(|(k, set)| {
                set.iter().for_each(|cpu| cpus[cpu.index()].cluster = k as u32);
                Cluster {
                    policy: policy(set.len()),
                    cpus: set.iter().collect(),
                    set: *set,
                    tasks: Vec::new(),
                    vacant: Vec::new(),
                    dirty: false,
                    reserved: Share::ZERO,
                    load: 0,
                    poorest: 0,
                    richest: 0,
                    waiting: Queue::default(),
                }
            })
            .collect();
        let mut events = Queue::default();
        events.reserve(clusters.len());
        let options = Options { quantum: options.quantum.max(Span(1)), ..options };
        let largest = clusters.iter().map(|c| c.cpus.len()).max().unwrap_or(1);
        Clusters {
            options,
            cpus,
            rows: Vec::new(),
            groups: Vec::new(),
            waiting: Waiting::default(),
            idle: CpuSet::range(0, layout.cpus()),
            lent: CpuSet::NONE,
            events,
            dirty: Vec::with_capacity(clusters.len()),
            stale: false,
            answers: alloc::vec![None; largest],
            floor: 0,
            next_balance: options.balance.0,
            moves: 0,
            turns: 0,
            clusters,
        }
    }

    /// The cluster that a task lives in.
    pub fn home(&self, task: TaskId) -> Option<ClusterId> {
        self.row(task).map(|row| ClusterId(row.cluster))
    }

    /// The CPUs of a cluster.
    pub fn cpus_of(&self, cluster: ClusterId) -> CpuSet {
        self.clusters.get(cluster.0 as usize).map_or(CpuSet::NONE, |c| c.set)
    }

    /// The share that is reserved in a cluster, out of one for each of its CPUs.
    pub fn reserved(&self, cluster: ClusterId) -> Share {
        self.clusters.get(cluster.0 as usize).map_or(Share::ZERO, |c| c.reserved)
    }

    /// The policy of a cluster, whose tasks have numbers of their own there.
    pub fn policy(&self, cluster: ClusterId) -> Option<&P> {
        self.clusters.get(cluster.0 as usize).map(|c| &c.policy)
    }

    /// How often a task was moved to another cluster for good.
    pub fn moves(&self) -> u64 {
        self.moves
    }

    fn row(&self, task: TaskId) -> Option<&Row> {
        self.rows.get(task.index())?.as_ref()
    }

    /// Tells a cluster what its CPUs have executed, and notes that it must be asked again.
    fn touch(&mut self, now: Time, k: u32) {
        let cluster = &mut self.clusters[k as usize];
        for cpu in &cluster.cpus {
            let Given::Home(pick) = self.cpus[cpu.index()].given else { continue };
            let Some(row) = &mut self.rows[pick.task.index()] else { continue };
            let ran = Span(core::mem::take(&mut row.untold));
            if ran > Span::ZERO {
                cluster.policy.ran(now, TaskId(row.local), ran);
            }
        }
        if !cluster.dirty {
            cluster.dirty = true;
            self.dirty.push(k);
            self.events.remove(k);
        }
        self.stale = true;
    }
}

impl Row {
    fn weight(&self) -> u64 {
        u64::from(self.attributes.nice.scale())
    }

    fn is_runnable(&self) -> bool {
        self.state != State::Asleep
    }

    /// Books execution, whoever gave it.
    fn serve(&mut self, ran: Span) {
        let scaled = ran.0.saturating_mul(SCALE) / self.weight();
        self.service = self.service.saturating_add(scaled);
    }
}
