//! A table as a Parquet file: one row group, no compression, the same bytes for the same table.

use std::sync::Arc;

use laxity_results::table::{Column, Table};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};

use crate::SweepError;

/// The file of a table, after columns that have one value in all rows.
pub fn file(values: &[(String, String)], table: &Table) -> Result<Vec<u8>, SweepError> {
    let rows = table.rows();
    let constant = |(name, value): &(String, String)| {
        (name.clone(), Column::Text(vec![Some(value.clone()); rows]))
    };
    let own = table.columns.iter().map(|(name, column)| ((*name).to_owned(), column.clone()));
    let columns: Vec<(String, Column)> = values.iter().map(constant).chain(own).collect();
    written(&columns).map_err(|error| SweepError::Encoding(error.to_string()))
}

fn written(columns: &[(String, Column)]) -> Result<Vec<u8>, ParquetError> {
    let fields = columns.iter().map(|(name, column)| field(name, column));
    let fields = fields.collect::<Result<Vec<TypePtr>, _>>()?;
    let schema = Arc::new(Type::group_type_builder("laxity").with_fields(fields).build()?);
    let properties = WriterProperties::builder()
        .set_created_by(concat!("laxity ", env!("CARGO_PKG_VERSION")).to_owned())
        .build();
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, column) in columns {
        let Some(mut writer) = group.next_column()? else { break };
        match column {
            Column::Text(values) => {
                let (levels, values) = present(values, |text| ByteArray::from(text.as_str()));
                writer.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Float(values) => {
                let (levels, values) = present(values, |number| *number);
                writer.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?;
            }
            Column::Whole(values) => {
                // The column is marked as unsigned: the bits are those of the number.
                let (levels, values) = present(values, |number| *number as i64);
                writer.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?;
            }
        }
        writer.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn field(name: &str, column: &Column) -> Result<TypePtr, ParquetError> {
    let (physical, logical) = match column {
        Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Column::Float(_) => (Physical::DOUBLE, None),
        Column::Whole(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
    };
    let field = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical);
    Ok(Arc::new(field.build()?))
}

/// Which values are there, as definition levels, and these.
fn present<T, V>(values: &[Option<T>], of: impl Fn(&T) -> V) -> (Vec<i16>, Vec<V>) {
    let levels = values.iter().map(|value| i16::from(value.is_some())).collect();
    (levels, values.iter().flatten().map(of).collect())
}
