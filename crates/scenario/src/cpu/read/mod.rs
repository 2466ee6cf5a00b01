//! Reads a CPU scenario, one file for each section.

mod lock;
mod policy;
mod recording;
pub(crate) mod reservation;
mod task;
mod work;

use std::collections::HashMap;
use std::path::Path;

use laxity_cpu::CpuSet;

use super::locks::{LockProtocol, Locks};
use super::model::{Cpu, CpuPolicyChoice, CpuScenario, MAX_OVERHEAD, MAX_TASKS, Overheads};
use crate::document::{self, DocumentKind};
use crate::problem::{Problems, ScenarioError};
use crate::read::walk::{Section, Value, shown};
use crate::read::{Context, TraceLoader, file, flows, values};

impl CpuScenario {
    /// Reads and checks a file that describes CPUs;
    /// [`Document::read`](crate::Document::read) reads all kinds.
    ///
    /// # Errors
    /// The file cannot be read, or it has problems; all of them are reported, each with line,
    /// column, key and remedy.
    pub fn read(path: impl AsRef<Path>) -> Result<CpuScenario, ScenarioError> {
        let path = path.as_ref();
        CpuScenario::parse(&file::text(path)?, path)
    }

    /// Checks a text as if it stood in the file `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<CpuScenario, ScenarioError> {
        let traces: &mut TraceLoader<'_> = &mut crate::read::trace::load;
        document::parse_as(text, path.as_ref(), DocumentKind::Cpu, traces, scenario)
    }
}

/// Reads the sections of the file.
pub(crate) fn scenario(
    root: &Section<'_>,
    path: &Path,
    cx: &mut Context<'_, '_>,
) -> Option<CpuScenario> {
    let cpu = root.table("cpu", cx.out).and_then(|s| cpu(&s, cx.out));
    let overheads = match root.has("overheads") {
        true => root.table("overheads", cx.out).map(|s| overheads(&s, cx.out)),
        false => Some(Overheads::default()),
    };
    let policy = match root.has("policy") {
        true => root.table("policy", cx.out).map(|s| policy::read(&s, cpu, cx.out)),
        false => Some(CpuPolicyChoice::default()),
    };
    let mut reservations = reservation::Names::read(root, cx.out);
    let protocol = match root.has("locks") {
        true => root.table("locks", cx.out).and_then(|s| protocol(&s, cx.out)),
        false => Some(LockProtocol::default()),
    };
    let cpus = cpu.map_or(CpuSet::MOST, |cpu| cpu.cpus);
    let mut locks = lock::Reader::default();
    let tasks = task::read(root, cpus, &mut reservations, &mut locks, cx.out);
    let names = locks.finish(cpu.map_or(1, |cpu| cpu.cpus), cx.out);
    let reservations = reservations.finish(cx.out);
    let recordings = recording::read(root, cx);
    if !root.has("task") && !root.has("recording") && !root.misspelt("task") {
        let remedy = "add a section [[task]] with name = \"compile\", work = \"cpu-bound\"";
        cx.out.structure(root.span.clone(), "task", "the scenario has no task", remedy);
    }
    let scenario = CpuScenario {
        name: file::stem(path),
        path: path.to_owned(),
        cpu: cpu?,
        overheads: overheads?,
        locks: Locks { protocol: protocol?, names },
        policy: policy?,
        reservations,
        tasks,
        recordings,
    };
    whole(root, &scenario, cx.out);
    Some(scenario)
}

fn cpu(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Cpu> {
    let own = Cpu::default();
    let whole = |name, own, out: &mut Problems<'_>| match section.has(name) {
        true => values::whole(section, name, out),
        false => Some(own),
    };
    let cpus = whole("cpus", own.cpus, out);
    let cluster = whole("cluster", own.cluster, out);
    let steal = section.boolean("steal", out).unwrap_or(own.steal);
    let balance = section.time("balance", out).unwrap_or(own.balance);
    let (cpus, cluster) = (cpus?, cluster?);
    if cluster > cpus {
        let what = format!("a cluster of {cluster} CPUs exceeds the machine's {cpus}");
        section.wrong("cluster", out, what, format!("give at most {cpus}, or raise `cpus`"));
        return None;
    }
    Some(Cpu { cpus, cluster, steal, balance })
}

fn overheads(section: &Section<'_>, out: &mut Problems<'_>) -> Overheads {
    let mut time = |name| {
        let time = section.time(name, out).unwrap_or_default();
        if time > MAX_OVERHEAD {
            let what = format!("{time} is no cost of scheduling");
            section.wrong(name, out, what, format!("give at most {MAX_OVERHEAD}"));
        }
        time
    };
    let (switch, release, migration) = (time("switch"), time("release"), time("migration"));
    Overheads { switch, release, migration }
}

fn protocol(section: &Section<'_>, out: &mut Problems<'_>) -> Option<LockProtocol> {
    match section.has("protocol") {
        true => section.choice("protocol", out).map(|i| LockProtocol::ALL[i]),
        false => Some(LockProtocol::default()),
    }
}

/// Checks of all tasks together.
fn whole(root: &Section<'_>, scenario: &CpuScenario, out: &mut Problems<'_>) {
    let all: u64 = scenario.tasks.iter().map(|c| u64::from(c.count)).sum();
    if all > MAX_TASKS.into() {
        let what = format!("{all} tasks are too many");
        root.wrong("task", out, what, format!("give at most {MAX_TASKS} in all"));
        return;
    }
    let mut names: HashMap<String, &str> = HashMap::new();
    for (name, class) in scenario.each() {
        if let Some(other) = names.insert(name.clone(), &class.name) {
            let what = format!(
                "both `{}` and `{}` have a task called \"{}\"",
                shown(other),
                shown(&class.name),
                shown(&name)
            );
            root.wrong("task", out, what, "rename one of the two");
        }
    }
}

/// The elements of a list of tables in this file, opened.
fn sections<'a>(
    root: &Section<'a>,
    name: &str,
    out: &mut Problems<'_>,
) -> Vec<Option<Section<'a>>> {
    let (list, shape): (&'a [Value<'a>], _) = root.tables(name, out);
    let Some(shape) = shape else { return Vec::new() };
    let open = |(place, value)| flows::open(root, name, place, value, shape, out);
    list.iter().enumerate().map(open).collect()
}
