//! Completions, schema, man pages and the list of policies.

use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use laxity_core::{OptionInfo, PolicyInfo};
use laxity_scenario::DocumentKind;

use crate::args::{Laxity, PoliciesArgs};
use crate::failure::Failure;
use crate::output;

/// `laxity policies`
pub fn policies(args: &PoliciesArgs) -> Result<ExitCode, Failure> {
    if args.json {
        let row = |of: &str, p: &PolicyInfo| {
            let options = p.options.iter().map(|o| {
                serde_json::json!({ "name": o.name, "default": o.default, "summary": o.summary })
            });
            serde_json::json!({
                "name": p.name,
                "of": of,
                "summary": p.summary,
                "source": p.source,
                "keeps_deadlines": p.keeps_deadlines,
                "live": p.live.iter().map(|l| l.name()).collect::<Vec<_>>(),
                "options": options.collect::<Vec<_>>(),
            })
        };
        let rows = DocumentKind::ALL
            .into_iter()
            .flat_map(|kind| kind.policies().iter().map(move |p| row(kind.name(), p)));
        output::json(&rows.collect::<Vec<_>>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for kind in DocumentKind::ALL {
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("For {}:\n", kind.noun());
        let mut before: &[OptionInfo] = &[];
        for p in kind.policies() {
            text += &format!("{:<22}{}\n{:<22}({})\n", p.name, p.summary, "", p.source);
            if !p.options.is_empty() && p.options == before {
                text += &format!("{:<24}with the same options\n", "");
                continue;
            }
            for o in p.options {
                text += &format!("{:<24}{}: {}; default: {}\n", "", o.name, o.summary, o.default);
            }
            before = p.options;
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
    let mut command = Laxity::command().disable_help_subcommand(true);
    command.build();
    man_pages(&command, directory)?;
    Ok(ExitCode::SUCCESS)
}

/// A page for a command and each of its subcommands, named as clap names them.
fn man_pages(command: &clap::Command, directory: &Path) -> Result<(), Failure> {
    let page = clap_mangen::Man::new(command.clone());
    let path = directory.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text).map_err(|e| Failure::write(&path.display().to_string(), &e))?;
    output::file(&path, &String::from_utf8_lossy(&text))?;
    let subcommands = command.get_subcommands().filter(|c| !c.is_hide_set());
    subcommands.into_iter().try_for_each(|c| man_pages(c, directory))
}
