//! No sequence of reports, in any order and at any time, makes a policy panic.

use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES, build};
use laxity_cpu::{Attributes, CpuId, GroupId, Nice, Policy, Reservation, Service, TaskId};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Report {
    Join(u32, Attributes),
    Change(u32, Attributes),
    Leave(u32, u64),
    Wake(u32),
    Block(u32, u64),
    Ran(u32, u64),
    Timer,
    Pick,
    Displace,
}

/// Zero, small, typical, long, and extreme times.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        0..100u64,
        0..200_000_000u64,
        0..100_000_000_000_000u64,
        (0..3u64).prop_map(|n| u64::MAX - n),
    ]
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let reservation = (time(), time(), time()).prop_map(|(budget, period, deadline)| Reservation {
        budget: Span(budget),
        period: Span(period),
        deadline: Span(deadline),
    });
    let plausible = (1..30u64, 0..30u64, 100..200u64).prop_map(|(budget, later, period)| {
        Reservation::new(Span(budget), Span(period)).within(Span(budget + later))
    });
    let reservation = prop_oneof![reservation, plausible];
    let service = prop_oneof![
        Just(Service::BestEffort),
        reservation.clone().prop_map(Service::Soft),
        reservation.prop_map(Service::Hard),
    ];
    (service, -20..=19i8, proptest::option::of(0..3u32)).prop_map(|(service, nice, group)| {
        let nice = Nice::new(nice).expect("in range");
        Attributes { nice, service, group: group.map(GroupId), ..Attributes::default() }
    })
}

fn report() -> impl Strategy<Value = Report> {
    let task = || 0..6u32;
    prop_oneof![
        2 => (task(), attributes()).prop_map(|(t, a)| Report::Join(t, a)),
        1 => (task(), attributes()).prop_map(|(t, a)| Report::Change(t, a)),
        1 => (task(), time()).prop_map(|(t, ran)| Report::Leave(t, ran)),
        4 => task().prop_map(Report::Wake),
        2 => (task(), time()).prop_map(|(t, ran)| Report::Block(t, ran)),
        4 => (task(), time()).prop_map(|(t, ran)| Report::Ran(t, ran)),
        3 => Just(Report::Timer),
        6 => Just(Report::Pick),
        1 => Just(Report::Displace),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    // Fails when a sum of times may overflow: this is compiled with overflow checks.
    #[test]
    fn no_sequence_of_reports_panics(
        reports in proptest::collection::vec((time(), any::<bool>(), report()), 1..60),
    ) {
        for p in POLICIES {
            let mut policy = build(p.name, &Options::default()).expect("a name of the registry");
            let mut now = Time::ZERO;
            for (time, forward, report) in &reports {
                now = if *forward { now + Span(*time) } else { now.max(Time(*time)) };
                match report {
                    Report::Join(t, a) => drop(policy.join(now, TaskId(*t), a)),
                    Report::Change(t, a) => drop(policy.change(now, TaskId(*t), a)),
                    Report::Leave(t, ran) => policy.leave(now, TaskId(*t), Span(*ran)),
                    Report::Wake(t) => policy.wake(now, TaskId(*t)),
                    Report::Block(t, ran) => policy.block(now, TaskId(*t), Span(*ran)),
                    Report::Ran(t, ran) => policy.ran(now, TaskId(*t), Span(*ran)),
                    Report::Timer => policy.timer(now),
                    Report::Pick => drop(policy.pick(now, CpuId::FIRST)),
                    Report::Displace => policy.displace(now, CpuId::FIRST),
                }
                let _ = policy.next_event();
            }
        }
    }
}

/// A hard reservation leaves the soft one, which took what the options leave, nearly no share: the
/// time of a nanosecond of its work is beyond the largest. One in some 10^6 of the sequences above.
///
/// Fails when the checks of debug builds add that time to another one.
#[test]
fn nearly_no_share_is_no_panic() {
    let reserved = |budget, period| Reservation::new(Span(budget), Span(period));
    let soft = Service::Soft(reserved(4_314_814_742_528, 4_541_911_373_587));
    let hard = Service::Hard(reserved(1, 153_907_662).within(Span(4_275_212)));
    for p in POLICIES {
        let mut policy = build(p.name, &Options::default()).expect("a name of the registry");
        for (task, service) in [(TaskId(0), soft), (TaskId(1), hard)] {
            let attributes = Attributes { service, ..Attributes::default() };
            let _ = policy.join(Time::ZERO, task, &attributes);
        }
    }
}
