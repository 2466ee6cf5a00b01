//! Whether real time was late in the router, on the way down: two captures of the kernel's
//! timestamps, one where packets come in from the line and one where they leave.

use std::collections::BTreeMap;

use crate::frames::each_frame;

/// UDP port and sequence number.
type Key = (u16, u64);

/// A packet in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    /// Of the capture.
    time_ns: u64,
    /// When it was sent, which its payload says.
    sent_ns: u64,
    /// On the wire.
    bytes: u64,
}

/// Result of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Packets that reached the router.
    pub entered: u64,
    /// Not sent by the deadline after that.
    pub late: u64,
    /// Never sent.
    pub lost: u64,
    /// Longest time in the router, in ns.
    pub max_ns: u64,
    /// Sent after the deadline counted from the sender, beside what the path adds.
    pub path_late: u64,
}

fn seen(path: &str) -> Result<BTreeMap<Key, Seen>, String> {
    let mut packets = BTreeMap::new();
    each_frame(path, |frame, headers| {
        let (Some(port), Some(at)) = (headers.dport, headers.transport_offset) else { return };
        // After the UDP header: when it was sent, and its number.
        let word = |offset: usize| {
            let bytes = frame.data.get(at as usize + offset..at as usize + offset + 8)?;
            bytes.try_into().ok().map(u64::from_ne_bytes)
        };
        let (Some(sent_ns), Some(number)) = (word(8), word(16)) else { return };
        let bytes = u64::from(frame.original_len);
        packets.insert((port, number), Seen { time_ns: frame.time_ns, sent_ns, bytes });
    })?;
    Ok(packets)
}

/// `NAME=PORT:DEADLINE_US`
fn stream(text: &str) -> Result<(&str, u16, u64), String> {
    let wrong = || format!("`{text}` is not NAME=PORT:DEADLINE_US");
    let (name, numbers) = text.split_once('=').ok_or_else(wrong)?;
    let (port, deadline) = numbers.split_once(':').ok_or_else(wrong)?;
    let deadline: u64 = deadline.parse().map_err(|_| wrong())?;
    Ok((name, port.parse().map_err(|_| wrong())?, deadline * 1000))
}

/// Judges a stream; `rate_kbit` is the shaper's, `path_ns` what the path adds.
fn judge(
    entered: &BTreeMap<Key, Seen>,
    left: &BTreeMap<Key, Seen>,
    (port, deadline_ns): (u16, u64),
    (rate_kbit, path_ns): (u64, u64),
) -> Verdict {
    let mut verdict = Verdict::default();
    for (key, came) in entered.range((port, 0)..=(port, u64::MAX)) {
        verdict.entered += 1;
        let Some(went) = left.get(key) else {
            verdict.lost += 1;
            continue;
        };
        // Captured when its transmission begins.
        let end = went.time_ns + went.bytes * 8_000_000 / rate_kbit;
        let inside = end.saturating_sub(came.time_ns);
        verdict.max_ns = verdict.max_ns.max(inside);
        verdict.late += u64::from(inside > deadline_ns);
        let whole = went.time_ns.saturating_sub(came.sent_ns);
        verdict.path_late += u64::from(whole > deadline_ns + path_ns);
    }
    verdict
}

/// Prints a line for each stream.
///
/// # Errors
/// Captures that cannot be read, words that are not understood.
pub fn late(paths: [&str; 2], [rate, path]: [&str; 2], streams: &[&str]) -> Result<(), String> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("`{word}` is no number"));
    let (rate_kbit, path_ns) = (number(rate)?, number(path)? * 1000);
    let [entered, left] = [seen(paths[0])?, seen(paths[1])?];
    for text in streams {
        let (name, port, deadline_ns) = stream(text)?;
        let v = judge(&entered, &left, (port, deadline_ns), (rate_kbit, path_ns));
        println!(
            "router {name} entered {} late {} lost {} max_us {} path_late {}",
            v.entered,
            v.late,
            v.lost,
            v.max_ns / 1000,
            v.path_late
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when the end of the transmission does not count, or another stream's packets do.
    #[test]
    fn lateness_counts_to_the_end_of_sending() {
        let at = |time_ns| Seen { time_ns, sent_ns: 0, bytes: 1000 };
        let entered = BTreeMap::from([((7, 1), at(0)), ((7, 2), at(0)), ((8, 1), at(0))]);
        let left = BTreeMap::from([((7, 1), at(9_500_000)), ((8, 1), at(90_000_000))]);
        // 1000 B take 1 ms at 8 Mbit/s.
        let verdict = judge(&entered, &left, (7, 10_000_000), (8000, 1_000_000));
        let expected = Verdict { entered: 2, late: 1, lost: 1, max_ns: 10_500_000, path_late: 0 };
        assert_eq!(verdict, expected);
        assert_eq!(judge(&entered, &left, (7, 10_500_000), (8000, 0)).late, 0);
    }
}
