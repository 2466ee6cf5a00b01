use alloc::{vec, vec::Vec};
use proptest::prelude::*;

use super::*;

/// Two real-time flows with 300 B and 200 B reserved, and two best-effort classes.
fn limits(total: u64) -> BufferLimits {
    let realtime =
        |limit, reserved| FlowLimit { limit, reserved: Bytes(reserved), smallest: Bytes(50) };
    BufferLimits {
        total: Bytes(total),
        best_effort: Bytes(600),
        per_flow: vec![
            realtime(None, 300),
            realtime(Some(Bytes(400)), 200),
            FlowLimit::best_effort(None),
            FlowLimit::best_effort(Some(Bytes(250))),
        ],
        realtime: 2,
    }
}

#[test]
fn limits_that_cannot_keep_the_promise_are_refused() {
    let error = Buffers::with_limits(&limits(499)).unwrap_err();
    assert_eq!(error, LinkConfigError::BufferTooSmall { total: Bytes(499), needed: Bytes(500) });
    let mut small = limits(1000);
    small.per_flow[1].limit = Some(Bytes(199));
    let error = Buffers::with_limits(&small).unwrap_err();
    let (limit, needed) = (Bytes(199), Bytes(200));
    assert_eq!(error, LinkConfigError::FlowBufferTooSmall { flow: 1, limit, needed });
}

// Fails when the reservation of flow 0 is open to flow 1, whose limit alone would let it have it.
#[test]
fn a_flow_that_floods_cannot_take_what_is_reserved_for_another() {
    let mut buffers = Buffers::with_limits(&limits(650)).unwrap();
    let mut taken = 0;
    while buffers.realtime(1, 50) == Verdict::Accept {
        taken += 50;
    }
    assert_eq!(taken, 350);
    assert_eq!(buffers.realtime(1, 50), Verdict::Reject(DropReason::BufferTotal));
    for _ in 0..3 {
        assert_eq!(buffers.realtime(0, 100), Verdict::Accept);
    }
    assert_eq!(buffers.realtime(0, 50), Verdict::Reject(DropReason::BufferTotal));
}

#[test]
fn real_time_pushes_best_effort_out_and_never_the_reverse() {
    let mut buffers = Buffers::with_limits(&limits(650)).unwrap();
    for _ in 0..6 {
        assert_eq!(buffers.best_effort(2, 100), Verdict::Accept);
    }
    assert_eq!(buffers.best_effort(2, 40), Verdict::Reject(DropReason::BufferBestEffort));
    assert_eq!(buffers.realtime(0, 50), Verdict::Accept);
    assert_eq!(buffers.realtime(0, 250), Verdict::PushOut);
    assert_eq!(buffers.used(), (Bytes(50), Bytes(600)));
    for _ in 0..3 {
        assert_eq!(buffers.realtime(0, 250), Verdict::PushOut);
        buffers.release(2, 100, false);
    }
    assert_eq!(buffers.realtime(0, 250), Verdict::Accept);
    assert_eq!(buffers.best_effort(2, 100), Verdict::Reject(DropReason::BufferTotal));
    assert!(DropReason::BufferTotal.is_shared() && !DropReason::BufferFlow.is_shared());
}

// Fails when a demoted packet counts with its real-time flow, whose reservation it would eat.
#[test]
fn demoted_packets_count_with_the_last_class() {
    let mut buffers = Buffers::with_limits(&limits(2000)).unwrap();
    assert_eq!(buffers.best_effort(0, 200), Verdict::Accept);
    assert_eq!((buffers.flow_used(0), buffers.flow_used(3)), (Bytes(0), Bytes(200)));
    assert_eq!(buffers.best_effort(3, 100), Verdict::Reject(DropReason::BufferFlow));
    buffers.release(0, 200, false);
    assert_eq!(buffers.best_effort(3, 100), Verdict::Accept);
    let none = BufferLimits { per_flow: Vec::new(), realtime: 0, ..limits(10) };
    let mut none = Buffers::with_limits(&none).unwrap();
    assert_eq!(none.best_effort(0, 1), Verdict::Reject(DropReason::BufferFlow));
    assert_eq!(none.realtime(0, 1), Verdict::Reject(DropReason::BufferFlow));
}

#[test]
fn tiny_packets_cannot_outnumber_the_slots() {
    let mut buffers = Buffers::with_limits(&limits(1_000_000)).unwrap();
    let mut count = 0;
    while buffers.best_effort(2, 1) == Verdict::Accept {
        count += 1;
    }
    assert_eq!(count, 15); // 600 B in packets that count 40 B
    assert!(count <= buffers.best_effort_slots());
    let mut wide = limits(u64::MAX);
    wide.best_effort = Bytes(u64::MAX);
    let mut wide = Buffers::with_limits(&wide).unwrap();
    assert_eq!(wide.best_effort_slots(), MAX_SLOTS);
    for _ in 0..MAX_SLOTS {
        assert_eq!(wide.best_effort(2, 1), Verdict::Accept);
    }
    assert_eq!(wide.best_effort(2, 1), Verdict::Reject(DropReason::BufferSlots));
}

#[test]
fn names_and_numbers_of_reasons_are_distinct() {
    for (i, reason) in DropReason::ALL.into_iter().enumerate() {
        assert_eq!(reason.index(), i);
        assert!(DropReason::ALL.iter().filter(|r| r.name() == reason.name()).count() == 1);
    }
}

proptest! {
    // Whatever happens: no limit is exceeded, each flow can still get all that is reserved for it,
    // and after everything is released nothing is counted. Fails when `release` forgets
    // `committed`, when the reserved packets are counted off by one, and when only what is used,
    // not what is reserved, is held against the total.
    #[test]
    fn limits_and_reservations_hold(
        total in 500..1500u64,
        steps in proptest::collection::vec((0..4usize, 1..300u32, any::<bool>()), 1..300),
    ) {
        let limits = limits(total);
        let mut buffers = Buffers::with_limits(&limits).unwrap();
        let mut waiting: Vec<(usize, u32)> = Vec::new();
        let size = |flow: usize, bytes: u32| u64::from(bytes).max(limits.per_flow[flow].smallest.0);
        let sum = |waiting: &[(usize, u32)], flow: usize| -> u64 {
            waiting.iter().filter(|(f, _)| *f == flow).map(|(f, b)| size(*f, *b)).sum()
        };
        for (flow, bytes, arrive) in steps {
            if !arrive {
                if !waiting.is_empty() {
                    let (flow, bytes) = waiting.remove(bytes as usize % waiting.len());
                    buffers.release(flow, bytes, flow < 2);
                }
                continue;
            }
            let reserved = flow < 2
                && sum(&waiting, flow) + size(flow, bytes) <= limits.per_flow[flow].reserved.0;
            loop {
                let verdict = if flow < 2 {
                    buffers.realtime(flow, bytes)
                } else {
                    buffers.best_effort(flow, bytes)
                };
                match verdict {
                    Verdict::Accept => waiting.push((flow, bytes)),
                    Verdict::PushOut => {
                        let victim = waiting.iter().rposition(|(f, _)| *f >= 2);
                        prop_assert!(victim.is_some() && flow < 2);
                        let (flow, bytes) = waiting.remove(victim.unwrap());
                        buffers.release(flow, bytes, false);
                        continue;
                    }
                    Verdict::Reject(_) => prop_assert!(!reserved),
                }
                break;
            }
            let used: Vec<u64> = (0..4).map(|f| sum(&waiting, f)).collect();
            prop_assert_eq!(buffers.used(), (Bytes(used[0] + used[1]), Bytes(used[2] + used[3])));
            prop_assert!(used.iter().sum::<u64>() <= total && used[2] + used[3] <= 600);
            prop_assert!(used[1] <= 400 && used[3] <= 250);
            let realtime = waiting.iter().filter(|(f, _)| *f < 2).count();
            prop_assert!(realtime <= buffers.realtime_slots());
            prop_assert!(waiting.len() - realtime <= buffers.best_effort_slots());
        }
        for (flow, bytes) in waiting.drain(..) {
            buffers.release(flow, bytes, flow < 2);
        }
        let fresh = Buffers::with_limits(&limits).unwrap();
        prop_assert_eq!(buffers.used(), fresh.used());
        prop_assert_eq!(buffers.committed, fresh.committed);
        prop_assert_eq!(buffers.committed_packets, fresh.committed_packets);
    }
}
