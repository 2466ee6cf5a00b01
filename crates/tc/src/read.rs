//! Inputs, taken apart into JSON arrays and text.

use serde_json::Deserializer;

use crate::build;
use crate::json::Json;
use crate::record::Record;
use crate::{Config, Place, Problem, TcError, read_json, read_text};

/// The most bytes of all inputs together.
pub const MAX_INPUT: usize = 16_000_000;

/// Collects the output of `tc qdisc`, `class` and `filter` of one device, in any order and form.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    pub(crate) records: Vec<Record>,
    pub(crate) bytes: usize,
}

impl Reader {
    /// Reads one input: JSON arrays and text, also mixed.
    ///
    /// # Errors
    /// Input that is not output of `tc`, broken JSON, unknown options, values that cannot be read.
    pub fn text(&mut self, input: &str, text: &str) -> Result<(), TcError> {
        let place = |line: usize| Place { input: input.to_owned(), line };
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > MAX_INPUT {
            return Err(TcError { place: place(1), problem: Problem::TooLarge });
        }
        let mut rest = text;
        let mut line = 1;
        loop {
            let blank = rest.len() - rest.trim_start().len();
            line += newlines(&rest[..blank]);
            rest = &rest[blank..];
            let used = if rest.is_empty() {
                return Ok(());
            } else if array(rest) {
                self.json(rest, &place(line))?
            } else {
                self.lines(rest, &place(line))?
            };
            line += newlines(&rest[..used]);
            rest = &rest[used..];
        }
    }

    /// Reads the JSON array at the start; the bytes that it takes.
    fn json(&mut self, text: &str, place: &Place) -> Result<usize, TcError> {
        let mut stream = Deserializer::from_str(text).into_iter::<Json>();
        let value = match stream.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => {
                let line = place.line + error.line().saturating_sub(1);
                let place = Place { line, ..place.clone() };
                let problem = Problem::BrokenJson(error.to_string());
                return Err(TcError { place, problem });
            }
            None => return Ok(text.len()),
        };
        for object in value.array().unwrap_or_default() {
            if matches!(object, Json::Object(pairs) if pairs.is_empty()) {
                continue;
            }
            self.records.push(read_json::record(object, place)?);
        }
        Ok(stream.byte_offset())
    }

    /// Reads text up to the next JSON array; the bytes that it takes.
    fn lines(&mut self, text: &str, place: &Place) -> Result<usize, TcError> {
        let end = text.find("\n[").map_or(text.len(), |at| at + 1);
        let lines: Vec<&str> = text[..end].lines().collect();
        let mut at = 0;
        while at < lines.len() {
            let here = Place { line: place.line + at, ..place.clone() };
            let Some(section) = read_text::begins(lines[at]) else {
                let line: String = lines[at].trim().chars().take(60).collect();
                return Err(TcError { place: here, problem: Problem::NotTc(line) });
            };
            let mut next = at + 1;
            while next < lines.len() && read_text::begins(lines[next]).is_none() {
                next += 1;
            }
            self.records.push(read_text::record(section, &lines[at..next], &here)?);
            at = next;
        }
        Ok(end)
    }

    /// The configuration of the device.
    ///
    /// # Errors
    /// Dumps of several devices, and options that are missing; the message names the command that prints
    /// them.
    pub fn finish(self) -> Result<Config, TcError> {
        build::config(self.records)
    }
}

/// Whether an array of objects begins here, and not, say, a section of TOML.
fn array(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|inside| inside.trim_start().starts_with(['{', ']']))
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|b| *b == b'\n').count()
}
