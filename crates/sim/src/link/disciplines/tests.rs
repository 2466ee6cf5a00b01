//! The models against what the disciplines are known to do.

use laxity_core::{FlowId, Span, Time};
use laxity_link::{DropSink, LinkPolicy, Packet};

use super::*;

const C: u64 = 10_000_000;

/// Ends of transmission `(flow, arrival, end)` in us of packets `(us, flow, bytes)` on a link of 10 Mbit/s.
fn run(tree: &Tree, packets: &[(u64, u32, u32)]) -> Vec<(u32, u64, u64)> {
    let mut policy = tree.policy(C).unwrap();
    let (mut out, mut free, mut next) = (Vec::new(), 0u64, packets.iter().enumerate().peekable());
    let mut drops = |_: Time, p: &Packet, _| panic!("{p:?} is dropped");
    let mut now = 0;
    loop {
        while let Some((seq, (at, flow, bytes))) = next.next_if(|p| p.1.0 * 1000 <= now) {
            let at = Time(at * 1000);
            let packet = Packet::new(seq as u64, at, FlowId(*flow), *bytes, *bytes);
            policy.enqueue(at, packet, &mut drops);
        }
        let wake = if now < free {
            Some(free)
        } else if let Some(sent) = policy.dequeue(Time(now), &mut drops as &mut dyn DropSink) {
            free = now + u64::from(sent.packet.wire) * 800;
            out.push((sent.packet.flow.0, sent.packet.arrival.0 / 1000, free / 1000));
            Some(free)
        } else {
            policy.next_event().map(|at| at.0)
        };
        let arrival = next.peek().map(|p| p.1.0 * 1000);
        match wake.into_iter().chain(arrival).min() {
            Some(at) => now = at,
            None => break,
        }
    }
    assert_eq!((policy.waiting(), out.len()), (0, packets.len()));
    out
}

/// Largest delay of a flow in us.
fn largest(sent: &[(u32, u64, u64)], flow: u32) -> u64 {
    sent.iter().filter(|s| s.0 == flow).map(|s| s.2 - s.1).max().unwrap()
}

fn tree(discipline: Discipline, classes: usize) -> Tree {
    let queues = vec![LeafQueue::Fifo { limit: 10_000_000 }; classes];
    Tree { classes: (0..classes).collect(), queues, discipline }
}

fn backlog(at: u64, flow: u32, bytes: u32, packets: usize) -> Vec<(u64, u32, u32)> {
    vec![(at, flow, bytes); packets]
}

/// The two curves of `docs/results/hfsc-convex.md`: the delay there, and the delay without the fault, to a packet's
/// end.
///
/// Fails when a convex curve that lies below what was served restarts at its own level.
#[test]
fn hfsc_breaks_the_curve_that_the_kernel_breaks() {
    let convex = Slopes { m1: 0, d: 10_000_000, m2: 4_000_000 };
    let concave = Slopes { m1: C, d: 10_000_000, m2: 4_000_000 };
    let class = |rt| HfscClass { rt: Some(rt), ls: None };
    let tree = tree(Discipline::Hfsc(vec![class(convex), class(concave)]), 2);
    for (back, most) in [(12_990, 13_600), (13_500, 10_000)] {
        let mut packets = vec![(0, 0, 1500)];
        packets.extend(backlog(back, 0, 1500, 10));
        packets.extend(backlog(back, 1, 1250, 10));
        let delay = largest(&run(&tree, &packets), 1);
        assert_eq!(delay / 100, most / 100, "{back}: {delay}");
    }
}

/// Link sharing gives backlogged classes their shares, and a class that comes back nothing for the time before.
///
/// Fails when virtual time starts at the least of the active classes, or weights are ignored.
#[test]
fn hfsc_shares_by_curves() {
    let share = |m2| HfscClass { rt: None, ls: Some(Slopes { m1: 0, d: 0, m2 }) };
    let tree = tree(Discipline::Hfsc(vec![share(6_000_000), share(2_000_000)]), 2);
    let mut packets = backlog(0, 0, 1000, 400);
    packets.extend(backlog(100_000, 1, 1000, 100));
    let sent = run(&tree, &packets);
    let between: Vec<_> = sent.iter().filter(|s| (110_000..190_000).contains(&s.2)).collect();
    let second = between.iter().filter(|s| s.0 == 1).count();
    assert!((23..=27).contains(&second) && between.len() == 100, "{second} of {}", between.len());
    // Nothing of what it left to the other.
    let first = sent.iter().filter(|s| (100_000..104_000).contains(&s.2) && s.0 == 1).count();
    assert!(first <= 3, "{first}");
}

/// The man page's example of decoupled delay and rate: a real-time curve of 8 Mbit/s for 2 ms keeps 2000 B within
/// 2 ms and a packet of others, though its rate is 100 kbit/s.
///
/// Fails when the deadline is taken by the second slope, tried with `dy` 0.
#[test]
fn hfsc_decouples_delay_from_rate() {
    let voice = Slopes { m1: 8_000_000, d: 2_000_000, m2: 100_000 };
    let ls = Some(Slopes { m1: 0, d: 0, m2: 5_000_000 });
    let classes = vec![HfscClass { rt: Some(voice), ls: None }, HfscClass { rt: None, ls }];
    let mut packets = backlog(0, 1, 1500, 200);
    packets.extend(backlog(50_000, 0, 500, 4));
    let delay = largest(&run(&tree(Discipline::Hfsc(classes), 2), &packets), 0);
    assert!((2_000..=3_200).contains(&delay), "{delay}");
}

/// A class at its ceiling waits for tokens although the link is free; below, the first priority goes first, and those
/// of one priority share by quantum.
///
/// Fails when the ceiling is not charged for what was borrowed, or turns do not move.
#[test]
fn htb_holds_to_ceilings_and_shares_by_quantum() {
    let class = |prio, rate, ceil, quantum| HtbClass { prio, rate, ceil, burst: 2000, quantum };
    let held = class(0, 1_000_000, 1_000_000, 1000);
    let classes = vec![held, class(1, 8_000, C, 3000), class(1, 8_000, C, 1000)];
    let tree = tree(Discipline::Htb(classes), 3);
    let alone = run(&tree, &backlog(0, 0, 1000, 20));
    // Two packets of the burst at once, one more by debt, and then 1 Mbit/s.
    let last = alone.last().unwrap().2;
    assert!((136_000..=146_000).contains(&last), "{last}");
    let mut packets = backlog(0, 1, 1000, 300);
    packets.extend(backlog(0, 2, 1000, 300));
    packets.extend(backlog(50_000, 0, 1000, 2));
    let sent = run(&tree, &packets);
    assert!(largest(&sent, 0) <= 2_500, "{}", largest(&sent, 0));
    let early: Vec<_> =
        sent.iter().filter(|s| (20_000..180_000).contains(&s.2) && s.0 > 0).collect();
    let third = early.iter().filter(|s| s.0 == 2).count() * 100 / early.len();
    assert!((23..=27).contains(&third), "{third} %");
}

/// A queue of 2 Mbit/s sends a packet of 1000 B every 4 ms, though nothing else wants the link, and best effort goes in
/// between.
///
/// Fails when the port's rate is left out of the send slope, or credit is kept while the queue is empty.
#[test]
fn cbs_spaces_packets_by_the_idle_slope() {
    let slopes = CbsClass { idle: 2_000_000, hicredit: 3000, locredit: -1000 };
    let tree = tree(Discipline::Cbs(vec![Some(slopes), None]), 2);
    let sent = run(&tree, &backlog(0, 0, 1000, 6));
    let ends: Vec<_> = sent.iter().map(|s| s.2).collect();
    assert!(ends.windows(2).all(|w| (4_000..=4_001).contains(&(w[1] - w[0]))), "{ends:?}");
    let mut packets = backlog(0, 1, 1000, 20);
    packets.extend(backlog(100, 0, 1000, 3));
    let sent = run(&tree, &packets);
    assert!(sent.iter().map(|s| s.2).eq((1..=23).map(|n| n * 800)), "the link is idle: {sent:?}");
}

/// `fq_codel` keeps a sparse flow's delay short and drops under a standing queue, under the flow's own number.
///
/// Fails when the leaf forgets whose packet it is.
#[test]
fn fq_codel_reports_the_flows_of_its_packets() {
    let leaf = LeafQueue::FqCodel { target: Span(5_000_000), interval: Span(100_000_000) };
    let share = HfscClass { rt: None, ls: Some(Slopes { m1: 0, d: 0, m2: C }) };
    let tree =
        Tree { classes: vec![0, 0], queues: vec![leaf], discipline: Discipline::Hfsc(vec![share]) };
    let mut policy = tree.policy(C).unwrap();
    let mut dropped = [0u32; 2];
    let mut sent = [0u32; 2];
    let mut count = |_: Time, p: &Packet, _| dropped[p.flow.index()] += 1;
    for seq in 0..400u64 {
        let mut packet = Packet::new(seq, Time(0), FlowId(1), 1500, 1500);
        packet.key = 7;
        policy.enqueue(Time(0), packet, &mut count);
    }
    let mut now = 0;
    while let Some(departure) = policy.dequeue(Time(now), &mut count) {
        sent[departure.packet.flow.index()] += 1;
        now += 1_200_000;
    }
    assert!(
        dropped[1] > 0 && dropped[0] == 0 && sent == [0, 400 - dropped[1]],
        "{dropped:?} {sent:?}"
    );
}

/// Fails when a wrong tree is built instead of refused.
#[test]
fn wrong_trees_are_refused() {
    let none = HfscClass { rt: None, ls: None };
    let good = tree(Discipline::Hfsc(vec![none]), 1);
    assert_eq!(good.policy(0).unwrap_err(), TreeError::Rate);
    let flow = Tree { classes: vec![0, 3], ..good.clone() };
    assert_eq!(flow.policy(C).unwrap_err(), TreeError::Class { flow: 1, class: 3 });
    let more = Tree { queues: Vec::new(), classes: Vec::new(), ..good };
    let error = more.policy(C).unwrap_err();
    assert_eq!(error, TreeError::Queues { classes: 1, queues: 0 });
    assert!(error.to_string().contains("give each class one"));
}
