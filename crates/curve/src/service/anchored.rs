//! A service curve that begins again at anchors: virtual times and upper limits of Fair Service Curve.

use alloc::vec::Vec;

use super::{ServiceCurve, ServiceInverse, ServiceLine, ServiceUpperInverse};
use crate::CurveError;

/// The curve `Z(t) = min_i [y_i + S(t - x_i)]` of a class over its anchors `(x_i, y_i)`: instants
/// `x_i` at which it became active, in ns of virtual or real time, and the bytes `y_i` that it had
/// been served before.
///
/// Source: Ng, Stephens, Stoica, Zhang, "Supporting Best-Effort Traffic with Fair Service Curve",
/// GLOBECOM 1999; Stoica, Zhang, Ng 1997, section 5.
///
/// Anchors that no longer matter are removed: where all of the curve's slopes fall (concave), an
/// anchor that is the latest on none of its lines, since the inverse is the greatest of the lines;
/// else an anchor on the last line that is not the latest there. What remains is bounded by the
/// lines of a concave curve. A convex or mixed curve remembers [`CAPACITY`](Self::CAPACITY)
/// anchors, and beyond them the newest two are joined as `(x_{i+1}, y_i)`: a lower curve, so later
/// times for this class and never an earlier one.
///
/// Bounds: `x` below 2^96 ns, `y` below 2^62 bytes.
#[derive(Clone, Debug)]
pub struct AnchoredCurve {
    inverse: ServiceInverse,
    upper: ServiceUpperInverse,
    concave: bool,
    anchors: Vec<Anchor>,
    capacity: usize,
    joined: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Anchor {
    x: i128,
    y: u64,
}

impl Anchor {
    /// Whether this anchor is no earlier than another one on a line, exactly.
    fn is_latest(self, other: Anchor, line: &ServiceLine) -> bool {
        let served = i128::from(self.y) - i128::from(other.y);
        let service = i128::from(line.gap) * laxity_core::NANOBITS_PER_BYTE * served;
        // Saturates only where the other side, below 2^126, cannot reach.
        (self.x - other.x).saturating_mul(line.rise.get().into()) >= service
    }
}

impl AnchoredCurve {
    /// Anchors remembered of a curve that is not concave.
    pub const CAPACITY: usize = 64;

    /// The curve without an anchor.
    ///
    /// # Errors
    /// As [`ServiceCurve::inverse`].
    pub fn new(curve: &ServiceCurve) -> Result<AnchoredCurve, CurveError> {
        let (inverse, upper) = (curve.inverse()?, curve.upper_inverse()?);
        // Without flats and jumps both inverses are the same.
        let pieces = curve.curve().pieces();
        let concave = pieces.windows(2).all(|p| p[0].slope >= p[1].slope)
            && inverse.lines().len() == pieces.len()
            && inverse.lines().iter().all(|line| line.gap > 0);
        let capacity = match concave {
            true => inverse.lines().len() + 1,
            false => AnchoredCurve::CAPACITY,
        };
        let anchors = Vec::with_capacity(capacity);
        Ok(AnchoredCurve { inverse, upper, concave, anchors, capacity, joined: 0 })
    }

    /// Forgets all anchors.
    pub fn reset(&mut self) {
        self.anchors.clear();
    }

    /// How often anchors were joined because there was no room. Kept over resets.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// The class becomes active at `x`, with `y` bytes served; neither ever falls between two
    /// [`reset`](Self::reset)s, except `x` where the class is behind its own curve.
    pub fn push(&mut self, x: i128, y: u64) {
        let new = Anchor { x, y };
        match self.anchors.last_mut() {
            // Nothing was served in between, so the later one alone counts.
            Some(last) if last.y == y => last.x = last.x.max(x),
            _ => {
                self.prune(y);
                if self.anchors.len() < self.capacity {
                    self.anchors.push(new);
                } else if let Some(last) = self.anchors.last_mut() {
                    self.joined += 1;
                    last.x = last.x.max(x);
                }
            }
        }
    }

    /// Removes anchors that do not matter once `work` bytes are served.
    fn prune(&mut self, work: u64) {
        let lines = self.inverse.lines();
        let Some(last) = lines.last() else { return };
        let lines = if self.concave { lines } else { core::slice::from_ref(last) };
        let on_last = |anchor: &Anchor| work - anchor.y >= self.upper.last_from();
        let mut kept = 0;
        for i in 0..self.anchors.len() {
            let anchor = self.anchors[i];
            let others = self.anchors[..kept].iter().chain(&self.anchors[i + 1..]);
            let comparable = |other: &Anchor| self.concave || on_last(other);
            let behind = (self.concave || on_last(&anchor))
                && lines.iter().all(|line| {
                    let mut rivals = others.clone().filter(|other| comparable(other));
                    rivals.any(|other| other.is_latest(anchor, line))
                });
            if !behind {
                self.anchors[kept] = anchor;
                kept += 1;
            }
        }
        self.anchors.truncate(kept);
    }

    /// `max_i [x_i + sup { u : S(u) <= w - y_i }]`, rounded up: when the service after `w` bytes
    /// begins. 0 without an anchor.
    #[inline]
    pub fn start(&self, work: u64) -> i128 {
        let start = |a: &Anchor| a.x + self.upper.at(work - a.y) as i128;
        self.anchors.iter().map(start).max().unwrap_or(0)
    }

    /// `max_i [x_i + Sinv(w - y_i)]`, rounded up: when `w` bytes are served. 0 without an anchor.
    #[inline]
    pub fn finish(&self, work: u64) -> i128 {
        let finish = |a: &Anchor| a.x + self.inverse.wide(work - a.y) as i128;
        self.anchors.iter().map(finish).max().unwrap_or(0)
    }
}
