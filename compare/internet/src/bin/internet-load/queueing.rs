//! How long TCP's segments wait in a queue, and what they achieve: two captures of the kernel's timestamps,
//! one before the queue and one behind it.

use std::collections::{HashMap, HashSet};

use crate::frames::each_frame;

/// Ports, sequence number and IP identification: retransmissions differ in the last.
type Key = (u16, u16, u32, u16);

/// A segment in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    key: Key,
    /// Of the capture.
    time_ns: u64,
    payload: u64,
}

/// Result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Measured {
    /// Segments that left the queue.
    segments: u64,
    /// Those that entered and did not leave.
    dropped: u64,
    /// Payload that left it for the first time.
    bytes: u64,
    /// Sum of the times in the queue, in ns.
    waited_ns: u64,
}

/// Ethernet, IPv4 without options, TCP with timestamps.
const HEADERS: u32 = 14 + 20 + 32;
/// Smaller segments belong to control connections.
const LEAST_PAYLOAD: u64 = 1000;

/// The large segments of a capture, in order of time.
fn seen(path: &str) -> Result<Vec<Seen>, String> {
    let mut segments = Vec::new();
    each_frame(path, |frame, headers| {
        let (Some(sport), Some(dport)) = (headers.sport, headers.dport) else { return };
        let (Some(network), Some(transport)) = (headers.network_offset, headers.transport_offset)
        else {
            return;
        };
        let (network, transport) = (network as usize, transport as usize);
        let id = frame.data.get(network + 4..network + 6).and_then(|b| b.try_into().ok());
        let number = frame.data.get(transport + 4..transport + 8).and_then(|b| b.try_into().ok());
        let (Some(id), Some(number)) = (id, number) else { return };
        let payload = u64::from(frame.original_len.saturating_sub(HEADERS));
        if headers.protocol != Some(6) || payload < LEAST_PAYLOAD {
            return;
        }
        let key = (sport, dport, u32::from_be_bytes(number), u16::from_be_bytes(id));
        segments.push(Seen { key, time_ns: frame.time_ns, payload });
    })?;
    Ok(segments)
}

/// Measures what leaves from `from_ns` until `to_ns` after the first segment left.
fn measure(entered: &[Seen], left: &[Seen], [from_ns, to_ns]: [u64; 2]) -> Measured {
    let mut measured = Measured::default();
    let first = left.first().map_or(0, |segment| segment.time_ns);
    let window = first + from_ns..first + to_ns;
    let entries: HashMap<Key, u64> = entered.iter().map(|s| (s.key, s.time_ns)).collect();
    let exits: HashSet<Key> = left.iter().map(|s| s.key).collect();
    let lost = |s: &&Seen| window.contains(&s.time_ns) && !exits.contains(&s.key);
    measured.dropped = entered.iter().filter(lost).count() as u64;
    let mut delivered = HashSet::new();
    for segment in left {
        let (sport, dport, number, _) = segment.key;
        let is_new = delivered.insert((sport, dport, number));
        let Some(entry) = entries.get(&segment.key) else { continue };
        if window.contains(&segment.time_ns) {
            measured.segments += 1;
            measured.waited_ns += segment.time_ns.saturating_sub(*entry);
            measured.bytes += if is_new { segment.payload } else { 0 };
        }
    }
    measured
}

/// Prints goodput in kbit/s, the mean time in the queue in us, and segments dropped.
///
/// # Errors
/// Captures that cannot be read, words that are not understood.
pub fn queueing(paths: [&str; 2], window: [&str; 2]) -> Result<(), String> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
    let [from, to] = [number(window[0])?, number(window[1])?];
    if from >= to {
        return Err(format!("the window of {from} to {to} ms is empty"));
    }
    let [entered, left] = [seen(paths[0])?, seen(paths[1])?];
    let m = measure(&entered, &left, [from * 1_000_000, to * 1_000_000]);
    let mean = m.waited_ns / m.segments.max(1) / 1000;
    println!("{},{mean},{}", m.bytes * 8 / (to - from), m.dropped);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a retransmission counts as goodput, or segments outside of the window count.
    #[test]
    fn retransmissions_wait_but_bring_nothing() {
        let segment = |number, id, ms: u64| Seen {
            key: (5201, 9, number, id),
            time_ns: ms * 1_000_000,
            payload: 1448,
        };
        let entered = [(1, 1, 0), (2, 2, 0), (3, 3, 8), (2, 4, 9), (1, 5, 10), (4, 6, 14)];
        let left = [(1, 1, 5), (3, 3, 10), (2, 4, 12), (1, 5, 14), (4, 6, 30)];
        let of = |all: &[(u32, u16, u64)]| -> Vec<Seen> {
            all.iter().map(|&(number, id, ms)| segment(number, id, ms)).collect()
        };
        let measured = measure(&of(&entered), &of(&left), [5_000_000, 20_000_000]);
        let waited_ns = (2 + 3 + 4) * 1_000_000;
        assert_eq!(measured, Measured { segments: 3, dropped: 0, bytes: 2 * 1448, waited_ns });
        let all = measure(&of(&entered[1..]), &of(&left[1..]), [0, 30_000_000]);
        assert_eq!(all.dropped, 0);
        let all = measure(&of(&entered), &of(&left[1..4]), [0, 30_000_000]);
        assert_eq!((all.segments, all.dropped), (3, 1));
    }
}
