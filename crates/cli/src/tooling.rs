//! What describes the command to shells, editors and readers.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use laxity_link::registry::POLICIES;

use crate::args::{Laxity, PoliciesArgs};
use crate::failure::Failure;
use crate::output;

/// `laxity policies`
pub fn policies(args: &PoliciesArgs) -> Result<ExitCode, Failure> {
    if args.json {
        let row = |p: &laxity_core::PolicyInfo| {
            let options = p.options.iter().map(|o| {
                serde_json::json!({ "name": o.name, "default": o.default, "summary": o.summary })
            });
            serde_json::json!({
                "name": p.name,
                "summary": p.summary,
                "source": p.source,
                "keeps_deadlines": p.keeps_deadlines,
                "options": options.collect::<Vec<_>>(),
            })
        };
        output::json(&POLICIES.iter().map(row).collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for p in POLICIES {
        text += &format!("{:<22}{}\n{:<22}({})\n", p.name, p.summary, "", p.source);
        for o in p.options {
            text += &format!("{:<24}{}: {}; default: {}\n", "", o.name, o.summary, o.default);
        }
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// `laxity schema`
pub fn schema() -> Result<ExitCode, Failure> {
    output::json(&laxity_scenario::schema::schema())?;
    Ok(ExitCode::SUCCESS)
}

/// `laxity completions`
pub fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Laxity::command(), "laxity", &mut text);
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}

/// `laxity man`
pub fn man(directory: &Path) -> Result<ExitCode, Failure> {
    let failed = |e: std::io::Error| Failure::write(&directory.display().to_string(), &e);
    std::fs::create_dir_all(directory).map_err(failed)?;
    clap_mangen::generate_to(Laxity::command(), directory).map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}
