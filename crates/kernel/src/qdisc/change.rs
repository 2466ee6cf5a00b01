//! Changes the scenario of an interface while traffic continues.

use std::time::{Duration, Instant};

use laxity_core::{Bytes, Rate};
use laxity_scenario::link::model::Scenario;

use super::load::{self, CHANGES, Room};
use super::netlink::Netlink;
use super::pins::Pins;
use super::record::Record;
use super::{LinkError, LinkRequest, Place, State, record, wanted};
use crate::plan::{Plan, Rule};

/// Longer than any run of a program.
const RUN: Duration = Duration::from_millis(5);

/// How a change took effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is in effect.
    Done,
    /// The queue was empty; it takes effect with the next packet.
    WithNextPacket,
    /// A lower rate is in effect; the plan takes over when no real-time packet waits. Only
    /// [`set_rate`] leaves that to the kernel.
    Later,
}

/// Changes the scenario of a link. Queued packets are kept, and none is lost. The change takes place
/// at an instant at which no real-time packet is queued or in transmission, within `timeout`.
///
/// # Errors
/// See [`LinkError`]; the link then runs on as it was.
pub fn set(
    request: &LinkRequest<'_>,
    device: &str,
    timeout: Duration,
) -> Result<Change, LinkError> {
    let mut place = Place::new(device)?;
    let lock = place.folder.lock()?;
    let Running { pins, applied, record: old, scenario: before } = running(&place, request.plan)?;
    let does_not_fit = |what| LinkError::DoesNotFit { device: device.into(), what };
    // Queued packets are kept, so they may block for as long as their own scenario allowed.
    let root = place.root()?;
    let waits = root.is_some_and(|root| root.queue.waiting_packets > 0);
    let waiting = if waits { Bytes(old.longest) } else { before.link.max_packet };
    let mut with_waiting = request.scenario.clone();
    let longest = waiting.max(request.scenario.link.max_packet);
    with_waiting.link.max_packet = longest;
    if Plan::with_policy(&with_waiting, request.policy).is_err() {
        return Err(does_not_fit(
            "best-effort packets that wait may be too long for the new deadlines",
        ));
    }
    let (policy, scenario) = (request.policy.into(), request.scenario.to_toml());
    let rate = request.scenario.link.rate.0;
    let new = Record { policy, longest: longest.0, rate, shed: 0, scenario, ..old };
    let change = load::change(request.plan, Some(&numbers(&before, request.scenario)));
    let Some(number) = ask(&pins, &applied, &new, &change, device)? else {
        drop(lock);
        return set(request, device, timeout);
    };
    if let Some(change) = await_change(&mut place.netlink, place.index, &pins, number, timeout)? {
        return Ok(change);
    }
    withdraw(&pins, number)?.ok_or_else(|| LinkError::Busy { device: device.into() })
}

/// Another rate of a link under the scenario that it runs.
#[derive(Clone, Copy, Debug)]
pub struct RateRequest<'a> {
    /// The plan of the scenario at the rate, from [`Plan::at_rate`].
    pub plan: &'a Plan,
    /// The rate.
    pub rate: Rate,
    /// The scenario of which it is the plan, as [`Status::scenario`](super::Status::scenario) has it.
    pub scenario: &'a str,
}

/// Changes the rate of a link, and the flows that have a reservation. A lower rate, and shed flows as
/// best effort, are in effect at once; the plan takes over when no real-time packet waits or is being
/// sent, and if that takes longer than `timeout`, later. Queues, policers and counts stay.
///
/// # Errors
/// See [`LinkError`]; the link then runs on as it was.
pub fn set_rate(
    request: &RateRequest<'_>,
    device: &str,
    timeout: Duration,
) -> Result<Change, LinkError> {
    let mut place = Place::new(device)?;
    let lock = place.folder.lock()?;
    let Running { pins, applied, record: old, .. } = running(&place, request.plan)?;
    let does_not_fit = |what| LinkError::DoesNotFit { device: device.into(), what };
    if old.scenario != request.scenario {
        return Err(does_not_fit("another command has changed its scenario"));
    }
    let new = Record { rate: request.rate.0, shed: request.plan.shed, ..old };
    let change = load::change(request.plan, None);
    let Some(number) = ask(&pins, &applied, &new, &change, device)? else {
        drop(lock);
        return set_rate(request, device, timeout);
    };
    let change = await_change(&mut place.netlink, place.index, &pins, number, timeout)?;
    Ok(change.unwrap_or(Change::Later))
}

/// A link that runs: its state without a pending change, which stays until another one is asked for.
struct Running {
    pins: Pins,
    applied: State,
    record: Record,
    scenario: Scenario,
}

/// The link on an interface; an error if it is down or has no room for a plan.
fn running(place: &Place, plan: &Plan) -> Result<Running, LinkError> {
    let pins = place.pins();
    let applied = State::read(&pins)?.ok_or_else(|| place.is_down())?;
    let record = record(&pins)?.filter(|_| applied.attached).ok_or_else(|| place.is_down())?;
    let does_not_fit = |what| LinkError::DoesNotFit { device: place.device.clone(), what };
    let scenario = Scenario::parse(&record.scenario, "")
        .map_err(|_| does_not_fit("its scenario is of another version"))?;
    let room = room(&record, &scenario).ok_or_else(|| does_not_fit("it is of another version"))?;
    if let Some(what) = room.lacks(plan) {
        return Err(does_not_fit(what));
    }
    Ok(Running { pins, applied, record, scenario })
}

/// The capacity of the programs of a link, which runs a scenario; `None` for those of another version.
fn room(record: &Record, scenario: &Scenario) -> Option<Room> {
    let rules = [Rule::Background, Rule::Line, Rule::History, Rule::Slack];
    let rule = rules.into_iter().find(|rule| rule.number() == record.rule)?;
    // Changes keep the queues and the service curves.
    let Plan { queues, served, .. } = Plan::with_policy(scenario, &record.policy).ok()?;
    Some(Room { rule, slots: record.slots, queues, served })
}

/// Requests a plan in place of a pending one and returns its number; `None` if the pending one came into effect
/// meanwhile, so that what was checked no longer holds. Everything that may refuse comes before it is withdrawn: a link
/// that runs on as it was keeps the change that takes effect with its next packet.
fn ask(
    pins: &Pins,
    applied: &State,
    record: &Record,
    change: &[u8],
    device: &str,
) -> Result<Option<u32>, LinkError> {
    let text = record.to_text();
    if !pins.holds("about", text.len())? {
        let what = "the scenario is longer than what it has room for";
        return Err(LinkError::DoesNotFit { device: device.into(), what });
    }
    if wanted(pins)? != applied.applied {
        withdraw_pending(pins, applied.applied)?;
        if State::read(pins)?.is_none_or(|state| state.applied != applied.applied) {
            return Ok(None);
        }
    }
    // A number that no program can be looking at.
    let number = applied.applied.wrapping_add(1);
    pins.write("changes", number % CHANGES, change)?;
    pins.write("about", number % CHANGES, text.as_bytes())?;
    pins.write("wanted", 0, &number.to_ne_bytes())?;
    Ok(Some(number))
}

/// Withdraws the change that is not in effect, given the one that is. A program that is about to apply it still does, and
/// has ended afterwards.
fn withdraw_pending(pins: &Pins, applied: u32) -> Result<(), LinkError> {
    pins.write("wanted", 0, &applied.to_ne_bytes())?;
    std::thread::sleep(RUN);
    Ok(())
}

fn await_change(
    netlink: &mut Netlink,
    index: u32,
    pins: &Pins,
    number: u32,
    timeout: Duration,
) -> Result<Option<Change>, LinkError> {
    let is_applied = || Ok(State::read(pins)?.is_some_and(|state| state.applied == number));
    let began = Instant::now();
    loop {
        if is_applied()? {
            return Ok(Some(Change::Done));
        }
        let root = netlink.root(index).map_err(super::kernel("list qdiscs"))?;
        if root.is_none_or(|root| root.queue.waiting_packets == 0) && !is_applied()? {
            return Ok(Some(Change::WithNextPacket));
        }
        if began.elapsed() >= timeout {
            return Ok(None);
        }
        std::thread::sleep(RUN);
    }
}

/// Withdraws a change unless it has come into effect.
fn withdraw(pins: &Pins, number: u32) -> Result<Option<Change>, LinkError> {
    let before = State::read(pins)?.map_or(0, |state| state.applied);
    if before != number {
        withdraw_pending(pins, before)?;
    }
    let applied = State::read(pins)?.is_some_and(|state| state.applied == number);
    Ok(applied.then_some(Change::Done))
}

/// Maps each old flow or class to the new number of the same name, or to the default class.
fn numbers(old: &Scenario, new: &Scenario) -> Vec<u16> {
    let names: Vec<&str> = new.flow_names().collect();
    let other = new.other().0 as u16;
    let number = |name| names.iter().position(|n| *n == name).map_or(other, |n| n as u16);
    old.flow_names().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when waiting packets would be taken to another flow than their own: tried with `old`
    /// and `new` exchanged.
    #[test]
    fn flows_keep_their_names() {
        let flow = |name: &str| {
            format!(
                "[[realtime]]\nname = \"{name}\"\ndeadline = \"50 ms\"\n\
                 envelope = {{ burst = \"400 B\", rate = \"1 kB/s\" }}\n"
            )
        };
        let class = |name: &str| format!("[[best_effort]]\nname = \"{name}\"\nweight = 1\n");
        let read = |parts: &[String]| {
            let text = format!(
                "[link]\nrate = \"10 Mbit/s\"\nmax_packet = \"1500 B\"\n{}",
                parts.concat()
            );
            Scenario::parse(&text, "test").expect("a scenario")
        };
        let old = read(&[flow("a"), flow("b"), class("x"), class("y"), class("z")]);
        let new = read(&[flow("b"), class("z"), class("x")]);
        let other = new.other().0 as u16;
        let names: Vec<&str> = old.flow_names().collect();
        let to = numbers(&old, &new);
        assert_eq!(to.len(), names.len());
        let of = |name| to[names.iter().position(|n| *n == name).expect("a flow")];
        assert_eq!((of("a"), of("b"), of("x"), of("y"), of("z")), (other, 0, 2, other, 1));
    }
}
