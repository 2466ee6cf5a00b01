//! Exact numbers and quantities from Python, and back as fractions.
//!
//! Numbers are in SI units: seconds, bit/s, and bytes for data. An `int`, `Fraction` or `Decimal` is
//! taken as it is, a `float` as its decimal of 15 digits, so that `0.005` is exactly 5 ms. Texts have units
//! as in scenario files.

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::{CurveError, Rational};
use laxity_scenario::quantity;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyType};

use crate::error;

/// Nanoseconds in a second.
const NANOSECONDS: i128 = 1_000_000_000;

/// A number, exact.
pub fn rational(value: &Bound<'_, PyAny>) -> PyResult<Rational> {
    let wrong = || {
        let class = value.get_type();
        error::input(format_args!(
            "{} is no number: give an int, float, Fraction or Decimal, or a text with a unit",
            class.name().map_or_else(|_| "this".to_owned(), |name| name.to_string())
        ))
    };
    if value.is_instance_of::<PyBool>() {
        return Err(wrong());
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Rational::whole(whole(value)?));
    }
    if let Ok(float) = value.cast::<PyFloat>() {
        return decimal(float.extract()?);
    }
    // Also of numpy's integers, and of numbers of other libraries.
    if let Ok(index) = value.call_method0("__index__") {
        return Ok(Rational::whole(whole(&index)?));
    }
    let ratio = value.call_method0("as_integer_ratio").map_err(|_| wrong())?;
    let (num, den): (Bound<'_, PyAny>, Bound<'_, PyAny>) = ratio.extract()?;
    Rational::new(whole(&num)?, whole(&den)?).map_err(|e| error::curve(&e))
}

fn whole(value: &Bound<'_, PyAny>) -> PyResult<i128> {
    let overflow = CurveError::Overflow { operation: "a number" };
    value.extract().map_err(|_| error::curve(&overflow))
}

/// The decimal of 15 digits that a float stands for, exact: it is the one that was written, also after a few
/// operations.
pub fn decimal(value: f64) -> PyResult<Rational> {
    if !value.is_finite() {
        return Err(error::input(format_args!("{value} is no finite number")));
    }
    let text = format!("{value:.14e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let overflow = || error::curve(&CurveError::Overflow { operation: "a number" });
    let number: i128 = format!("{whole}{fraction}").parse().map_err(|_| overflow())?;
    let exponent: i32 = exponent.parse().map_err(|_| overflow())?;
    let exponent = exponent - fraction.len() as i32;
    let power = 10i128.checked_pow(exponent.unsigned_abs());
    let scaled = match (power, exponent >= 0) {
        // So small that nothing counted here notices.
        (None, false) => Some(Ok(Rational::ZERO)),
        (None, true) => None,
        (Some(power), true) => number.checked_mul(power).map(|n| Ok(Rational::whole(n))),
        (Some(power), false) => Some(Rational::new(number, power)),
    };
    scaled.ok_or_else(overflow)?.map_err(|e| error::curve(&e))
}

fn scaled(value: &Bound<'_, PyAny>, by: i128) -> PyResult<Rational> {
    rational(value)?.times(Rational::whole(by)).map_err(|e| error::curve(&e))
}

fn text<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Option<std::borrow::Cow<'a, str>>> {
    value.cast::<PyString>().ok().map(|text| text.to_cow()).transpose()
}

/// A time in nanoseconds.
pub fn time(value: &Bound<'_, PyAny>) -> PyResult<Rational> {
    match text(value)? {
        Some(text) => {
            let span = quantity::span(&text).map_err(|e| error::quantity(&e))?;
            Ok(span.0.into())
        }
        None => scaled(value, NANOSECONDS),
    }
}

/// An amount of data in nanobits.
pub fn data(value: &Bound<'_, PyAny>) -> PyResult<Rational> {
    match text(value)? {
        Some(text) => {
            let bytes = quantity::bytes(&text).map_err(|e| error::quantity(&e))?;
            Ok(Rational::whole(i128::from(bytes.0) * NANOBITS_PER_BYTE))
        }
        None => scaled(value, NANOBITS_PER_BYTE),
    }
}

/// A slope in bit/s.
pub fn slope(value: &Bound<'_, PyAny>) -> PyResult<Rational> {
    match text(value)? {
        Some(text) => Ok(quantity::rate(&text).map_err(|e| error::quantity(&e))?.0.into()),
        None => rational(value),
    }
}

/// A whole number of base units, not negative.
fn counted(value: Rational, unit: &str) -> PyResult<u64> {
    if !value.is_whole() {
        return Err(error::input(format_args!(
            "{value} is not a whole number of {unit}: quantities are exact and never rounded"
        )));
    }
    u64::try_from(value.numerator()).map_err(|_| {
        error::input(format_args!("{value} {unit} is out of range: give 0 to 2^64 - 1"))
    })
}

/// A time of whole nanoseconds.
pub fn span(value: &Bound<'_, PyAny>) -> PyResult<Span> {
    counted(time(value)?, "nanoseconds").map(Span)
}

/// A size of whole bytes.
pub fn bytes(value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    let nanobits = data(value)?;
    let bytes = nanobits.over(Rational::whole(NANOBITS_PER_BYTE)).map_err(|e| error::curve(&e))?;
    counted(bytes, "bytes").map(Bytes)
}

/// A rate of whole bit/s.
pub fn rate(value: &Bound<'_, PyAny>) -> PyResult<Rate> {
    counted(slope(value)?, "bit/s").map(Rate)
}

static FRACTION: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// `value / unit` as a `Fraction`.
fn fraction(py: Python<'_>, value: Rational, unit: i128) -> PyResult<Py<PyAny>> {
    let class = FRACTION.import(py, "fractions", "Fraction")?;
    let value = value.over(Rational::whole(unit)).map_err(|e| error::curve(&e))?;
    Ok(class.call1((value.numerator(), value.denominator()))?.unbind())
}

/// Nanoseconds as seconds.
pub fn seconds(py: Python<'_>, ns: Rational) -> PyResult<Py<PyAny>> {
    fraction(py, ns, NANOSECONDS)
}

/// Nanobits as bytes.
pub fn byte_count(py: Python<'_>, nanobits: Rational) -> PyResult<Py<PyAny>> {
    fraction(py, nanobits, NANOBITS_PER_BYTE)
}

/// Bit/s.
pub fn bit_rate(py: Python<'_>, rate: Rational) -> PyResult<Py<PyAny>> {
    fraction(py, rate, 1)
}

/// The float next to a fraction, in another unit.
pub fn float(value: Rational, unit: i128) -> f64 {
    // Dividing after the conversion keeps fractions that would leave 128 bits.
    value.numerator() as f64 / value.denominator() as f64 / unit as f64
}

/// The units of curves as floats: seconds of nanoseconds, and bytes of nanobits.
pub fn float_seconds(ns: Rational) -> f64 {
    float(ns, NANOSECONDS)
}

/// Bytes of nanobits, as a float.
pub fn float_bytes(nanobits: Rational) -> f64 {
    float(nanobits, NANOBITS_PER_BYTE)
}
