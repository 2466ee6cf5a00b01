//! Pages: facts of a scenario beside results, and writing.

use std::path::Path;

use laxity_analysis::page;
use laxity_report::{Kind, Meta, Page};
use laxity_scenario::link::model::Scenario;

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::{output, warning};

/// The footer of a page about a link.
pub fn link_meta(scenario: &Scenario) -> Meta {
    page::link_meta(scenario, policy_meta(&scenario.policy.use_))
}

/// The same, where nothing but the policy is shown.
pub fn policy_meta(policy: &str) -> Meta {
    Meta {
        kind: Kind::Simulated,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: output::command_line(),
        policy: Some(policy.to_owned()),
        ..Meta::default()
    }
}

/// Writes a page, and its plots where they are wanted.
pub fn write(path: &Path, args: &SimulateArgs, page: &Page) -> Result<(), Failure> {
    output::file(path, &page.html())?;
    if let Some(directory) = &args.svg {
        write_all(directory, page.svgs())?;
    }
    if let Some(directory) = &args.vega {
        write_all(directory, page.vegas())?;
    }
    warning::say(format_args!("the page is {}", path.display()));
    Ok(())
}

fn write_all(directory: &Path, files: Vec<(String, String)>) -> Result<(), Failure> {
    std::fs::create_dir_all(directory)
        .map_err(|e| Failure::write(&directory.display().to_string(), &e))?;
    for (name, text) in files {
        output::file(&directory.join(name), &text)?;
    }
    Ok(())
}
