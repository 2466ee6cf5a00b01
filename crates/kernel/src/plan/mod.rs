//! From a scenario to the parameters of one interface: admission, then everything the programs
//! read, in their own layout.

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
use laxity_link::registry;
use laxity_link::setup::{Excess, Release, Restart, Setup};
use laxity_scenario::model::Scenario;

use crate::image::Image;
use crate::layout::link;
use queues::Queues;
use service::Service;
use shares::Shares;
use slack::Slack;

/// Real-time flows of one link, `LX_MAX_FLOWS`.
pub const MOST_FLOWS: usize = link::LX_MAX_FLOWS as usize;
/// Different relative deadlines, `LX_DEADLINE_CLASSES`.
pub const MOST_CLASSES: usize = link::LX_DEADLINE_CLASSES as usize;
/// Best-effort classes, `LX_BEST_EFFORT_CLASSES`.
pub const MOST_BEST_EFFORT: usize = link::LX_BEST_EFFORT_CLASSES as usize;
/// Token buckets of one flow, `LX_MAX_BUCKETS`.
pub const MOST_BUCKETS: usize = link::LX_MAX_BUCKETS as usize;

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
    /// No deadlines: best effort goes when no real-time deadline could suffer.
    Slack,
}

impl Rule {
    /// Its number in the programs.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// What the programs of one interface are loaded with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How best-effort packets get deadlines.
    pub rule: Rule,
    /// `struct lx_config`.
    pub config: Vec<u8>,
    /// `struct lxl_match_rules`.
    pub rules: Vec<u8>,
    /// Packets that can wait.
    pub slots: u32,
    /// Real-time packets among them.
    pub realtime_slots: u32,
    /// What the kernel does other than the scenario says.
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
        let setup = scenario.setup();
        let names: Vec<&str> = scenario.flow_names().collect();
        let mut plan = Plan::of_setup(&setup, policy, &names, scenario.link.credit.0)?;
        plan.rules = rules::image(scenario)?.into_bytes();
        Ok(plan)
    }

    /// The plan of a setup, without rules for packets: what a test drives by hand.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn of_setup(
        setup: &Setup,
        policy: &str,
        names: &[&str],
        credit: u64,
    ) -> Result<Plan, PlanError> {
        let policy = *POLICIES
            .iter()
            .find(|name| **name == policy)
            .ok_or_else(|| PlanError::NotLive { policy: policy.into() })?;
        limit("real-time flows", setup.realtime.len(), MOST_FLOWS)?;
        limit("best-effort classes", setup.best_effort.len(), MOST_BEST_EFFORT)?;
        let mut deadlines: Vec<u64> = setup.realtime.iter().map(|f| f.deadline.0).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        limit("different deadlines", deadlines.len(), MOST_CLASSES)?;

        let flows = setup.flow_specs()?;
        let verdict = check(&setup.link_spec(), &flows)?;
        if !verdict.admitted {
            return Err(PlanError::NotAdmitted(Box::new(verdict)));
        }
        let curve = registry::curve(policy, setup)?;
        let mut notices = Vec::new();
        let service = Service::new(policy, curve.as_ref(), &mut notices)?;
        let shares = Shares::new(setup, &mut notices);
        let queues = Queues::new(setup, &mut notices)?;
        let slack = match service.rule() {
            Rule::Slack => Slack::new(setup, &deadlines)?,
            _ => Slack::default(),
        };
        let parts = Parts { service: &service, shares: &shares, queues: &queues, slack: &slack };
        let config = config(setup, names, credit, &deadlines, &parts)?;
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
    setup: &Setup,
    names: &[&str],
    credit: u64,
    deadlines: &[u64],
    Parts { service, shares, queues, slack }: &Parts<'_>,
) -> Result<Image, PlanError> {
    let mut image = Image::default();
    image.u64(setup.rate.0).u64(credit);
    queues.write_limits(&mut image);
    service.write(&mut image);
    shares.write(&mut image, queues);
    let mut wrong = None;
    debug_assert_eq!(image.len(), link::lx_config::FLOW.at);
    image.array(
        MOST_FLOWS,
        link::lx_flow::SIZEOF,
        setup.realtime.iter().enumerate(),
        |i, (k, flow)| {
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
        },
    );
    if let Some(error) = wrong {
        return Err(error);
    }
    debug_assert_eq!(image.len(), link::lx_config::SLACK.at);
    slack.write(&mut image);
    debug_assert_eq!(image.len(), link::lx_config::FLOWS.at);
    let narrow = |b: Bytes| u32::try_from(b.0).unwrap_or(u32::MAX);
    image
        .u32(setup.realtime.len() as u32)
        .u32(setup.realtime.len().next_power_of_two() as u32)
        .u32(deadlines.len().next_power_of_two() as u32)
        .u32(setup.wire.overhead)
        .u32(setup.wire.min_frame)
        .u32(narrow(setup.max_packet))
        .u32(match setup.release {
            Release::Arrival => 0,
            Release::HeadOfLine => 1,
        })
        .u32(queues.slots)
        .u32(match setup.options.restart {
            Restart::Idle => 0,
            Restart::Sooner => 1 + u32::from(service.restarts()),
        })
        .u32(u32::from(setup.blocking == Blocking::Exact));
    debug_assert_eq!(image.len(), link::lx_config::SIZEOF);
    Ok(image)
}

/// `struct lx_envelope`.
fn envelope(image: &mut Image, envelope: &Envelope, flow: &str) -> Result<(), PlanError> {
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
        image.u64(burst).u64(rate).u64(fill);
    }
    image.u64(period).u64(jitter);
    image.u32(count as u32).u32(narrow(envelope.max_packet())).u32(narrow(smallest)).u32(0);
    Ok(())
}
