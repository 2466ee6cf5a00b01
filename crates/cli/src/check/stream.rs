//! `laxity check` of a stream scenario.

use std::process::ExitCode;

use laxity_analysis::stream;
use laxity_report::{Kind, Meta, stream_check_page, text};
use laxity_scenario::stream::StreamScenario;

use super::{answer, refuse_link_options};
use crate::args::CheckArgs;
use crate::failure::Failure;
use crate::page;

/// Runs the command.
pub fn run(args: &CheckArgs, scenario: &StreamScenario) -> Result<ExitCode, Failure> {
    refuse_link_options(args, "streams")?;
    let check = stream::analyse(scenario, &scenario.policy.use_);
    let meta = Meta { kind: Kind::Analysed, ..page::policy_meta(&scenario.policy.use_) };
    let text = |style| text::stream_check(&check, style);
    let show = || stream_check_page(&scenario.name, &check, &meta);
    answer(args, &check, check.admitted, text, show)
}
