//! Tasks from the files that a scenario names: recorded schedules and workloads of rt-app.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};

use laxity_scenario::cpu::model::{RecordedSleeps, RecordedTasks};
use laxity_trace::rt_app::{self, RtAppError};
use laxity_trace::sched::{Recorded, SchedError};

use crate::cpu::recorded::{self, Sleeps};
use crate::cpu::{Task, Workload};

/// The largest workload of rt-app: 16 MB.
const MOST_JSON: u64 = 16_000_000;

/// Why a file gives no tasks.
#[derive(Debug)]
pub struct RecordingError {
    /// The file.
    pub path: PathBuf,
    /// The problem.
    pub problem: RecordingProblem,
}

/// Problems of a file of tasks.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordingProblem {
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is no recorded schedule.
    Sched(SchedError),
    /// It is no workload of rt-app that can be played.
    RtApp(RtAppError),
    /// No thread has such a name.
    NoThread {
        /// The requested prefixes of names.
        only: Vec<String>,
        /// Names that there are.
        names: Vec<String>,
    },
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.problem {
            RecordingProblem::Unreadable(error) => write!(f, "cannot be read: {error}"),
            RecordingProblem::Sched(error) => error.fmt(f),
            RecordingProblem::RtApp(error) => error.fmt(f),
            RecordingProblem::NoThread { only, names } => {
                let (only, names) = (only.join(", "), names.join(", "));
                write!(f, "no thread's name begins with {only}; there are {names}")
            }
        }
    }
}

impl std::error::Error for RecordingError {}

/// The tasks of a file, which wake each other by their places in it.
pub(super) fn load(of: &RecordedTasks) -> Result<Vec<Task>, RecordingError> {
    let fault = |problem| RecordingError { path: of.path.clone(), problem };
    let mut tasks = match is_json(&of.path).map_err(|e| fault(RecordingProblem::Unreadable(e)))? {
        true => rt_app(of).map_err(fault)?,
        false => sched(of).map_err(fault)?,
    };
    for task in &mut tasks {
        task.joins = laxity_core::Time(task.joins.0.saturating_add(of.join.0));
    }
    Ok(tasks)
}

/// rt-app's files are JSON, which begins with a brace, or with a comment before it.
fn is_json(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(4096).read_to_end(&mut start)?;
    let first = start.iter().find(|b| !b.is_ascii_whitespace());
    Ok(matches!(first, Some(b'{' | b'/')))
}

fn sched(of: &RecordedTasks) -> Result<Vec<Task>, RecordingProblem> {
    let file = File::open(&of.path).map_err(RecordingProblem::Unreadable)?;
    let recorded = Recorded::read(BufReader::new(file)).map_err(RecordingProblem::Sched)?;
    let kept = match of.only.is_empty() {
        true => recorded,
        false => {
            let kept = recorded.only(|thread| wanted(of, &thread.name));
            if kept.threads.is_empty() {
                return Err(no_such_task(of, recorded.threads.into_iter().map(|t| t.name)));
            }
            kept
        }
    };
    let sleeps = match of.sleeps {
        RecordedSleeps::Lengths => Sleeps::Lengths,
        RecordedSleeps::Instants => Sleeps::Instants,
        RecordedSleeps::Wakers => Sleeps::Wakers,
    };
    Ok(recorded::replay(&kept, sleeps))
}

fn rt_app(of: &RecordedTasks) -> Result<Vec<Task>, RecordingProblem> {
    let mut text = String::new();
    let file = File::open(&of.path).map_err(RecordingProblem::Unreadable)?;
    let read = file.take(MOST_JSON + 1).read_to_string(&mut text);
    let read = read.map_err(RecordingProblem::Unreadable)?;
    if read as u64 > MOST_JSON {
        let error = io::Error::other("it is larger than 16 MB; a workload is a few kB of JSON");
        return Err(RecordingProblem::Unreadable(error));
    }
    let app = rt_app::read(&text).map_err(RecordingProblem::RtApp)?;
    if !of.only.is_empty() && app.threads.iter().all(|t| !wanted(of, &t.name)) {
        return Err(no_such_task(of, app.threads.into_iter().map(|t| t.name)));
    }
    let mut tasks = recorded::rt_app(&app);
    // Indices that other tasks wake must not change; excluded tasks leave before they run.
    for task in tasks.iter_mut().filter(|t| !of.only.is_empty() && !wanted(of, &t.name)) {
        task.workload = Workload::Script { steps: Vec::new(), repeat: false };
        task.attributes = laxity_cpu::Attributes::default();
    }
    Ok(tasks)
}

fn wanted(of: &RecordedTasks, name: &str) -> bool {
    of.only.iter().any(|start| name.starts_with(start.as_str()))
}

fn no_such_task(of: &RecordedTasks, names: impl Iterator<Item = String>) -> RecordingProblem {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names.truncate(12);
    RecordingProblem::NoThread { only: of.only.clone(), names }
}
