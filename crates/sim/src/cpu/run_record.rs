//! The record of a run for `laxity validate`: what ran, jobs, requests, and each change of a server's state,
//! deadline or share.
//!
//! [`Recorded`] stands between engine and policy. It looks at all servers after each call of the policy and hands
//! over those that changed in another way than by executing, so a record needs nothing from the policy but
//! [`Policy::servers`].

use std::cell::RefCell;

use laxity_core::{Span, Time};
use laxity_cpu::{
    Admitted, Attributes, Charge, CpuId, Pick, Policy, Refusal, ServerKind, ServerState,
    ServerView, Service, TaskId,
};
use laxity_results::csv::cpu_run::{
    RequestRow, ResetRow, RunCharge, RunEvent, RunJob, RunKind, RunRow, RunSlice, RunState,
    ServerRow,
};

use super::{Job, Observer};

/// Receives the rows of a record, in order of time.
pub type RowSink<'a> = &'a mut dyn FnMut(&RunRow);

/// What was recorded so far, shared by the policy's and the observer's side.
pub(super) struct Log<'a> {
    sink: RowSink<'a>,
    /// Up to when execution is in `open`.
    now: Time,
    /// By CPU: what runs, and the slice that may still grow.
    running: Vec<Option<(u32, RunCharge)>>,
    open: Vec<Option<RunSlice>>,
    /// By cluster and slot: a server as it was last seen.
    seen: Vec<Vec<ServerView>>,
    /// By cluster.
    resets: Vec<u64>,
    calls: u64,
    changed: Vec<ServerRow>,
}

impl<'a> Log<'a> {
    pub(super) fn new(cpus: u32, sink: RowSink<'a>) -> Log<'a> {
        let cpus = cpus.max(1) as usize;
        Log {
            sink,
            now: Time::ZERO,
            running: vec![None; cpus],
            open: vec![None; cpus],
            seen: Vec::new(),
            resets: Vec::new(),
            calls: 0,
            changed: Vec::new(),
        }
    }

    /// Extends the slices to `now`.
    fn advance(&mut self, now: Time) {
        let since = self.now;
        self.now = since.max(now);
        if now <= since {
            return;
        }
        for (cpu, running) in self.running.iter().enumerate() {
            let Some((task, charge)) = *running else { continue };
            match &mut self.open[cpu] {
                Some(open) if open.to == since && (open.task, open.charge) == (task, charge) => {
                    open.to = now;
                }
                open => {
                    let next = RunSlice { from: since, to: now, cpu: cpu as u32, task, charge };
                    if let Some(done) = open.replace(next) {
                        (self.sink)(&RunRow::Slice(done));
                    }
                }
            }
        }
    }

    /// Hands over a row after all that was executed before.
    pub(super) fn write(&mut self, row: &RunRow) {
        self.close();
        (self.sink)(row);
    }

    /// Ends all slices.
    fn close(&mut self) {
        for done in self.open.iter_mut().filter_map(Option::take) {
            (self.sink)(&RunRow::Slice(done));
        }
    }

    fn compare(&mut self, now: Time, event: RunEvent, view: &ServerView) {
        let (cluster, slot) = (view.id.cluster as usize, view.id.slot as usize);
        if self.seen.len() <= cluster {
            self.seen.resize(cluster + 1, Vec::new());
        }
        let servers = &mut self.seen[cluster];
        let before = servers.get(slot).copied();
        // Its predecessor left in this call too.
        if before.is_some_and(|b| b.state != ServerState::Vacant && b.serial != view.serial) {
            let none =
                ServerView { state: ServerState::Vacant, steps: [(Time::ZERO, 0); 2], ..*view };
            self.changed.push(row(
                now,
                self.calls,
                event,
                &ServerView { from: now, rest: 0, ..none },
            ));
        }
        if before.is_none_or(|before| differs(&before, view)) {
            self.changed.push(row(now, self.calls, event, view));
        }
        match servers.get_mut(slot) {
            Some(seen) => *seen = *view,
            None => servers.push(*view),
        }
    }

    /// Calls a policy and writes what changed. A live scheduler charges the task that starts it for time before that, and
    /// may learn of execution later: its rows are of no earlier time than those before.
    pub(super) fn call<P: Policy, T>(
        &mut self,
        policy: &mut P,
        now: Time,
        event: RunEvent,
        call: impl FnOnce(&mut P) -> T,
    ) -> T {
        self.advance(now);
        let answer = call(policy);
        self.called(policy, self.now, event);
        answer
    }

    fn called<P: Policy>(&mut self, policy: &P, now: Time, event: RunEvent) {
        self.calls += 1;
        policy.servers(now, &mut |view| self.compare(now, event, view));
        let clusters = self.seen.len();
        self.resets.resize(clusters, 0);
        for cluster in 0..clusters {
            let resets = policy.resets(cluster as u32);
            if std::mem::replace(&mut self.resets[cluster], resets) != resets {
                let row = ResetRow { at: now, call: self.calls, cluster: cluster as u32 };
                self.write(&RunRow::Reset(row));
            }
        }
        if !self.changed.is_empty() {
            let mut rows = std::mem::take(&mut self.changed);
            rows.drain(..).for_each(|row| self.write(&RunRow::Server(row)));
            self.changed = rows;
        }
    }

    /// Writes what a task asked for.
    pub(super) fn requested(
        &mut self,
        now: Time,
        task: u32,
        attributes: &Attributes,
        answer: &Result<Admitted, Refusal>,
    ) {
        let (hard, reservation) = match attributes.service {
            Service::Hard(r) => (true, Some(r)),
            Service::Soft(r) => (false, Some(r)),
            Service::BestEffort => (false, None),
        };
        let of = |field: fn(laxity_cpu::Reservation) -> Span| reservation.map_or(Span::ZERO, field);
        self.write(&RunRow::Request(RequestRow {
            at: now,
            task,
            hard,
            budget: of(|r| r.budget),
            period: of(|r| r.period),
            deadline: of(|r| r.deadline),
            from: answer.as_ref().ok().map(|admitted| admitted.from),
        }));
    }

    /// Execution and lost time are recorded to the end of the run.
    pub(super) fn finish(&mut self, end: Time) {
        self.advance(end);
        self.close();
    }
}

/// Whether a server changed in another way than by executing.
fn differs(before: &ServerView, now: &ServerView) -> bool {
    let due = |view: &ServerView| (view.state == ServerState::Ready).then_some(view.deadline);
    let facts = |view: &ServerView| {
        let promise = (view.steps, view.rest);
        let which = (view.serial, view.replenished, view.kind, view.constrained);
        (which, view.state, due(view), view.release, promise)
    };
    facts(before) != facts(now)
}

fn row(at: Time, call: u64, event: RunEvent, view: &ServerView) -> ServerRow {
    ServerRow {
        at,
        call,
        event,
        cluster: view.id.cluster,
        slot: view.id.slot,
        state: match view.state {
            ServerState::Blocked => RunState::Blocked,
            ServerState::Ready => RunState::Ready,
            ServerState::Expired => RunState::Expired,
            ServerState::Leaving => RunState::Leaving,
            ServerState::Vacant => RunState::Vacant,
        },
        kind: match view.kind {
            ServerKind::Hard if view.constrained => RunKind::Constrained,
            ServerKind::Hard => RunKind::Hard,
            ServerKind::Soft => RunKind::Soft,
            ServerKind::Shared => RunKind::Shared,
        },
        replenished: view.replenished,
        remaining: view.remaining,
        deadline: view.deadline,
        release: view.release,
        from: view.from,
        steps: view.steps,
        rest: view.rest,
    }
}

/// What execution is charged to, as records have it.
pub(super) fn charge(charge: Charge) -> RunCharge {
    match charge {
        Charge::Server(id) => RunCharge::Server(id.cluster, id.slot),
        Charge::Unserved => RunCharge::Unserved,
        Charge::Background => RunCharge::Background,
    }
}

/// A policy whose calls are recorded.
pub(super) struct Recorded<'p, 'l, 's, P> {
    policy: &'p mut P,
    log: &'l RefCell<Log<'s>>,
}

impl<'p, 'l, 's, P: Policy> Recorded<'p, 'l, 's, P> {
    pub(super) fn new(policy: &'p mut P, log: &'l RefCell<Log<'s>>) -> Recorded<'p, 'l, 's, P> {
        Recorded { policy, log }
    }

    fn call<T>(&mut self, now: Time, event: RunEvent, call: impl FnOnce(&mut P) -> T) -> T {
        self.log.borrow_mut().call(self.policy, now, event, call)
    }
}

impl<P: Policy> Policy for Recorded<'_, '_, '_, P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let answer = self.call(now, RunEvent::Join, |p| p.join(now, task, a));
        self.log.borrow_mut().requested(now, task.0, a, &answer);
        answer
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.call(now, RunEvent::Leave, |p| p.leave(now, task, ran));
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let answer = self.call(now, RunEvent::Change, |p| p.change(now, task, a));
        self.log.borrow_mut().requested(now, task.0, a, &answer);
        answer
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        self.call(now, RunEvent::Wake, |p| p.wake(now, task));
    }

    fn wake_by_running(&mut self, now: Time, task: TaskId) {
        self.call(now, RunEvent::Wake, |p| p.wake_by_running(now, task));
    }

    fn resume(&mut self, now: Time, task: TaskId) {
        self.policy.resume(now, task);
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.call(now, RunEvent::Block, |p| p.block(now, task, ran));
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.call(now, RunEvent::Ran, |p| p.ran(now, task, ran));
    }

    fn timer(&mut self, now: Time) {
        self.call(now, RunEvent::Timer, |p| p.timer(now));
    }

    fn next_event(&self) -> Option<Time> {
        self.policy.next_event()
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        let pick = self.call(now, RunEvent::Pick, |p| p.pick(now, cpu));
        let charged = pick.map(|pick| {
            let charge = charge(self.policy.charged_to(cpu, pick.task));
            (pick.task.0, charge)
        });
        if let Some(running) = self.log.borrow_mut().running.get_mut(cpu.index()) {
            *running = charged;
        }
        pick
    }
}

/// Records the jobs.
pub(super) struct Jobs<'l, 's>(pub &'l RefCell<Log<'s>>);

impl Jobs<'_, '_> {
    fn write(&self, task: TaskId, job: &Job, ended: bool) {
        let mut log = self.0.borrow_mut();
        log.advance(job.end);
        let (release, deadline, end) = (job.release, job.deadline, job.end);
        log.write(&RunRow::Job(RunJob { task: task.0, release, deadline, end, ended }));
    }
}

impl Observer for Jobs<'_, '_> {
    fn ended(&mut self, task: TaskId, job: &Job) {
        self.write(task, job, true);
    }

    fn unfinished(&mut self, task: TaskId, job: &Job) {
        self.write(task, job, false);
    }
}
