//! A run as a data file of flent (version 4), under the names of its test `rrul`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::results::{MARKS, Run};

/// Mean of those that are there.
fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// The file's content; `kernel` names the kernel of the run.
pub fn file(run: &Run, kernel: &str) -> Value {
    let seconds = run.link.seconds[1] as usize;
    let mut results = BTreeMap::<String, Vec<Option<f64>>>::new();
    let mut totals = vec![0.0; seconds];
    for (direction, name) in ["download", "upload"].into_iter().enumerate() {
        let mut sums = vec![0.0; seconds];
        for (mark, _) in MARKS {
            let rates = &run.rates[direction][mark];
            let series = (0..seconds).map(|s| rates.get(s).map(|bits| bits / 1e6));
            let series: Vec<Option<f64>> = series.collect();
            for (sum, rate) in sums.iter_mut().zip(&series) {
                *sum += rate.unwrap_or(0.0);
            }
            results.insert(format!("TCP {name} {mark}"), series);
        }
        for (total, sum) in totals.iter_mut().zip(&sums) {
            *total += sum;
        }
        let means = sums.iter().map(|sum| Some(sum / MARKS.len() as f64)).collect();
        results.insert(format!("TCP {name} avg"), means);
        results.insert(format!("TCP {name} sum"), sums.into_iter().map(Some).collect());
    }
    results.insert("TCP totals".into(), totals.into_iter().map(Some).collect());
    let of_second = |second: usize| {
        let inside = run.pings.iter().filter(move |p| p.0 as usize == second);
        mean(inside.filter_map(|p| p.1))
    };
    let pings: Vec<Option<f64>> = (0..seconds).map(of_second).collect();
    results.insert("Ping (ms) UDP BE".into(), pings.clone());
    results.insert("Ping (ms) avg".into(), pings);
    let raw: Vec<Value> = run
        .pings
        .iter()
        .filter_map(|(at, ms)| ms.map(|ms| json!({ "t": at, "val": ms })))
        .collect();
    let start = "2026-01-01T00:00:00.000000Z";
    json!({
        "version": 4,
        "x_values": (0..seconds).map(|s| s as f64).collect::<Vec<_>>(),
        "results": results,
        "raw_values": { "Ping (ms) UDP BE": raw },
        "metadata": {
            "NAME": "rrul",
            "TITLE": format!("{} on {} Mbit/s, seed {}", run.scheduler, run.link.name, run.seed),
            "NOTE": "iperf3 and irtt in a virtual machine; declared real time, pages and a film beside",
            "HOST": "10.3.0.2", "HOSTS": ["10.3.0.2"], "LOCAL_HOST": "10.1.0.2",
            "IP_VERSION": 4, "LENGTH": seconds, "TOTAL_LENGTH": seconds, "STEP_SIZE": 1.0,
            "TIME": start, "T0": start, "KERNEL_NAME": "Linux", "KERNEL_RELEASE": kernel,
            "FLENT_VERSION": "2.1.1", "DATA_FILENAME": null, "TEST_PARAMETERS": {},
            "SERIES_META": {},
        },
    })
}
