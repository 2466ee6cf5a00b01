//! Converts events into bursts of CPU time and sleeps of each thread.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use super::{PrevState, SchedError, SchedEvent, SchedKind, SchedReader, cycles};

/// The bursts and sleeps of the threads of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// In the order in which they appear.
    pub threads: Vec<RecordedThread>,
    /// From the first event to the last.
    pub length_ns: u64,
    /// CPUs on which anything happened.
    pub cpus: u32,
    /// Events of other kinds, by name.
    pub others: BTreeMap<String, u64>,
    /// Events that the recorder reports lost.
    pub lost: u64,
    /// Threads that ran without a recorded wake-up, and unrecorded context switches: events are
    /// missing around there, sleeps end late and bursts may be short.
    pub gaps: u64,
    /// Cycles of threads, by index, that wake each other.
    pub cycles: Vec<Vec<usize>>,
}

/// The bursts of one thread, which is runnable at `appears_ns`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedThread {
    /// The kernel's number of it.
    pub tid: u32,
    /// Its last name.
    pub name: String,
    /// Its parent by place, if it was made while recording.
    pub parent: Option<usize>,
    /// When it was first runnable, after the first event of the recording.
    pub appears_ns: u64,
    /// In order of time.
    pub bursts: Vec<Burst>,
}

/// CPU time without sleep, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Burst {
    /// CPU time; waiting for a CPU is not in it.
    pub cpu_ns: u64,
    /// The end of the burst.
    pub rest: Rest,
    /// Threads that it woke, by index, each with the CPU time of the burst up to then.
    pub wakes: Vec<(u64, usize)>,
}

/// The state after a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// A sleep that ended while recording.
    Sleep {
        /// From blocking to waking up.
        length_ns: u64,
        /// When it ended, after the first event of the recording.
        until_ns: u64,
        /// The thread that ended it, by place; `None` for an interrupt of an idle CPU, a timer or
        /// a device as a rule.
        waker: Option<usize>,
    },
    /// It slept, or ran, until the recording ended.
    Open,
    /// It ended.
    Exit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running { since: u64, cpu: u32 },
    Waiting,
    Blocked { since: u64 },
}

#[derive(Debug)]
struct Live {
    place: usize,
    state: State,
    exits: bool,
    cpu_ns: u64,
    wakes: Vec<(u64, usize)>,
}

impl Live {
    /// CPU time of the burst up to now.
    fn spent(&self, now: u64) -> u64 {
        match self.state {
            State::Running { since, .. } => self.cpu_ns + (now - since),
            _ => self.cpu_ns,
        }
    }
}

#[derive(Debug, Default)]
struct Builder {
    start: u64,
    live: BTreeMap<u32, Live>,
    /// Running thread by CPU.
    on: BTreeMap<u32, u32>,
    seen: BTreeSet<u32>,
    recorded: Recorded,
}

impl Recorded {
    /// Reads a recording to its end.
    ///
    /// # Errors
    /// With the number of the malformed line.
    pub fn read(reader: impl BufRead) -> Result<Recorded, SchedError> {
        let mut reader = SchedReader::new(reader);
        let mut builder = Builder::default();
        let mut last = None;
        while let Some(event) = reader.next_event()? {
            if last.is_none() {
                builder.start = event.time_ns;
            }
            last = Some(event.time_ns);
            builder.take(event);
        }
        let mut recorded = builder.finish(last.unwrap_or(0));
        recorded.others = reader.others().clone();
        recorded.lost = reader.lost();
        Ok(recorded)
    }

    /// Keeps the threads for which `keep` returns true. Wake-ups by others become plain sleeps.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&RecordedThread) -> bool) -> Recorded {
        let kept: Vec<usize> =
            (0..self.threads.len()).filter(|i| keep(&self.threads[*i])).collect();
        let place = |old: usize| kept.binary_search(&old).ok();
        let threads = kept.iter().map(|i| {
            let mut thread = self.threads[*i].clone();
            thread.parent = thread.parent.and_then(place);
            for burst in &mut thread.bursts {
                burst.wakes = (burst.wakes.iter())
                    .filter_map(|(at, woken)| Some((*at, place(*woken)?)))
                    .collect();
                if let Rest::Sleep { waker, .. } = &mut burst.rest {
                    *waker = waker.and_then(place);
                }
            }
            thread
        });
        let mut recorded = Recorded { threads: threads.collect(), ..self.clone() };
        recorded.find_cycles();
        recorded
    }

    fn find_cycles(&mut self) {
        let edges = self.threads.iter().enumerate().flat_map(|(i, thread)| {
            let wakes = thread.bursts.iter().flat_map(|b| &b.wakes);
            wakes.map(move |(_, woken)| (i, *woken))
        });
        self.cycles = cycles::groups(self.threads.len(), &edges.collect());
    }
}

impl RecordedThread {
    /// CPU time of all bursts.
    pub fn cpu_ns(&self) -> u64 {
        self.bursts.iter().map(|b| b.cpu_ns).sum()
    }
}

impl Builder {
    fn take(&mut self, event: SchedEvent) {
        let now = event.time_ns;
        self.seen.insert(event.cpu);
        match event.kind {
            SchedKind::Switch { from, from_name, prev_state, to, to_name } => {
                self.switch_out(now, event.cpu, from, &from_name, prev_state);
                self.switch_in(now, event.cpu, to, &to_name);
            }
            SchedKind::Wakeup { thread, name, new } => {
                self.wake(now, event.current, thread, &name, new);
            }
            SchedKind::Fork { parent, child, name } => {
                // The thread ID is reused, and the exit of its last owner was not recorded.
                self.close_burst(now, child, Rest::Open);
                let place = self.appear(now, child, &name, State::Waiting);
                self.recorded.threads[place].parent = self.live.get(&parent).map(|l| l.place);
            }
            SchedKind::Exit { thread } => {
                if let Some(live) = self.live.get_mut(&thread) {
                    live.exits = true;
                }
            }
        }
    }

    fn appear(&mut self, now: u64, tid: u32, name: &str, state: State) -> usize {
        let place = self.recorded.threads.len();
        self.recorded.threads.push(RecordedThread {
            tid,
            name: name.into(),
            parent: None,
            appears_ns: now - self.start,
            bursts: Vec::new(),
        });
        let live = Live { place, state, exits: false, cpu_ns: 0, wakes: Vec::new() };
        self.live.insert(tid, live);
        place
    }

    fn switch_out(&mut self, now: u64, cpu: u32, tid: u32, name: &str, prev_state: PrevState) {
        let before = self.on.remove(&cpu);
        if let Some(other) = before.filter(|other| *other != tid) {
            self.unrecorded_switch(now, other);
        }
        if tid == 0 {
            return;
        }
        if !self.live.contains_key(&tid) {
            // It ran before the recording began, since then as far as is known.
            let since = if before.is_none() { self.start } else { now };
            self.appear(since, tid, name, State::Running { since, cpu });
        }
        let Some(live) = self.live.get_mut(&tid) else { return };
        if !matches!(live.state, State::Running { cpu: on, .. } if on == cpu) {
            self.recorded.gaps += 1;
        }
        live.cpu_ns = live.spent(now);
        self.recorded.threads[live.place].name = name.into();
        let prev_state = if live.exits { PrevState::Dead } else { prev_state };
        match prev_state {
            PrevState::Preempted => live.state = State::Waiting,
            PrevState::Blocked => live.state = State::Blocked { since: now },
            PrevState::Dead => {
                live.state = State::Waiting;
                self.close_burst(now, tid, Rest::Exit);
            }
        }
    }

    /// Records the last burst of a thread.
    fn close_burst(&mut self, now: u64, tid: u32, rest: Rest) {
        let Some(live) = self.live.remove(&tid) else { return };
        let burst = Burst { cpu_ns: live.spent(now), rest, wakes: live.wakes };
        self.recorded.threads[live.place].bursts.push(burst);
    }

    /// An unrecorded context switch: another thread has its CPU.
    fn unrecorded_switch(&mut self, now: u64, tid: u32) {
        self.recorded.gaps += 1;
        if let Some(live) = self.live.get_mut(&tid) {
            live.cpu_ns = live.spent(now);
            live.state = State::Waiting;
        }
    }

    fn switch_in(&mut self, now: u64, cpu: u32, tid: u32, name: &str) {
        if tid == 0 {
            return;
        }
        if !self.live.contains_key(&tid) {
            self.appear(now, tid, name, State::Waiting);
        }
        let state = self.live.get(&tid).map(|l| l.state);
        match state {
            Some(State::Blocked { .. }) => {
                self.recorded.gaps += 1;
                self.end_sleep(now, tid, None);
            }
            Some(State::Running { cpu: other, .. }) => {
                self.on.retain(|on, thread| *on != other || *thread != tid);
                self.unrecorded_switch(now, tid);
            }
            _ => {}
        }
        if let Some(live) = self.live.get_mut(&tid) {
            live.state = State::Running { since: now, cpu };
            self.recorded.threads[live.place].name = name.into();
        }
        self.on.insert(cpu, tid);
    }

    fn wake(&mut self, now: u64, waker: u32, tid: u32, name: &str, new: bool) {
        if tid == 0 {
            return;
        }
        match self.live.get(&tid).map(|l| l.state) {
            None => {
                self.appear(now, tid, name, State::Waiting);
            }
            Some(State::Blocked { .. }) if !new => {
                let waker = self.live.get_mut(&waker).map(|waker| {
                    let at = waker.spent(now);
                    (waker.place, at)
                });
                self.end_sleep(now, tid, waker);
            }
            // `sched_waking` came before `sched_wakeup`, or the wake-up came before the sleep.
            Some(_) => {}
        }
    }

    /// Ends a sleep. `waker` is the waking thread, with the CPU time of its burst, where known.
    fn end_sleep(&mut self, now: u64, tid: u32, waker: Option<(usize, u64)>) {
        let Some(live) = self.live.get_mut(&tid) else { return };
        let State::Blocked { since } = live.state else { return };
        live.state = State::Waiting;
        let place = live.place;
        let burst = Burst {
            cpu_ns: std::mem::take(&mut live.cpu_ns),
            rest: Rest::Sleep {
                length_ns: now - since,
                until_ns: now - self.start,
                waker: waker.map(|(waker, _)| waker),
            },
            wakes: std::mem::take(&mut live.wakes),
        };
        self.recorded.threads[place].bursts.push(burst);
        if let Some((waker, at)) = waker {
            let tid = self.recorded.threads[waker].tid;
            if let Some(live) = self.live.get_mut(&tid).filter(|l| l.place == waker) {
                live.wakes.push((at, place));
            }
        }
    }

    fn finish(mut self, end: u64) -> Recorded {
        while let Some(tid) = self.live.keys().next().copied() {
            self.close_burst(end, tid, Rest::Open);
        }
        self.recorded.length_ns = end - self.start;
        self.recorded.cpus = self.seen.len() as u32;
        self.recorded.find_cycles();
        self.recorded
    }
}
