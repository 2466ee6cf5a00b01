//! Replays the requests of tasks to a policy in order of time.

use std::collections::BTreeSet;

use laxity_core::{Span, Time};
use laxity_cpu::{
    Attributes, GroupId, LONGEST_PERIOD, Policy, Refusal, Reservation, Service, Share, TaskId,
    reserved_bandwidth,
};
use laxity_results::{CpuRequest, TaskKind};
use laxity_scenario::cpu::CpuScenario;
use laxity_sim::cpu::Task;

use super::{Built, Reserves};

fn fraction(share: Share) -> f64 {
    share.0 as f64 / Share::ONE.0 as f64
}

fn utilisation(r: &Reservation) -> f64 {
    r.budget.0 as f64 / r.period.0.max(1) as f64
}

/// A request of a task to a policy.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Join(Attributes),
    Change(Attributes),
    Leave,
}

/// A request with its instant.
struct Event {
    at: Time,
    name: String,
    task: TaskId,
    ask: Ask,
}

/// All requests, in the order in which an engine makes them.
fn script(tasks: &[Task]) -> Vec<Event> {
    let mut script = Vec::new();
    for (id, task) in (0..).map(TaskId).zip(tasks) {
        let event = |at, ask| Event { at, name: task.name.clone(), task: id, ask };
        script.push(event(task.joins, Ask::Join(task.attributes)));
        script.extend(task.changes.iter().map(|c| event(c.at, Ask::Change(c.attributes))));
        script.extend(task.leaves.map(|at| event(at, Ask::Leave)));
    }
    // Joins come first at an instant; they were known first.
    script.sort_by_key(|event| (event.at, !matches!(event.ask, Ask::Join(_))));
    script
}

/// Whose a reservation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Task(TaskId),
    /// Members of a group share one.
    Group(GroupId),
}

/// A reservation that a policy counts.
#[derive(Clone)]
struct Row {
    holder: Holder,
    /// The tasks that use it; it ends with the last.
    members: Vec<TaskId>,
    /// Of the task that brought it in.
    name: String,
    kind: TaskKind,
    reservation: Reservation,
    /// The cluster that admitted it.
    cluster: u32,
}

/// From when on a reservation is in force, or no longer.
struct Change {
    from: Time,
    holder: Holder,
    row: Option<Row>,
}

/// The reservations that a policy has admitted on a cluster of CPUs.
#[derive(Clone, Debug)]
pub struct AdmittedSet {
    /// The cluster.
    pub cluster: u32,
    /// Since when.
    pub from: Time,
    /// Whether all are hard: best effort then keeps what the policy's option says.
    pub all_hard: bool,
    /// Names of tasks and their reservations.
    pub reservations: Vec<(String, Reservation)>,
}

#[derive(Default)]
pub(super) struct Peak {
    pub(super) utilisation: f64,
    pub(super) need: f64,
}

pub(super) struct Replay<'a> {
    scenario: &'a CpuScenario,
    reserves: Reserves,
    /// Admitted, if not yet in force.
    rows: Vec<Row>,
    /// When they come into force, and end.
    changes: Vec<Change>,
    pub(super) peak: Peak,
    /// Why tasks that reserve nothing are refused.
    pub(super) refused: Vec<String>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(scenario: &'a CpuScenario, reserves: Reserves) -> Replay<'a> {
        let peak = Peak::default();
        let (rows, changes, refused) = (Vec::new(), Vec::new(), Vec::new());
        Replay { scenario, reserves, rows, changes, peak, refused }
    }

    pub(super) fn play(&mut self, tasks: &[Task], built: &mut Built) -> Vec<CpuRequest> {
        let mut requests = Vec::new();
        let mut absent = Vec::new();
        for Event { at: now, name, task, ask } in script(tasks) {
            let policy = built.policy();
            settle(policy, now);
            if absent.contains(&task) {
                continue;
            }
            let (wanted, answer) = match ask {
                Ask::Join(wanted) => (wanted, policy.join(now, task, &wanted)),
                Ask::Change(wanted) => (wanted, policy.change(now, task, &wanted)),
                Ask::Leave => {
                    policy.leave(now, task, Span::ZERO);
                    self.quit(now, task);
                    continue;
                }
            };
            let shared = self.is_shared(&wanted);
            if let (Err(_), Ask::Join(_)) = (&answer, ask) {
                absent.push(task);
            }
            let in_force = answer.as_ref().map_or(now, |a| a.from.max(now));
            let refused = answer.as_ref().err().copied();
            match self.counted(&wanted) {
                Some((kind, reservation)) if !shared || refused.is_some() => {
                    let from = answer.ok().map(|a| a.from).filter(|from| *from > now);
                    let mut request = request(&name, now, kind, reservation, refused, from);
                    self.subtract_overhead(&mut request);
                    requests.push(request);
                }
                _ => self.refused.extend(refused.map(|why| format!("{name} is refused: {why}"))),
            }
            if refused.is_none() {
                self.enter(now, in_force, (task, built.cluster_of(task)), name, &wanted);
            }
        }
        requests
    }

    /// States a request as the scenario has it: without the overhead that admission adds to the budget.
    fn subtract_overhead(&self, request: &mut CpuRequest) {
        let overhead = self.scenario.overheads.of_job(&self.scenario.cpu).0;
        if overhead == 0 {
            return;
        }
        request.budget_ns = request.budget_ns.saturating_sub(overhead);
        request.utilisation = request.budget_ns as f64 / request.period_ns.max(1) as f64;
        let budget = request.max_budget_ns.map(|ns| ns.saturating_sub(overhead));
        request.max_budget_ns = budget.filter(|ns| *ns > 0);
    }

    /// The bandwidth that a policy counts for a request.
    fn counted(&self, wanted: &Attributes) -> Option<(TaskKind, Reservation)> {
        match wanted.service {
            Service::Hard(reservation) if self.reserves.hard => Some((TaskKind::Hard, reservation)),
            Service::Soft(reservation) if self.reserves.soft => Some((TaskKind::Soft, reservation)),
            _ => None,
        }
    }

    fn holder(&self, task: TaskId, wanted: &Attributes) -> Holder {
        let group = wanted.group.filter(|_| self.reserves.groups);
        group.map_or(Holder::Task(task), Holder::Group)
    }

    /// Whether a member of the group has the server already.
    fn is_shared(&self, wanted: &Attributes) -> bool {
        let group = wanted.group.filter(|_| self.reserves.groups);
        group.is_some_and(|group| self.rows.iter().any(|r| r.holder == Holder::Group(group)))
    }

    /// Notes a change, in place of those of the same reservation that would come into force later.
    fn note(&mut self, from: Time, holder: Holder, row: Option<Row>) {
        self.changes.retain(|change| change.holder != holder || change.from < from);
        self.changes.push(Change { from, holder, row });
    }

    /// Takes a task from its reservation, which ends with its last task.
    fn quit(&mut self, from: Time, task: TaskId) {
        let mut ended = Vec::new();
        self.rows.retain_mut(|row| {
            row.members.retain(|member| *member != task);
            ended.extend(row.members.is_empty().then_some(row.holder));
            !row.members.is_empty()
        });
        for holder in ended {
            self.note(from, holder, None);
        }
    }

    /// The reservations of each cluster after each instant at which those in force there changed.
    pub(super) fn sets(mut self) -> Vec<AdmittedSet> {
        self.changes.sort_by_key(|change| change.from);
        let mut rows: Vec<Row> = Vec::new();
        let mut sets: Vec<AdmittedSet> = Vec::new();
        let mut changed = BTreeSet::new();
        let mut changes = self.changes.into_iter().peekable();
        while let Some(Change { from, holder, row }) = changes.next() {
            changed.extend(row.as_ref().map(|row| row.cluster));
            let at = rows.iter().position(|r| r.holder == holder);
            changed.extend(at.map(|at| rows[at].cluster));
            match (at, row) {
                (Some(at), Some(row)) => rows[at] = row,
                (Some(at), None) => drop(rows.remove(at)),
                (None, row) => rows.extend(row),
            }
            if changes.peek().is_some_and(|next| next.from == from) {
                continue;
            }
            for cluster in std::mem::take(&mut changed) {
                let here = || rows.iter().filter(|row| row.cluster == cluster);
                let set = AdmittedSet {
                    cluster,
                    from,
                    all_hard: here().all(|row| row.kind == TaskKind::Hard),
                    reservations: here().map(|row| (row.name.clone(), row.reservation)).collect(),
                };
                let last = sets.iter().rev().find(|last| last.cluster == cluster);
                let same = last.is_some_and(|last| last.reservations == set.reservations);
                if !set.reservations.is_empty() && !same {
                    sets.push(set);
                }
            }
        }
        sets
    }

    fn enter(
        &mut self,
        now: Time,
        in_force: Time,
        (task, cluster): (TaskId, u32),
        name: String,
        wanted: &Attributes,
    ) {
        let counted = self.counted(wanted);
        let holder = self.holder(task, wanted);
        let of_holder = |row: &&mut Row| row.holder == holder;
        let own = |row: &Row| row.holder == holder && row.members.contains(&task);
        let stays = counted.is_some() && self.rows.iter().any(own);
        if !stays {
            self.quit(now, task);
        }
        if let Some((kind, reservation)) = counted {
            let new = Row { holder, members: vec![task], name, kind, reservation, cluster };
            let changed = match self.rows.iter_mut().find(of_holder) {
                None => {
                    self.rows.push(new.clone());
                    Some(new)
                }
                Some(row) => {
                    if !stays {
                        row.members.push(task);
                    }
                    let same =
                        (row.kind, row.reservation, row.cluster) == (kind, reservation, cluster);
                    (row.kind, row.reservation, row.cluster) = (kind, reservation, cluster);
                    (!same).then(|| row.clone())
                }
            };
            if let Some(row) = changed {
                self.note(in_force, holder, Some(row));
            }
        }
        let all: Vec<Reservation> = self.rows.iter().map(|r| r.reservation).collect();
        // Folds from 0.0: `sum` of nothing is -0.0, and whether `max` keeps that depends on the build.
        // Which cluster has which the policy knows; each by itself needs no more than this.
        let need = match self.scenario.cpu.cpus {
            1 => fraction(reserved_bandwidth(&all)),
            _ => all.iter().fold(0.0, |sum, r| sum + fraction(reserved_bandwidth(&[*r]))),
        };
        self.peak.need = self.peak.need.max(need);
        let utilisation = all.iter().map(utilisation).fold(0.0, |sum, share| sum + share);
        self.peak.utilisation = self.peak.utilisation.max(utilisation);
    }
}

/// Lets a policy process its events up to `now`; no task runs, so these are few.
fn settle(policy: &mut dyn Policy, now: Time) {
    for _ in 0..1000 {
        match policy.next_event().filter(|at| *at <= now) {
            Some(at) => policy.timer(at),
            None => return,
        }
    }
}

/// The reservations of a policy that admits everything, or nothing: none is refused.
pub(super) fn all_requests(tasks: &[Task]) -> Vec<CpuRequest> {
    let wanted = |Event { at, name, ask, .. }: Event| {
        let (Ask::Join(wanted) | Ask::Change(wanted)) = ask else { return None };
        let (kind, reservation) = match wanted.service {
            Service::Hard(reservation) => (TaskKind::Hard, reservation),
            Service::Soft(reservation) => (TaskKind::Soft, reservation),
            Service::BestEffort => return None,
        };
        Some(request(&name, at, kind, reservation, None, None))
    };
    script(tasks).into_iter().filter_map(wanted).collect()
}

fn request(
    task: &str,
    at: Time,
    kind: TaskKind,
    asked: Reservation,
    refused: Option<Refusal>,
    from: Option<Time>,
) -> CpuRequest {
    let mut request = CpuRequest {
        task: task.to_owned(),
        at_ns: at.0,
        kind,
        budget_ns: asked.budget.0,
        period_ns: asked.period.0,
        deadline_ns: asked.deadline.0,
        utilisation: utilisation(&asked),
        admitted: refused.is_none(),
        from_ns: from.map(|from| from.0),
        required_share: None,
        available_share: None,
        max_budget_ns: None,
        min_period_ns: None,
        refused: refused.map(|r| r.to_string()),
    };
    if let Some(
        Refusal::Overload { needs, free, fits, .. } | Refusal::NoCluster { needs, free, fits, .. },
    ) = refused
    {
        request.required_share = Some(fraction(needs));
        request.available_share = Some(fraction(free));
        request.max_budget_ns = Some(fits.0).filter(|ns| *ns > 0);
        request.min_period_ns = shortest_period(asked.budget, free).map(|p| p.0);
    }
    request
}

/// The shortest period, with a deadline as long, in which a budget fits into a free share: such a
/// reservation needs just its utilisation beside others.
fn shortest_period(budget: Span, free: Share) -> Option<Span> {
    let period = free.time_for(budget);
    (free > Share::ZERO && period <= LONGEST_PERIOD).then(|| period.max(budget))
}
