//! Several CPUs: a policy and its deadline queue for each cluster, idle time shared among all.
//!
//! Every task belongs to one cluster, whose policy schedules it as if there were no others. A cluster
//! of one CPU takes any policy; a larger one takes those that support global EDF ([`build`]). On top:
//!
//! - *Placement.* A reservation goes to the cluster with the least reserved bandwidth that admits it
//!   (or the most, [`Options::pack`]). Best effort goes where its share of a CPU is greatest, and
//!   migrates when that changes (`balance`).
//! - *Background.* A CPU that its own policy leaves idle runs best-effort tasks that have no CPU: of
//!   its own cluster first, then of others, in order of least CPU time relative to weight. On a
//!   cluster of one CPU the policy's own use of slack comes before that.
//!
//! # Why no hard deadline is missed
//!
//! A cluster's policy keeps its guarantees whatever its tasks do: join, leave, block, reduce their
//! demand. Placement and migration are joins and leaves to it. Background time is neither allocated
//! nor charged by any policy. It uses a CPU that was idle, and ends at the instant at which that CPU's
//! policy picks a task; the policy does not see the background task. In its own cluster that task
//! stays ready or expired, and runs there when its policy picks it; the policy only sees it block
//! after less execution than it might have needed. So background time affects no guarantee of either
//! cluster, and needs no admission.
//!
//! # Cost
//!
//! A report involves one cluster only. Execution on the CPUs of other clusters is reported to their
//! policies at their next event, so the cost of a decision does not depend on the number of CPUs,
//! except that idle CPUs are visited while a task waits. Besides joins and changes only migrations
//! allocate, which are joins.

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

/// A cluster, as an index into the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u32);

/// Options that apply across clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether idle CPUs run best-effort tasks of other clusters.
    pub steal: bool,
    /// How long a background task has an idle CPU before one with less service gets it.
    pub quantum: Span,
    /// The interval of load balancing of best-effort tasks; zero for never.
    pub balance: Span,
    /// Whether reservations fill one cluster before they go to the next, which leaves room for large
    /// ones. Otherwise they are spread, which leaves the most bandwidth to best effort everywhere.
    pub pack: bool,
    /// Whether the policies guarantee reservations. If not, hard tasks also use background time.
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
    /// Idle CPUs, and CPUs that run background work.
    idle: CpuSet,
    background: CpuSet,
    /// The next timer of each cluster that is not dirty.
    events: Queue,
    /// Clusters with events since the last decision.
    dirty: Vec<u32>,
    /// Whether decisions may have changed since the last one.
    stale: bool,
    /// The picks of one cluster; a reused buffer.
    picks: Vec<Option<Pick>>,
    /// The least service that a waking task counts as having had: sleep earns no credit.
    service_floor: u64,
    next_balance: u64,
    migrations: u64,
    /// How often a task has rejoined its own cluster.
    rejoins: u64,
}

#[derive(Clone, Debug)]
struct Cluster<P> {
    policy: P,
    cpus: Vec<CpuId>,
    set: CpuSet,
    /// Tasks by their slot within the cluster, and the free slots.
    tasks: Vec<u32>,
    vacant: Vec<u32>,
    dirty: bool,
    reserved: Share,
    /// The sum of weight times demand over best-effort tasks.
    load: u64,
    /// The least and the greatest service of its best-effort tasks.
    min_service: u64,
    max_service: u64,
    /// Its best-effort tasks without a CPU, if it has several CPUs.
    waiting: Queue,
}

#[derive(Clone, Copy, Debug)]
struct Cpu {
    cluster: u32,
    assignment: Assignment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assignment {
    Idle,
    /// A task picked by its own policy.
    Own(Pick),
    /// A background task.
    Background(Pick),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    /// Runnable, without a CPU.
    Waiting,
    Own(CpuId),
    Background(CpuId),
}

#[derive(Clone, Debug)]
struct Row {
    cluster: u32,
    /// Its slot there.
    local: u32,
    attributes: Attributes,
    /// Whether it may use background time.
    uses_background: bool,
    /// Its affinity class in the waiting queue.
    class: u32,
    state: State,
    /// Execution allocated by its policy and not yet reported to it.
    unreported: u64,
    /// CPU time divided by weight.
    service: u64,
    /// The service at the last load balancing, and the increase in the interval before.
    before: u64,
    interval_service: u64,
    demand: balance::Demand,
}

/// The service of a nanosecond at weight one.
const SCALE: u64 = 40;

/// No task: a free slot of a cluster.
const NO_TASK: u32 = u32::MAX;

impl<P: Policy> Clusters<P> {
    /// No tasks yet. `policy` makes the policy of a cluster, given its number of CPUs.
    pub fn new(layout: &Layout, options: Options, mut policy: impl FnMut(u32) -> P) -> Clusters<P> {
        let cpu = Cpu { cluster: 0, assignment: Assignment::Idle };
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
                    min_service: 0,
                    max_service: 0,
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
            background: CpuSet::NONE,
            events,
            dirty: Vec::with_capacity(clusters.len()),
            stale: false,
            picks: alloc::vec![None; largest],
            service_floor: 0,
            next_balance: options.balance.0,
            migrations: 0,
            rejoins: 0,
            clusters,
        }
    }

    /// The cluster of a task.
    pub fn home(&self, task: TaskId) -> Option<ClusterId> {
        self.row(task).map(|row| ClusterId(row.cluster))
    }

    /// The CPUs of a cluster.
    pub fn cpus_of(&self, cluster: ClusterId) -> CpuSet {
        self.clusters.get(cluster.0 as usize).map_or(CpuSet::NONE, |c| c.set)
    }

    /// The share reserved in a cluster, out of one for each of its CPUs.
    pub fn reserved(&self, cluster: ClusterId) -> Share {
        self.clusters.get(cluster.0 as usize).map_or(Share::ZERO, |c| c.reserved)
    }

    /// The policy of a cluster, which numbers tasks by slot.
    pub fn policy(&self, cluster: ClusterId) -> Option<&P> {
        self.clusters.get(cluster.0 as usize).map(|c| &c.policy)
    }

    /// The number of migrations between clusters.
    pub fn migrations(&self) -> u64 {
        self.migrations
    }

    fn row(&self, task: TaskId) -> Option<&Row> {
        self.rows.get(task.index())?.as_ref()
    }

    /// Reports the execution on its CPUs to a cluster's policy, and marks the cluster dirty.
    fn mark_dirty(&mut self, now: Time, k: u32) {
        let cluster = &mut self.clusters[k as usize];
        for cpu in &cluster.cpus {
            let Assignment::Own(pick) = self.cpus[cpu.index()].assignment else { continue };
            let Some(row) = &mut self.rows[pick.task.index()] else { continue };
            let ran = Span(core::mem::take(&mut row.unreported));
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

    /// Adds execution to the service, own or background.
    fn charge(&mut self, ran: Span) {
        let scaled = ran.0.saturating_mul(SCALE) / self.weight();
        self.service = self.service.saturating_add(scaled);
    }
}
