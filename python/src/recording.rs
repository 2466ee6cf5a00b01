//! Recorded threads of CPUs, from arrays or files.

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

/// A stay on CPUs, between two sleeps.
struct Burst {
    wake: u64,
    block: u64,
    ran: u64,
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
        let mut of: Vec<(u64, Vec<Burst>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for (i, thread) in threads.into_iter().enumerate() {
            let burst = Burst {
                wake: wakes[i] - start,
                block: blocks[i].saturating_sub(start),
                ran: ran[i],
            };
            if blocks[i] < wakes[i] {
                return Err(error::input(format_args!("burst {i} blocks before it wakes up")));
            }
            let most = burst.block - burst.wake;
            if burst.ran > most {
                return Err(error::input(format_args!(
                    "burst {i} ran for {} ns within {most} ns: one thread has one CPU at a time",
                    burst.ran
                )));
            }
            if names.as_ref().is_some_and(|names| thread >= names.len() as u64) {
                return Err(error::input(format_args!("burst {i}: thread {thread} has no name")));
            }
            let place = *places.entry(thread).or_insert_with(|| {
                of.push((thread, Vec::new()));
                of.len() - 1
            });
            let bursts = &mut of[place].1;
            if bursts.last().is_some_and(|last| last.block > burst.wake) {
                return Err(error::input(format_args!(
                    "burst {i} begins before the last one of thread {thread} ended; sort the bursts by time"
                )));
            }
            bursts.push(burst);
        }
        let instants = match read_sleeps(sleeps)? {
            RecordedSleeps::Lengths => false,
            RecordedSleeps::Instants => true,
            RecordedSleeps::Wakers => {
                return Err(error::input(
                    "sleeps `wakers`: arrays do not say which thread ended a sleep; give a file, lengths or instants",
                ));
            }
        };
        let task = |(thread, bursts): (u64, Vec<Burst>)| {
            let name = names.as_ref().map(|names| names[thread as usize].clone());
            let joins = bursts.first().map_or(0, |first| first.wake);
            let steps = steps(&bursts, instants);
            Task::new(
                name.unwrap_or_else(|| format!("thread-{thread}")),
                Workload::Script { steps, repeat: false },
            )
            .joining(Time(joins))
        };
        Ok(PyRecording(Arc::new(Content::Threads(of.into_iter().map(task).collect()))))
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

fn read_sleeps(name: &str) -> PyResult<RecordedSleeps> {
    match name {
        "lengths" => Ok(RecordedSleeps::Lengths),
        "instants" => Ok(RecordedSleeps::Instants),
        "wakers" => Ok(RecordedSleeps::Wakers),
        _ => Err(error::input(format_args!("sleeps `{name}`: give lengths, instants or wakers"))),
    }
}

/// The bursts of one thread as a script, from its first wake-up on.
fn steps(bursts: &[Burst], instants: bool) -> Vec<Step> {
    let mut steps = Vec::with_capacity(2 * bursts.len());
    for (i, burst) in bursts.iter().enumerate() {
        steps.push(Step::Run(Span(burst.ran)));
        if let Some(next) = bursts.get(i + 1) {
            steps.push(match instants {
                true => Step::SleepUntil(Span(next.wake - bursts[0].wake)),
                false => Step::Sleep(Span(next.wake - burst.block)),
            });
        }
    }
    steps
}
