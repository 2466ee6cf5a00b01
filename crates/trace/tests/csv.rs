//! Traces as text: what is accepted, and where errors are.

mod support;

use laxity_trace::{CsvErrorKind, CsvTrace, MAX_LINE_BYTES, OwnedRow};
use proptest::prelude::*;

fn read(text: &[u8]) -> Result<Vec<(u64, u32, String)>, String> {
    let trace = CsvTrace::open(text).map_err(|e| e.to_string())?;
    trace.map(|row| row.map(|r| (r.time_ns, r.bytes, r.flow)).map_err(|e| e.to_string())).collect()
}

fn rows(text: &str) -> Vec<(u64, u32, String)> {
    read(text.as_bytes()).unwrap()
}

#[test]
fn plain_trace() {
    let expected = vec![(0, 1500, "voice".to_owned()), (0, 64, "bulk".to_owned())];
    for text in [
        "time_ns,bytes,flow\n0,1500,voice\n0,64,bulk\n",
        "time_ns,bytes,flow\n0,1500,voice\n0,64,bulk",
        "time_ns,bytes,flow\r\n0,1500,voice\r\n0,64,bulk\r\n",
        "\u{feff}time_ns,bytes,flow\n0,1500,voice\n0,64,bulk\n\n\r\n\n",
        "\"time_ns\",\"bytes\",\"flow\"\n\"0\",\"1500\",\"voice\"\n0,64,\"bulk\"\n",
    ] {
        assert_eq!(rows(text), expected, "{text:?}");
    }
    assert_eq!(rows("time_ns,bytes,flow"), []);
}

#[test]
fn names_and_extremes() {
    let text = "time_ns,bytes,flow\n7,1,\"a, b\"\n7,4294967295,\"say \"\"hi\"\"\"\n\
                18446744073709551615,2,Größe ✓\n";
    let names: Vec<_> = rows(text).into_iter().map(|row| row.2).collect();
    assert_eq!(names, ["a, b", "say \"hi\"", "Größe ✓"]);
    assert_eq!(rows(text)[2].0, u64::MAX);
    let lines: Vec<_> = CsvTrace::open(text.as_bytes()).unwrap().map(|r| r.unwrap().line).collect();
    assert_eq!(lines, [2, 3, 4]);
}

#[test]
fn errors_name_line_column_and_remedy() {
    let cases: [(&[u8], &str); 29] = [
        (b"", "line 1, column 1: the trace is empty; start it"),
        (b"\xef\xbb\xbf", "line 1, column 1: the trace is empty"),
        (b"\n0,1,a\n", "line 1, column 1: the first line must be time_ns,bytes,flow; add"),
        (b"time,bytes,flow\n", "line 1, column 1: the first line must be"),
        (b"time_ns,size,flow\n", "line 1, column 9: the first line must be"),
        (b"time_ns,bytes\n", "line 1, column 14: the first line must be"),
        (b"time_ns,bytes,flow,class\n", "line 1, column 20: the first line must be"),
        (b"time_ns,bytes,flow\n1,2\n", "line 2, column 4: 2 fields, not 3; write"),
        (b"time_ns,bytes,flow\n1\n", "line 2, column 2: 1 fields, not 3"),
        (b"time_ns,bytes,flow\n1,2,a,b,c\n", "line 2, column 7: 5 fields, not 3"),
        (b"time_ns,bytes,flow\n1,2,a\nx,2,a\n", "line 3, column 1: time_ns is \"x\"; write"),
        (b"time_ns,bytes,flow\n1.5,2,a\n", "line 2, column 1: time_ns is \"1.5\""),
        (b"time_ns,bytes,flow\n-1,2,a\n", "line 2, column 1: time_ns is \"-1\""),
        (b"time_ns,bytes,flow\n+1,2,a\n", "line 2, column 1: time_ns is \"+1\""),
        (b"time_ns,bytes,flow\n1, 2,a\n", "line 2, column 3: bytes is \" 2\""),
        (b"time_ns,bytes,flow\n,2,a\n", "line 2, column 1: time_ns is \"\""),
        (b"time_ns,bytes,flow\n18446744073709551616,2,a\n", "to 18446744073709551615"),
        (b"time_ns,bytes,flow\n1,4294967296,a\n", "line 2, column 3: bytes is \"4294967296\""),
        (b"time_ns,bytes,flow\n1,0,a\n", "line 2, column 3: a packet of 0 bytes; write 1"),
        (b"time_ns,bytes,flow\n1,2,\n", "line 2, column 5: the flow has no name; write one"),
        (b"time_ns,bytes,flow\n1,2,\"\"\n", "line 2, column 5: the flow has no name"),
        (
            b"time_ns,bytes,flow\n5,2,a\n4,2,a\n",
            "line 3, column 1: time 4 ns comes after 5 ns; sort",
        ),
        (b"time_ns,bytes,flow\n5,2,\"a\n", "line 2, column 5: a stray quote; quote"),
        (b"time_ns,bytes,flow\n5,2,a\"b\n", "line 2, column 6: a stray quote"),
        (b"time_ns,bytes,flow\n5,2,\"a\"b\n", "line 2, column 8: a stray quote"),
        (b"time_ns,bytes,flow\n5,2,a\rb\n", "line 2, column 6: a control character; end"),
        (b"time_ns,bytes,flow\n5,2,a\xff\n", "line 2, column 6: not UTF-8; convert"),
        (b"time_ns,bytes,flow\n5,2,\"a\xff\"\n", "line 2, column 7: not UTF-8"),
        (b"time_ns,bytes,flow\n5,2,a\n\n6,2,a\n", "line 3, column 1: an empty line inside"),
    ];
    for (text, message) in cases {
        let found = read(text).unwrap_err();
        assert!(found.contains(message), "{:?}: {found}", String::from_utf8_lossy(text));
    }
}

#[test]
fn rows_before_an_error_are_returned_and_none_after() {
    let text = b"time_ns,bytes,flow\n1,2,a\nbad,2,a\n3,2,a\n";
    let rows: Vec<_> = CsvTrace::open(&text[..]).unwrap().collect();
    assert_eq!(rows.len(), 2);
    let first = OwnedRow { time_ns: 1, bytes: 2, flow: "a".to_owned(), line: 2 };
    assert_eq!(rows[0].as_ref().unwrap(), &first);
    assert_eq!(rows[1].as_ref().unwrap_err().line, 3);
}

#[test]
fn endless_lines_do_not_fill_memory() {
    let head = &b"time_ns,bytes,flow\n1,2,"[..];
    let mut trace = CsvTrace::open(std::io::Read::chain(head, std::io::repeat(b'x'))).unwrap();
    let error = trace.next_row().unwrap_err();
    assert!(matches!(error.kind, CsvErrorKind::TooLong), "{error}");
    assert_eq!((error.line, error.column), (2, MAX_LINE_BYTES + 1));
    // The longest line that is allowed.
    let name = "x".repeat(MAX_LINE_BYTES - "1,2,\n".len());
    assert_eq!(rows(&format!("time_ns,bytes,flow\n1,2,{name}\n"))[0].2, name);
    assert!(read(format!("time_ns,bytes,flow\n1,2,{name}x\n").as_bytes()).is_err());
}

proptest! {
    #![proptest_config(support::fixed_seed())]

    #[test]
    fn quoted_round_trip(names in prop::collection::vec("[a-z,\"ü ]{1,12}", 0..20), crlf: bool) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("time_ns,bytes,flow{end}");
        for (n, name) in names.iter().enumerate() {
            text += &format!("{n},{},\"{}\"{end}", n + 1, name.replace('"', "\"\""));
        }
        let read: Vec<_> = rows(&text).into_iter().map(|row| row.2).collect();
        prop_assert_eq!(read, names);
    }
}
