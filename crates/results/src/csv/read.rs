//! Reads per-packet results of links.

use std::error::Error;
use std::fmt;

use laxity_core::{Bytes, Time};

use super::Outcome;

/// A row of a per-packet result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// The policy.
    pub policy: String,
    /// Number of the packet.
    pub seq: u64,
    /// The flow's name.
    pub flow: String,
    /// Its length, wire overhead not counted.
    pub bytes: Bytes,
    /// When it arrived.
    pub arrival: Time,
    /// When its transmission ended; absent when dropped.
    pub departure: Option<Time>,
    /// By when it was to end.
    pub deadline: Option<Time>,
    /// Its outcome; what was dropped has no departure, everything else has one.
    pub outcome: Outcome,
    /// Whether it was sent as best effort because it exceeded its envelope.
    pub demoted: bool,
    /// Why it was dropped or demoted, or that an AQM marked it; empty otherwise.
    pub reason: String,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// Its number, from 1 on.
    pub line: usize,
    /// What should stand there.
    pub expected: String,
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)
    }
}

impl Error for RecordError {}

/// The columns that are read, in the order of [`PacketRecord`].
const COLUMNS: [&str; 10] = [
    "policy",
    "seq",
    "flow",
    "bytes",
    "arrival_ns",
    "departure_ns",
    "deadline_ns",
    "outcome",
    "demoted",
    "reason",
];

/// All rows of a file whose first line names the columns, in any order; further columns are ignored.
///
/// # Errors
/// The first line that is not as it should be.
pub fn read_packets(text: &str) -> Result<Vec<PacketRecord>, RecordError> {
    let mut lines = text.lines().enumerate();
    let header = lines.next().and_then(|(_, line)| fields(line)).unwrap_or_default();
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        let found = header.iter().position(|name| name == column);
        *place = found.ok_or(RecordError { line: 1, expected: format!("a column {column}") })?;
    }
    let mut rows = Vec::new();
    for (index, line) in lines.filter(|(_, line)| !line.is_empty()) {
        let wrong = |expected: String| RecordError { line: index + 1, expected };
        let fields = fields(line).ok_or_else(|| wrong("closed quotes".to_owned()))?;
        if fields.len() != header.len() {
            return Err(wrong(format!("{} fields", header.len())));
        }
        let field = |column: usize| fields[places[column]].as_str();
        let optional = |column: usize| match field(column) {
            "" => Ok(None),
            number => {
                let number = number.parse().map(Some);
                number.map_err(|_| wrong(format!("a whole number as {}", COLUMNS[column])))
            }
        };
        let number = |column: usize| {
            optional(column)?.ok_or_else(|| wrong(format!("a whole number as {}", COLUMNS[column])))
        };
        let outcome = [Outcome::Sent, Outcome::Late, Outcome::Dropped];
        let outcome = outcome.into_iter().find(|outcome| outcome.name() == field(7));
        let outcome =
            outcome.ok_or_else(|| wrong("sent, late or dropped as outcome".to_owned()))?;
        let departure = optional(5)?.map(Time);
        if departure.is_none() != (outcome == Outcome::Dropped) {
            let expected = "departure_ns of what was sent, and of nothing that was dropped";
            return Err(wrong(expected.to_owned()));
        }
        rows.push(PacketRecord {
            policy: field(0).to_owned(),
            seq: number(1)?,
            flow: field(2).to_owned(),
            bytes: Bytes(number(3)?),
            arrival: Time(number(4)?),
            departure,
            deadline: optional(6)?.map(Time),
            outcome,
            demoted: match field(8) {
                "true" => true,
                "false" => false,
                _ => return Err(wrong("true or false as demoted".to_owned())),
            },
            reason: field(9).to_owned(),
        });
    }
    Ok(rows)
}

/// The fields of a line; `None` for a quote that is not closed.
pub(super) fn fields(line: &str) -> Option<Vec<String>> {
    let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    fields.push(field);
    (!quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::super::{PacketRow, PacketWriter};
    use super::*;

    // Fails when what the writer quotes is read otherwise, or an empty deadline is read as 0.
    #[test]
    fn reads_what_is_written() {
        let mut writer = PacketWriter::new(Vec::new()).unwrap();
        let row = PacketRow {
            policy: "exact",
            seq: 7,
            flow: "a,\"b\"",
            bytes: Bytes(100),
            arrival: Time(1),
            departure: Some(Time(2)),
            deadline: None,
            outcome: Outcome::Sent,
            demoted: true,
            reason: "excess",
        };
        writer.write(&row).unwrap();
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let read = read_packets(&text).unwrap();
        let want = PacketRecord {
            policy: "exact".to_owned(),
            seq: 7,
            flow: "a,\"b\"".to_owned(),
            bytes: Bytes(100),
            arrival: Time(1),
            departure: Some(Time(2)),
            deadline: None,
            outcome: Outcome::Sent,
            demoted: true,
            reason: "excess".to_owned(),
        };
        assert_eq!(read, [want]);
    }

    // Fails when a broken line is skipped.
    #[test]
    fn broken_lines_are_errors() {
        let header = format!("{}\n", super::super::HEADER);
        let error = |text: &str| read_packets(text).unwrap_err().to_string();
        assert_eq!(error("a,b\n"), "line 1: expected a column policy");
        assert_eq!(error(&format!("{header}exact,1\n")), "line 2: expected 10 fields");
        let bad = "exact,1,voice,x,0,1,2,sent,false,\n";
        assert_eq!(error(&format!("{header}{bad}")), "line 2: expected a whole number as bytes");
        let unsent = "exact,1,voice,9,0,,2,sent,false,\n";
        let expected =
            "line 2: expected departure_ns of what was sent, and of nothing that was dropped";
        assert_eq!(error(&format!("{header}{unsent}")), expected);
        let odd = "exact,1,voice,9,0,1,2,gone,false,\n";
        assert_eq!(
            error(&format!("{header}{odd}")),
            "line 2: expected sent, late or dropped as outcome"
        );
        let open = "exact,1,\"voice,1,0,1,2,sent,false,\n";
        assert_eq!(error(&format!("{header}{open}")), "line 2: expected closed quotes");
    }
}
