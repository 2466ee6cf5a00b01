//! The tests' output.

use std::collections::BTreeMap;

/// An instruction of the machine, in ns, where its line does not say.
const INSTRUCTION_NS: f64 = 2.0;

/// A number with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The metric and its subject.
    pub name: String,
    /// Of the value.
    pub unit: &'static str,
    /// The value.
    pub value: f64,
}

/// A test under one scheduler with one seed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// In the order of printing.
    pub metrics: Vec<Metric>,
    /// Jobs of tasks with a reservation that ended after their deadlines.
    pub hard_missed: u64,
    /// And all of these.
    pub hard_jobs: u64,
    /// Periods of reservations in which what was promised came later, as the scheduler itself counts.
    pub late_periods: u64,
    /// Why it was not done.
    pub lacks: Option<String>,
}

/// The output of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// By call.
    pub runs: BTreeMap<String, Run>,
    /// Why the scheduler could not be had, or went.
    pub refused: Option<String>,
    /// Whether the kernel complained.
    pub complaint: Option<String>,
}

/// How late ends of budgets and releases were at most, programs that were loaded meanwhile included.
pub const WORST: [&str; 2] = ["overrun max", "release late max"];

/// Tasks of tests that are declared where a scheduler has a way to.
pub const DECLARED: [&str; 4] = ["hard", "real-time", "audio", "video"];

/// The words of a line after its first, in pairs.
struct Line<'a> {
    subject: &'a str,
    pairs: Vec<(&'a str, Vec<f64>)>,
}

impl<'a> Line<'a> {
    /// `None` when it is no result.
    fn parse(line: &'a str) -> Option<Line<'a>> {
        let mut words = line.split_whitespace();
        let subject = words.next()?;
        let mut pairs: Vec<(&str, Vec<f64>)> = Vec::new();
        for word in words {
            match (word.parse::<f64>(), pairs.last_mut()) {
                (Ok(value), Some((_, values))) if value.is_finite() => values.push(value),
                _ => pairs.push((word, Vec::new())),
            }
        }
        let sound = !pairs.is_empty() && pairs.iter().all(|(_, values)| !values.is_empty());
        sound.then_some(Line { subject, pairs })
    }

    fn get(&self, key: &str) -> Option<f64> {
        self.all(key).and_then(|v| v.first().copied())
    }

    fn all(&self, key: &str) -> Option<&[f64]> {
        self.pairs.iter().find(|(k, _)| *k == key).map(|(_, values)| values.as_slice())
    }
}

impl Run {
    fn add(&mut self, name: impl Into<String>, unit: &'static str, value: f64) {
        self.metrics.push(Metric { name: name.into(), unit, value });
    }

    /// The value of a metric.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.metrics.iter().find(|m| m.name == name).map(|m| m.value)
    }

    fn take(&mut self, line: &Line<'_>) {
        let subject = line.subject;
        if let (Some(jobs), Some(missed), true) =
            (line.get("jobs"), line.get("missed"), DECLARED.contains(&subject))
        {
            self.hard_jobs += jobs as u64;
            // A player starts with more to do than its budget.
            self.hard_missed += line.get("missed_after_1s").unwrap_or(missed) as u64;
        }
        match subject {
            // Several tasks, of which only the misses together matter.
            "hard" => return,
            "machine" => {
                if let (Some(switches), Some(ms)) = (line.get("switches"), line.get("ms")) {
                    self.add("switches", "1/s", switches * 1000.0 / ms.max(1.0));
                }
                return;
            }
            "timing" => {
                self.late_periods = line.get("deadline_misses").unwrap_or(0.0) as u64;
                for (key, name) in
                    ["max_overrun_ns", "max_release_lateness_ns"].into_iter().zip(WORST)
                {
                    if let Some(ns) = line.get(key) {
                        self.add(name, "us", ns / 1000.0);
                    }
                }
                return;
            }
            "hogs" => {
                let got = line.all("got_ms").unwrap_or_default();
                let least = got.iter().copied().fold(f64::MAX, f64::min);
                let most = got.iter().copied().fold(1.0, f64::max);
                self.add("greedy least over most", "times", least.min(most) / most);
                return;
            }
            _ => {}
        }
        if let (Some(jobs), Some(missed)) = (line.get("jobs"), line.get("missed")) {
            if subject != "respond" {
                self.add(format!("{subject} missed"), "%", missed * 100.0 / jobs.max(1.0));
            }
        }
        for (key, of, unit) in [
            ("mean_us", "mean", "us"),
            ("p50_us", "p50", "us"),
            ("p99_us", "p99", "us"),
            ("p999_us", "p99.9", "us"),
            ("max_us", "max", "us"),
            ("seconds", "time", "s"),
            ("per_second", "a second", "1/s"),
            ("ended", "ended", "processes"),
            ("load", "load", "%"),
        ] {
            if let Some(value) = line.get(key) {
                self.add(format!("{subject} {of}"), unit, value);
            }
        }
        if let Some(ns) = line.get("round_ns") {
            // There and back is two switches.
            let instruction = line.get("instruction_ns").unwrap_or(INSTRUCTION_NS);
            let instructions = ns / 2.0 / instruction;
            self.add(format!("{subject} instructions a switch"), "instructions", instructions);
        }
    }

    fn end(&mut self) {
        if self.hard_jobs > 0 {
            let share = self.hard_missed as f64 * 100.0 / self.hard_jobs as f64;
            // Other declared tasks than hard ones say so under their own names.
            let own = |m: &Metric| DECLARED.iter().any(|task| m.name == format!("{task} missed"));
            if !self.metrics.iter().any(own) {
                self.add("hard missed", "%", share);
            }
        }
    }
}

/// Reads what a machine printed.
pub fn read(text: &str) -> Output {
    let mut output = Output::default();
    let mut call = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("== ") {
            call = Some(name.to_owned());
            output.runs.entry(name.to_owned()).or_default();
        } else if let Some(why) = line.strip_prefix("refused ").or(line.strip_prefix("left ")) {
            let before = output.refused.take().map_or_else(String::new, |w| w + "; ");
            output.refused = Some(before + why.trim());
        } else if let Some(run) = call.as_ref().and_then(|c| output.runs.get_mut(c)) {
            if let Some(why) = line.strip_prefix("lacks ") {
                run.lacks = Some(why.to_owned());
            } else if let Some(line) = Line::parse(line) {
                run.take(&line);
                if line.subject == "machine" {
                    run.end();
                    call = None;
                }
            }
        } else if ["bug:", "warning:", "stall", "lockup", "runnable task"]
            .iter()
            .any(|word| line.to_lowercase().contains(word))
        {
            output.complaint = Some(line.to_owned());
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "== fig9\nsoft jobs 240 missed 12 mean_us 7 p99_us 9 max_us 9\n\
        hard jobs 100 missed 1 mean_us 1 p99_us 1 max_us 1\nhard jobs 300 missed 1 mean_us 1\n\
        hogs got_ms 100 50\ntiming max_overrun_ns 5100 max_release_lateness_ns 0 \
        deadline_misses 3 max_lateness_ns 70\nmachine switches 500 ms 2000\n== pass:10\n\
        pass rounds 10 round_ns 8000\nmachine switches 20 ms 10\n== cost:10\n\
        pass rounds 10 round_ns 8000 instruction_ns 1\nkernel content\n";

    /// Fails when misses of several hard tasks are not summed, or include another's.
    #[test]
    fn metrics_are_parsed_from_test_output() {
        let output = read(TEXT);
        let run = &output.runs["fig9"];
        let got = |name: &str| run.get(name).expect(name);
        assert_eq!(got("soft missed"), 5.0);
        assert_eq!(got("hard missed"), 0.5);
        assert_eq!((run.hard_missed, run.hard_jobs, run.late_periods), (2, 400, 3));
        let start =
            read("== video\nvideo jobs 150 missed 3 missed_after_1s 1 mean_us 1 p99_us 1\n");
        assert_eq!(start.runs["video"].hard_missed, 1);
        assert_eq!(start.runs["video"].get("video missed"), Some(2.0));
        assert_eq!(got("greedy least over most"), 0.5);
        assert_eq!((got("overrun max"), got("release late max")), (5.1, 0.0));
        assert_eq!(got("switches"), 250.0);
        for (call, instructions) in [("pass:10", 2000.0), ("cost:10", 4000.0)] {
            let run = &output.runs[call];
            assert_eq!(run.get("pass instructions a switch"), Some(instructions));
        }
        assert_eq!((output.refused, output.complaint), (None, None));
    }

    /// Fails when a scheduler that did not come, or went, counts as one that ran.
    #[test]
    fn missing_runs_are_reported() {
        let output = read("refused Caused by:\nrefused   Invalid argument\n");
        assert_eq!(output.refused.as_deref(), Some("Caused by:; Invalid argument"));
        let output = read("== x\nlacks no class\nmachine switches 1 ms 1\nBUG: gone\n");
        assert_eq!(output.runs["x"].lacks.as_deref(), Some("no class"));
        assert_eq!(output.complaint.as_deref(), Some("BUG: gone"));
    }
}
