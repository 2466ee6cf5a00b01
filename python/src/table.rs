//! Tables for data frames, by the C data interface of Arrow.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringDictionaryBuilder, UInt64Builder};
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, StructArray,
    UInt64Array,
};
use arrow_schema::ArrowError;
use laxity_results::table::{Column, Table};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule, PyDict, PyTuple};

use crate::error;

/// Columns of equal length, immutable.
#[pyclass(frozen, module = "laxity", name = "Table")]
#[derive(Clone, Debug)]
pub struct PyTable(pub RecordBatch);

fn failed(error: ArrowError) -> PyErr {
    error::input(error)
}

impl PyTable {
    /// A table of results.
    pub fn of_results(table: &Table) -> PyResult<PyTable> {
        let column = |(name, column): &(&'static str, Column)| {
            let array: ArrayRef = match column {
                Column::Text(values) => Arc::new(StringArray::from(values.clone())),
                Column::Float(values) => Arc::new(Float64Array::from(values.clone())),
                Column::Whole(values) => Arc::new(UInt64Array::from(values.clone())),
            };
            (*name, array, true)
        };
        PyTable::of(table.columns.iter().map(column))
    }

    /// A table of columns, each with whether values may be absent.
    pub fn of(columns: impl Iterator<Item = (&'static str, ArrayRef, bool)>) -> PyResult<PyTable> {
        RecordBatch::try_from_iter_with_nullable(columns).map(PyTable).map_err(failed)
    }
}

#[pymethods]
impl PyTable {
    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The values of a column as a list, absent ones `None`.
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let column = self.column(name)?;
        let list = if let Some(values) = column.as_any().downcast_ref::<Float64Array>() {
            values.iter().collect::<Vec<_>>().into_pyobject(py)?
        } else if let Some(values) = column.as_any().downcast_ref::<UInt64Array>() {
            values.iter().collect::<Vec<_>>().into_pyobject(py)?
        } else if let Some(values) = column.as_any().downcast_ref::<arrow_array::BooleanArray>() {
            values.iter().collect::<Vec<_>>().into_pyobject(py)?
        } else {
            texts(column).into_pyobject(py)?
        };
        Ok(list.unbind())
    }

    /// The values as a numpy array with a mask of the absent ones, which is `None` if there are none;
    /// texts as a list.
    fn to_numpy(&self, py: Python<'_>, name: &str) -> PyResult<(Py<PyAny>, Option<Py<PyAny>>)> {
        let column = self.column(name)?;
        let numpy = py.import("numpy")?;
        let array = |bytes: Vec<u8>, dtype: &str| {
            let array = numpy.call_method1("frombuffer", (PyBytes::new(py, &bytes), dtype))?;
            Ok::<_, PyErr>(array.unbind())
        };
        let mask = match column.null_count() {
            0 => None,
            _ => {
                Some(array((0..column.len()).map(|i| u8::from(column.is_null(i))).collect(), "?")?)
            }
        };
        let values = if let Some(values) = column.as_any().downcast_ref::<Float64Array>() {
            array(values.values().iter().flat_map(|v| v.to_le_bytes()).collect(), "<f8")?
        } else if let Some(values) = column.as_any().downcast_ref::<UInt64Array>() {
            array(values.values().iter().flat_map(|v| v.to_le_bytes()).collect(), "<u8")?
        } else if let Some(values) = column.as_any().downcast_ref::<arrow_array::BooleanArray>() {
            array(values.values().iter().map(u8::from).collect(), "?")?
        } else {
            texts(column).into_pyobject(py)?.unbind()
        };
        Ok((values, mask))
    }

    /// A dictionary of columns.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for name in self.columns() {
            dict.set_item(&name, self.__getitem__(py, &name)?)?;
        }
        Ok(dict)
    }

    /// A data frame of pandas.
    fn to_pandas(slf: &Bound<'_, PyTable>) -> PyResult<Py<PyAny>> {
        Ok(slf.py().import("laxity.frames")?.call_method1("to_pandas", (slf,))?.unbind())
    }

    /// A data frame of polars.
    fn to_polars(slf: &Bound<'_, PyTable>) -> PyResult<Py<PyAny>> {
        Ok(slf.py().import("laxity.frames")?.call_method1("to_polars", (slf,))?.unbind())
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema().as_ref()).map_err(failed)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// The columns as one array of records.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // A consumer may wish for another schema, and must take what comes.
        drop(requested_schema);
        let array = FFI_ArrowArray::new(&StructArray::from(self.0.clone()).into_data());
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        PyTuple::new(py, [self.__arrow_c_schema__(py)?.into_any(), array.into_any()])
    }

    /// The columns as a stream of one batch.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = [Ok(self.0.clone())];
        let reader = RecordBatchIterator::new(batches, self.0.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __repr__(&self) -> String {
        let (rows, columns) = (self.0.num_rows(), self.columns().join(", "));
        format!("<Table of {rows} rows: {columns}>")
    }
}

impl PyTable {
    fn column(&self, name: &str) -> PyResult<&ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| {
            let text = format!("no column `{name}`; there are {}", self.columns().join(", "));
            pyo3::exceptions::PyKeyError::new_err(text)
        })
    }
}

/// The texts of a column, plain or by a dictionary.
fn texts(column: &ArrayRef) -> Vec<Option<String>> {
    if let Some(values) = column.as_any().downcast_ref::<StringArray>() {
        return values.iter().map(|text| text.map(str::to_owned)).collect();
    }
    let codes = column.as_any().downcast_ref::<arrow_array::DictionaryArray<UInt32Type>>();
    let Some(codes) = codes else { return vec![None; column.len()] };
    let Some(words) = codes.values().as_any().downcast_ref::<StringArray>() else {
        return vec![None; column.len()];
    };
    codes.keys_iter().map(|key| key.map(|key| words.value(key).to_owned())).collect()
}

/// A column of a few texts, often repeated.
#[derive(Default)]
pub struct Words(StringDictionaryBuilder<UInt32Type>);

impl Words {
    /// Adds one.
    pub fn push(&mut self, text: &str) {
        self.0.append_value(text);
    }

    /// The column.
    pub fn finish(mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// A column of whole numbers.
#[derive(Debug, Default)]
pub struct Numbers(UInt64Builder);

impl Numbers {
    /// Adds one, or that there is none.
    pub fn push(&mut self, number: Option<u64>) {
        self.0.append_option(number);
    }

    /// The column.
    pub fn finish(mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}

/// A column of answers.
#[derive(Debug)]
pub struct Flags(BooleanBuilder);

impl Default for Flags {
    fn default() -> Flags {
        Flags(BooleanBuilder::new())
    }
}

impl Flags {
    /// Adds one.
    pub fn push(&mut self, flag: bool) {
        self.0.append_value(flag);
    }

    /// The column.
    pub fn finish(mut self) -> ArrayRef {
        Arc::new(self.0.finish())
    }
}
