//! `laxity check` of a CPU scenario.

use std::process::ExitCode;

use laxity_analysis::cpu;
use laxity_report::{Kind, Meta, cpu_check_page, text};
use laxity_scenario::cpu::CpuScenario;

use super::{answer, refuse_link_options};
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::page;

/// Runs the command.
pub fn run(args: &CheckArgs, scenario: &CpuScenario) -> Result<ExitCode, Failure> {
    refuse_link_options(args, "CPUs")?;
    let check = cpu::analyse(scenario, &scenario.policy.use_).map_err(Failure::input)?;
    let meta = Meta { kind: Kind::Analysed, ..page::policy_meta(&scenario.policy.use_) };
    let text = |style| text::cpu_check(&check, style);
    let show = || cpu_check_page(&scenario.name, &check, &meta);
    answer(args, &check, check.admitted, text, show)
}
