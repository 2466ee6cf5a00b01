//! Captures and traces that are damaged: faults with their offset on standard error, the rest used.

mod support;

use laxity_results::SimulationResult;
use support::{Folder, Ran, file, laxity};

fn capture() -> Vec<u8> {
    std::fs::read(file("captures/cooked-sll.pcap")).unwrap()
}

/// Offsets of the records of a little-endian pcap file.
fn records(bytes: &[u8]) -> Vec<usize> {
    let mut at = 24;
    let mut offsets = Vec::new();
    while at + 16 <= bytes.len() {
        offsets.push(at);
        at += 16 + u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    offsets
}

fn simulate(path: &str) -> Ran {
    let scenario = file("scenarios/captured-link.toml");
    laxity(&["simulate", &scenario, "--trace", path, "--policy", "exact", "--json"])
}

fn packets(ran: &Ran) -> u64 {
    let result: SimulationResult = serde_json::from_str(&ran.out).unwrap();
    result.policies["exact"].flows.values().map(|f| f.packets).sum()
}

/// Fails when a cut file is refused, or when it is used in silence.
#[test]
fn a_truncated_capture_is_used_up_to_the_cut() {
    let folder = Folder::new("truncated");
    let bytes = capture();
    let last = *records(&bytes).last().unwrap();
    // Within the data and within the header of the last record.
    for cut in [last + 40, last + 7] {
        let path = folder.write("cut.pcap", &bytes[..cut]);
        for ran in [simulate(&path), laxity(&["fit", &path])] {
            assert_eq!(ran.code, Some(0), "{ran:#?}");
            assert!(ran.err.contains(&format!("offset {last}")), "{}", ran.err);
            assert!(ran.err.contains("other 299 packets are used"), "{}", ran.err);
        }
        assert_eq!(packets(&simulate(&path)), 299);
    }
}

/// Fails when damage in the middle loses the packets after it.
#[test]
fn a_damaged_record_is_skipped() {
    let folder = Folder::new("damaged");
    let mut bytes = capture();
    let middle = records(&bytes)[150];
    for byte in &mut bytes[middle + 8..middle + 12] {
        *byte ^= 0xff;
    }
    let path = folder.write("damaged.pcap", &bytes);
    let ran = simulate(&path);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.err.contains(&format!("offset {middle}")), "{}", ran.err);
    let used = packets(&ran);
    assert!((290..300).contains(&used), "{used} {}", ran.err);
}

/// Fails when the command panics on bytes of any kind, or invents another exit status.
#[test]
fn flipped_bytes_never_end_in_a_panic() {
    let folder = Folder::new("flipped");
    let original = capture();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..40 {
        let mut bytes = original.clone();
        for _ in 0..=round {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] ^= (state >> 20) as u8 | 1;
        }
        let path = folder.write("flipped.pcap", &bytes);
        for ran in [simulate(&path), laxity(&["fit", &path, "--flow-key", "flow"])] {
            assert!(matches!(ran.code, Some(0 | 2)), "{ran:#?}");
            assert!(!ran.err.contains("panicked"), "{}", ran.err);
            assert_eq!(ran.code == Some(0), !ran.out.is_empty());
        }
    }
}

/// Fails when a file without packets gives a result, or no hint.
#[test]
fn captures_without_packets_are_bad_input() {
    let folder = Folder::new("empty");
    let bytes = capture();
    let cases: [(&str, &[u8], &str); 6] = [
        ("nothing.pcap", b"", "empty"),
        ("header.pcap", &bytes[..24], "no packet"),
        ("half.pcap", &bytes[..10], "offset 0"),
        ("text.pcap", b"this is a letter, not a capture", "neither a pcap nor a pcapng"),
        ("packed.pcap", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0], "gunzip"),
        ("header.csv", b"time_ns,bytes,flow\n", "no packet"),
    ];
    for (name, bytes, fragment) in cases {
        let path = folder.write(name, bytes);
        simulate(&path).fails(2, &[&path, fragment]);
        laxity(&["fit", &path]).fails(2, &[&path, fragment]);
    }
}

/// Fails when a faulty line is skipped, or not numbered.
#[test]
fn a_bad_line_of_a_trace_is_named() {
    let folder = Folder::new("csv");
    let lines = [
        ("5,x,voice", "line 3", "bytes"),
        ("5,100", "line 3", "2 fields"),
        ("4,100,voice", "line 3", "sort"),
        ("6,0,voice", "line 3", "1 or more"),
    ];
    for (line, place, fragment) in lines {
        let text = format!("time_ns,bytes,flow\n5,100,voice\n{line}\n7,100,voice\n");
        let path = folder.write("t.csv", text);
        simulate(&path).fails(2, &[&path, place, fragment]);
        laxity(&["fit", &path]).fails(2, &[&path, place, fragment]);
    }
    let path = folder.write("t.csv", "time_ns,bytes,flow\n5,100,voice\n6,100,unknown\n");
    simulate(&path).fails(2, &[&format!("{path}:3"), "unknown", "video-25"]);
}

/// Fails when a capture that no flow matches is replayed without a warning.
#[test]
fn captures_without_a_match_are_reported() {
    let (scenario, path) = (file("scenarios/access-link.toml"), file("captures/cooked-sll.pcap"));
    let ran = laxity(&["simulate", &scenario, "--trace", &path, "--policy", "fifo"]);
    assert_eq!(ran.code, Some(0));
    assert!(ran.err.contains("`other`") && ran.err.contains("match"), "{}", ran.err);
}
