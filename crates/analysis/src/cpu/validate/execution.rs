//! How long each task executed between two instants.

use laxity_core::Time;
use laxity_results::csv::cpu_run::RunSlice;

/// Slices by task, with the execution before each, for questions in logarithmic time.
#[derive(Clone, Debug, Default)]
pub(super) struct Execution(Vec<Vec<Part>>);

#[derive(Clone, Copy, Debug)]
struct Part {
    from: Time,
    to: Time,
    before: u64,
}

impl Execution {
    /// Of tasks numbered below `tasks`. Slices of a task that overlap, as in no legal record, each count.
    pub(super) fn new(tasks: usize, mut slices: Vec<RunSlice>) -> Execution {
        slices.sort_by_key(|slice| (slice.from, slice.to));
        let mut all = vec![Vec::new(); tasks];
        for RunSlice { from, to, task, .. } in slices {
            let own: &mut Vec<Part> = &mut all[task as usize];
            let before = own.last().map_or(0, Part::after);
            own.push(Part { from, to, before });
        }
        Execution(all)
    }

    /// From one instant to another.
    pub(super) fn between(&self, task: u32, from: Time, to: Time) -> u64 {
        self.until(task, to).saturating_sub(self.until(task, from))
    }

    fn until(&self, task: u32, at: Time) -> u64 {
        let own = &self.0[task as usize];
        let begun = own.partition_point(|part| part.from < at);
        let last = begun.checked_sub(1).map(|last| own[last]);
        last.map_or(0, |last| Part { to: last.to.min(at), ..last }.after())
    }
}

impl Part {
    /// The execution up to its end.
    fn after(&self) -> u64 {
        self.before.saturating_add(self.to.since(self.from).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use laxity_results::csv::cpu_run::RunCharge;

    /// Of all intervals between instants at which slices of two tasks begin, end or go on.
    ///
    /// Fails when a slice counts whole that is cut by the interval: tried without `min` in `until`.
    #[test]
    fn execution_agrees_with_a_count_of_each_ns() {
        let slices = [(5, 9, 1), (1, 4, 0), (4, 5, 1), (12, 13, 0), (9, 12, 0)];
        let slices = slices.map(|(from, to, task)| {
            let (from, to, charge) = (Time(from), Time(to), RunCharge::Unserved);
            RunSlice { from, to, cpu: 0, task, charge }
        });
        let execution = Execution::new(3, slices.to_vec());
        for (from, to) in (0..15).flat_map(|from| (from..15).map(move |to| (from, to))) {
            for task in 0..3 {
                let runs = |at: &u64| {
                    slices.iter().any(|s| s.task == task && s.from.0 <= *at && *at < s.to.0)
                };
                let expected = (from..to).filter(runs).count() as u64;
                assert_eq!(execution.between(task, Time(from), Time(to)), expected);
            }
        }
    }
}
