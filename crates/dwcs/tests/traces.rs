//! Decisions computed by hand.

use crate::common::{Fifos, backlogged, priority, sent_late, stream, unit_service};
use laxity_core::{Span, Time};
use laxity_dwcs::structure::List;
use laxity_dwcs::{Attributes, Decision, JoinError, Ledger, Options, Scheduler, Window};

/// Serves one packet a unit and compares stream and windows after each decision with `want`, in
/// which streams are letters and windows `x/y`.
fn follow(options: &Options, streams: &[Attributes], want: &[(char, &[&str])]) {
    let (mut scheduler, mut queues) = backlogged::<List, ()>(options, streams, ());
    for (now, (letter, windows)) in (0..).zip(want) {
        let served = unit_service(&mut scheduler, &mut queues, now..now + 1)[0];
        let served = served.map_or('-', |slot| (b'A' + slot as u8) as char);
        assert_eq!(served, *letter, "at {now}");
        for ((slot, _), want) in streams.iter().enumerate().zip(*windows) {
            let id = scheduler.stream_at(slot).expect("a stream");
            let Window { x, y } = scheduler.window(id).expect("a stream");
            assert_eq!(format!("{x}/{y}"), *want, "stream {slot} after the decision at {now}");
        }
    }
}

/// Fails when tolerances do not come first, when 1/1 rolls on or when a miss at 1/1 does not
/// start afresh.
#[test]
fn two_streams_as_in_the_paper() {
    let streams = [stream("1/2", 1), stream("1/3", 1)];
    follow(
        &Options::paper(),
        &streams,
        &[
            ('B', &["1/2", "1/2"]),
            ('A', &["1/1", "1/2"]), // equal tolerances: A is due at 1, B at 2
            ('B', &["1/1", "1/1"]),
            ('A', &["1/1", "1/1"]), // A missed at 2: 1/1, 0/0, 1/2; served: 1/1
            ('B', &["1/1", "1/2"]), // B missed at 3
            ('A', &["1/1", "1/2"]), // A missed at 4; all equal: the lower number
            ('B', &["1/1", "1/3"]), // B missed at 5: 0/1, so it is urgent
            ('B', &["1/2", "1/2"]), // A missed at 6
            ('A', &["1/2", "1/2"]), // A missed at 7: 0/1
        ],
    );
}

/// Fails when deadlines do not come first, when 1/1 does not roll on, or when heads go out more
/// than a gap ahead.
#[test]
fn three_streams_at_full_load_by_default() {
    let streams = [stream("1/2", 2), stream("1/2", 2), stream("0/1", 2)];
    follow(
        &Options::default(),
        &streams,
        &[
            ('C', &["1/2", "1/2", "0/1"]),
            ('A', &["1/1", "1/2", "0/1"]),
            ('B', &["1/1", "1/1", "0/1"]),
            ('C', &["1/1", "1/1", "0/1"]),
            ('A', &["1/2", "1/1", "0/1"]),
            ('C', &["1/2", "1/2", "0/1"]), // B missed at 4
            ('A', &["1/1", "1/2", "0/1"]),
            ('B', &["1/1", "1/2", "0/1"]), // B missed at 6: 0/1, level with C; the lower number
            ('C', &["1/1", "1/2", "0/1"]),
        ],
    );
}

/// Fails when service of a tagged stream does not start a window afresh.
#[test]
fn zero_tolerance_streams_become_urgent_in_overload() {
    let streams = [stream("0/2", 1), stream("0/3", 1)];
    follow(
        &Options::default(),
        &streams,
        &[
            ('B', &["0/2", "0/2"]),
            ('A', &["0/1", "0/2"]),
            ('B', &["0/1", "0/1"]),
            ('A', &["0/2", "0/1"]), // A missed at 2: 0/2, tagged; served: 0/2 afresh
            ('A', &["0/1", "0/2"]), // B missed at 3; level, the lower number
            ('B', &["0/1", "0/3"]), // B missed at 4: 0/3; served: 0/3 afresh
        ],
    );
}

/// Fails when windows of tagged streams do not grow: the longest waiting stream would not go first.
#[test]
fn tagged_streams_are_served_round_robin() {
    let streams = [stream("0/1", 1), stream("0/1", 1), stream("0/1", 1)];
    follow(
        &Options::default(),
        &streams,
        &[
            ('A', &["0/1", "0/1", "0/1"]),
            ('B', &["0/1", "0/1", "0/1"]),
            ('C', &["0/1", "0/1", "0/1"]), // C missed at 1: 0/2 goes before 0/1
            ('A', &["0/1", "0/2", "0/1"]), // A and B missed at 2; level
            ('B', &["0/1", "0/1", "0/2"]), // B missed at 3 once more: 0/3; C for the first time
            ('C', &["0/2", "0/1", "0/1"]),
        ],
    );
}

/// Fails when a late packet that is sent in the end leaves the queue at its first miss, or when
/// its deadline does not move by the gap at each.
#[test]
fn a_late_packet_is_sent_when_its_turn_comes() {
    let mut scheduler =
        Scheduler::<List, _>::with_meter(&Options::default(), Ledger::new()).expect("a list");
    let mut queues = Fifos::default();
    let id = scheduler.join(Time(0), &sent_late("2/5", 10)).expect("joins");
    for arrival in [0, 1] {
        queues.push(id.slot(), Time(arrival));
        scheduler.arrive(Time(arrival), id).expect("is there");
    }
    // Due at 10; looked at only at 31: missed at 10, 20 and 30, now due at 40.
    let decision = scheduler.next(Time(31), &mut queues);
    assert_eq!(decision, Decision::Serve { stream: id, deadline: Time(40) });
    // 2/5, 1/4, 0/3, then tagged 0/4; service starts afresh.
    assert_eq!(scheduler.window(id), Ok(Window { x: 2, y: 5 }));
    assert_eq!(queues.served, [(0, Time(0))]);
    assert_eq!(queues.dropped, []);
    let counted = scheduler.meter().of(id);
    assert_eq!((counted.missed, counted.late, counted.met), (3, 1, 0));
    assert_eq!((counted.rule_c, counted.longest_run), (1, 3));
    assert_eq!(scheduler.next(Time(32), &mut queues), Decision::Wait(Time(40)));
    assert_eq!(
        scheduler.next(Time(40), &mut queues),
        Decision::Serve { stream: id, deadline: Time(50) }
    );
    assert_eq!(scheduler.next(Time(41), &mut queues), Decision::Idle);
}

/// Fails when an idle stream collects misses, or when a packet that finds the queue empty is due
/// earlier than a gap after it came: tried without `max(arrival)` in `Record::advance`.
#[test]
fn idle_streams_miss_nothing() {
    let mut scheduler = Scheduler::<List>::new(&Options::default()).expect("a list");
    let mut queues = Fifos::default();
    let id = scheduler.join(Time(5), &stream("1/3", 10)).expect("joins");
    assert_eq!(scheduler.next(Time(100), &mut queues), Decision::Idle);
    let arrive = |scheduler: &mut Scheduler<List>, queues: &mut Fifos, at| {
        queues.push(id.slot(), Time(at));
        scheduler.arrive(Time(at), id).expect("is there");
    };
    arrive(&mut scheduler, &mut queues, 100);
    let serve = |deadline| Decision::Serve { stream: id, deadline: Time(deadline) };
    assert_eq!(scheduler.next(Time(100), &mut queues), serve(110));
    assert_eq!(scheduler.next(Time(101), &mut queues), Decision::Idle);
    // Before the last deadline: due a gap after that one, so not to go out yet.
    arrive(&mut scheduler, &mut queues, 103);
    assert_eq!(scheduler.next(Time(103), &mut queues), Decision::Wait(Time(110)));
    assert_eq!(scheduler.next(Time(112), &mut queues), serve(120));
    arrive(&mut scheduler, &mut queues, 1000);
    assert_eq!(scheduler.window(id), Ok(Window { x: 1, y: 1 }));
    // No decision until 1011; the packet was due at 1010, one that came at 1005 only at 1020.
    arrive(&mut scheduler, &mut queues, 1005);
    assert_eq!(scheduler.next(Time(1011), &mut queues), serve(1020));
    assert_eq!(queues.dropped, [(0, Time(1000))]);
    // One that comes after the queue fell empty is not held to the deadline of the dropped one.
    arrive(&mut scheduler, &mut queues, 2000);
    arrive(&mut scheduler, &mut queues, 2015);
    assert_eq!(scheduler.next(Time(2016), &mut queues), serve(2025));
    assert_eq!(queues.dropped.len(), 2);
}

/// Fails when streams without deadlines miss, or change their tolerance.
#[test]
fn streams_without_deadlines_rest_at_their_tolerance() {
    let streams = [priority("1/4"), priority("1/5")];
    let want: [(char, &[&str]); 3] = [('B', &["1/4", "1/5"]); 3];
    for options in [Options::paper(), Options::default()] {
        follow(&options, &streams, &want);
    }
    // Beside one with deadlines, they come after it by default and by tolerance in the paper.
    let streams = [priority("1/4"), stream("1/2", 5)];
    let default: [(char, &[&str]); 2] = [('B', &["1/4", "1/1"]), ('A', &["1/4", "1/1"])];
    follow(&Options::default(), &streams, &default);
    follow(&Options::paper(), &streams, &[('A', &["1/4", "1/2"])]);
}

/// Fails when a change makes a packet late, loses earlier misses, or retains the old window.
#[test]
fn streams_change_leave_and_free_their_slot() {
    let mut scheduler = Scheduler::<List>::new(&Options::default()).expect("a list");
    let mut queues = Fifos::default();
    let id = scheduler.join(Time(0), &stream("1/3", 100)).expect("joins");
    for arrival in [0, 0, 0] {
        queues.push(id.slot(), Time(arrival));
        scheduler.arrive(Time(arrival), id).expect("is there");
    }
    // Due at 100, missed; the next one, due at 200, is now due at 100 + 7, which is past 105.
    scheduler.change(Time(105), id, &stream("2/9", 7), &mut queues).expect("changes");
    assert_eq!(queues.dropped, [(0, Time(0))]);
    assert_eq!(scheduler.window(id), Ok(Window { x: 2, y: 9 }));
    assert_eq!(scheduler.record(id).map(|r| r.deadline), Ok(Time(107)));
    // Due at 100 + 1 would be late; so now.
    scheduler.change(Time(106), id, &stream("2/9", 1), &mut queues).expect("changes");
    assert_eq!(scheduler.record(id).map(|r| r.deadline), Ok(Time(106)));
    let zero = scheduler.change(Time(106), id, &stream("2/9", 0), &mut queues);
    assert_eq!(zero, Err(JoinError::ZeroGap));
    assert_eq!(scheduler.streams(), 1);
    scheduler.leave(id).expect("leaves");
    assert_eq!(scheduler.streams(), 0);
    assert!(scheduler.leave(id).is_err());
    assert!(scheduler.arrive(Time(200), id).is_err());
    assert_eq!(scheduler.next(Time(200), &mut queues), Decision::Idle);
    let other = scheduler.join(Time(300), &stream("0/0", 5)).expect("joins");
    assert_eq!(other.slot(), id.slot());
    assert_ne!(other, id);
    assert!(scheduler.window(id).is_err());
    assert_eq!(scheduler.record(other).map(|r| r.gap), Ok(Span(5)));
}

/// Fails when a clock that steps back makes a decision for the past.
#[test]
fn time_never_decreases() {
    let streams = [stream("1/3", 10), stream("1/3", 10)];
    let (mut scheduler, mut queues) = backlogged::<List, ()>(&Options::default(), &streams, ());
    // Both missed at 10 and 20, and are now due at 30: not to go out at 3, but it is 25.
    assert_eq!(unit_service(&mut scheduler, &mut queues, 25..26), [Some(0)]);
    assert_eq!(unit_service(&mut scheduler, &mut queues, 3..4), [Some(1)]);
    assert_eq!(scheduler.next(Time(4), &mut queues), Decision::Wait(Time(30)));
}

/// Fails when a packet that finds its queue empty is due off the grid, or when one that waits
/// behind others is moved onto it twice.
#[test]
fn aligned_deadlines_are_multiples_of_the_gap() {
    let options = Options { align: true, ..Options::default() };
    let mut scheduler = Scheduler::<List>::new(&options).expect("a list");
    let mut queues = Fifos::default();
    let id = scheduler.join(Time(5), &stream("1/3", 10)).expect("joins");
    let serve = |deadline| Decision::Serve { stream: id, deadline: Time(deadline) };
    for arrival in [7, 8, 29] {
        queues.push(id.slot(), Time(arrival));
    }
    scheduler.arrive(Time(7), id).expect("is there");
    assert_eq!(scheduler.next(Time(7), &mut queues), Decision::Wait(Time(10)));
    assert_eq!(scheduler.next(Time(10), &mut queues), serve(20));
    assert_eq!(scheduler.next(Time(20), &mut queues), serve(30));
    assert_eq!(scheduler.next(Time(30), &mut queues), serve(40));
    queues.push(id.slot(), Time(63));
    scheduler.arrive(Time(63), id).expect("is there");
    assert_eq!(scheduler.next(Time(63), &mut queues), Decision::Wait(Time(70)));
    assert_eq!(scheduler.next(Time(70), &mut queues), serve(80));
    queues.push(id.slot(), Time(71));
    scheduler.arrive(Time(71), id).expect("is there");
    // The head is due at 90; with a gap of 7 after 80, raised to 84, at 91.
    scheduler.change(Time(72), id, &stream("1/3", 7), &mut queues).expect("changes");
    assert_eq!(scheduler.record(id).map(|r| r.deadline), Ok(Time(91)));
}
