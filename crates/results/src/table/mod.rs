//! Results as tables: a row for each flow, class or task under each policy and seed, always the same
//! columns. Columns are those of the JSON, with its names and units.

mod cpu;
mod link;
mod stream;

use indexmap::IndexMap;

/// One column; a value may be absent.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Names.
    Text(Vec<Option<String>>),
    /// Numbers that may have a fraction.
    Float(Vec<Option<f64>>),
    /// Counts, sizes in bytes, and times in ns.
    Whole(Vec<Option<u64>>),
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Text(values) => values.len(),
            Column::Float(values) => values.len(),
            Column::Whole(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Columns of equal length, each with its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// In the order of the JSON.
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(own, _)| *own == name).map(|(_, column)| column)
    }
}

/// Results of one kind that become a table.
pub trait Tabular {
    /// The table of several results.
    fn table(results: &[Self]) -> Table
    where
        Self: Sized;
}

/// A flow, class or task under one policy of one result.
struct Row<'a, R, P, T> {
    run: &'a R,
    policy: (&'a str, &'a P),
    name: &'a str,
    of: &'a T,
}

/// All rows of several results.
fn rows<'a, R, P: 'a, T: 'a>(
    results: &'a [R],
    policies: impl Fn(&'a R) -> &'a IndexMap<String, P>,
    parts: impl Fn(&'a P) -> &'a IndexMap<String, T>,
) -> Vec<Row<'a, R, P, T>> {
    let mut rows = Vec::new();
    for run in results {
        for (policy, result) in policies(run) {
            let policy = (policy.as_str(), result);
            rows.extend(parts(result).iter().map(|(name, of)| Row { run, policy, name, of }));
        }
    }
    rows
}

/// Makes a table from rows, column by column.
struct Builder<'a, R> {
    rows: &'a [R],
    table: Table,
}

impl<'a, R> Builder<'a, R> {
    fn new(rows: &'a [R]) -> Builder<'a, R> {
        Builder { rows, table: Table::default() }
    }

    fn push(mut self, name: &'static str, column: Column) -> Self {
        self.table.columns.push((name, column));
        self
    }

    fn text<'r>(self, name: &'static str, of: impl Fn(&'a R) -> Option<&'r str>) -> Self {
        let values = self.rows.iter().map(|row| of(row).map(str::to_owned)).collect();
        self.push(name, Column::Text(values))
    }

    fn float(self, name: &'static str, of: impl Fn(&R) -> Option<f64>) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.push(name, Column::Float(values))
    }

    fn whole(self, name: &'static str, of: impl Fn(&R) -> Option<u64>) -> Self {
        let values = self.rows.iter().map(of).collect();
        self.push(name, Column::Whole(values))
    }
}

#[cfg(test)]
mod tests;
