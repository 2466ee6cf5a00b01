//! A small system in which stretching alone makes a hard job late.

mod cpu_common;

use cpu_common::ms;
use laxity_core::{Span, Time};
use laxity_cpu::bebs;
use laxity_cpu::servers::{Adaptation, Transition};
use laxity_sim::Control;
use laxity_sim::cpu::papers::bebs::newcomer;
use laxity_sim::cpu::{Machine, Recording, Step, Workload, run};

fn end_of_first_hard_job(transition: Transition, first: Workload) -> Span {
    let adaptation = Adaptation { first: ms(5), ..Adaptation::PAPER };
    let options = bebs::Options { transition, adaptation, ..Default::default() };
    let mut recording = Recording::new();
    let machine = Machine::single(Time(40_000_000), 1);
    run(&mut bebs::new(&options), &newcomer(first), machine, &mut recording, &Control::default())
        .expect("a run to its end");
    recording.jobs[0].1.end.since(Time::ZERO)
}

/// Fails when the zero-lag transition lets newcomers start at once.
#[test]
fn stretching_alone_makes_a_hard_job_late() {
    let end = |transition| end_of_first_hard_job(transition, Workload::CpuBound);
    assert_eq!(end(Transition::Neither), ms(27));
    assert_eq!(end(Transition::Stretch), ms(27));
    assert_eq!(end(Transition::Wait), Span(19_500_000));
    assert_eq!(end(Transition::ZeroLag), Span(19_500_000));
}

/// Waiting does not help when A has gone to sleep in the meantime, as only unblocked servers are
/// waited for.
#[test]
fn waiting_for_unblocked_servers_alone_makes_a_hard_job_late() {
    let steps = vec![Step::Run(Span(7_500_000)), Step::Sleep(ms(1000))];
    let sleeper = Workload::Script { steps, repeat: false };
    let end = |transition| end_of_first_hard_job(transition, sleeper.clone());
    assert_eq!(end(Transition::Wait), ms(27));
    assert_eq!(end(Transition::StretchAndWait), ms(27));
    assert_eq!(end(Transition::ZeroLag), Span(19_500_000));
}
