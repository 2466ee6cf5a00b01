//! The status of a link in user space.

use indexmap::IndexMap;
use laxity_userlink::bridge::{Report, Schedule};
use laxity_userlink::counts::ClassCounts;
use serde::Serialize;

use super::Place;
use crate::live::link::record::{Backlog, Flow, Kind, Link, Links, Stalls};

/// The status: that of `laxity link status` for other links, and the state of the threads.
#[derive(Debug, Serialize)]
pub struct Status {
    #[serde(flatten)]
    pub links: Links,
    pub threads: IndexMap<String, Thread>,
}

/// One direction's thread, under the interface that it reads from.
#[derive(Debug, Serialize)]
pub struct Thread {
    io: &'static str,
    cpu_ms: f64,
    packets: u64,
    /// From a frame's start, as the policy has it, to its being handed over.
    send_lateness_mean_us: Option<f64>,
    send_lateness_p99_us: Option<f64>,
    send_lateness_max_us: Option<f64>,
    /// Wake-up latency, from the requested instant.
    wakeup_latency_p99_us: Option<f64>,
    /// Beyond what the credit makes good: how often, in all, and the longest.
    stalls: u64,
    stall_total_ms: f64,
    stall_max_ms: f64,
    /// How often the interface had no room for a frame.
    device_full: u64,
    /// How often the interface was down.
    device_down: u64,
    /// Frames lost because the socket's receive buffer was full.
    receive_overflows: u64,
    segmented: u64,
    checksums: u64,
    malformed: u64,
}

impl Status {
    /// The directions that run or have run.
    pub fn of(reports: &[(&Place, &Report)]) -> Status {
        let mut status = Status { links: Links::default(), threads: IndexMap::new() };
        for (place, report) in reports {
            status.threads.insert(place.from.clone(), Thread::of(place.io, report));
            if let Some(schedule) = &place.schedule {
                status.links.links.push(link(&place.to, schedule, report));
            }
        }
        status
    }
}

impl Thread {
    fn of(io: &'static str, Report { counts, cpu_ns, .. }: &Report) -> Thread {
        let us = |ns: u64| ns as f64 / 1e3;
        Thread {
            io,
            cpu_ms: *cpu_ns as f64 / 1e6,
            packets: counts.lag.count(),
            send_lateness_mean_us: counts.lag.mean().map(|ns| ns / 1e3),
            send_lateness_p99_us: counts.lag.quantile(990).map(us),
            send_lateness_max_us: counts.lag.max().map(us),
            wakeup_latency_p99_us: counts.wakes.quantile(990).map(us),
            stalls: counts.stalls,
            stall_total_ms: counts.stalled.0 as f64 / 1e6,
            stall_max_ms: counts.longest_stall.0 as f64 / 1e6,
            device_full: counts.blocked,
            device_down: counts.down,
            receive_overflows: counts.overflow,
            segmented: counts.segmented,
            checksums: counts.checksums,
            malformed: counts.malformed,
        }
    }
}

fn link(device: &str, schedule: &Schedule, report: &Report) -> Link {
    let scenario = &schedule.scenario;
    let deadlines = scenario.realtime.iter().map(|f| Some(f.deadline.0));
    let all = deadlines.chain(std::iter::repeat(None));
    let classes = scenario.flow_names().zip(all).zip(&report.counts.classes);
    let flows = classes.map(|((name, deadline), c)| {
        let kind = if deadline.is_some() { Kind::Realtime } else { Kind::BestEffort };
        (name.to_owned(), flow(kind, deadline, c))
    });
    let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let bytes = report.counts.classes.iter().map(ClassCounts::waiting_bytes).sum();
    Link {
        ingress_of: None,
        device: device.to_owned(),
        process: None,
        policy: schedule.policy.clone(),
        rate_bit_s: scenario.link.rate.0,
        scenario_rate_bit_s: None,
        shed: Vec::new(),
        late_rate_change: 0,
        attached: true,
        changes: 0,
        pending: false,
        replaced: None,
        backlog: Backlog { packets: narrow(report.waiting as u64), bytes: narrow(bytes) },
        stalls: {
            let counts = &report.counts;
            Stalls::new(counts.stalls, counts.stalled.0, counts.longest_stall.0)
        },
        flows: flows.collect(),
        previous: flow(Kind::Mixed, None, &ClassCounts::default()),
    }
}

fn flow(kind: Kind, deadline: Option<u64>, c: &ClassCounts) -> Flow {
    let ms = |ns: u64| ns as f64 / 1e6;
    Flow {
        kind,
        deadline_ms: deadline.map(ms),
        packets: c.sent(),
        bytes: c.sent_bytes,
        mean_ms: c.delay.mean().map(|ns| ns / 1e6),
        p50_ms: c.delay.quantile(500).map(ms),
        p99_ms: c.delay.quantile(990).map(ms),
        max_ms: c.delay.max().map(ms),
        deadline_misses: c.deadline_misses,
        demoted: c.demoted(),
        demoted_mean_ms: c.demoted_delay.mean().map(|ns| ns / 1e6),
        demoted_max_ms: c.demoted_delay.max().map(ms),
        ecn_marks: c.ecn_marks,
        dropped: c.drops().map(|(_, n)| n).sum(),
        drop_reasons: c.drops().map(|(why, n)| (why.to_owned(), n)).collect(),
        delays: (c.delay.iter().collect(), u64::try_from(c.delay.sum()).unwrap_or(u64::MAX)),
    }
}
