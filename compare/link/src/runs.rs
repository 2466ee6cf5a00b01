//! The output of a run in the virtual machine.

use std::collections::BTreeMap;

/// Whether a flow of the family is real time; the others are best effort.
pub fn is_realtime(name: &str) -> bool {
    ["voice", "video"].contains(&name)
}

/// Packets, and their delay together in us.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delay {
    packets: u64,
    sum_us: u64,
}

impl Delay {
    /// Adds packets with a mean of their own.
    pub fn add(&mut self, packets: u64, mean_us: u64) {
        self.packets += packets;
        self.sum_us += packets * mean_us;
    }

    /// The mean over packets; `None` when there was none.
    pub fn mean_ms(self) -> Option<f64> {
        (self.packets > 0).then(|| self.sum_us as f64 / self.packets as f64 / 1000.0)
    }
}

/// The measurements of one flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Packets sent.
    pub sent: u64,
    /// Received.
    pub got: u64,
    /// Received after the deadline.
    pub late: u64,
    /// Mean one-way delay in us.
    pub mean_us: u64,
    /// The same as our qdisc counts it, from its arrival there to the end of its transmission.
    pub counted_us: Option<u64>,
}

/// One discipline on one trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// By name.
    pub flows: BTreeMap<String, Flow>,
    /// Why it could not run.
    pub refused: Option<String>,
    /// The largest lag of the sender behind the trace, in us.
    pub behind_us: u64,
}

impl Run {
    /// The flows of best effort, or those of real time.
    pub fn flows(&self, realtime: bool) -> impl Iterator<Item = (&str, &Flow)> {
        let flows = self.flows.iter().map(|(name, flow)| (name.as_str(), flow));
        flows.filter(move |(name, _)| is_realtime(name) == realtime)
    }

    /// Mean delay of best effort over packets; `None` when none came through.
    pub fn best_effort_mean_ms(&self) -> Option<f64> {
        let mut delay = Delay::default();
        self.flows(false).for_each(|(_, flow)| delay.add(flow.got, flow.mean_us));
        delay.mean_ms()
    }

    /// Real-time packets after their deadline.
    pub fn late(&self) -> u64 {
        self.flows(true).map(|(_, f)| f.late).sum()
    }

    /// Real-time packets that never came.
    pub fn lost(&self) -> u64 {
        self.flows(true).map(|(_, f)| f.sent.saturating_sub(f.got)).sum()
    }
}

/// Reads the output of `vm.sh`: runs by label, and lines that belong to none.
///
/// # Errors
/// A line that is not understood.
pub fn read(text: &str) -> Result<BTreeMap<String, Run>, String> {
    let mut runs = BTreeMap::new();
    let mut label = String::new();
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let wrong = || format!("line {}: `{line}` is no result of a run", number + 1);
        let value = |word: &str| word.parse::<u64>().map_err(|_| wrong());
        if let ["==", name] = words[..] {
            label = name.into();
            runs.entry(label.clone()).or_insert_with(Run::default);
            continue;
        }
        let Some(run) = runs.get_mut(&label) else { continue };
        match words[..] {
            ["sent", name, packets] => {
                run.flows.entry(name.into()).or_default().sent = value(packets)?;
            }
            ["got", name, packets, "late", late, "mean_us", mean, ..] => {
                let flow = run.flows.entry(name.into()).or_default();
                (flow.got, flow.late, flow.mean_us) = (value(packets)?, value(late)?, value(mean)?);
            }
            [name, "packets", _, "late", _, "dropped", _, "demoted", _, "mean_us", mean, ..] => {
                if let Some(flow) = run.flows.get_mut(name) {
                    flow.counted_us = Some(value(mean)?);
                }
            }
            ["behind_us", behind, ..] => run.behind_us = value(behind)?,
            ["refused", ref why @ ..] => run.refused = Some(why.join(" ")),
            // Lines of the qdisc and of the kernel.
            _ => {}
        }
    }
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a mean is over flows instead of packets, or best effort counts as late.
    #[test]
    fn packets_weigh_the_mean() {
        let text = "== x\nsent voice 3\nsent http 3\nsent bulk 1\nbehind_us 7 blocked 0\n\
                    got voice 2 late 1 mean_us 9 max_us 9\ngot http 3 late 5 mean_us 1000 max_us 1\n\
                    got bulk 1 late 0 mean_us 5000 max_us 1\nrefused\n";
        let runs = read(text).expect("results");
        let run = &runs["x"];
        assert_eq!(run.best_effort_mean_ms(), Some(2.0));
        assert_eq!((run.late(), run.lost(), run.behind_us), (1, 1, 7));
        assert!(read("== x\nsent voice many\n").is_err());
    }
}
