//! Entry points for fuzzing: functions that panic only on a defect.

use std::sync::LazyLock;

use laxity_core::Span;
use laxity_results::csv::cpu_run::{CpuRunRecord, CpuRunWriter, read_cpu_runs};
use laxity_results::csv::{PacketRow, PacketWriter, read_packets};
use laxity_scenario::Document;
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::link::Scenario;
use laxity_sim::cpu::{Task, tasks};

use crate::{cpu, link};

static LINK: LazyLock<Scenario> =
    LazyLock::new(|| match Document::parse(include_str!("../corpus/link.toml"), "link.toml") {
        Ok(Document::Link(scenario)) => scenario,
        other => panic!("no link: {other:?}"),
    });

static CPUS: LazyLock<(CpuScenario, Vec<Task>)> =
    LazyLock::new(|| match Document::parse(include_str!("../corpus/cpus.toml"), "cpus.toml") {
        Ok(Document::Cpu(scenario)) => {
            let tasks = tasks(&scenario).expect("the tasks of the scenario");
            (scenario, tasks)
        }
        other => panic!("no CPUs: {other:?}"),
    });

/// Any bytes are a record of packets or an error; a record is judged or refused, and is written and reads back equal.
///
/// # Panics
/// When one of these does not hold.
pub fn packets(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(packets) = read_packets(text) else { return };
    let policy = packets.first().map_or("exact", |packet| packet.policy.as_str());
    let _ = link::validate(&LINK, policy, &packets, 0);
    let mut writer = PacketWriter::new(Vec::new()).expect("memory");
    for packet in &packets {
        let row = PacketRow {
            policy: &packet.policy,
            seq: packet.seq,
            flow: &packet.flow,
            bytes: packet.bytes,
            arrival: packet.arrival,
            departure: packet.departure,
            deadline: packet.deadline,
            outcome: packet.outcome,
            demoted: packet.demoted,
            reason: &packet.reason,
        };
        writer.write(&row).expect("memory");
    }
    let written = String::from_utf8(writer.finish().expect("memory")).expect("UTF-8");
    assert_eq!(read_packets(&written), Ok(packets));
}

/// Any bytes are a record of CPUs or an error; each run of a record is judged or refused, as a live one and as one of a
/// scenario, and the record is written and reads back equal.
///
/// # Panics
/// When one of these does not hold.
pub fn cpus(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(runs) = read_cpu_runs(text) else { return };
    let (scenario, tasks) = &*CPUS;
    for run in &runs {
        let _ = cpu::validate_live(run, Span(1000));
        let _ = cpu::validate(scenario, tasks, run);
    }
    assert_eq!(read_cpu_runs(&written(&runs)), Ok(runs));
}

fn written(runs: &[CpuRunRecord]) -> String {
    let mut writer = CpuRunWriter::new(Vec::new());
    for run in runs {
        writer.begin(&run.policy, &run.clusters, run.live, &run.tasks).expect("memory");
        run.rows.iter().for_each(|row| writer.write(row).expect("memory"));
        writer.end(run.end).expect("memory");
    }
    String::from_utf8(writer.finish().expect("memory")).expect("UTF-8")
}

#[cfg(test)]
mod tests {
    use laxity_sim::Random;

    use super::*;

    fn below(n: usize, random: &mut Random) -> usize {
        random.uniform(0, n as u64 - 1) as usize
    }

    /// Changes a record in up to four places: a digit, a separator, a byte less, a part of the record once more.
    fn mutated(seed: &[u8], random: &mut Random) -> Vec<u8> {
        let mut bytes = seed.to_vec();
        for _ in 0..=below(4, random) {
            let at = below(bytes.len(), random);
            match below(4, random) {
                0 => bytes[at] = b'0' + below(10, random) as u8,
                1 => bytes[at] = b",\"\n\r.-a"[below(7, random)],
                2 => drop(bytes.remove(at)),
                _ => {
                    let from = below(bytes.len(), random);
                    let to = (from + below(40, random)).min(bytes.len());
                    let part = bytes[from..to].to_vec();
                    bytes.splice(at..at, part);
                }
            }
        }
        bytes
    }

    /// Fails when judging a record panics, or it reads otherwise than it was written.
    #[test]
    fn changed_records_are_judged_or_refused() {
        let mut random = Random::new(7, 0);
        let mut all = |seed: &[u8], check: fn(&[u8])| {
            check(seed);
            (0..2000).for_each(|_| check(&mutated(seed, &mut random)));
        };
        all(include_bytes!("../corpus/packets.csv"), packets);
        all(include_bytes!("../corpus/cpus.csv"), cpus);
        all(include_bytes!("../corpus/live.csv"), cpus);
    }

    /// Fails when times of a record are added up without a bound.
    #[test]
    fn the_greatest_times_are_judged() {
        let (begin, most) = ("laxity-cpu-run,1\npolicy,bebs,0\nlive,0,0,0\ntask,0,a\n", u64::MAX);
        let higher = format!("higher-class,0,{most}\n");
        let slice = format!("slice,0,{most},0,0,unserved\n");
        for row in [higher, slice] {
            cpus(format!("{begin}{row}{row}end,{most}\n").as_bytes());
        }
    }

    /// Fails when the corpus is refused before anything is judged.
    #[test]
    fn the_corpus_is_judged() {
        let packets = read_packets(include_str!("../corpus/packets.csv")).expect("packets");
        let found = link::validate(&LINK, "exact", &packets, 0).expect("a verdict");
        assert!(found.packets > 20 && found.illegal.is_none() && found.broken.is_empty());
        let (scenario, tasks) = &*CPUS;
        let runs = read_cpu_runs(include_str!("../corpus/cpus.csv")).expect("runs");
        assert!(cpu::validate(scenario, tasks, &runs[0]).expect("a verdict").holds());
        let runs = read_cpu_runs(include_str!("../corpus/live.csv")).expect("runs");
        assert!(cpu::validate_live(&runs[0], Span(1000)).expect("a verdict").holds());
    }
}
