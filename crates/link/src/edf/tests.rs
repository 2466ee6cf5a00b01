use alloc::{collections::VecDeque, vec, vec::Vec};
use proptest::prelude::*;

use super::*;

const CLASSES: usize = 6;

/// The reference model: one deque per class, the earliest head found by comparing all heads.
struct Slow {
    classes: Vec<VecDeque<Entry>>,
    slots: usize,
}

impl Slow {
    fn len(&self) -> usize {
        self.classes.iter().map(VecDeque::len).sum()
    }

    fn push(&mut self, class: usize, entry: Entry) -> Result<(), Full> {
        if self.len() >= self.slots {
            return Err(Full);
        }
        self.classes[class].push_back(entry);
        Ok(())
    }

    fn winner(&self) -> Option<usize> {
        let heads = self.classes.iter().enumerate();
        heads.filter_map(|(c, q)| q.front().map(|e| (e.deadline, c))).min().map(|(_, c)| c)
    }

    fn sorted(&self) -> Vec<(usize, Entry)> {
        let mut all: Vec<(usize, usize, Entry)> = Vec::new();
        for (class, queue) in self.classes.iter().enumerate() {
            all.extend(queue.iter().enumerate().map(|(i, e)| (class, i, *e)));
        }
        all.sort_by_key(|(class, i, entry)| (entry.deadline, *class, *i));
        all.into_iter().map(|(class, _, entry)| (class, entry)).collect()
    }

    fn work(&self, class: usize, until: Time) -> u64 {
        let due = self.classes[class].iter().filter(|e| e.deadline <= until);
        due.map(|e| u64::from(e.packet.wire)).sum()
    }
}

fn entry(seq: u64, deadline: u64, wire: u32) -> Entry {
    Entry { deadline: Time(deadline), packet: Packet { seq, bytes: wire, wire, ..FILLER } }
}

#[derive(Clone, Copy, Debug)]
struct Run {
    push: bool,
    class: usize,
    count: usize,
    /// Advance of the deadline from packet to packet; 0 makes ties.
    step: u64,
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let run = (any::<bool>(), 0..CLASSES, 1..90usize, 0..3u64);
    let run = run.prop_map(|(push, class, count, step)| Run { push, class, count, step });
    proptest::collection::vec(run, 1..50)
}

proptest! {
    // Fails when a push into an empty class does not enter the tournament, when a freed chunk is
    // not reused, when `until` takes `<` for `<=`, and when popped work is not counted. Following a
    // skip link to a freed chunk makes it loop forever.
    #[test]
    fn matches_the_reference_model(runs in runs(), slots in 1..400usize, top in any::<bool>()) {
        let mut fast = EdfQueue::new(CLASSES, slots);
        let mut slow = Slow { classes: vec![VecDeque::new(); CLASSES], slots };
        // Also deadlines up to the greatest time there is.
        let base = if top { u64::MAX - 40 } else { 0 };
        let mut last = [base; CLASSES];
        let mut seq = 0;
        for run in runs {
            for _ in 0..run.count {
                if run.push {
                    seq += 1;
                    let deadline = last[run.class].saturating_add(run.step);
                    let new = entry(seq, deadline, (seq as u32 * 7919) % 1500);
                    let done = fast.push(run.class, new);
                    prop_assert_eq!(done, slow.push(run.class, new));
                    if done.is_ok() {
                        last[run.class] = deadline;
                    }
                } else {
                    let class = slow.winner();
                    prop_assert_eq!(fast.peek_class(), class);
                    let want = class.and_then(|c| Some((c, slow.classes[c].pop_front()?)));
                    prop_assert_eq!(fast.peek().copied(), want.map(|(_, e)| e));
                    prop_assert_eq!(fast.pop_class(), want);
                }
            }
            let sorted = slow.sorted();
            prop_assert_eq!(fast.len(), sorted.len());
            prop_assert_eq!(fast.is_empty(), sorted.is_empty());
            prop_assert!(fast.iter_merged().eq(sorted.iter().map(|(_, e)| e)));
            let mut seen = Vec::new();
            let all = fast.visit_merged(|class, entry| {
                seen.push((class, *entry));
                ControlFlow::<()>::Continue(())
            });
            prop_assert!(all.is_continue());
            prop_assert_eq!(&seen, &sorted);
            let whole: u64 = (0..CLASSES).map(|c| slow.work(c, Time::MAX)).sum();
            prop_assert_eq!(fast.queued_work(), whole);
            for (class, queue) in slow.classes.iter().enumerate() {
                prop_assert_eq!(fast.class_len(class), queue.len());
                prop_assert_eq!(fast.class_work(class), slow.work(class, Time::MAX));
                prop_assert!(fast.iter_class(class).eq(queue.iter()));
                prop_assert_eq!(fast.class_head(class), queue.front());
                prop_assert_eq!(fast.class_tail(class), queue.back());
                for (i, e) in queue.iter().enumerate().step_by(11) {
                    for t in [e.deadline.0, e.deadline.0.saturating_sub(1), e.deadline.0 | 3] {
                        let due = slow.work(class, Time(t));
                        prop_assert_eq!(fast.work_until(class, Time(t)), due, "item {}", i);
                    }
                }
            }
        }
    }
}

// Fails when skip links never grow beyond the chunk before (about 15000 steps then).
#[test]
fn work_until_takes_logarithmically_many_steps() {
    let slots = 1_000_000;
    let mut queue = EdfQueue::new(1, slots);
    let mut next = 0;
    let (mut worst, mut sum) = (0, 0);
    for round in 0..40u64 {
        while queue.len() < slots {
            queue.push(0, entry(next, next, 1)).unwrap();
            next += 1;
        }
        let oldest = queue.peek().unwrap().deadline.0;
        for i in 0..500 {
            let at = oldest + i * (slots as u64 / 500) + round;
            let (work, steps) = queue.work.until(0, Time(at), &queue.fifos);
            assert_eq!(work, (at - oldest + 1).min(slots as u64));
            worst = worst.max(steps);
            sum += steps;
        }
        for _ in 0..(slots as u64 * (1 + round % 7) / 8) {
            queue.pop();
        }
    }
    let chunks = (slots / fifos::CHUNK) as u32;
    assert!(worst <= 4 * chunks.ilog2(), "{worst} steps over {chunks} chunks");
    assert!(sum / 20_000 <= 2 * chunks.ilog2());
}

#[test]
fn a_visit_can_break_off() {
    let mut queue = EdfQueue::new(3, 10);
    for (class, deadline) in [(2, 5), (0, 7), (1, 6)] {
        queue.push(class, entry(deadline, deadline, 1)).unwrap();
    }
    let found = queue.visit_merged(|class, entry| {
        if entry.deadline == Time(6) {
            ControlFlow::Break(class)
        } else {
            ControlFlow::Continue(())
        }
    });
    assert_eq!(found, ControlFlow::Break(1));
    assert_eq!(queue.len(), 3);
}

#[test]
fn a_queue_without_classes_or_slots_is_just_empty() {
    let mut none = EdfQueue::new(0, 10);
    assert_eq!((none.pop(), none.peek(), none.is_empty()), (None, None, true));
    let mut full = EdfQueue::new(2, 0);
    assert_eq!(full.push(1, entry(0, 0, 1)), Err(Full));
    assert_eq!(full.pop(), None);
}
