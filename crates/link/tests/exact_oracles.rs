//! `exact` and its relatives against the textbook: Algorithm 1 with its whole history, and the
//! demand curve of section 3.1 (Figure 1) kept as points.

use crate::common::random::Rng;
use laxity_core::{NANOBITS_PER_BYTE, Rate, Span, Time};
use laxity_curve::{InverseCurve, InversePiece, ShiftedLine, TwoSegment};
use laxity_link::assign::{
    Algorithm3, Assigner, Exact, History, Shifted, TotalBandwidthServer, TwoSegments,
};

/// A packet of the aggregate: release and length.
type Packet = (u64, u32);

/// A residual given by its rising lines: from `t0` ns at `level` nanobits with `slope` until
/// `t1`, then flat until the next line starts. Evaluated by looking at every line.
#[derive(Clone, Debug)]
struct Residual {
    lines: Vec<(u64, u64, u64)>,
    /// Level of the flat before the first line.
    start: i128,
}

impl Residual {
    fn random(rng: &mut Rng) -> Residual {
        let mut lines = vec![];
        let mut t = if rng.chance(1, 3) { 0 } else { rng.range(1, 300) };
        for _ in 0..rng.range(1, 9) {
            let slope = match rng.range(0, 2) {
                0 => rng.range(1, 9) * 1_000_000_000,
                1 => rng.range(1, 80_000_000_000),
                _ => rng.range(1, 1_000_000_000),
            };
            let end = t + rng.range(1, 400);
            lines.push((t, slope, end));
            t = end + if rng.chance(1, 2) { 0 } else { rng.range(1, 300) };
        }
        if rng.chance(4, 5) {
            lines.last_mut().unwrap().2 = u64::MAX;
        }
        // Above zero: work that Einv serves at once; below: blocking.
        let start = match rng.range(0, 2) {
            0 => 0,
            1 => i128::from(rng.range(0, 300_000_000_000)),
            _ => -i128::from(rng.range(0, 300_000_000_000)),
        };
        Residual { lines, start }
    }

    /// `E(t)` in nanobits.
    fn value(&self, t: i128) -> i128 {
        let risen = |&(begin, slope, end): &(u64, u64, u64)| {
            let run = t.min(i128::from(end)) - i128::from(begin);
            i128::from(slope) * run.max(0)
        };
        self.start + self.lines.iter().map(risen).sum::<i128>()
    }

    fn inverse(&self) -> InverseCurve {
        let bytes = |level: i128| level.div_euclid(NANOBITS_PER_BYTE).max(0) as u64;
        let mut pieces: Vec<InversePiece> = vec![];
        let mut top = 0;
        for &(begin, slope, end) in &self.lines {
            let level = self.value(begin.into());
            let above = bytes(level);
            if end == u64::MAX || bytes(self.value(end.into())) > above {
                pieces.retain(|p| p.above < above);
                let intercept = level - i128::from(slope) * i128::from(begin);
                pieces.push(InversePiece { above, slope, intercept });
            }
            top = if end == u64::MAX { u64::MAX } else { bytes(self.value(end.into())) };
        }
        let saturated = (top < u64::MAX).then_some(top);
        InverseCurve::new(pieces, saturated).unwrap()
    }
}

/// Bursts, gaps, single bytes, packets over several corners, equal times.
fn trace(rng: &mut Rng, most: u64) -> Vec<Packet> {
    let mut now = rng.range(0, 1000);
    (0..rng.range(1, most))
        .map(|_| {
            now += match rng.range(0, 9) {
                0..=4 => 0,
                5..=7 => rng.range(0, 20),
                8 => rng.range(0, 300),
                _ => rng.range(0, 5000),
            };
            let bytes = match rng.range(0, 5) {
                0 => 1,
                1 => rng.range(500, 4000),
                _ => rng.range(1, 120),
            };
            (now, bytes as u32)
        })
        .collect()
}

/// (a) `D_n = max over i of r_i + Einv(W_n - P_i)`.
fn quadratic(curve: &InverseCurve, trace: &[Packet]) -> Vec<Time> {
    let deadline = |n: usize| {
        let mut work = 0;
        let mut latest = Time::ZERO;
        for (r, w) in trace[..=n].iter().rev() {
            work += u64::from(*w);
            latest = latest.max(curve.at(work).map_or(Time::MAX, |x| Time(*r) + x));
        }
        latest
    };
    (0..trace.len()).map(deadline).collect()
}

/// (b) Section 3.1: keep the demand as points (interval length, work); for the next packet shift
/// them right by `D' - D` and up by `w`, append its own step, and take the least `D'` at which
/// every point lies below the residual.
fn by_demand_curve(residual: &Residual, trace: &[Packet]) -> Vec<Time> {
    let mut points: Vec<(i128, i128)> = vec![];
    let mut last = 0i128;
    let mut deadlines = vec![];
    for &(release, bytes) in trace {
        let work = i128::from(bytes) * NANOBITS_PER_BYTE;
        let release = i128::from(release);
        let fits = |d: i128| {
            d >= release
                && residual.value(d - release) >= work
                && points.iter().all(|&(x, y)| {
                    let moved = x + d - last;
                    moved >= 0 && residual.value(moved) >= y + work
                })
        };
        let (mut low, mut high) = (release - 1, 1i128 << 62);
        if !fits(high) {
            deadlines.push(Time::MAX);
            // Whatever comes after it has no deadline either.
            deadlines.resize(trace.len(), Time::MAX);
            return deadlines;
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            if fits(middle) { high = middle } else { low = middle }
        }
        for (x, y) in &mut points {
            *x += high - last;
            *y += work;
        }
        points.push((high - release, work));
        last = high;
        deadlines.push(Time(high as u64));
    }
    deadlines
}

fn run(assigner: &mut impl Assigner, trace: &[Packet]) -> Vec<Time> {
    trace.iter().map(|&(r, w)| assigner.assign(Time(r), w)).collect()
}

/// Fails when a window keeps the wrong packet or drops one early, when a piece starts a byte too
/// soon, when a deadline is a nanosecond off, when saturation is overlooked, when `reset` keeps
/// anything.
#[test]
fn exact_is_algorithm_1() {
    let (mut beyond_one_piece, mut saturated, mut moved) = (0, 0, 0);
    for seed in 0..2_000 {
        let mut rng = Rng(seed);
        let residual = Residual::random(&mut rng);
        let curve = residual.inverse();
        let mut exact = Exact::new(&curve, 128);
        for round in 0..3 {
            let packets = trace(&mut rng, 60);
            let got = run(&mut exact, &packets);
            let what = || format!("seed {seed} round {round}: {residual:?}\n{packets:?}");
            let textbook = quadratic(&curve, &packets);
            assert_eq!(got, textbook, "Algorithm 1, {}", what());
            assert_eq!(got, by_demand_curve(&residual, &packets), "Figure 1, {}", what());
            beyond_one_piece += usize::from(curve.pieces().len() > 2);
            saturated += usize::from(got.last() == Some(&Time::MAX));
            let alone = |(d, (r, w)): (&Time, &Packet)| {
                curve.at(u64::from(*w)).is_some_and(|x| *d > Time(*r) + x)
            };
            moved += got.iter().zip(&packets).filter(|x| alone(*x)).count();
            exact.reset();
        }
    }
    println!("{beyond_one_piece} on more than 2 pieces, {saturated} saturated, {moved} moved");
    assert!(beyond_one_piece > 2_000 && saturated > 300 && moved > 50_000);
}

/// Fails when coalescing keeps the earlier release, forgets to raise a window's key, or happens
/// before the ring is full.
#[test]
fn a_full_ring_only_postpones() {
    let (mut equal, mut later) = (0, 0);
    for seed in 0..2_000 {
        let mut rng = Rng(1 << 32 | seed);
        let residual = Residual::random(&mut rng);
        let curve = residual.inverse();
        let packets = trace(&mut rng, 80);
        let textbook = quadratic(&curve, &packets);
        let roomy = run(&mut Exact::new(&curve, packets.len() + 1), &packets);
        assert_eq!(roomy, textbook, "seed {seed}");
        for capacity in [2, 4, 16] {
            let got = run(&mut Exact::new(&curve, capacity), &packets);
            for (n, (got, least)) in got.iter().zip(&textbook).enumerate() {
                let what = || format!("seed {seed} packet {n}: {residual:?}\n{packets:?}");
                assert!(got >= least, "{capacity}: {got:?} < {least:?}, {}", what());
                assert!(n >= capacity || got == least, "too early, {}", what());
                equal += usize::from(got == least);
                later += usize::from(got > least);
            }
            let ordered = got.windows(2).all(|w| w[0] <= w[1]);
            assert!(ordered, "Theorem 1 with capacity {capacity}, seed {seed}");
        }
    }
    println!("{equal} deadlines equal, {later} later");
    assert!(later > 1_000);
}

fn line(rng: &mut Rng) -> ShiftedLine {
    let slope = match rng.range(0, 1) {
        0 => rng.range(1, 16) * 1_000_000_000,
        _ => rng.range(1, 100_000_000_000),
    };
    let shift = if rng.chance(1, 3) { 0 } else { rng.range(0, 500) };
    ShiftedLine { slope: Rate(slope), shift: Span(shift) }
}

fn two(rng: &mut Rng) -> TwoSegment {
    let first = rng.range(1_000_000, 20_000_000_000);
    let second = first + rng.range(0, 40_000_000_000);
    TwoSegment { first: Rate(first), second: Rate(second), corner: Span(rng.range(0, 600)) }
}

/// Fails when the shifted line forgets the shift, the previous deadline, or the part of a
/// nanosecond left over from it; when `tbs` has a shift.
#[test]
fn lines_are_exact_on_their_own_curve() {
    for seed in 0..2_000 {
        let mut rng = Rng(2 << 32 | seed);
        let line = line(&mut rng);
        let curve = InverseCurve::from_shifted_line(&line).unwrap();
        let mut shifted = Shifted::new(&line);
        let mut exact = Exact::new(&curve, 2);
        let mut tbs = TotalBandwidthServer::new(line.slope);
        let mut unshifted = Shifted::new(&ShiftedLine { shift: Span(0), ..line });
        for _ in 0..3 {
            let packets = trace(&mut rng, 60);
            let got = run(&mut shifted, &packets);
            assert_eq!(got, quadratic(&curve, &packets), "seed {seed} {line:?} {packets:?}");
            // One line needs no memory, so the smallest ring is large enough.
            assert_eq!(got, run(&mut exact, &packets), "seed {seed} {line:?} {packets:?}");
            assert_eq!(run(&mut tbs, &packets), run(&mut unshifted, &packets), "seed {seed}");
            shifted.reset();
            exact.reset();
            tbs.reset();
            unshifted.reset();
        }
    }
}

/// Fails when the two pieces are built wrong (corner, slope), or when the corrected Algorithm 3
/// forgets the previous deadline.
#[test]
fn two_segments_are_exact_and_algorithm_3_is_never_earlier() {
    let (mut tight, mut late) = (0u64, 0u64);
    for seed in 0..2_000 {
        let mut rng = Rng(3 << 32 | seed);
        let two = two(&mut rng);
        let curve = InverseCurve::from_two_segment(&two).unwrap();
        let value = |t: i128| {
            let corner = i128::from(two.corner.0);
            let left = i128::from(two.first.0) * t.min(corner);
            left + i128::from(two.second.0) * (t - corner).max(0)
        };
        for work in [1, 2, 100, 1000, 5000] {
            let t = i128::from(curve.at(work).unwrap().0);
            let needed = i128::from(work) * NANOBITS_PER_BYTE;
            assert!(value(t) >= needed && (t == 0 || value(t - 1) < needed), "{two:?} {work}");
        }
        let mut segments = TwoSegments::new(&two, History::CAPACITY).unwrap();
        let mut constant = Algorithm3::new(&two);
        for _ in 0..3 {
            let packets = trace(&mut rng, 60);
            let textbook = quadratic(&curve, &packets);
            assert_eq!(run(&mut segments, &packets), textbook, "seed {seed} {two:?}");
            for (n, (got, least)) in run(&mut constant, &packets).iter().zip(&textbook).enumerate()
            {
                assert!(got >= least, "seed {seed} {two:?} packet {n} of {packets:?}");
                *(if got == least { &mut tight } else { &mut late }) += 1;
            }
            segments.reset();
            constant.reset();
        }
    }
    println!("algorithm-3: {tight} deadlines as short as two-segment's, {late} longer");
    assert!(tight > 10_000);
}
