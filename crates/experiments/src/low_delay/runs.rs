//! The simulations behind the tables and Figures 4 and 5.

use std::sync::Arc;

use laxity_scenario::model::{FairQueue, Release, Scenario};
use laxity_scenario::result::{FlowResult, PolicyResult};
use laxity_sim::{Control, PolicyRun, Traffic, simulate_all};

use super::COLUMNS;
use crate::{ExperimentError, Job};

/// What the paper has no column for.
const OTHERS: [&str; 7] =
    ["tbs", "algorithm-3", "exact", "slack", "proportional-share", "fifo", "best-effort-first"];

/// A second reading of what the paper leaves open.
struct Reading {
    /// Follows the policy's name in labels; the sheet says what it means.
    suffix: &'static str,
    /// Policies run under it beside the first reading.
    policies: &'static [&'static str],
    apply: fn(&mut Scenario),
}

const READINGS: [Reading; 2] = [
    Reading {
        suffix: "-hol",
        policies: &["shifted-line", "two-segment", "exact"],
        apply: |s| s.policy.release = Release::HeadOfLine,
    },
    Reading {
        suffix: "-wf2q+",
        policies: &COLUMNS,
        apply: |s| s.policy.fair_queue = FairQueue::Wf2qPlus,
    },
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
    /// What was offered.
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

/// Simulated nanoseconds that a job takes, the excerpt of Figure 5 left out.
pub fn work(job: &Job) -> u128 {
    let (policies, readings) = policies(job);
    let each = policies.len() + readings.iter().map(|r| r.policies.len()).sum::<usize>();
    (each * job.seeds.len()) as u128 * u128::from(job.duration.0)
}

impl Runs {
    /// Runs what a job needs.
    pub fn of(job: &Job, scenario: &Scenario, control: &Control) -> Result<Runs, ExperimentError> {
        let (policies, readings) = policies(job);
        let replayed = Arc::new(Vec::new());
        let traffic = Traffic::Generated { duration: job.duration, replayed };
        let run = |scenario: &Scenario, policies: &[String]| {
            let mut runs = simulate_all(scenario, policies, &job.seeds, &traffic, control)?;
            runs.retain(|r| r.ending.complete);
            Ok::<_, ExperimentError>(runs)
        };
        let mut first = run(scenario, &policies)?;
        let mut groups = vec![("", policies, first.clone())];
        for reading in readings {
            let mut other = scenario.clone();
            (reading.apply)(&mut other);
            let policies: Vec<_> = reading.policies.iter().map(|p| (*p).to_owned()).collect();
            let runs = run(&other, &policies)?;
            groups.push((reading.suffix, policies, runs));
        }
        let done = |seed: u64| {
            let all = |(_, policies, runs): &(_, Vec<String>, Vec<PolicyRun>)| {
                runs.iter().filter(|r| r.seed == seed).count() == policies.len()
            };
            groups.iter().all(|g| !g.1.is_empty() && all(g))
        };
        let seeds: Vec<u64> = job.seeds.iter().copied().filter(|s| done(*s)).collect();
        let mut variants = Vec::new();
        for (suffix, policies, runs) in &groups {
            for policy in policies {
                let own = runs.iter().filter(|r| r.policy == *policy && seeds.contains(&r.seed));
                let results = own.map(|r| r.result(scenario)).collect();
                variants.push(Variant { name: format!("{policy}{suffix}"), results });
            }
        }
        first.retain(|r| seeds.first() == Some(&r.seed) && COLUMNS.contains(&r.policy.as_str()));
        Ok(Runs { seeds, variants, shown: first, traffic })
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
