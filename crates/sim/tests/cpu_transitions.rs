//! A small system in which stretching alone makes a hard job late.

use crate::cpu_common::ms;
use laxity_core::{Span, Time};
use laxity_cpu::servers::{Adaptation, Transition};
use laxity_cpu::{Reservation, bebs, bebs_credit};
use laxity_sim::Control;
use laxity_sim::cpu::papers::bebs::newcomer;
use laxity_sim::cpu::papers::cpu_bound;
use laxity_sim::cpu::{Cost, Machine, Recording, Step, Task, Workload, run};

fn end_of_first_hard_job(transition: Transition, first: Workload) -> Span {
    let adaptation = Adaptation { initial_average: ms(5), ..Adaptation::PAPER };
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

/// Fails when a reservation waits for what best effort used ahead although nothing that was promised
/// is pending, or does not wait where something is: B had all of the CPU before it.
#[test]
fn a_reservation_starts_at_once_when_no_reserved_job_is_pending() {
    let reservation = Reservation::new(ms(4), ms(10));
    let first_end = |others: Vec<Task>| {
        let mut tasks = others;
        let hard = Task::hard("hard", reservation, Cost::Fixed(ms(4)));
        tasks.extend([cpu_bound("A"), cpu_bound("B"), hard.joining(Time(1_003_000_000))]);
        let machine = Machine::single(Time(3_000_000_000), 1);
        let mut recording = Recording::new();
        let mut policy = bebs_credit::new(&bebs_credit::Options::default());
        run(&mut policy, &tasks, machine, &mut recording, &Control::default()).expect("a run");
        let of_hard = recording.jobs.iter().find(|(task, _)| task.index() == tasks.len() - 1);
        of_hard.expect("a job").1.end.since(Time(1_003_000_000))
    };
    assert_eq!(first_end(Vec::new()), ms(4));
    // This one began its job 3 ms before.
    let busy = Task::hard("busy", Reservation::new(ms(5), ms(10)), Cost::Fixed(ms(5)));
    assert!(first_end(vec![busy]) > ms(100));
}
