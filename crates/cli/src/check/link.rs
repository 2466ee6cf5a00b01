//! `laxity check` of a link scenario.

use std::process::ExitCode;

use laxity_analysis::link;
use laxity_analysis::page::residual_plot;
use laxity_report::{Kind, Meta, check_page, text};
use laxity_scenario::link::Scenario;

use super::answer;
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::page;

/// Runs the command.
pub fn run(args: &CheckArgs, scenario: &Scenario) -> Result<ExitCode, Failure> {
    let check = link::analyse(scenario, &scenario.policy.use_).map_err(Failure::input)?;
    let meta = Meta { kind: Kind::Analysed, ..page::link_meta(scenario) };
    let text = |style| text::check(&check, &meta.deadlines, style);
    let show = || check_page(&scenario.name, &check, residual_plot(scenario).as_ref(), &meta);
    answer(args, &check, check.admitted, text, show)
}
