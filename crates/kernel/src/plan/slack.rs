//! Parameters of the flows for `slack`.

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::Envelope;
use laxity_link::config::{LinkConfig, RealtimeFlow};

use super::{MOST_CLASSES, MOST_FLOWS, PlanError, TERM};
use crate::struct_writer::StructWriter;

/// `LX_DUE`.
const DUE: u64 = 64;

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
    pub(super) fn new(link: &LinkConfig, deadlines: &[u64]) -> Result<Slack, PlanError> {
        let out_of_range = |what: &str, remedy: &str| PlanError::OutOfRange {
            what: what.into(),
            remedy: remedy.into(),
        };
        if link.options.always_check || link.options.pass_refused {
            return Err(out_of_range(
                "`slack` with `always-check` or `pass-refused`",
                "leave both out; the kernel decides by the head alone",
            ));
        }
        let mut flows = Vec::with_capacity(link.realtime.len());
        let mut classes: Vec<(u64, [u64; 2])> = deadlines.iter().map(|d| (*d, [0; 2])).collect();
        let mut bursts = 0i128;
        for flow in &link.realtime {
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
        while (longest >> shift) + 2 > DUE {
            shift += 1;
        }
        let downstream_backlog = link.downstream_backlog.0.saturating_mul(NANOBITS_PER_BYTE as u64);
        Ok(Slack { flows, classes, horizon: holds - longest, downstream_backlog, shift })
    }

    pub(super) fn write(&self, writer: &mut StructWriter) {
        writer.array(MOST_FLOWS, 88, &self.flows, |i, flow| {
            for (burst, rate) in flow.lines {
                let fill = if rate == 0 { u64::MAX } else { burst.div_ceil(rate) };
                i.u64(burst).u64(rate).u64(fill);
            }
            i.u64(flow.wire.0).u64(flow.wire.1).u64(flow.period).u64(flow.jitter);
            i.u32(flow.smallest).u32(flow.class);
        });
        writer.array(MOST_CLASSES, 24, &self.classes, |i, (deadline, rates)| {
            i.u64(*deadline).u64(rates[0]).u64(rates[1]);
        });
        let fastest: u64 = self.classes.iter().map(|c| c.1[0]).sum();
        writer.u64(self.classes.first().map_or(u64::MAX, |c| c.0)).u64(self.horizon);
        writer
            .u64(fastest.max(1))
            .u64(self.downstream_backlog)
            .u32(self.shift)
            .u32(self.classes.len() as u32);
    }
}

impl Flow {
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
