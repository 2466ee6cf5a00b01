//! Curves: exact, immutable, in seconds, bytes and bit/s.

use std::hash::{DefaultHasher, Hash, Hasher};

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::service::ServiceCurve;
use laxity_curve::{CurveError, Piece, Rational, Tail};
use pyo3::prelude::*;

use crate::array;
use crate::error;
use crate::number;
use crate::shown;

/// A piecewise-linear curve: bytes over seconds, 0 before 0.
#[pyclass(frozen, eq, module = "laxity", name = "Curve")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PyCurve(pub laxity_curve::Curve);

/// The corner points of a curve: instant, limit from the left, value.
type Corner = (Py<PyAny>, Py<PyAny>, Py<PyAny>);

/// Pieces and tail.
type Parts = (Vec<Corner>, Option<Corner>);

/// Three numbers from Python.
type Given<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

fn compute<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, CurveError> + Send,
) -> PyResult<T> {
    error::detached(py, || work().map_err(|e| error::curve(&e)))
}

fn made(
    py: Python<'_>,
    work: impl FnOnce() -> Result<laxity_curve::Curve, CurveError> + Send,
) -> PyResult<PyCurve> {
    compute(py, work).map(PyCurve)
}

#[pymethods]
impl PyCurve {
    /// The curve through points `(seconds, bytes)`, straight between them; two points at one instant
    /// are a jump. After the last it goes on with `rate`, or repeats with `period` and `rise`.
    #[new]
    #[pyo3(signature = (points, rate=None, *, period=None, rise=None))]
    fn new(
        py: Python<'_>,
        points: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        rate: Option<&Bound<'_, PyAny>>,
        period: Option<&Bound<'_, PyAny>>,
        rise: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyCurve> {
        let mut at = Vec::with_capacity(points.len());
        for (t, y) in &points {
            at.push((number::time(t)?, number::data(y)?));
        }
        match (rate, period, rise) {
            (Some(rate), None, None) => {
                let rate = number::slope(rate)?;
                made(py, move || laxity_curve::Curve::affine(through(&at, Some(rate))?))
            }
            (None, Some(period), Some(rise)) => {
                let (period, rise) = (number::time(period)?, number::data(rise)?);
                made(py, move || periodic(at, period, rise))
            }
            _ => Err(error::input(
                "give either `rate`, or `period` and `rise`: how the curve goes on",
            )),
        }
    }

    /// `rate * t + burst`.
    #[staticmethod]
    fn token_bucket(burst: &Bound<'_, PyAny>, rate: &Bound<'_, PyAny>) -> PyResult<PyCurve> {
        let curve = laxity_curve::Curve::line(number::slope(rate)?, number::data(burst)?);
        Ok(PyCurve(curve))
    }

    /// `rate * (t - latency)` after the latency.
    #[staticmethod]
    fn rate_latency(
        py: Python<'_>,
        rate: &Bound<'_, PyAny>,
        latency: &Bound<'_, PyAny>,
    ) -> PyResult<PyCurve> {
        let (rate, latency) = (number::slope(rate)?, number::time(latency)?);
        made(py, move || laxity_curve::Curve::line(rate, Rational::ZERO).later(latency))
    }

    /// The two-piece curve of HFSC: slope `m1` for the first `d`, then `m2`.
    #[staticmethod]
    fn two_piece(
        py: Python<'_>,
        m1: &Bound<'_, PyAny>,
        d: &Bound<'_, PyAny>,
        m2: &Bound<'_, PyAny>,
    ) -> PyResult<PyCurve> {
        let (m1, d, m2) = (number::rate(m1)?, number::span(d)?, number::rate(m2)?);
        made(py, move || Ok(ServiceCurve::two_piece(m1, d, m2)?.curve().clone()))
    }

    /// The curve that `tc` writes `umax W dmax D rate R`.
    #[staticmethod]
    fn umax_dmax(
        py: Python<'_>,
        umax: &Bound<'_, PyAny>,
        dmax: &Bound<'_, PyAny>,
        rate: &Bound<'_, PyAny>,
    ) -> PyResult<PyCurve> {
        let (umax, dmax) = (number::bytes(umax)?, number::span(dmax)?);
        let rate = number::rate(rate)?;
        made(py, move || Ok(ServiceCurve::umax_dmax(umax, dmax, rate)?.curve().clone()))
    }

    /// The pieces: `(start, value at the start, slope)`.
    #[getter]
    fn pieces(&self, py: Python<'_>) -> PyResult<Vec<Corner>> {
        let piece = |p: &Piece| {
            let value = p.at(p.start).map_err(|e| error::curve(&e))?;
            Ok((
                number::seconds(py, p.start)?,
                number::byte_count(py, value)?,
                number::bit_rate(py, p.slope)?,
            ))
        };
        self.0.pieces().iter().map(piece).collect()
    }

    /// The corner points: `(instant, limit from the left, value)`.
    #[getter]
    fn corners(&self, py: Python<'_>) -> PyResult<Vec<Corner>> {
        let corner = |corner: Result<(Rational, Rational, Rational), CurveError>| {
            let (at, left, value) = corner.map_err(|e| error::curve(&e))?;
            Ok((
                number::seconds(py, at)?,
                number::byte_count(py, left)?,
                number::byte_count(py, value)?,
            ))
        };
        self.0.corners().map(corner).collect()
    }

    /// `(from, period, rise)` of a curve that repeats, else `None`.
    #[getter]
    fn tail(&self, py: Python<'_>) -> PyResult<Option<Corner>> {
        let Tail::Periodic { from, period, rise } = self.0.tail() else { return Ok(None) };
        let (from, period) = (number::seconds(py, from)?, number::seconds(py, period)?);
        Ok(Some((from, period, number::byte_count(py, rise)?)))
    }

    /// The slope in the long run, in bit/s.
    #[getter]
    fn rate(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        number::bit_rate(py, compute(py, || self.0.long_term_slope())?)
    }

    /// Whether it is concave, not negative and ends in a line, as arrival curves do.
    #[getter]
    fn is_concave(&self, py: Python<'_>) -> PyResult<bool> {
        compute(py, || self.0.is_concave())
    }

    /// Whether it is convex, 0 at 0 and ends in a line, as service curves do.
    #[getter]
    fn is_convex(&self, py: Python<'_>) -> PyResult<bool> {
        compute(py, || self.0.is_convex())
    }

    /// The value at an instant, exact; of an array of seconds an array of floats.
    fn __call__(&self, py: Python<'_>, t: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if array::is_array(t)? {
            let times = array::floats(t)?;
            let values = error::detached(py, || {
                let value = |t: &f64| {
                    let ns = number::decimal(*t)?.times(Rational::whole(1_000_000_000));
                    let value = ns.and_then(|ns| self.0.value(ns)).map_err(|e| error::curve(&e))?;
                    Ok(number::float_bytes(value))
                };
                times.iter().map(value).collect::<PyResult<Vec<f64>>>()
            })?;
            return array::from_floats(t, &values);
        }
        let t = number::time(t)?;
        number::byte_count(py, compute(py, || self.0.value(t))?)
    }

    /// The limit from the left at an instant.
    fn left_limit(&self, py: Python<'_>, t: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let t = number::time(t)?;
        number::byte_count(py, compute(py, || self.0.left_limit(t))?)
    }

    fn __add__(&self, py: Python<'_>, other: &PyCurve) -> PyResult<PyCurve> {
        made(py, || self.0.sum(&other.0))
    }

    fn __sub__(&self, py: Python<'_>, other: &PyCurve) -> PyResult<PyCurve> {
        made(py, || self.0.difference(&other.0))
    }

    /// The lower of two curves at each instant.
    fn minimum(&self, py: Python<'_>, other: &PyCurve) -> PyResult<PyCurve> {
        made(py, || self.0.min(&other.0))
    }

    /// The min-plus convolution with a curve of the same shape, concave or convex.
    fn convolve(&self, py: Python<'_>, other: &PyCurve) -> PyResult<PyCurve> {
        made(py, || self.0.convolved(&other.0))
    }

    /// The min-plus deconvolution of this concave arrival curve by a convex service curve: the arrival
    /// curve of what leaves; `None` where it has no bound.
    fn deconvolve(&self, py: Python<'_>, service: &PyCurve) -> PyResult<Option<PyCurve>> {
        Ok(compute(py, || self.0.deconvolved(&service.0))?.map(PyCurve))
    }

    /// The first instant at which the non-decreasing curve reaches `data`, or with `above` exceeds
    /// it; `None` where it never does.
    #[pyo3(signature = (data, *, above=false))]
    fn inverse(
        &self,
        py: Python<'_>,
        data: &Bound<'_, PyAny>,
        above: bool,
    ) -> PyResult<Option<Py<PyAny>>> {
        let work = number::data(data)?;
        let at = compute(py, || match above {
            false => self.0.lower_inverse(work),
            true => self.0.upper_inverse(work),
        })?;
        at.map(|ns| number::seconds(py, ns)).transpose()
    }

    /// The bound on the delay of arrivals by this curve at a server with a service curve; `None`
    /// where there is none.
    fn delay_bound(&self, py: Python<'_>, service: &PyCurve) -> PyResult<Option<Py<PyAny>>> {
        let delay = compute(py, || self.0.delay(&service.0))?;
        delay.map(|ns| number::seconds(py, ns)).transpose()
    }

    /// The bound on their backlog; `None` where there is none.
    fn backlog_bound(&self, py: Python<'_>, service: &PyCurve) -> PyResult<Option<Py<PyAny>>> {
        let backlog = compute(py, || self.0.backlog(&service.0))?;
        backlog.map(|work| number::byte_count(py, work)).transpose()
    }

    /// The curve later by a time, 0 before.
    fn later(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<PyCurve> {
        let by = number::time(by)?;
        made(py, || self.0.later(by))
    }

    /// The curve raised by an amount of data.
    fn raised(&self, py: Python<'_>, by: &Bound<'_, PyAny>) -> PyResult<PyCurve> {
        let by = number::data(by)?;
        made(py, || self.0.raised(by))
    }

    /// Some instant at which this curve lies above another, `None` where it nowhere does.
    fn above(&self, py: Python<'_>, other: &PyCurve) -> PyResult<Option<Py<PyAny>>> {
        let at = compute(py, || self.0.above(&other.0))?;
        at.map(|ns| number::seconds(py, ns)).transpose()
    }

    /// Points `(seconds, bytes)` of the curve up to `end` as floats, two at a jump.
    #[pyo3(signature = (end=None))]
    fn points(
        &self,
        py: Python<'_>,
        end: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Vec<f64>, Vec<f64>)> {
        let end = match end {
            Some(end) => number::time(end)?,
            None => compute(py, || usual_end(&self.0))?,
        };
        compute(py, || polyline(&self.0, end))
    }

    /// Draws the curve with matplotlib.
    #[pyo3(signature = (ax=None, **options))]
    fn plot(
        slf: &Bound<'_, PyCurve>,
        ax: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let draw = slf.py().import("laxity.plotting")?.getattr("curve")?;
        Ok(draw.call((slf, ax), options)?.unbind())
    }

    fn __repr__(&self) -> String {
        shown::curve(&self.0)
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let (x, y) = compute(py, || polyline(&self.0, usual_end(&self.0)?))?;
        error::guarded(|| Ok(shown::figure(&shown::curve(&self.0), &x, &y)))
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for piece in self.0.pieces() {
            for part in [piece.start, piece.slope, piece.intercept] {
                (part.numerator(), part.denominator()).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    fn __reduce__(slf: &Bound<'_, PyCurve>) -> PyResult<(Py<PyAny>, Parts)> {
        let rebuild = slf.getattr("_of_pieces")?.unbind();
        let this = slf.get();
        Ok((rebuild, (this.pieces(slf.py())?, this.tail(slf.py())?)))
    }

    /// A curve from `pieces` and `tail`; for pickle.
    #[staticmethod]
    fn _of_pieces(
        py: Python<'_>,
        pieces: Vec<Given<'_>>,
        tail: Option<Given<'_>>,
    ) -> PyResult<PyCurve> {
        let mut lines = Vec::with_capacity(pieces.len());
        for (start, value, slope) in &pieces {
            lines.push((number::time(start)?, number::data(value)?, number::slope(slope)?));
        }
        let tail = match &tail {
            Some((from, period, rise)) => {
                Some((number::time(from)?, number::time(period)?, number::data(rise)?))
            }
            None => None,
        };
        made(py, move || {
            let piece = |&(start, value, slope): &(Rational, Rational, Rational)| {
                Ok(Piece { start, slope, intercept: value.minus(slope.times(start)?)? })
            };
            let pieces = lines.iter().map(piece).collect::<Result<Vec<_>, CurveError>>()?;
            match tail {
                None => laxity_curve::Curve::affine(pieces),
                Some((from, period, rise)) => {
                    let index = pieces.partition_point(|p| p.start < from);
                    laxity_curve::Curve::periodic(pieces, index, period, rise)
                }
            }
        })
    }
}

/// The pieces through points, and after the last one with slope `rate`, if there is one.
fn through(
    points: &[(Rational, Rational)],
    rate: Option<Rational>,
) -> Result<Vec<Piece>, CurveError> {
    let piece = |(start, level): (Rational, Rational), slope: Rational| {
        Ok(Piece { start, slope, intercept: level.minus(slope.times(start)?)? })
    };
    let origin = (Rational::ZERO, Rational::ZERO);
    let first = points.first().copied().unwrap_or(origin);
    let mut all = Vec::with_capacity(points.len() + 1);
    if first.0 > Rational::ZERO {
        all.push(origin);
    }
    all.extend(points);
    let mut pieces = Vec::with_capacity(all.len());
    for pair in all.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        if to.0 == from.0 {
            continue;
        }
        if to.0 < from.0 {
            return Err(CurveError::Shape { needs: "given by points in order of time" });
        }
        pieces.push(piece(from, to.1.minus(from.1)?.over(to.0.minus(from.0)?)?)?);
    }
    if let Some(rate) = rate {
        pieces.push(piece(all.last().copied().unwrap_or(origin), rate)?);
    }
    Ok(pieces)
}

/// A curve that repeats what its points give over its last `period`.
fn periodic(
    mut points: Vec<(Rational, Rational)>,
    period: Rational,
    rise: Rational,
) -> Result<laxity_curve::Curve, CurveError> {
    let last = points.last().copied().unwrap_or((Rational::ZERO, Rational::ZERO));
    let from = last.0.minus(period)?;
    if from.signum() < 0 {
        return Err(CurveError::Shape { needs: "given by points over at least one period" });
    }
    // A piece must begin where the repetition does.
    if points.iter().all(|(t, _)| *t != from) {
        let known = laxity_curve::Curve::affine(through(&points, Some(Rational::ZERO))?)?;
        let at = points.partition_point(|(t, _)| *t < from);
        points.insert(at, (from, known.value(from)?));
    }
    let pieces = through(&points, None)?;
    let index = pieces.partition_point(|p| p.start < from);
    laxity_curve::Curve::periodic(pieces, index, period, rise)
}

/// Where a picture of the curve ends: some way after the last corner.
pub fn usual_end(curve: &laxity_curve::Curve) -> Result<Rational, CurveError> {
    let last = curve.pieces().last().map_or(Rational::ZERO, |p| p.start);
    match curve.tail() {
        Tail::Periodic { from, period, .. } => from.plus(period.times(4.into())?),
        Tail::Affine if last == Rational::ZERO => Ok(Rational::whole(1_000_000_000)),
        Tail::Affine => last.times(Rational::new(3, 2)?),
    }
}

/// Corner points up to `end`, two at a jump, in seconds and bytes.
pub fn polyline(
    curve: &laxity_curve::Curve,
    end: Rational,
) -> Result<(Vec<f64>, Vec<f64>), CurveError> {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut add = |t: Rational, value: Rational| {
        x.push(number::float_seconds(t));
        y.push(number::float(value, NANOBITS_PER_BYTE));
    };
    for corner in curve.materialised(end)?.corners() {
        let (t, left, value) = corner?;
        if t > end {
            break;
        }
        if left != value {
            add(t, left);
        }
        add(t, value);
    }
    add(end, curve.left_limit(end)?);
    Ok((x, y))
}
