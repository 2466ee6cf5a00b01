//! The [`Policy`] interface of servers.

use laxity_core::{Span, Time};

use super::members::Member;
use super::server::{Kind, NO_TASK, Server, State};
use super::transition::stretch_from;
use super::{Load, Servers, Sizing, Transition};
use crate::{
    Admitted, Attributes, Charge, CpuId, Pick, Policy, Refusal, Reservation, Sample, ServerId,
    ServerView, Service, Share, TaskId,
};

impl Servers {
    /// The kind of server for a service, and its reservation.
    fn kind(&self, service: Service) -> (Kind, Reservation) {
        match service {
            Service::Hard(r) => (Kind::Hard, r),
            Service::Soft(r) if self.rules.declared => {
                (Kind::Soft, Reservation { deadline: r.period, ..r })
            }
            _ => (Kind::Shared, Reservation::new(Span(1), Span(1))),
        }
    }

    /// The bandwidth that a reservation of this kind must leave to best effort. Soft reservations
    /// are best effort themselves, and must leave some only when there are shared servers.
    fn best_effort_bw_min(&self, kind: Kind) -> Share {
        if kind == Kind::Hard || self.bandwidth.total_weight() > 0 {
            self.rules.best_effort_bw_min
        } else {
            Share::ZERO
        }
    }

    fn admit(&self, holder: Option<u32>, kind: Kind, asked: Reservation) -> Result<(), Refusal> {
        match kind {
            Kind::Shared if !self.bandwidth.is_divisible() => Err(Refusal::NothingLeft),
            Kind::Shared => Ok(()),
            _ => self.ledger.admit(holder, asked, self.best_effort_bw_min(kind)),
        }
    }

    fn server(&self, task: TaskId) -> Option<u32> {
        self.members.get(task.index()).filter(|m| m.is_present()).map(|m| m.server)
    }

    fn group(&self, group: Option<crate::GroupId>) -> Option<u32> {
        let at = self.groups.binary_search_by_key(&group?, |(g, _)| *g).ok()?;
        Some(self.groups[at].1)
    }

    /// Reserves capacity for one more task, so that nothing else allocates.
    fn reserve_capacity(&mut self, task: TaskId) {
        if self.members.len() <= task.index() {
            self.members.resize(task.index() + 1, Member::ABSENT);
        }
        let servers = self.servers.len() + 1;
        self.ready.reserve(servers);
        for queue in [&mut self.expired, &mut self.suspended, &mut self.reclaim_queue] {
            queue.reserve(servers);
        }
        self.free_slots.reserve(servers - self.free_slots.len());
    }

    fn create_server(&mut self, now: u64, mut server: Server) -> (u32, u64) {
        self.created.0 += 1;
        server.serial = self.created;
        let kind = server.kind;
        let declared = server.declared;
        let s = match self.free_slots.pop() {
            Some(s) => {
                self.servers[s as usize] = server;
                s
            }
            None => {
                self.servers.push(server);
                self.servers.len() as u32 - 1
            }
        };
        self.promises.begins(s);
        if kind == Kind::Shared {
            if self.rules.load == Load::Live {
                self.activate_weight(now, s);
            }
            return (s, now);
        }
        self.ledger.set(s, Some(declared));
        let from = self.take_from_best_effort(now).saturating_add(self.ledger.start_delay(s).0);
        // No release before the other servers have shrunk: it would come on top of their shares.
        self.servers[s as usize].period_end = if from > now { from } else { 0 };
        (s, from)
    }

    /// Removes a task from its server, and the server with its last task.
    fn detach(&mut self, now: u64, task: TaskId) {
        let Some(s) = self.server(task) else { return };
        if self.members[task.index()].runnable {
            self.unlink(task.0);
        }
        self.members[task.index()] = Member::ABSENT;
        let server = &mut self.servers[s as usize];
        server.members -= 1;
        let empty = server.head == NO_TASK;
        let last = server.members == 0;
        if empty && server.state != State::Blocked {
            self.deactivate(now, s);
        }
        if last {
            let group = self.servers[s as usize].group;
            self.groups.retain(|(g, _)| Some(*g) != group);
            let server = &mut self.servers[s as usize];
            server.state = State::Leaving;
            self.leaving += u32::from(server.kind == Kind::Shared);
            self.deactivate_weight(now, now, s);
        }
    }

    fn renice(&mut self, now: u64, s: u32, weight: u32) {
        let server = &mut self.servers[s as usize];
        let old = core::mem::replace(&mut server.weight, weight);
        if server.active_weight == 0 || weight == old {
            return;
        }
        if weight > old {
            server.last_rise = now;
        }
        // A blocked server does not gain active weight before it wakes.
        let asleep = server.state == State::Blocked && self.rules.load == Load::Unblocked;
        if weight > server.active_weight {
            if asleep {
                return;
            }
            self.reclaim_queue.remove(s);
            self.activate_weight(now, s);
            return;
        }
        let period = self.bandwidth.period(server.budget, weight);
        if server.period > 0
            && period > server.period
            && self.rules.transition != Transition::Neither
        {
            let from = match self.rules.transition {
                Transition::ZeroLag => server.zero_lag(now),
                _ => now,
            };
            if from > now {
                // It keeps its old share until then, which its new period no longer shows.
                self.all_free_at = self.all_free_at.max(from);
            }
            stretch_from(server, now, from, period);
            let deadline = server.deadline;
            if server.state == State::Expired {
                let release = self.servers[s as usize].period_end;
                self.expired.rekey(s, release.saturating_add(self.slack_advance));
            }
            self.ready.rekey(s, deadline);
        }
        if !asleep {
            self.deactivate_weight(now, now, s);
        }
    }

    /// Changes budget or period, for deadlines equal to periods. A larger share is in force from
    /// the first release after other servers have shrunk; a smaller one from the next release, and
    /// the freed bandwidth is free when the current period ends.
    ///
    /// A change may follow before the previous one has completed. So `asked` is compared with the
    /// row of the ledger, to decide whether others must shrink, and with the reservation of the next
    /// release, to decide whether it applies at once. It is never compared with the last request,
    /// which may not be in force yet, or may no longer be all that is promised.
    fn change_reservation(&mut self, now: u64, s: u32, asked: Reservation) -> Result<u64, Refusal> {
        // Due releases come first, or a period that has just begun would not count as current.
        self.release_due(now);
        let server = &self.servers[s as usize];
        let (kind, next, row) = (server.kind, server.in_force(now), server.ledger_row);
        let (end, ledger_row_from) = (server.period_end.max(now), server.ledger_row_from);
        self.admit(Some(s), kind, asked)?;
        let share = |r: Reservation| Share::up(r.budget, r.period);
        let (from, limited_until) = if share(asked) >= share(row) {
            // Other servers must shrink. A scheduled reclaim is cancelled.
            self.reclaim_queue.remove(s);
            self.ledger.set(s, Some(asked));
            let from = self.take_from_best_effort(now).max(end);
            let server = &mut self.servers[s as usize];
            (server.ledger_row, server.ledger_row_from) = (asked, from);
            (from, from)
        } else if share(asked) > share(next) {
            // Within the row, which the other servers leave free from `ledger_row_from` on.
            let from = end.max(ledger_row_from);
            self.reclaim_queue.set(s, from, 0);
            (from, from)
        } else {
            // In force from the next release, including a backdated one.
            self.reclaim_queue.set(s, end, 0);
            (end, 0)
        };
        let server = &mut self.servers[s as usize];
        (server.previous, server.declared, server.limited_until) = (next, asked, limited_until);
        Ok(from)
    }
}

impl Servers {
    fn handle_join(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal> {
        if self.server(task).is_some() {
            return Err(Refusal::Known(task));
        }
        self.reclaim_due(now.0);
        let (kind, declared) = self.kind(attributes.service);
        if let Some(s) = self.group(attributes.group) {
            let server = &self.servers[s as usize];
            if server.kind != kind || server.declared != declared {
                return Err(Refusal::GroupDiffers);
            }
            self.reserve_capacity(task);
            self.members[task.index()] = Member::of(s);
            self.servers[s as usize].members += 1;
            return Ok(Admitted { from: now });
        }
        self.admit(None, kind, declared)?;
        self.reserve_capacity(task);
        let mut server = Server::new(kind, attributes.nice.scale(), declared);
        server.members = 1;
        server.group = attributes.group;
        if let Sizing::Adaptive(how) = &self.rules.sizing {
            server.average = how.initial_average.0;
        }
        let (s, from) = self.create_server(now.0, server);
        if let Some(group) = attributes.group {
            let at = self.groups.partition_point(|(g, _)| *g < group);
            self.groups.insert(at, (group, s));
        }
        self.members[task.index()] = Member::of(s);
        Ok(Admitted { from: Time(from) })
    }

    fn handle_leave(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        self.reclaim_due(now.0);
        self.charge(s, ran.0);
        self.detach(now.0, task);
        let server = &self.servers[s as usize];
        if server.state == State::Ready && server.remaining_budget == 0 {
            self.on_budget_exhausted(now.0, s);
        }
    }

    fn handle_change(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal> {
        let s = self.server(task).ok_or(Refusal::Unknown(task))?;
        self.reclaim_due(now.0);
        let (kind, asked) = self.kind(attributes.service);
        let server = &self.servers[s as usize];
        let constrained = asked.is_constrained() || server.declared.is_constrained();
        if server.kind == kind && server.group == attributes.group {
            if kind == Kind::Shared {
                self.renice(now.0, s, attributes.nice.scale());
                return Ok(Admitted { from: now });
            }
            if !constrained {
                return Ok(Admitted { from: Time(self.change_reservation(now.0, s, asked)?) });
            }
        }
        // Another kind of server needs a new one, and the old one must fit beside it until it is
        // reclaimed.
        match self.group(attributes.group) {
            Some(other) => {
                let other = &self.servers[other as usize];
                if other.kind != kind || other.declared != asked {
                    return Err(Refusal::GroupDiffers);
                }
            }
            None => self.admit(None, kind, asked)?,
        }
        let runnable = self.members[task.index()].runnable;
        self.detach(now.0, task);
        let admitted = self.handle_join(now, task, attributes)?;
        self.check_promises(now.0);
        if runnable {
            self.handle_wake(now, task, false);
        }
        Ok(admitted)
    }

    fn handle_wake(&mut self, now: Time, task: TaskId, by_running: bool) {
        let Some(s) = self.server(task) else { return };
        if self.members[task.index()].runnable {
            return;
        }
        self.reclaim_due(now.0);
        self.append(task.0);
        if self.servers[s as usize].state == State::Blocked {
            self.limit_ahead(now.0);
            self.activate(now.0, s);
            self.servers[s as usize].defers = by_running;
        }
    }

    fn handle_block(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        self.charge(s, ran.0);
        if !self.members[task.index()].runnable {
            return;
        }
        self.reclaim_due(now.0);
        self.unlink(task.0);
        let server = &self.servers[s as usize];
        if server.head == NO_TASK {
            self.deactivate(now.0, s);
        } else if server.state == State::Ready && server.remaining_budget == 0 {
            self.on_budget_exhausted(now.0, s);
        }
    }

    fn handle_ran(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        self.charge(s, ran.0);
        let server = &self.servers[s as usize];
        if server.state == State::Ready && server.remaining_budget == 0 {
            self.reclaim_due(now.0);
            self.on_budget_exhausted(now.0, s);
        }
    }

    /// Its turn begins as if it had been picked.
    fn handle_resume(&mut self, now: Time, task: TaskId) {
        let Some(s) = self.server(task) else { return };
        let server = &mut self.servers[s as usize];
        let best_effort = server.kind == Kind::Shared && server.state == State::Ready;
        if best_effort && self.ready.running() != Some(s) {
            server.defers = false;
            self.ready.resume(s);
            self.turn_began_at = now.0;
        }
    }

    fn handle_timer(&mut self, now: Time) {
        self.reclaim_due(now.0);
        self.release_due(now.0);
    }

    fn handle_pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if self.cpus == 1 && self.ready.is_empty() {
            self.reclaim_due(now.0);
            self.reset_lag_on_idle(now.0);
            self.use_slack(now.0);
        }
        if self.passed_over {
            if let Some(pick) = self.pick_reserved(now) {
                return Some(pick);
            }
        }
        let protected = self.protected_until(now.0);
        let (before, s) = match protected {
            Some((running, _)) => (Some(running), running),
            None => {
                let (before, first) = self.ready.pick(cpu);
                (before, first?)
            }
        };
        Some(self.begin_turn(now, before, s, protected.map(|(_, end)| end)))
    }

    /// Server `s` runs from now on, and `before` did; it goes on to `protected` at most.
    pub(super) fn begin_turn(
        &mut self,
        now: Time,
        before: Option<u32>,
        s: u32,
        protected: Option<u64>,
    ) -> Pick {
        if before != Some(s) {
            self.turn_began_at = now.0;
            self.servers[s as usize].defers = false;
        }
        if self.sampling() == Some(Sample::Switch) {
            if let Some(server) = before.filter(|b| *b != s).map(|b| &mut self.servers[b as usize])
            {
                if server.execution > 0 {
                    server.record_sample();
                }
            }
        }
        let server = &self.servers[s as usize];
        let until = now + Span(server.remaining_budget);
        let until = protected.map_or(until, |end| until.min(Time(end)));
        Pick { task: TaskId(server.head), until }
    }
}

impl Servers {
    #[inline]
    fn event<T>(&mut self, now: Time, handle: impl FnOnce(&mut Servers) -> T) -> T {
        self.check_driver(now.0);
        let answer = handle(self);
        self.check_promises(now.0);
        answer
    }
}

/// Handles events, each between the assertions of `promises`.
impl Policy for Servers {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.event(now, |this| this.handle_join(now, task, a))
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.event(now, |this| this.handle_leave(now, task, ran));
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.event(now, |this| this.handle_change(now, task, a))
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        self.event(now, |this| this.handle_wake(now, task, false));
    }

    fn wake_by_running(&mut self, now: Time, task: TaskId) {
        self.event(now, |this| this.handle_wake(now, task, true));
    }

    fn resume(&mut self, now: Time, task: TaskId) {
        self.event(now, |this| this.handle_resume(now, task));
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.event(now, |this| this.handle_block(now, task, ran));
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.event(now, |this| this.handle_ran(now, task, ran));
    }

    fn timer(&mut self, now: Time) {
        self.event(now, |this| this.handle_timer(now));
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        self.event(now, |this| this.handle_pick(now, cpu))
    }

    fn pick_reserved_first(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        self.event(now, |this| match this.pick_reserved(now) {
            None => this.handle_pick(now, cpu),
            pick => pick,
        })
    }

    fn next_event(&self) -> Option<Time> {
        let suspended = self.suspended.first().map(|(at, _)| at);
        let expired = self.expired.first().map(|(at, _)| at - self.slack_advance);
        match (suspended, expired) {
            (Some(a), Some(b)) => Some(Time(a.min(b))),
            (a, b) => a.or(b).map(Time),
        }
    }

    fn ran_in_background(&mut self, _: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        // A sample from wake-up to sleep includes background execution.
        if self.sampling() == Some(Sample::Job) {
            self.sample_execution(s, ran.0);
        }
    }

    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        let average = self.servers[self.server(task)? as usize].average;
        (average > 0).then_some(Span(average))
    }

    fn set_execution_estimate(&mut self, task: TaskId, execution_estimate: Span) {
        if let Some(s) = self.server(task) {
            self.servers[s as usize].average = execution_estimate.0;
        }
    }

    fn servers(&self, now: Time, each: &mut dyn FnMut(&ServerView)) {
        (0..self.servers.len() as u32).for_each(|s| each(&self.view(now.0, s)));
    }

    fn resets(&self, _: u32) -> u64 {
        self.resets.0
    }

    fn charged_to(&self, _: CpuId, task: TaskId) -> Charge {
        let id = |slot| ServerId { cluster: 0, slot };
        self.server(task).map_or(Charge::Unserved, |s| Charge::Server(id(s)))
    }
}
