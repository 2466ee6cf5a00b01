//! The live link beside the disciplines of the kernel: what `scripts/compare-link.sh` needs before
//! and after its runs in the virtual machine.
//!
//! ```text
//! laxity-compare-link jobs FOLDER LOAD SEED SECONDS [DISCIPLINE]...   a trace, and what to run on it
//! laxity-compare-link grid FOLDER SECONDS                            the same for all settings of HFSC
//! laxity-compare-link rank FOLDER...                                 the settings, best first
//! laxity-compare-link read RESULTS                                   all results: JSON, tables, page
//! ```
//!
//! Exit status of `read`: 1 when a real-time packet of Laxity was late or lost, or a live mean is not
//! the simulator's.
#![forbid(unsafe_code)]

mod family;
mod grid;
mod replay;
mod report;
mod runs;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use laxity_scenario::link::model::Scenario;

use crate::runs::Delay;

const FAMILY: &str = include_str!("../family.toml");
/// The same with the curves of HFSC as tuned.
const CURVES: &str = include_str!("../curves.toml");
const TUNED: &str = include_str!("../hfsc-tuned.txt");
/// The classes' contracts as they stand, which is how HFSC is usually set.
const USUAL: &str = "rt umax 200b dmax 8ms rate 42000bps ls m2 42000bps;\
                     rt umax 63000b dmax 95ms rate 640000bps ls m2 640000bps;\
                     ls m2 284000bps;ls m2 284000bps";
/// What comes before the policy in names of disciplines that serve the curves.
const WITH_CURVES: &str = "curves-";
const PEERS: [&str; 8] = ["fifo", "prio", "htb", "hfsc", "hfsc-tuned", "cake", "fq_codel", "etf"];
/// The load at which the settings of HFSC are chosen, and the seed, which is no reported one.
const TUNING: (u64, u64) = (90, 11);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["jobs", folder, load, seed, seconds, ref disciplines @ ..] => {
            jobs(Path::new(folder), [load, seed, seconds], disciplines).map(|()| true)
        }
        ["grid", folder, seconds] => grid(Path::new(folder), seconds).map(|()| true),
        ["rank", ref folders @ ..] => rank(folders).map(|()| true),
        ["read", results] => read(Path::new(results)),
        _ => Err("laxity-compare-link jobs|grid|rank|read ...".into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("laxity-compare-link: {error}");
            ExitCode::from(2)
        }
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn text_of(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is no whole number"))
}

/// `LOAD SEED SECONDS` of a folder's trace, kept beside its results.
fn trace(folder: &Path) -> Result<[u64; 3], String> {
    let text = text_of(&folder.join("trace.txt"))?;
    let mut words = text.split_whitespace().map(number);
    let mut next = || words.next().unwrap_or_else(|| Err("trace.txt ends early".into()));
    Ok([next()?, next()?, next()?])
}

fn prepare(folder: &Path, [load, seed, seconds]: [u64; 3], jobs: &str) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    write(&folder.join("trace.csv"), &family::csv(&family::packets(load, seed, seconds)))?;
    write(&folder.join("trace.txt"), &format!("{load} {seed} {seconds}\n"))?;
    write(&folder.join("jobs"), jobs)
}

fn jobs(folder: &Path, words: [&str; 3], disciplines: &[&str]) -> Result<(), String> {
    let [load, seed, seconds] = words.map(number);
    let (load, seed, seconds) = (load?, seed?, seconds?);
    let laxity = laxity_kernel::plan::policies().map(|p| format!("laxity-{p}"));
    let laxity = laxity.chain([format!("laxity-{WITH_CURVES}exact")]);
    let all: Vec<String> = match disciplines {
        [] => PEERS.iter().map(|p| (*p).to_string()).chain(laxity).collect(),
        some => some.iter().map(|d| (*d).to_string()).collect(),
    };
    let mut text = String::new();
    for name in all {
        let words = match name.as_str() {
            "hfsc" => USUAL,
            "hfsc-tuned" => TUNED.trim().split_once(';').ok_or("hfsc-tuned.txt is no setting")?.1,
            _ => "",
        };
        text += &format!("{name};{name};trace.csv;{seconds};{words}\n");
    }
    prepare(folder, [load, seed, seconds], &text)
}

fn grid(folder: &Path, seconds: &str) -> Result<(), String> {
    let seconds = number(seconds)?;
    let jobs: String = grid::settings().iter().map(|s| s.job(seconds) + "\n").collect();
    prepare(folder, [TUNING.0, TUNING.1, seconds], &jobs)
}

/// Prints every setting with what came of it, those that lost no deadline first.
fn rank(folders: &[&str]) -> Result<(), String> {
    let mut all: Vec<(u64, f64, String)> = Vec::new();
    for folder in folders {
        for (name, run) in runs::read(&text_of(&Path::new(folder).join("output"))?)? {
            let mean = run.best_effort_mean_ms().unwrap_or(f64::MAX);
            all.push((run.late() + run.lost(), mean, name));
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    println!("setting,realtime_late_or_lost,best_effort_mean_ms");
    for (lost, mean, name) in all {
        println!("{name},{lost},{mean:.3}");
    }
    Ok(())
}

/// `cost DISCIPLINE BACKLOG NS`, from the bare interface on.
fn costs(text: &str) -> Vec<report::Cost> {
    let mut bare = 0;
    let mut costs = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["cost", name, backlog, ns] = words[..] else { continue };
        let (Ok(backlog), Ok(ns)) = (backlog.parse(), ns.parse::<i64>()) else { continue };
        if name == "none" {
            bare = ns;
        } else {
            // An instruction takes 2 ns.
            costs.push((name.to_string(), backlog, (ns - bare) / 2));
        }
    }
    costs
}

fn read(results: &Path) -> Result<bool, String> {
    let parse = |text, name| Scenario::parse(text, name).map_err(|e| e.to_string());
    let (family, curves) = (parse(FAMILY, "family.toml")?, parse(CURVES, "curves.toml")?);
    let mut good = true;
    let mut rows = Vec::new();
    // Best effort at 90 %, by policy: live, simulated by the qdisc's rules, and by the policy's.
    let mut twins = BTreeMap::<String, [Delay; 3]>::new();
    let entries = fs::read_dir(results).map_err(|e| format!("{}: {e}", results.display()))?;
    let mut folders: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    folders.sort();
    for folder in
        folders.iter().filter(|f| f.join("trace.txt").exists() && f.join("output").exists())
    {
        let [load, seed, seconds] = trace(folder)?;
        let packets = family::packets(load, seed, seconds);
        for (scheduler, run) in runs::read(&text_of(&folder.join("output"))?)? {
            if let Some(why) = &run.refused {
                eprintln!("{scheduler} did not run: {why}");
                good = false;
                continue;
            }
            if let Some(policy) = scheduler.strip_prefix("laxity-") {
                let log = folder.join(format!("{scheduler}.sent"));
                let log = fs::read(&log).map_err(|e| format!("{}: {e}", log.display()))?;
                let (scenario, policy) = match policy.strip_prefix(WITH_CURVES) {
                    Some(policy) => (&curves, policy),
                    None => (&family, policy),
                };
                let simulated = replay::means(scenario, policy, &packets, &log)?;
                for (name, flow) in run.flows(false).filter(|_| load == 90) {
                    let [live, qdisc, twin] = twins.entry(scheduler.clone()).or_default();
                    live.add(flow.got, flow.mean_us);
                    qdisc.add(flow.got, simulated.qdisc.get(name).copied().unwrap_or(0));
                    twin.add(flow.got, simulated.policy.get(name).copied().unwrap_or(0));
                }
                for apart in replay::apart(&run, &simulated.qdisc) {
                    let replay::Apart { flow, live, simulated } = apart;
                    eprintln!(
                        "{scheduler}, load {load}, seed {seed}: {flow} has a mean of {live} us, \
                         {simulated} us in the simulator"
                    );
                    good = false;
                }
                good &= run.late() + run.lost() == 0;
            }
            if scheduler == "hfsc-tuned" && load == 90 {
                let simulated = replay::tuned_means(&family, &packets)?;
                for (name, flow) in run.flows(false) {
                    let [live, model, twin] = twins.entry(scheduler.clone()).or_default();
                    let mean = simulated.get(name).copied().unwrap_or(0);
                    live.add(flow.got, flow.mean_us);
                    model.add(flow.got, mean);
                    twin.add(flow.got, mean);
                }
            }
            rows.push(report::Row { scheduler, seed, load, run });
        }
    }
    let cost = fs::read_to_string(results.join("cost")).map(|t| costs(&t)).unwrap_or_default();
    let (page, words) = report::page(&rows, &cost);
    print!("{words}");
    let json =
        serde_json::to_string_pretty(&report::json(&rows, &cost)).map_err(|e| e.to_string())?;
    let sibling = |extension: &str| results.with_extension(extension);
    write(&sibling("json"), &(json + "\n"))?;
    write(&sibling("html"), &page.html())?;
    for (name, svg) in page.svgs() {
        write(&results.join(name), &svg)?;
    }
    verdict(&report::summaries(&rows), &twins);
    Ok(good)
}

/// The claim, and what came of it.
fn verdict(
    summaries: &BTreeMap<(u64, String), report::Summary>,
    twins: &BTreeMap<String, [Delay; 3]>,
) {
    let of = |name: &str| summaries.get(&(90, name.to_string()))?.mean_ms();
    for (name, means) in twins {
        let [live, qdisc, simulated] = means.map(|mean| mean.mean_ms().unwrap_or(0.0));
        let exact = if name == "laxity-slack" {
            format!(", {simulated:.2} ms with the exact slack, which the qdisc bounds from below")
        } else {
            String::new()
        };
        println!(
            "{name}: best effort at a load of 90 % {live:.2} ms live, {qdisc:.2} ms simulated{exact}"
        );
    }
    let Some(tuned) = of("hfsc-tuned") else { return };
    for ((load, name), summary) in summaries {
        let Some(mean) = summary.mean_ms().filter(|_| *load == 90 && name.starts_with("laxity-"))
        else {
            continue;
        };
        let ratio = mean / tuned;
        println!("{name}: {ratio:.2} of the delay under HFSC as tuned, at a load of 90 %");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the link has other curves than HFSC as tuned.
    #[test]
    fn curves_are_those_of_hfsc() {
        for (own, tc) in [
            (
                r#"umax = "200 B", dmax = "4 ms", rate = "44 kB/s""#,
                "rt umax 200b dmax 4ms rate 44000bps",
            ),
            (
                r#"umax = "63 kB", dmax = "98 ms", rate = "640 kB/s""#,
                "rt umax 63000b dmax 98ms rate 640000bps",
            ),
        ] {
            assert!(CURVES.contains(own) && TUNED.contains(tc), "{own} and {tc}");
        }
    }
}
