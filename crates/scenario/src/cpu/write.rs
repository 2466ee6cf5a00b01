//! Prints a CPU scenario as TOML.

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES};
use laxity_cpu::{CpuSet, Nice};

use super::locks::{LockProtocol, Section};
use super::model::{
    Cost, Cpu, CpuScenario, Gap, Late, Overheads, RecordedSleeps, RecordedTasks, Reserved, Step,
    TaskChange, TaskClass, TaskServer, Work,
};
use super::read::reservation::NONE;
use crate::printer::{Printer, decimal, quoted, range, time};
use crate::value::Share;

impl CpuScenario {
    /// The scenario as TOML. Keys that hold their defaults are left out. Reading it back as the
    /// same file gives an equal scenario.
    pub fn to_toml(&self) -> String {
        let mut out = Printer::new(&self.path);
        out.line("# A scenario for Laxity: a CPU, its tasks, and how they are scheduled.");
        out.line("\n[cpu]");
        let own = Cpu::default();
        out.unless("cpus", self.cpu.cpus, own.cpus, u32::to_string);
        out.unless("cluster", self.cpu.cluster, own.cluster, u32::to_string);
        out.unless("steal", self.cpu.steal, own.steal, bool::to_string);
        out.unless("balance", self.cpu.balance, own.balance, time);
        if self.overheads != Overheads::default() {
            out.line("\n[overheads]");
            let Overheads { switch, release, migration } = self.overheads;
            out.unless("switch", switch, Span::ZERO, time);
            out.unless("release", release, Span::ZERO, time);
            out.unless("migration", migration, Span::ZERO, time);
        }
        if self.locks.protocol != LockProtocol::default() {
            out.line("\n[locks]");
            out.key("protocol", &quoted(self.locks.protocol.name()));
        }
        out.cpu_policy(self);
        if !self.reservations.is_empty() {
            out.line("\n# Servers that the tasks which name them share.");
        }
        for (i, named) in self.reservations.iter().enumerate() {
            out.line(if i == 0 { "[[reservation]]" } else { "\n[[reservation]]" });
            out.key("name", &quoted(&named.name));
            for (key, value) in reserved(&named.reserved) {
                out.key(key, &value);
            }
        }
        for recording in &self.recordings {
            out.line("\n[[recording]]");
            out.recording(recording);
        }
        if !self.tasks.is_empty() {
            out.line("\n# Classes of like tasks.");
        }
        for (i, class) in self.tasks.iter().enumerate() {
            out.line(if i == 0 { "[[task]]" } else { "\n[[task]]" });
            out.task(self, class);
        }
        out.text
    }
}

impl Printer {
    fn cpu_policy(&mut self, scenario: &CpuScenario) {
        let policy = &scenario.policy;
        self.policies(&policy.use_, &policy.compare);
        self.options(POLICIES, &policy.options, &Options::default());
    }

    fn recording(&mut self, recording: &RecordedTasks) {
        let path = self.path(&recording.path);
        self.key("file", &path);
        self.unless("sleeps", recording.sleeps, RecordedSleeps::default(), |sleeps| {
            quoted(sleeps.name())
        });
        if !recording.only.is_empty() {
            let names: Vec<String> = recording.only.iter().map(|n| quoted(n)).collect();
            self.key("only", &format!("[{}]", names.join(", ")));
        }
        self.unless("join", recording.join, Time::ZERO, at);
    }

    fn task(&mut self, scenario: &CpuScenario, class: &TaskClass) {
        self.key("name", &quoted(&class.name));
        self.unless("count", class.count, 1, u32::to_string);
        let work = work(&class.work);
        self.key("work", &work);
        if !class.sections.is_empty() {
            let locks: Vec<String> = class.sections.iter().map(|s| lock(scenario, s)).collect();
            self.key("lock", &format!("[{}]", locks.join(", ")));
        }
        match &class.server {
            TaskServer::BestEffort => {}
            TaskServer::Group(group) => self.key("group", &quoted(group)),
            other => self.key("reservation", &server(scenario, other)),
        }
        self.unless("nice", class.nice, Nice::default(), |nice| nice.to_string());
        self.unless("affinity", class.affinity, CpuSet::ALL, cpus);
        self.unless("join", class.join, Time::ZERO, at);
        self.unless("phase", class.phase, Span::ZERO, time);
        if let Some(leave) = class.leave {
            self.key("leave", &at(&leave));
        }
        if !class.changes.is_empty() {
            let changes: Vec<String> = class.changes.iter().map(|c| change(scenario, c)).collect();
            self.key("change", &format!("[{}]", changes.join(", ")));
        }
    }
}

fn cpus(set: &CpuSet) -> String {
    let numbers: Vec<String> = set.iter().map(|cpu| cpu.0.to_string()).collect();
    quoted(&numbers.join(","))
}

fn at(instant: &Time) -> String {
    time(&Span(instant.0))
}

fn server(scenario: &CpuScenario, server: &TaskServer) -> String {
    match server {
        TaskServer::BestEffort | TaskServer::Group(_) => quoted(NONE),
        TaskServer::Own(own) => table(&reserved(own)),
        TaskServer::Shared(place) => {
            scenario.reservations.get(*place).map_or(quoted(NONE), |r| quoted(&r.name))
        }
    }
}

fn table(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    format!("{{ {} }}", fields.join(", "))
}

fn reserved(reserved: &Reserved) -> Vec<(&'static str, String)> {
    let r = reserved.reservation;
    let mut fields = vec![("budget", time(&r.budget)), ("period", time(&r.period))];
    if r.deadline != r.period {
        fields.push(("deadline", time(&r.deadline)));
    }
    if !reserved.hard {
        fields.push(("kind", quoted("soft")));
    }
    fields
}

fn lock(scenario: &CpuScenario, section: &Section) -> String {
    let name = scenario.locks.names.get(section.lock as usize).map_or("", String::as_str);
    let (at, hold) = (time(&section.at), time(&section.hold));
    table(&[("name", quoted(name)), ("at", at), ("hold", hold)])
}

fn change(scenario: &CpuScenario, change: &TaskChange) -> String {
    let mut fields = vec![("at", at(&change.at))];
    fields.extend(change.nice.map(|nice| ("nice", nice.to_string())));
    fields.extend(change.server.as_ref().map(|s| ("reservation", server(scenario, s))));
    table(&fields)
}

fn work(work: &Work) -> String {
    match work {
        Work::CpuBound => quoted("cpu-bound"),
        Work::Interactive { burst, think } => {
            table(&[("burst", cost(burst)), ("think", gap(think))])
        }
        Work::Periodic { period, cost: of, deadline, late } => {
            let mut fields = vec![("period", time(period)), ("cost", cost(of))];
            if deadline != period {
                fields.push(("deadline", time(deadline)));
            }
            // Its default depends on the reservation.
            let late = match late {
                Late::Rephase => "rephase",
                Late::Skip => "skip",
                Late::Grid => "grid",
            };
            fields.push(("late", quoted(late)));
            table(&fields)
        }
        Work::Poller { poll } => table(&[("poll", gap(poll))]),
        Work::Script { steps, repeat } => {
            let steps: Vec<String> = steps.iter().map(step).collect();
            let mut fields = vec![("steps", format!("[{}]", steps.join(", ")))];
            if *repeat {
                fields.push(("repeat", "true".into()));
            }
            table(&fields)
        }
    }
}

fn step(step: &Step) -> String {
    let (verb, span) = match step {
        Step::Run(span) => ("run", span),
        Step::Sleep(span) => ("sleep", span),
        Step::Until(span) => ("until", span),
    };
    quoted(&format!("{verb} {}", crate::quantity::print_span(*span)))
}

fn cost(cost: &Cost) -> String {
    match cost {
        Cost::Fixed(cost) => time(cost),
        Cost::Uniform { least, most } => table(&[("uniform", range(&(*least, *most)))]),
        Cost::Normal { mean, deviation } => table(&[("normal", range(&(*mean, *deviation)))]),
        Cost::Gop { mean, deviation } => table(&[("gop", range(&(*mean, *deviation)))]),
        Cost::Correlated { mean, deviation, correlation: Share(share) } => table(&[
            ("correlated", range(&(*mean, *deviation))),
            ("correlation", quoted(&format!("{} %", decimal(u64::from(*share), 10_000)))),
        ]),
        Cost::Scenes { mean, deviation, frames } => {
            table(&[("scenes", range(&(*mean, *deviation))), ("frames", frames.to_string())])
        }
    }
}

fn gap(gap: &Gap) -> String {
    match gap {
        Gap::Fixed(length) => time(length),
        Gap::Uniform { least, most } => table(&[("uniform", range(&(*least, *most)))]),
        Gap::Exponential(mean) => table(&[("exponential", time(mean))]),
    }
}
