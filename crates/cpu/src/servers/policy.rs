//! What is reported to servers, and what they answer.

use laxity_core::{Span, Time};

use super::members::Member;
use super::server::{Kind, NOBODY, Server, State};
use super::transition::stretch_from;
use super::{Load, Servers, Sizing, Transition};
use crate::{
    Admitted, Attributes, CpuId, Pick, Policy, Refusal, Reservation, Sample, Service, Share, TaskId,
};

impl Servers {
    /// How a service is given here.
    fn kind(&self, service: Service) -> (Kind, Reservation) {
        match service {
            Service::Hard(r) => (Kind::Hard, r),
            Service::Soft(r) if self.rules.declared => {
                (Kind::Soft, Reservation { deadline: r.period, ..r })
            }
            _ => (Kind::Shared, Reservation::new(Span(1), Span(1))),
        }
    }

    /// What best effort keeps when a reservation of this kind is added: soft ones are best effort
    /// themselves, and must leave something only to those that would have nothing else.
    fn kept(&self, kind: Kind) -> Share {
        if kind == Kind::Hard || self.bandwidth.load() > 0 {
            self.rules.least_best_effort
        } else {
            Share::ZERO
        }
    }

    fn admit(&self, holder: Option<u32>, kind: Kind, asked: Reservation) -> Result<(), Refusal> {
        match kind {
            Kind::Shared if !self.bandwidth.is_any() => Err(Refusal::NothingLeft),
            Kind::Shared => Ok(()),
            _ => self.ledger.admit(holder, asked, self.kept(kind)),
        }
    }

    fn server(&self, task: TaskId) -> Option<u32> {
        self.members.get(task.index()).filter(|m| m.is_here()).map(|m| m.server)
    }

    fn group(&self, group: Option<crate::GroupId>) -> Option<u32> {
        let at = self.groups.binary_search_by_key(&group?, |(g, _)| *g).ok()?;
        Some(self.groups[at].1)
    }

    /// Room for one more task, so that nothing else allocates.
    fn make_room(&mut self, task: TaskId) {
        if self.members.len() <= task.index() {
            self.members.resize(task.index() + 1, Member::ABSENT);
        }
        let servers = self.servers.len() + 1;
        self.ready.reserve(servers);
        for queue in [&mut self.expired, &mut self.suspended, &mut self.returns] {
            queue.reserve(servers);
        }
        self.vacant.reserve(servers - self.vacant.len());
    }

    fn found(&mut self, now: u64, server: Server) -> (u32, u64) {
        let kind = server.kind;
        let declared = server.declared;
        let s = match self.vacant.pop() {
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
                self.count(now, s);
            }
            return (s, now);
        }
        self.ledger.set(s, Some(declared));
        let from = self.take(now).saturating_add(self.ledger.settling(s).0);
        // Its first release: what takes part before others have shrunk would come on top of them.
        self.servers[s as usize].end = if from > now { from } else { 0 };
        (s, from)
    }

    /// Takes a task out of its server, and the server away with the last one.
    fn detach(&mut self, now: u64, task: TaskId) {
        let Some(s) = self.server(task) else { return };
        if self.members[task.index()].runnable {
            self.unlink(task.0);
        }
        self.members[task.index()] = Member::ABSENT;
        let server = &mut self.servers[s as usize];
        server.members -= 1;
        let empty = server.head == NOBODY;
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
            self.uncount(now, now, s);
        }
    }

    fn renice(&mut self, now: u64, s: u32, weight: u32) {
        let server = &mut self.servers[s as usize];
        let old = core::mem::replace(&mut server.weight, weight);
        if server.counted == 0 || weight == old {
            return;
        }
        if weight > old {
            server.risen = now;
        }
        // Asleep it does not take more: it counts with what it has when it wakes.
        let asleep = server.state == State::Blocked && self.rules.load == Load::Unblocked;
        if weight > server.counted {
            if asleep {
                return;
            }
            self.returns.remove(s);
            self.count(now, s);
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
                // Until then it has its old share, though its period no longer shows it.
                self.settled = self.settled.max(from);
            }
            stretch_from(server, now, from, period);
            let deadline = server.deadline;
            if server.state == State::Expired {
                let release = self.servers[s as usize].end;
                self.expired.rekey(s, release.saturating_add(self.advanced));
            }
            self.ready.rekey(s, deadline);
        }
        if !asleep {
            self.uncount(now, now, s);
        }
    }

    /// Another budget or period, for deadlines equal to periods. A larger share is in force from
    /// the next release after others have shrunk; a smaller one from the next release, and what it
    /// frees is free when the current period ends.
    ///
    /// Changes may follow one another while the first is still in flight, so `asked` is compared with
    /// the row of the ledger (must others shrink?) and with what a release gets now (may it be used at
    /// once?), never with what was asked for last: that may not be in force yet, or no longer be all
    /// that is promised.
    fn reserve_anew(&mut self, now: u64, s: u32, asked: Reservation) -> Result<u64, Refusal> {
        // What is due comes first, or the period that has just begun would not count as running.
        self.release_due(now);
        let server = &self.servers[s as usize];
        let (kind, next, row) = (server.kind, server.in_force(now), server.row);
        let (end, row_from) = (server.end.max(now), server.row_from);
        self.admit(Some(s), kind, asked)?;
        let share = |r: Reservation| Share::up(r.budget, r.period);
        let (from, limited_until) = if share(asked) >= share(row) {
            // Others must shrink. What was to come back does not.
            self.returns.remove(s);
            self.ledger.set(s, Some(asked));
            let from = self.take(now).max(end);
            let server = &mut self.servers[s as usize];
            (server.row, server.row_from) = (asked, from);
            (from, from)
        } else if share(asked) > share(next) {
            // Within the row, which others have left or will have left from `row_from` on.
            let from = end.max(row_from);
            self.returns.set(s, from, 0);
            (from, from)
        } else {
            // In force from the next release, also from one that is dated back.
            self.returns.set(s, end, 0);
            (end, 0)
        };
        let server = &mut self.servers[s as usize];
        (server.held, server.declared, server.limited_until) = (next, asked, limited_until);
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
        self.catch_up(now.0);
        let (kind, declared) = self.kind(attributes.service);
        if let Some(s) = self.group(attributes.group) {
            let server = &self.servers[s as usize];
            if server.kind != kind || server.declared != declared {
                return Err(Refusal::GroupDiffers);
            }
            self.make_room(task);
            self.members[task.index()] = Member::of(s);
            self.servers[s as usize].members += 1;
            return Ok(Admitted { from: now });
        }
        self.admit(None, kind, declared)?;
        self.make_room(task);
        let mut server = Server::new(kind, attributes.nice.scale(), declared);
        server.members = 1;
        server.group = attributes.group;
        if let Sizing::Adaptive(how) = &self.rules.sizing {
            server.average = how.first.0;
        }
        let (s, from) = self.found(now.0, server);
        if let Some(group) = attributes.group {
            let at = self.groups.partition_point(|(g, _)| *g < group);
            self.groups.insert(at, (group, s));
        }
        self.members[task.index()] = Member::of(s);
        Ok(Admitted { from: Time(from) })
    }

    fn handle_leave(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        self.catch_up(now.0);
        self.account(s, ran.0);
        self.detach(now.0, task);
        let server = &self.servers[s as usize];
        if server.state == State::Ready && server.left == 0 {
            self.exhaust(now.0, s);
        }
    }

    fn handle_change(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
    ) -> Result<Admitted, Refusal> {
        let s = self.server(task).ok_or(Refusal::Unknown(task))?;
        self.catch_up(now.0);
        let (kind, asked) = self.kind(attributes.service);
        let server = &self.servers[s as usize];
        let constrained = asked.is_constrained() || server.declared.is_constrained();
        if server.kind == kind && server.group == attributes.group {
            if kind == Kind::Shared {
                self.renice(now.0, s, attributes.nice.scale());
                return Ok(Admitted { from: now });
            }
            if !constrained {
                return Ok(Admitted { from: Time(self.reserve_anew(now.0, s, asked)?) });
            }
        }
        // Another kind of server: a new one, beside which the old must fit until it is gone.
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
        self.keep_promises(now.0);
        if runnable {
            self.handle_wake(now, task);
        }
        Ok(admitted)
    }

    fn handle_wake(&mut self, now: Time, task: TaskId) {
        let Some(s) = self.server(task) else { return };
        if self.members[task.index()].runnable {
            return;
        }
        self.catch_up(now.0);
        self.append(task.0);
        if self.servers[s as usize].state == State::Blocked {
            self.limit_ahead(now.0);
            self.activate(now.0, s);
        }
    }

    fn handle_block(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        self.account(s, ran.0);
        if !self.members[task.index()].runnable {
            return;
        }
        self.catch_up(now.0);
        self.unlink(task.0);
        let server = &self.servers[s as usize];
        if server.head == NOBODY {
            self.deactivate(now.0, s);
        } else if server.state == State::Ready && server.left == 0 {
            self.exhaust(now.0, s);
        }
    }

    fn handle_ran(&mut self, now: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        self.account(s, ran.0);
        let server = &self.servers[s as usize];
        if server.state == State::Ready && server.left == 0 {
            self.catch_up(now.0);
            self.exhaust(now.0, s);
        }
    }

    fn handle_timer(&mut self, now: Time) {
        self.catch_up(now.0);
        self.release_due(now.0);
    }

    fn handle_pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        if self.cpus == 1 && self.ready.is_empty() {
            self.catch_up(now.0);
            self.forget(now.0);
            self.use_slack(now.0);
        }
        let (before, first) = self.ready.pick(cpu);
        let s = first?;
        if self.sample() == Some(Sample::Switch) {
            if let Some(server) = before.filter(|b| *b != s).map(|b| &mut self.servers[b as usize])
            {
                if server.execution > 0 {
                    server.sample();
                }
            }
        }
        let server = &self.servers[s as usize];
        Some(Pick { task: TaskId(server.head), until: now + Span(server.left) })
    }
}

impl Servers {
    #[inline]
    fn event<T>(&mut self, now: Time, handle: impl FnOnce(&mut Servers) -> T) -> T {
        self.expect_driver(now.0);
        let answer = handle(self);
        self.keep_promises(now.0);
        answer
    }
}

/// Events, and around each of them the assertions of `promises`.
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
        self.event(now, |this| this.handle_wake(now, task));
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

    fn next_event(&self) -> Option<Time> {
        let suspended = self.suspended.first().map(|(at, _)| at);
        let expired = self.expired.first().map(|(at, _)| at - self.advanced);
        match (suspended, expired) {
            (Some(a), Some(b)) => Some(Time(a.min(b))),
            (a, b) => a.or(b).map(Time),
        }
    }

    fn lent(&mut self, _: Time, task: TaskId, ran: Span) {
        let Some(s) = self.server(task) else { return };
        // What counts as one execution from wake-up to sleep includes it.
        if self.sample() == Some(Sample::Job) {
            self.note_execution(s, ran.0);
        }
    }

    fn learnt(&self, task: TaskId) -> Option<Span> {
        let average = self.servers[self.server(task)? as usize].average;
        (average > 0).then_some(Span(average))
    }

    fn recall(&mut self, task: TaskId, learnt: Span) {
        if let Some(s) = self.server(task) {
            self.servers[s as usize].average = learnt.0;
        }
    }
}
