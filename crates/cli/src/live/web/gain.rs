//! What best effort gained over strict priority: the packets that a link counted in an interval, simulated in
//! passing under its policy and under `background`.
//!
//! A link counts packets and bytes, not arrivals. Those of an interval arrive at random instants in it, as those of
//! a Poisson process of which their number alone is known, and have their mean size. Longer bursts within an
//! interval are not seen; the page calls the result simulated.

use std::collections::HashMap;

use laxity_core::{FlowId, Span, Time};
use laxity_link::buffer::DropReason;
use laxity_link::registry;
use laxity_link::{Departure, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::{Observer, run};
use laxity_sim::{Control, Random};
use laxity_traffic::Arrival;
use serde::Serialize;

use crate::live::top::parts::{Part, PartKind, Parts};

/// The most packets of all links that are simulated of an interval; of more, its first part.
const MOST: u64 = 50_000;
/// Strict priority of real time.
const STRICT: &str = "background";

/// Mean delays of best effort since the page's command began, in ms.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Packets of best effort that were simulated.
    pub packets: u64,
    /// Under the policy of the link.
    pub mean_ms: f64,
    /// The same packets under strict priority.
    pub strict_mean_ms: f64,
}

/// Delays of best effort, summed.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: u64,
    own_ns: u128,
    strict_ns: u128,
}

/// One link between two samples.
struct Watched {
    changes: u32,
    scenario: Option<Scenario>,
    policy: String,
    /// Packets and bytes of each flow so far.
    counts: Vec<(u64, u64)>,
    sums: Sums,
}

/// Finds the scenario of a link.
type ScenarioOf = Box<dyn FnMut(&Part) -> Option<Scenario> + Send>;

/// All links.
pub struct GainMeter {
    links: HashMap<(String, Option<u32>), Watched>,
    scenario_of: ScenarioOf,
}

impl GainMeter {
    /// A meter that asks for the scenario of a link when it appears or changes; of one without, nothing is said.
    pub fn new(scenario_of: impl FnMut(&Part) -> Option<Scenario> + Send + 'static) -> GainMeter {
        GainMeter { links: HashMap::new(), scenario_of: Box::new(scenario_of) }
    }

    /// Takes a sample, made so many seconds after the last, and gives each link its gain.
    pub fn update(&mut self, parts: &mut Parts, seconds: f64) {
        let mut links = HashMap::new();
        let known = self.links.values().filter(|watched| watched.scenario.is_some()).count();
        let most = MOST / known.max(1) as u64;
        for place in 0..parts.parts.len() {
            if parts.parts[place].kind != PartKind::Link {
                continue;
            }
            let part = &parts.parts[place];
            let key = (part.of.clone(), part.process);
            let flows: Vec<&Part> = parts.parts[place + 1..]
                .iter()
                .take_while(|flow| flow.kind == PartKind::Flow)
                .collect();
            let mut counts: Vec<(u64, u64)> = flows
                .iter()
                .map(|flow| (flow.count.unwrap_or(0), flow.bytes.unwrap_or(0)))
                .collect();
            let before = self.links.remove(&key).filter(|b| b.changes == part.changes);
            let watched = match before {
                Some(mut watched) => {
                    std::mem::swap(&mut watched.counts, &mut counts);
                    let since = watched.counts.iter().zip(&counts).map(|(now, before)| {
                        (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1))
                    });
                    let since: Vec<(u64, u64)> = since.collect();
                    if let Some(scenario) = &watched.scenario {
                        watched.sums.add(scenario, &watched.policy, &since, seconds, most);
                    }
                    watched
                }
                None => {
                    let names = |s: &Scenario| {
                        s.flow_names().zip(&flows).all(|(name, flow)| name == flow.name)
                            && s.flow_count() >= flows.len()
                    };
                    let scenario = (self.scenario_of)(part).filter(names);
                    let (changes, policy) = (part.changes, part.name.clone());
                    Watched { changes, scenario, policy, counts, sums: Sums::default() }
                }
            };
            parts.parts[place].gain = watched.sums.gain();
            links.insert(key, watched);
        }
        self.links = links;
    }
}

impl Sums {
    fn add(
        &mut self,
        scenario: &Scenario,
        policy: &str,
        counts: &[(u64, u64)],
        seconds: f64,
        most: u64,
    ) {
        let arrivals = spread(scenario, counts, seconds, most);
        let own = best_effort(scenario, policy, &arrivals);
        let strict = best_effort(scenario, STRICT, &arrivals);
        // Buffers may drop others; then the two are not of the same packets.
        if let (Some(own), Some(strict)) = (own, strict) {
            if own.0 == strict.0 {
                self.packets += own.0;
                self.own_ns += own.1;
                self.strict_ns += strict.1;
            }
        }
    }

    fn gain(&self) -> Option<Gain> {
        let mean = |sum: u128| sum as f64 / self.packets as f64 / 1e6;
        (self.packets > 0).then(|| Gain {
            packets: self.packets,
            mean_ms: mean(self.own_ns),
            strict_mean_ms: mean(self.strict_ns),
        })
    }
}

/// Packets of flows, at most this many, at random instants of an interval: the same for the same counts.
fn spread(scenario: &Scenario, counts: &[(u64, u64)], seconds: f64, most: u64) -> Vec<Arrival> {
    let total: u128 = counts.iter().map(|(packets, _)| u128::from(*packets)).sum();
    let interval = (seconds.clamp(0.0, 3600.0) * 1e9) as u128;
    let part = (u128::from(most).min(total), total.max(1));
    let (mut arrivals, mut random) = (Vec::new(), Random::new(total as u64, 0));
    for (flow, (packets, bytes)) in (0u32..).zip(counts) {
        let Some(mean) = bytes.checked_div(*packets) else { continue };
        let largest = scenario.link.max_packet.0.max(1);
        let bytes = mean.clamp(1, largest) as u32;
        let some: u128 = u128::from(*packets) * part.0 / part.1;
        let end = (interval * part.0 / part.1) as u64;
        arrivals.extend((0..some).map(|_| {
            let at = if end > 0 { random.uniform(0, end - 1) } else { 0 };
            Arrival::new(Time(at), FlowId(flow), bytes)
        }));
    }
    arrivals.sort_by_key(|arrival| (arrival.time, arrival.flow.0));
    arrivals
}

/// Packets of best effort that a policy sends of these, and the sum of their delays in ns; none where the
/// scenario does not suit the policy.
fn best_effort(scenario: &Scenario, policy: &str, arrivals: &[Arrival]) -> Option<(u64, u128)> {
    // Not in its own type, which would be another engine for each policy.
    let mut policy = registry::build(policy, &scenario.setup()).ok()?;
    let mut delays = Delays { realtime: scenario.realtime.len(), packets: 0, sum_ns: 0 };
    let (rate, wire) = (scenario.link.rate, scenario.link.wire());
    let arrivals = arrivals.iter().copied();
    run(&mut policy, arrivals, rate, wire, &mut delays, &Control::default());
    Some((delays.packets, delays.sum_ns))
}

struct Delays {
    realtime: usize,
    packets: u64,
    sum_ns: u128,
}

impl Observer for Delays {
    fn arrived(&mut self, _: &Packet) {}

    fn sent(&mut self, departure: &Departure, end: Time) {
        let packet = &departure.packet;
        if packet.flow.index() >= self.realtime {
            let Span(delay) = end.since(packet.arrival);
            self.packets += 1;
            self.sum_ns += u128::from(delay);
        }
    }

    fn dropped(&mut self, _: Time, _: &Packet, _: DropReason) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::top::parts::PARTS_VERSION;

    /// Fails when the gain is of other packets than those counted, has no sign of the policy, or goes on over
    /// a change of the scenario.
    #[test]
    fn the_gain_is_that_of_the_counted_packets() {
        let text = include_str!("../../../../../scenarios/access-link.toml");
        let scenario = Scenario::parse(text, "access-link").expect("a scenario");
        let names: Vec<String> = scenario.flow_names().map(str::to_owned).collect();
        let given = scenario.clone();
        let mut meter = GainMeter::new(move |_| Some(given.clone()));
        let sample = |seconds: u64, changes: u32| {
            let mut parts = vec![Part::new(PartKind::Link, "eth0", "exact")];
            parts.extend(names.iter().map(|name| {
                let mut flow = Part::new(PartKind::Flow, "eth0", name);
                // 600 packets a second of each flow, together beyond three quarters of the link.
                (flow.count, flow.bytes) = (Some(200 * seconds), Some(200 * seconds * 800));
                flow
            }));
            parts.iter_mut().for_each(|part| part.changes = changes);
            Parts { version: PARTS_VERSION, parts, notes: Vec::new() }
        };
        let mut gain = |seconds, changes| {
            let mut parts = sample(seconds, changes);
            meter.update(&mut parts, 1.0);
            parts.parts[0].gain
        };
        assert_eq!(gain(1, 1), None);
        let first = gain(2, 1).expect("a gain");
        let best_effort = (scenario.flow_count() - scenario.realtime.len()) as u64;
        assert_eq!(first.packets, 200 * best_effort);
        assert!(first.mean_ms < first.strict_mean_ms && first.mean_ms > 0.0, "{first:?}");
        let second = gain(3, 1).expect("a gain");
        assert_eq!(second.packets, 2 * first.packets);
        assert_eq!(gain(3, 2), None);
    }

    /// Fails when the packets that an interval simulates grow with the number of links.
    #[test]
    fn many_links_share_the_packets_of_an_interval() {
        let text = include_str!("../../../../../scenarios/access-link.toml");
        let scenario = Scenario::parse(text, "access-link").expect("a scenario");
        let names: Vec<String> = scenario.flow_names().map(str::to_owned).collect();
        let mut meter = GainMeter::new(move |_| Some(scenario.clone()));
        let mut sample = |round: u64| {
            let parts = (0..20).flat_map(|n| {
                let of = format!("eth{n}");
                let flow = |name: &String| {
                    let mut flow = Part::new(PartKind::Flow, &of, name);
                    (flow.count, flow.bytes) = (Some(1_000_000 * round), Some(100_000_000 * round));
                    flow
                };
                let flows: Vec<Part> = names.iter().map(flow).collect();
                [vec![Part::new(PartKind::Link, &of, "exact")], flows].concat()
            });
            let mut parts =
                Parts { version: PARTS_VERSION, parts: parts.collect(), notes: Vec::new() };
            meter.update(&mut parts, 1.0);
            parts.parts.iter().filter_map(|part| part.gain).map(|gain| gain.packets).sum::<u64>()
        };
        assert_eq!(sample(1), 0);
        let packets = sample(2);
        assert!((1..=MOST).contains(&packets), "{packets} packets");
    }

    /// Fails when an interval with more packets than are simulated takes packets beyond its first part, one
    /// without a length divides by zero, or counts that a counter cannot hold overflow.
    #[test]
    fn intervals_of_any_size_are_spread() {
        let text = include_str!("../../../../../scenarios/access-link.toml");
        let scenario = Scenario::parse(text, "access-link").expect("a scenario");
        let many =
            spread(&scenario, &[(1_000_000, 100_000_000), (0, 0), (1_000_000, 0)], 1.0, MOST);
        assert_eq!(many.len() as u64, MOST);
        assert!(many.iter().all(|a| a.time < Time(30_000_000) && a.bytes >= 1));
        let all = [(u64::MAX, u64::MAX); 2];
        assert!(spread(&scenario, &all, 1.0, MOST).len() as u64 <= MOST);
        assert!(spread(&scenario, &[(3, 300)], 0.0, MOST).iter().all(|a| a.time == Time::ZERO));
    }
}
