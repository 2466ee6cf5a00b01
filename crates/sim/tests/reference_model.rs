//! The engine and pipeline beside a slow simulation that shares nothing with them: conformance by
//! the definition of an envelope over all earlier packets, plain lists, exact link time.

use crate::common::{replay, scenario};
use laxity_core::{FlowId, Time};
use laxity_traffic::Arrival;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct Flow {
    /// (burst in bytes, rate in bit/s)
    buckets: Vec<(u64, u64)>,
    /// ns
    deadline: u64,
}

#[derive(Clone, Debug)]
struct Case {
    rate: u64,
    flows: Vec<Flow>,
    packets: Vec<Arrival>,
}

impl Case {
    fn toml(&self) -> String {
        // All packets find room; the default room would take longer to allocate than to use.
        let mut text = format!(
            "[link]\nrate = \"{} bit/s\"\nmax_packet = \"500 B\"\n\
             buffer = {{ total = \"80 kB\", best_effort = \"20 kB\" }}\n",
            self.rate
        );
        for (i, f) in self.flows.iter().enumerate() {
            let buckets: Vec<_> = f
                .buckets
                .iter()
                .map(|(b, r)| format!("{{ burst = \"{b} B\", rate = \"{r} bit/s\" }}"))
                .collect();
            text += &format!(
                "[[realtime]]\nname = \"f{i}\"\ndeadline = \"{} ns\"\n\
                 envelope = {{ buckets = [{}], packet = \"500 B\", min_packet = \"1 B\" }}\n",
                f.deadline,
                buckets.join(", ")
            );
        }
        text + "[[best_effort]]\nname = \"bulk\"\n"
    }
}

fn case() -> impl Strategy<Value = Case> {
    let bucket = (500u64..2000, 1_000_000u64..9_000_000);
    let flow = proptest::collection::vec(bucket, 1..3);
    let flows = proptest::collection::vec(flow, 1..4);
    (3_000_000u64..20_000_000, flows).prop_flat_map(|(rate, flows)| {
        let count = flows.len() as u32;
        // Different deadlines keep the order among equals out of the comparison.
        let flows: Vec<_> = flows
            .into_iter()
            .zip([700_000, 1_500_001, 3_000_007])
            .map(|(buckets, deadline)| Flow { buckets, deadline })
            .collect();
        let packet = (0u64..400_000, 0..=count, 1u32..=500);
        proptest::collection::vec(packet, 1..40).prop_map(move |gaps| {
            let mut now = 0;
            let packet = |(gap, flow, bytes): (u64, u32, u32)| {
                // Many at one instant.
                now += gap.saturating_sub(200_000);
                Arrival::new(Time(now), FlowId(flow), bytes)
            };
            Case { rate, flows: flows.clone(), packets: gaps.into_iter().map(packet).collect() }
        })
    })
}

/// When each packet conforms: the earliest instant, not before its arrival and its predecessor,
/// at which no interval that ends with it holds more than the envelope.
fn conformance(case: &Case) -> Vec<u64> {
    let mut times: Vec<u64> = Vec::new();
    for (i, p) in case.packets.iter().enumerate() {
        let mut at = p.time.0;
        if let Some(flow) = case.flows.get(p.flow.index()) {
            let earlier = (0..i).rev().filter(|j| case.packets[*j].flow == p.flow);
            let mut sum = u128::from(p.bytes);
            for j in earlier {
                at = at.max(times[j]);
                sum += u128::from(case.packets[j].bytes);
                for (burst, rate) in &flow.buckets {
                    let above =
                        (sum * 8_000_000_000).saturating_sub(u128::from(*burst) * 8_000_000_000);
                    let wait = above.div_ceil(u128::from(*rate)) as u64;
                    at = at.max(times[j] + wait);
                }
            }
        }
        times.push(at);
    }
    times
}

/// (number, end of transmission) in order of departure.
fn reference(case: &Case, best_effort_first: bool) -> Vec<(u64, u64)> {
    let ready = conformance(case);
    let deadline = |i: usize| case.flows.get(case.packets[i].flow.index()).map(|f| f.deadline);
    let mut waiting: Vec<usize> = (0..case.packets.len()).collect();
    let mut out = Vec::new();
    let (mut now, mut begun, mut sent) = (0, 0, 0u128);
    while let Some(next) = waiting.iter().map(|i| ready[*i]).min() {
        if next > now {
            now = next;
            (begun, sent) = (now, 0);
        }
        let arrived = || waiting.iter().copied().filter(|i| ready[*i] <= now);
        let realtime = arrived()
            .filter_map(|i| deadline(i).map(|d| (ready[i] + d, d, i)))
            .min()
            .map(|(_, _, i)| i);
        let bulk = arrived().find(|i| deadline(*i).is_none());
        let chosen = if best_effort_first { bulk.or(realtime) } else { realtime.or(bulk) };
        let Some(chosen) = chosen else { break };
        waiting.retain(|i| *i != chosen);
        sent += u128::from(case.packets[chosen].bytes) * 8_000_000_000;
        now = begun + sent.div_ceil(u128::from(case.rate)) as u64;
        out.push((chosen as u64, now));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..Default::default() })]

    /// Fails when conformance is off by a nanosecond, when the link clock forgets or invents a
    /// remainder, when a decision comes before the arrivals of its instant, or when a shaped
    /// packet is woken late.
    #[test]
    fn engine_agrees_with_the_reference_model(case in case()) {
        let scenario = scenario(&case.toml());
        for (policy, first) in [("background", false), ("best-effort-first", true)] {
            let (run, log) = replay(&scenario, policy, case.packets.clone());
            let got: Vec<_> = log.sent.iter().map(|(d, end)| (d.packet.seq, end.0)).collect();
            prop_assert_eq!(&got, &reference(&case, first), "{}", policy);
            prop_assert!(log.dropped.is_empty());
            let ready = conformance(&case);
            for (d, end) in &log.sent {
                let seq = d.packet.seq as usize;
                if let Some(flow) = case.flows.get(d.packet.flow.index()) {
                    prop_assert_eq!(d.deadline.0, ready[seq] + flow.deadline);
                }
                prop_assert!(end.0 >= ready[seq]);
            }
            let missed: u64 = run.measure.flows.iter().map(|f| f.missed).sum();
            let late = log.sent.iter().filter(|(d, end)| d.realtime && *end > d.deadline).count();
            prop_assert_eq!(missed, late as u64);
        }
    }
}
