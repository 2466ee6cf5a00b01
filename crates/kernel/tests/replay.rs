//! A run in the virtual machine, asked of the Rust policy again: the same decisions, all of them.
//!
//! Built with the feature `kernel` only. Skipped, with the reason, where the virtual machine
//! cannot be had; `LAXITY_REQUIRE_ALL=1` makes that a failure.
#![cfg(feature = "kernel")]

mod machine;

use std::collections::HashMap;
use std::path::PathBuf;

use laxity_core::Span;
use laxity_cpu::servers::Servers;
use laxity_cpu::{Attributes, CpuId, GroupId, Nice, Policy as _, Reservation, TaskId};
use laxity_kernel::cpu::Policy;
use laxity_kernel::cpu::record::{Event, What};
use machine::{available, example, part};

/// What holds the place of a reservation until its task is there.
const PLACES: u32 = 20_000;

/// The policy that is asked again.
struct Again {
    servers: Servers,
    reservations: HashMap<u32, Reservation>,
    /// Decisions, and how many of them chose a task.
    decisions: [u32; 2],
    /// Weights that tasks got while they were there.
    weights: Vec<u32>,
}

impl Again {
    fn join(&mut self, event: &Event, task: TaskId, attributes: &Attributes) {
        let joined = self.servers.join(event.at, task, attributes);
        assert!(joined.is_ok(), "{event}: {joined:?}");
    }

    fn of_reservation(&self, number: u32) -> Attributes {
        Attributes::hard(self.reservations[&number]).in_group(GroupId(number))
    }

    fn tell(&mut self, event: &Event) {
        let (at, task) = (event.at, event.slot.map(TaskId));
        let of = || task.unwrap_or_else(|| panic!("no task: {event}"));
        let weighing = |weight: u32| {
            let nice = i8::try_from(20 - i64::from(weight)).ok().and_then(Nice::new);
            Attributes::best_effort(nice.expect("a nice value"))
        };
        match event.what {
            What::Joined { weight, learnt } => {
                self.join(event, of(), &weighing(weight));
                if learnt > Span::ZERO {
                    self.servers.recall(of(), learnt);
                }
            }
            What::Reserved { number, reservation } => {
                self.reservations.insert(number, reservation);
                self.join(event, TaskId(PLACES + number), &self.of_reservation(number));
            }
            What::Bound { number } => {
                self.join(event, of(), &self.of_reservation(number));
                self.servers.leave(at, TaskId(PLACES + number), Span::ZERO);
            }
            What::Left => self.servers.leave(at, of(), Span::ZERO),
            What::Weighed { weight } => {
                self.weights.push(weight);
                let changed = self.servers.change(at, of(), &weighing(weight));
                assert!(changed.is_ok(), "{event}: {changed:?}");
            }
            What::Woke => self.servers.wake(at, of()),
            What::Blocked => self.servers.block(at, of(), Span::ZERO),
            What::Ran { length } => self.servers.ran(at, of(), length),
            What::Timer => self.servers.timer(at),
            What::Chosen { left, deadline } => {
                let picked = self.servers.pick(at, CpuId(0));
                let deadline_of = |task| self.servers.server_of(task).map(|(_, _, d)| d);
                let ours = picked.map(|p| (p.task, p.until.since(at), deadline_of(p.task)));
                let theirs = task.map(|task| (task, left, Some(deadline)));
                assert_eq!(ours, theirs, "decision {:?}: {event}", self.decisions);
                self.decisions[0] += 1;
                self.decisions[1] += u32::from(task.is_some());
            }
            What::Started { .. } | What::Stopped => {}
        }
    }
}

/// A program of util-linux or coreutils.
fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|p| p.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("no {name} here"))
}

/// Whom the scheduler chose in 6 s with tasks that compute, sleep, start others and end, and two
/// reservations, with what was left of the budget and the deadline to the nanosecond.
///
/// Fails when the headers and the Rust policy differ in what recordings reach: tried with `lapse`
/// twice as long in the headers, and with `lx_begin_anew` left out; and when an event is not
/// recorded: tried with `LX_TIMER`. Without `grouping.changes` the
/// group's weight does not reach its task.
#[test]
fn the_policy_decides_as_the_kernel_did() {
    if !available() {
        return;
    }
    let mut programs: Vec<_> = ["kernel-cpu", "tasks"].map(example).into();
    programs.extend(["nice", "renice"].map(program));
    for policy in ["bebs", "bebs-credit"] {
        let options = ["--for", "cpu"];
        let text = machine::run_with(&options, "record.sh", &[policy], &programs, &[]);
        let said = part(&text, policy);
        assert!(said.starts_with("lost 0\n") && said.contains("kernel content"), "{said}");
        assert_eq!(said.matches(" missed 0 ").count(), 2, "{said}");

        let servers = Policy::named(policy).expect("a policy").servers();
        let mut again =
            Again { servers, reservations: HashMap::new(), decisions: [0, 0], weights: Vec::new() };
        for line in part(&text, "events").lines() {
            let event = Event::parse(line).unwrap_or_else(|| panic!("no event: {line}"));
            again.tell(&event);
        }
        eprintln!("{policy}: {:?} decisions, of a task", again.decisions);
        assert_eq!(again.reservations.len(), 2);
        // A nice value of 3, and 175 hundredths of 20.
        assert!([17, 35].iter().all(|w| again.weights.contains(w)), "{:?}", again.weights);
        assert!(again.decisions[1] > 3000, "{policy}: {:?}", again.decisions);
    }
}
