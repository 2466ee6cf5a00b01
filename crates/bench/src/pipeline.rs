//! Whole packets: classified, policed, ordered, given a deadline, queued and sent; and simulated.

use std::hint::black_box;

use laxity_core::{Span, Time};
use laxity_link::LinkPolicy;
use laxity_link::classify::{Classifier, Key, Rule};
use laxity_link::registry::{self, Visitor};
use laxity_link::setup::Setup;
use laxity_sim::simulate::Unobserved;
use laxity_sim::{Arrival, Control, Traffic, simulate};

use crate::workload::{Link, access_link, arrivals};
use crate::{Contender, Group, Operation};

const POLICIES: [&str; 4] = ["exact", "shifted-line", "background", "slack"];

pub(crate) fn groups() -> Vec<Group> {
    let pipeline = |policy: &'static str| {
        Contender::new(format!("pipeline/{policy}"), move || {
            let mut operation = packets(policy);
            move |count| operation(count)
        })
    };
    let simulated = |policy: &'static str| {
        Contender::new(format!("sim/{policy}"), move || {
            let mut operation = simulated(policy);
            move |count| operation(count)
        })
    };
    vec![Group(POLICIES.map(pipeline).into()), Group(POLICIES.map(simulated).into())]
}

/// One operation is one packet of the access link.
fn packets(policy: &'static str) -> Operation {
    struct Drive(Setup, Vec<(Arrival, Key)>, Classifier);
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
    // A code point for each flow, as a router would tell them apart.
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
    let setup = scenario.setup();
    let drive = Drive(setup.clone(), packets, classifier);
    registry::visit(policy, &setup, drive).expect("the access link suits every policy")
}

/// One operation is one packet simulated, generator and measurement included.
fn simulated(policy: &'static str) -> Operation {
    let scenario = access_link();
    let per_second = arrivals(&scenario, 60).len() as u64 / 60;
    Box::new(move |count| {
        let duration = Span(count * 1_000_000_000 / per_second.max(1));
        let traffic = Traffic::Generated { duration, replayed: std::sync::Arc::default() };
        let control = Control::default();
        let run = simulate(&scenario, policy, 1, &traffic, &mut Unobserved, &control);
        black_box(run.expect("the access link simulates").ending);
    })
}
