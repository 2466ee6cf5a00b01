//! Two curves of which HFSC in Linux breaks one (`docs/results/hfsc-convex.md`), served by SCED.

use crate::common::{arrivals, replay, scenario};

const LINK: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1500 B"

[policy]
blocking = "exact"

[[realtime]]
name = "convex"
service_curve = { m1 = "0 bit/s", d = "10 ms", m2 = "4 Mbit/s", later = "auto" }

[[realtime]]
name = "concave"
service_curve = { m1 = "10 Mbit/s", d = "10 ms", m2 = "4 Mbit/s", later = "auto" }
"#;

/// Largest delay of a packet of `concave`, in us. Convex sends a packet at 0 and comes back with a
/// backlog at `back`, when concave sends 12,500 bytes.
fn concave_delay(policy: &str, back: u64, busy: bool) -> u64 {
    let mut packets = vec![(0, 0, 1500)];
    packets.extend((0..if busy { 30 } else { 0 }).map(|_| (0, 2, 1500)));
    packets.extend((0..2).map(|_| (back, 0, 1500)));
    packets.extend((0..10).map(|_| (back, 1, 1250)));
    packets.extend((0..8).map(|_| (back, 0, 1500)));
    let (_, log) = replay(&scenario(LINK), policy, arrivals(&packets));
    assert_eq!(log.sent.len(), packets.len(), "{policy}, {back}");
    let late = log.sent.iter().find(|(d, end)| d.realtime && *end > d.deadline);
    assert!(late.is_none(), "{policy}, {back}: {late:?}");
    let concave = log.sent.iter().filter(|(d, _)| d.packet.flow.0 == 1);
    concave.map(|(d, end)| end.since(d.packet.arrival).0 / 1000).max().unwrap()
}

/// 12,500 bytes at 10 Mbit/s, and the largest packet: 11.2 ms, whenever convex comes back and whether
/// best effort keeps the link from being idle, which would have its starts forgotten.
///
/// Fails when a start replaces the earlier ones, or is left out while the curve is ahead of them.
#[test]
fn a_concave_curve_is_kept_whenever_a_convex_one_comes_back() {
    for policy in ["exact", "background"] {
        for back in (0..26_000).step_by(65).chain([12_990, 13_000, 13_500]) {
            for busy in [false, true] {
                let delay = concave_delay(policy, back, busy);
                assert!(delay <= 11_200, "{policy}, back at {back} us: {delay} us");
            }
        }
    }
}

/// A curve of `sch_hfsc`: from `(x, y)` for `d` ns a byte each `m1` ns, none if that is 0, then one each
/// `m2` ns.
#[derive(Clone, Copy)]
struct Runtime {
    x: i64,
    y: i64,
    m1: i64,
    d: i64,
    m2: i64,
}

impl Runtime {
    /// Bytes of the first piece.
    fn first(&self) -> i64 {
        if self.m1 > 0 { self.d / self.m1 } else { 0 }
    }

    fn y_at(&self, t: i64) -> i64 {
        let after = (t - self.x).max(0);
        let first = if self.m1 > 0 { after.min(self.d) / self.m1 } else { 0 };
        self.y + first + (after - self.d).max(0) / self.m2
    }

    fn x_at(&self, w: i64) -> i64 {
        let (bytes, first) = ((w - self.y).max(0), self.first());
        match bytes <= first && (self.m1 > 0 || bytes == 0) {
            true => self.x + bytes * self.m1,
            false => self.x + self.d + (bytes - first) * self.m2,
        }
    }

    /// `rtsc_min` for the curve that restarts at `(x, y)`. `lower`: where a convex curve is behind
    /// what was sent, it restarts at its own level.
    fn least(self, x: i64, y: i64, lower: bool) -> Runtime {
        let level = self.y_at(x);
        if self.m1 == 0 {
            return match (level < y, lower) {
                (true, false) => self,
                (true, true) => Runtime { x, y: level, ..self },
                (false, _) => Runtime { x, y, ..self },
            };
        }
        if level <= y {
            return self;
        }
        let whole = Runtime { x, y, d: CONCAVE.d, ..self };
        if self.y_at(x + whole.d) >= y + whole.first() {
            return whole;
        }
        let joint = (level - y) * self.m1 * self.m2 / (self.m2 - self.m1);
        Runtime { d: joint + (self.x + self.d - x).max(0), ..whole }
    }
}

const CONVEX: Runtime = Runtime { x: 0, y: 0, m1: 0, d: 10_000_000, m2: 2000 };
const CONCAVE: Runtime = Runtime { x: 0, y: 0, m1: 800, d: 10_000_000, m2: 2000 };

/// Largest delay of concave in us under HFSC's real-time rule: the least deadline of what is eligible.
fn under_hfsc(back: i64, lower: bool) -> i64 {
    let mut arrivals = vec![(0, 0, 1500)];
    arrivals.extend((0..10).map(|_| (back, 0, 1500)));
    arrivals.extend((0..10).map(|_| (back, 1, 1250)));
    let mut arrivals = arrivals.into_iter().peekable();
    let mut deadlines: [Option<Runtime>; 2] = [None; 2];
    let (mut sent, mut queues) = ([0i64; 2], [const { std::collections::VecDeque::new() }; 2]);
    let (mut now, mut worst) = (0, 0);
    loop {
        while let Some((at, class, bytes)) = arrivals.next_if(|a| a.0 <= now) {
            if queues[class].is_empty() {
                let restarted = Runtime { x: at, y: sent[class], ..[CONVEX, CONCAVE][class] };
                let old = deadlines[class];
                deadlines[class] =
                    Some(old.map_or(restarted, |old| old.least(at, sent[class], lower)));
            }
            queues[class].push_back((at, bytes));
        }
        // Convex curves are eligible by their second slope from the begin.
        let eligible = |class: usize| {
            let curve = deadlines[class].filter(|_| !queues[class].is_empty())?;
            let curve = if curve.m1 == 0 { Runtime { d: 0, ..curve } } else { curve };
            Some(curve.x_at(sent[class]))
        };
        let due = |class: &usize| {
            let next: i64 = queues[*class].front().map_or(0, |p: &(i64, i64)| p.1);
            deadlines[*class].map(|curve| curve.x_at(sent[*class] + next))
        };
        let ready = (0..2).filter(|class| eligible(*class).is_some_and(|at| at <= now));
        if let Some(class) = ready.min_by_key(due) {
            let (at, bytes) = queues[class].pop_front().unwrap();
            sent[class] += bytes;
            now += bytes * 800;
            worst = if class == 1 { worst.max(now - at) } else { worst };
            continue;
        }
        let events = (0..2).filter_map(eligible).chain(arrivals.peek().map(|a| a.0));
        match events.min() {
            Some(at) => now = at,
            None => return worst / 1000,
        }
    }
}

/// The numbers of the page. Fails when a convex curve is joined otherwise than in the kernel, or a
/// class is eligible by its deadline curve.
#[test]
fn hfsc_keeps_it_only_with_the_lower_of_both_curves() {
    assert_eq!(under_hfsc(12_990_000, false), 13_600);
    assert_eq!(under_hfsc(13_500_000, false), 10_000);
    let worst = |lower| (0..3000).map(|k| under_hfsc(k * 10_000, lower)).max().unwrap();
    assert_eq!(worst(false), 13_600);
    assert!(worst(true) <= 11_200, "{}", worst(true));
}
