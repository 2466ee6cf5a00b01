//! From a scenario to the parameters of one interface: the admission test, then the configuration
//! of the BPF programs in their layout.

mod corners;
mod error;
mod queues;
mod rules;
mod service;
mod shares;
mod slack;

pub use error::{Notice, PlanError};
pub use queues::{MOST_BEST_EFFORT_SLOTS, MOST_SHAPED_SLOTS};

use laxity_core::Bytes;
use laxity_curve::{Blocking, Envelope, check};
use laxity_link::config::{Excess, LinkConfig, Release, Restart};
use laxity_link::registry;
use laxity_scenario::model::Scenario;

use crate::struct_writer::StructWriter;
use queues::Queues;
use service::Service;
use shares::Shares;
use slack::Slack;

/// Real-time flows of one link, `LX_FLOWS`.
pub const MOST_FLOWS: usize = 64;
/// Different relative deadlines, `LX_CLASSES`.
pub const MOST_CLASSES: usize = 32;
/// Best-effort classes, `LX_BEST`.
pub const MOST_BEST_EFFORT: usize = 16;
/// Token buckets of one flow, `LX_BUCKETS`.
pub const MOST_BUCKETS: usize = 4;

/// Products and differences of the programs stay below 2^62; each of their terms below this.
const TERM: i128 = 1 << 60;

/// Policies that run in the kernel.
pub const POLICIES: &[&str] =
    &["background", "tbs", "shifted-line", "two-segment", "exact", "slack"];

/// `enum lx_policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Best effort has no deadlines.
    Background,
    /// Deadlines from one line.
    Line,
    /// Deadlines from all pieces of a curve.
    History,
    /// No deadlines: best effort is served when no real-time deadline can be missed because of it.
    Slack,
}

impl Rule {
    /// Its number in the programs.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// Parameters with which the programs of one interface are loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Rule by which best-effort packets get deadlines.
    pub rule: Rule,
    /// `struct lx_config`.
    pub config: Vec<u8>,
    /// `struct lx_rules`.
    pub rules: Vec<u8>,
    /// Capacity in packets.
    pub slots: u32,
    /// Capacity in real-time packets.
    pub realtime_slots: u32,
    /// Deviations of the kernel from the scenario.
    pub notices: Vec<Notice>,
}

impl Plan {
    /// The plan of a scenario's own policy.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(scenario: &Scenario) -> Result<Plan, PlanError> {
        Plan::with_policy(scenario, &scenario.policy.use_)
    }

    /// The plan of a scenario under another policy.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn with_policy(scenario: &Scenario, policy: &str) -> Result<Plan, PlanError> {
        let link = scenario.setup();
        let names: Vec<&str> = scenario.flow_names().collect();
        let mut plan = Plan::of_link(&link, policy, &names, scenario.link.credit.0)?;
        plan.rules = rules::encode(scenario)?.into_bytes();
        Ok(plan)
    }

    /// The plan of a link without classification rules, for tests that call the programs directly.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn of_link(
        link: &LinkConfig,
        policy: &str,
        names: &[&str],
        credit: u64,
    ) -> Result<Plan, PlanError> {
        let policy = *POLICIES
            .iter()
            .find(|name| **name == policy)
            .ok_or_else(|| PlanError::NotLive { policy: policy.into() })?;
        limit("real-time flows", link.realtime.len(), MOST_FLOWS)?;
        limit("best-effort classes", link.best_effort.len(), MOST_BEST_EFFORT)?;
        let mut deadlines: Vec<u64> = link.realtime.iter().map(|f| f.deadline.0).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        limit("different deadlines", deadlines.len(), MOST_CLASSES)?;

        let flows = link.flow_specs()?;
        let verdict = check(&link.link_spec(), &flows)?;
        if !verdict.admitted {
            return Err(PlanError::NotAdmitted(Box::new(verdict)));
        }
        let curve = registry::curve(policy, link)?;
        let mut notices = Vec::new();
        let service = Service::new(policy, curve.as_ref(), &mut notices)?;
        let shares = Shares::new(link, &mut notices);
        let queues = Queues::new(link, &mut notices)?;
        let slack = match service.rule() {
            Rule::Slack => Slack::new(link, &deadlines)?,
            _ => Slack::default(),
        };
        let parts = Parts { service: &service, shares: &shares, queues: &queues, slack: &slack };
        let config = config(link, names, credit, &deadlines, &parts)?;
        Ok(Plan {
            rule: service.rule(),
            config: config.into_bytes(),
            rules: Vec::new(),
            slots: queues.slots,
            realtime_slots: queues.realtime_slots as u32,
            notices,
        })
    }
}

fn limit(what: &'static str, found: usize, most: usize) -> Result<(), PlanError> {
    if found > most {
        return Err(PlanError::TooMany { what, of: None, found, most });
    }
    Ok(())
}

struct Parts<'a> {
    service: &'a Service,
    shares: &'a Shares,
    queues: &'a Queues,
    slack: &'a Slack,
}

fn config(
    link: &LinkConfig,
    names: &[&str],
    credit: u64,
    deadlines: &[u64],
    Parts { service, shares, queues, slack }: &Parts<'_>,
) -> Result<StructWriter, PlanError> {
    let mut writer = StructWriter::default();
    writer.u64(link.rate.0).u64(credit);
    queues.write_limits(&mut writer);
    service.write(&mut writer);
    shares.write(&mut writer, queues);
    let mut wrong = None;
    let size = MOST_BUCKETS * 24 + 32 + 32 + 8 + 8;
    writer.array(MOST_FLOWS, size, link.realtime.iter().enumerate(), |i, (k, flow)| {
        let name = names.get(k).copied().unwrap_or_default();
        if let Err(error) = envelope(i, &flow.envelope, name) {
            wrong.get_or_insert(error);
        }
        queues.realtime[k].write(i);
        i.u64(flow.deadline.0);
        let class = deadlines.partition_point(|d| *d < flow.deadline.0);
        let excess = match flow.excess {
            Excess::Delay => 0,
            Excess::Demote => 1,
            Excess::Drop => 2,
        };
        i.u32(class as u32).u32(excess);
    });
    if let Some(error) = wrong {
        return Err(error);
    }
    slack.write(&mut writer);
    let narrow = |b: Bytes| u32::try_from(b.0).unwrap_or(u32::MAX);
    writer
        .u32(link.realtime.len() as u32)
        .u32(link.realtime.len().next_power_of_two() as u32)
        .u32(deadlines.len().next_power_of_two() as u32)
        .u32(link.wire.overhead)
        .u32(link.wire.min_frame)
        .u32(narrow(link.max_packet))
        .u32(match link.release {
            Release::Arrival => 0,
            Release::HeadOfLine => 1,
        })
        .u32(queues.slots)
        .u32(match link.options.restart {
            Restart::Idle => 0,
            Restart::Sooner => 1 + u32::from(service.restarts()),
        })
        .u32(u32::from(link.blocking == Blocking::Exact));
    Ok(writer)
}

/// `struct lx_envelope`.
fn envelope(writer: &mut StructWriter, envelope: &Envelope, flow: &str) -> Result<(), PlanError> {
    let nanobits = |b: Bytes| u64::try_from(i128::from(b.0) * laxity_core::NANOBITS_PER_BYTE);
    let empty = (0u64, 0u64, 0u64);
    let mut buckets = [empty; MOST_BUCKETS];
    let (mut period, mut jitter, mut count) = (0, 0, 0);
    let smallest = match envelope {
        Envelope::Buckets { buckets: given, min_packet, .. } => {
            if given.len() > MOST_BUCKETS {
                let (found, most) = (given.len(), MOST_BUCKETS);
                let of = Some(flow.to_string());
                return Err(PlanError::TooMany { what: "token buckets", of, found, most });
            }
            for (state, bucket) in buckets.iter_mut().zip(given) {
                let burst = nanobits(bucket.burst).ok().filter(|b| i128::from(*b) < TERM);
                let burst = burst.ok_or_else(|| PlanError::OutOfRange {
                    what: format!("the burst of {flow}"),
                    remedy: "lower it below 144 MB".into(),
                })?;
                let fill =
                    if bucket.rate.0 == 0 { u64::MAX } else { burst.div_ceil(bucket.rate.0) };
                *state = (burst, bucket.rate.0, fill);
            }
            count = given.len();
            *min_packet
        }
        Envelope::Periodic { period: p, jitter: j, size, .. } => {
            (period, jitter) = (p.0, j.0);
            *size
        }
    };
    let narrow = |b: Bytes| u32::try_from(b.0).unwrap_or(u32::MAX);
    for (burst, rate, fill) in buckets {
        writer.u64(burst).u64(rate).u64(fill);
    }
    writer.u64(period).u64(jitter);
    writer.u32(count as u32).u32(narrow(envelope.max_packet())).u32(narrow(smallest)).u32(0);
    Ok(())
}
