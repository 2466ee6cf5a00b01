//! One pass over a record, in order of time.

use laxity_core::{Span, Time};
use laxity_results::csv::cpu_run::{
    CpuRunRecord, HigherClass, ResetRow, RunCharge, RunJob, RunKind, RunRow, RunSlice, RunState,
    ServerRow,
};

use super::execution::Execution;
use super::jobs::{self, Promised, Task};
use super::servers::Servers;
use super::{CpuFault, CpuRules, CpuValidation, Premise, sum};

/// How running tasks and ready servers depart from the order of deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// A task runs in a server that is not ready.
    NotReady { task: u32 },
    /// Two tasks run in one server at once, this one among them.
    Together { task: u32 },
    /// A task runs while a server waits that goes before it.
    Wrong { task: u32, waiting: u32 },
    /// A CPU idles while a server waits.
    Idle { waiting: u32 },
}

/// A cluster, judged up to some instant.
#[derive(Clone, Debug, Default)]
struct Cluster {
    servers: Servers,
    cpus: Vec<u32>,
    /// Up to when its slices were judged.
    until: u64,
    /// Since when the order departs from that of deadlines.
    departs: Option<u64>,
    /// Since a higher class last waited, a reservation has always been ready.
    passed_over: bool,
}

struct Walk<'a> {
    run: &'a CpuRunRecord,
    rules: CpuRules,
    clusters: Vec<Cluster>,
    /// By CPU: slices in order of time, and the first that is not judged to its end.
    slices: Vec<Vec<RunSlice>>,
    next: Vec<usize>,
    tasks: Vec<Task>,
    /// By task: the server that it ran in last.
    homes: Vec<Option<(u32, u32)>>,
    /// Times in which a higher class waited, in order.
    higher: Vec<HigherClass>,
    /// By task: the end of the last job that they delayed.
    delayed_until: Vec<Option<Time>>,
    /// Of live runs, once overlaps are cut.
    execution: Execution,
    found: CpuValidation,
}

/// Judges a record. See the head of this module's parent.
pub fn judge(run: &CpuRunRecord, rules: CpuRules) -> CpuValidation {
    let count = run.clusters.iter().max().map_or(1, |k| *k as usize + 1);
    let mut clusters = vec![Cluster::default(); count];
    for (cpu, k) in run.clusters.iter().enumerate() {
        clusters[*k as usize].cpus.push(cpu as u32);
    }
    clusters
        .iter_mut()
        .for_each(|cluster| cluster.servers.live = rules.live.map(|live| live.tolerance.0));
    let mut slices: Vec<Vec<RunSlice>> = vec![Vec::new(); run.clusters.len()];
    for row in &run.rows {
        if let RunRow::Slice(slice) = row {
            slices[slice.cpu as usize].push(*slice);
        }
    }
    slices.iter_mut().for_each(|all| all.sort_by_key(|slice| (slice.from, slice.to)));
    let higher = run.rows.iter().filter_map(|row| match row {
        RunRow::HigherClass(row) => Some(*row),
        _ => None,
    });
    let mut walk = Walk {
        run,
        rules,
        clusters,
        next: vec![0; slices.len()],
        tasks: vec![Task::default(); run.tasks.len()],
        homes: vec![None; run.tasks.len()],
        higher: higher.collect(),
        delayed_until: vec![None; run.tasks.len()],
        execution: Execution::default(),
        found: CpuValidation {
            slices: slices.iter().map(Vec::len).sum(),
            ..CpuValidation::default()
        },
        slices,
    };
    walk.cut_overlaps();
    walk.overlaps();
    if rules.live.is_some() {
        let slices = walk.slices.iter().flatten().copied().collect();
        walk.execution = Execution::new(run.tasks.len(), slices);
    }
    if let Some(first) = walk.higher.first() {
        let each = walk.higher.iter().map(|row| row.until.since(row.from));
        let length = each.fold(Span::ZERO, |sum, one| sum + one);
        walk.found.broken.push(Premise::HigherClass { at: first.from, length });
    }
    walk.all();
    walk.sums();
    walk.found
}

impl Walk<'_> {
    /// By how much a live CPU may depart.
    fn tolerance(&self) -> u64 {
        self.rules.live.map_or(0, |live| live.tolerance.0)
    }

    fn name(&self, task: u32) -> String {
        self.run.tasks.get(task as usize).cloned().unwrap_or_default()
    }

    /// A server by the task that ran in it last, or runs in it next.
    fn server_name(&self, cluster: u32, slot: u32) -> String {
        let server = self.clusters[cluster as usize].servers.all.get(slot as usize);
        let here = RunCharge::Server(cluster, slot);
        let next = self.slices.iter().zip(&self.next).flat_map(|(all, next)| &all[*next..]);
        let next = || next.filter(|s| s.charge == here).min_by_key(|s| s.from).map(|s| s.task);
        match server.and_then(|server| server.task).or_else(next) {
            Some(task) => self.name(task),
            None => format!("server {cluster}.{slot}"),
        }
    }

    fn fault(&self, k: usize, at: Time, departure: Departure) -> CpuFault {
        let waiting = |slot| self.server_name(k as u32, slot);
        match departure {
            Departure::NotReady { task } => CpuFault::NotReady { at, task: self.name(task) },
            Departure::Together { task } => CpuFault::Together { at, task: self.name(task) },
            Departure::Wrong { task, waiting: slot } => {
                CpuFault::Wrong { at, task: self.name(task), waiting: waiting(slot) }
            }
            Departure::Idle { waiting: slot } => CpuFault::Idle { at, waiting: waiting(slot) },
        }
    }

    /// Keeps the first fault.
    fn fail(&mut self, fault: CpuFault) {
        if self.found.illegal.as_ref().is_none_or(|before| fault.at() < before.at()) {
            self.found.illegal = Some(fault);
        }
    }

    /// A live CPU reads its clock again between the end of a task's execution and the start of the next: slices that
    /// overlap by no more than the tolerance are cut.
    fn cut_overlaps(&mut self) {
        let tolerance = self.tolerance();
        for all in self.slices.iter_mut().filter(|_| tolerance > 0) {
            let mut end = 0;
            for slice in all.iter_mut() {
                let cut = Time(end.min(slice.to.0)).max(slice.from);
                if cut.since(slice.from).0 <= tolerance {
                    slice.from = cut;
                }
                end = end.max(slice.to.0);
            }
            all.retain(|slice| slice.from < slice.to);
        }
    }

    /// Slices of a CPU, or of a task, that overlap.
    fn overlaps(&mut self) {
        let mut all: Vec<RunSlice> = self.slices.iter().flatten().copied().collect();
        all.sort_by_key(|slice| (slice.from, slice.to));
        let mut cpus = vec![0; self.slices.len()];
        let mut tasks = vec![0; self.run.tasks.len()];
        for slice in all {
            let ends = [&mut cpus[slice.cpu as usize], &mut tasks[slice.task as usize]];
            for end in ends {
                if slice.from.0 < *end {
                    let (at, task) = (slice.from, self.name(slice.task));
                    return self.fail(CpuFault::Together { at, task });
                }
                *end = slice.to.0;
            }
        }
    }

    fn all(&mut self) {
        let run = self.run;
        let mut rest = &run.rows[..];
        while let Some(row) = rest.first() {
            let mut taken = 1;
            match row {
                RunRow::Slice(_) | RunRow::HigherClass(_) => {}
                RunRow::Request(row) => {
                    let refused =
                        self.tasks[row.task as usize].request(row, self.rules.live.is_some());
                    if refused {
                        let task = self.name(row.task);
                        self.found.broken.push(Premise::Refused { task, at: row.at });
                    }
                }
                RunRow::Job(row) => {
                    self.judge_all(row.end.0);
                    self.job(row);
                }
                RunRow::Reset(ResetRow { call, .. }) | RunRow::Server(ServerRow { call, .. }) => {
                    let of_call = |row: &&RunRow| match row {
                        RunRow::Reset(row) => row.call == *call,
                        RunRow::Server(row) => row.call == *call,
                        _ => false,
                    };
                    taken = rest.iter().take_while(of_call).count();
                    self.call(row.at(), &rest[..taken]);
                }
            }
            rest = &rest[taken..];
        }
        self.judge_all(run.end.0);
    }

    fn judge_all(&mut self, until: u64) {
        for k in 0..self.clusters.len() {
            self.judge_until(k, until);
        }
    }

    /// Judges the rows of one call.
    fn call(&mut self, at: Time, rows: &[RunRow]) {
        let (mut resets, mut changes) = (Vec::new(), Vec::new());
        for row in rows {
            match row {
                RunRow::Reset(row) => resets.push(row.cluster),
                RunRow::Server(row) => changes.push(*row),
                _ => {}
            }
        }
        changes.sort_by_key(|row: &ServerRow| (row.cluster, row.slot));
        resets.retain(|k| (*k as usize) < self.clusters.len());
        resets.sort_unstable();
        resets.dedup();
        for k in &resets {
            let first = changes.partition_point(|row| row.cluster < *k);
            let count = changes[first..].partition_point(|row| row.cluster == *k);
            self.servers_change(*k, at, &changes[first..first + count], true);
        }
        for rows in changes.chunk_by(|a, b| a.cluster == b.cluster) {
            let k = rows[0].cluster;
            if (k as usize) < self.clusters.len() && resets.binary_search(&k).is_err() {
                self.servers_change(k, at, rows, false);
            }
        }
    }

    fn servers_change(&mut self, k: u32, at: Time, rows: &[ServerRow], reset: bool) {
        self.judge_until(k as usize, at.0);
        if self.found.illegal.as_ref().is_some_and(|fault| fault.at() <= at) {
            return;
        }
        let servers = &mut self.clusters[k as usize].servers;
        if self.rules.live.is_some() && !servers.reserves() {
            return servers.accept(at.0, rows, reset);
        }
        if let Some(slot) = servers.pending().filter(|_| reset) {
            let task = self.server_name(k, slot);
            return self.fail(CpuFault::Pending { at, task });
        }
        let done = if reset { servers.reset(at.0, rows) } else { servers.call(rows) };
        if let Err((slot, wrong)) = done {
            let task = self.server_name(k, slot);
            self.fail(wrong.named(at, task));
        }
        if self.found.constrained.is_none() && self.clusters[k as usize].servers.is_constrained() {
            let row = rows.iter().find(|row| row.kind == RunKind::Constrained);
            self.found.constrained = row.map(|row| self.server_name(k, row.slot));
        }
    }

    /// Judges what the CPUs of a cluster did between two instants at which servers changed.
    fn judge_until(&mut self, k: usize, until: u64) {
        let from = self.clusters[k].until;
        if until <= from {
            return;
        }
        self.clusters[k].until = until;
        // Slices of this time, cut at its ends.
        let mut parts: Vec<RunSlice> = Vec::new();
        for cpu in self.clusters[k].cpus.clone() {
            let all = &self.slices[cpu as usize];
            while let Some(slice) = all.get(self.next[cpu as usize]).filter(|s| s.from.0 < until) {
                let (begin, end) = (slice.from.0.max(from), slice.to.0.min(until));
                if begin < end {
                    parts.push(RunSlice { from: Time(begin), to: Time(end), ..*slice });
                }
                if slice.to.0 > until {
                    break;
                }
                self.next[cpu as usize] += 1;
            }
        }
        let mut bounds: Vec<u64> = parts.iter().flat_map(|s| [s.from.0, s.to.0]).collect();
        bounds.extend([from, until]);
        let first = self.higher.partition_point(|row| row.until.0 <= from);
        let higher = self.higher[first..].iter().take_while(|row| row.from.0 < until);
        let ends = higher.flat_map(|row| [row.from.0, row.until.0]);
        bounds.extend(ends.filter(|end| (from..until).contains(end)));
        bounds.sort_unstable();
        bounds.dedup();
        parts.sort_by_key(|slice| slice.from);
        let mut parts = parts.into_iter().peekable();
        let mut running: Vec<RunSlice> = Vec::new();
        for bound in bounds.windows(2) {
            running.retain(|slice| slice.to.0 > bound[0]);
            while let Some(slice) = parts.next_if(|slice| slice.from.0 <= bound[0]) {
                running.push(slice);
            }
            self.segment(k, bound[0], bound[1], &running);
        }
    }

    /// Judges a time in which the same tasks run.
    fn segment(&mut self, k: usize, from: u64, until: u64, running: &[RunSlice]) {
        for slice in running {
            let executed = &mut self.tasks[slice.task as usize].executed;
            *executed = executed.saturating_add(until - from);
            if let RunCharge::Server(cluster, slot) = slice.charge {
                self.homes[slice.task as usize] = Some((cluster, slot));
            }
        }
        if self.found.illegal.as_ref().is_some_and(|fault| fault.at().0 <= from) {
            return;
        }
        let since = self.clusters[k].departs.unwrap_or(from);
        let departure = self.order(k, from, running);
        let higher = self.has_higher_class(from);
        let cluster = &mut self.clusters[k];
        cluster.passed_over = higher || cluster.passed_over && cluster.servers.has_hard_ready();
        self.clusters[k].departs = departure.map(|_| since);
        if let Some(departure) = departure.filter(|_| until - since > self.tolerance()) {
            return self.fail(self.fault(k, Time(since), departure));
        }
        for slice in running {
            let RunCharge::Server(_, slot) = slice.charge else { continue };
            let tolerance = self.tolerance();
            let servers = &mut self.clusters[k].servers;
            // One that is not ready may be unknown.
            let Some(server) = servers.all.get(slot as usize) else { continue };
            if higher && servers.may_go_on_without_budget(server) {
                let without = &mut self.tasks[slice.task as usize].without_budget;
                *without = without.saturating_add(until - from);
                continue;
            }
            let server = &mut servers.all[slot as usize];
            server.task = Some(slice.task);
            let left = server.left;
            server.executed(until - from);
            if until - from > left && server.beyond > tolerance {
                let (at, task) = (Time(from + left), self.name(slice.task));
                return self.fail(CpuFault::Budget { at, task });
            }
        }
    }

    /// Whether the ready servers with the earliest deadlines run from `at` on.
    fn order(&self, k: usize, at: u64, running: &[RunSlice]) -> Option<Departure> {
        let Cluster { servers, cpus, passed_over, .. } = &self.clusters[k];
        let mut own: Vec<(u64, u32, u32)> = Vec::with_capacity(running.len());
        let mut other: Option<u32> = None;
        let higher = self.has_higher_class(at);
        for slice in running {
            let RunCharge::Server(cluster, slot) = slice.charge else {
                other = Some(slice.task);
                continue;
            };
            let task = slice.task;
            let server = servers.all.get(slot as usize).filter(|_| cluster as usize == k);
            if server.is_some_and(|s| higher && servers.may_go_on_without_budget(s)) {
                continue;
            }
            let ready = server.filter(|s| servers.ready.contains(&(s.deadline, slot)));
            let Some(server) = ready else { return Some(Departure::NotReady { task }) };
            if own.iter().any(|(_, other, _)| *other == slot) {
                return Some(Departure::Together { task });
            }
            own.push((server.deadline, slot, task));
        }
        let runs = |slot: u32| own.iter().any(|(_, other, _)| *other == slot);
        if higher || *passed_over && servers.has_hard_ready() {
            let is_hard = |slot: u32| servers.all[slot as usize].is_hard();
            let reserved = servers.ready.iter().find(|(_, slot)| is_hard(*slot) && !runs(*slot));
            let wrong = own.iter().find_map(|(deadline, slot, task)| {
                let (earliest, waiting) = reserved?;
                (!is_hard(*slot) || earliest < deadline).then_some((*task, *waiting))
            });
            match wrong {
                // Where the CPU executes nothing, the higher class has it.
                None if higher || own.iter().any(|(_, slot, _)| is_hard(*slot)) => return None,
                Some((task, waiting)) if higher => return Some(Departure::Wrong { task, waiting }),
                _ => {}
            }
        }
        let waiting = servers.ready.iter().find(|(_, slot)| !runs(*slot));
        if let Some(&(deadline, waiting)) = waiting {
            if own.len() < cpus.len() {
                return Some(match other {
                    Some(task) => Departure::Wrong { task, waiting },
                    None => Departure::Idle { waiting },
                });
            }
            let last = own.iter().max().filter(|(latest, ..)| *latest > deadline);
            let waits = self.rules.wakeups_wait && !servers.reserves();
            if let Some(&(_, _, task)) = last.filter(|_| !waits) {
                return Some(Departure::Wrong { task, waiting });
            }
        }
        // Idle time releases what waits for its next period, or nothing waits for that.
        let idle = own.is_empty() && running.is_empty() && cpus.len() == 1;
        let expired = servers.expired.first().filter(|_| idle);
        expired.map(|waiting| Departure::Idle { waiting: *waiting })
    }

    /// Whether a higher class waits at an instant.
    fn has_higher_class(&self, at: u64) -> bool {
        let next = self.higher.partition_point(|row| row.until.0 <= at);
        self.higher.get(next).is_some_and(|row| row.from.0 <= at)
    }

    /// Whether a higher class delayed a job: it waited between release and end, or within a period before, or delayed
    /// the job before this one.
    fn is_delayed(&mut self, job: &RunJob) -> bool {
        let reach = job.deadline.map_or(Span::ZERO, |due| due.since(job.release));
        let next = self.higher.partition_point(|row| row.until + reach <= job.release);
        let beside = self.higher.get(next).is_some_and(|row| row.from <= job.end);
        let tolerance = Span(self.tolerance());
        let last = &mut self.delayed_until[job.task as usize];
        let delayed = beside || last.is_some_and(|end| end + tolerance >= job.release);
        *last = delayed.then_some(job.end);
        delayed
    }

    fn job(&mut self, row: &RunJob) {
        let name = self.name(row.task);
        let promised = match self.rules.live {
            None => self.tasks[row.task as usize].job(&name, row),
            Some(live) => {
                let work = self.execution.between(row.task, row.release, row.end);
                self.tasks[row.task as usize].live_job(&name, row, work, live)
            }
        };
        let tolerance = self.tolerance();
        let delayed = self.is_delayed(row);
        let Some(due) = (match promised {
            Promised::Nothing => return,
            // That it came late, and the next one soon, has this cause.
            _ if delayed => None,
            Promised::Broken(premise) => {
                self.found.broken.push(premise);
                None
            }
            Promised::Deadline(due) => Some(due),
        }) else {
            self.found.late.extend(jobs::late(&name, row, tolerance, false));
            return;
        };
        self.found.jobs += 1;
        self.found.late.extend(jobs::late(&name, row, tolerance, true));
        let legal = self.found.illegal.as_ref().is_none_or(|fault| fault.at() > row.release);
        // A job of no length is never ready.
        if !legal || row.end == row.release {
            return;
        }
        let (at, task) = (row.release, name);
        let home = self.homes[row.task as usize];
        let home = home
            .and_then(|(k, slot)| self.clusters.get(k as usize)?.servers.all.get(slot as usize));
        let ready = home.filter(|server| {
            server.state == RunState::Ready
                && server.is_hard()
                && server.ready_since <= row.release.0.saturating_add(tolerance.saturating_mul(2))
        });
        let Some(server) = ready else {
            // One that never ran, and whose time has not passed, may have had a server that is not in the record.
            if row.ended || due <= row.end || home.is_some() {
                self.fail(CpuFault::Unready { at, task });
            }
            return;
        };
        if server.deadline > due.0.saturating_add(tolerance).saturating_add(jobs::ROUNDING) {
            let deadline = Time(server.deadline);
            self.fail(CpuFault::Later { at, task, deadline, due });
        }
    }

    /// Judges the shares of each cluster, up to the first fault.
    fn sums(&mut self) {
        if self.found.constrained.is_some() {
            return;
        }
        let end = self.found.illegal.as_ref().map_or(self.run.end, CpuFault::at).0;
        for k in 0..self.clusters.len() {
            let Cluster { servers, cpus, .. } = &self.clusters[k];
            let steps: Vec<_> = servers.all.iter().map(|server| server.steps()).collect();
            let cpus = cpus.len() as u32;
            if let Some((at, thousandths)) = sum::exceeded(&steps, cpus, end) {
                self.fail(CpuFault::Sum { at: Time(at), thousandths, cpus });
            }
        }
    }
}
