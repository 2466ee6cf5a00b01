//! The packets of one flow in a CSV trace, for `envelope = { trace = "..." }`.
//!
//! Only as much of the format as an envelope needs; traces that drive simulations are read by
//! the crate for traces.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use laxity_core::{Bytes, Time};

use super::walk::MAX_PACKET;

/// The first line of every trace.
const HEADER: &str = "time_ns,bytes,flow";

/// The longest line that is read.
const MAX_LINE: u64 = 4096;

/// Reads the packets of one flow from a CSV trace, in order of time: the loader of [`Document::parse`].
///
/// # Errors
/// The file cannot be read, is no trace, or lacks the flow.
///
/// [`Document::parse`]: crate::Document::parse
pub fn load(path: &Path, flow: &str) -> Result<Vec<(Time, Bytes)>, String> {
    let file = File::open(path).map_err(|e| format!("it cannot be opened: {e}"))?;
    packets(BufReader::new(file), flow)
}

fn packets(mut file: impl BufRead, flow: &str) -> Result<Vec<(Time, Bytes)>, String> {
    let mut out: Vec<(Time, Bytes)> = Vec::new();
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = file.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if read.map_err(|e| format!("line {number} cannot be read: {e}"))? == 0 {
            if number == 1 {
                return Err(format!("it is empty; the first line must be {HEADER}"));
            }
            break;
        }
        let text = std::str::from_utf8(&line).map_err(|_| format!("line {number} is not UTF-8"))?;
        let text = text.trim_end_matches(['\n', '\r']);
        if number == 1 {
            if text.trim_start_matches('\u{feff}') != HEADER {
                return Err(format!("the first line must be {HEADER}"));
            }
            continue;
        }
        if text.is_empty() {
            continue;
        }
        let (time, bytes, name) =
            row(text).ok_or_else(|| format!("line {number} is not time_ns,bytes,flow"))?;
        if name != flow {
            continue;
        }
        if bytes.0 == 0 || bytes > MAX_PACKET {
            return Err(format!("line {number} has a packet of {bytes}; lengths are 1 B to 1 MB"));
        }
        if out.last().is_some_and(|(before, _)| *before > time) {
            return Err(format!("line {number} is earlier than the packet before it"));
        }
        out.push((time, bytes));
    }
    Ok(out)
}

fn row(line: &str) -> Option<(Time, Bytes, String)> {
    let mut fields = line.splitn(3, ',');
    let time = fields.next()?.trim().parse().ok()?;
    let bytes = fields.next()?.trim().parse().ok()?;
    let name = fields.next()?.trim();
    let name = match name.strip_prefix('"') {
        None if name.contains(',') => return None,
        None => name.to_owned(),
        Some(rest) => {
            let inner = rest.strip_suffix('"')?.replace("\"\"", "\u{0}");
            if inner.contains('"') {
                return None;
            }
            inner.replace('\u{0}', "\"")
        }
    };
    Some((Time(time), Bytes(bytes), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, flow: &str) -> Result<Vec<(u64, u64)>, String> {
        packets(text.as_bytes(), flow).map(|p| p.iter().map(|(t, b)| (t.0, b.0)).collect())
    }

    #[test]
    fn packets_are_filtered_by_flow() {
        let text = "time_ns,bytes,flow\r\n1,100,a\n\n2,200,\"b, \"\"c\"\"\"\n2,300,a\n";
        assert_eq!(read(text, "a"), Ok(vec![(1, 100), (2, 300)]));
        assert_eq!(read(text, "b, \"c\""), Ok(vec![(2, 200)]));
        assert_eq!(read(text, "none"), Ok(vec![]));
    }

    #[test]
    fn errors_name_the_line() {
        let e = |text: &str| read(text, "a").unwrap_err();
        assert_eq!(e(""), "it is empty; the first line must be time_ns,bytes,flow");
        assert_eq!(e("time,bytes\n"), "the first line must be time_ns,bytes,flow");
        assert_eq!(e("time_ns,bytes,flow\n1,x,a\n"), "line 2 is not time_ns,bytes,flow");
        assert_eq!(e("time_ns,bytes,flow\n1,1,\"a\n"), "line 2 is not time_ns,bytes,flow");
        assert_eq!(e("time_ns,bytes,flow\n1,1,a,b\n"), "line 2 is not time_ns,bytes,flow");
        assert_eq!(
            e("time_ns,bytes,flow\n5,1,a\n4,1,a\n"),
            "line 3 is earlier than the packet before it"
        );
        assert_eq!(
            e("time_ns,bytes,flow\n5,0,a\n"),
            "line 2 has a packet of 0 B; lengths are 1 B to 1 MB"
        );
        let long = format!("time_ns,bytes,flow\n1,1,{}\n", "x".repeat(10_000));
        assert_eq!(e(&long), "line 3 is not time_ns,bytes,flow");
    }
}
