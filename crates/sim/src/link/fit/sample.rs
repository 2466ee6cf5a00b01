//! Packets of a capture or trace, distinguished as finely as their headers allow.

use std::collections::HashMap;
use std::path::Path;

use laxity_core::{Bytes, Span, Time};
use laxity_link::classify::Key;
use laxity_trace::{CsvTrace, Report};

use laxity_traffic::classify::key;

use crate::link::replay::{ReplayError, each_frame, is_csv, open};

/// Packets of one origin, in order of time.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// The fields of their headers; none in a CSV trace.
    pub key: Key,
    /// The flow of a CSV trace; empty in a capture.
    pub name: String,
    /// Time since the first packet of all, and length.
    pub packets: Vec<(Time, Bytes)>,
}

/// All packets of a file.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub(super) units: Vec<Unit>,
    /// Whether the flows already have names, as in a CSV trace.
    pub named: bool,
    /// From the first packet to the last.
    pub duration: Span,
    /// How many packets there are.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// The largest of them.
    pub largest: Bytes,
    /// The faults of a capture.
    pub capture: Option<Report>,
}

impl Sample {
    /// Reads a capture, or a CSV trace by its extension `.csv`.
    ///
    /// # Errors
    /// The file cannot be read, a line of a CSV trace is faulty, or there is no packet. Faults
    /// inside a capture are in [`capture`](Self::capture); the rest of it is used.
    pub fn read(path: &Path) -> Result<Sample, ReplayError> {
        let mut sample = Sample { named: is_csv(path), ..Sample::default() };
        let file = open(path)?;
        if sample.named {
            sample.read_csv(path, CsvTrace::open(file))?;
        } else {
            let mut known: HashMap<Key, usize> = HashMap::new();
            let units = &mut sample.units;
            let report = each_frame(path, file, |frame, headers| {
                let key = key(headers);
                let unit = *known.entry(key).or_insert_with(|| {
                    units.push(Unit { key, name: String::new(), packets: Vec::new() });
                    units.len() - 1
                });
                units[unit].packets.push((Time(frame.time_ns), Bytes(frame.original_len.into())));
            })?;
            sample.capture = Some(report);
        }
        if sample.units.is_empty() {
            return Err(ReplayError::Empty { path: path.into() });
        }
        sample.settle();
        Ok(sample)
    }

    fn read_csv(
        &mut self,
        path: &Path,
        rows: Result<CsvTrace<std::fs::File>, laxity_trace::CsvError>,
    ) -> Result<(), ReplayError> {
        let failed = |source| ReplayError::Csv { path: path.into(), source };
        let mut rows = rows.map_err(failed)?;
        let mut known: HashMap<String, usize> = HashMap::new();
        while let Some(row) = rows.next_row().map_err(failed)? {
            let unit = match known.get(row.flow) {
                Some(unit) => *unit,
                None => {
                    let name = row.flow.to_owned();
                    known.insert(name.clone(), self.units.len());
                    self.units.push(Unit { key: Key::default(), name, packets: Vec::new() });
                    self.units.len() - 1
                }
            };
            self.units[unit].packets.push((Time(row.time_ns), Bytes(row.bytes.into())));
        }
        Ok(())
    }

    /// Puts packets in order and time zero at the first of them, and counts.
    fn settle(&mut self) {
        // Captures of several queues are only nearly in order of time.
        for unit in &mut self.units {
            unit.packets.sort_by_key(|(at, _)| *at);
        }
        let units = || self.units.iter().map(|u| &u.packets);
        let first = units().filter_map(|p| p.first()).map(|(at, _)| *at).min();
        let first = first.unwrap_or(Time::ZERO);
        let last = units().filter_map(|p| p.last()).map(|(at, _)| *at).max().unwrap_or(first);
        self.duration = last.since(first);
        for (at, bytes) in self.units.iter_mut().flat_map(|u| &mut u.packets) {
            *at = Time(at.since(first).0);
            self.packets += 1;
            self.bytes = self.bytes.saturating_add(bytes.0);
            self.largest = self.largest.max(*bytes);
        }
    }

    /// The packets of some units in order of time.
    pub(super) fn merge(&self, units: &[usize]) -> Vec<(Time, Bytes)> {
        let mut packets: Vec<_> =
            units.iter().flat_map(|u| self.units[*u].packets.iter().copied()).collect();
        packets.sort_by_key(|(at, _)| *at);
        packets
    }
}
