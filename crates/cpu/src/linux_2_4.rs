//! The scheduler of Linux 2.4: quanta in ticks, epochs, goodness.

use alloc::vec::Vec;

use laxity_core::{Choice as _, OptionInfo, OptionKind, PolicyInfo, Span, Time};

use crate::options::Field;
use crate::quantum::{CLOCK, Clock};
use crate::table::Table;
use crate::ticks::Ticks;
use crate::{Admitted, Attributes, CpuId, Nice, Pick, Policy, Refusal, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "linux-2.4",
    summary: "A quantum each in every epoch, charged at clock ticks; a task that slept keeps \
              half of its remaining quantum, and goes first.",
    source: "Linux 2.4; BeRate, section 4.1",
    keeps_deadlines: false,
    live: &[],
    options: &[
        OptionInfo { example: "\"100-hz\"", ..CLOCK },
        OptionInfo {
            name: "goodness",
            kind: OptionKind::Choice(Goodness::NAMES),
            required: false,
            default: "kernel",
            example: "\"kernel\"",
            summary: "Order of tasks: ticks left plus 20 - nice, ticks left alone, or the first and \
                      one more for a task that shares the memory of the running one.",
            reference: None,
        },
    ],
    table: options_table!("linux-2.4", "{ goodness = \"counter\" }"),
};

/// How goodness is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Goodness {
    /// Remaining ticks plus `20 - nice`, as in the kernel.
    #[default]
    Kernel,
    /// Remaining ticks, as the BeRate paper describes it.
    Counter,
    /// As in the kernel, which adds one for a task in the loaded address space. Tasks here share no
    /// address space, so only the running task has it, and others must be better by two.
    SameMemory,
}

/// Options of [`Linux24`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// Ticks and quanta.
    pub clock: Clock,
    /// How goodness is computed.
    pub goodness: Goodness,
}

impl Options {
    /// Where an option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        Some(match option {
            "clock" => Field::Choice(&mut self.clock),
            "goodness" => Field::Choice(&mut self.goodness),
            _ => return None,
        })
    }
}

/// Linux 2.4 on one CPU. As in the original, a decision scans all runnable tasks, and a new epoch
/// all tasks.
#[derive(Clone, Debug)]
pub struct Linux24 {
    options: Options,
    tasks: Table<Counter>,
    /// The run queue; its head is the last element.
    runnable: Vec<TaskId>,
    running: Option<TaskId>,
    reschedule: bool,
    ticks: Ticks,
}

#[derive(Clone, Debug)]
struct Counter {
    nice: Nice,
    remaining_ticks: u32,
    runnable: bool,
}

impl Linux24 {
    /// No tasks yet.
    pub fn new(options: &Options) -> Linux24 {
        Linux24 {
            options: *options,
            tasks: Table::new(),
            runnable: Vec::new(),
            running: None,
            reschedule: false,
            ticks: Ticks::new(options.clock.tick()),
        }
    }

    fn goodness(&self, task: TaskId) -> u32 {
        let Some(Counter { nice, remaining_ticks: left, .. }) = self.tasks.get(task) else {
            return 0;
        };
        match (left, self.options.goodness) {
            (0, _) => 0,
            (left, Goodness::Kernel) => left + nice.scale(),
            (left, Goodness::Counter) => *left,
            (left, Goodness::SameMemory) => {
                left + nice.scale() + u32::from(self.running == Some(task))
            }
        }
    }

    fn stop(&mut self, task: TaskId) {
        let Some(counter) = self.tasks.get_mut(task) else { return };
        if core::mem::take(&mut counter.runnable) {
            self.runnable.retain(|t| *t != task);
        }
        self.running = self.running.filter(|r| *r != task);
    }

    /// The greatest goodness; on ties the running task, then the one closest to the head.
    fn schedule(&self) -> Option<(u32, TaskId)> {
        let first = self.running.map(|r| (self.goodness(r), r));
        let others = self.runnable.iter().rev().map(|t| (self.goodness(*t), *t));
        first.into_iter().chain(others).reduce(|a, b| if b.0 > a.0 { b } else { a })
    }

    fn new_epoch(&mut self) {
        let clock = self.options.clock;
        for counter in self.tasks.iter_mut() {
            counter.remaining_ticks = counter.remaining_ticks / 2 + clock.ticks(counter.nice);
        }
    }
}

impl Policy for Linux24 {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let left = self.options.clock.ticks(a.nice);
        let reach = self
            .tasks
            .join(task, Counter { nice: a.nice, remaining_ticks: left, runnable: false })?;
        self.runnable.reserve(reach - self.runnable.len().min(reach));
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        self.tasks.known(task)?.nice = a.nice;
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, _: Time, task: TaskId) {
        let Some(counter) = self.tasks.get_mut(task).filter(|c| !c.runnable) else { return };
        counter.runnable = true;
        self.runnable.push(task);
        let better = self.running.is_none_or(|r| self.goodness(task) > self.goodness(r));
        self.reschedule |= better;
    }

    fn block(&mut self, _: Time, task: TaskId, _: Span) {
        self.stop(task);
    }

    fn ran(&mut self, _: Time, _: TaskId, _: Span) {}

    fn timer(&mut self, now: Time) {
        if self.ticks.due(now).is_none() {
            return;
        }
        let Some(counter) = self.running.and_then(|r| self.tasks.get_mut(r)) else { return };
        counter.remaining_ticks = counter.remaining_ticks.saturating_sub(1);
        self.reschedule |= counter.remaining_ticks == 0;
    }

    fn next_event(&self) -> Option<Time> {
        self.ticks.next()
    }

    fn pick(&mut self, now: Time, _: CpuId) -> Option<Pick> {
        if self.reschedule || self.running.is_none() {
            self.reschedule = false;
            let mut best = self.schedule();
            if best.is_some_and(|(goodness, _)| goodness == 0) {
                self.new_epoch();
                best = self.schedule();
            }
            self.running = best.map(|(_, task)| task);
        }
        self.ticks.run(now, self.running.is_some());
        self.running.map(|task| Pick { task, until: Time::MAX })
    }

    fn displace(&mut self, now: Time, _: CpuId) {
        self.running = None;
        self.ticks.run(now, false);
    }
}
