//! Decisions of DWCS: check for missed deadlines, choose, account.

use std::hint::black_box;

use laxity_core::{Span, Time};
use laxity_dwcs::structure::{Buckets, Heaps, List, Structure, Wheel};
use laxity_dwcs::{
    Attributes, Decision, Dropped, Ledger, Meter, Options, Overdue, Queues, Scheduler, StreamId,
    Tolerance,
};

use crate::{Contender, Group, Random};

/// Service time of a packet.
const SERVICE: u64 = 1000;

/// Streams of many phases, all backlogged; the server needs all its time for them (`load`) or
/// twice as much (`overload`).
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    streams: u32,
    gaps: Gaps,
    options: fn() -> Options,
}

/// The distribution of the streams' gaps.
#[derive(Clone, Copy)]
enum Gaps {
    /// Not at all.
    Equal,
    /// Anything from half of a gap to twice that.
    Mixed,
    /// Not at all, and all phases are equal too: all streams are due at one nanosecond.
    Together,
}

fn unbounded() -> Options {
    Options { ahead: None, ..Options::default() }
}

fn tolerance_first_unbounded() -> Options {
    Options { ahead: None, ..Options::tolerance_first() }
}

const M: u32 = 1_000_000;

/// The workloads of one order of streams; what bounds working ahead is varied at the largest.
const fn workloads(options: fn() -> Options, unbounded: fn() -> Options) -> [Workload; 8] {
    [
        Workload { name: "760", streams: 760, gaps: Gaps::Equal, options },
        Workload { name: "10k", streams: 10_000, gaps: Gaps::Equal, options },
        Workload { name: "100k", streams: 100_000, gaps: Gaps::Equal, options },
        Workload { name: "1m", streams: M, gaps: Gaps::Equal, options },
        Workload { name: "1m-mixed", streams: M, gaps: Gaps::Mixed, options },
        Workload { name: "1m-together", streams: M, gaps: Gaps::Together, options },
        Workload { name: "1m-unbounded", streams: M, gaps: Gaps::Equal, options: unbounded },
        Workload { name: "1m-mixed-unbounded", streams: M, gaps: Gaps::Mixed, options: unbounded },
    ]
}

pub(crate) fn groups() -> Vec<Group> {
    let deadline_first = workloads(Options::default, unbounded);
    let tolerance_first = workloads(Options::tolerance_first, tolerance_first_unbounded);
    let mut groups = groups_of::<Wheel>("two-heaps", deadline_first);
    groups.extend(groups_of::<Buckets>("two-heaps-by-tolerance", tolerance_first));
    groups
}

/// A structure beside the paper's two heaps, and where that ends soon beside a list.
fn groups_of<S: Structure + 'static>(heaps: &str, workloads: [Workload; 8]) -> Vec<Group> {
    let mut groups = vec![];
    for work in workloads {
        for pressure in [1, 2] {
            let name = |structure: &str| {
                let pressure = if pressure == 1 { "load" } else { "overload" };
                format!("dwcs/{structure}/{}/{pressure}", work.name)
            };
            let mut group = vec![
                Contender::new(name(S::NAME), move || decisions::<S, ()>(work, pressure)),
                Contender::new(name(heaps), move || decisions::<Heaps, ()>(work, pressure)),
            ];
            if work.streams == 760 {
                let list = move || decisions::<List, ()>(work, pressure);
                group.push(Contender::new(name(&heaps.replace("two-heaps", "list")), list));
            }
            if work.name == "1m" {
                let measured = move || decisions::<S, Ledger>(work, pressure);
                group.push(Contender::new(name(&format!("{}-measured", S::NAME)), measured));
            }
            groups.push(Group(group));
        }
    }
    groups
}

/// Queues that never end.
struct Endless;

impl Queues for Endless {
    #[inline]
    fn serve(&mut self, _: StreamId) -> Option<Time> {
        Some(Time::ZERO)
    }

    #[inline]
    fn drop_head(&mut self, _: StreamId) -> Option<Time> {
        Some(Time::ZERO)
    }

    #[inline]
    fn drop_heads(&mut self, _: StreamId, which: Overdue) -> Dropped {
        Dropped { count: which.at_most, next: Some(Time::ZERO) }
    }
}

/// A scheduler with all its streams, and the service time of a packet.
fn server<S: Structure, M: Meter + Default>(
    work: Workload,
    pressure: u64,
) -> (Scheduler<S, M>, u64) {
    let options = (work.options)();
    let mut scheduler =
        Scheduler::<S, M>::with_meter(&options, M::default()).expect("an order that it keeps");
    let mut random = Random(1);
    let usual = u64::from(work.streams) * SERVICE;
    let mut rate = 0;
    for stream in 0..u64::from(work.streams) {
        let gap = match work.gaps {
            Gaps::Mixed => usual / 2 + random.below(usual + usual / 2),
            Gaps::Equal | Gaps::Together => usual,
        };
        rate += u64::MAX / u64::from(work.streams) / gap;
        // The classes of the paper's section 4.
        let tolerance = Tolerance::new(1, 80 + 10 * (stream % 8)).expect("a tolerance");
        let attributes = Attributes::new(tolerance, Span(gap));
        let id = scheduler.join(Time::ZERO, &attributes).expect("good attributes");
        let phase = match work.gaps {
            Gaps::Together => 0,
            Gaps::Equal | Gaps::Mixed => random.below(gap),
        };
        scheduler.arrive(Time(phase), id).expect("it just joined");
    }
    (scheduler, pressure * (u64::MAX / u64::from(work.streams) / rate))
}

fn decisions<S: Structure + 'static, M: Meter + Default + 'static>(
    work: Workload,
    pressure: u64,
) -> impl FnMut(u64) {
    let (mut scheduler, service) = server::<S, M>(work, pressure);
    let mut now = Time::ZERO;
    let mut decide = move || {
        loop {
            match scheduler.next(now, &mut Endless) {
                Decision::Serve { stream, .. } => {
                    now += Span(service);
                    return stream;
                }
                Decision::Wait(until) => now = until,
                Decision::Idle => unreachable!("queues never end"),
            }
        }
    };
    // Past the start, where all have fresh windows.
    for _ in 0..2 * u64::from(work.streams) {
        decide();
    }
    move |count| {
        for _ in 0..count {
            black_box(decide());
        }
    }
}
