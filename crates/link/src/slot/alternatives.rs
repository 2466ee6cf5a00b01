//! Rules that differ from the slot's in one point make a real-time packet late, each on a link and a
//! trace on which the slot's does not.

use alloc::{vec, vec::Vec};

use laxity_curve::Blocking;

use super::Variant;
use super::driver::{Rng, Step, admitted, build, flow, late, link, periodic, run, tighten};
use crate::config::{LinkConfig, RealtimeFlow};

/// Best effort of one flow queue.
fn best_effort(config: &LinkConfig, at: u64, bytes: u32) -> Step {
    Step::Arrival { at, flow: config.realtime.len() as u32, bytes, key: 1 }
}

fn realtime(at: u64, flow: u32, bytes: u32) -> Step {
    Step::Arrival { at, flow, bytes, key: 0 }
}

/// By how much the first late packet is late under Algorithm 1 with a variant.
fn lateness(config: &LinkConfig, variant: Variant, script: u64, steps: &[Step]) -> Option<u64> {
    let mut policy = build("textbook", config)?;
    policy.set_variant(variant);
    policy.script(script);
    let (sent, _) = run(&mut *policy, 0, steps);
    late(0, &sent).map(|(_, end, d)| end - d.deadline.0)
}

/// Late with the variant, in time with the slot's rule.
fn only_the_variant_is_late(
    realtime: Vec<RealtimeFlow>,
    largest: u64,
    variant: Variant,
    script: u64,
    steps: impl Fn(&LinkConfig) -> Vec<Step>,
) {
    let mut found = 0;
    for blocking in [Blocking::Exact, Blocking::Paper] {
        let config = link(realtime.clone(), largest, blocking);
        if !admitted(&config) {
            std::println!("{variant:?}: {blocking:?} not admitted");
            continue;
        }
        let steps = steps(&config);
        assert_eq!(lateness(&config, Variant::Safe, script, &steps), None);
        let late = lateness(&config, variant, script, &steps);
        std::println!("{variant:?}: {blocking:?} late by {late:?}");
        found += usize::from(late.is_some());
    }
    assert!(found > 0, "{variant:?}");
}

// At 2 the candidate of 3 bytes is dropped for one of 4. Fails when a larger candidate does not
// raise the deadline.
#[test]
fn a_larger_candidate_must_raise_the_deadline() {
    let flows = vec![flow(2, (1, 4), 6, 2)];
    only_the_variant_is_late(flows, 4, Variant::KeepsWhenLarger, 0, |config| {
        vec![
            best_effort(config, 1, 1),
            best_effort(config, 1, 3),
            best_effort(config, 1, 4),
            realtime(1, 0, 2),
            Step::Discard { at: 2 },
        ]
    });
}

// The AQM drops 2 bytes after a yes, and 5 bytes follow. Fails when they are not asked for.
#[test]
fn the_successor_of_a_drop_must_be_asked_for() {
    let flows = vec![flow(2, (1, 6), 7, 2)];
    only_the_variant_is_late(flows, 5, Variant::Unasked, 0b10, |config| {
        vec![
            best_effort(config, 0, 1),
            best_effort(config, 0, 2),
            best_effort(config, 0, 5),
            realtime(0, 0, 2),
        ]
    });
}

// Fails when the last best-effort packet takes the history with it.
#[test]
fn a_drop_must_not_reset_the_history() {
    let flows = vec![flow(8, (1, 2), 9, 4)];
    only_the_variant_is_late(flows, 1, Variant::ResetsOnDrop, 0, |config| {
        vec![
            best_effort(config, 0, 1),
            realtime(0, 0, 4),
            realtime(0, 0, 4),
            best_effort(config, 1, 1),
            Step::Discard { at: 1 },
            best_effort(config, 5, 1),
        ]
    });
}

// The trap: lowering the deadline of pending work. It is rare among random links and needs three
// flows; this one is near to the smallest case of a search over byte-wise demands. At 14 the first
// candidate is dropped, at 21 a smaller one follows with an earlier deadline. Fails when a smaller
// candidate lowers the deadline.
#[test]
fn a_smaller_candidate_must_not_lower_the_deadline() {
    let flows = vec![flow(7, (1, 29), 10, 3), flow(4, (1, 66), 21, 2), flow(7, (1, 38), 23, 3)];
    only_the_variant_is_late(flows, 3, Variant::LowersWhenSmaller, 0, |config| {
        vec![
            realtime(5, 1, 2),
            realtime(5, 1, 2),
            realtime(9, 2, 3),
            realtime(9, 2, 3),
            best_effort(config, 10, 2),
            best_effort(config, 10, 2),
            best_effort(config, 10, 3),
            best_effort(config, 10, 2),
            Step::Discard { at: 14 },
            realtime(15, 0, 3),
            realtime(15, 0, 2),
            realtime(15, 0, 2),
            Step::Discard { at: 21 },
        ]
    });
}

/// A link of one to three flows, with deadlines as short as admission allows.
fn random_link(rng: &mut Rng) -> Option<LinkConfig> {
    let count = rng.range(1, 3);
    let one = |_| {
        let packet = rng.range(1, 4);
        if rng.range(0, 3) == 0 {
            return periodic(rng.range(packet * 2, packet * 8), packet, rng.range(0, 9), 60);
        }
        let burst = packet + rng.range(0, 6);
        flow(burst, (1, rng.range(2, 8)), 60, packet)
    };
    let flows: Vec<_> = (0..count).map(one).collect();
    let blocking = if rng.range(0, 1) == 0 { Blocking::Exact } else { Blocking::Paper };
    let mut config = link(flows, rng.range(1, 5), blocking);
    tighten(&mut config).then_some(config)
}

/// Traffic of conforming flows, with best effort of three flow queues and drops between.
pub(super) fn random_steps(rng: &mut Rng, config: &LinkConfig) -> Vec<Step> {
    use crate::police::Policer;
    use laxity_core::Time;
    let mut steps = Vec::new();
    for (k, real) in config.realtime.iter().enumerate() {
        let (mut policer, mut now) = (Policer::new(&real.envelope), rng.range(0, 12));
        let largest = real.envelope.max_packet().0;
        for _ in 0..rng.range(1, 8) {
            let whole = real.envelope.lines().is_none() || rng.range(0, 2) > 0;
            let bytes = if whole { largest } else { rng.range(1, largest) } as u32;
            let Some(at) = policer.conforms_at(Time(now), bytes) else { break };
            policer.take(at, bytes);
            steps.push(realtime(at.0, k as u32, bytes));
            now = at.0 + if rng.range(0, 3) == 0 { rng.range(0, 12) } else { 0 };
        }
    }
    let mut now = rng.range(0, 8);
    for _ in 0..rng.range(2, 9) {
        let (bytes, key) = (rng.range(1, config.max_packet.0) as u32, rng.range(1, 3));
        let flow = config.realtime.len() as u32;
        steps.push(Step::Arrival { at: now, flow, bytes, key });
        if rng.range(0, 2) == 0 {
            now += rng.range(0, 10);
        }
    }
    for _ in 0..rng.range(0, 3) {
        steps.push(Step::Discard { at: rng.range(0, 30) });
    }
    steps.sort_by_key(Step::at);
    steps
}

// Fails when one of the three common faults is not found by random links, or the slot's rule is late
// on any of them, under any assigner.
#[test]
fn random_links_find_the_faults_and_none_in_the_rule() {
    let mut rng = Rng(1);
    let variants = [Variant::KeepsWhenLarger, Variant::Unasked, Variant::ResetsOnDrop];
    let (mut links, mut late_links) = (0, [0; 3]);
    while links < 6_000 {
        let Some(config) = random_link(&mut rng) else { continue };
        links += 1;
        let mut found = [false; 3];
        for _ in 0..6 {
            let (steps, script) = (random_steps(&mut rng, &config), rng.draw() & rng.draw());
            for name in super::driver::POLICIES {
                let Some(mut policy) = build(name, &config) else { continue };
                policy.script(script);
                let (sent, _) = run(&mut *policy, 0, &steps);
                let late = late(0, &sent);
                assert!(late.is_none(), "{name}: {late:?}\n{config:#?}\n{steps:?} {script:b}");
            }
            for (variant, found) in variants.iter().zip(&mut found) {
                *found |= lateness(&config, *variant, script, &steps).is_some();
            }
        }
        for (all, found) in late_links.iter_mut().zip(found) {
            *all += usize::from(found);
        }
    }
    std::println!("{late_links:?} of {links} links: {variants:?}");
    assert!(late_links.iter().all(|n| *n > 0), "{late_links:?}");
}
