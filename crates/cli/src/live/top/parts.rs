//! Every live part of this machine as one table: links and their flows, media servers, CPUs, reservations
//! and tasks, in the same words.

use indexmap::IndexMap;
use laxity_report::number;
use serde::Serialize;

use super::Sample;
use crate::live::cpu::{CpuStatus, ReservationStatus, Status};
use crate::live::link::record::{Flow, Link, MediaServer};
use crate::live::link::table;
use crate::live::web::gain::Gain;

/// The version of the JSON.
pub const PARTS_VERSION: u32 = 1;

/// All parts, at a time.
#[derive(Clone, Debug, Serialize)]
pub struct Parts {
    /// [`PARTS_VERSION`].
    pub version: u32,
    /// A part before those in it: a link before its flows, a CPU before its reservations and tasks.
    pub parts: Vec<Part>,
    /// What cannot be shown, and why.
    pub notes: Vec<String>,
}

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    Link,
    Flow,
    MediaServer,
    Cpu,
    Reservation,
    Task,
}

impl PartKind {
    /// As people read it.
    pub fn text(self) -> &'static str {
        match self {
            PartKind::Link => "link",
            PartKind::Flow => "flow",
            PartKind::MediaServer => "media server",
            PartKind::Cpu => "CPU",
            PartKind::Reservation => "reservation",
            PartKind::Task => "task",
        }
    }
}

/// One part. Counts are since the present scenario, server or scheduler began.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    pub kind: PartKind,
    /// The interface, scenario of a media server, or CPU that it is or belongs to.
    pub of: String,
    /// The flow, task or process; of a link, server or CPU its policy.
    pub name: String,
    /// Process that runs it, where that is not the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// Packets sent; switches of a CPU.
    pub count: Option<u64>,
    pub bytes: Option<u64>,
    pub mean_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// The longest delay; of CPUs and reservations the largest lateness.
    pub max_ms: Option<f64>,
    /// The bound of the delay; of a reservation its period.
    pub deadline_ms: Option<f64>,
    pub deadline_misses: u64,
    pub dropped: u64,
    pub drop_reasons: IndexMap<String, u64>,
    /// The share of a link or CPU that it has reserved, from 0 to 1.
    pub reserved: Option<f64>,
    /// Further facts, in sentences.
    pub facts: Vec<String>,
    /// Of a link, by [`laxity web`](crate::live::web): what best effort gained over strict priority, simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Gain>,
    /// The number of scenarios before: counts of two numbers do not compare.
    #[serde(skip)]
    pub changes: u32,
    /// Packets of which `mean_ms` is the mean.
    #[serde(skip)]
    pub timed: u64,
}

impl Part {
    pub fn new(kind: PartKind, of: impl Into<String>, name: impl Into<String>) -> Part {
        Part {
            kind,
            of: of.into(),
            name: name.into(),
            process: None,
            count: None,
            bytes: None,
            mean_ms: None,
            p99_ms: None,
            max_ms: None,
            deadline_ms: None,
            deadline_misses: 0,
            dropped: 0,
            drop_reasons: IndexMap::new(),
            reserved: None,
            facts: Vec::new(),
            gain: None,
            changes: 0,
            timed: 0,
        }
    }

    /// What two samples of one part have in common.
    pub fn key(&self) -> (PartKind, &str, &str, Option<u32>) {
        (self.kind, &self.of, &self.name, self.process)
    }

    /// Whether it belongs to another part.
    pub fn is_within(&self) -> bool {
        matches!(self.kind, PartKind::Flow | PartKind::Reservation | PartKind::Task)
    }

    /// Mean delay in ms of the packets since an earlier sample of the same part.
    pub fn mean_since(&self, before: &Part) -> Option<f64> {
        let packets = self.timed.checked_sub(before.timed).filter(|n| *n > 0)?;
        let sum = |part: &Part| part.mean_ms.unwrap_or(0.0) * part.timed as f64;
        (self.changes == before.changes)
            .then(|| (sum(self) - sum(before)).max(0.0) / packets as f64)
    }
}

impl Parts {
    /// The parts of a sample.
    pub(super) fn of(sample: &Sample) -> Parts {
        let mut parts = Parts { version: PARTS_VERSION, parts: Vec::new(), notes: Vec::new() };
        if let Some(links) = &sample.links {
            links.links.iter().for_each(|link| parts.link(link));
            parts.parts.extend(links.media_servers.iter().map(server));
            if !links.unresponsive.is_empty() {
                let ids: Vec<String> = links.unresponsive.iter().map(u32::to_string).collect();
                parts.notes.push(format!("these processes do not answer: {}", ids.join(", ")));
            }
            if let Some(why) = &links.kernel_error {
                parts.notes.push(format!("links in the kernel: {why}"));
            }
        }
        match &sample.cpus {
            Ok(status) => parts.cpus(status),
            Err(Some(why)) => parts.notes.push(format!("CPUs: {why}")),
            Err(None) => {}
        }
        parts
    }

    fn link(&mut self, link: &Link) {
        let mut part = Part::new(PartKind::Link, table::name(link), &link.policy);
        let sum = |of: fn(&Flow) -> u64| link.flows.values().map(of).fold(0, u64::saturating_add);
        part.process = link.process.as_ref().map(|process| process.id);
        part.count = Some(sum(|f| f.packets));
        part.bytes = Some(sum(|f| f.bytes));
        part.deadline_misses = sum(|f| f.deadline_misses);
        part.dropped = sum(|f| f.dropped);
        part.changes = link.changes;
        part.facts.push(format!("{}{}.", number::rate(link.rate_bit_s), table::runner(link)));
        let (packets, bytes) = (link.backlog.packets, link.backlog.bytes);
        part.facts.push(format!("{packets} packets wait, {bytes} B."));
        part.facts.extend(table::sentences(link));
        let (of, process, changes) = (part.of.clone(), part.process, part.changes);
        self.parts.push(part);
        let flow = |(name, flow): (&String, &Flow)| Part {
            process,
            changes,
            count: Some(flow.packets),
            bytes: Some(flow.bytes),
            mean_ms: flow.mean_ms,
            p99_ms: flow.p99_ms,
            max_ms: flow.max_ms,
            deadline_ms: flow.deadline_ms,
            deadline_misses: flow.deadline_misses,
            dropped: flow.dropped,
            drop_reasons: flow.drop_reasons.clone(),
            timed: flow.packets.saturating_sub(flow.demoted),
            facts: demoted(flow),
            ..Part::new(PartKind::Flow, of.as_str(), name)
        };
        self.parts.extend(link.flows.iter().map(flow));
    }

    fn cpus(&mut self, status: &Status) {
        for cpu in &status.cpus {
            let of = format!("CPU {}", cpu.cpu);
            self.parts.push(one_cpu(cpu, &of, &status.policy));
            let here = status.reservations.iter().filter(|r| r.cpu == cpu.cpu);
            self.parts.extend(here.map(|r| reservation(r, &of)));
            let here = status.inferred.iter().filter(|t| t.cpu == cpu.cpu);
            self.parts.extend(here.map(|t| {
                let mut part = Part::new(PartKind::Task, of.as_str(), &t.name);
                let (budget, period) = (t.budget_ns as f64 / 1e6, t.period_ns as f64 / 1e6);
                part.process = Some(t.pid);
                part.reserved = None;
                part.facts.push(format!(
                    "Best effort; uses {} ms at once, its share amounts to that in {} ms.",
                    number::short(budget),
                    number::short(period)
                ));
                part
            }));
        }
    }
}

fn demoted(flow: &Flow) -> Vec<String> {
    let mut facts = Vec::new();
    if flow.demoted > 0 {
        facts.push(format!("{} packets were demoted to best effort.", flow.demoted));
    }
    if flow.ecn_marks > 0 {
        facts.push(format!("{} packets were marked by the AQM.", flow.ecn_marks));
    }
    facts
}

fn server(server: &MediaServer) -> Part {
    let windows = match server.tumbling_violations {
        0 => "no window violated".to_owned(),
        1 => "1 window violated".to_owned(),
        n => format!("{n} windows violated"),
    };
    Part {
        process: Some(server.process.id),
        count: Some(server.sent),
        deadline_misses: server.expired,
        dropped: server.expired,
        facts: vec![format!("{} streams, {windows}.", server.streams)],
        ..Part::new(PartKind::MediaServer, &server.scenario, &server.policy)
    }
}

fn one_cpu(cpu: &CpuStatus, of: &str, policy: &str) -> Part {
    let ms = |ns: u64| ns as f64 / 1e6;
    Part {
        count: Some(cpu.switches),
        max_ms: Some(ms(cpu.max_lateness_ns)),
        deadline_misses: cpu.deadline_misses,
        reserved: Some(cpu.reserved),
        facts: vec![format!(
            "{} servers, {} steals, largest overrun {} ms, largest lateness of a release {} ms.",
            cpu.servers,
            cpu.steals,
            number::short(ms(cpu.max_overrun_ns)),
            number::short(ms(cpu.max_release_lateness_ns))
        )],
        ..Part::new(PartKind::Cpu, of, policy)
    }
}

fn reservation(r: &ReservationStatus, of: &str) -> Part {
    let (runtime, period) = (r.runtime_ns as f64 / 1e6, r.period_ns as f64 / 1e6);
    Part {
        process: r.pid,
        max_ms: Some(r.max_lateness_ns as f64 / 1e6),
        deadline_ms: Some(period),
        deadline_misses: r.deadline_misses,
        reserved: (period > 0.0).then(|| runtime / period),
        facts: vec![format!(
            "{} ms in every {} ms for {} tasks of user {}.",
            number::short(runtime),
            number::short(period),
            r.tasks,
            r.user
        )],
        ..Part::new(PartKind::Reservation, of, r.task())
    }
}
