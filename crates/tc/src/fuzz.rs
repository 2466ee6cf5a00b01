//! Entry points for fuzzers: functions that panic only on a defect.

use crate::{Dump, Handle, Reader};

/// Any text is a dump of `tc`, in memory of the order of the input, or an error that says where.
///
/// # Panics
/// When this does not hold.
pub fn dump(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut reader = Reader::default();
    let read = reader.text("fuzz", &text).and_then(|()| reader.finish());
    match read {
        Ok(config) => {
            let records = config.qdiscs.len() + config.classes.len() + config.filters.len();
            assert!(records <= text.lines().count() + text.matches('{').count());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Any bytes are messages of rtnetlink, each behind a byte for its kind and two for its length, or an error.
///
/// # Panics
/// When an error says nothing.
pub fn messages(data: &[u8]) {
    let mut reader = Reader::default();
    let mut rest = data;
    let mut count = 0;
    while let Some(([kind, low, high], body)) = rest.split_first_chunk::<3>() {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(body.len());
        let (body, after) = body.split_at(length);
        rest = after;
        let dump = match kind % 3 {
            0 => Dump::Qdiscs,
            1 => Dump::Classes,
            _ => Dump::Filters(Handle { major: 1, minor: 0 }),
        };
        if let Err(error) = reader.message("eth0", 7, dump, body) {
            assert!(!error.to_string().is_empty());
            return;
        }
        count += 1;
    }
    if let Ok(config) = reader.finish() {
        assert!(config.qdiscs.len() + config.classes.len() + config.filters.len() <= count);
    }
}
