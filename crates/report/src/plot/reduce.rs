//! Reduces series to the resolution of the pixels, so that the size of a page has a bound.

use super::Point;

/// The greatest value in each of `n` equal columns of `[x0, x1]`: (column, value), columns without
/// a point left out. Points need no order; those outside or not finite are left out.
pub fn columns(points: &[Point], x0: f64, x1: f64, n: usize) -> Vec<(usize, f64)> {
    let mut best: Vec<Option<f64>> = vec![None; n];
    if x1 <= x0 || x0.is_nan() || x1.is_nan() || n == 0 {
        return Vec::new();
    }
    for &(x, y) in points {
        if !(x >= x0 && x <= x1 && y.is_finite()) {
            continue;
        }
        let column = (((x - x0) / (x1 - x0) * n as f64) as usize).min(n - 1);
        best[column] = Some(best[column].map_or(y, |b| b.max(y)));
    }
    best.into_iter().enumerate().filter_map(|(i, y)| y.map(|y| (i, y))).collect()
}

/// A polyline in pixels with at most four points for each pixel column: its first, least, greatest
/// and last. The picture stays the same, jumps and single extremes included (the method is M4 of
/// Jugel et al., "M4: a visualization-oriented time series data aggregation", VLDB 2014).
pub fn thin(points: &[Point]) -> Vec<Point> {
    let mut out: Vec<Point> = Vec::with_capacity(points.len().min(4096));
    let mut i = 0;
    while i < points.len() {
        let column = libm::floor(points[i].0);
        let mut end = i + 1;
        while end < points.len() && libm::floor(points[end].0) == column {
            end += 1;
        }
        let run = &points[i..end];
        if run.len() <= 4 {
            out.extend_from_slice(run);
        } else {
            let at = |better: fn(f64, f64) -> bool| {
                (0..run.len()).fold(0, |b, k| if better(run[k].1, run[b].1) { k } else { b })
            };
            let mut keep = [0, at(|a, b| a < b), at(|a, b| a > b), run.len() - 1];
            keep.sort_unstable();
            for (k, index) in keep.iter().enumerate() {
                if k == 0 || keep[k - 1] != *index {
                    out.push(run[*index]);
                }
            }
        }
        i = end;
    }
    out
}

/// The parts of a polyline that lie inside a rectangle, as separate polylines. Coordinates that
/// are not finite break the line.
pub(crate) fn clip(points: &[Point], x: (f64, f64), y: (f64, f64)) -> Vec<Vec<Point>> {
    let mut parts: Vec<Vec<Point>> = Vec::new();
    let mut open = false;
    for pair in points.windows(2) {
        let Some((a, b)) = clip_segment(pair[0], pair[1], x, y) else {
            open = false;
            continue;
        };
        match parts.last_mut() {
            Some(part) if open && part.last() == Some(&a) => part.push(b),
            _ => parts.push(vec![a, b]),
        }
        open = b == pair[1];
    }
    parts
}

/// Liang and Barsky's clipping.
fn clip_segment(a: Point, b: Point, x: (f64, f64), y: (f64, f64)) -> Option<(Point, Point)> {
    if ![a.0, a.1, b.0, b.1].iter().all(|v| v.is_finite()) {
        return None;
    }
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    if !dx.is_finite() || !dy.is_finite() {
        return None;
    }
    let (mut enter, mut leave) = (0.0f64, 1.0f64);
    for (p, q) in [(-dx, a.0 - x.0), (dx, x.1 - a.0), (-dy, a.1 - y.0), (dy, y.1 - a.1)] {
        if p == 0.0 {
            if q < 0.0 {
                return None;
            }
        } else if p < 0.0 {
            enter = enter.max(q / p);
        } else {
            leave = leave.min(q / p);
        }
    }
    if enter > leave {
        return None;
    }
    // Rounding may leave either end a hair outside; a point inside is not changed.
    let at = |t: f64| {
        let p = match t {
            0.0 => a,
            1.0 => b,
            t => (a.0 + t * dx, a.1 + t * dy),
        };
        (p.0.clamp(x.0, x.1), p.1.clamp(y.0, y.1))
    };
    Some((at(enter), at(leave)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_keep_their_maximum() {
        let points: Vec<Point> = (0..1000).map(|i| (f64::from(i), f64::from(i % 100))).collect();
        let c = columns(&points, 0.0, 999.0, 10);
        assert_eq!(c.len(), 10);
        assert!(c.iter().all(|(_, y)| *y >= 98.0));
        assert!(columns(&points, 5.0, 5.0, 10).is_empty());
        assert!(columns(&[(f64::NAN, 1.0), (1.0, f64::NAN)], 0.0, 2.0, 4).is_empty());
    }

    #[test]
    fn clipping_ends_lines_at_the_border() {
        let parts = clip(&[(0.0, 0.0), (10.0, 10.0), (20.0, 0.0)], (0.0, 20.0), (0.0, 5.0));
        assert_eq!(parts, [vec![(0.0, 0.0), (5.0, 5.0)], vec![(15.0, 5.0), (20.0, 0.0)]]);
        assert!(clip(&[(0.0, f64::INFINITY), (1.0, 1.0)], (0.0, 1.0), (0.0, 1.0)).is_empty());
    }

    proptest! {
        // Fails when `thin` drops the least or greatest of a column, or its bound is lifted.
        #[test]
        fn reduction_preserves_extremes_and_is_bounded(
            ys in proptest::collection::vec(-1e6f64..1e6, 1..2000)
        ) {
            let points: Vec<Point> =
                ys.iter().enumerate().map(|(i, y)| (i as f64 / 100.0, *y)).collect();
            let kept = thin(&points);
            let greatest = |p: &[Point]| p.iter().map(|p| p.1).fold(f64::MIN, f64::max);
            let least = |p: &[Point]| p.iter().map(|p| p.1).fold(f64::MAX, f64::min);
            prop_assert_eq!(greatest(&points), greatest(&kept));
            prop_assert_eq!(least(&points), least(&kept));
            prop_assert!(kept.len() <= 4 * (points.len() / 100 + 1));
            prop_assert!(kept.windows(2).all(|w| w[0].0 <= w[1].0));
        }

        // Fails when a clipped point may leave the rectangle.
        #[test]
        fn clipped_lines_stay_inside(
            raw in proptest::collection::vec((any::<f64>(), any::<f64>()), 0..40)
        ) {
            for part in clip(&raw, (0.0, 300.0), (-5.0, 200.0)) {
                for (x, y) in part {
                    prop_assert!((0.0..=300.0).contains(&x) && (-5.0..=200.0).contains(&y));
                }
            }
        }
    }
}
