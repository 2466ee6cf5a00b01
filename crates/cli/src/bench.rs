//! `laxity bench`

use std::process::ExitCode;

use laxity_results::BenchResult;

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::output;

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<ExitCode, Failure> {
    let results = laxity_bench::run(args.only.as_deref(), &mut |name| eprintln!("laxity: {name}"));
    if results.is_empty() {
        let only = args.only.as_deref().unwrap_or_default();
        return Err(Failure::input(format!("--only: no benchmark's name contains `{only}`")));
    }
    if args.json {
        output::result(&BenchResult { results })?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for row in &results {
        text += &format!("{:<32}{:>12.2} {:<10}", row.name, row.value, row.unit);
        if let (Some(baseline), Some(ratio)) = (&row.baseline, row.ratio) {
            text += &format!("  {ratio:.2} times as fast as {baseline}");
        }
        text.push('\n');
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
