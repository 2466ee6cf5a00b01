//! The record of a run on one live CPU, for `laxity validate`: the same rows as of a simulated one.
//!
//! A live CPU also does what its scheduler does not decide: it switches, serves interrupts and goes on for a moment
//! with the task before. So slices are the execution that the scheduler was told of, not the time between picks.

use std::collections::HashMap;

use laxity_core::{Span, Time};
use laxity_cpu::{
    Admitted, Attributes, Charge, CpuId, GroupId, Pick, Policy, Refusal, ServerView, Service,
    TaskId,
};
use laxity_results::csv::cpu_run::{HigherClass, RunEvent, RunJob, RunRow, RunSlice};

use super::run_record::{Log, RowSink, charge};

/// A member of a reservation.
#[derive(Clone, Copy, Debug)]
struct Member {
    group: Option<GroupId>,
    deadline: Span,
    awake: bool,
    /// The release of its job, while it has the reservation alone.
    job: Option<Time>,
}

/// A policy of one CPU whose calls are recorded. A job is the time from a wake-up to the next block of a task that
/// has its hard reservation alone.
pub struct ChargedRun<'s, P> {
    policy: P,
    log: Log<'s>,
    /// The first call.
    began: Option<Time>,
    /// The names of the policy's tasks in the record.
    numbers: HashMap<TaskId, u32>,
    members: HashMap<TaskId, Member>,
    /// When a task last executed, or the CPU was left idle.
    free_since: Time,
    /// Since when a higher class has been waiting.
    higher_since: Option<Time>,
}

impl<'s, P: Policy> ChargedRun<'s, P> {
    /// Records the calls of a policy.
    pub fn new(policy: P, sink: RowSink<'s>) -> ChargedRun<'s, P> {
        let (numbers, members) = (HashMap::new(), HashMap::new());
        ChargedRun {
            policy,
            log: Log::new(1, sink),
            began: None,
            numbers,
            members,
            free_since: Time::ZERO,
            higher_since: None,
        }
    }

    /// From now on the task of the policy has this number in the record.
    pub fn name(&mut self, task: TaskId, number: u32) {
        self.numbers.insert(task, number);
    }

    /// Ends the record; jobs go on.
    pub fn finish(mut self, end: Time) {
        self.end_higher_class(end);
        let mut tasks: Vec<TaskId> = self.members.keys().copied().collect();
        tasks.sort_unstable();
        for task in tasks {
            self.end_job(end, task, false);
        }
    }

    fn number(&self, task: TaskId) -> u32 {
        self.numbers.get(&task).copied().unwrap_or_default()
    }

    fn call<T>(&mut self, now: Time, event: RunEvent, call: impl FnOnce(&mut P) -> T) -> T {
        self.began.get_or_insert(now);
        self.log.call(&mut self.policy, now, event, call)
    }

    /// Records execution that ends now, before it is charged.
    fn charged(&mut self, now: Time, task: TaskId, ran: Span) {
        // The task that starts the scheduler is charged for time before that.
        let began = *self.began.get_or_insert(now);
        let from = Time(now.0.saturating_sub(ran.0)).max(began);
        if from >= now {
            return;
        }
        self.free_since = self.free_since.max(now);
        let charge = charge(self.policy.charged_to(CpuId::FIRST, task));
        let slice = RunSlice { from, to: now, cpu: 0, task: self.number(task), charge };
        self.log.write(&RunRow::Slice(slice));
    }

    fn requested(
        &mut self,
        now: Time,
        task: TaskId,
        attributes: &Attributes,
        answer: &Result<Admitted, Refusal>,
    ) {
        self.log.requested(now, self.number(task), attributes, answer);
        let awake = self.members.get(&task).is_some_and(|member| member.awake);
        match attributes.service {
            Service::Hard(reservation) if answer.is_ok() => {
                let (group, deadline) = (attributes.group, reservation.deadline);
                let member = Member { group, deadline, awake, job: None };
                self.members.insert(task, member);
                // Which of two tasks a budget is for is not known.
                let of_group = |member: &&mut Member| group.is_some() && member.group == group;
                let mut all: Vec<_> = self.members.values_mut().filter(of_group).collect();
                if all.len() > 1 {
                    all.iter_mut().for_each(|member| member.job = None);
                }
            }
            _ if answer.is_ok() => {
                self.members.remove(&task);
            }
            _ => {}
        }
    }

    fn end_higher_class(&mut self, until: Time) {
        if let Some(from) = self.higher_since.take() {
            self.log.write(&RunRow::HigherClass(HigherClass { from, until }));
        }
    }

    fn picked(&mut self, now: Time, pick: Option<Pick>) -> Option<Pick> {
        if pick.is_none() {
            self.free_since = self.free_since.max(now);
        }
        pick
    }

    fn is_alone(&self, group: Option<GroupId>) -> bool {
        let same = |member: &&Member| member.group == group;
        group.is_none() || self.members.values().filter(same).count() == 1
    }

    fn begin_job(&mut self, now: Time, task: TaskId) {
        let Some(Member { group, awake: false, .. }) = self.members.get(&task).copied() else {
            return;
        };
        let job = self.is_alone(group).then_some(now);
        if let Some(member) = self.members.get_mut(&task) {
            (member.awake, member.job) = (true, job);
        }
    }

    /// Records a job, while its server is as the job has used it.
    fn end_job(&mut self, now: Time, task: TaskId, ended: bool) {
        let number = self.number(task);
        let Some(member) = self.members.get_mut(&task) else { return };
        member.awake = false;
        let Some(release) = member.job.take() else { return };
        let deadline = Some(release + member.deadline);
        let job = RunJob { task: number, release, deadline, end: now, ended };
        self.log.write(&RunRow::Job(job));
    }
}

impl<P: Policy> Policy for ChargedRun<'_, P> {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let answer = self.call(now, RunEvent::Join, |p| p.join(now, task, a));
        self.requested(now, task, a, &answer);
        answer
    }

    fn leave(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charged(now, task, ran);
        self.end_job(now, task, false);
        self.members.remove(&task);
        self.call(now, RunEvent::Leave, |p| p.leave(now, task, ran));
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let answer = self.call(now, RunEvent::Change, |p| p.change(now, task, a));
        self.requested(now, task, a, &answer);
        answer
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        self.call(now, RunEvent::Wake, |p| p.wake(now, task));
        self.begin_job(now, task);
    }

    fn wake_by_running(&mut self, now: Time, task: TaskId) {
        self.call(now, RunEvent::Wake, |p| p.wake_by_running(now, task));
        self.begin_job(now, task);
    }

    fn resume(&mut self, now: Time, task: TaskId) {
        self.policy.resume(now, task);
    }

    fn block(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charged(now, task, ran);
        self.end_job(now, task, true);
        self.call(now, RunEvent::Block, |p| p.block(now, task, ran));
    }

    fn ran(&mut self, now: Time, task: TaskId, ran: Span) {
        self.charged(now, task, ran);
        self.call(now, RunEvent::Ran, |p| p.ran(now, task, ran));
    }

    fn timer(&mut self, now: Time) {
        self.call(now, RunEvent::Timer, |p| p.timer(now));
    }

    fn next_event(&self) -> Option<Time> {
        self.policy.next_event()
    }

    fn pick(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        self.end_higher_class(now);
        let pick = self.call(now, RunEvent::Pick, |p| p.pick(now, cpu));
        self.picked(now, pick)
    }

    fn pick_reserved_first(&mut self, now: Time, cpu: CpuId) -> Option<Pick> {
        // It had the CPU before the first decision beside it.
        self.higher_since.get_or_insert(self.free_since.min(now));
        let pick = self.call(now, RunEvent::Pick, |p| p.pick_reserved_first(now, cpu));
        self.picked(now, pick)
    }

    fn execution_estimate(&self, task: TaskId) -> Option<Span> {
        self.policy.execution_estimate(task)
    }

    fn set_execution_estimate(&mut self, task: TaskId, execution_estimate: Span) {
        self.policy.set_execution_estimate(task, execution_estimate);
    }

    fn servers(&self, now: Time, each: &mut dyn FnMut(&ServerView)) {
        self.policy.servers(now, each);
    }

    fn resets(&self, cluster: u32) -> u64 {
        self.policy.resets(cluster)
    }

    fn charged_to(&self, cpu: CpuId, task: TaskId) -> Charge {
        self.policy.charged_to(cpu, task)
    }
}
