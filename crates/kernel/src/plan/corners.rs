//! A curve of fewer corners, nowhere below the one given: later deadlines, which are safe.

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::InversePiece;

use super::TERM;

/// More corners than this are not compared with each other.
const COMPARED: usize = 1024;
/// Corners at which a line in place of all further ones is tried.
const TRIED: usize = 16;

/// The value of a piece for so many bytes, in ns, rounded up.
fn value(piece: &InversePiece, bytes: u64) -> i128 {
    let above = i128::from(bytes) * NANOBITS_PER_BYTE - piece.intercept;
    let slope = i128::from(piece.slope.max(1));
    above.div_euclid(slope) + i128::from(above.rem_euclid(slope) != 0)
}

/// The curve with at most so many pieces, of which the last keeps its slope: longest lines one after
/// the other that pass the begin of no piece by more than some time, the least for which they are few
/// enough.
pub(super) fn at_most(most: usize, pieces: &[InversePiece]) -> Vec<InversePiece> {
    let Some(last) = pieces.last().filter(|_| pieces.len() > most) else {
        return pieces.to_vec();
    };
    let (mut low, mut high) = (0, value(last, last.above).max(1));
    let mut fewest = lines(pieces, high);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        let tried = lines(pieces, middle);
        if tried.len() > most {
            low = middle;
        } else {
            (high, fewest) = (middle, tried);
        }
    }
    fewest
}

/// Lines nowhere below some pieces, which rise, and where one of these begins at most `gap` ns above it.
fn lines(pieces: &[InversePiece], gap: i128) -> Vec<InversePiece> {
    let steepest = pieces.iter().map(|p| i128::from(p.slope)).max().unwrap_or(1);
    let (mut lines, mut from, mut start) = (Vec::new(), 0, i128::MIN);
    while let Some(first) = pieces.get(from) {
        start = start.max(value(first, first.above));
        // A line from there has at least the one slope to begin low enough, at most the other to be
        // nowhere below.
        let (mut least, mut largest, mut slope) = (1, steepest, None);
        let mut next = from;
        while let Some(end) = pieces.get(next + 1) {
            let work =
                |piece: &InversePiece| i128::from(piece.above - first.above) * NANOBITS_PER_BYTE;
            let before = value(&pieces[next], end.above) - start;
            let after = value(end, end.above) - start;
            if before > 0 {
                largest = largest.min(work(end) / before);
            }
            if after + gap <= 0 {
                break;
            }
            least = least.max(work(end) / (after + gap) + 1);
            if least > largest {
                break;
            }
            (next, slope) = (next + 1, Some(largest));
            if after > 0 {
                largest = largest.min(work(end) / after);
            }
        }
        let last = next == from;
        let slope = slope.unwrap_or(first.slope.into());
        let slope = u64::try_from(slope).unwrap_or(u64::MAX);
        let intercept = i128::from(first.above) * NANOBITS_PER_BYTE - start * i128::from(slope);
        let line = InversePiece { above: first.above, slope, intercept };
        from = if last { from + 1 } else { next };
        if let Some(end) = pieces.get(from) {
            start = value(&line, end.above);
        }
        lines.push(line);
    }
    lines
}

/// Whether the numbers of a piece are in the range of the programs.
pub(super) fn is_in_range(piece: &InversePiece) -> bool {
    let above = i128::from(piece.above) * NANOBITS_PER_BYTE;
    above < TERM && piece.intercept.abs() < TERM
}

/// The curve without corners beyond the range of the programs: one line in place of all pieces from
/// one on, the steepest of some that begin with one of them and nowhere fall below them. Service curves
/// have such corners, where whole packets of several flows meet or an envelope crosses its curve.
pub(super) fn in_range(pieces: &[InversePiece]) -> Vec<InversePiece> {
    let first = pieces.iter().take(COMPARED).take_while(|p| is_in_range(p)).count();
    if first == pieces.len() {
        return pieces.to_vec();
    }
    let tried = (0..first).rev().step_by(first.div_ceil(TRIED).max(1));
    let lines = tried.filter_map(|k| Some((rest(&pieces[k..])?, k)));
    let steepest = lines.filter(|(line, _)| is_in_range(line)).max_by_key(|(p, k)| (p.slope, *k));
    let Some((line, k)) = steepest else { return pieces.to_vec() };
    let mut kept = pieces[..k].to_vec();
    kept.push(line);
    kept
}

/// The steepest line that begins as the first of some pieces and nowhere falls below them.
fn rest(pieces: &[InversePiece]) -> Option<InversePiece> {
    let (first, last) = (pieces.first()?, pieces.last()?);
    let start = value(first, first.above);
    let mut slope = i128::from(last.slope);
    let mut pass = |bytes: u64, ns: i128| {
        let work = i128::from(bytes - first.above) * NANOBITS_PER_BYTE;
        if ns > start {
            slope = slope.min(work / (ns - start));
        }
    };
    for pair in pieces.windows(2) {
        pass(pair[1].above, value(&pair[0], pair[1].above));
        pass(pair[1].above, value(&pair[1], pair[1].above));
    }
    let slope = u64::try_from(slope).ok().filter(|slope| *slope > 0)?;
    let intercept = i128::from(first.above) * NANOBITS_PER_BYTE - start * i128::from(slope);
    Some(InversePiece { above: first.above, slope, intercept })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value for `bytes` more than nothing.
    fn at(pieces: &[InversePiece], bytes: u64) -> i128 {
        let piece = pieces.iter().rfind(|p| p.above < bytes).expect("a piece");
        value(piece, bytes)
    }

    /// Fails when a joint falls below the curve, tried with the least slope in place of the
    /// greatest, or begins another curve.
    #[test]
    fn merged_corners_bound_the_curve() {
        for seed in 1..200u64 {
            // Pieces that jump up, flat or steep: what flats of the residual capacity leave.
            let (mut pieces, mut above, mut ns) = (Vec::new(), 0u64, 0i128);
            for i in 0..24u64 {
                let slope = 1_000_000 + (seed * 7919 + i * 104_729) % 90_000_000;
                ns += i128::from((seed * 31 + i * i * 977) % 3_000_000);
                let intercept = i128::from(above) * NANOBITS_PER_BYTE - ns * i128::from(slope);
                pieces.push(InversePiece { above, slope, intercept });
                above += 50 + (seed * 13 + i * 7) % 4000;
                ns = value(&pieces[i as usize], above);
            }
            let fewer = at_most(16, &pieces);
            assert!((9..=16).contains(&fewer.len()), "seed {seed}: {}", fewer.len());
            let mut before = 0;
            for bytes in (1..above + 5000).step_by(37) {
                let (own, given) = (at(&fewer, bytes), at(&pieces, bytes));
                assert!(own >= given, "seed {seed}, {bytes} B: {own} < {given}");
                assert!(own >= before, "seed {seed}, {bytes} B: {own} after {before}");
                before = own;
            }
        }
    }

    /// Stairs of two periods, as whole packets of two flows make them. Fails when lines must end
    /// where the pieces end that they replace.
    #[test]
    fn merged_stairs_stay_near() {
        let (mut pieces, mut ns, mut above) = (Vec::new(), 0i128, 0u64);
        for i in 0..110u64 {
            ns += if i % 3 == 0 { 1_120_000 } else { 160_000 };
            let intercept = i128::from(above) * NANOBITS_PER_BYTE - ns * 10_000_000;
            pieces.push(InversePiece { above, slope: 10_000_000, intercept });
            above += if i % 7 < 3 { 1300 } else { 400 };
            ns = value(&pieces[i as usize], above);
        }
        let fewer = at_most(16, &pieces);
        assert!(fewer.len() <= 16, "{}", fewer.len());
        let far = (1..above + 5000).step_by(37).map(|b| at(&fewer, b) - at(&pieces, b)).max();
        assert!(far < Some(2_200_000), "{far:?}");
    }

    /// Fails when the line falls below the curve, tried without the second value at a corner, or
    /// stays far above it.
    #[test]
    fn corners_out_of_range_become_a_line() {
        for seed in 1..5u64 {
            // Stairs of 700 B that rise by 1 MB/s in the long run, far beyond 144 MB.
            let (mut pieces, mut ns) = (Vec::new(), 0i128);
            for above in (0..300_000u64).map(|i| i * 700) {
                let slope = 20_000_000 + (seed * 7919 + above * 31) % 9_000_000;
                ns += 400_000 + i128::from((seed * 131 + above) % 90_000);
                let intercept = i128::from(above) * NANOBITS_PER_BYTE - ns * i128::from(slope);
                pieces.push(InversePiece { above, slope, intercept });
                ns = value(&pieces[(above / 700) as usize], above + 700);
            }
            let kept = in_range(&pieces);
            assert!(kept.len() <= COMPARED && kept.iter().all(is_in_range), "seed {seed}");
            let mean = pieces.len() as i128 * 700 * NANOBITS_PER_BYTE / ns;
            let last = kept.last().expect("a line").slope;
            assert!(i128::from(last) > mean * 9 / 10, "seed {seed}: {last} of {mean}");
            for bytes in (1..210_000_000).step_by(300_007).chain(700_000..702_000) {
                let given = value(&pieces[((bytes - 1) / 700) as usize], bytes);
                assert!(at(&kept, bytes) >= given, "seed {seed}, {bytes} B");
            }
        }
    }
}
