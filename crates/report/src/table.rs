//! A table that is written to a page and to a terminal alike.

/// How a cell is meant; shown by weight, sign and word, and by colour besides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing special.
    #[default]
    Plain,
    /// Of little interest.
    Quiet,
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
    /// The number or words.
    pub text: String,
    /// Quieter, after it: `/ 65%`.
    pub aside: String,
    /// How it is meant.
    pub tone: Tone,
}

impl Cell {
    /// A plain cell.
    pub fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A cell with a meaning.
    pub fn toned(text: impl Into<String>, tone: Tone) -> Cell {
        Cell { text: text.into(), tone, ..Cell::default() }
    }

    /// Where there is no value.
    pub fn none() -> Cell {
        Cell::toned(crate::number::NONE, Tone::Quiet)
    }

    /// Adds the quieter part.
    pub fn beside(mut self, aside: impl Into<String>) -> Cell {
        self.aside = aside.into();
        self
    }
}

/// A column's heading and alignment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Heading.
    pub title: String,
    /// Numbers are set flush right, words flush left.
    pub numeric: bool,
}

impl Column {
    /// A column of numbers.
    pub fn number(title: impl Into<String>) -> Column {
        Column { title: title.into(), numeric: true }
    }

    /// A column of words.
    pub fn words(title: impl Into<String>) -> Column {
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
    /// What it shows, with the unit.
    pub caption: String,
    /// Headings; the first stands over the row headings.
    pub columns: Vec<Column>,
    /// Rows.
    pub groups: Vec<Group>,
    /// How to read it; may be empty.
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
