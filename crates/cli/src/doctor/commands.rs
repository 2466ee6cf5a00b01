//! What each command needs of a machine.

use serde::Serialize;

use super::machine::Machine;
use super::probes::{BPF, Finding, NET_ADMIN, NET_RAW, PERFMON, SYS_ADMIN};

/// A command, the parts and capabilities that it needs, and those without which it does less.
struct Needs {
    command: &'static str,
    parts: &'static [&'static str],
    capabilities: &'static [(&'static str, u32)],
    better_with: &'static [&'static str],
}

const COMMANDS: &[Needs] = &[
    Needs { command: "check", parts: &[], capabilities: &[], better_with: &[] },
    Needs { command: "simulate", parts: &[], capabilities: &[], better_with: &[] },
    Needs {
        command: "link up",
        parts: &["kernel-part", "btf", "bpf-qdisc", "bpf-fs"],
        capabilities: &[NET_ADMIN, BPF, PERFMON],
        better_with: &["clock", "iproute2"],
    },
    Needs {
        command: "link up --ingress",
        parts: &["kernel-part", "btf", "bpf-qdisc", "bpf-fs", "ifb"],
        capabilities: &[NET_ADMIN, BPF, PERFMON],
        better_with: &["clock", "iproute2"],
    },
    Needs {
        command: "link bridge",
        parts: &["packet-sockets"],
        capabilities: &[NET_ADMIN, NET_RAW],
        better_with: &["xdp-sockets", "clock", "iproute2"],
    },
    Needs {
        command: "link tun",
        parts: &["packet-sockets", "tun"],
        capabilities: &[NET_ADMIN, NET_RAW],
        better_with: &["clock", "iproute2"],
    },
    Needs {
        command: "cpu up",
        parts: &["kernel-part", "btf", "sched-ext", "bpf-fs"],
        capabilities: &[BPF, PERFMON, SYS_ADMIN],
        better_with: &["cgroup2", "clock"],
    },
    Needs { command: "stream serve", parts: &[], capabilities: &[], better_with: &["clock"] },
];

/// Whether a machine can run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Runs {
    /// This process may.
    Yes,
    /// The machine can, this process lacks a privilege.
    AsRoot,
    /// The machine lacks a part.
    No,
}

/// The answer for a command.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The command.
    pub command: &'static str,
    /// Whether it runs.
    pub runs: Runs,
    /// Parts that it lacks.
    pub lacks: Vec<&'static str>,
    /// Capabilities that this process lacks.
    pub capabilities: Vec<&'static str>,
    /// Missing parts without which it does less.
    pub better_with: Vec<&'static str>,
}

/// The names of all commands.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|needs| needs.command)
}

/// The answers for all commands, from what was found.
pub fn verdicts(machine: &Machine, findings: &[Finding]) -> Vec<Verdict> {
    let missing = |parts: &'static [&'static str]| -> Vec<&'static str> {
        let absent = |part: &&str| findings.iter().any(|f| f.part == *part && !f.present);
        parts.iter().copied().filter(absent).collect()
    };
    let held = machine.capabilities();
    let verdict = |needs: &Needs| {
        let lacks = missing(needs.parts);
        let wanted = needs.capabilities.iter().filter(|(_, bit)| held >> bit & 1 == 0);
        let capabilities: Vec<&'static str> = wanted.map(|(name, _)| *name).collect();
        let runs = match (lacks.is_empty(), capabilities.is_empty()) {
            (true, true) => Runs::Yes,
            (true, false) => Runs::AsRoot,
            (false, _) => Runs::No,
        };
        let better_with = missing(needs.better_with);
        Verdict { command: needs.command, runs, lacks, capabilities, better_with }
    };
    COMMANDS.iter().map(verdict).collect()
}
