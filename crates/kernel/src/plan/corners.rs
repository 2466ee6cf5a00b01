//! A curve of fewer corners, nowhere below the one given: later deadlines, which are safe.

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::InversePiece;

/// The value of a piece for so many bytes, in ns, rounded up.
fn value(piece: &InversePiece, bytes: u64) -> i128 {
    let above = i128::from(bytes) * NANOBITS_PER_BYTE - piece.intercept;
    let slope = i128::from(piece.slope.max(1));
    above.div_euclid(slope) + i128::from(above.rem_euclid(slope) != 0)
}

/// One piece in place of two, up to `end` bytes: the flattest line through the last value that
/// nowhere falls below them, and by how many ns it begins above the first. It ends as the second
/// does, so the curve still rises.
fn joined(first: &InversePiece, second: &InversePiece, end: u64) -> Option<(InversePiece, i128)> {
    let last = value(second, end);
    let corner = second.above;
    let below = [(first.above, value(first, first.above)), (corner, value(first, corner))];
    let mut slope = 1;
    for (bytes, ns) in below.into_iter().chain([(corner, value(second, corner))]) {
        let (work, time) = (i128::from(end - bytes) * NANOBITS_PER_BYTE, last - ns);
        if time <= 0 {
            return None;
        }
        slope = slope.max(work.div_euclid(time) + i128::from(work.rem_euclid(time) != 0));
    }
    let piece = InversePiece {
        above: first.above,
        slope: u64::try_from(slope).ok()?,
        intercept: i128::from(end) * NANOBITS_PER_BYTE - last * slope,
    };
    Some((piece, value(&piece, first.above) - value(first, first.above)))
}

/// The curve with at most so many pieces, where neighbours can be joined; the last one stays.
pub(super) fn at_most(most: usize, pieces: &[InversePiece]) -> Vec<InversePiece> {
    let mut pieces = pieces.to_vec();
    while pieces.len() > most {
        let joints = pieces.windows(3).enumerate();
        let least = joints
            .filter_map(|(i, p)| joined(&p[0], &p[1], p[2].above).map(|(piece, up)| (up, i, piece)))
            .min_by_key(|(up, i, _)| (*up, *i));
        let Some((_, i, piece)) = least else { break };
        pieces.splice(i..i + 2, [piece]);
    }
    pieces
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
            assert_eq!(fewer.len(), 16, "seed {seed}");
            let mut before = 0;
            for bytes in (1..above + 5000).step_by(37) {
                let (own, given) = (at(&fewer, bytes), at(&pieces, bytes));
                assert!(own >= given, "seed {seed}, {bytes} B: {own} < {given}");
                assert!(own >= before, "seed {seed}, {bytes} B: {own} after {before}");
                before = own;
            }
        }
    }
}
