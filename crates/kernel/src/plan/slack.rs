//! Parameters of the flows for `slack`.

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::Envelope;
use laxity_link::config::{LinkConfig, RealtimeFlow};

use super::{PlanError, TERM, write_bucket};
use crate::layout::link::{
    LX_SLACK_BUCKETS, lx_bucket, lx_slack_class, lx_slack_config, lx_slack_flow,
};

/// `struct lx_slack_flow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Flow {
    /// Burst in nanobits and rate in bit/s of the fastest and the slowest bucket.
    lines: [(u64, u64); 2],
    /// Wire bytes for counted ones, at most.
    wire: (u64, u64),
    period: u64,
    jitter: u64,
    smallest: u32,
    class: u32,
}

/// `struct lx_slack_config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slack {
    flows: Vec<Flow>,
    /// Deadline and rates of each class.
    classes: Vec<(u64, [u64; 2])>,
    horizon: u64,
    downstream_backlog: u64,
    shift: u32,
}

impl Slack {
    pub(super) fn new(
        link: &LinkConfig,
        deadlines: &[u64],
        shed: &[usize],
    ) -> Result<Slack, PlanError> {
        let out_of_range = |what: &str, remedy: &str| PlanError::OutOfRange {
            what: what.into(),
            remedy: remedy.into(),
        };
        if link.options.always_check || link.options.allow_overtaking {
            return Err(out_of_range(
                "`slack` with `always-check` or `allow-overtaking`",
                "leave both out; the kernel decides by the head alone",
            ));
        }
        let mut flows = Vec::with_capacity(link.realtime.len());
        let mut classes: Vec<(u64, [u64; 2])> = deadlines.iter().map(|d| (*d, [0; 2])).collect();
        let mut bursts = 0i128;
        for (place, flow) in link.realtime.iter().enumerate() {
            if shed.contains(&place) {
                flows.push(Flow::NONE);
                continue;
            }
            let class = deadlines.partition_point(|d| *d < flow.deadline.0);
            let flow = Flow::new(flow, link, class as u32);
            let on_wire = |x: u64| {
                (i128::from(x) * i128::from(flow.wire.0) + i128::from(flow.wire.1) - 1)
                    / i128::from(flow.wire.1)
            };
            bursts += on_wire(flow.lines[0].0.max(flow.lines[1].0));
            for (sum, line) in classes[class].1.iter_mut().zip(flow.lines) {
                let rate = u64::try_from(on_wire(line.1)).unwrap_or(u64::MAX);
                *sum = sum.saturating_add(rate);
            }
            flows.push(flow);
        }
        let longest = deadlines.last().copied().unwrap_or(0);
        let holds = (1u64 << 61) / link.rate.0.max(1);
        let fastest = classes.iter().fold(0u64, |sum, c| sum.saturating_add(c.1[0]));
        if bursts >= TERM || longest >= holds || fastest >= 1 << 50 {
            return Err(out_of_range(
                "the work of `slack`'s longest interval",
                "shorten deadlines, bursts or peak rates",
            ));
        }
        let mut shift = 0;
        while (longest >> shift) + 2 > LX_SLACK_BUCKETS {
            shift += 1;
        }
        let downstream_backlog = link.downstream_backlog.0.saturating_mul(NANOBITS_PER_BYTE as u64);
        Ok(Slack { flows, classes, horizon: holds - longest, downstream_backlog, shift })
    }

    pub(super) fn write(&self, place: &mut [u8]) {
        let places = lx_slack_config::FLOW.elements(place, lx_slack_flow::SIZEOF);
        for (flow, place) in self.flows.iter().zip(places) {
            let places = lx_slack_flow::LINE.elements(place, lx_bucket::SIZEOF);
            for ((burst, rate), place) in flow.lines.into_iter().zip(places) {
                write_bucket(place, burst, rate);
            }
            lx_slack_flow::WIRE.set_u64(place, flow.wire.0);
            lx_slack_flow::COUNTED.set_u64(place, flow.wire.1);
            lx_slack_flow::PERIOD.set_u64(place, flow.period);
            lx_slack_flow::JITTER.set_u64(place, flow.jitter);
            lx_slack_flow::SMALLEST.set_u32(place, flow.smallest);
            lx_slack_flow::CLASS.set_u32(place, flow.class);
        }
        let places = lx_slack_config::CLASS.elements(place, lx_slack_class::SIZEOF);
        for ((deadline, rates), place) in self.classes.iter().zip(places) {
            lx_slack_class::DEADLINE.set_u64(place, *deadline);
            lx_slack_class::RATE.set(place, rates.map(u64::to_ne_bytes).as_flattened());
        }
        let first = self.classes.first().map_or(u64::MAX, |c| c.0);
        let fastest: u64 = self.classes.iter().map(|c| c.1[0]).sum();
        lx_slack_config::MIN_DEADLINE.set_u64(place, first);
        lx_slack_config::HORIZON.set_u64(place, self.horizon);
        lx_slack_config::MAX_RATE.set_u64(place, fastest.max(1));
        lx_slack_config::DOWNSTREAM_BACKLOG.set_u64(place, self.downstream_backlog);
        lx_slack_config::SHIFT.set_u32(place, self.shift);
        lx_slack_config::CLASSES.set_u32(place, self.classes.len() as u32);
    }
}

impl Flow {
    /// A flow that sends nothing.
    const NONE: Flow =
        Flow { lines: [(0, 0); 2], wire: (1, 1), period: 0, jitter: 0, smallest: 0, class: 0 };

    fn new(flow: &RealtimeFlow, link: &LinkConfig, class: u32) -> Flow {
        let nanobits = |bytes: u64| bytes.saturating_mul(NANOBITS_PER_BYTE as u64);
        let counted = flow.smallest_counted();
        let wire = (link.wire.of_bytes(counted).0.max(1), counted.0.max(1));
        let smallest = u32::try_from(counted.0).unwrap_or(u32::MAX);
        match &flow.envelope {
            Envelope::Buckets { buckets, .. } => {
                let line = |b: Option<&laxity_curve::Bucket>| {
                    b.map_or((0, 0), |b| (nanobits(b.burst.0), b.rate.0))
                };
                let lines = [line(buckets.first()), line(buckets.last())];
                Flow { lines, wire, period: 0, jitter: 0, smallest, class }
            }
            Envelope::Periodic { period, jitter, size, .. } => {
                let work = nanobits(size.0);
                let line = (work, work.div_ceil(period.0.max(1)));
                let (period, jitter) = (period.0, jitter.0);
                Flow { lines: [line; 2], wire, period, jitter, smallest, class }
            }
        }
    }
}
