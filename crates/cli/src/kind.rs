//! Kinds of scenarios in the commands.

use std::path::Path;
use std::process::ExitCode;

use laxity_scenario::Document;
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::link::{Scenario, model::Source};
use laxity_scenario::stream::{StreamScenario, model::StreamSource};

use crate::args::{BlockingArg, CheckArgs, SimulateArgs};
use crate::failure::Failure;
use crate::{check, simulate};

/// A kind of scenario, as `laxity check` and `laxity simulate` need it.
pub trait Kind {
    /// The files that the scenario names.
    fn inputs(&self) -> Vec<&Path>;

    /// `laxity check`. Options of the command line replace values of the scenario.
    ///
    /// # Errors
    /// The scenario cannot be analysed, an option is about another kind, or output fails.
    fn check(&self, args: &CheckArgs) -> Result<ExitCode, Failure>;

    /// `laxity simulate`. Options of the command line replace values of the scenario.
    ///
    /// # Errors
    /// The scenario cannot be simulated, an option is about another kind, or output fails.
    fn simulate(&self, args: &SimulateArgs) -> Result<ExitCode, Failure>;
}

/// The kind of a scenario.
pub fn of(document: &Document) -> &dyn Kind {
    match document {
        Document::Link(scenario) => scenario,
        Document::Stream(scenario) => scenario,
        Document::Cpu(scenario) => scenario,
    }
}

impl Kind for Scenario {
    fn inputs(&self) -> Vec<&Path> {
        let realtime = self.realtime.iter().map(|f| f.source.as_ref());
        let best_effort = self.best_effort.iter().map(|c| c.source.as_ref());
        let sources = realtime.chain(best_effort).flatten();
        sources
            .filter_map(|source| match source {
                Source::Trace { path } => Some(path.as_path()),
                _ => None,
            })
            .collect()
    }

    fn check(&self, args: &CheckArgs) -> Result<ExitCode, Failure> {
        check::link::run(args, &blocked(self, args.blocking))
    }

    fn simulate(&self, args: &SimulateArgs) -> Result<ExitCode, Failure> {
        simulate::link::run(args, &blocked(self, args.blocking))
    }
}

/// The scenario, with the blocking of the command line where there is one.
fn blocked(scenario: &Scenario, blocking: Option<BlockingArg>) -> Scenario {
    let mut scenario = scenario.clone();
    if let Some(blocking) = blocking {
        scenario.policy.blocking = blocking.into();
    }
    scenario
}

/// The same of a scenario of any kind.
pub fn with_blocking(document: Document, blocking: Option<BlockingArg>) -> Document {
    match document {
        Document::Link(scenario) => Document::Link(blocked(&scenario, blocking)),
        other => other,
    }
}

impl Kind for StreamScenario {
    fn inputs(&self) -> Vec<&Path> {
        self.streams
            .iter()
            .filter_map(|class| match &class.source {
                StreamSource::File { path, .. } => Some(path.as_path()),
                _ => None,
            })
            .collect()
    }

    fn check(&self, args: &CheckArgs) -> Result<ExitCode, Failure> {
        check::stream::run(args, self)
    }

    fn simulate(&self, args: &SimulateArgs) -> Result<ExitCode, Failure> {
        simulate::stream::run(args, self)
    }
}

impl Kind for CpuScenario {
    fn inputs(&self) -> Vec<&Path> {
        self.recordings.iter().map(|r| r.path.as_path()).collect()
    }

    fn check(&self, args: &CheckArgs) -> Result<ExitCode, Failure> {
        check::cpu::run(args, self)
    }

    fn simulate(&self, args: &SimulateArgs) -> Result<ExitCode, Failure> {
        simulate::cpu::run(args, self)
    }
}
