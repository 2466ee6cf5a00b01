//! Arrays of numpy, read and made through their bytes: numpy itself is needed only for arrays.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;

/// Whether this is an array, or something that becomes one without being a number.
pub fn is_array(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let has_shape = value.hasattr("shape")? && value.hasattr("dtype")?;
    Ok(has_shape && value.getattr("shape")?.len()? > 0)
}

fn packed<'py>(
    value: &Bound<'py, PyAny>,
    name: &str,
    dtype: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let numpy = value.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (value,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    // Without a number an array has the type of floats.
    let empty = array.getattr("size")?.extract::<usize>()? == 0;
    if !matches!(kind.as_str(), "i" | "u" | "f") || (dtype != "<f8" && kind == "f" && !empty) {
        let wanted = match (dtype, kind.as_str()) {
            ("<f8", _) => "numbers are needed",
            (_, "M") => "whole nanoseconds or seconds as floats are needed, from any start on",
            _ => "whole numbers are needed",
        };
        let dtype = array.getattr("dtype")?;
        return Err(error::input(format_args!("{name}: an array of {dtype}, and {wanted}")));
    }
    if dtype != "<f8" && kind == "i" {
        let negative = array.call_method1("__lt__", (0,))?.call_method0("any")?;
        if negative.is_truthy()? {
            return Err(error::input(format_args!(
                "{name}: an array with negative numbers, and none may be"
            )));
        }
    }
    let bytes = array.call_method1("astype", (dtype,))?.call_method0("tobytes")?;
    Ok(bytes.cast_into::<PyBytes>()?)
}

/// The numbers of an array, in the order of its memory.
pub fn floats(value: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    let bytes = packed(value, "t", "<f8")?;
    Ok(words(bytes.as_bytes()).map(f64::from_le_bytes).collect())
}

/// The whole numbers of a row; errors name it.
pub fn whole(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u64>> {
    row(value, name)?;
    let bytes = packed(value, name, "<u8")?;
    Ok(words(bytes.as_bytes()).map(u64::from_le_bytes).collect())
}

/// Refuses arrays of other dimensions than one.
fn row(value: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    let shape = value.py().import("numpy")?.call_method1("shape", (value,))?;
    if shape.len()? == 1 {
        return Ok(());
    }
    Err(error::input(format_args!("{name}: an array of shape {shape}, and one row is needed")))
}

fn words(bytes: &[u8]) -> impl Iterator<Item = [u8; 8]> + '_ {
    bytes.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok())
}

/// Instants in whole nanoseconds: as they are if they are whole numbers, else from seconds, each rounded
/// to the nearest; errors name the array.
pub fn times(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<u64>> {
    let array = value.py().import("numpy")?.call_method1("asarray", (value,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    if kind != "f" {
        return whole(&array, name);
    }
    row(&array, name)?;
    let ns = |seconds: f64| {
        let ns = (seconds * 1e9).round();
        // 2^64 as a float: greater ones are no instants.
        if (0.0..1.844_674_407_370_955_2e19).contains(&ns) {
            return Ok(ns as u64);
        }
        Err(error::input(format_args!("{name}: {seconds} s is no instant: give 0 to 18446744073")))
    };
    floats(&array)?.into_iter().map(ns).collect()
}

/// An array in the shape of another one.
pub fn from_floats(like: &Bound<'_, PyAny>, values: &[f64]) -> PyResult<Py<PyAny>> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    let array = from_bytes(like.py(), &bytes, "<f8")?;
    Ok(array.call_method1("reshape", (like.getattr("shape")?,))?.unbind())
}

/// An array over bytes, without copying them.
pub fn from_bytes<'py>(py: Python<'py>, bytes: &[u8], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("numpy")?.call_method1("frombuffer", (PyBytes::new(py, bytes), dtype))
}
