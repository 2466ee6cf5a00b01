//! Recorded threads of CPUs, from arrays or files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use laxity_core::{Span, Time};
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::cpu::model::{RecordedSleeps, RecordedTasks};
use laxity_sim::cpu::{Step, Task, Workload, tasks, tasks_and};
use pyo3::prelude::*;

use crate::{array, error};

/// Threads that do again what they were recorded doing.
#[pyclass(frozen, module = "laxity", name = "Recording")]
#[derive(Clone, Debug)]
pub struct PyRecording(Arc<Content>);

#[derive(Debug)]
enum Content {
    /// Read when it is replayed.
    File(RecordedTasks),
    Threads(Vec<Task>),
}

/// The time between two sleeps, after the first wake-up of the recording.
struct Burst {
    wake: u64,
    block: u64,
    /// CPU time.
    ran: u64,
}

struct Thread {
    name: String,
    bursts: Vec<Burst>,
}

#[pymethods]
impl PyRecording {
    /// Bursts of threads from arrays, a row each: when a thread woke up and when it blocked, the CPU time that
    /// it had between, all in seconds as floats or in whole nanoseconds from any start on, and the index of
    /// the thread among `names`, or any number without names. The bursts of a thread are in order of time. With
    /// `sleeps="lengths"` each sleep is as long as it was, with `"instants"` it ends when it did unless the
    /// thread is still busy.
    #[new]
    #[pyo3(signature = (wakes, blocks, ran, threads, names=None, *, sleeps="lengths"))]
    fn new(
        wakes: &Bound<'_, PyAny>,
        blocks: &Bound<'_, PyAny>,
        ran: &Bound<'_, PyAny>,
        threads: &Bound<'_, PyAny>,
        names: Option<Vec<String>>,
        sleeps: &str,
    ) -> PyResult<PyRecording> {
        let instants = match read_sleeps(sleeps)? {
            RecordedSleeps::Lengths => false,
            RecordedSleeps::Instants => true,
            RecordedSleeps::Wakers => {
                return Err(error::input(
                    "sleeps `wakers`: arrays do not say which thread ended a sleep; give a file, lengths or instants",
                ));
            }
        };
        let wakes = array::times(wakes, "wakes")?;
        let blocks = array::times(blocks, "blocks")?;
        let ran = array::times(ran, "ran")?;
        let threads = array::whole(threads, "threads")?;
        let rows = wakes.len();
        if [blocks.len(), ran.len(), threads.len()] != [rows; 3] {
            return Err(error::input(format_args!(
                "{rows} wakes, {} blocks, {} times of `ran` and {} threads: give as many of each",
                blocks.len(),
                ran.len(),
                threads.len()
            )));
        }
        let Some(start) = wakes.iter().copied().min() else {
            return Err(error::input("there is no burst in the recording"));
        };
        let mut all: Vec<Thread> = Vec::new();
        let mut places = HashMap::new();
        for (i, number) in threads.into_iter().enumerate() {
            let burst = Burst::new(i, wakes[i], blocks[i], ran[i], start)?;
            let place = match places.get(&number) {
                Some(place) => *place,
                None => {
                    let name = name(i, number, names.as_deref())?;
                    all.push(Thread { name, bursts: Vec::new() });
                    *places.entry(number).or_insert(all.len() - 1)
                }
            };
            let bursts = &mut all[place].bursts;
            if bursts.last().is_some_and(|last| last.block > burst.wake) {
                return Err(error::input(format_args!(
                    "burst {i} begins before the last one of thread {number} ended; sort the bursts by time"
                )));
            }
            bursts.push(burst);
        }
        let tasks = all.into_iter().map(|thread| thread.task(instants)).collect();
        Ok(PyRecording(Arc::new(Content::Threads(tasks))))
    }

    /// A recorded schedule as `perf sched script` or `trace-cmd report` print it, or a workload of rt-app, read
    /// when it is replayed; `only` keeps threads whose names begin with one of its texts. With
    /// `sleeps="wakers"` a sleep that another thread ended waits for that thread to get as far again.
    #[staticmethod]
    #[pyo3(signature = (path, *, only=Vec::new(), sleeps="lengths"))]
    fn file(path: PathBuf, only: Vec<String>, sleeps: &str) -> PyResult<PyRecording> {
        let sleeps = read_sleeps(sleeps)?;
        let file = RecordedTasks { path, sleeps, only, join: Time::ZERO };
        Ok(PyRecording(Arc::new(Content::File(file))))
    }

    /// The bursts of a data frame (pandas, polars, or anything with columns by name): `thread` by name or
    /// index, `wake`, `block` and `ran` in seconds, or `wake_ns`, `block_ns` and `ran_ns`.
    #[staticmethod]
    #[pyo3(signature = (frame, *, sleeps="lengths"))]
    fn from_frame(py: Python<'_>, frame: &Bound<'_, PyAny>, sleeps: &str) -> PyResult<Py<PyAny>> {
        Ok(py.import("laxity.frames")?.call_method1("recording", (frame, sleeps))?.unbind())
    }

    fn __repr__(&self) -> String {
        match &*self.0 {
            Content::File(file) => format!("<Recording {}>", file.path.display()),
            Content::Threads(threads) => format!("<Recording of {} threads>", threads.len()),
        }
    }
}

impl PyRecording {
    /// The tasks of a scenario with the recorded threads beside them.
    pub fn beside(&self, scenario: &CpuScenario) -> PyResult<Vec<Task>> {
        match &*self.0 {
            Content::File(file) => {
                let mut scenario = scenario.clone();
                scenario.recordings.push(file.clone());
                tasks(&scenario).map_err(error::input)
            }
            Content::Threads(threads) => tasks_and(scenario, threads.clone()).map_err(error::input),
        }
    }
}

impl Burst {
    /// Row `i` of a recording that begins at `start`.
    fn new(i: usize, wake: u64, block: u64, ran: u64, start: u64) -> PyResult<Burst> {
        let Some(most) = block.checked_sub(wake) else {
            return Err(error::input(format_args!("burst {i} blocks before it wakes up")));
        };
        if ran > most {
            return Err(error::input(format_args!(
                "burst {i} ran for {ran} ns within {most} ns: one thread has one CPU at a time"
            )));
        }
        Ok(Burst { wake: wake - start, block: block - start, ran })
    }
}

impl Thread {
    /// A task that does the same from its first wake-up on.
    fn task(self, instants: bool) -> Task {
        let joins = self.bursts.first().map_or(0, |first| first.wake);
        let mut steps = Vec::with_capacity(2 * self.bursts.len());
        for (i, burst) in self.bursts.iter().enumerate() {
            steps.push(Step::Run(Span(burst.ran)));
            if let Some(next) = self.bursts.get(i + 1) {
                steps.push(match instants {
                    true => Step::SleepUntil(Span(next.wake - joins)),
                    false => Step::Sleep(Span(next.wake - burst.block)),
                });
            }
        }
        Task::new(self.name, Workload::Script { steps, repeat: false }).joining(Time(joins))
    }
}

/// The name of a thread that burst `i` is of.
fn name(i: usize, number: u64, names: Option<&[String]>) -> PyResult<String> {
    let Some(names) = names else { return Ok(format!("thread-{number}")) };
    let name = usize::try_from(number).ok().and_then(|number| names.get(number));
    let none = || error::input(format_args!("burst {i}: thread {number} has no name"));
    name.cloned().ok_or_else(none)
}

fn read_sleeps(name: &str) -> PyResult<RecordedSleeps> {
    let known = RecordedSleeps::NAMES.join(", ");
    RecordedSleeps::named(name)
        .ok_or_else(|| error::input(format_args!("sleeps `{name}`: give one of {known}")))
}
