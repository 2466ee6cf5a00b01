//! Messages of rtnetlink(7) about disciplines, classes and filters. Exact, where text is rounded and JSON
//! incomplete.
//!
//! Structures and numbers are those of `linux/pkt_sched.h`, `linux/pkt_cls.h` and `linux/rtnetlink.h`, in the
//! byte order of the machine.

mod options;

use std::collections::BTreeMap;

use crate::record::{Field, Record, Section};
use crate::{Handle, MAX_INPUT, Place, Problem, Reader, TcError, keys};

/// What to ask the kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// Disciplines.
    Qdiscs,
    /// Classes.
    Classes,
    /// Filters of a discipline.
    Filters(Handle),
}

impl Dump {
    /// The type of the request (`RTM_GETQDISC` and so on).
    pub fn request_type(self) -> u16 {
        match self {
            Dump::Qdiscs => 38,
            Dump::Classes => 42,
            Dump::Filters(_) => 46,
        }
    }

    /// The type of the answers.
    pub fn answer_type(self) -> u16 {
        self.request_type() - 2
    }

    /// The body of the request (`struct tcmsg`) for an interface.
    pub fn body(self, index: u32) -> [u8; TCMSG] {
        let parent = match self {
            Dump::Filters(Handle { major, minor }) => u32::from(major) << 16 | u32::from(minor),
            _ => 0,
        };
        let mut body = [0; TCMSG];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        body[12..16].copy_from_slice(&parent.to_ne_bytes());
        body
    }
}

/// Length of `struct tcmsg`.
const TCMSG: usize = 20;
/// The parent of a root discipline.
const ROOT: u32 = u32::MAX;

const KIND: u16 = 1;
const OPTIONS: u16 = 2;
const STATISTICS: u16 = 7;
const SIZE_TABLE: u16 = 8;
/// Within the statistics: `struct gnet_stats_queue`.
const QUEUE: u16 = 3;

impl Reader {
    /// Reads the body of an answer to a [`Dump`]. Those of other interfaces, which the kernel sends too, are
    /// left out.
    ///
    /// # Errors
    /// A message that is cut off, and attributes that are unknown or missing.
    pub fn message(
        &mut self,
        device: &str,
        index: u32,
        dump: Dump,
        body: &[u8],
    ) -> Result<(), TcError> {
        let place = Place { input: format!("rtnetlink, {device}"), line: self.records.len() + 1 };
        let fail = |problem| TcError { place: place.clone(), problem };
        self.bytes = self.bytes.saturating_add(body.len());
        if self.bytes > MAX_INPUT {
            return Err(fail(Problem::TooLarge));
        }
        let Some(head) = body.get(..TCMSG) else {
            return Err(fail(Problem::Header("a message shorter than struct tcmsg")));
        };
        if u32_at(head, 4) != Some(index) {
            return Ok(());
        }
        let (own, parent) = (u32_at(head, 8).unwrap_or(0), u32_at(head, 12).unwrap_or(0));
        let attributes = Attributes::of(&body[TCMSG..]);
        let Some(kind) = attributes.get(KIND).and_then(text) else {
            return Err(fail(Problem::Header("a message without kind")));
        };
        let section = match dump {
            Dump::Qdiscs => Section::Qdisc,
            Dump::Classes => Section::Class,
            Dump::Filters(_) => Section::Filter,
        };
        let table = match section {
            Section::Qdisc => keys::of_qdisc(kind).is_some(),
            Section::Class => keys::of_class(kind).is_some(),
            Section::Filter => true,
        };
        let mut record = Record {
            section,
            kind: kind.to_owned(),
            handle: (section != Section::Filter).then(|| handle(own)),
            parent: (parent != ROOT && parent != 0).then(|| handle(parent)),
            device: Some(device.to_owned()),
            fields: BTreeMap::new(),
            place: place.clone(),
            known: table,
            from_text: false,
        };
        let values = attributes.get(OPTIONS).unwrap_or_default();
        match section {
            Section::Qdisc => {
                options::of_qdisc(&mut record, values)?;
                if let Some(table) = attributes.get(SIZE_TABLE) {
                    options::size_table(&mut record, table)?;
                }
                let statistics = attributes.get(STATISTICS).map(Attributes::of);
                let queue = statistics.as_ref().and_then(|s| s.get(QUEUE));
                if let Some(drops) = queue.and_then(|q| u32_at(q, 8)) {
                    record.set("drops", Field::Number(drops.into()))?;
                }
            }
            Section::Class => options::of_class(&mut record, values)?,
            Section::Filter => options::of_filter(&mut record, values)?,
        }
        self.records.push(record);
        Ok(())
    }
}

fn handle(number: u32) -> Handle {
    Handle { major: (number >> 16) as u16, minor: number as u16 }
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes.strip_suffix(&[0]).unwrap_or(bytes)).ok()
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    u32_at(bytes, at).map(|n| i32::from_ne_bytes(n.to_ne_bytes()))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

/// Attributes of a message or within one, up to the first that is cut off.
struct Attributes<'a>(Vec<(u16, &'a [u8])>);

impl<'a> Attributes<'a> {
    fn of(mut rest: &'a [u8]) -> Attributes<'a> {
        let mut all = Vec::new();
        while let (Some(length), Some(id)) = (u16_at(rest, 0), u16_at(rest, 2)) {
            let Some(value) = rest.get(4..usize::from(length)) else { break };
            // The upper bits are flags about the value.
            all.push((id & 0x3fff, value));
            rest = rest.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
        }
        Attributes(all)
    }

    fn get(&self, id: u16) -> Option<&'a [u8]> {
        self.0.iter().find(|(own, _)| *own == id).map(|(_, value)| *value)
    }

    fn iter(&self) -> impl Iterator<Item = (u16, &'a [u8])> + '_ {
        self.0.iter().copied()
    }

    /// Refuses attributes that are not known: they might change a rate.
    fn known(&self, record: &Record, ids: &[u16]) -> Result<(), TcError> {
        match self.0.iter().find(|(id, _)| !ids.contains(id)) {
            Some((id, _)) => {
                let (of, id) = (record.of(), *id);
                Err(record.error(Problem::UnknownAttribute { of, id }))
            }
            None => Ok(()),
        }
    }
}
