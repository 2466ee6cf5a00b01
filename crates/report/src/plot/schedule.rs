//! A whole CPU schedule as compact text, for the canvas that a page's script draws.

use super::number;
use crate::escape::markup;

/// A schedule from the start of the run: what ran on each CPU, and the jobs of each task.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// ns of a unit of time in the texts.
    unit: u64,
    /// End of the run in ns.
    end: u64,
    /// What is known ends here, in ns.
    known: u64,
    /// Names of the tasks, and places in the palette.
    names: Vec<(String, usize)>,
    /// For each CPU its slices: idle time before, length, task.
    slices: Vec<String>,
    /// For each task its jobs by release: time since the release before, deadline and end since the
    /// release; without a deadline, -1.
    jobs: Vec<String>,
}

/// An execution: CPU, start and end in ns, task.
pub(crate) type Slice = (u32, u64, u64, usize);

/// A job: release, deadline if it has one, end, in ns.
pub(crate) type Job = (u64, Option<u64>, u64);

/// Times have at most so many units: a tenth of a pixel after zooming in ten thousand times.
const UNITS: u64 = 50_000_000;

impl Schedule {
    /// Slices in any order; those and jobs that begin at `known` or later are left out.
    pub(crate) fn new(
        (end, known): (u64, u64),
        cpus: u32,
        names: Vec<(String, usize)>,
        mut slices: Vec<Slice>,
        jobs: Vec<Vec<Job>>,
    ) -> Schedule {
        let mut unit = 1;
        while end / unit > UNITS {
            unit *= 10;
        }
        // To the nearest unit, so that no error adds up along a row.
        let at = |ns: u64| ((ns.saturating_add(unit / 2)) / unit) as i64;
        slices.retain(|s| s.1 < known);
        slices.sort_unstable_by_key(|s| (s.0, s.1));
        let mut rows = vec![(String::new(), 0i64); cpus as usize];
        for (cpu, from, to, task) in slices {
            let Some((row, last)) = rows.get_mut(cpu as usize) else { continue };
            let (from, to) = (at(from), at(to.min(end)));
            number(row, from - *last);
            number(row, to - from);
            number(row, task as i64);
            *last = to;
        }
        let jobs = jobs.into_iter().map(|mut jobs| {
            jobs.retain(|j| j.0 < known);
            jobs.sort_unstable();
            let (mut row, mut last) = (String::new(), 0);
            for (release, deadline, end) in jobs {
                let release = at(release);
                number(&mut row, release - last);
                number(&mut row, deadline.map_or(-1, |d| (at(d) - release).max(0)));
                number(&mut row, (at(end) - release).max(0));
                last = release;
            }
            row
        });
        let jobs = jobs.collect();
        Schedule { unit, end, known, names, slices: rows.into_iter().map(|r| r.0).collect(), jobs }
    }

    /// The attribute of the panel.
    pub(super) fn attributes(&self) -> String {
        let (names, hues): (Vec<&str>, Vec<usize>) =
            self.names.iter().map(|(name, hue)| (name.as_str(), *hue)).unzip();
        let data = serde_json::json!({
            "unit": self.unit,
            "end": self.end,
            "known": self.known,
            "names": names,
            "hues": hues,
            "slices": self.slices,
            "jobs": self.jobs,
        });
        format!(" data-schedule=\"{}\"", markup(&data.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when times are rounded one after the other: half a unit of each would add up.
    #[test]
    fn rounding_does_not_add_up() {
        let end = 100_000_000_000;
        let slices = (0..1000).map(|i| (0, i * 20_000_006, i * 20_000_006, 0)).collect();
        let s = Schedule::new((end, end), 1, vec![("a".into(), 1)], slices, vec![vec![]]);
        assert_eq!(s.unit, 10_000);
        // Each begins 2000 units after the one before, and one of them 2001.
        let mut gaps = String::new();
        number(&mut gaps, 2001);
        assert_eq!(s.slices[0].matches(gaps.as_str()).count(), 1);
        assert!(s.attributes().starts_with(" data-schedule=\"{&quot;unit&quot;:10000,"));
    }
}
