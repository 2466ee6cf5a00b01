//! The numbers of the papers' examples, start-time fair queueing as a special case, nobody punished.

use alloc::collections::VecDeque;
use alloc::{string::String, vec, vec::Vec};

use laxity_core::{Bytes, Rate, Span, Time, Weight};
use laxity_curve::service::ServiceCurve;
use laxity_curve::{Blocking, Guarantee};

mod reference;

use super::Fsc;
use crate::Wire;
use crate::config::{
    BestEffortClass, FairQueue, FscOrder, Group, LinkConfig, LinkConfigError, Options, Release,
    Sharing,
};

const BOTH: [FscOrder; 2] = [FscOrder::Finish, FscOrder::Start];

/// A link of this rate without real time.
fn link(rate: u64, classes: &[Sharing]) -> LinkConfig {
    let class = |sharing: &Sharing| BestEffortClass {
        sharing: sharing.clone(),
        ..BestEffortClass::new(Weight::ONE, None)
    };
    LinkConfig {
        rate: Rate(rate),
        max_packet: Bytes(1500),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime: vec![],
        best_effort: classes.iter().map(class).collect(),
        groups: vec![],
        buffer: None,
        fair_queue: FairQueue::Fsc(FscOrder::Finish),
        blocking: Blocking::Paper,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 0,
        options: Options::default(),
    }
}

fn two_piece(m1: u64, d_ms: u64, m2: u64) -> Sharing {
    let curve = ServiceCurve::two_piece(Rate(m1), Span::from_millis(d_ms), Rate(m2)).unwrap();
    Sharing { curve: Some(curve), ..Sharing::default() }
}

fn grouped(group: usize) -> Sharing {
    Sharing { group: Some(group), ..Sharing::default() }
}

fn line(rate: u64) -> Sharing {
    two_piece(rate, 0, rate)
}

/// A packet: arrival, class, size.
type Arrival = (u64, usize, u32);

/// A packet that was sent: class, start, end, arrival, size.
type Sent = (usize, u64, u64, u64, u32);

/// Sends everything over a link of `num / den` bytes a ns; arrivals come before decisions of the
/// same instant.
fn run(fsc: &mut Fsc, classes: usize, (num, den): (u64, u64), arrivals: &[Arrival]) -> Vec<Sent> {
    let mut queues: Vec<VecDeque<(u64, u32)>> = vec![VecDeque::new(); classes];
    let (mut sent, mut next, mut now) = (vec![], 0, 0);
    loop {
        while let Some((at, class, size)) = arrivals.get(next).filter(|a| a.0 <= now) {
            queues[*class].push_back((*at, *size));
            fsc.add(*class, *size);
            fsc.set(Time(*at), *class, queues[*class].front().map(|p| p.1));
            next += 1;
        }
        if queues.iter().all(VecDeque::is_empty) {
            fsc.forget();
        }
        // An arrival during a transmission is seen at its own instant, in order.
        if let Some(class) = fsc.winner(Time(now)) {
            let (arrival, size) = queues[class].pop_front().unwrap();
            fsc.serve(Time(now), class, size);
            fsc.subtract(class, size);
            fsc.set(Time(now), class, queues[class].front().map(|p| p.1));
            let end = now + (u64::from(size) * den).div_ceil(num);
            sent.push((class, now, end, arrival, size));
            now = end;
        } else {
            let arrival = arrivals.get(next).map(|a| a.0);
            let limit = fsc.next_event().map(|t| t.0);
            let Some(at) = arrival.into_iter().chain(limit).min() else { return sent };
            now = at;
        }
    }
}

/// Telnet, ftp and mail over 10 Mbit/s.
fn three_classes() -> LinkConfig {
    link(10_000_000, &[two_piece(8_000_000, 2, 800_000), line(4_800_000), line(2_400_000)])
}

fn three_classes_traffic() -> Vec<Arrival> {
    let mut arrivals = vec![];
    let mut add = |n, at: u64, class, size| {
        arrivals.extend((0..n).map(|_| (at * 1_000_000, class, size)));
    };
    add(10, 0, 1, 1500);
    add(8, 0, 2, 1000);
    add(4, 2, 0, 200);
    add(3, 9, 0, 200);
    add(2, 12, 2, 500);
    add(3, 15, 0, 400);
    arrivals
}

fn letters(sent: &[Sent]) -> String {
    sent.iter().map(|s| ['t', 'f', 'm'][s.0]).collect()
}

// Fails when an activation takes the least or the greatest start of the others, or a start is not
// computed again when a packet is sent.
#[test]
fn packets_go_in_the_order_of_the_example() {
    let config = three_classes();
    for (order, expected) in [
        (FscOrder::Finish, "fmttttfmfmfftttmfmfmftttfmfmmm"),
        (FscOrder::Start, "fmftttmtfmffmtttfmfmftfmttfmmm"),
    ] {
        let mut fsc = Fsc::new(&config, order).unwrap();
        let sent = run(&mut fsc, 3, (1, 800), &three_classes_traffic());
        assert_eq!(letters(&sent), expected, "{order:?}");
    }
}

// Fails when a group does not share by its own curve and work, or equal starts go to the class that
// is listed later.
#[test]
fn a_group_shares_as_one_class() {
    // ftp and mail 2:1 in one group, which shares with telnet 1:1.
    let mut config = link(10_000_000, &[grouped(0), grouped(0), Sharing::default()]);
    config.groups = vec![Group { weight: Weight::ONE, sharing: Sharing::default() }];
    (config.best_effort[0].weight, config.best_effort[1].weight) = (Weight(2), Weight(1));
    let mut fsc = Fsc::new(&config, FscOrder::Start).unwrap();
    let mut traffic = three_classes_traffic();
    for (_, class, _) in &mut traffic {
        *class = [2, 0, 1][*class];
    }
    let sent = run(&mut fsc, 3, (1, 800), &traffic);
    let letters: String = sent.iter().map(|s| ['f', 'm', 't'][s.0]).collect();
    assert_eq!(letters, "fmfttttmfmffmtttfmfmfftttmfmmm");
}

fn delays(sent: &[Sent], class: usize) -> impl Iterator<Item = u64> {
    sent.iter().filter(move |s| s.0 == class).map(|s| s.2 - s.3)
}

// What `finish` is the default for. Fails when a fresh class does not use its steep piece.
#[test]
fn a_fresh_steep_class_waits_longer_by_starts() {
    let config = three_classes();
    let worst = BOTH.map(|order| {
        let mut fsc = Fsc::new(&config, order).unwrap();
        delays(&run(&mut fsc, 3, (1, 800), &three_classes_traffic()), 0).max().unwrap()
    });
    assert_eq!(worst, [1_480_000, 3_480_000]);
}

/// Numbers from a fixed sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Classes with lines at 1, 1/2 and 1/3 of a byte a ns.
fn lines() -> LinkConfig {
    link(16_000_000_000, &[line(8_000_000_000), line(4_000_000_000), third()])
}

fn third() -> Sharing {
    let points = [(Span(3_000_000_000), Bytes(1_000_000_000))];
    let curve = ServiceCurve::points(&points, Rate(2_666_666_667)).unwrap();
    Sharing { curve: Some(curve), ..Sharing::default() }
}

/// Checks the bound of start-time fair queueing between each two classes in each interval in which
/// both wait: service for the weight, which is a time, differs by at most one largest packet each.
/// A third class counts by half where its packets take longer, since a class begins in the middle
/// between the others.
fn shares_as_start_time_fair_queueing(arrivals: &[Arrival]) {
    let mut fsc = Fsc::new(&lines(), FscOrder::Start).unwrap();
    let sent = run(&mut fsc, 3, (2, 1), arrivals);
    assert_eq!(sent.len(), arrivals.len());
    let cost = |class: usize, size: u32| i128::from(size) * [1, 2, 3][class];
    let largest = |class| arrivals.iter().filter(|a| a.1 == class).map(|a| cost(class, a.2)).max();
    for (i, j) in [(0, 1), (0, 2), (1, 2)] {
        let middle = (0..3).filter_map(largest).max().unwrap() / 2;
        let (Some(a), Some(b)) = (largest(i), largest(j)) else { continue };
        let (a, b) = (a.max(middle), b.max(middle));
        let (mut lead, mut least, mut most) = (0, 0, 0);
        for (k, s) in sent.iter().enumerate() {
            let waits = |c, from: usize| sent[from..].iter().any(|l| l.0 == c && l.3 <= s.1);
            if waits(i, k) && waits(j, k) {
                lead += match s.0 {
                    class if class == i => cost(i, s.4),
                    class if class == j => -cost(j, s.4),
                    _ => 0,
                };
                (least, most) = (lead.min(least), lead.max(most));
                assert!(most - least <= a + b, "classes {i}, {j}: {arrivals:?}");
            }
            // A class that sends its last packet is activated again by its next one.
            if !(waits(i, k + 1) && waits(j, k + 1)) {
                (lead, least, most) = (0, 0, 0);
            }
        }
    }
}

// Fails when an activation takes the greatest start of the others, or the start is not the greatest
// of all anchors.
#[test]
fn lines_by_starts_are_start_time_fair_queueing() {
    // All sets of six packets of 1 or 3 bytes that come two at a time, 0 or 2 ns apart.
    for code in 0u64..(6 * 6 * 6 * 6 * 6 * 6) {
        let packet = |k: u32| {
            let digit = code / 6u64.pow(k) % 6;
            (u64::from(k / 2) * 2 * (code % 2), (digit % 3) as usize, [1, 3][(digit / 3) as usize])
        };
        shares_as_start_time_fair_queueing(&(0..6).map(packet).collect::<Vec<_>>());
    }
    for seed in 0..300 {
        let mut random = Random(seed);
        let mut at = 0;
        let arrivals: Vec<Arrival> = (0..120)
            .map(|_| {
                at += random.below(3) * random.below(40);
                (at, random.below(3) as usize, 1 + random.below(60) as u32)
            })
            .collect();
        shares_as_start_time_fair_queueing(&arrivals);
    }
}

// Fails when a class begins at 0, or a start is not computed again when a packet is sent.
#[test]
fn bandwidth_that_others_left_costs_a_class_nothing() {
    // One class has the link alone for 100 ms; the other returns with a backlog.
    let config = link(10_000_000, &[two_piece(8_000_000, 5, 5_000_000), line(5_000_000)]);
    let mut arrivals: Vec<Arrival> = (0..400).map(|_| (0, 0, 1000)).collect();
    arrivals.extend((0..100).map(|_| (100_000_000, 1, 1000)));
    for order in BOTH {
        let mut fsc = Fsc::new(&config, order).unwrap();
        let sent = run(&mut fsc, 2, (1, 800), &arrivals);
        let together = sent.iter().skip_while(|s| s.1 < 100_000_000);
        let mut first = 0;
        for (n, s) in together.take(150).enumerate() {
            first += u64::from(s.0 == 0);
            let half = (n as u64).div_ceil(2);
            assert!(first + 1 >= half && first <= half + 2, "{order:?}: {first} of {n}");
        }
    }
}

// The burst of a curve returns when best effort is idle, as a real-time service curve would have it.
// Fails when nothing is forgotten: then the second packets of a class go by its slow piece.
#[test]
fn curves_begin_again_once_nothing_waits() {
    let config = link(10_000_000, &[two_piece(9_000_000, 3, 100_000), line(5_000_000)]);
    let burst = |at: u64| {
        let steep = (0..3).map(move |_| (at, 0, 1000));
        steep.chain((0..6).map(move |_| (at, 1, 1000)))
    };
    let arrivals: Vec<Arrival> = burst(0).chain(burst(20_000_000)).collect();
    let mut fsc = Fsc::new(&config, FscOrder::Finish).unwrap();
    let sent = run(&mut fsc, 2, (1, 800), &arrivals);
    let classes: Vec<usize> = sent.iter().map(|s| s.0).collect();
    assert_eq!(classes[..9], classes[9..]);
}

fn limited(rate: u64) -> Sharing {
    Sharing { limit: line(rate).curve, ..Sharing::default() }
}

// Fails when a limit is forgotten with the virtual times, when it counts from the last packet
// alone, or when the link waits for a limited class although another one waits.
#[test]
fn a_limited_class_has_its_rate_at_most() {
    // 1 Mbit/s: a packet of 1000 bytes each 8 ms, whether they wait together or come one by one.
    for apart in [0, 4_000_000] {
        let mut config = link(10_000_000, &[limited(1_000_000), Sharing::default()]);
        for order in BOTH {
            config.fair_queue = FairQueue::Fsc(order);
            let mut arrivals: Vec<Arrival> = (0..10).map(|k| (k * apart, 0, 1000)).collect();
            let mut fsc = Fsc::new(&config, order).unwrap();
            let sent = run(&mut fsc, 2, (1, 800), &arrivals);
            let starts: Vec<u64> = sent.iter().map(|s| s.1).collect();
            assert_eq!(starts, (0..10).map(|k| k * 8_000_000).collect::<Vec<_>>());
            arrivals.extend((0..40).map(|_| (0, 1, 1000)));
            arrivals.sort_by_key(|a| a.0);
            let mut fsc = Fsc::new(&config, order).unwrap();
            let sent = run(&mut fsc, 2, (1, 800), &arrivals);
            let other = sent.iter().filter(|s| s.0 == 1).map(|s| s.2).max().unwrap();
            assert!(other <= 800_000 * 45, "{other}");
        }
    }
}

// Fails when a limit of a group binds one of its classes only.
#[test]
fn a_limited_group_holds_back_all_of_its_classes() {
    let mut config = link(10_000_000, &[grouped(0), grouped(0)]);
    config.groups = vec![Group { weight: Weight::ONE, sharing: limited(2_000_000) }];
    let mut fsc = Fsc::new(&config, FscOrder::Finish).unwrap();
    let arrivals: Vec<Arrival> = (0..20).map(|k| (0, k % 2, 1000)).collect();
    let sent = run(&mut fsc, 2, (1, 800), &arrivals);
    let starts: Vec<u64> = sent.iter().map(|s| s.1).collect();
    assert_eq!(starts, (0..20).map(|k| k * 4_000_000).collect::<Vec<_>>());
    let classes: Vec<usize> = sent.iter().map(|s| s.0).collect();
    assert_eq!(classes, (0..20).map(|k| k % 2).collect::<Vec<_>>());
}

// Fails without the checks of `parents`; a cycle then never ends.
#[test]
fn groups_must_form_a_tree() {
    let group = |above: Option<usize>| Group {
        weight: Weight::ONE,
        sharing: Sharing { group: above, ..Sharing::default() },
    };
    let refused = |class: Option<usize>, groups: &[Option<usize>]| {
        let mut config = link(8_000_000, &[Sharing { group: class, ..Sharing::default() }]);
        config.groups = groups.iter().map(|above| group(*above)).collect();
        Fsc::new(&config, FscOrder::Finish).err()
    };
    assert_eq!(refused(Some(1), &[None]), Some(LinkConfigError::UnknownGroup { group: 1 }));
    assert_eq!(refused(None, &[Some(7)]), Some(LinkConfigError::UnknownGroup { group: 7 }));
    assert_eq!(refused(None, &[Some(0)]), Some(LinkConfigError::GroupCycle { group: 0 }));
    let ring = [Some(1), Some(2), Some(1)];
    assert_eq!(refused(Some(0), &ring), Some(LinkConfigError::GroupCycle { group: 1 }));
    let chain = |n: usize| (0..n).map(|k| (k + 1 < n).then_some(k + 1)).collect::<Vec<_>>();
    assert_eq!(refused(Some(0), &chain(Group::MAX_DEPTH)), None);
    let deep = refused(Some(0), &chain(Group::MAX_DEPTH + 1));
    assert_eq!(deep, Some(LinkConfigError::GroupDepth { group: Group::MAX_DEPTH }));
}

/// A random curve: a line, two pieces either way, a latency, or points with flats and jumps.
fn random_curve(random: &mut Random) -> ServiceCurve {
    let rate = |random: &mut Random| 1_000_000 * (1 + random.below(9));
    let curve = match random.below(4) {
        0 => ServiceCurve::rate_latency(Rate(rate(random)), Span(random.below(4_000_000))),
        1 | 2 => {
            let (m1, d) = (random.below(2) * rate(random), Span(random.below(4_000_000)));
            ServiceCurve::two_piece(Rate(m1), d, Rate(rate(random)))
        }
        _ => {
            let (mut at, mut bytes) = (0, 0);
            let points: Vec<_> = (0..1 + random.below(4))
                .map(|k| {
                    at += random.below(3) * 500_000 + u64::from(k == 0);
                    bytes += random.below(3) * 700;
                    (Span(at), Bytes(bytes))
                })
                .collect();
            ServiceCurve::points(&points, Rate(rate(random)))
        }
    };
    curve.unwrap_or_else(|_| ServiceCurve::rate_latency(Rate(rate(random)), Span(0)).unwrap())
}

fn random_tree(random: &mut Random) -> LinkConfig {
    let groups = random.below(4) as usize;
    let mut config = link(10_000_000, &[]);
    let sharing = |random: &mut Random, below: usize| Sharing {
        curve: (random.below(3) > 0).then(|| random_curve(random)),
        limit: (random.below(5) == 0).then(|| random_curve(random)),
        group: (below > 0 && random.below(3) > 0).then(|| random.below(below as u64) as usize),
    };
    for index in 0..groups {
        let (weight, sharing) = (Weight(1 + random.below(5) as u32), sharing(random, index));
        config.groups.push(Group { weight, sharing });
    }
    for _ in 0..2 + random.below(4) {
        let weight = Weight(1 + random.below(5) as u32);
        let sharing = sharing(random, groups);
        config.best_effort.push(BestEffortClass { sharing, ..BestEffortClass::new(weight, None) });
    }
    config
}

// The definition decides alike, packet by packet. Fails when pruning removes an anchor that matters,
// a line without a whole byte is kept, an inverse takes the wrong side of a flat or jump, a group
// counts its children's work twice, or a limit is checked at the wrong instant.
#[test]
fn random_trees_decide_as_the_definition() {
    for seed in 0..600 {
        let mut random = Random(seed << 20);
        let config = random_tree(&mut random);
        let (order, classes) = (BOTH[(seed % 2) as usize], config.best_effort.len());
        let mut at = 0;
        let arrivals: Vec<Arrival> = (0..60)
            .map(|_| {
                at += random.below(4) * random.below(800_000);
                (at, random.below(classes as u64) as usize, 1 + random.below(1500) as u32)
            })
            .collect();
        let mut fsc = Fsc::new(&config, order).unwrap();
        let sent = run(&mut fsc, classes, (1, 800), &arrivals);
        let mut slow = reference::Reference::new(&config, order);
        let (mut next, mut now, mut expected) = (0, 0, vec![]);
        while expected.len() < arrivals.len() {
            while let Some(a) = arrivals.get(next).filter(|a| a.0 <= now) {
                slow.arrive(a.0, a.1, a.2);
                next += 1;
            }
            match slow.send(now) {
                Some(class) => {
                    expected.push((class, now));
                    let size = sent[expected.len() - 1].4;
                    now += u64::from(size) * 800;
                }
                None => {
                    let arrival = arrivals.get(next).map(|a| a.0);
                    let events = arrival.into_iter().chain(slow.next_event(now));
                    now = events.min().unwrap();
                }
            }
            let last = sent[expected.len().max(1) - 1];
            if let Some(choice) = expected.last() {
                assert_eq!((last.0, last.1), *choice, "seed {seed}, packet {}", expected.len());
            }
        }
        let joined = fsc.nodes.iter().map(|node| node.curve.joined()).sum::<u64>();
        assert_eq!(joined, 0);
    }
}
