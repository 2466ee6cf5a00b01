//! One run: streams, a policy, a packet each unit of time.

use laxity_core::{Span, Time};
use laxity_dwcs::baselines::{self, Baseline, Visitor};
use laxity_dwcs::structure::{Heaps, Precedence, Structure, Wheel};
use laxity_dwcs::{
    Attributes, Decision, Ledger, Measures, Meter, Misses, Options, Order, Scheduler, Service,
    StreamId, Tolerance,
};
use laxity_sim::Control;

use super::variants::{self, Kind, Variant};
use super::workload::{Backlog, Bursts, CLASSES, SERVICE, class, streams};

/// Decisions of an interval in which services are counted, for rates over time.
pub const INTERVAL: u64 = 10_000;

/// Units of time between two checks of the control.
const STRIDE: u64 = 8192;

/// Parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The policy.
    pub variant: Variant,
    /// How many streams.
    pub streams: usize,
    /// Units of time between the deadlines of a stream.
    pub gap: u64,
    /// Services between two checks of deadlines.
    pub every: u32,
    /// Seed of random bursts.
    pub seed: u64,
    /// Units of time: packets that can be sent.
    pub packets: u64,
}

/// Results of some streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// As the scheduler counts.
    pub measures: Measures,
    /// Back-to-back windows that are over and violated.
    pub violated: u64,
    /// Back-to-back windows that are over.
    pub windows: u64,
    /// Longest run of packets that were sent late or dropped.
    pub late_run: u64,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The run's setting.
    pub setting: Setting,
    /// By class.
    pub classes: [Counts; CLASSES],
    /// Deadlines missed in the first half.
    pub missed_by_half: u64,
    /// Packets sent in each [`INTERVAL`], by class.
    pub rates: Vec<[u32; CLASSES]>,
    /// Packets sent in the last [`INTERVAL`], by stream.
    pub at_last: Vec<u64>,
    /// Of the first stream: whether each of its slots was missed.
    pub first_stream: Vec<bool>,
}

impl RunResult {
    /// All classes together.
    pub fn total(&self) -> Counts {
        self.classes.iter().fold(Counts::default(), |sum, class| sum.merged(class))
    }

    /// Deadlines missed in each of `unit` service times, over the second half.
    pub fn missed_per(&self, unit: u64) -> f64 {
        let half = self.setting.packets / 2;
        let missed = self.total().measures.missed.saturating_sub(self.missed_by_half);
        missed as f64 * unit as f64 / (self.setting.packets - half).max(1) as f64
    }
}

impl Counts {
    fn merged(mut self, other: &Counts) -> Counts {
        self.measures.merge(&other.measures);
        self.violated += other.violated;
        self.windows += other.windows;
        self.late_run = self.late_run.max(other.late_run);
        self
    }
}

/// The scheduler's own statistics, runs of late packets, and every slot of one stream.
#[derive(Debug, Default)]
struct Watch {
    ledger: Ledger,
    runs: Vec<Run>,
    first_stream: Vec<bool>,
}

/// Late packets in a row: now and at most.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    current: u64,
    longest: u64,
}

impl Run {
    fn late(&mut self, packets: u64) {
        self.current += packets;
        self.longest = self.longest.max(self.current);
    }
}

impl Meter for Watch {
    fn join(&mut self, slot: usize, tolerance: Tolerance, fresh: bool) {
        self.ledger.join(slot, tolerance, fresh);
        self.runs.resize(self.runs.len().max(slot + 1), Run::default());
    }

    #[inline]
    fn served(&mut self, slot: usize, service: Service) {
        self.ledger.served(slot, service);
        match service.late || service.hidden {
            true => self.runs[slot].late(1),
            false => self.runs[slot].current = 0,
        }
        if slot == 0 {
            self.first_stream.push(false);
        }
    }

    #[inline]
    fn missed(&mut self, slot: usize, misses: Misses) {
        self.ledger.missed(slot, misses);
        if misses.dropped {
            self.runs[slot].late(misses.count);
        }
        if slot == 0 {
            self.first_stream.extend((0..misses.count).map(|_| true));
        }
    }
}

/// Runs a setting; `None` when it was stopped.
pub fn simulate(setting: &Setting, control: &Control) -> Option<RunResult> {
    match setting.variant.kind {
        Kind::Fifo(bursts) => fifo(setting, bursts, control),
        Kind::Dwcs(options) => {
            let options = variants::check(options(), setting.every);
            // The structures decide alike; the wheel is faster and cannot order by tolerance.
            match options.order {
                Order::DeadlineFirst => scheduled::<Wheel>(setting, &options, control),
                Order::ToleranceFirst => scheduled::<Heaps>(setting, &options, control),
            }
        }
        Kind::Baseline(name, options) => {
            let options = variants::check(options(), setting.every);
            baselines::visit(name, Scheduled { setting, options, control })?
        }
    }
}

struct Scheduled<'a> {
    setting: &'a Setting,
    options: Options,
    control: &'a Control,
}

impl Visitor for Scheduled<'_> {
    type Output = Option<RunResult>;

    fn visit<P: Precedence + Send + 'static>(self) -> Option<RunResult> {
        scheduled::<Baseline<P>>(self.setting, &self.options, self.control)
    }
}

fn scheduled<S: Structure>(
    setting: &Setting,
    options: &Options,
    control: &Control,
) -> Option<RunResult> {
    let streams = streams(setting.streams, setting.gap, setting.variant.late);
    let mut queues = Backlog::new(streams.len());
    let mut scheduler = joined::<S, _>(options, &streams, Watch::default())?;
    let mut tally = Tally::new(setting);
    for unit in 0..setting.packets {
        if unit % STRIDE == 0 && !advance(unit, setting, control) {
            return None;
        }
        let now = Time(unit * SERVICE.0);
        if let Decision::Serve { stream, .. } = scheduler.next(now, &mut queues) {
            tally.served(unit, stream.slot());
        }
        if unit == tally.half {
            tally.missed_by_half = scheduler.meter().ledger.total().missed;
        }
    }
    scheduler.check(Time(setting.packets * SERVICE.0), &mut queues);
    let ids = (0..streams.len()).filter_map(|slot| scheduler.stream_at(slot)).collect::<Vec<_>>();
    Some(tally.finish(scheduler.meter(), &ids, &streams))
}

/// A scheduler whose streams have all joined, with a packet each. `None` when the structure cannot
/// keep the order.
pub fn joined<S: Structure, M: Meter>(
    options: &Options,
    streams: &[Attributes],
    meter: M,
) -> Option<Scheduler<S, M>> {
    let mut scheduler = Scheduler::<S, M>::with_meter(options, meter).ok()?;
    for attributes in streams {
        let id = scheduler.join(Time::ZERO, attributes).ok()?;
        scheduler.arrive(Time::ZERO, id).ok()?;
    }
    Some(scheduler)
}

/// FIFO serves in order of arrival, which is known: no queue is needed. Equal to the
/// policy `fifo` on the same arrivals (tested), in a tenth of the time.
fn fifo(setting: &Setting, bursts: Bursts, control: &Control) -> Option<RunResult> {
    let streams = streams(setting.streams, setting.gap, setting.variant.late);
    // Ids are the scheduler's to give; this one decides nothing.
    let scheduler = joined::<Heaps, _>(&Options::paper(), &streams, ())?;
    let ids = (0..streams.len()).filter_map(|slot| scheduler.stream_at(slot)).collect::<Vec<_>>();
    let mut watch = Watch::default();
    for (slot, attributes) in streams.iter().enumerate() {
        watch.join(slot, attributes.tolerance, true);
    }
    // In units of time: everything lies on whole ones.
    let mut deadlines = vec![setting.gap; streams.len()];
    let miss = |watch: &mut Watch, deadline: &mut u64, slot: usize, now: u64| {
        let late = *deadline < now;
        if late {
            let count = (now - *deadline).div_ceil(setting.gap);
            *deadline += count * setting.gap;
            watch.missed(slot, Misses { count, violations: 0, dropped: false });
        }
        late
    };
    let mut tally = Tally::new(setting);
    let mut packets = bursts
        .generate(streams.len(), setting.seed)
        .flat_map(|(slot, count)| std::iter::repeat_n(slot, count as usize));
    // A late head stays late until it is sent, at any check of its deadlines.
    let mut was_late = vec![false; streams.len()];
    for unit in 0..setting.packets {
        if unit % STRIDE == 0 && !advance(unit, setting, control) {
            return None;
        }
        let slot = packets.next()?;
        let late = miss(&mut watch, &mut deadlines[slot], slot, unit) || was_late[slot];
        was_late[slot] = false;
        watch.served(slot, Service { delay: Span::ZERO, late, hidden: false });
        deadlines[slot] += setting.gap;
        tally.served(unit, slot);
        if unit == tally.half {
            for (slot, deadline) in deadlines.iter_mut().enumerate() {
                was_late[slot] |= miss(&mut watch, deadline, slot, unit);
            }
            tally.missed_by_half = watch.ledger.total().missed;
        }
    }
    for (slot, deadline) in deadlines.iter_mut().enumerate() {
        miss(&mut watch, deadline, slot, setting.packets);
    }
    Some(tally.finish(&watch, &ids, &streams))
}

/// Reports progress; returns whether to go on.
fn advance(unit: u64, setting: &Setting, control: &Control) -> bool {
    control.advance(Span(STRIDE.min(setting.packets - unit) * SERVICE.0));
    !control.stopped()
}

/// Services over time.
struct Tally {
    setting: Setting,
    half: u64,
    tail: u64,
    missed_by_half: u64,
    rates: Vec<[u32; CLASSES]>,
    at_last: Vec<u64>,
}

impl Tally {
    fn new(setting: &Setting) -> Tally {
        let packets = setting.packets;
        Tally {
            setting: *setting,
            half: packets / 2,
            tail: packets.saturating_sub(INTERVAL),
            missed_by_half: 0,
            rates: vec![[0; CLASSES]; packets.div_ceil(INTERVAL) as usize],
            at_last: vec![0; setting.streams],
        }
    }

    #[inline]
    fn served(&mut self, unit: u64, slot: usize) {
        self.rates[(unit / INTERVAL) as usize][class(slot)] += 1;
        if unit >= self.tail {
            self.at_last[slot] += 1;
        }
    }

    fn finish(self, watch: &Watch, ids: &[StreamId], streams: &[Attributes]) -> RunResult {
        let mut classes = [Counts::default(); CLASSES];
        for ((id, attributes), run) in ids.iter().zip(streams).zip(&watch.runs) {
            let measures = watch.ledger.of(*id);
            let (x, y) = (attributes.tolerance.x(), attributes.tolerance.y());
            let open = u64::from(watch.ledger.current(*id).1 > x);
            let counts = Counts {
                measures,
                violated: measures.tumbling - open,
                windows: (measures.served + measures.missed) / u64::from(y).max(1),
                late_run: run.longest,
            };
            let sum = &mut classes[class(id.slot())];
            *sum = sum.merged(&counts);
        }
        RunResult {
            setting: self.setting,
            classes,
            missed_by_half: self.missed_by_half,
            rates: self.rates,
            at_last: self.at_last,
            first_stream: watch.first_stream.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use laxity_dwcs::{Late, Queues};

    use super::*;
    use crate::dwcs::variants::FIFOS;

    /// Arrivals of all packets, a nanosecond between two bursts.
    struct Arrivals(Vec<VecDeque<Time>>);

    impl Queues for Arrivals {
        fn serve(&mut self, stream: StreamId) -> Option<Time> {
            let queue = &mut self.0[stream.slot()];
            queue.pop_front();
            queue.front().copied()
        }

        fn drop_head(&mut self, stream: StreamId) -> Option<Time> {
            self.serve(stream)
        }
    }

    /// Fails when the short way differs from the policy `fifo` in any count: tried with `<=` for
    /// late, and without the checks at the end.
    #[test]
    fn the_fifo_baseline_matches_the_policy() {
        for variant in FIFOS {
            let Kind::Fifo(bursts) = variant.kind else { panic!("{}", variant.name) };
            for (n, packets) in [(80, 12_000), (560, 40_000)] {
                let setting = Setting { variant, streams: n, gap: 500, every: 1, seed: 7, packets };
                let short = fifo(&setting, bursts, &Control::default()).unwrap();

                let mut queues = Arrivals(vec![VecDeque::new(); n]);
                let generated = bursts.generate(n, 7).take(packets as usize);
                for (burst, (slot, count)) in (0..).zip(generated) {
                    let arrivals = (0..count).map(|_| Time(burst));
                    queues.0[slot].extend(arrivals);
                }
                let attributes = streams(n, 500, Late::Send);
                let options = Options::paper();
                let mut scheduler = Scheduler::<Baseline<baselines::Fifo>, _>::with_meter(
                    &options,
                    Watch::default(),
                )
                .unwrap();
                for (slot, attributes) in attributes.iter().enumerate() {
                    let id = scheduler.join(Time::ZERO, attributes).unwrap();
                    scheduler.arrive(queues.0[slot][0], id).unwrap();
                }
                let mut tally = Tally::new(&setting);
                for unit in 0..packets {
                    let now = Time(unit * SERVICE.0);
                    let decision = scheduler.next(now, &mut queues);
                    let Decision::Serve { stream, .. } = decision else { panic!("{decision:?}") };
                    tally.served(unit, stream.slot());
                }
                scheduler.check(Time(packets * SERVICE.0), &mut queues);
                let ids: Vec<_> = (0..n).filter_map(|s| scheduler.stream_at(s)).collect();
                let mut long = tally.finish(scheduler.meter(), &ids, &attributes);
                // The scheduler's own count means nothing to FIFO.
                long.classes.iter_mut().for_each(|c| c.measures.rule_c = 0);
                assert_eq!(short.classes, long.classes, "{} {n}", variant.name);
                assert_eq!((short.rates, short.at_last), (long.rates, long.at_last));
                assert_eq!(short.first_stream, long.first_stream, "{} {n}", variant.name);
            }
        }
    }

    /// Fails when a variant names an unknown policy; tried. The structures decide alike.
    #[test]
    fn every_variant_runs() {
        let all = [variants::PAPER, variants::DEFAULT, variants::TOLERANCE_FIRST];
        let all = all.into_iter().chain([variants::ROLLING, variants::SETTLED]);
        let all = all.chain(FIFOS).chain(variants::BASELINES).chain(variants::PACED);
        for variant in all {
            let setting =
                Setting { variant, streams: 560, gap: 500, every: 1, seed: 1, packets: 20_000 };
            let result = simulate(&setting, &Control::default());
            let total = result.unwrap_or_else(|| panic!("{}", variant.name)).total();
            assert!(total.measures.served > 15_000, "{}: {total:?}", variant.name);
            assert!(total.measures.missed > 0, "{}", variant.name);
        }
        let variant = variants::DEFAULT;
        let setting =
            Setting { variant, streams: 560, gap: 500, every: 1, seed: 0, packets: 60_000 };
        let wheel = simulate(&setting, &Control::default());
        let heaps = scheduled::<Heaps>(&setting, &Options::default(), &Control::default());
        assert_eq!(wheel, heaps);
    }
}
