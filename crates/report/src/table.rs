//! Tables for pages and terminals.

/// The tone of a cell; shown by weight, sign and text, and by colour besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// Of little interest.
    Muted,
    /// Better than the reference.
    Better,
    /// The best of its row, and better than the reference.
    Best,
    /// Wrong: a missed deadline, a refusal.
    Bad,
    /// A judgement: good.
    ChipGood,
    /// A judgement: bad.
    ChipBad,
    /// A judgement: neither.
    ChipNeutral,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// The number or text.
    pub text: String,
    /// A secondary text after it, in a quieter style: `/ 65%`.
    pub secondary: String,
    /// Its tone.
    pub tone: Tone,
}

impl Cell {
    /// A plain cell.
    pub fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell with a tone.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Cell { text: text.into(), tone, ..Cell::default() }
    }

    /// A cell without a value.
    pub fn none() -> Cell {
        Cell::toned(crate::number::NONE, Tone::Muted)
    }

    /// Adds the secondary text.
    pub fn with_secondary(mut self, secondary: impl Into<String>) -> Cell {
        self.secondary = secondary.into();
        self
    }
}

/// A column's heading and alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub title: String,
    /// Numbers are set flush right, text flush left.
    pub numeric: bool,
}

impl Column {
    /// A column of numbers.
    pub fn number(title: impl Into<String>) -> Column {
        Column { title: title.into(), numeric: true }
    }

    /// A column of text.
    pub fn text(title: impl Into<String>) -> Column {
        Column { title: title.into(), numeric: false }
    }
}

/// Rows that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// Printed above them; none when empty.
    pub title: String,
    /// Row heading and its cells, one for each column but the first.
    pub rows: Vec<(String, Vec<Cell>)>,
}

/// A table with a caption, a heading for each row and each column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Caption, with the unit.
    pub caption: String,
    /// Headings; the first stands over the row headings.
    pub columns: Vec<Column>,
    /// Rows.
    pub groups: Vec<Group>,
    /// A note on how to read it; may be empty.
    pub note: String,
}

impl Table {
    /// A table without rows.
    pub fn new(caption: impl Into<String>, columns: Vec<Column>) -> Table {
        Table { caption: caption.into(), columns, ..Table::default() }
    }

    /// Adds rows under a title; nothing when there are no rows.
    pub fn group(mut self, title: impl Into<String>, rows: Vec<(String, Vec<Cell>)>) -> Table {
        if !rows.is_empty() {
            self.groups.push(Group { title: title.into(), rows });
        }
        self
    }

    /// Sets the note.
    pub fn noted(mut self, note: impl Into<String>) -> Table {
        self.note = note.into();
        self
    }

    /// Whether it has no row.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|g| g.rows.is_empty())
    }
}
