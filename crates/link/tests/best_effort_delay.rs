//! Bounds of best-effort delay on all traffic of small links: alone under `exact`, beside other
//! classes under every fair queue, and as a flow with a service curve.

use crate::common::{
    Arrival, BYTE_PER_NS, Link, backlogs, config, conforming, flow, leaky, merge, safe_policies,
    try_build,
};
use laxity_core::{Bytes, Weight};
use laxity_curve::service::{ServiceCurve, check_flows, share_of, strict_service};
use laxity_curve::{Blocking, Curve, Envelope, Guarantee, Rational};
use laxity_link::Wire;
use laxity_link::config::{BestEffortClass, Excess, FairQueue, LinkConfig, RealtimeFlow, Service};

const HALF: u64 = BYTE_PER_NS / 2;
const QUARTER: u64 = BYTE_PER_NS / 4;

/// One byte takes one ns. A flow with a deadline beside best-effort packets of up to `largest` bytes.
fn small(deadline: u64, largest: u64) -> LinkConfig {
    let mut config = config(BYTE_PER_NS, largest, vec![flow(leaky(2, 2, QUARTER), deadline)]);
    (config.blocking, config.guarantee) = (Blocking::Exact, Guarantee::All);
    let flows = config.link_flows().unwrap();
    assert!(check_flows(&config.link_spec(), &flows).unwrap().admitted);
    config
}

fn delay(envelope: &Envelope, service: &Curve) -> u64 {
    let bound = envelope.curve().unwrap().delay(service).unwrap().unwrap();
    u64::try_from(bound.ceil()).unwrap()
}

/// The largest delay of a flow's packets over all combinations of these traces.
fn largest_delay(policy: &str, config: &LinkConfig, k: u32, traces: &[Vec<Vec<Arrival>>]) -> u64 {
    let Some(built) = try_build(policy, config) else { return 0 };
    let mut link = Link::new(built, config);
    let [first, second, third] = traces else { panic!("three flows") };
    let (mut trace, mut most) = (vec![], 0);
    for (i, a) in first.iter().enumerate() {
        for (j, b) in second.iter().enumerate() {
            for (n, c) in third.iter().enumerate() {
                // A part of the product where it is large, a different one each time.
                if third.len() > 1 && (i * 7 + j * 3 + n) % 17 != 0 {
                    continue;
                }
                merge(&[a, b, c], &mut trace);
                link.run(&trace);
                assert!(link.late_realtime().is_none() && link.dropped.is_empty());
                let own =
                    link.sent.iter().filter(|s| s.departure.packet.flow.index() == k as usize);
                most = own.map(|s| s.end.since(s.departure.packet.arrival).0).fold(most, u64::max);
                link.rest(64);
            }
        }
    }
    most
}

/// Fails when `E` leaves out what blocks, or deadlines come later than its inverse. The bounds are
/// reached to a tick, so they are tight here.
#[test]
fn a_class_alone_is_served_within_its_deviation_from_the_residual() {
    for (deadline, burst) in [(6, 2), (9, 2), (9, 4), (12, 3)] {
        let config = small(deadline, 2);
        let arrivals = leaky(2, burst, HALF);
        let bound = delay(&arrivals, config.residual().unwrap().effective());
        let real = conforming(&config.realtime[0].envelope, 9, 3, 0);
        let own = conforming(&arrivals, 8, 5, 1);
        let most = largest_delay("exact", &config, 1, &[real, own, vec![vec![]]]);
        println!("deadline {deadline}, burst {burst}: {most} of {bound}");
        assert!(most <= bound, "{most} of {bound}");
        assert!(most + 1 >= bound, "{most} of {bound}");
    }
}

/// Fails when a lag is too small, a share is of the link's rate, or real-time packets that had
/// waited are left out.
#[test]
fn a_class_beside_others_has_its_share_of_strict_service() {
    let mut tried = 0;
    for (weight, others) in [(500_000, 500_000), (250_000, 750_000)] {
        for fair_queue in [FairQueue::Wfq, FairQueue::Scfq, FairQueue::Wf2qPlus] {
            let mut config = small(7, 2);
            config.fair_queue = fair_queue;
            config.best_effort =
                [weight, others].map(|w| BestEffortClass::new(Weight(w), None)).to_vec();
            let flows = config.link_flows().unwrap();
            let strict = strict_service(&config.link_spec(), &flows).unwrap().unwrap();
            let share = Rational::new(weight.into(), 1_000_000).unwrap();
            // One other class, so the lag of SCFQ is one packet too.
            let service = share_of(&strict, share, Bytes(2)).unwrap();
            let arrivals = leaky(2, 2, BYTE_PER_NS / 8);
            let bound = delay(&arrivals, &service);
            let real = conforming(&config.realtime[0].envelope, 8, 3, 0);
            let own = conforming(&arrivals, 6, 3, 1);
            let other = backlogs(&[1, 2], 5, 4, 2);
            for policy in safe_policies().filter(|p| *p != "proportional-share") {
                let traces = [real.clone(), own.clone(), other.clone()];
                let most = largest_delay(policy, &config, 1, &traces);
                assert!(most <= bound, "{policy} {fair_queue:?}: {most} of {bound}");
                tried += usize::from(most > 0);
            }
        }
    }
    assert!(tried >= 24, "{tried}");
}

/// Fails when the share is of the residual for deadlines, which best effort does not block, or when
/// others can delay the flow.
#[test]
fn a_class_as_a_flow_is_served_within_its_deviation_from_its_share() {
    let before = small(8, 2);
    let residual = before.residual().unwrap();
    let spare = residual.admission().infimum_from().unwrap();
    let half = Rational::new(1, 2).unwrap();
    let curve = ServiceCurve::new(share_of(&spare, half, Bytes(0)).unwrap()).unwrap();
    let arrivals = leaky(2, 2, QUARTER);
    let served = || {
        let service = Service { curve: curve.clone(), policed: false };
        RealtimeFlow::served(arrivals.clone(), service, Wire::default(), Excess::Drop, None)
            .unwrap()
    };
    let mut after = before.clone();
    after.realtime.extend([served(), served()]);
    let flows = after.link_flows().unwrap();
    assert!(check_flows(&after.link_spec(), &flows).unwrap().admitted);
    let bound = delay(&arrivals, curve.curve());
    let real = conforming(&after.realtime[0].envelope, 8, 3, 0);
    let own = conforming(&arrivals, 7, 3, 1);
    let other = backlogs(&[1, 2], 4, 3, 2);
    let mut tried = 0;
    for policy in safe_policies().filter(|p| laxity_link::registry::serves_curves(p)) {
        let most = largest_delay(policy, &after, 1, &[real.clone(), own.clone(), other.clone()]);
        assert!(most <= bound, "{policy}: {most} of {bound}");
        tried += usize::from(most > 0);
    }
    assert!(tried >= 2, "{tried}");
}
