//! Measures of a run: counts, histograms, and a thinned series for plots.

use indexmap::IndexMap;
use laxity_core::{Histogram, Span, Time};
use laxity_link::buffer::DropReason;
use laxity_link::{Departure, Packet};
use laxity_results::{FlowKind, FlowResult, PolicyResult};
use laxity_scenario::link::model::{Aqm, Scenario};

use super::engine::{Ending, Observer};

/// Why a packet was not sent that still waited when nothing could arrive any more: its policy
/// would have stored it for ever.
pub const UNSERVED: &str = "unserved";

/// Why a packet that was sent has a reason in per-packet results: the AQM marked it with
/// "congestion experienced".
pub const MARKED: &str = "marked";

/// Columns of a thinned series: about one for each pixel of a wide plot.
const COLUMNS: u64 = 1200;

/// One flow under one policy.
#[derive(Clone, Debug)]
pub struct FlowMeasure {
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// Delay from arrival to the end of transmission, in ns; of real-time packets that were sent as
    /// such.
    pub delay: Histogram,
    /// The same of packets that were demoted: they have no promise, and would spoil the delays of
    /// those that have one.
    pub demoted_delay: Histogram,
    /// Margin left to the deadline in ns, over packets on time; real-time only.
    pub least_margin: Option<u64>,
    /// Largest lateness in ns; real-time only.
    pub most_late: u64,
    /// Packets that ended after their deadline.
    pub missed: u64,
    /// Packets marked with "congestion experienced".
    pub marks: u64,
    /// Packets not sent, by reason.
    pub drops: IndexMap<&'static str, u64>,
    /// Largest delay in each column of time, as (arrival, delay).
    pub series: Vec<(u64, u64)>,
}

/// All flows under one policy.
#[derive(Clone, Debug)]
pub struct Measure {
    /// By flow.
    pub flows: Vec<FlowMeasure>,
    column: u64,
}

impl Measure {
    /// Nothing seen yet, of `flows` flows over about `duration_ns`.
    pub fn new(flows: usize, duration_ns: u64) -> Measure {
        let flow = FlowMeasure {
            packets: 0,
            bytes: 0,
            delay: Histogram::on_demand(),
            demoted_delay: Histogram::on_demand(),
            least_margin: None,
            most_late: 0,
            missed: 0,
            marks: 0,
            drops: IndexMap::new(),
            series: Vec::new(),
        };
        Measure { flows: vec![flow; flows], column: (duration_ns / COLUMNS).max(1) }
    }

    /// The result to print.
    pub fn result(&self, scenario: &Scenario, ending: &Ending, duration_ns: u64) -> PolicyResult {
        let mut best_effort = (0u128, 0u64);
        let mut flows = IndexMap::new();
        let mut realtime_missed = 0;
        for (i, (name, m)) in scenario.flow_names().zip(&self.flows).enumerate() {
            let realtime = scenario.realtime.get(i);
            if realtime.is_some() {
                realtime_missed += m.missed;
            } else {
                best_effort.0 += m.delay.sum();
                best_effort.1 += m.delay.count();
                if name == "other" && m.packets == 0 {
                    continue;
                }
            }
            let class = i.checked_sub(scenario.realtime.len());
            let class = class.and_then(|i| scenario.best_effort.get(i));
            let managed = class.is_some_and(|c| c.aqm != Aqm::None);
            let kind = match realtime {
                Some(flow) => Kind::Realtime(flow.delay_bound()),
                None => Kind::BestEffort,
            };
            let mut result = m.flow_result(kind, managed);
            let unserved = if ending.complete { m.unfinished() } else { 0 };
            if unserved > 0 {
                result.dropped += unserved;
                result.drop_reasons.insert(UNSERVED.to_owned(), unserved);
            }
            flows.insert(name.to_owned(), result);
        }
        let (sum, count) = best_effort;
        PolicyResult {
            utilisation: ending.busy as f64 / duration_ns.max(ending.time.0).max(1) as f64,
            best_effort_mean_ms: (count > 0).then(|| sum as f64 / count as f64 / 1e6),
            realtime_deadline_misses: realtime_missed,
            flows,
        }
    }
}

/// What a flow was promised.
enum Kind {
    /// Deadlines; the relative one, or the delay bound of a service curve where there is one.
    Realtime(Option<Span>),
    /// Nothing.
    BestEffort,
}

impl FlowMeasure {
    /// Packets sent as best effort.
    pub fn demoted(&self) -> u64 {
        self.demoted_delay.count()
    }

    /// Packets that arrived and were neither sent nor dropped: they waited when the run ended.
    pub fn unfinished(&self) -> u64 {
        self.packets - self.delay.count() - self.demoted() - self.drops.values().sum::<u64>()
    }

    /// `managed`: whether the flow is a class with AQM. Packets of a real-time flow that were
    /// demoted may have met that of the last class.
    fn flow_result(&self, kind: Kind, managed: bool) -> FlowResult {
        let deadline = match kind {
            Kind::Realtime(deadline) => deadline.map(|d| d.0),
            Kind::BestEffort => None,
        };
        let realtime = matches!(kind, Kind::Realtime(_));
        let aqm_drops = self.drops.get(DropReason::Aqm.name()).copied().unwrap_or(0);
        let managed = managed || aqm_drops > 0 || self.marks > 0;
        let ms = |ns: u64| ns as f64 / 1e6;
        let lateness = if self.most_late > 0 {
            Some(ms(self.most_late))
        } else {
            self.least_margin.map(|m| -ms(m))
        };
        FlowResult {
            kind: if realtime { FlowKind::Realtime } else { FlowKind::BestEffort },
            packets: self.packets,
            bytes: self.bytes,
            mean_ms: self.delay.mean().map(|m| m / 1e6),
            p50_ms: self.delay.quantile(500).map(ms),
            p99_ms: self.delay.quantile(990).map(ms),
            max_ms: self.delay.max().map(ms),
            deadline_ms: deadline.map(ms),
            max_lateness_ms: lateness.filter(|_| realtime),
            deadline_misses: self.missed,
            dropped: self.drops.values().sum(),
            demoted: self.demoted(),
            demoted_mean_ms: self.demoted_delay.mean().map(|m| m / 1e6),
            demoted_max_ms: self.demoted_delay.max().map(ms),
            aqm_drops: managed.then_some(aqm_drops),
            ecn_marks: managed.then_some(self.marks),
            tcp: None,
            drop_reasons: self.drops.iter().map(|(r, n)| ((*r).to_owned(), *n)).collect(),
        }
    }
}

impl Observer for Measure {
    #[inline]
    fn arrived(&mut self, packet: &Packet) {
        let flow = &mut self.flows[packet.flow.index()];
        flow.packets += 1;
        flow.bytes += u64::from(packet.bytes);
    }

    #[inline]
    fn sent(&mut self, departure: &Departure, end: Time) {
        let packet = &departure.packet;
        let flow = &mut self.flows[packet.flow.index()];
        let delay = end.since(packet.arrival).0;
        if packet.demoted {
            flow.demoted_delay.record(delay);
            return;
        }
        flow.delay.record(delay);
        if departure.realtime {
            if end > departure.deadline {
                flow.missed += 1;
                flow.most_late = flow.most_late.max(end.since(departure.deadline).0);
            } else {
                let margin = departure.deadline.since(end).0;
                flow.least_margin = Some(flow.least_margin.map_or(margin, |m| m.min(margin)));
            }
        }
        let column = packet.arrival.0 / self.column;
        match flow.series.last_mut() {
            // Departures of one flow may leave its arrival order only by shaping; the series is
            // for the eye, so a packet of an earlier column joins the last one.
            Some(last) if last.0 / self.column >= column => {
                if delay > last.1 {
                    *last = (last.0.max(packet.arrival.0), delay);
                }
            }
            _ => flow.series.push((packet.arrival.0, delay)),
        }
    }

    fn marked(&mut self, _now: Time, packet: &Packet) {
        self.flows[packet.flow.index()].marks += 1;
    }

    fn dropped(&mut self, _now: Time, packet: &Packet, reason: DropReason) {
        *self.flows[packet.flow.index()].drops.entry(reason.name()).or_default() += 1;
    }
}
