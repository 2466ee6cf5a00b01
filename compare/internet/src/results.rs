//! Measurements of the programs of a run, as rows of one form.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::links::{self, Link, Load};

/// RRUL's marks; its name of a flow, and that in the files of a run.
pub const MARKS: [(&str, &str); 4] = [("BE", "BE"), ("BK", "CS1"), ("CS5", "CS5"), ("EF", "EF")];

/// A measure of a run: its name, unit and value.
pub type Metric = (String, &'static str, f64);

/// One scheduler on one link.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name in results.
    pub scheduler: String,
    /// The link.
    pub link: &'static Link,
    /// Of phases and pauses.
    pub seed: u64,
    /// What went over the link.
    pub load: Load,
    /// Bytes a second of each flow, by direction (0 down, 1 up) and mark, as iperf3 saw them.
    pub rates: [BTreeMap<&'static str, Vec<f64>>; 2],
    /// When each probe was sent, in s from the first, and its round trip in ms; `None` was lost.
    pub pings: Vec<(f64, Option<f64>)>,
    /// Measures.
    pub metrics: Vec<Metric>,
}

impl Run {
    /// Real-time packets late or lost.
    pub fn failed(&self) -> f64 {
        let of_real_time = |m: &&Metric| ["realtime_late", "realtime_lost"].contains(&m.0.as_str());
        self.metrics.iter().filter(of_real_time).map(|m| m.2).sum()
    }
}

fn json(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Payload in the measured time, in bits a second, and that of each second. The end of a test
/// whose last words were lost is missing; then the seconds are summed.
fn iperf(path: &Path) -> Result<(f64, Vec<f64>), String> {
    let all = json(path)?;
    let intervals = all["intervals"].as_array().map(Vec::as_slice).unwrap_or_default();
    let measured = intervals.iter().map(|i| &i["sum"]).filter(|sum| sum["omitted"] == false);
    let seconds: Vec<f64> = measured.filter_map(|sum| sum["bits_per_second"].as_f64()).collect();
    let mean = match all["end"]["sum_received"]["bits_per_second"].as_f64() {
        Some(rate) => rate,
        None if seconds.is_empty() => {
            return Err(format!("{}: {}", path.display(), all["error"]));
        }
        None => seconds.iter().sum::<f64>() / seconds.len() as f64,
    };
    Ok((mean, seconds))
}

/// Jain's index of rates: (sum x)^2 / (n sum x^2) (Jain, Chiu, Hawe 1984).
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    if squares == 0.0 { 0.0 } else { sum * sum / (rates.len() as f64 * squares) }
}

fn pings(path: &Path) -> Result<Vec<(f64, Option<f64>)>, String> {
    let all = json(path)?;
    let trips = all["round_trips"].as_array().ok_or("irtt gave no round trips")?;
    let interval = all["config"]["interval"].as_f64().unwrap_or(20e6) / 1e9;
    let trips = trips
        .iter()
        .enumerate()
        .map(|(i, trip)| (i as f64 * interval, trip["delay"]["rtt"].as_f64().map(|ns| ns / 1e6)));
    Ok(trips.collect())
}

/// The smallest value that at least a part of all do not exceed; lost probes are infinite.
fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let at = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Real time of a direction and stream.
#[derive(Clone, Copy, Debug, Default)]
struct RealTime {
    sent: f64,
    late: f64,
    lost: f64,
}

/// By direction and stream. A scheduler that leaves packets to the provider's queue is judged by
/// the whole path, others by what the router did.
fn real_time(text: &str, whole_path: bool) -> BTreeMap<(usize, String), RealTime> {
    let mut all = BTreeMap::<_, RealTime>::new();
    let mut offered = BTreeMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<f64>().unwrap_or(f64::NAN);
        match words[..] {
            ["up", "sent", name, sent] => {
                all.entry((1, name.to_string())).or_default().sent = number(sent);
            }
            ["up", "got", name, got, "late", late, ..] => {
                let stream = all.entry((1, name.to_string())).or_default();
                (stream.late, stream.lost) = (number(late), stream.sent - number(got));
            }
            ["down", "sent", name, sent] => {
                offered.insert(name, number(sent));
            }
            [
                "router",
                name,
                "entered",
                entered,
                "late",
                late,
                "lost",
                lost,
                "max_us",
                _,
                "path_late",
                path_late,
            ] => {
                let (entered, lost) = (number(entered), number(lost));
                let stream = all.entry((0, name.to_string())).or_default();
                *stream = if whole_path {
                    let sent = offered.get(name).copied().unwrap_or(entered);
                    RealTime { sent, late: number(path_late), lost: sent - entered + lost }
                } else {
                    RealTime { sent: entered, late: number(late), lost }
                };
            }
            _ => {}
        }
    }
    all
}

/// Pages and the film. Pages that were not finished count as far as they got when that is longer
/// than the mean of the others.
fn pages(text: &str, seconds: f64, metrics: &mut Vec<Metric>) -> f64 {
    let mut took = BTreeMap::<&str, (Vec<f64>, f64)>::new();
    let (mut film, mut stalled, mut bytes) = (Vec::new(), 0.0, 0.0);
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<f64>().unwrap_or(f64::NAN);
        match words[..] {
            ["page", name, "took", us] => {
                took.entry(name).or_default().0.push(number(us) / 1000.0);
            }
            ["page", name, "unfinished", us] => {
                let unfinished = &mut took.entry(name).or_default().1;
                *unfinished = unfinished.max(number(us) / 1000.0);
            }
            ["film", bitrate, "stalled_us", us] => {
                film.push(number(bitrate) / 1e6);
                stalled += number(us) / 1000.0;
            }
            ["bytes", "pages", n] => bytes = number(n),
            _ => {}
        }
    }
    for name in ["100kB", "2MB"] {
        let (mut finished, unfinished) = took.remove(name).unwrap_or_default();
        if mean(&finished).map_or(unfinished > 0.0, |mean| unfinished > mean) {
            finished.push(unfinished);
        }
        metrics.push((format!("page_{name}_ms"), "ms", mean(&finished).unwrap_or(f64::NAN)));
    }
    metrics.push(("film_mbit".into(), "Mbit/s", mean(&film).unwrap_or(0.0)));
    metrics.push(("film_stalled_ms".into(), "ms", stalled));
    bytes * 8.0 / 1e6 / seconds
}

/// Reads the run of a folder; `None` where none has ended.
///
/// # Errors
/// Files that are missing or not understood.
pub fn read(folder: &Path) -> Result<Option<Run>, String> {
    if !folder.join("output").exists() {
        return Ok(None);
    }
    let text = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
    };
    let about = text("about")?;
    let words: Vec<&str> = about.split_whitespace().collect();
    let [scheduler, link, seed, load] = words[..] else {
        return Err(format!("{}: about is SCHEDULER LINK SEED LOAD", folder.display()));
    };
    let link = links::of_name(link)?;
    let seconds = link.seconds[1] as f64;
    let mut run = Run {
        scheduler: scheduler.into(),
        link,
        seed: seed.parse().map_err(|_| format!("`{seed}` is no seed"))?,
        load: Load::of_name(load)?,
        rates: Default::default(),
        pings: Vec::new(),
        metrics: Vec::new(),
    };
    let mut goodput = [0.0; 2];
    // Two hosts have the files of the first two.
    let flows = if run.load == Load::Hosts { &MARKS[..2] } else { &MARKS };
    for (direction, name) in ["down", "up"].into_iter().enumerate() {
        let mut means = Vec::new();
        for &(mark, file) in flows {
            let (mean, seconds) = iperf(&folder.join(format!("{name}-{file}.json")))?;
            means.push(mean);
            run.rates[direction].insert(mark, seconds);
        }
        goodput[direction] = means.iter().sum::<f64>() / 1e6;
        let names = match run.load {
            Load::Marks => continue,
            Load::Plain => ["jain", "jain_up"],
            Load::Hosts => ["jain_hosts", "jain_hosts_up"],
        };
        run.metrics.push((names[direction].into(), "1", jain(&means)));
    }
    if run.load != Load::Marks {
        return Ok(Some(run));
    }
    let metrics = &mut run.metrics;
    let streams = real_time(&text("output")?, scheduler == "fifo");
    let sum = |value: fn(&RealTime) -> f64| streams.values().map(value).sum::<f64>();
    metrics.push(("realtime_late".into(), "packets", sum(|s| s.late)));
    metrics.push(("realtime_lost".into(), "packets", sum(|s| s.lost)));
    metrics.push(("realtime_sent".into(), "packets", sum(|s| s.sent)));
    for ((direction, name), stream) in &streams {
        let way = ["down", "up"][*direction];
        let failed = (stream.late + stream.lost) * 100.0 / stream.sent.max(1.0);
        metrics.push((format!("{name}_{way}_failed_percent"), "%", failed));
    }
    run.pings = pings(&folder.join("irtt.json"))?;
    let mut sorted: Vec<f64> = run.pings.iter().map(|p| p.1.unwrap_or(f64::INFINITY)).collect();
    sorted.sort_by(f64::total_cmp);
    for (name, part) in [("ping_p50_ms", 0.5), ("ping_p99_ms", 0.99)] {
        let value = quantile(&sorted, part).filter(|ms| ms.is_finite());
        // A loss is no shorter than the wait for the last answer.
        let value = value.or_else(|| sorted.iter().copied().rfind(|ms| ms.is_finite()));
        metrics.push((name.into(), "ms", value.unwrap_or(f64::NAN)));
    }
    let lost = sorted.iter().filter(|ms| ms.is_infinite()).count();
    metrics.push(("ping_lost_percent".into(), "%", lost as f64 * 100.0 / sorted.len() as f64));
    let pages = pages(&text("pages")?, seconds, metrics);
    metrics.push(("goodput_mbit".into(), "Mbit/s", goodput[0] + goodput[1] + pages));
    metrics.push(("bulk_down_mbit".into(), "Mbit/s", goodput[0]));
    metrics.push(("bulk_up_mbit".into(), "Mbit/s", goodput[1]));
    Ok(Some(run))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the router answers for what the provider lost, or a FIFO does not.
    #[test]
    fn the_router_is_judged_by_what_reached_it() {
        let text = "up sent voice 10\nup got voice 8 late 1 mean_us 1 max_us 2\n\
                    down sent voice 10\n\
                    router voice entered 9 late 2 lost 1 max_us 7 path_late 5\n";
        let router = real_time(text, false);
        let down = router[&(0, "voice".to_string())];
        assert_eq!((down.sent, down.late, down.lost), (9.0, 2.0, 1.0));
        let up = router[&(1, "voice".to_string())];
        assert_eq!((up.sent, up.late, up.lost), (10.0, 1.0, 2.0));
        let down = real_time(text, true)[&(0, "voice".to_string())];
        assert_eq!((down.sent, down.late, down.lost), (10.0, 5.0, 2.0));
    }

    /// Fails when a page that never ended is forgotten, or one just begun counts.
    #[test]
    fn unfinished_pages_count_when_they_are_long() {
        let mut metrics = Vec::new();
        let rate = pages(
            "page 2MB unfinished 9000000\npage 100kB took 300000\npage 100kB unfinished 1000\n\
             bytes pages 1000000\n",
            8.0,
            &mut metrics,
        );
        let value = |name: &str| metrics.iter().find(|m| m.0 == name).map(|m| m.2);
        assert_eq!((value("page_2MB_ms"), value("page_100kB_ms")), (Some(9000.0), Some(300.0)));
        assert!((rate - 1.0).abs() < 1e-9, "{rate}");
    }

    /// Fails when equal rates are not 1, or one flow of two is not a half.
    #[test]
    fn jain_is_one_for_equal_rates() {
        assert!((jain(&[2.0, 2.0]) - 1.0).abs() < 1e-9);
        assert!((jain(&[2.0, 0.0]) - 0.5).abs() < 1e-9);
    }
}
