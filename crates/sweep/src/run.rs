//! One part of a sweep: its simulations, one after the other.

use laxity_core::{FlowId, Span};
use laxity_results::table::{Table, Tabular};
use laxity_scenario::Document;
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::link::model::{Scenario, Source};
use laxity_scenario::stream::StreamScenario;
use laxity_sim::link::Traffic;
use laxity_sim::link::replay;
use laxity_sim::{Control, cpu, link, stream};
use std::sync::Arc;

use crate::grid::{Part, with_values};
use crate::{Sweep, SweepError, parquet};

/// Default durations, those of the command.
const LINK_DURATION: Span = Span::from_millis(60_000);
const OTHER_DURATION: Span = Span::from_millis(10_000);

fn failed(error: impl std::fmt::Display) -> SweepError {
    SweepError::Simulation(error.to_string())
}

impl Sweep {
    /// Runs a part and returns its Parquet file: a row for each flow, class or task, by seed and policy, after
    /// columns with the values of the varied keys. The bytes depend on the sweep, the files that
    /// its scenario names and the number alone.
    ///
    /// # Errors
    /// The scenario of the part is refused, or a simulation fails.
    pub fn run(&self, number: u64) -> Result<Vec<u8>, SweepError> {
        self.run_until(number, &Control::default())
    }

    /// The same under a control that may stop it; what a stopped run returns is incomplete.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_until(&self, number: u64, control: &Control) -> Result<Vec<u8>, SweepError> {
        let part = self.part(number)?;
        let table = match &part.document {
            Document::Link(scenario) => link_table(scenario, &part, control),
            Document::Stream(scenario) => stream_table(scenario, &part, control),
            Document::Cpu(scenario) => cpu_table(scenario, &part, control),
        };
        let table = table.map_err(|error| {
            let values = part.values.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            SweepError::Simulation(with_values(values, &error))
        })?;
        parquet::file(&part.values, &table)
    }
}

fn link_table(scenario: &Scenario, part: &Part, control: &Control) -> Result<Table, SweepError> {
    let duration = part.duration.unwrap_or(LINK_DURATION);
    let mut replayed = Vec::new();
    let realtime = scenario.realtime.iter().map(|f| f.source.as_ref());
    let best_effort = scenario.best_effort.iter().map(|c| c.source.as_ref());
    for (source, id) in realtime.chain(best_effort).zip((0..).map(FlowId)) {
        if let Some(Source::Trace { path }) = source {
            replayed.push((id, replay::read_flow(path, scenario, id).map_err(failed)?));
        }
    }
    let traffic = Traffic::Generated { duration, replayed: Arc::new(replayed) };
    let of_seed = |seed: u64| {
        let run = |policy: &String| link::simulate(scenario, policy, seed, &traffic, None, control);
        let runs = part.policies.iter().map(run).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        Ok(link::simulate::result(scenario, &runs, Some(seed)))
    };
    Ok(Tabular::table(&part.seeds.clone().map(of_seed).collect::<Result<Vec<_>, SweepError>>()?))
}

fn stream_table(
    scenario: &StreamScenario,
    part: &Part,
    control: &Control,
) -> Result<Table, SweepError> {
    let duration = part.duration.unwrap_or(OTHER_DURATION);
    let of_seed = |seed: u64| {
        let run =
            |policy: &String| stream::simulate(scenario, policy, seed, duration, None, control);
        let runs = part.policies.iter().map(run).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        Ok(stream::simulate::result(scenario, &runs, Some(seed)))
    };
    Ok(Tabular::table(&part.seeds.clone().map(of_seed).collect::<Result<Vec<_>, SweepError>>()?))
}

fn cpu_table(scenario: &CpuScenario, part: &Part, control: &Control) -> Result<Table, SweepError> {
    let duration = part.duration.unwrap_or(OTHER_DURATION);
    let tasks = cpu::tasks(scenario).map_err(failed)?;
    let of_seed = |seed: u64| {
        let run = |policy: &String| {
            cpu::simulate(scenario, &tasks, policy, seed, duration, None, control)
        };
        let runs = part.policies.iter().map(run).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        Ok(cpu::result(scenario, &tasks, &runs, Some(seed)))
    };
    Ok(Tabular::table(&part.seeds.clone().map(of_seed).collect::<Result<Vec<_>, SweepError>>()?))
}
