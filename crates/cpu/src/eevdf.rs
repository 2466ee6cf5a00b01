//! EEVDF as in Linux: earliest virtual deadline among eligible tasks, those with non-negative lag.

use alloc::vec::Vec;

use laxity_core::{OptionInfo, PolicyInfo, Span, Time};

use crate::options::Field;
use crate::servers::describe::TIME;
use crate::table::Table;
use crate::ticks::Ticks;
use crate::{Admitted, Attributes, CpuId, Nice, Pick, Policy, Refusal, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "eevdf",
    summary: "The earliest virtual deadline among tasks that have had no more than their share; \
              lag is kept over sleep.",
    source: "Stoica and Abdel-Wahab 1995; Linux 6.12",
    keeps_deadlines: false,
    live: &[],
    options: &[
        OptionInfo {
            name: "slice",
            kind: TIME,
            required: false,
            default: "2.8 ms",
            example: "\"2.8 ms\"",
            summary: "Slice of a task; Linux has 2.8 ms on 8 CPUs, 0.7 ms on one.",
            reference: None,
        },
        OptionInfo {
            name: "tick",
            kind: TIME,
            required: false,
            default: "1 ms",
            example: "\"1 ms\"",
            summary: "Tick at which used slices are detected.",
            reference: None,
        },
    ],
    table: options_table!("eevdf", "{ slice = \"2.8 ms\" }"),
};

/// The kernel's weights: 1024 at nice 0, with a factor of about 1.25 a step.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// Units of virtual time in a nanosecond at weight one.
const UNIT: i128 = 1 << 20;

/// Options of [`Eevdf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// The slice that a task requests.
    pub slice: Span,
    /// The time between clock ticks.
    pub tick: Span,
    /// Whether a task that is eligible keeps the CPU for its slice when others wake, as under Linux
    /// with `RUN_TO_PARITY`. No option of scenarios.
    pub protects_slices: bool,
}

impl Options {
    /// Where an option is kept.
    pub(crate) fn field(&mut self, option: &str) -> Option<Field<'_>> {
        Some(match option {
            "slice" => Field::Time(&mut self.slice),
            "tick" => Field::Time(&mut self.tick),
            _ => return None,
        })
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { slice: Span(2_800_000), tick: Span(1_000_000), protects_slices: false }
    }
}

/// EEVDF on one CPU, with delayed dequeue, inflated lag and run to parity. A decision scans all
/// runnable tasks; the kernel's tree makes that logarithmic.
#[derive(Clone, Debug)]
pub struct Eevdf {
    options: Options,
    tasks: Table<Entity>,
    /// Tasks that read their CPU time all the time once they have executed for so long, by id.
    reading_clock: Vec<(TaskId, Span)>,
    /// Runnable tasks, and sleeping ones with negative lag.
    queue: Vec<TaskId>,
    /// The sums of weights, and of weights times virtual runtimes, over the queue.
    weight: i128,
    moment: i128,
    running: Option<TaskId>,
    reschedule: bool,
    ticks: Ticks,
}

#[derive(Clone, Debug)]
struct Entity {
    weight: i128,
    state: State,
    executed: Span,
    /// Virtual runtime, and deadline.
    vruntime: i128,
    deadline: i128,
    /// Its lag when it left the queue.
    lag: i128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Asleep,
    Runnable,
    /// Asleep, but in the queue until its lag is not negative.
    Delayed,
}

fn weight(nice: Nice) -> i128 {
    i128::from(WEIGHTS[(i32::from(nice.get()) + 20) as usize])
}

impl Eevdf {
    /// No tasks yet.
    pub fn new(options: &Options) -> Eevdf {
        Eevdf {
            options: *options,
            tasks: Table::new(),
            reading_clock: Vec::new(),
            queue: Vec::new(),
            weight: 0,
            moment: 0,
            running: None,
            reschedule: false,
            ticks: Ticks::new(options.tick),
        }
    }

    /// A task that reads its CPU time all the time (`CLOCK_THREAD_CPUTIME_ID`) once it has executed for `after`: the
    /// kernel accounts it then, so its slices end when they are used, not at the next tick.
    pub fn reads_clock(&mut self, task: TaskId, after: Span) {
        let place = self.reading_clock.partition_point(|(other, _)| *other < task);
        self.reading_clock.insert(place, (task, after));
    }

    /// Whether a virtual runtime is not beyond the average: `vruntime <= V`.
    fn is_eligible(&self, vruntime: i128) -> bool {
        vruntime * self.weight <= self.moment
    }

    fn average(&self) -> i128 {
        if self.weight == 0 { 0 } else { self.moment.div_euclid(self.weight) }
    }

    fn slice(&self, weight: i128) -> i128 {
        i128::from(self.options.slice.0) * UNIT / weight
    }

    fn insert(&mut self, task: TaskId) {
        let average = self.average();
        let total = self.weight;
        let Some(weight) = self.tasks.get(task).map(|e| e.weight) else { return };
        let slice = self.slice(weight);
        let Some(e) = self.tasks.get_mut(task) else { return };
        // Its own weight moves the average towards it, so the lag is inflated to preserve it.
        let lag = if total > 0 { e.lag * (total + weight) / total } else { 0 };
        e.vruntime = average - lag;
        e.deadline = e.vruntime + slice;
        self.weight += e.weight;
        self.moment += e.weight * e.vruntime;
        self.queue.push(task);
    }

    fn remove(&mut self, task: TaskId) {
        let average = self.average();
        let limit = |e: &Entity| {
            let most = self.options.slice.0.saturating_mul(2).max(self.options.tick.0);
            i128::from(most) * UNIT / e.weight
        };
        let Some(limit) = self.tasks.get(task).map(limit) else { return };
        let Some(e) = self.tasks.get_mut(task) else { return };
        e.lag = (average - e.vruntime).clamp(-limit, limit);
        if e.state == State::Delayed {
            // Lag gained while asleep does not count.
            e.lag = e.lag.min(0);
        }
        self.weight -= e.weight;
        self.moment -= e.weight * e.vruntime;
        self.queue.retain(|t| *t != task);
        self.running = self.running.filter(|r| *r != task);
    }

    fn earliest_eligible(&self) -> Option<TaskId> {
        let entities = self.queue.iter().filter_map(|t| Some((*t, self.tasks.get(*t)?)));
        let eligible = entities.filter(|(_, e)| self.is_eligible(e.vruntime));
        eligible.min_by_key(|(_, e)| e.deadline).map(|(t, _)| t)
    }

    /// Gives the running task a new deadline if it has used its slice.
    fn renew_slice(&mut self) {
        let Some(running) = self.running else { return };
        let Some(e) = self.tasks.get(running).filter(|e| e.vruntime >= e.deadline) else { return };
        let deadline = e.vruntime + self.slice(e.weight);
        if let Some(e) = self.tasks.get_mut(running) {
            e.deadline = deadline;
        }
        self.reschedule |= self.queue.len() > 1;
    }

    /// Whether the running task goes on although another one wakes.
    fn protects_slice(&self) -> bool {
        let running = self.running.and_then(|task| self.tasks.get(task));
        self.options.protects_slices
            && running.is_some_and(|e| self.is_eligible(e.vruntime) && e.vruntime < e.deadline)
    }

    fn charge(&mut self, task: TaskId, ran: Span) {
        let Some(e) = self.tasks.get_mut(task) else { return };
        let more = i128::from(ran.0) * UNIT / e.weight;
        e.executed = e.executed + ran;
        e.vruntime += more;
        self.moment += e.weight * more;
    }

    fn schedule(&mut self) -> Option<TaskId> {
        loop {
            let earliest_eligible = self.earliest_eligible()?;
            if self.tasks.get(earliest_eligible).is_some_and(|e| e.state == State::Delayed) {
                self.remove(earliest_eligible);
                if let Some(e) = self.tasks.get_mut(earliest_eligible) {
                    e.state = State::Asleep;
                }
                continue;
            }
            return Some(earliest_eligible);
        }
    }
}

impl Policy for Eevdf {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let entity = Entity {
            weight: weight(a.nice),
            state: State::Asleep,
            executed: Span::ZERO,
            vruntime: 0,
            deadline: 0,
            lag: 0,
        };
        let reach = self.tasks.join(task, entity)?;
        self.queue.reserve(reach - self.queue.len().min(reach));
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, _: Time, task: TaskId, ran: Span) {
        self.charge_if_queued(task, ran);
        if self.queue.contains(&task) {
            self.remove(task);
        }
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let e = self.tasks.known(task)?;
        let new = weight(a.nice);
        if e.state == State::Asleep {
            e.lag = e.lag * e.weight / new;
            e.weight = new;
            return Ok(Admitted { from: now });
        }
        let (state, running) = (e.state, self.running);
        self.remove(task);
        let e = self.tasks.known(task)?;
        e.lag = e.lag * e.weight / new;
        e.weight = new;
        e.state = state;
        self.insert(task);
        self.running = running;
        self.reschedule = true;
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, _: Time, task: TaskId) {
        let Some(e) = self.tasks.get(task).filter(|e| e.state != State::Runnable) else { return };
        if e.state == State::Delayed && self.is_eligible(e.vruntime) {
            self.remove(task);
            self.insert(task);
        } else if e.state == State::Asleep {
            self.insert(task);
        }
        if let Some(e) = self.tasks.get_mut(task) {
            e.state = State::Runnable;
        }
        self.renew_slice();
        self.reschedule |= self.running.is_none()
            || !self.protects_slice() && self.earliest_eligible() == Some(task);
    }

    fn block(&mut self, _: Time, task: TaskId, ran: Span) {
        self.charge_if_queued(task, ran);
        let Some(e) = self.tasks.get(task).filter(|e| e.state == State::Runnable) else { return };
        if self.is_eligible(e.vruntime) {
            self.remove(task);
            if let Some(e) = self.tasks.get_mut(task) {
                e.state = State::Asleep;
            }
        } else if let Some(e) = self.tasks.get_mut(task) {
            e.state = State::Delayed;
        }
        self.running = self.running.filter(|r| *r != task);
    }

    fn ran(&mut self, _: Time, task: TaskId, ran: Span) {
        self.charge_if_queued(task, ran);
        if self.running == Some(task) && self.until_reading(task) == Some(Span::ZERO) {
            self.renew_slice();
        }
    }

    fn timer(&mut self, now: Time) {
        if self.ticks.due(now).is_some() {
            self.renew_slice();
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.ticks.next()
    }

    fn pick(&mut self, now: Time, _: CpuId) -> Option<Pick> {
        if self.reschedule || self.running.is_none() {
            self.reschedule = false;
            self.running = self.schedule();
        }
        self.ticks.run(now, self.running.is_some());
        let task = self.running?;
        let until = match self.until_reading(task) {
            None => Time::MAX,
            Some(Span::ZERO) => now + self.left(task),
            Some(ahead) => now + ahead,
        };
        Some(Pick { task, until })
    }

    fn displace(&mut self, now: Time, _: CpuId) {
        self.running = None;
        self.ticks.run(now, false);
    }
}

impl Eevdf {
    /// Execution until a task begins to read its CPU time; `None` if it never does.
    fn until_reading(&self, task: TaskId) -> Option<Span> {
        let place = self.reading_clock.binary_search_by_key(&task, |(task, _)| *task).ok()?;
        let after = self.reading_clock[place].1;
        let executed = self.tasks.get(task)?.executed;
        Some(Span(after.0.saturating_sub(executed.0)))
    }

    /// Execution until the end of a task's slice.
    fn left(&self, task: TaskId) -> Span {
        let left = |e: &Entity| (e.deadline - e.vruntime) * e.weight / UNIT + 1;
        let left = self.tasks.get(task).map_or(1, left);
        Span(u64::try_from(left).unwrap_or(1).max(1))
    }

    fn charge_if_queued(&mut self, task: TaskId, ran: Span) {
        if self.tasks.get(task).is_some_and(|e| e.state == State::Runnable) {
            self.charge(task, ran);
        }
    }
}
