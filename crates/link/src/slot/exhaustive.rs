//! Small links on which everything that conforming flows can do happens, with best effort of two
//! flow queues, drops by the AQM at every decision and other drops at every instant.

use alloc::{vec, vec::Vec};

use laxity_core::Time;
use laxity_curve::{Blocking, Guarantee};

use super::driver::{POLICIES, Step, build, flow, late, link, periodic, run, tighten};
use crate::config::{LinkConfig, RealtimeFlow, Release};
use crate::police::Policer;

/// All that a flow may send before `horizon`, at most `most` packets.
fn conforming(real: &RealtimeFlow, k: u32, horizon: u64, most: usize) -> Vec<Vec<Step>> {
    let (mut all, mut from) = (vec![], 0);
    all.push((vec![], Policer::new(&real.envelope), 0));
    let largest = real.envelope.max_packet().0 as u32;
    let least = if real.envelope.lines().is_some() { 1 } else { largest };
    for _ in 0..most {
        let end = all.len();
        for i in from..end {
            for at in all[i].2..horizon {
                for bytes in least..=largest {
                    let (mut steps, mut policer, _): (Vec<Step>, _, _) = all[i].clone();
                    if policer.conforms_at(Time(at), bytes) == Some(Time(at)) {
                        policer.take(Time(at), bytes);
                        steps.push(Step::Arrival { at, flow: k, bytes, key: 0 });
                        all.push((steps, policer, at));
                    }
                }
            }
        }
        from = end;
    }
    all.into_iter().map(|(steps, ..)| steps).collect()
}

/// Every pattern of `count` best-effort packets of 1 or `largest` bytes in two flow queues.
fn best_effort(k: u32, largest: u32, horizon: u64, count: usize) -> Vec<Vec<Step>> {
    let mut all = vec![vec![]];
    for _ in 0..count {
        let mut longer = vec![];
        for steps in &all {
            let from = steps.last().map_or(0, Step::at);
            for at in from..horizon {
                for (bytes, key) in [(1, 1), (largest, 1), (1, 2), (largest, 2)] {
                    let mut steps: Vec<Step> = steps.clone();
                    steps.push(Step::Arrival { at, flow: k, bytes, key });
                    longer.push(steps);
                }
            }
        }
        all = longer;
    }
    all
}

fn scopes() -> Vec<(Vec<RealtimeFlow>, u64, usize)> {
    vec![
        (vec![flow(3, (1, 4), 60, 2)], 3, 3),
        (vec![flow(2, (1, 4), 60, 2)], 4, 3),
        (vec![periodic(5, 2, 3, 60)], 3, 4),
        (vec![flow(1, (1, 8), 60, 1), flow(3, (1, 8), 60, 3)], 3, 2),
    ]
}

fn explore(change: impl Fn(&mut LinkConfig)) -> usize {
    let mut count = 0;
    for (realtime, largest, packets) in scopes() {
        let mut config = link(realtime, largest, Blocking::Paper);
        change(&mut config);
        assert!(tighten(&mut config));
        let two = config.realtime.len() > 1;
        let horizon = if two { 4 } else { 6 };
        let sent_by = |k: usize| match config.realtime.get(k) {
            Some(real) => conforming(real, k as u32, horizon, packets),
            None => vec![vec![]],
        };
        let (first, second) = (sent_by(0), sent_by(1));
        let flow = config.realtime.len() as u32;
        let mut best = best_effort(flow, largest as u32, 3, 2);
        best.extend(best_effort(flow, largest as u32, 2, 3).into_iter().step_by(5));
        for name in POLICIES {
            let Some(mut policy) = build(name, &config) else { continue };
            let mut base = 0;
            let mut play = |steps: &[Step], script: u64| {
                policy.script(script);
                let (sent, dropped) = run(&mut *policy, base, steps);
                let late = late(base, &sent);
                assert!(late.is_none(), "{name}: {late:?}\n{config:#?}\n{steps:?} {script:b}");
                let arrivals = steps.iter().filter(|s| matches!(s, Step::Arrival { .. })).count();
                let discards = steps.len() - arrivals;
                assert!(sent.len() + dropped <= arrivals);
                assert!(sent.len() + dropped + discards >= arrivals, "lost: {steps:?}");
                // Long enough for all buckets to fill again.
                base += sent.last().map_or(0, |(_, end, _)| *end) + 64;
                count += 1;
            };
            let mut turn = 0;
            for a in &first {
                for b in &second {
                    for c in &best {
                        let mut steps = [&a[..], b, c].concat();
                        steps.sort_by_key(Step::at);
                        // Scripts and drops take turns, each with a different part of the traces.
                        turn += 1;
                        play(&steps, turn % 8);
                        play(&steps, turn / 3 % 16);
                        let at = turn % (horizon + 2);
                        steps.push(Step::Discard { at });
                        steps.sort_by_key(Step::at);
                        play(&steps, turn / 8 % 2);
                    }
                }
            }
        }
    }
    count
}

// Fails when a larger candidate keeps the deadline, when what follows a drop is not asked for, or
// when a slot outlives its last packet.
#[test]
fn no_realtime_packet_is_late_with_exact_blocking() {
    let count = explore(|config| config.blocking = Blocking::Exact);
    std::println!("{count} traces");
    assert!(count > 800_000);
}

// The same.
#[test]
fn no_realtime_packet_is_late_with_the_papers_blocking() {
    let count = explore(|config| config.release = Release::HeadOfLine);
    std::println!("{count} traces");
    assert!(count > 800_000);
}

// The same, with the whole curve.
#[test]
fn no_realtime_packet_is_late_with_all_deadlines() {
    let count = explore(|config| {
        config.guarantee = Guarantee::All;
        config.blocking = Blocking::Exact;
    });
    std::println!("{count} traces");
    assert!(count > 800_000);
}

// Deadlines of candidates that change are never earlier than Algorithm 1 has them from its
// definition, never fall, and are those of the definition while as much was sent as was assigned.
// Fails when `debt` is forgotten, or counted twice.
#[test]
fn deadlines_of_exact_are_safe_and_do_not_fall() {
    use super::driver::{Rng, Textbook};
    use crate::assign::{Assigner as _, Exact};
    let (mut equal, mut later) = (0, 0);
    for seed in 0..300 {
        let mut rng = Rng(seed);
        let (a, b) = (flow(rng.range(2, 9), (1, 4), 60, 2), periodic(rng.range(9, 20), 3, 5, 60));
        let mut config = link(vec![a, b], 4, Blocking::Exact);
        assert!(tighten(&mut config));
        let curve = config.residual().unwrap().service(config.guarantee).unwrap();
        let (mut exact, mut textbook) = (Exact::new(&curve, 128), Textbook::new(curve));
        let (mut release, mut newest, mut lowered) = (0, Time::ZERO, false);
        for _ in 0..100 {
            release += if rng.range(0, 2) == 0 { rng.range(0, 9) } else { 0 };
            let at = Time(release);
            let mut wire = rng.range(1, 4) as u32;
            let mut both = (exact.assign(at, wire), textbook.assign(at, wire));
            let raises = rng.range(0, 2);
            for step in 0..=raises {
                if step > 0 {
                    let larger = wire + rng.range(1, 3) as u32;
                    both = (exact.raise(at, wire, larger), textbook.raise(at, wire, larger));
                    wire = larger;
                }
                assert!(both.0 >= both.1 && both.0 >= newest, "seed {seed}: {both:?} {newest}");
                assert!(lowered || both.0 == both.1, "seed {seed}: {both:?}");
                equal += usize::from(both.0 == both.1);
                later += usize::from(both.0 > both.1);
                newest = both.0;
            }
            if rng.range(0, 9) == 0 {
                let sent = rng.range(0, u64::from(wire)) as u32;
                if sent < wire {
                    exact.settle(at, wire, sent);
                    textbook.settle(at, wire, sent);
                    lowered = true;
                }
            }
        }
    }
    assert!(equal > 20_000 && later > 1_000, "{equal} {later}");
}

/// Candidates of an assigner that are raised, sent in part and dropped: its deadlines do not fall.
fn deadlines_do_not_fall(mut assigner: impl crate::assign::Assigner) {
    let mut rng = super::driver::Rng(3);
    let (mut release, mut newest) = (0, Time::ZERO);
    for _ in 0..20_000 {
        release += if rng.range(0, 2) == 0 { rng.range(0, 30) } else { 0 };
        let wire = rng.range(1, 900) as u32;
        let mut deadline = assigner.assign(Time(release), wire);
        assert!(deadline >= newest, "{newest} {deadline}");
        let larger = wire + rng.range(1, 900) as u32;
        if rng.range(0, 1) == 0 {
            let raised = assigner.raise(Time(release), wire, larger);
            assert!(raised >= deadline, "{deadline} {raised}");
            deadline = raised;
            let sent = rng.range(0, u64::from(wire)) as u32;
            assigner.settle(Time(release), larger, sent);
        } else if rng.range(0, 3) == 0 {
            assigner.settle(Time(release), wire, 0);
        }
        newest = deadline;
    }
}

// Fails when a rule forgets the deadline of a candidate of which less was sent.
#[test]
fn deadlines_of_lines_do_not_fall() {
    use crate::assign::{Algorithm3, Shifted, TotalBandwidthServer};
    use laxity_core::{Rate, Span};
    use laxity_curve::{ShiftedLine, TwoSegment};
    let slope = Rate(super::driver::BYTE_PER_NS / 3);
    deadlines_do_not_fall(TotalBandwidthServer::new(slope));
    deadlines_do_not_fall(Shifted::new(&ShiftedLine { slope, shift: Span(500) }));
    let two = TwoSegment { first: Rate(slope.0 / 2), second: slope, corner: Span(2000) };
    deadlines_do_not_fall(Algorithm3::new(&two));
}
