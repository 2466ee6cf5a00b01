//! A discipline, class or filter as it was read, whatever the form; base units.

use std::collections::BTreeMap;

use crate::{Handle, Place, Problem, TcError};

/// Of which command a record is output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `tc qdisc`.
    Qdisc,
    /// `tc class`.
    Class,
    /// `tc filter`.
    Filter,
}

impl Section {
    /// The name of the object.
    pub fn name(self) -> &'static str {
        match self {
            Section::Qdisc => "qdisc",
            Section::Class => "class",
            Section::Filter => "filter",
        }
    }
}

/// Value of an option: rates in bit/s, sizes in bytes, times in ns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// A number.
    Number(i128),
    /// A word.
    Word(String),
    /// Numbers.
    List(Vec<u64>),
    /// Pairs: offset and count of queues, mask and interval of gates.
    Pairs(Vec<(u64, u64)>),
    /// Slopes and the time between them.
    Curve([u64; 3]),
    /// Present, value not read.
    Present,
}

/// One header line or JSON object.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its command.
    pub section: Section,
    /// Its kind.
    pub kind: String,
    /// Its handle; filters have none.
    pub handle: Option<Handle>,
    /// Its parent; `None` at the root.
    pub parent: Option<Handle>,
    /// The device where it is named.
    pub device: Option<String>,
    /// Options by name.
    pub fields: BTreeMap<&'static str, Field>,
    /// Where it is.
    pub place: Place,
    /// Whether the kind's options are known.
    pub known: bool,
    /// Whether it was read from text.
    pub from_text: bool,
}

impl Record {
    /// The record in messages.
    pub fn of(&self) -> String {
        let handle = self.handle.map(|h| format!(" {h}")).unwrap_or_default();
        format!("{} {}{handle}", self.section.name(), self.kind)
    }

    /// Sets an option.
    pub fn set(&mut self, key: &'static str, field: Field) -> Result<(), TcError> {
        match self.fields.insert(key, field.clone()) {
            Some(before) if before != field => Err(self.error(Problem::Repeated(key.to_owned()))),
            _ => Ok(()),
        }
    }

    /// An error at this record.
    pub fn error(&self, problem: Problem) -> TcError {
        TcError { place: self.place.clone(), problem }
    }
}
