//! The simulations behind the tables and Figures 4 and 5.

use std::sync::Arc;

use laxity_core::{FlowId, Span, Time};
use laxity_link::police::Policer;
use laxity_results::{FlowResult, PolicyResult};
use laxity_scenario::link::model::{FairQueue, Release, Scenario};
use laxity_sim::Control;
use laxity_sim::link::{Generator, PolicyRun, Traffic, simulate_all};

use super::{COLUMNS, REFERENCE, textbook};
use crate::{ExperimentError, Job};

/// Policies beyond the paper's columns.
const OTHERS: [&str; 7] =
    ["tbs", "algorithm-3", "exact", "slack", "proportional-share", "fifo", "best-effort-first"];

/// A second reading of a point that the paper leaves open.
struct Reading {
    /// Follows the policy's name in labels; the sheet explains it.
    suffix: &'static str,
    /// Policies run under it beside the first reading.
    policies: &'static [&'static str],
    apply: fn(&mut Scenario),
    /// Whether packets that wait at the end of a burst are sent.
    finishes: bool,
}

/// Traffic in which a burst ends with the packet that waits.
const KEPT: &str = "-kept";

/// The first reading of the generators and the second.
pub const SUFFIXES: [&str; 2] = ["", KEPT];

/// Follows the name of the reference scheme whose fair queue has a reference server of the link's
/// rate.
const LINK_CLOCK: &str = "-link-clock";

const READINGS: [Reading; 3] = [
    Reading {
        suffix: "-hol",
        policies: &["shifted-line", "two-segment", "exact"],
        apply: |s| s.policy.release = Release::HeadOfLine,
        finishes: false,
    },
    Reading {
        suffix: "-wf2q+",
        policies: &COLUMNS,
        apply: |s| s.policy.fair_queue = FairQueue::Wf2qPlus,
        finishes: false,
    },
    Reading { suffix: KEPT, policies: &COLUMNS, apply: |_| {}, finishes: true },
];

/// One policy under one reading, over the seeds.
#[derive(Debug)]
pub struct Variant {
    /// The policy's name, with a suffix under a second reading of the paper.
    pub name: String,
    /// One for each seed.
    pub results: Vec<PolicyResult>,
}

/// All variants on the same arrivals.
#[derive(Debug)]
pub struct Runs {
    /// Seeds that every variant has finished.
    pub seeds: Vec<u64>,
    /// In the order of the tables.
    pub variants: Vec<Variant>,
    /// The paper's columns on the first seed, whole.
    pub shown: Vec<PolicyRun>,
    /// The offered traffic.
    pub traffic: Traffic,
}

fn policies(job: &Job) -> (Vec<String>, &'static [Reading]) {
    let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
    match (job.wants("table1") || job.wants("table2"), job.wants("fig4") || job.wants("fig5")) {
        (true, _) => ([own(&COLUMNS), own(&OTHERS)].concat(), &READINGS),
        (false, true) => (own(&COLUMNS), &[]),
        (false, false) => (Vec::new(), &[]),
    }
}

/// Simulated nanoseconds of a job, the excerpt of Figure 5 left out.
pub fn work(job: &Job) -> u128 {
    let (policies, readings) = policies(job);
    // One more by the textbook.
    let others = readings.iter().map(|r| r.policies.len()).sum::<usize>();
    let each = policies.len() + others + usize::from(others > 0);
    (each * job.seeds.len()) as u128 * u128::from(job.duration.0)
}

/// Policies run under one reading.
struct Group {
    suffix: &'static str,
    policies: Vec<String>,
    scenario: Scenario,
    finishes: bool,
    /// By policy, one for each seed.
    results: Vec<Vec<PolicyResult>>,
}

impl Group {
    fn new(suffix: &'static str, policies: Vec<String>, scenario: Scenario) -> Group {
        let results = vec![Vec::new(); policies.len()];
        Group { suffix, policies, scenario, finishes: false, results }
    }

    fn run(
        &self,
        seed: u64,
        traffic: &Traffic,
        control: &Control,
    ) -> Result<Vec<PolicyRun>, ExperimentError> {
        if self.suffix == LINK_CLOCK {
            return Ok(vec![textbook::simulate(&self.scenario, seed, traffic, control)]);
        }
        let finishing = self.finishes.then(|| finishing(&self.scenario, seed, traffic.duration()));
        let traffic = finishing.as_ref().unwrap_or(traffic);
        Ok(simulate_all(&self.scenario, &self.policies, &[seed], traffic, control)?)
    }

    fn variants(self) -> impl Iterator<Item = Variant> {
        let named = self.policies.into_iter().zip(self.results);
        named.map(move |(p, results)| Variant { name: format!("{p}{}", self.suffix), results })
    }
}

/// The packets of one seed when bursts end with the packet that waits.
fn finishing(scenario: &Scenario, seed: u64, duration: Span) -> Traffic {
    let realtime = scenario.realtime.iter().map(|f| (f.source.as_ref(), Some(&f.envelope)));
    let classes = scenario.best_effort.iter().map(|c| (c.source.as_ref(), c.envelope.as_ref()));
    let packets = realtime.chain(classes).zip((0..).map(FlowId)).filter_map(|(flow, id)| {
        let (source, envelope) = (flow.0?, flow.1?);
        let (policer, largest) = (Some(Policer::new(envelope)), envelope.max_packet());
        let end = Time(duration.0);
        let generator = Generator::new(source, id, seed, policer, largest, end)?;
        Some((id, generator.finishing().collect()))
    });
    Traffic::Generated { duration, replayed: Arc::new(packets.collect()) }
}

impl Runs {
    /// Runs the simulations of a job.
    pub fn of(job: &Job, scenario: &Scenario, control: &Control) -> Result<Runs, ExperimentError> {
        let (policies, readings) = policies(job);
        let replayed = Arc::new(Vec::new());
        let traffic = Traffic::Generated { duration: job.duration, replayed };
        let mut groups = vec![Group::new("", policies, scenario.clone())];
        for reading in readings {
            let mut other = scenario.clone();
            (reading.apply)(&mut other);
            let policies = reading.policies.iter().map(|p| (*p).to_owned()).collect();
            let group = Group::new(reading.suffix, policies, other);
            groups.push(Group { finishes: reading.finishes, ..group });
        }
        if !readings.is_empty() {
            groups.push(Group::new(LINK_CLOCK, vec![REFERENCE.to_owned()], scenario.clone()));
        }
        if groups[0].policies.is_empty() {
            return Ok(Runs { seeds: vec![], variants: vec![], shown: vec![], traffic });
        }
        let (mut seeds, mut shown) = (Vec::new(), Vec::new());
        // Seed by seed, so that a stopped job has complete seeds.
        for seed in &job.seeds {
            let mut done = Vec::new();
            for g in &groups {
                done.push(g.run(*seed, &traffic, control)?);
            }
            let whole = |(g, runs): (&Group, &Vec<PolicyRun>)| {
                runs.len() == g.policies.len() && runs.iter().all(|r| r.ending.complete)
            };
            if !groups.iter().zip(&done).all(whole) {
                break;
            }
            for (g, runs) in groups.iter_mut().zip(&done) {
                for (results, run) in g.results.iter_mut().zip(runs) {
                    results.push(run.result(scenario));
                }
            }
            if seeds.is_empty() {
                shown = done.swap_remove(0);
                shown.retain(|r| COLUMNS.contains(&r.policy.as_str()));
            }
            seeds.push(*seed);
        }
        let variants = groups.into_iter().flat_map(Group::variants).collect();
        Ok(Runs { seeds, variants, shown, traffic })
    }

    /// A variant by name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|v| v.name == name)
    }

    /// One number of a flow under a variant, for each seed.
    pub fn each(
        &self,
        variant: &str,
        flow: &str,
        number: impl Fn(&FlowResult) -> Option<f64>,
    ) -> Vec<f64> {
        let results = self.variant(variant).into_iter().flat_map(|v| &v.results);
        results.filter_map(|r| number(r.flows.get(flow)?)).collect()
    }
}
