//! The condition of `slack` beside flows with service curves, by its definition: every instant on
//! its own, every start remembered, the curve read as it is.

use std::cell::RefCell;

use laxity_core::{NANOBITS_PER_BYTE, Time};
use laxity_curve::service::ServiceCurve;
use laxity_link::config::LinkConfig;
use laxity_link::edf::{EdfQueue, Entry};
use laxity_link::slack::exact_steps;

use super::reference_model::ReferenceModel;

/// `w <= min over x in X of [ C x - B(x) - F(x) ]`, with `X` every whole `x` by which anything is
/// queued or may come.
pub struct ServiceModel {
    envelopes: ReferenceModel,
    rate: i128,
    downstream_backlog: i128,
    always_check: bool,
    /// So many ns beyond the last corner of a curve envelopes are followed.
    beyond: u64,
    curves: Vec<Option<Served>>,
}

struct Served {
    curve: ServiceCurve,
    values: RefCell<Vec<i128>>,
    smallest: i128,
    largest: i128,
    steps: i128,
    /// The policed flow's ratio of bytes on the wire to counted ones.
    buckets: Option<(i128, i128)>,
    starts: Vec<(u64, i128)>,
    accepted: i128,
    queued: usize,
    on_wire: bool,
}

impl Served {
    /// `S(t)`, in whole nanobits.
    fn value(&self, t: u64) -> i128 {
        let exact = |t: u64| self.curve.curve().value(i128::from(t).into()).unwrap().floor();
        if t >= 20_000 {
            return exact(t);
        }
        let mut values = self.values.borrow_mut();
        for t in values.len() as u64..=t {
            values.push(exact(t));
        }
        values[t as usize]
    }

    fn idle(&self) -> bool {
        self.queued == 0 && !self.on_wire
    }

    /// `Z'(now + x) - R`.
    fn ahead(&self, now: u64, x: u64) -> i128 {
        let starts = self.starts.iter().map(|(at, before)| before + self.value(now + x - at));
        let fresh = self.idle().then(|| self.accepted + self.value(x));
        starts.chain(fresh).min().unwrap() - self.accepted
    }

    /// The largest sum of packet sizes not above a bound, for so many packets.
    fn whole_packets(&self, bound: i128) -> i128 {
        for n in 1..=self.steps {
            if bound < n * self.smallest {
                return (n - 1) * self.largest;
            }
            if bound <= n * self.largest {
                break;
            }
        }
        bound
    }

    /// From here on the demand is a line.
    fn straight(&self, now: u64) -> u64 {
        let last = *self.curve.curve().pieces().last().unwrap();
        let work = self.accepted + (self.steps + 1) * self.largest;
        let reach = |at: u64, before: i128| {
            let level = last.at(last.start).unwrap().floor();
            let more = (work - before - level).max(0) / last.slope.floor();
            (i128::from(at) + last.start.ceil() + more + 2 - i128::from(now)).max(0) as u64
        };
        let starts = self.starts.iter().map(|(at, before)| reach(*at, *before));
        starts.chain([reach(now, self.accepted)]).max().unwrap()
    }
}

impl ServiceModel {
    pub fn new(config: &LinkConfig, beyond: u64) -> ServiceModel {
        let curve = |f: &laxity_link::config::RealtimeFlow| {
            let service = f.service.as_ref()?;
            let counted = f.smallest_counted();
            let spec = f.link_flow(config.wire).unwrap();
            let laxity_curve::service::LinkFlow::Service(spec) = spec else { unreachable!() };
            let (wire, counted) = (config.wire.of_bytes(counted).0, counted.0);
            Some(Served {
                curve: service.curve.clone(),
                values: RefCell::default(),
                smallest: i128::from(spec.min_packet.0) * NANOBITS_PER_BYTE,
                largest: i128::from(spec.max_packet.0) * NANOBITS_PER_BYTE,
                steps: exact_steps(config) as i128,
                buckets: service.policed.then_some((wire.into(), counted.into())),
                starts: vec![],
                accepted: 0,
                queued: 0,
                on_wire: false,
            })
        };
        ServiceModel {
            envelopes: ReferenceModel::new(config),
            rate: config.rate.0.into(),
            downstream_backlog: i128::from(config.downstream_backlog.0) * NANOBITS_PER_BYTE,
            always_check: config.options.always_check,
            beyond,
            curves: config.realtime.iter().map(curve).collect(),
        }
    }

    pub fn released(&mut self, at: Time, entry: &Entry) {
        let k = entry.packet.flow.index();
        let Some(flow) = &mut self.curves[k] else { return self.envelopes.released(at, entry) };
        if flow.idle() {
            flow.starts.push((at.0, flow.accepted));
        }
        flow.queued += 1;
        flow.accepted += flow.smallest.max(i128::from(entry.packet.wire) * NANOBITS_PER_BYTE);
        if flow.buckets.is_some() {
            self.envelopes.released(at, entry);
        }
    }

    pub fn started(&mut self, entry: &Entry) {
        self.completed();
        if let Some(flow) = &mut self.curves[entry.packet.flow.index()] {
            flow.queued -= 1;
            flow.on_wire = true;
        }
    }

    /// The packet on the wire has ended.
    pub fn completed(&mut self) {
        self.curves.iter_mut().flatten().for_each(|flow| flow.on_wire = false);
    }

    /// The link is idle and nothing waits.
    pub fn reset(&mut self) {
        self.completed();
        for flow in self.curves.iter_mut().flatten() {
            (flow.accepted, flow.starts) = (0, vec![]);
        }
    }

    /// What flow `k` can still send and have due by `x` from now.
    fn demand(&self, k: usize, now: Time, x: u64) -> i128 {
        let Some(flow) = &self.curves[k] else { return self.envelopes.still(k, now, x) };
        let ahead = flow.ahead(now.0, x).max(0);
        let bound = match flow.buckets {
            None => ahead,
            Some((num, den)) => {
                let rest = self.envelopes.remaining(k, now);
                let lines = rest.lines[..rest.count].iter();
                let counted = lines.map(|(b, r)| b + i128::from(*r) * i128::from(x)).min().unwrap();
                ahead.min((counted.max(0) * num + den - 1) / den)
            }
        };
        flow.whole_packets(bound)
    }

    /// By how many nanobits a best-effort packet of `wire` bytes passes or, if negative, fails.
    pub fn margin(&self, now: Time, wire: u32, realtime: &EdfQueue) -> i128 {
        if realtime.is_empty() && !self.always_check {
            return i128::MAX;
        }
        let mut queued: Vec<_> = realtime
            .iter_merged()
            .map(|e| (e.deadline.since(now).0, i128::from(e.packet.wire) * NANOBITS_PER_BYTE))
            .collect();
        queued.reverse();
        let straight = self.curves.iter().flatten().map(|flow| flow.straight(now.0)).max();
        let last = queued.first().map_or(0, |q| q.0).max(straight.unwrap_or(0)) + self.beyond;
        let (mut due, mut least) = (0, i128::MAX);
        for x in 0..=last {
            while queued.last().is_some_and(|q| q.0 <= x) {
                due += queued.pop().unwrap().1;
            }
            let still = (0..self.curves.len()).map(|k| self.demand(k, now, x)).sum::<i128>();
            if due + still > 0 {
                least = least.min(self.rate * i128::from(x) - due - still);
            }
        }
        least - self.downstream_backlog - i128::from(wire) * NANOBITS_PER_BYTE
    }
}
