//! Whole packets: classified, policed, ordered, given a deadline, queued and sent; and simulated.

use std::hint::black_box;

use laxity_core::{Bytes, Rate, Span, Time};
use laxity_curve::Blocking;
use laxity_curve::service::ServiceCurve;
use laxity_link::LinkPolicy;
use laxity_link::classify::{Classifier, Key, Rule};
use laxity_link::config::{FairQueue, FlowQueueing, FscOrder, LinkConfig, Service};
use laxity_link::registry::{self, Visitor};
use laxity_scenario::link::model::{Scenario, Source};
use laxity_scenario::link::tcp::{App, CongestionControl, TcpSource};
use laxity_sim::Control;
use laxity_sim::link::{ClosedLoop, Measure, OpenLoop, Traffic, TrafficSource, run, run_source};
use laxity_traffic::Arrival;

use crate::workload::{Link, access_link, arrivals};
use crate::{Contender, Group, Operation};

const POLICIES: [&str; 4] = ["exact", "shifted-line", "background", "slack"];

pub(crate) fn groups() -> Vec<Group> {
    let pipeline = |policy: &'static str| {
        Contender::new(format!("pipeline/{policy}"), move || {
            let mut operation = packets(policy, |_| ());
            move |count| operation(count)
        })
    };
    let with_deadlines = |name: &'static str, curves: bool| {
        Contender::new(format!("pipeline/exact/{name}"), move || {
            let mut operation = packets("exact", |setup| {
                setup.blocking = Blocking::Exact;
                if curves {
                    serve_by_curves(setup);
                }
            });
            move |count| operation(count)
        })
    };
    let late = |order: &'static str, kind: FairQueue| {
        Contender::new(format!("pipeline/exact/{order}"), move || {
            let mut operation = packets("exact", |setup| {
                setup.fair_queue = kind;
                setup.best_effort[0].flows = Some(FlowQueueing::default());
            });
            move |count| operation(count)
        })
    };
    let open_loop_of = |policy: &'static str| {
        Contender::new(format!("sim/{policy}"), move || {
            let mut operation = simulated(policy);
            move |count| operation(count)
        })
    };
    let closed_loop = Contender::new("sim/exact/100-tcp-flows", || {
        let mut operation = simulated_tcp();
        move |count| operation(count)
    });
    let open_loop = Contender::new("sim/exact/open-loop", || {
        let mut operation = simulated(POLICIES[0]);
        move |count| operation(count)
    });
    vec![
        Group(POLICIES.map(pipeline).into()),
        Group(vec![with_deadlines("service-curves", true), with_deadlines("envelopes", false)]),
        // Classes in an order by tags, chosen at each decision, are the baseline of curves.
        Group(vec![
            late("fsc", FairQueue::Fsc(FscOrder::Finish)),
            late("wf2q+-chosen-late", FairQueue::Wf2qPlus),
        ]),
        Group(POLICIES.map(open_loop_of).into()),
        // The same policy on open-loop traffic is the baseline.
        Group(vec![closed_loop, open_loop]),
    ]
}

/// Gives each real-time flow the service curve that asks for what its envelope and deadline do.
fn serve_by_curves(setup: &mut LinkConfig) {
    for flow in &mut setup.realtime {
        let curve = ServiceCurve::delay(&flow.envelope, flow.deadline).expect("a valid envelope");
        flow.service = Some(Service { curve, policed: true });
    }
}

/// One operation is one packet of the access link, whose set-up `change` may alter.
fn packets(policy: &'static str, change: impl FnOnce(&mut LinkConfig)) -> Operation {
    struct Drive(LinkConfig, Vec<(Arrival, Key)>, Classifier);
    impl Visitor for Drive {
        type Output = Operation;
        fn visit<P: LinkPolicy + Send + 'static>(self, policy: P) -> Operation {
            let Drive(setup, packets, classifier) = self;
            let mut link = Link::new(&setup, policy);
            let (mut at, mut base) = (0, 0);
            Box::new(move |count| {
                let mut sent = 0;
                for _ in 0..count {
                    let (mut arrival, key) = packets[at];
                    arrival.flow = classifier.classify(&key);
                    arrival.time = Time(arrival.time.0 + base);
                    sent += link.play(arrival, &mut |_| ());
                    at += 1;
                    if at == packets.len() {
                        at = 0;
                        base = arrival.time.0 + 1_000_000;
                    }
                }
                black_box(sent);
            })
        }
    }
    let scenario = access_link();
    // A code point for each flow, by which a router distinguishes them.
    let key = |flow: u32| Key {
        dscp: Some(8 * flow as u8),
        protocol: Some(17),
        dport: Some(5000),
        ..Key::default()
    };
    let packets = arrivals(&scenario, 30).into_iter().map(|a| (a, key(a.flow.0))).collect();
    let rule = |flow: u32| Rule { dscp: Some(8 * flow as u8), ..Rule::default() };
    let flows = 0..scenario.flow_count() as u32 - 1;
    let rules = flows.map(|f| (rule(f), laxity_core::FlowId(f))).collect();
    let classifier = Classifier::new(rules, scenario.other());
    let mut setup = scenario.setup();
    change(&mut setup);
    let drive = Drive(setup.clone(), packets, classifier);
    registry::visit(policy, &setup, drive).expect("the access link suits every policy")
}

/// One operation is one packet simulated, generator and measurement included.
fn simulated(policy: &'static str) -> Operation {
    struct Drive(Scenario);
    impl Visitor for Drive {
        type Output = Operation;
        fn visit<P: LinkPolicy + Send + 'static>(self, mut policy: P) -> Operation {
            // Lives as long as the program, like the operation that borrows it.
            let scenario: &'static Scenario = Box::leak(Box::new(self.0));
            let (rate, wire) = (scenario.link.rate, scenario.link.wire());
            let mut arrivals = Traffic::generate(scenario, 1, Span(u64::MAX / 4), &[]);
            let mut measure = Measure::new(scenario.flow_count(), 3_600_000_000_000);
            let control = Control::default();
            Box::new(move |count| {
                let some = arrivals.by_ref().take(count as usize);
                black_box(run(&mut policy, some, rate, wire, &mut measure, &control));
            })
        }
    }
    let scenario = access_link();
    let setup = scenario.setup();
    registry::visit(policy, &setup, Drive(scenario)).expect("the access link suits every policy")
}

/// The first `left` packets of a source.
struct First<'a, S> {
    source: &'a mut S,
    left: u64,
}

impl<S: TrafficSource> TrafficSource for First<'_, S> {
    #[inline]
    fn next_time(&self) -> Option<Time> {
        self.source.next_time().filter(|_| self.left > 0)
    }

    #[inline]
    fn poll(&mut self, seq: u64) -> Option<Arrival> {
        let arrival = self.source.poll(seq)?;
        self.left -= 1;
        Some(arrival)
    }

    #[inline]
    fn handle_sent(&mut self, seq: u64, end: Time) {
        self.source.handle_sent(seq, end);
    }

    #[inline]
    fn handle_dropped(&mut self, seq: u64) {
        self.source.handle_dropped(seq);
    }

    #[inline]
    fn handle_marked(&mut self, seq: u64) {
        self.source.handle_marked(seq);
    }
}

/// One operation is one packet of 100 bulk transfers by CUBIC that share a link of 1 Gbit/s, with the
/// acknowledgements that it causes.
fn simulated_tcp() -> Operation {
    let mut scenario = access_link();
    let rtt = Span(20_000_000);
    scenario.link.rate = Rate(1_000_000_000);
    scenario.best_effort.iter_mut().for_each(|class| class.source = None);
    scenario.best_effort[0].source = Some(Source::Tcp(TcpSource {
        control: CongestionControl::Cubic,
        rtt,
        app: App::Bulk,
        count: 100,
        start: Span::ZERO,
        ecn: false,
    }));
    // The bytes that the link sends in a round trip. Without a limit the queue grows with the run.
    scenario.best_effort[0].buffer = Some(Bytes(2_500_000));
    let (rate, wire) = (scenario.link.rate, scenario.link.wire());
    // In its own type it would be another engine for each policy.
    let mut policy =
        registry::build("exact", &scenario.setup()).expect("the link suits the policy");
    let open = OpenLoop::new(std::iter::empty());
    let sources = ClosedLoop::new(&scenario, 1, Time(u64::MAX / 4), open);
    let mut source = sources.expect("the scenario has a TCP source");
    let mut measure = Measure::new(scenario.flow_count(), 3_600_000_000_000);
    let control = Control::default();
    Box::new(move |count| {
        let mut first = First { source: &mut source, left: count };
        black_box(run_source(&mut policy, &mut first, rate, wire, &mut measure, &control));
    })
}
