//! Deadline assignment on the paper's workload, and on a backlog that never ends.

use std::hint::black_box;

use laxity_core::Time;
use laxity_link::assign::{Assigner, Exact, History, Shifted, TwoSegments};
use laxity_link::config::LinkConfig;

use crate::baselines::quadratic::Quadratic;
use crate::workload::{Call, access_link, assign, calls};
use crate::{Contender, Group};

pub(crate) fn groups() -> Vec<Group> {
    vec![
        Group(vec![
            Contender::new("assign/exact", || paper(exact)),
            Contender::new("assign/exact-quadratic", || paper(quadratic)),
            Contender::new("assign/shifted-line", || paper(shifted)),
            Contender::new("assign/two-segment", || paper(two_segment)),
        ]),
        Group(vec![
            Contender::new("assign/exact/backlog-1000", || backlog(exact, 1000)),
            Contender::new("assign/exact-quadratic/backlog-1000", || backlog(quadratic, 1000)),
        ]),
        Group(vec![Contender::new("assign/exact/backlog-100000", || backlog(exact, 100_000))]),
    ]
}

fn exact(setup: &LinkConfig) -> Exact {
    let residual = setup.residual().expect("the access link is admitted");
    Exact::new(&residual.service(setup.guarantee).expect("it has an inverse"), History::CAPACITY)
}

fn quadratic(setup: &LinkConfig) -> Quadratic {
    let residual = setup.residual().expect("the access link is admitted");
    Quadratic::new(residual.service(setup.guarantee).expect("it has an inverse"))
}

fn shifted(setup: &LinkConfig) -> Shifted {
    Shifted::new(&setup.options.shifted_line.expect("the access link gives the paper's line"))
}

fn two_segment(setup: &LinkConfig) -> TwoSegments {
    let line = setup.options.two_segment.expect("the access link gives the paper's line");
    TwoSegments::new(&line, History::CAPACITY).expect("the line is in range")
}

fn paper<A: Assigner>(build: fn(&LinkConfig) -> A) -> impl FnMut(u64) {
    let scenario = access_link();
    let calls = calls(&scenario, 60);
    drive(build(&scenario.setup()), calls)
}

/// Packets arrive twice as fast as the residual serves them, `length` of them between resets.
fn backlog<A: Assigner>(build: fn(&LinkConfig) -> A, length: u64) -> impl FnMut(u64) {
    let packet = |i: u64| Call::Assign {
        release: Time(i * 1_000_000),
        wire: 100 + (i * 7919 % 1400) as u32,
    };
    drive(build(&access_link().setup()), (0..length).map(packet).collect())
}

fn drive<A: Assigner>(mut assigner: A, calls: Vec<Call>) -> impl FnMut(u64) {
    let mut at = 0;
    move |count| {
        black_box(assign(&mut assigner, &calls, &mut at, count));
    }
}
