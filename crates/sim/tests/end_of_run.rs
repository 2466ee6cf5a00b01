//! Deadlines exactly at the end of a run: met if the work is done by then, missed if not. And how soon a
//! run ends that is stopped.

use std::sync::Arc;

use crate::cpu_common::{measure, ms};
use laxity_core::{FlowId, Span, Time};
use laxity_cpu::registry::{Options, build};
use laxity_scenario::link::model::Scenario;
use laxity_scenario::stream::StreamScenario;
use laxity_sim::Control;
use laxity_sim::cpu::{Cost, Late, Task, Workload};
use laxity_sim::link::{Traffic, simulate_all};
use laxity_sim::stream::engine::{Loss, Sent};
use laxity_sim::stream::{StreamObserver, StreamPacket};
use laxity_traffic::Arrival;

fn frames(cost: Span) -> Task {
    let (period, deadline, cost) = (ms(10), ms(10), Cost::Fixed(cost));
    Task::new("frames", Workload::Frames { period, deadline, cost, late: Late::Grid })
}

/// A job due at the end that lacks 1 ns then is late; one that is done at that instant is on time.
///
/// Fails when `unfinished` requires a positive lateness, as it once did.
#[test]
fn a_job_due_at_the_end_of_a_run_is_missed_unless_done() {
    for (cost, missed) in [(ms(10), 0), (ms(10) + Span(1), 1)] {
        let mut policy = build("edf", &Options::default()).expect("of the registry");
        let m = measure(&mut policy, &[frames(cost)], ms(10), 1);
        let task = &m.tasks[0];
        assert_eq!((task.jobs, task.missed), (1, missed), "cost {cost}");
        assert_eq!(task.tardiness.max(), (missed > 0).then_some(1));
    }
}

/// The same for a task that leaves then.
#[test]
fn a_job_due_when_its_task_leaves_is_missed_unless_done() {
    let mut policy = build("edf", &Options::default()).expect("of the registry");
    let mut task = frames(ms(10) + Span(1));
    task.leaves = Some(Time::ZERO + ms(10));
    let m = measure(&mut policy, &[task], ms(20), 1);
    assert_eq!((m.tasks[0].jobs, m.tasks[0].missed), (1, 1));
}

/// Packets of three streams come at 0 and should begin by 2 ms; one takes 1 ms. At the end, 2 ms,
/// two have been sent and the third begins at that instant, on time. A fourth can no more.
///
/// Fails when the last decision is left out, or when a deadline at the end counts as still ahead.
#[test]
fn a_packet_due_at_the_end_of_a_run_is_missed_unless_it_begins() {
    for (streams, missed) in [(3, 0), (4, 1)] {
        let text = format!(
            "[server]\nservice = \"1 ms\"\n[[stream]]\nname = \"s\"\ncount = {streams}\n\
             tolerance = \"0/1\"\ngap = \"2 ms\"\nsource = \"backlogged\"\n"
        );
        let scenario = StreamScenario::parse(&text, "s.toml").unwrap_or_else(|e| panic!("{e}"));
        let run =
            laxity_sim::stream::simulate(&scenario, "edf", 1, ms(2), None, &Control::default());
        let result = run.expect("runs").result(&scenario);
        let class = &result.classes["s"];
        assert_eq!((class.served, class.deadline_misses), (3, missed), "{streams} streams");
    }
}

/// A link serves what waits after the last arrival, so a packet that is late after the end of the
/// traffic counts, and one that ends exactly at its deadline is on time: 125 B take 1 ms here.
///
/// Fails when the engine stops with the arrivals, or counts the deadline itself as late.
#[test]
fn a_packet_on_a_link_counts_whenever_it_ends() {
    let text = "[link]\nrate = \"1 Mbit/s\"\n[[realtime]]\nname = \"r\"\ndeadline = \"2 ms\"\n\
                envelope = { packet = \"125 B\", burst = \"1 kB\", rate = \"1 kbit/s\" }\n";
    let scenario = Scenario::parse(text, "l.toml").unwrap_or_else(|e| panic!("{e}"));
    for (packets, missed) in [(2, 0), (3, 1)] {
        let one = Arrival::new(Time::ZERO, FlowId(0), 125);
        let traffic = Traffic::Recorded(Arc::new(vec![one; packets]));
        let control = Control::default();
        let policies = ["background".to_owned()];
        let runs = simulate_all(&scenario, &policies, &[1], &traffic, &control).expect("runs");
        assert_eq!(runs[0].measure.flows[0].missed, missed, "{packets} packets");
    }
}

/// Stops the run after so many packets, and counts those that come to it afterwards.
struct Stopper<'a> {
    control: &'a Control,
    left: u64,
    after: u64,
}

impl StreamObserver for Stopper<'_> {
    fn sent(&mut self, _: &StreamPacket, _: &Sent) {}
    fn lost(&mut self, _: &StreamPacket, _: Option<Time>, _: Loss) {
        match self.left {
            0 => self.after += 1,
            1 => self.control.stop(),
            _ => {}
        }
        self.left = self.left.saturating_sub(1);
    }
}

/// While a packet takes a second, a stream with gaps of 1 ns loses a billion: they are one decision
/// of the scheduler, or all arrivals before one.
///
/// Fails when only decisions check for a stop, as once: Ctrl-C took seconds.
#[test]
fn a_stopped_run_ends_within_a_decision() {
    let sources = ["source = \"backlogged\"", "source = { period = \"1 ns\" }"];
    for source in sources {
        let text = format!(
            "[server]\nservice = \"1 s\"\n[[stream]]\nname = \"s\"\ncount = 3\n\
             tolerance = \"1/2\"\ngap = \"1 ns\"\n{source}\n"
        );
        let scenario = StreamScenario::parse(&text, "s.toml").unwrap_or_else(|e| panic!("{e}"));
        let control = Control::default();
        let mut stopper = Stopper { control: &control, left: 10_000, after: 0 };
        let run = laxity_sim::stream::simulate(
            &scenario,
            "dwcs",
            1,
            Span(10_000_000_000),
            Some(&mut stopper),
            &control,
        );
        assert!(!run.expect("runs").ending.complete);
        assert!(stopper.left == 0 && stopper.after < 50_000, "{source}: {}", stopper.after);
    }
}

/// Two packets where the envelope holds one: the second is demoted, and waits behind a best-effort
/// packet that came before it. It has no promise, so it is no part of the delays of the flow.
///
/// Fails when the delays mix both, as they did: 3 ms beside a deadline of 2 ms, and none late.
#[test]
fn delays_of_demoted_packets_are_reported_separately() {
    let text = "[link]\nrate = \"1 Mbit/s\"\n[[realtime]]\nname = \"r\"\ndeadline = \"2 ms\"\n\
                excess = \"demote\"\n\
                envelope = { packet = \"125 B\", burst = \"125 B\", rate = \"1 kbit/s\" }\n\
                [[best_effort]]\nname = \"b\"\n";
    let scenario = Scenario::parse(text, "l.toml").unwrap_or_else(|e| panic!("{e}"));
    let one = |flow| Arrival::new(Time::ZERO, FlowId(flow), 125);
    let traffic = Traffic::Recorded(Arc::new(vec![one(1), one(0), one(0)]));
    let policies = ["background".to_owned()];
    let control = Control::default();
    let runs = simulate_all(&scenario, &policies, &[1], &traffic, &control).expect("runs");
    let result = runs[0].result(&scenario);
    let r = &result.flows["r"];
    assert_eq!((r.packets, r.demoted, r.deadline_misses, r.dropped), (2, 1, 0, 0));
    assert!(r.max_ms.is_some_and(|ms| ms <= 2.0), "{r:?}");
    assert_eq!((r.demoted_max_ms, r.demoted_mean_ms), (Some(3.0), Some(3.0)));
}
