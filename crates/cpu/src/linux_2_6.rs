//! The O(1) scheduler of Linux 2.6.8: two arrays of queues, and a bonus for sleeping.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use laxity_core::{OptionTable, PolicyInfo, Span, Time};

use crate::table::Table;
use crate::ticks::Ticks;
use crate::{Admitted, Attributes, CpuId, Nice, Pick, Policy, Refusal, TaskId};

/// How the policy describes itself.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "linux-2.6",
    summary: "Priorities from nice values and past sleep, a time slice each, two arrays that swap \
              when all slices are used.",
    source: "Linux 2.6.8, without fork, uninterruptible sleep and credit for waiting",
    keeps_deadlines: false,
    live: &[],
    options: &[],
    table: OptionTable::None,
};

const MS: u64 = 1_000_000;
/// Time-sharing priority levels, 100 to 139 in the kernel.
const LEVELS: usize = 40;
const MAX_BONUS: u64 = 10;
/// The slice of nice 0, the unit of sleep.
const DEFAULT_SLICE: u64 = 102;
const MAX_SLEEP: u64 = DEFAULT_SLICE * MAX_BONUS * MS;
const MIN_SLICE: u64 = 10;
/// The interactive credit beyond which a task counts as interactive, or as CPU-bound if negative.
const CREDIT_LIMIT: i32 = 100;

/// Linux 2.6.8 on one CPU.
#[derive(Clone, Debug)]
pub struct Linux26 {
    tasks: Table<Sleeper>,
    arrays: [Array; 2],
    active: usize,
    running: Option<TaskId>,
    reschedule: bool,
    ticks: Ticks,
    /// When the first slice expired since the arrays were swapped, in ticks.
    expired_since: Option<u64>,
    best_expired: u32,
    runnable: u64,
}

#[derive(Clone, Debug)]
struct Array {
    levels: Vec<VecDeque<TaskId>>,
    /// Bit `i` is set when level `i` is not empty.
    filled: u64,
}

#[derive(Clone, Debug)]
struct Sleeper {
    nice: Nice,
    /// From 0, best, to 39.
    level: u32,
    sleep: u64,
    credit: i32,
    /// When it blocked or got the CPU.
    stamp: u64,
    /// Remaining milliseconds.
    slice: u64,
    /// The array that it is queued in.
    array: Option<usize>,
}

impl Sleeper {
    fn static_level(&self) -> u32 {
        (i32::from(self.nice.get()) + 20) as u32
    }

    fn bonus(&self) -> u64 {
        self.sleep / MS * MAX_BONUS / (MAX_SLEEP / MS)
    }

    fn effective_level(&self) -> u32 {
        let level = i64::from(self.static_level()) + 5 - self.bonus() as i64;
        level.clamp(0, LEVELS as i64 - 1) as u32
    }

    fn full_slice(&self) -> u64 {
        MIN_SLICE + 190 * (39 - u64::from(self.static_level())) / 39
    }

    /// `nice / 4 + 2`, rounded towards zero as C does.
    fn delta(&self) -> i64 {
        i64::from(self.nice.get()) / 4 + 2
    }

    fn is_interactive(&self) -> bool {
        i64::from(self.level) <= i64::from(self.static_level()) - self.delta()
    }

    /// How long an interactive task runs before others of its level.
    fn granularity(&self) -> u64 {
        let shift = (MAX_BONUS - self.bonus()).max(1) - 1;
        MIN_SLICE << shift
    }

    fn credit_sleep(&mut self, now: u64) {
        let slept = (now - self.stamp.min(now)).min(MAX_SLEEP);
        if slept == 0 {
            return;
        }
        let long = DEFAULT_SLICE * MAX_BONUS * (5 + self.delta() + 1).max(0) as u64 / MAX_BONUS;
        if slept > long.saturating_sub(1) * MS {
            self.sleep = MAX_SLEEP - DEFAULT_SLICE * MS;
            self.raise_credit();
            return;
        }
        let mut gain = slept * (MAX_BONUS - self.bonus().min(MAX_BONUS)).max(1);
        if self.credit < -CREDIT_LIMIT {
            gain = gain.min(self.full_slice() * MS);
        }
        self.sleep += gain;
        if self.sleep > MAX_SLEEP {
            self.sleep = MAX_SLEEP;
            self.raise_credit();
        }
    }

    fn raise_credit(&mut self) {
        if self.credit <= CREDIT_LIMIT {
            self.credit += 1;
        }
    }

    fn charge_run(&mut self, now: u64) {
        let mut ran = (now - self.stamp.min(now)).min(MAX_SLEEP);
        if self.credit > CREDIT_LIMIT {
            ran /= self.bonus().max(1);
        }
        self.sleep = self.sleep.saturating_sub(ran);
        if self.sleep == 0 && self.credit.abs() <= CREDIT_LIMIT {
            self.credit -= 1;
        }
        self.stamp = now;
    }
}

impl Array {
    fn new() -> Array {
        Array { levels: (0..LEVELS).map(|_| VecDeque::new()).collect(), filled: 0 }
    }

    fn push(&mut self, level: u32, task: TaskId) {
        self.levels[level as usize].push_back(task);
        self.filled |= 1 << level;
    }

    fn remove(&mut self, level: u32, task: TaskId) {
        let queue = &mut self.levels[level as usize];
        if queue.front() == Some(&task) {
            queue.pop_front();
        } else {
            queue.retain(|t| *t != task);
        }
        if queue.is_empty() {
            self.filled &= !(1 << level);
        }
    }

    fn first(&self) -> Option<TaskId> {
        let level = (self.filled != 0).then(|| self.filled.trailing_zeros())?;
        self.levels[level as usize].front().copied()
    }
}

impl Default for Linux26 {
    fn default() -> Linux26 {
        Linux26::new()
    }
}

impl Linux26 {
    /// No tasks yet.
    pub fn new() -> Linux26 {
        Linux26 {
            tasks: Table::new(),
            arrays: [Array::new(), Array::new()],
            active: 0,
            running: None,
            reschedule: false,
            ticks: Ticks::new(Span(MS)),
            expired_since: None,
            best_expired: LEVELS as u32,
            runnable: 0,
        }
    }

    fn dequeue(&mut self, task: TaskId) {
        let Some(sleeper) = self.tasks.get_mut(task) else { return };
        if let Some(array) = sleeper.array.take() {
            self.arrays[array].remove(sleeper.level, task);
        }
    }

    fn enqueue(&mut self, task: TaskId, array: usize) {
        let Some(sleeper) = self.tasks.get_mut(task) else { return };
        sleeper.level = sleeper.effective_level();
        sleeper.array = Some(array);
        self.arrays[array].push(sleeper.level, task);
    }

    fn stop(&mut self, now: Time, task: TaskId) {
        let Some(sleeper) = self.tasks.get_mut(task).filter(|s| s.array.is_some()) else { return };
        if self.running == Some(task) {
            sleeper.charge_run(now.0);
            self.running = None;
        }
        sleeper.stamp = now.0;
        self.dequeue(task);
        self.runnable -= 1;
    }

    /// Whether expired tasks have waited so long that interactive tasks must expire too.
    fn is_starving(&self, tick: u64, level: u32) -> bool {
        let waited = self.expired_since.map(|since| tick - since);
        waited.is_some_and(|w| w > MAX_SLEEP / MS * self.runnable) || level > self.best_expired
    }

    fn tick(&mut self, tick: u64, task: TaskId) {
        let active = self.active;
        let Some(sleeper) = self.tasks.get_mut(task) else { return };
        if sleeper.array != Some(active) {
            self.reschedule = true;
            return;
        }
        sleeper.slice = sleeper.slice.saturating_sub(1);
        if sleeper.slice > 0 {
            let used = sleeper.full_slice().saturating_sub(sleeper.slice);
            let turn = sleeper.granularity();
            if sleeper.is_interactive() && used % turn == 0 && sleeper.slice >= turn {
                self.dequeue(task);
                self.enqueue(task, active);
                self.reschedule = true;
            }
            return;
        }
        sleeper.slice = sleeper.full_slice();
        let (level, fixed) = (sleeper.effective_level(), sleeper.static_level());
        let stays = Sleeper { level, ..sleeper.clone() }.is_interactive();
        self.dequeue(task);
        self.reschedule = true;
        self.expired_since.get_or_insert(tick);
        if stays && !self.is_starving(tick, fixed) {
            self.enqueue(task, active);
        } else {
            self.enqueue(task, 1 - active);
            self.best_expired = self.best_expired.min(fixed);
        }
    }

    fn schedule(&mut self, now: Time) {
        if self.arrays[self.active].filled == 0 {
            self.active = 1 - self.active;
            self.expired_since = None;
            self.best_expired = LEVELS as u32;
        }
        let next = self.arrays[self.active].first();
        if next != self.running {
            if let Some(sleeper) = self.running.and_then(|r| self.tasks.get_mut(r)) {
                sleeper.charge_run(now.0);
            }
            if let Some(sleeper) = next.and_then(|n| self.tasks.get_mut(n)) {
                sleeper.stamp = now.0;
            }
            self.running = next;
        }
    }
}

impl Policy for Linux26 {
    fn join(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let mut sleeper = Sleeper {
            nice: a.nice,
            level: 0,
            sleep: 0,
            credit: 0,
            stamp: now.0,
            slice: 0,
            array: None,
        };
        sleeper.slice = sleeper.full_slice();
        let reach = self.tasks.join(task, sleeper)?;
        for level in self.arrays.iter_mut().flat_map(|a| &mut a.levels) {
            level.reserve(reach - level.len().min(reach));
        }
        Ok(Admitted { from: now })
    }

    fn leave(&mut self, now: Time, task: TaskId, _: Span) {
        self.stop(now, task);
        self.tasks.leave(task);
    }

    fn change(&mut self, now: Time, task: TaskId, a: &Attributes) -> Result<Admitted, Refusal> {
        let sleeper = self.tasks.known(task)?;
        let array = sleeper.array;
        self.dequeue(task);
        self.tasks.known(task)?.nice = a.nice;
        if let Some(array) = array {
            self.enqueue(task, array);
            self.reschedule = true;
        }
        Ok(Admitted { from: now })
    }

    fn wake(&mut self, now: Time, task: TaskId) {
        let Some(sleeper) = self.tasks.get_mut(task).filter(|s| s.array.is_none()) else { return };
        sleeper.credit_sleep(now.0);
        sleeper.stamp = now.0;
        self.enqueue(task, self.active);
        self.runnable += 1;
        let level = |t| self.tasks.get(t).map(|s: &Sleeper| s.level);
        self.reschedule |= self.running.is_none_or(|r| level(task) < level(r));
    }

    fn block(&mut self, now: Time, task: TaskId, _: Span) {
        self.stop(now, task);
    }

    fn ran(&mut self, _: Time, _: TaskId, _: Span) {}

    fn timer(&mut self, now: Time) {
        if let (Some(tick), Some(task)) = (self.ticks.due(now), self.running) {
            self.tick(tick, task);
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.ticks.next()
    }

    fn pick(&mut self, now: Time, _: CpuId) -> Option<Pick> {
        if self.reschedule || self.running.is_none() {
            self.reschedule = false;
            self.schedule(now);
        }
        self.ticks.run(now, self.running.is_some());
        self.running.map(|task| Pick { task, until: Time::MAX })
    }

    fn displace(&mut self, now: Time, _: CpuId) {
        if let Some(sleeper) = self.running.take().and_then(|r| self.tasks.get_mut(r)) {
            sleeper.charge_run(now.0);
        }
        self.ticks.run(now, false);
    }
}
