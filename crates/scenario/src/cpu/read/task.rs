//! `[[task]]`

use std::collections::HashMap;

use laxity_core::{Span, Time};
use laxity_cpu::{CpuSet, Nice};

use super::{lock, reservation, sections, work};
use crate::cpu::model::{TaskChange, TaskClass, TaskServer};
use crate::problem::Problems;
use crate::quantity::print_span;
use crate::read::flows::Names;
use crate::read::values;
use crate::read::walk::{Section, shown};

/// Reads every `[[task]]`.
pub(super) fn read<'a>(
    root: &Section<'a>,
    cpus: u32,
    reservations: &mut reservation::Names<'_>,
    locks: &mut lock::Reader<'a>,
    out: &mut Problems<'_>,
) -> Vec<TaskClass> {
    let mut names = Names::of("task");
    let mut groups = HashMap::new();
    let sections = sections(root, "task", out);
    if sections.is_empty() && root.has("task") {
        root.wrong("task", out, "the scenario has no task", "add at least one section [[task]]");
    }
    let mut done = Vec::new();
    for section in sections.into_iter().flatten() {
        let class = task(&section, cpus, &mut names, &mut groups, reservations, out);
        done.extend(class.and_then(|class| locks.of_task(&section, class, out)));
    }
    done
}

fn task(
    section: &Section<'_>,
    cpus: u32,
    names: &mut Names,
    groups: &mut HashMap<String, (Nice, usize)>,
    reservations: &mut reservation::Names<'_>,
    out: &mut Problems<'_>,
) -> Option<TaskClass> {
    let name = names.claim(section, out);
    let count = match section.has("count") {
        true => values::whole(section, "count", out),
        false => Some(1),
    };
    let nice = match section.has("nice") {
        true => values::nice(section, "nice", out),
        false => Some(Nice::default()),
    };
    let server = server(section, nice, groups, reservations, out);
    let reserved = server.as_ref().and_then(|s| reservations.reserved(s));
    let work = match section.has("work") {
        true => work::read(section, reserved, out),
        // Problems of the reservation are reported already.
        false if section.has("reservation") && reserved.is_none() => None,
        false => reserved.map(work::whole_budgets).or_else(|| {
            let what = "`work` is missing; a task without a reservation needs it";
            let remedy = "add work = \"cpu-bound\" or work = { burst = \"2 ms\", think = \"1 s\" }";
            out.structure(section.span.clone(), &section.key_path("work"), what, remedy);
            None
        }),
    };
    let affinity = match section.has("affinity") {
        true => values::cpus(section, "affinity", cpus, out),
        false => Some(CpuSet::ALL),
    };
    let join = section.time("join", out).unwrap_or(Span::ZERO);
    let phase = section.time("phase", out).unwrap_or(Span::ZERO);
    let leave = section.time("leave", out);
    if let Some(leave) = leave.filter(|leave| *leave <= join) {
        let (at, from) = (print_span(leave), print_span(join));
        let what = format!("it leaves at {at} but joins at {from}");
        section.wrong("leave", out, what, "let it leave later than it joins");
    }
    let there = (join, leave.unwrap_or(Span(u64::MAX)));
    let changes = changes(section, there, server.as_ref(), reservations, out);
    Some(TaskClass {
        name: name?,
        count: count?,
        nice: nice?,
        server: server?,
        affinity: affinity?,
        work: work?,
        sections: Vec::new(),
        join: Time(join.0),
        phase,
        leave: leave.map(|leave| Time(leave.0)),
        changes: changes?,
    })
}

fn server(
    section: &Section<'_>,
    nice: Option<Nice>,
    groups: &mut HashMap<String, (Nice, usize)>,
    reservations: &mut reservation::Names<'_>,
    out: &mut Problems<'_>,
) -> Option<TaskServer> {
    if !section.has("group") {
        return match section.has("reservation") {
            true => reservations.server(section, out),
            false => Some(TaskServer::BestEffort),
        };
    }
    if section.has("reservation") {
        let what = "a group is for best effort, and this task has a reservation";
        let remedy = "remove `group`: tasks that name the same [[reservation]] share it";
        section.wrong("group", out, what, remedy);
        return None;
    }
    let group = section.text("group", out)?;
    if group.is_empty() {
        section.wrong("group", out, "the name is empty", "give a name such as \"browser\"");
        return None;
    }
    let nice = nice?;
    let line = out.line(section.span_of("group").start);
    let (first, place) = *groups.entry(group.to_owned()).or_insert((nice, line));
    if first != nice {
        let what = format!(
            "the tasks of group \"{}\" share a server with nice {first}, set on line {place}",
            shown(group)
        );
        section.wrong("group", out, what, "give all its tasks one nice value");
        return None;
    }
    Some(TaskServer::Group(group.to_owned()))
}

/// `None` when something is wrong with them.
fn changes(
    task: &Section<'_>,
    (join, leave): (Span, Span),
    server: Option<&TaskServer>,
    reservations: &mut reservation::Names<'_>,
    out: &mut Problems<'_>,
) -> Option<Vec<TaskChange>> {
    let (list, shape) = task.tables("change", out);
    let Some(shape) = shape else { return (!task.has("change")).then(Vec::new) };
    let mut done: Vec<TaskChange> = Vec::new();
    let mut after = join;
    let mut right = true;
    for (i, value) in list.iter().enumerate() {
        let path = format!("{}[{i}]", task.key_path("change"));
        let section = task.below(value, path, shape, out)?;
        let at = section.time("at", out);
        let nice = values::nice(&section, "nice", out);
        let to = reservations.server(&section, out);
        if let Some(at) = at {
            if at <= after || at >= leave {
                let what = format!("{} is outside the task's lifetime", print_span(at));
                let remedy = match at <= after {
                    true => format!("give an instant after {}", print_span(after)),
                    false => format!("give an instant before it leaves, {}", print_span(leave)),
                };
                section.wrong("at", out, what, remedy);
                right = false;
            }
            after = at;
        }
        if !section.has("nice") && !section.has("reservation") {
            let what = "the change changes nothing";
            let path = section.key_path("nice");
            out.structure(section.span.clone(), &path, what, "give `nice` or `reservation`");
            right = false;
        }
        if to.is_some() && matches!(server, Some(TaskServer::Group(_))) {
            let what = "a task of a group has the server of the group";
            let remedy = "change `nice`, which holds for all, or remove `group`";
            section.wrong("reservation", out, what, remedy);
            right = false;
        }
        right &= nice.is_some() == section.has("nice");
        right &= to.is_some() == section.has("reservation");
        done.push(TaskChange { at: Time(at?.0), nice, server: to });
    }
    right.then_some(done)
}
