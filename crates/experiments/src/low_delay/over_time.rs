//! Figures 4 and 5: the delay of one real-time and one best-effort flow over time.

use laxity_core::{FlowId, Time};
use laxity_link::buffer::DropReason;
use laxity_link::{Departure, Packet};
use laxity_report::{Figure, FlowDetail, PolicyDetail, delay_figures};
use laxity_results::{FlowKind, FlowResult};
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::simulate::result;
use laxity_sim::link::{Observer, simulate};

use super::COLUMNS;
use super::runs::Runs;
use crate::{ExperimentError, Measured};

/// The flows drawn: the paper's caption gives the first away by its deadline; its text does not
/// say which best-effort flow it shows.
const REALTIME: &str = "video";
const BEST_EFFORT: &str = "ftp";

/// Part of the run that an excerpt covers.
const EXCERPT: u64 = 100;

/// Claims of Figure 4's caption.
pub fn whole(runs: &Runs) -> Vec<Measured> {
    let each = |number: fn(&FlowResult) -> Option<f64>, flow: &str| {
        COLUMNS.map(|policy| runs.each(policy, flow, number))
    };
    let missed = each(|f| Some(f.deadline_misses as f64), REALTIME);
    let total = (0..runs.seeds.len()).map(|i| missed.iter().map(|m| m[i]).sum()).collect();
    let mut rows = vec![Measured::new(format!("all/{REALTIME}/missed"), "packets", total)];
    let mut improves = |flow: &str, statistic: &str, number: fn(&FlowResult) -> Option<f64>| {
        let values = falls(&each(number, flow));
        rows.push(Measured::new(format!("all/{flow}/improves-{statistic}"), "% of seeds", values));
    };
    improves(BEST_EFFORT, "mean", |f| f.mean_ms);
    improves(BEST_EFFORT, "p99", |f| f.p99_ms);
    improves(BEST_EFFORT, "max", |f| f.max_ms);
    improves("http", "mean", |f| f.mean_ms);
    improves("mail", "mean", |f| f.mean_ms);
    for policy in COLUMNS {
        let max = |flow: &str| runs.each(policy, flow, |f| f.max_ms);
        let p99 = runs.each(policy, BEST_EFFORT, |f| f.p99_ms);
        rows.push(Measured::new(format!("{policy}/{REALTIME}/max"), "ms", max(REALTIME)));
        rows.push(Measured::new(format!("{policy}/{BEST_EFFORT}/max"), "ms", max(BEST_EFFORT)));
        rows.push(Measured::new(format!("{policy}/{BEST_EFFORT}/p99"), "ms", p99));
    }
    rows
}

/// 100 where a number falls from column to column, else 0, for each seed.
fn falls(columns: &[Vec<f64>; 3]) -> Vec<f64> {
    let [a, b, c] = columns;
    let each = a.iter().zip(b).zip(c);
    each.map(|((a, b), c)| if a > b && b > c { 100.0 } else { 0.0 }).collect()
}

/// Every packet of the two flows in a window of the first seed's run, by column.
#[derive(Debug)]
pub struct Excerpt {
    window: (u64, u64),
    /// By column: real-time and best-effort packets as (arrival, delay).
    packets: Vec<[Vec<(u64, u64)>; 2]>,
}

struct Window {
    flows: [Option<FlowId>; 2],
    window: (u64, u64),
    packets: [Vec<(u64, u64)>; 2],
}

impl Observer for Window {
    fn arrived(&mut self, _: &Packet) {}

    fn sent(&mut self, departure: &Departure, end: Time) {
        let packet = &departure.packet;
        let inside = (self.window.0..self.window.1).contains(&packet.arrival.0);
        if let (true, Some(i)) = (inside, self.flows.iter().position(|f| *f == Some(packet.flow))) {
            self.packets[i].push((packet.arrival.0, end.since(packet.arrival).0));
        }
    }

    fn dropped(&mut self, _: Time, _: &Packet, _: DropReason) {}
}

impl Excerpt {
    /// Runs the first seed again under each column, around the largest best-effort delay of the
    /// first.
    pub fn of(
        runs: &Runs,
        scenario: &Scenario,
        control: &Control,
    ) -> Result<Excerpt, ExperimentError> {
        let ids = scenario.flow_names().zip((0..).map(FlowId)).collect::<Vec<_>>();
        let flows = [REALTIME, BEST_EFFORT]
            .map(|name| ids.iter().find(|(n, _)| *n == name).map(|(_, id)| *id));
        let reference = runs.shown.iter().find(|r| r.policy == COLUMNS[0]);
        let largest = reference.zip(flows[1]).and_then(|(run, flow)| {
            let series = &run.measure.flows.get(flow.index())?.series;
            series.iter().max_by_key(|(at, delay)| (*delay, std::cmp::Reverse(*at)))
        });
        let duration = runs.traffic.duration().0;
        let width = duration / EXCERPT;
        let middle = largest.map_or(0, |(at, _)| *at);
        let from = middle.saturating_sub(width / 2).min(duration - width);
        let window = (from, from + width);
        let mut packets = Vec::new();
        for run in &runs.shown {
            let mut seen = Window { flows, window, packets: Default::default() };
            simulate(scenario, &run.policy, run.seed, &runs.traffic, Some(&mut seen), control)?;
            seen.packets.iter_mut().for_each(|p| p.sort_unstable());
            packets.push(seen.packets);
        }
        Ok(Excerpt { window, packets })
    }

    /// Claims about Figure 5.
    pub fn rows(&self, scenario: &Scenario) -> Vec<Measured> {
        let ms = |ns: f64| ns / 1e6;
        let mean = |packets: &[(u64, u64)]| {
            let sum: u64 = packets.iter().map(|p| p.1).sum();
            ms(sum as f64 / packets.len().max(1) as f64)
        };
        let max =
            |packets: &[(u64, u64)]| ms(packets.iter().map(|p| p.1).max().unwrap_or(0) as f64);
        let means = |i: usize| -> Vec<Vec<f64>> {
            self.packets.iter().map(|flows| vec![mean(&flows[i])]).collect()
        };
        let improves = <[Vec<f64>; 3]>::try_from(means(1)).map(|m| falls(&m)).unwrap_or_default();
        let deadline = scenario.realtime.iter().find(|f| f.name == REALTIME).map(|f| f.deadline.0);
        let late = |packets: &[(u64, u64)]| {
            packets.iter().filter(|p| deadline.is_some_and(|d| p.1 > d)).count()
        };
        let missed: usize = self.packets.iter().map(|flows| late(&flows[0])).sum();
        let label = format!("all/{BEST_EFFORT}/improves-excerpt-mean");
        let mut rows = vec![
            Measured::new(label, "% of seeds", improves),
            Measured::new(format!("all/{REALTIME}/excerpt-missed"), "packets", vec![missed as f64]),
        ];
        for (policy, flows) in COLUMNS.iter().zip(&self.packets) {
            for (name, packets) in [REALTIME, BEST_EFFORT].iter().zip(flows) {
                let mut add = |statistic: &str, value: f64| {
                    let label = format!("{policy}/{name}/excerpt-{statistic}");
                    rows.push(Measured::new(label, "ms", vec![value]));
                };
                add("mean", mean(packets));
                add("max", max(packets));
            }
        }
        rows
    }

    /// The drawings of Figures 4 and 5.
    pub fn figures(&self, runs: &Runs, scenario: &Scenario) -> [(&'static str, Vec<Figure>); 2] {
        let Some(seed) = runs.seeds.first() else { return [("fig4", vec![]), ("fig5", vec![])] };
        let shown = result(scenario, &runs.shown, Some(*seed));
        let details: Vec<PolicyDetail> = runs
            .shown
            .iter()
            .zip(&self.packets)
            .map(|(run, packets)| {
                let flows = run.flows(scenario).filter_map(|(name, _, deadline, m)| {
                    let i = [REALTIME, BEST_EFFORT].iter().position(|n| *n == name)?;
                    Some(FlowDetail {
                        flow: name.to_owned(),
                        kind: [FlowKind::Realtime, FlowKind::BestEffort][i],
                        deadline_ns: deadline.map(|d| d.0),
                        series: m.series.clone(),
                        excerpt: packets[i].clone(),
                        distribution: Vec::new(),
                    })
                });
                PolicyDetail { policy: run.policy.clone(), flows: flows.collect() }
            })
            .collect();
        let (whole, excerpts) = delay_figures(&shown, &details, self.window);
        [("fig4", whole), ("fig5", excerpts)]
    }
}
