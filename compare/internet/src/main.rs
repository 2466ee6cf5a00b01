//! Shapers of an access link side by side, with real kernels and real TCP: what
//! `scripts/compare-internet.sh` needs before and after its runs in the virtual machine.
//!
//! ```text
//! laxity-compare-internet prepare FOLDER LINK SEED marks|plain|hosts traces, scenarios, parameters
//! laxity-compare-internet read RESULTS KERNEL                       all results: JSON, tables, page
//! ```
//!
//! Exit status of `read`: 1 when a real-time packet was late or lost under ours.
#![forbid(unsafe_code)]

mod flent;
mod links;
mod report;
mod results;
mod streams;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["prepare", folder, link, seed, load] => {
            prepare(Path::new(folder), [link, seed, load]).map(|()| true)
        }
        ["read", results, kernel] => read(Path::new(results), kernel),
        _ => Err("laxity-compare-internet prepare|read ...".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("laxity-compare-internet: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Input of the machine of a run, without the scheduler's name.
fn prepare(folder: &Path, [link, seed, load]: [&str; 3]) -> Result<(), String> {
    let link = links::of_name(link)?;
    let number: u64 = seed.parse().map_err(|_| format!("`{seed}` is no seed"))?;
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    write(&folder.join("params"), &link.params(number, links::Load::of_name(load)?))?;
    for (direction, name) in ["down", "up"].into_iter().enumerate() {
        for (file, flows) in [(format!("{name}.toml"), true), (format!("{name}-fifo.toml"), false)]
        {
            write(&folder.join(file), &link.scenario(direction, flows))?;
        }
        let [warm, seconds] = link.seconds;
        // The warm-up has other packets, so that none of them is taken for a measured one.
        for (part, seed, seconds) in [("warm", number + 1000, warm), ("main", number, seconds)] {
            let trace = streams::trace(direction, seed, seconds);
            write(&folder.join(format!("{name}-{part}.csv")), &trace)?;
        }
    }
    Ok(())
}

/// All runs that have ended; one that is not understood is named and left out. Returns whether ours
/// kept every deadline.
fn read(results: &Path, kernel: &str) -> Result<bool, String> {
    let entries = fs::read_dir(results).map_err(|e| format!("{}: {e}", results.display()))?;
    let mut folders: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    folders.sort();
    let mut runs = Vec::new();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        match results::read(folder) {
            Ok(Some(run)) => {
                if run.load == links::Load::Marks {
                    let data = flent::file(&run, kernel).to_string();
                    write(&folder.with_extension("flent"), &data)?;
                }
                runs.push(run);
            }
            Ok(None) => {}
            Err(error) => eprintln!("{error}"),
        }
    }
    let (page, words) = report::page(&runs, kernel);
    print!("{words}");
    let json = serde_json::to_string_pretty(&report::json(&runs)).map_err(|e| e.to_string())?;
    write(&results.with_extension("json"), &(json + "\n"))?;
    write(&results.with_extension("html"), &page.html())?;
    for (name, svg) in page.svgs() {
        write(&results.join(name), &svg)?;
    }
    let failed =
        runs.iter().filter(|run| run.scheduler.starts_with("laxity-") && run.failed() > 0.0);
    let failed: Vec<_> = failed.collect();
    for run in &failed {
        let (scheduler, link, seed) = (&run.scheduler, run.link.name, run.seed);
        eprintln!("{scheduler} on {link}, seed {seed}: {} packets late or lost", run.failed());
    }
    if runs.is_empty() { Err("no run has ended well".into()) } else { Ok(failed.is_empty()) }
}
