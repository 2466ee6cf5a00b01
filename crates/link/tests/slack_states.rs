//! All reachable states of small links under the condition of `slack`: queue, buckets, time left
//! on the wire. Best effort may have a packet of any size at every decision, or none; flows send
//! whatever conforms; time goes on until nothing new turns up.
//!
//! The condition is the one by definition; `slack_reference_model.rs` shows that the policy decides
//! alike.

use std::collections::HashSet;

use crate::common::reference_model::ReferenceModel;
use crate::common::{BYTE_PER_NS, admitted, config, flow, leaky, periodic, tighten, tspec};
use laxity_core::{NANOBITS_PER_BYTE, Time};
use laxity_link::config::{LinkConfig, RealtimeFlow};
use laxity_link::police::{Policer, Remaining};

const QUARTER: u64 = BYTE_PER_NS / 4;

#[derive(Clone)]
struct State {
    /// Real-time packets by relative deadline.
    queue: Vec<(u64, u32)>,
    busy: u64,
    policers: Vec<Policer>,
}

type Key = (Vec<(u64, u32)>, u64, Vec<Vec<(i128, u64)>>);

impl State {
    fn remaining(&self, now: u64) -> Vec<Remaining> {
        self.policers.iter().map(|p| p.remaining(Time(now))).collect()
    }

    fn key(&self, now: u64) -> Key {
        let lines = |r: &Remaining| r.lines[..r.count].to_vec();
        (self.queue.clone(), self.busy, self.remaining(now).iter().map(lines).collect())
    }

    /// Every state after some arrivals at `now` of the flows from `k` on.
    fn arrivals(
        &self,
        config: &LinkConfig,
        now: u64,
        k: usize,
        largest: u32,
        into: &mut Vec<State>,
    ) {
        let Some(flow) = config.realtime.get(k) else {
            into.push(self.clone());
            return;
        };
        let most = flow.envelope.max_packet().0 as u32;
        self.arrivals(config, now, k + 1, u32::MAX, into);
        let least = if flow.envelope.lines().is_some() { 1 } else { most };
        for bytes in least..=most.min(largest) {
            if self.policers[k].conforms_at(Time(now), bytes) != Some(Time(now)) {
                continue;
            }
            let mut next = self.clone();
            next.policers[k].take(Time(now), bytes);
            let place = next.queue.partition_point(|(d, _)| *d <= flow.deadline.0);
            next.queue.insert(place, (flow.deadline.0, bytes));
            next.arrivals(config, now, k, bytes, into);
        }
    }

    /// The earliest packet goes on the wire.
    fn serve(mut self) -> Result<State, String> {
        if !self.queue.is_empty() {
            let (deadline, bytes) = self.queue.remove(0);
            if deadline < u64::from(bytes) {
                return Err(format!("{bytes} bytes due in {deadline}"));
            }
            self.busy = bytes.into();
        }
        Ok(self)
    }

    fn tick(mut self) -> Result<State, String> {
        self.busy = self.busy.saturating_sub(1);
        for (deadline, _) in &mut self.queue {
            *deadline = deadline.checked_sub(1).ok_or("waited past its deadline")?;
        }
        Ok(self)
    }
}

/// Whether a best-effort head of these bytes goes.
type Rule<'a> = &'a dyn Fn(&State, u64, u32) -> bool;

/// Visits every reachable state at decisions; the number of states, or how a packet comes late.
fn explore(
    config: &LinkConfig,
    rule: Rule,
    mut refused: impl FnMut(&State, u64, u32),
) -> Result<usize, String> {
    let policers = config.realtime.iter().map(|f| Policer::new(&f.envelope)).collect();
    let start = State { queue: vec![], busy: 0, policers };
    let mut known = HashSet::new();
    // Far enough from zero for the past that policers may look at.
    let mut now = 1_000;
    let mut layer = vec![start];
    while !layer.is_empty() {
        let mut next: Vec<State> = vec![];
        let mut arrived = vec![];
        for state in &layer {
            state.arrivals(config, now, 0, u32::MAX, &mut arrived);
        }
        for state in arrived {
            let mut choices = vec![];
            if state.busy > 0 {
                choices.push(state);
            } else {
                for bytes in 1..=config.max_packet.0 as u32 {
                    if rule(&state, now, bytes) {
                        choices.push(State { busy: bytes.into(), ..state.clone() });
                    } else {
                        refused(&state, now, bytes);
                    }
                }
                choices.push(state.serve().map_err(|e| format!("{e} at {now}"))?);
            }
            for choice in choices {
                let state = choice.tick().map_err(|e| format!("{e} at {now}"))?;
                if known.insert(state.key(now + 1)) {
                    next.push(state);
                }
            }
        }
        now += 1;
        layer = next;
        assert!(known.len() < 3_000_000, "too many states for a test");
    }
    Ok(known.len())
}

fn systems() -> Vec<(Vec<RealtimeFlow>, &'static [u64])> {
    let bucket = || flow(leaky(2, 3, QUARTER), 40);
    let spec = || flow(tspec(2, 2 * QUARTER, 4, QUARTER), 40);
    let clock = || flow(periodic(5, 2, 3), 40);
    let sparse = || flow(leaky(1, 1, QUARTER / 2), 40);
    vec![
        (vec![bucket()], &[0]),
        (vec![bucket()], &[2]),
        (vec![spec()], &[0]),
        (vec![spec()], &[1]),
        (vec![clock()], &[1]),
        (vec![clock(), sparse()], &[0, 0]),
        (vec![sparse(), flow(leaky(2, 2, QUARTER / 2), 40)], &[0, 2]),
        (vec![flow(leaky(1, 2, QUARTER), 40), flow(leaky(3, 3, QUARTER / 2), 40)], &[0, 2]),
    ]
}

fn each_system(always_check: bool, mut visit: impl FnMut(&LinkConfig, &ReferenceModel)) {
    for (realtime, room) in systems() {
        let mut config = config(BYTE_PER_NS, 3, realtime);
        config.blocking = laxity_curve::Blocking::Exact;
        config.options.always_check = always_check;
        assert!(tighten(&mut config));
        for (flow, more) in config.realtime.iter_mut().zip(room) {
            flow.deadline.0 += more;
        }
        assert!(admitted(&config));
        let reference_model = ReferenceModel::new(&config);
        visit(&config, &reference_model);
    }
}

fn slack(reference_model: &ReferenceModel, state: &State, now: u64) -> i128 {
    reference_model.slack_from(&state.remaining(now), &state.queue)
}

/// Fails when the condition leaves out work due at the very end of an interval, half of what flows
/// can still send, or the intervals between queued deadlines; when admission leaves out blocking.
#[test]
fn no_reachable_state_has_a_late_packet() {
    for always_check in [false, true] {
        each_system(always_check, |config, reference_model| {
            let rule = |s: &State, now: u64, bytes: u32| {
                (s.queue.is_empty() && !always_check)
                    || i128::from(bytes) * NANOBITS_PER_BYTE <= slack(reference_model, s, now)
            };
            let states = explore(config, &rule, |_, _, _| {}).unwrap();
            println!("always-check {always_check}: {states} states");
        });
    }
}

/// The admission test by itself, and that it is needed. Fails when admission leaves out blocking,
/// or when it is too strict by twenty bytes.
#[test]
fn background_is_safe_exactly_when_admitted() {
    let mut unsafe_sets = 0;
    each_system(false, |config, _| {
        let background = |s: &State, _: u64, _: u32| s.queue.is_empty();
        explore(config, &background, |_, _, _| {}).unwrap();
        let mut shorter = config.clone();
        shorter.realtime[0].deadline.0 = 1;
        while !admitted(&shorter) {
            shorter.realtime[0].deadline.0 += 1;
        }
        // One for the packet that blocks and starts a whole nanosecond earlier, one for the token
        // buckets that are not whole then.
        if let Some(less) = shorter.realtime[0].deadline.0.checked_sub(3) {
            shorter.realtime[0].deadline.0 = less.max(1);
            unsafe_sets += usize::from(explore(&shorter, &background, |_, _, _| {}).is_err());
        }
    });
    println!("{unsafe_sets} sets of {} miss deadlines 3 ns shorter", systems().len());
    assert_eq!(unsafe_sets, systems().len());
}

/// A condition that is one byte more generous is unsafe. Fails when admission is too strict by
/// twenty bytes: there is room for it then.
#[test]
fn one_more_byte_of_slack_is_unsafe() {
    let mut broken = 0;
    each_system(false, |config, reference_model| {
        let generous = |s: &State, now: u64, bytes: u32| {
            s.queue.is_empty()
                || i128::from(bytes - 1) * NANOBITS_PER_BYTE <= slack(reference_model, s, now)
        };
        broken += usize::from(explore(config, &generous, |_, _, _| {}).is_err());
    });
    println!("{broken} of {} systems miss a deadline with one byte more", systems().len());
    assert!(broken >= 6);
}

/// The claim: a head that the condition refuses could not be sent at that instant without risk.
/// Right after the decision all flows send whatever they may, as early as they may, in whole
/// packets; some packet is late.
fn risky(config: &LinkConfig, state: &State, now: u64, bytes: u32) -> bool {
    let mut state = State { busy: bytes.into(), ..state.clone() };
    for now in now..now + 200 {
        for (k, flow) in config.realtime.iter().enumerate() {
            let most = flow.envelope.max_packet().0 as u32;
            let least = if flow.envelope.lines().is_some() { 1 } else { most };
            for bytes in (least..=most).rev() {
                while state.policers[k].conforms_at(Time(now), bytes) == Some(Time(now)) {
                    state.policers[k].take(Time(now), bytes);
                    let place = state.queue.partition_point(|(d, _)| *d <= flow.deadline.0);
                    state.queue.insert(place, (flow.deadline.0, bytes));
                }
            }
        }
        if state.busy == 0 {
            match state.serve() {
                Ok(next) => state = next,
                Err(_) => return true,
            }
        }
        match state.tick() {
            Ok(next) => state = next,
            Err(_) => return true,
        }
    }
    false
}

/// Where the buckets hold parts of a byte, or less than a packet, the condition counts them and no
/// flow can send them: it is careful by less than one byte a flow (one packet for flows of whole
/// packets), never more.
///
/// Fails when the condition refuses more than it must: with demand counted twice, or for intervals
/// shorter than every deadline.
#[test]
fn every_refused_packet_could_cause_a_miss() {
    each_system(false, |config, reference_model| {
        let rule = |s: &State, now: u64, bytes: u32| {
            s.queue.is_empty()
                || i128::from(bytes) * NANOBITS_PER_BYTE <= slack(reference_model, s, now)
        };
        let part = |f: &RealtimeFlow| match f.envelope.lines() {
            Some(_) => NANOBITS_PER_BYTE,
            None => i128::from(f.envelope.max_packet().0) * NANOBITS_PER_BYTE,
        };
        let parts: i128 = config.realtime.iter().map(part).sum();
        let (mut risks, mut careful, mut most) = (0, 0, 0);
        explore(config, &rule, |state, now, bytes| {
            if risky(config, state, now, bytes) {
                risks += 1;
                return;
            }
            careful += 1;
            let missing =
                i128::from(bytes) * NANOBITS_PER_BYTE - slack(reference_model, state, now);
            most = most.max(missing);
            assert!(missing < parts, "{bytes} at {:?}: {missing}", state.key(now));
        })
        .unwrap();
        let byte = NANOBITS_PER_BYTE as f64;
        println!("{risks} refusals needed, {careful} careful by at most {} B", most as f64 / byte);
        assert!(risks > 3 * careful);
    });
}
