//! From a scenario to the parameters of one interface: the admission test, then the configuration
//! of the BPF programs in their layout.

mod classes;
mod corners;
mod curves;
mod error;
mod queues;
mod rules;
mod service;
mod shares;
mod slack;

pub use classes::{MOST_FLOW_QUEUES, QueueMemory};
pub use curves::{MOST_CURVE_LINES, MOST_CURVE_STARTS, served_flow};
pub use error::{Notice, PlanError};
pub use queues::{MOST_BEST_EFFORT_SLOTS, MOST_SHAPED_SLOTS};

use laxity_core::{Bytes, Rate};
use laxity_curve::service::check_flows;
use laxity_curve::{Blocking, Envelope};
use laxity_link::assign::{Assigner as _, Shifted};
use laxity_link::config::{BestEffortClass, Excess, FairQueue, LinkConfig, Release, Restart};
use laxity_link::registry;
use laxity_scenario::link::model::Scenario;

use crate::layout::link::{self, lx_bucket, lx_config, lx_envelope, lx_flow};
use classes::Classes;
use queues::Queues;
use service::Service;
use shares::Shares;
use slack::Slack;

/// Real-time flows of one link, `LX_MAX_FLOWS`.
pub const MOST_FLOWS: usize = link::LX_MAX_FLOWS as usize;
/// Different relative deadlines and flows with service curves, `LX_DEADLINE_CLASSES`.
pub const MOST_CLASSES: usize = link::LX_DEADLINE_CLASSES as usize;
/// Best-effort classes, `LX_BEST_EFFORT_CLASSES`.
pub const MOST_BEST_EFFORT: usize = link::LX_BEST_EFFORT_CLASSES as usize;
/// Token buckets of one flow, `LX_MAX_BUCKETS`.
pub const MOST_BUCKETS: usize = link::LX_MAX_BUCKETS as usize;

/// Products and differences of the programs stay below 2^62; each of their terms below this.
const TERM: i128 = 1 << 60;

/// Policies that run in the kernel, from their descriptors.
pub fn policies() -> impl Iterator<Item = &'static str> {
    registry::POLICIES.iter().filter(|p| p.qdisc().is_some()).map(|p| p.name)
}

/// `enum lx_policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Rule {
    /// Best effort has no deadlines.
    Background = link::LX_BACKGROUND as u32,
    /// Deadlines from one line.
    Line = link::LX_LINE as u32,
    /// Deadlines from all pieces of a curve.
    History = link::LX_HISTORY as u32,
    /// No deadlines: best effort is served when no real-time deadline can be missed because of it.
    Slack = link::LX_SLACK as u32,
}

impl Rule {
    /// The rule of a policy of that name; `None` for one that does not run in the kernel.
    ///
    /// A policy of [`Rule::History`] whose curve is one line runs under [`Rule::Line`].
    pub fn of(policy: &str) -> Option<Rule> {
        let number = registry::find(policy)?.qdisc()?;
        let all = [Rule::Background, Rule::Line, Rule::History, Rule::Slack];
        all.into_iter().find(|rule| rule.number() == number)
    }

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
    /// `struct lxl_match_rules`.
    pub rules: Vec<u8>,
    /// Capacity in packets.
    pub slots: u32,
    /// Capacity in real-time packets.
    pub realtime_slots: u32,
    /// Bit `i`: real-time flow `i` has no reservation, and its packets are best effort.
    pub shed: u64,
    /// Memory of the queues of best-effort classes.
    pub queues: QueueMemory,
    /// Of each flow with a service curve the beginning of `struct lx_served_flow`.
    pub served: Vec<Vec<u8>>,
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
        Plan::at_rate(scenario, policy, scenario.link.rate, &[])
    }

    /// The plan of a scenario at another rate, where the real-time flows at the places `shed` have no
    /// reservation. Flows, classes and limits are those of the scenario, so a running link changes
    /// from one rate to another in place.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn at_rate(
        scenario: &Scenario,
        policy: &str,
        rate: Rate,
        shed: &[usize],
    ) -> Result<Plan, PlanError> {
        let mut changed = scenario.clone();
        changed.link.rate = rate;
        let names: Vec<&str> = scenario.flow_names().collect();
        let credit = scenario.link.credit.0;
        let mut plan = Plan::of_flows(&changed.setup(), policy, &names, credit, shed)?;
        plan.rules = rules::image(scenario)?;
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
        Plan::of_flows(link, policy, names, credit, &[])
    }

    /// The plan of a link where some real-time flows have no reservation.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn of_flows(
        link: &LinkConfig,
        policy: &str,
        names: &[&str],
        credit: u64,
        shed: &[usize],
    ) -> Result<Plan, PlanError> {
        let rule = Rule::of(policy).ok_or_else(|| PlanError::NotLive { policy: policy.into() })?;
        limit("real-time flows", link.realtime.len(), MOST_FLOWS)?;
        let served = curves::of_link(link, names)?;
        if !served.is_empty() && rule == Rule::Slack {
            return Err(PlanError::CurvesUnder { policy: policy.into() });
        }
        if !served.is_empty() && !shed.is_empty() {
            return Err(PlanError::CurvesShed);
        }
        if matches!(link.fair_queue, FairQueue::Fsc(_)) {
            return Err(PlanError::FairServiceCurve);
        }
        limit("best-effort classes", link.best_effort.len(), MOST_BEST_EFFORT)?;
        let kept = kept_flows(link, shed);
        let relative = kept.realtime.iter().filter(|f| f.service.is_none());
        let mut deadlines: Vec<u64> = relative.map(|f| f.deadline.0).collect();
        deadlines.sort_unstable();
        deadlines.dedup();
        let classes = deadlines.len() + served.len();
        limit("different deadlines and flows with service curves", classes, MOST_CLASSES)?;

        let verdict = check_flows(&kept.link_spec(), &kept.link_flows()?)?;
        if !verdict.admitted {
            return Err(PlanError::NotAdmitted(Box::new(verdict)));
        }
        let curve = match rule {
            // Nothing is left to protect, and not every policy has a line then.
            Rule::Line | Rule::History if kept.realtime.is_empty() && !shed.is_empty() => {
                registry::curve(Shifted::INFO.name, &fitted(&kept))?
            }
            _ => registry::curve(policy, &kept)?,
        };
        let mut notices = Vec::new();
        let managed = link.best_effort.iter().any(BestEffortClass::is_managed);
        let service = Service::new((policy, rule), curve.as_ref(), managed, &mut notices)?;
        let classes = Classes::new(link, service.rule())?;
        let shares = Shares::new(link, &mut notices);
        let queues = Queues::new(link, &mut notices)?;
        let slack = match service.rule() {
            Rule::Slack => Slack::new(link, &deadlines, shed)?,
            _ => Slack::default(),
        };
        let parts = Parts {
            service: &service,
            shares: &shares,
            queues: &queues,
            slack: &slack,
            classes: &classes,
        };
        let config = config(link, names, credit, &deadlines, &parts)?;
        Ok(Plan {
            rule: service.rule(),
            config,
            rules: Vec::new(),
            slots: queues.slots,
            realtime_slots: queues.realtime_slots as u32,
            shed: shed.iter().fold(0, |bits, place| bits | 1 << place),
            queues: classes.memory,
            served,
            notices,
        })
    }
}

/// The link without flows that have no reservation.
fn kept_flows(link: &LinkConfig, shed: &[usize]) -> LinkConfig {
    let mut kept = link.clone();
    kept.realtime.clear();
    let flows = link.realtime.iter().enumerate().filter(|(place, _)| !shed.contains(place));
    kept.realtime.extend(flows.map(|(_, flow)| flow.clone()));
    kept
}

/// The link without lines that its scenario gives.
fn fitted(link: &LinkConfig) -> LinkConfig {
    let mut link = link.clone();
    link.options.shifted_line = None;
    link
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
    classes: &'a Classes,
}

fn config(
    link: &LinkConfig,
    names: &[&str],
    credit: u64,
    deadlines: &[u64],
    Parts { service, shares, queues, slack, classes: best_effort }: &Parts<'_>,
) -> Result<Vec<u8>, PlanError> {
    let mut bytes = vec![0; lx_config::SIZEOF];
    let config = &mut bytes[..];
    lx_config::RATE.set_u64(config, link.rate.0);
    lx_config::CREDIT.set_u64(config, credit);
    queues.write_limits(lx_config::LIMITS.of_mut(config));
    service.write(lx_config::SERVICE.of_mut(config));
    shares.write(lx_config::SHARES.of_mut(config), queues);
    let places = lx_config::FLOW.elements(config, lx_flow::SIZEOF);
    let mut classes = deadlines.len();
    for (k, (flow, place)) in link.realtime.iter().zip(places).enumerate() {
        let name = names.get(k).copied().unwrap_or_default();
        let policed = flow.service.as_ref().is_none_or(|service| service.policed);
        write_envelope(lx_flow::ENVELOPE.of_mut(place), &flow.envelope, policed, name)?;
        queues.realtime[k].write(lx_flow::LIMIT.of_mut(place));
        lx_flow::DEADLINE.set_u64(place, flow.deadline.0);
        let class = if flow.service.is_some() {
            classes += 1;
            classes - 1
        } else {
            // No packet of a flow without reservation enters a class.
            let class = deadlines.partition_point(|d| *d < flow.deadline.0);
            class.min(deadlines.len().saturating_sub(1))
        };
        lx_flow::CLASS.set_u32(place, class as u32);
        let excess = match flow.excess {
            Excess::Delay => link::LX_DELAY,
            Excess::Demote => link::LX_DEMOTE,
            Excess::Drop => link::LX_DROP,
        };
        lx_flow::EXCESS.set_u32(place, excess as u32);
    }
    slack.write(lx_config::SLACK.of_mut(config));
    best_effort.write(lx_config::CLASS.of_mut(config));
    lx_config::FLOWS.set_u32(config, link.realtime.len() as u32);
    lx_config::FLOWS_SIZE.set_u32(config, link.realtime.len().next_power_of_two() as u32);
    lx_config::CLASSES_SIZE.set_u32(config, classes.next_power_of_two() as u32);
    lx_config::FIRST_SERVED.set_u32(config, deadlines.len() as u32);
    lx_config::OVERHEAD.set_u32(config, link.wire.overhead);
    lx_config::MIN_FRAME.set_u32(config, link.wire.min_frame);
    lx_config::LARGEST_BEST_EFFORT.set_u32(config, narrow(link.max_packet));
    let release = match link.release {
        Release::Arrival => link::LX_ARRIVAL,
        Release::HeadOfLine => link::LX_HEAD_OF_LINE,
    };
    lx_config::RELEASE.set_u32(config, release as u32);
    lx_config::SLOTS.set_u32(config, queues.slots);
    let restarts = match link.options.restart {
        Restart::Idle => link::LX_RESTART_ON_IDLE,
        Restart::Sooner if service.restarts() => link::LX_RESTART_ON_CLEAR,
        Restart::Sooner => link::LX_RESTART_ON_EMPTY,
    };
    lx_config::RESTARTS.set_u32(config, restarts as u32);
    lx_config::COUNTS_IN_FLIGHT.set_u32(config, (link.blocking == Blocking::Exact).into());
    Ok(bytes)
}

fn narrow(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}

/// Writes a `struct lx_envelope`, of sizes alone if the envelope is not enforced.
fn write_envelope(
    place: &mut [u8],
    envelope: &Envelope,
    policed: bool,
    flow: &str,
) -> Result<(), PlanError> {
    lx_envelope::MAX_PACKET.set_u32(place, narrow(envelope.max_packet()));
    if !policed {
        return Ok(());
    }
    let nanobits = |b: Bytes| u64::try_from(i128::from(b.0) * laxity_core::NANOBITS_PER_BYTE);
    let smallest = match envelope {
        Envelope::Buckets { buckets, min_packet, .. } => {
            if buckets.len() > MOST_BUCKETS {
                let (found, most) = (buckets.len(), MOST_BUCKETS);
                let of = Some(flow.to_string());
                return Err(PlanError::TooMany { what: "token buckets", of, found, most });
            }
            let places = lx_envelope::BUCKET.elements(place, lx_bucket::SIZEOF);
            for (bucket, place) in buckets.iter().zip(places) {
                let burst = nanobits(bucket.burst).ok().filter(|b| i128::from(*b) < TERM);
                let burst = burst.ok_or_else(|| PlanError::OutOfRange {
                    what: format!("the burst of {flow}"),
                    remedy: "lower it below 144 MB".into(),
                })?;
                write_bucket(place, burst, bucket.rate.0);
            }
            lx_envelope::NR_BUCKETS.set_u32(place, buckets.len() as u32);
            *min_packet
        }
        Envelope::Periodic { period, jitter, size, .. } => {
            lx_envelope::PERIOD.set_u64(place, period.0);
            lx_envelope::JITTER.set_u64(place, jitter.0);
            *size
        }
    };
    lx_envelope::MIN_PACKET.set_u32(place, narrow(smallest));
    Ok(())
}

/// Writes a `struct lx_bucket`, whose burst is in nanobits and whose rate is in bit/s.
fn write_bucket(place: &mut [u8], burst: u64, rate: u64) {
    let fill = if rate == 0 { u64::MAX } else { burst.div_ceil(rate) };
    lx_bucket::BURST.set_u64(place, burst);
    lx_bucket::RATE.set_u64(place, rate);
    lx_bucket::FILL.set_u64(place, fill);
}

#[cfg(test)]
mod tests {
    use laxity_core::Live;
    use laxity_link::live;

    use super::*;

    // Fails when the queues of all classes may exceed what the programs hold, or the error does not
    // say how to have fewer.
    // The class of all other packets has a queue too.
    #[test]
    fn flow_queues_are_limited() {
        let plan = |classes: usize, queues: u32| {
            let class = format!("[[best_effort]]\nflows = {{ queues = {queues} }}\nname = ");
            let classes = (0..classes).map(|i| format!("{class}\"class-{i}\"\n"));
            let text = format!("[link]\nrate = \"10 Mbit/s\"\n{}", classes.collect::<String>());
            let scenario = Scenario::parse(&text, "link.toml").unwrap();
            let names: Vec<&str> = scenario.flow_names().collect();
            Plan::of_link(&scenario.setup(), "exact", &names, 0)
        };
        let memory = plan(3, 4096).unwrap().queues;
        assert_eq!((memory.flow_queues, memory.flow_orders), (3 * 4096 + 1, 3));
        let error = plan(5, 4096).unwrap_err().to_string();
        assert!(error.contains("20481") && error.contains("lower `queues`"), "{error}");
    }

    // Fails when `slack` runs with curves that its programs do not count, or the error does not say
    // what to do.
    #[test]
    fn slack_refuses_service_curves() {
        let text = "[link]\nrate = \"10 Mbit/s\"\n[[realtime]]\nname = \"voice\"\n\
                    service_curve = { rate = \"100 kB/s\", latency = \"8 ms\" }\n";
        let scenario = Scenario::parse(text, "link.toml").unwrap();
        let error = Plan::with_policy(&scenario, "slack").unwrap_err();
        assert_eq!(error, PlanError::CurvesUnder { policy: "slack".into() });
        let error = error.to_string();
        assert!(error.contains("`exact`") && error.contains("`laxity link bridge`"), "{error}");
        assert_eq!(Plan::with_policy(&scenario, "exact").unwrap().served.len(), 1);
        let shed = Plan::at_rate(&scenario, "exact", scenario.link.rate, &[0]).unwrap_err();
        assert_eq!(shed, PlanError::CurvesShed);
    }

    // Fails when a class's curve is dropped in silence, or the message does not say what to do.
    #[test]
    fn curves_of_best_effort_are_refused() {
        let text = "[link]\nrate = \"10 Mbit/s\"\n[policy]\nfair_queue = \"fsc\"\n\
                    [[best_effort]]\nname = \"web\"\n";
        let error = Plan::new(&Scenario::parse(text, "link.toml").unwrap()).unwrap_err();
        assert_eq!(error, PlanError::FairServiceCurve);
        assert!(error.to_string().contains("`laxity link bridge`"), "{error}");
    }

    // Fails when a rule has another number in the programs than in the descriptions of policies.
    #[test]
    fn policies_name_rules_of_the_programs() {
        for (rule, live) in [
            (Rule::Background, live::BACKGROUND),
            (Rule::Line, live::LINE),
            (Rule::History, live::HISTORY),
            (Rule::Slack, live::SLACK),
        ] {
            assert_eq!(Live::Qdisc(rule.number()), live);
        }
        for name in policies() {
            assert!(Rule::of(name).is_some(), "{name}");
        }
        assert_eq!(Rule::of("fifo"), None);
    }
}
