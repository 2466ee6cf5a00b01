//! `lock` of a task, and what the locks of all tasks must fulfil together.

use std::collections::HashSet;

use crate::cpu::locks::{Nesting, Section as LockSection, SectionFault};
use crate::cpu::model::TaskClass;
use crate::keys::nearest;
use crate::problem::Problems;
use crate::quantity::print_span;
use crate::read::walk::{Section, shown};

/// The most sections of a task.
const MAX_SECTIONS: usize = 16;
/// The most locks of a scenario.
const MAX_LOCKS: usize = 64;

/// The locks of the tasks read so far.
#[derive(Default)]
pub(super) struct Reader<'a> {
    locks: Vec<Lock<'a>>,
    /// Each lock with one that a task takes within it, once.
    nested: Vec<Nested<'a>>,
    pairs: HashSet<(u32, u32)>,
}

struct Lock<'a> {
    name: String,
    /// Where the file first has it.
    first: Section<'a>,
    /// The first task that takes it.
    task: String,
    /// Whether another one does.
    shared: bool,
}

struct Nested<'a> {
    outer: u32,
    inner: u32,
    task: String,
    section: Section<'a>,
}

impl<'a> Reader<'a> {
    /// The class with its locks; `None` when something is wrong with them.
    pub(super) fn of_task(
        &mut self,
        task: &Section<'a>,
        class: TaskClass,
        out: &mut Problems<'_>,
    ) -> Option<TaskClass> {
        if !task.has("lock") {
            return Some(class);
        }
        let (list, shape) = task.tables("lock", out);
        let shape = shape?;
        let Some(least) = class.work.job().and_then(|cost| cost.least()) else {
            let what = "locks are taken within jobs of known length, and this task has none";
            let remedy =
                "give it `work` with `period` or `burst`, and a constant or `uniform` cost";
            task.wrong("lock", out, what, remedy);
            return None;
        };
        if list.len() > MAX_SECTIONS {
            let what = format!("{} sections are too many", list.len());
            task.wrong("lock", out, what, format!("give at most {MAX_SECTIONS} for a task"));
            return None;
        }
        let mut tables = Vec::new();
        let mut sections = Vec::new();
        let mut right = true;
        for (i, value) in list.iter().enumerate() {
            let path = format!("{}[{i}]", task.key_path("lock"));
            let table = task.below(value, path, shape, out)?;
            let name = table.text("name", out);
            let (at, hold) = (table.time("at", out), table.positive_time("hold", out));
            if name == Some("") {
                table.wrong("name", out, "the name is empty", "give a name such as \"bus\"");
                right = false;
            }
            let (Some(name), Some(at), Some(hold)) = (name, at, hold) else {
                right = false;
                continue;
            };
            let section = LockSection { lock: self.place(name), at, hold };
            if section.end() > least {
                let (end, least) = (print_span(section.end()), print_span(least));
                let what = format!("the section ends after {end}, and a job may end after {least}");
                table.wrong("hold", out, what, "end it within the shortest job");
                right = false;
            }
            if section.lock as usize >= MAX_LOCKS {
                let what = format!("\"{}\" is one lock too many", shown(name));
                table.wrong("name", out, what, format!("give at most {MAX_LOCKS} in all"));
                return None;
            }
            self.claim(name, &table, &class);
            sections.push(section);
            tables.push(table);
        }
        if !right {
            return None;
        }
        let nesting = match Nesting::of(&sections) {
            Ok(nesting) => nesting,
            Err(fault) => {
                report(fault, &sections, &tables, self, out);
                return None;
            }
        };
        for (outer, inner) in nesting.within {
            let pair = (sections[outer].lock, sections[inner].lock);
            if self.pairs.insert(pair) {
                let (section, task) = (tables[inner].clone(), class.name.clone());
                self.nested.push(Nested { outer: pair.0, inner: pair.1, task, section });
            }
        }
        Some(TaskClass { sections, ..class })
    }

    /// The place of a lock among those known; the next one for a new lock.
    fn place(&self, name: &str) -> u32 {
        let known = self.locks.iter().position(|lock| lock.name == name);
        known.unwrap_or(self.locks.len()) as u32
    }

    /// A class takes a lock.
    fn claim(&mut self, name: &str, table: &Section<'a>, class: &TaskClass) {
        let shared = class.count > 1;
        match self.locks.iter_mut().find(|lock| lock.name == name) {
            Some(lock) => lock.shared |= shared || lock.task != class.name,
            None => self.locks.push(Lock {
                name: name.to_owned(),
                first: table.clone(),
                task: class.name.clone(),
                shared,
            }),
        }
    }

    fn name(&self, lock: u32) -> &str {
        self.locks.get(lock as usize).map_or("", |lock| lock.name.as_str())
    }

    /// The names of all locks.
    pub(super) fn finish(self, cpus: u32, out: &mut Problems<'_>) -> Vec<String> {
        if let (Some(lock), true) = (self.locks.first(), cpus > 1) {
            let what = format!("a task takes a lock, and there are {cpus} CPUs");
            lock.first.wrong("name", out, what, "locks are for one CPU: remove `cpus`");
        }
        // A task with another problem may be the one that shares a lock.
        let whole = out.is_empty();
        for lock in self.locks.iter().filter(|lock| whole && !lock.shared) {
            let name = shown(&lock.name);
            let what = format!("only {} takes the lock \"{name}\"", shown(&lock.task));
            let others = self.locks.iter().map(|other| other.name.as_str());
            let remedy = match nearest(&lock.name, others.filter(|other| *other != lock.name)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("let another task take \"{name}\" too, or remove it"),
            };
            lock.first.wrong("name", out, what, remedy);
        }
        self.report_deadlock(out);
        self.locks.into_iter().map(|lock| lock.name).collect()
    }

    /// The first nesting that contradicts the order of those before it.
    fn report_deadlock(&self, out: &mut Problems<'_>) {
        for (i, last) in self.nested.iter().enumerate() {
            let Some(way) = way(&self.nested[..i], last.inner, last.outer) else { continue };
            let takes = |nested: &Nested<'_>| {
                let (outer, inner) = (self.name(nested.outer), self.name(nested.inner));
                format!("\"{}\" within \"{}\"", shown(inner), shown(outer))
            };
            let others: Vec<String> = way
                .iter()
                .map(|step| format!("{} takes {}", shown(&step.task), takes(step)))
                .collect();
            let what = format!("{} can deadlock: {}", takes(last), others.join(", "));
            last.section.wrong("name", out, what, "nest locks in one order in all tasks");
            return;
        }
    }
}

/// The shortest way from one lock to another along nestings.
fn way<'n, 'a>(edges: &'n [Nested<'a>], from: u32, to: u32) -> Option<Vec<&'n Nested<'a>>> {
    let mut ways: Vec<(u32, Vec<&Nested<'a>>)> = vec![(from, Vec::new())];
    let mut next = 0;
    while let Some((lock, way)) = ways.get(next).cloned() {
        next += 1;
        for edge in edges.iter().filter(|edge| edge.outer == lock) {
            let mut further = way.clone();
            further.push(edge);
            if edge.inner == to {
                return Some(further);
            }
            if ways.iter().all(|(known, _)| *known != edge.inner) {
                ways.push((edge.inner, further));
            }
        }
    }
    None
}

/// Reports two sections of a task that make no sense together.
fn report(
    fault: SectionFault,
    sections: &[LockSection],
    tables: &[Section<'_>],
    locks: &Reader<'_>,
    out: &mut Problems<'_>,
) {
    let name = |place: usize| shown(locks.name(sections[place].lock));
    let until = |place: usize| print_span(sections[place].end());
    match fault {
        SectionFault::Cross(first, second) => {
            let what = format!(
                "the section of \"{}\" begins within that of \"{}\" and ends after it, at {}",
                name(second),
                name(first),
                until(first)
            );
            let remedy = format!("end it by {}, or begin it then", until(first));
            tables[second].wrong("hold", out, what, remedy);
        }
        SectionFault::Again(first, second) => {
            let what = format!("it holds \"{}\" already, until {}", name(second), until(first));
            tables[second].wrong("at", out, what, format!("begin it at {}", until(first)));
        }
    }
}
