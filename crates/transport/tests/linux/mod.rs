//! Steady states of Linux's own TCP: `captures/linux-tcp.csv`.

use std::collections::BTreeMap;

/// Goodput in kbit/s and mean time in the queue in us.
#[derive(Clone, Copy, Debug, Default)]
pub struct Steady {
    pub goodput: u64,
    pub queueing: u64,
}

/// By queue and number of flows.
pub type Steadies = BTreeMap<(String, u32), Steady>;

/// The means of all runs: `queue,flows,run,goodput_kbit_s,queueing_us,dropped`
pub fn recorded() -> Steadies {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/linux-tcp.csv");
    let text = std::fs::read_to_string(file).expect("linux-tcp.csv");
    let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut runs: BTreeMap<(String, u32), Vec<Steady>> = BTreeMap::new();
    for row in rows {
        let [queue, flows, _, goodput, queueing, _] = row.split(',').collect::<Vec<_>>()[..] else {
            panic!("linux-tcp.csv: `{row}`")
        };
        let number = |word: &str| word.parse().unwrap_or_else(|e| panic!("`{row}`: {e}"));
        let run = Steady { goodput: number(goodput), queueing: number(queueing) };
        runs.entry((queue.to_owned(), number(flows) as u32)).or_default().push(run);
    }
    runs.into_iter().map(|(key, runs)| (key, mean(&runs))).collect()
}

pub fn mean(runs: &[Steady]) -> Steady {
    let n = runs.len() as u64;
    Steady {
        goodput: runs.iter().map(|run| run.goodput).sum::<u64>() / n,
        queueing: runs.iter().map(|run| run.queueing).sum::<u64>() / n,
    }
}

/// Whether `simulated` differs from `linux` by at most `percent`.
pub fn is_near(simulated: u64, linux: u64, percent: u64) -> bool {
    simulated.abs_diff(linux) * 100 <= linux * percent
}
