//! Another scenario takes over on an interface whose traffic goes on.

use std::time::{Duration, Instant};

use laxity_core::Bytes;
use laxity_scenario::model::Scenario;

use super::load::{self, CHANGES, Room};
use super::netlink::Netlink;
use super::pins::Pins;
use super::record::Record;
use super::{LinkError, Place, State, Wish, record, wanted};
use crate::plan::{Plan, Rule};

/// Longer than any run of a program.
const RUN: Duration = Duration::from_millis(5);

/// How a change came into force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is in force.
    Done,
    /// Nothing was waiting; it is in force from the next packet on.
    WithNextPacket,
}

/// Changes the scenario of a link. Packets that wait are taken along, and none is lost. It happens
/// at an instant at which no real-time packet waits and none is on its way, within `patience`.
///
/// # Errors
/// See [`LinkError`]; the link then runs on as it was.
pub fn set(wish: &Wish<'_>, device: &str, patience: Duration) -> Result<Change, LinkError> {
    let mut place = Place::new(device)?;
    let _lock = place.folder.lock()?;
    let pins = place.pins();
    let applied = settle(&pins)?.ok_or_else(|| place.is_down())?;
    let old = record(&pins)?.filter(|_| applied.attached).ok_or_else(|| place.is_down())?;
    let does_not_fit = |what| LinkError::DoesNotFit { device: device.into(), what };
    let rule = [Rule::Background, Rule::Line, Rule::History, Rule::Slack]
        .into_iter()
        .find(|rule| rule.number() == old.rule)
        .ok_or_else(|| does_not_fit("its programs are of another version"))?;
    let room = Room { rule, slots: old.slots };
    if let Some(what) = room.lacks(wish.plan) {
        return Err(does_not_fit(what));
    }
    let before = Scenario::parse(&old.scenario, "")
        .map_err(|_| does_not_fit("its scenario is of another version"))?;
    // What waits is taken along, so it may block for as long as its own scenario allowed.
    let root = place.root()?;
    let waits = root.is_some_and(|root| root.queue.waiting_packets > 0);
    let waiting = if waits { Bytes(old.longest) } else { before.link.max_packet };
    let mut with_waiting = wish.scenario.clone();
    let longest = waiting.max(wish.scenario.link.max_packet);
    with_waiting.link.max_packet = longest;
    if Plan::with_policy(&with_waiting, wish.policy).is_err() {
        return Err(does_not_fit(
            "best-effort packets that wait may be too long for the new deadlines",
        ));
    }
    let (policy, scenario) = (wish.policy.into(), wish.scenario.to_toml());
    let new = Record { policy, longest: longest.0, scenario, ..old };
    let text = new.to_text();
    if !pins.holds("about", text.len())? {
        return Err(does_not_fit("the scenario is longer than what it has room for"));
    }

    // A number that no program can be looking at.
    let number = wanted(&pins)?.max(applied.applied).wrapping_add(1);
    let change = load::change(wish.plan, &numbers(&before, wish.scenario));
    pins.write("changes", number % CHANGES, &change)?;
    pins.write("about", number % CHANGES, text.as_bytes())?;
    pins.write("wanted", 0, &number.to_ne_bytes())?;
    await_it(&mut place.netlink, place.index, &pins, number, patience)?
        .ok_or_else(|| LinkError::Busy { device: device.into() })
}

/// The state, after a change that a killed command left behind was taken back or came into force.
fn settle(pins: &Pins) -> Result<Option<State>, LinkError> {
    let Some(state) = State::read(pins)? else { return Ok(None) };
    if wanted(pins)? == state.applied {
        return Ok(Some(state));
    }
    pins.write("wanted", 0, &state.applied.to_ne_bytes())?;
    std::thread::sleep(RUN);
    State::read(pins)
}

fn await_it(
    netlink: &mut Netlink,
    index: u32,
    pins: &Pins,
    number: u32,
    patience: Duration,
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
        if began.elapsed() >= patience {
            break;
        }
        std::thread::sleep(RUN);
    }
    let before = State::read(pins)?.map_or(0, |state| state.applied);
    if before != number {
        pins.write("wanted", 0, &before.to_ne_bytes())?;
        std::thread::sleep(RUN);
    }
    Ok(is_applied()?.then_some(Change::Done))
}

/// The new number of each old flow or class, by its name; what has none joins the packets that
/// match nothing.
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
