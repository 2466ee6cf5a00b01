//! Events one after the other, in bounded memory.

use std::collections::BTreeMap;
use std::io::{BufRead, Read};

use super::line::{self, Line};
use super::{SchedError, SchedErrorKind, SchedEvent};
use crate::MAX_LINE_BYTES;

/// Names of other events that are kept.
const MOST_NAMES: usize = 256;

/// Reads events from text.
#[derive(Debug)]
pub struct SchedReader<R> {
    reader: R,
    line: u64,
    text: Vec<u8>,
    time: u64,
    events: u64,
    others: BTreeMap<String, u64>,
    lost: u64,
}

impl<R: BufRead> SchedReader<R> {
    /// Reads events from `input`.
    pub fn new(reader: R) -> SchedReader<R> {
        SchedReader {
            reader,
            line: 0,
            text: Vec::new(),
            time: 0,
            events: 0,
            others: BTreeMap::new(),
            lost: 0,
        }
    }

    /// The next event of the scheduler; `None` at the end.
    ///
    /// # Errors
    /// With the number of the malformed line.
    pub fn next_event(&mut self) -> Result<Option<SchedEvent>, SchedError> {
        while self.next_line()? {
            let text = String::from_utf8_lossy(&self.text);
            let line = self.line;
            let parsed = line::parse(&text, line).map_err(|kind| SchedError { line, kind })?;
            match parsed {
                Line::Event(event) if event.time_ns < self.time => {
                    let kind =
                        SchedErrorKind::Unsorted { before: self.time, time_ns: event.time_ns };
                    return Err(SchedError { line, kind });
                }
                Line::Event(event) => {
                    self.time = event.time_ns;
                    self.events += 1;
                    return Ok(Some(event));
                }
                Line::Other(name) if self.others.len() < MOST_NAMES => {
                    *self.others.entry(name.to_string()).or_default() += 1;
                }
                Line::Lost(events) => self.lost = self.lost.saturating_add(events),
                Line::Other(_) | Line::Nothing => {}
            }
        }
        if self.events == 0 {
            return Err(SchedError { line: self.line + 1, kind: SchedErrorKind::Empty });
        }
        Ok(None)
    }

    /// Events of other kinds that were passed over, by name.
    pub fn others(&self) -> &BTreeMap<String, u64> {
        &self.others
    }

    /// Events that the recorder reports lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    fn next_line(&mut self) -> Result<bool, SchedError> {
        self.text.clear();
        self.line += 1;
        let line = self.line;
        let mut limited = (&mut self.reader).take(MAX_LINE_BYTES as u64 + 1);
        let read = limited.read_until(b'\n', &mut self.text);
        let read = read.map_err(|e| SchedError { line, kind: SchedErrorKind::Io(e) })?;
        if read > MAX_LINE_BYTES {
            return Err(SchedError { line, kind: SchedErrorKind::TooLong });
        }
        if read == 0 {
            self.line -= 1;
        }
        Ok(read > 0)
    }
}
