//! Runs in the virtual machine, asked of the Rust policies again: the same decisions, all of them. And
//! played again in the simulator, which is told only when tasks come and how long they compute: the same
//! order.
//!
//! Built with the feature `kernel` only. Skipped, with the reason, where the virtual machine
//! cannot be had; `LAXITY_REQUIRE_ALL=1` makes that a failure.
#![cfg(feature = "kernel")]

mod machine;
#[path = "support/shown.rs"]
mod shown;
#[path = "support/simulated.rs"]
mod simulated;

use std::collections::HashMap;

use laxity_core::{Span, Time};
use laxity_cpu::{Attributes, CpuId, GroupId, Policy as _, Reservation, TaskId};
use laxity_kernel::cpu::record::{Event, What};
use laxity_kernel::cpu::{POLICIES, Policy};
use machine::{available, example, part, program};
use shown::{BelowReservations, Shown};
use simulated::{Switching, alike, common, order, played, simulated, weighing};

/// What holds the place of a reservation until its task is there.
const PLACES: u32 = 20_000;

/// The policy that is asked again.
struct Again {
    policy: Box<dyn Shown>,
    reservations: HashMap<u32, Reservation>,
    /// Decisions, and how many of them chose a task.
    decisions: [u32; 2],
    /// Weights that tasks got while they were there.
    weights: Vec<u32>,
}

impl Again {
    fn join(&mut self, event: &Event, task: TaskId, attributes: &Attributes) {
        let joined = self.policy.join(event.at, task, attributes);
        assert!(joined.is_ok(), "{event}: {joined:?}");
    }

    fn of_reservation(&self, number: u32) -> Attributes {
        Attributes::hard(self.reservations[&number]).in_group(GroupId(number))
    }

    fn tell(&mut self, event: &Event) {
        let (at, task) = (event.at, event.slot.map(TaskId));
        let of = || task.unwrap_or_else(|| panic!("no task: {event}"));
        match event.what {
            What::Joined { weight, learnt } => {
                self.join(event, of(), &weighing(weight));
                if learnt > Span::ZERO {
                    self.policy.recall(of(), learnt);
                }
            }
            What::Reserved { number, reservation } => {
                self.reservations.insert(number, reservation);
                self.join(event, TaskId(PLACES + number), &self.of_reservation(number));
            }
            What::Bound { number } => {
                self.join(event, of(), &self.of_reservation(number));
                self.policy.leave(at, TaskId(PLACES + number), Span::ZERO);
            }
            What::Left => self.policy.leave(at, of(), Span::ZERO),
            What::Weighed { weight } => {
                self.weights.push(weight);
                let changed = self.policy.change(at, of(), &weighing(weight));
                assert!(changed.is_ok(), "{event}: {changed:?}");
            }
            What::Woke => self.policy.wake(at, of()),
            What::Blocked => self.policy.block(at, of(), Span::ZERO),
            What::Ran { length } => self.policy.ran(at, of(), length),
            What::Timer => self.policy.timer(at),
            What::Chosen { left, deadline } => {
                let picked = self.policy.pick(at, CpuId(0));
                let deadline_of = |task| self.policy.of(task).map(|(_, _, d)| d);
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

/// The policy of a name as the kernel has it, without tasks.
fn fresh(name: &str) -> Box<dyn Shown> {
    let policy = Policy::named(name).expect("a policy");
    match policy.berate() {
        Some(options) => Box::new(BelowReservations::of(policy.servers(), options)),
        None => Box::new(policy.servers()),
    }
}

/// Whoever joins takes a share from those that are there, and they cannot give what was used already: so
/// beside reservations what the running task has used is told first. Answers how often somebody ran when
/// another joined.
fn what_was_used_is_told_before_shares_change(events: &[Event]) -> u32 {
    let (mut runs, mut told, mut joined) = (None, Time::ZERO, 0);
    let mut promised = false;
    for event in events {
        let beside = promised && runs.is_some_and(|slot| Some(slot) != event.slot);
        match event.what {
            What::Reserved { .. } => promised = true,
            What::Started { .. } => (runs, told) = (event.slot, event.at),
            What::Ran { .. } => told = event.at,
            What::Stopped => runs = None,
            What::Joined { .. } if beside => {
                assert_eq!(told, event.at, "{event} beside {runs:?}");
                joined += 1;
            }
            _ => {}
        }
    }
    joined
}

/// Whom the scheduler chose in 6 s with tasks that compute, sleep, start others and end, and two
/// reservations, with what was left of the budget and the deadline to the nanosecond.
///
/// In the simulator, which knows nothing of that, more than four fifths of the turns are in the same
/// order, as a rule 88 to 96 %; under another policy it is at least a tenth less, 52 to 67 %. What differs
/// begins where processes start in numbers: a switch, the end of a budget and an interrupt do not always
/// take the same time there. Among tasks that compute it stays a while, since turns of a millisecond that
/// begin one too late are all another's. In two of four beginnings it stays to the end (79 and 80 % under
/// `bebs`, whether starts and stops are told or not): so one of them has to be alike; the decisions are the
/// same in each.
fn decides_as_the_kernel_did(name: &str, told: bool) {
    if !available() {
        return;
    }
    let beginnings = ["0", "0.02", "0.05", "0.3"];
    let alike = beginnings.into_iter().any(|after| is_replayed(name, told, after));
    assert!(alike, "{name}: no beginning is alike");
}

/// A run that begins after a while: whether its turns are in the order of the simulator under this policy, and not
/// under another. That some joined beside another, and that all decisions are those of the Rust policy, is asserted.
fn is_replayed(name: &str, told: bool, after: &str) -> bool {
    let mut programs: Vec<_> = ["kernel-cpu", "tasks"].map(example).into();
    programs.extend(["nice", "renice"].map(program));
    let text = machine::run_with(
        &["--for", "cpu"],
        "record.sh",
        &[name, if told { "1" } else { "0" }, after],
        &programs,
        &[],
    );
    let said = part(&text, name);
    assert!(said.starts_with("lost 0\n") && said.contains("kernel content"), "{said}");
    assert_eq!(said.matches(" missed 0 ").count(), 2, "{said}");
    let event = |line| Event::parse(line).unwrap_or_else(|| panic!("no event: {line}"));
    let events: Vec<Event> = part(&text, "events").lines().map(event).collect();
    let joined = what_was_used_is_told_before_shares_change(&events);
    eprintln!("{name}: {joined} joined beside another and reservations");
    assert!(joined > 3, "{name}: {joined}");

    let mut again = Again {
        policy: fresh(name),
        reservations: HashMap::new(),
        decisions: [0, 0],
        weights: Vec::new(),
    };
    for event in &events {
        again.tell(event);
    }
    eprintln!("{name}: {:?} decisions, of a task", again.decisions);
    assert_eq!(again.reservations.len(), 2);
    // A nice value of 3, and 175 hundredths of 20.
    assert!([17, 35].iter().all(|w| again.weights.contains(w)), "{:?}", again.weights);
    assert!(again.decisions[1] > 3000, "{name}: {:?}", again.decisions);

    let live = played(&events);
    let until = events.last().map_or(Time::ZERO, |e| e.at);
    // Per cent of the turns, and of the time.
    let agreement = |policy: &str| {
        let ours = simulated(&live.tasks, &mut Switching::new(fresh(policy), live.switch), until);
        let time = alike(&ours, &live.slices) / 10;
        let [ours, theirs] = [&ours, &live.slices].map(order);
        let turns = common(&ours, &theirs) * 100 / ours.len().max(theirs.len());
        eprintln!("{name}, {policy} simulated: {turns} % of turns and {time} % of time alike");
        (turns, time)
    };
    let (turns, time) = agreement(name);
    let mut others = POLICIES.into_iter().filter(|other| *other != name);
    turns > 80 && time > 70 && others.all(|other| agreement(other).0 + 10 < turns)
}

/// Fails when the headers and the Rust policy differ in what recordings reach: tried with `lapse`
/// twice as long in the headers, and with `lx_begin_anew` left out; and when an event is not
/// recorded: tried with `LX_TIMER`. Without `lx_takes_share` somebody joins before what was used is told.
/// Without `grouping.changes` the group's weight does not reach its
/// task.
#[test]
fn bebs_decides_as_the_kernel_did() {
    decides_as_the_kernel_did("bebs", false);
}

#[test]
fn bebs_credit_decides_as_the_kernel_did() {
    decides_as_the_kernel_did("bebs-credit", false);
}

#[test]
fn berate_decides_as_the_kernel_did() {
    decides_as_the_kernel_did("berate", false);
}

/// The same where the kernel tells who starts and who stops, as later ones have to.
#[test]
fn what_is_told_makes_no_other_decisions() {
    decides_as_the_kernel_did("bebs-credit", true);
}
