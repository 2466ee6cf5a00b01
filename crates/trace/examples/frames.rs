//! Prints what is read of a capture, a line per frame, for comparison with other tools.
//!
//! `cargo run -p laxity-trace --example frames -- FILE`: time in ns, captured and original length,
//! DSCP, IP version, source, destination, protocol, ports; `-` for what is not there. The report
//! goes to standard error.

use std::error::Error;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write, stdout};

use laxity_trace::{Capture, decode};

fn show<T: Display>(value: Option<T>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of a capture")?;
    let mut capture = Capture::open(File::open(path)?)?;
    let mut out = BufWriter::new(stdout().lock());
    while let Some(frame) = capture.next_frame()? {
        let h = decode(frame.link_type, frame.data);
        writeln!(
            out,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            frame.time_ns,
            frame.data.len(),
            frame.original_len,
            show(h.dscp),
            show(h.ip_version),
            show(h.src),
            show(h.dst),
            show(h.protocol),
            show(h.sport),
            show(h.dport),
        )?;
    }
    out.flush()?;
    for fault in capture.report().faults.kept() {
        eprintln!("{fault}");
    }
    eprintln!("{:?}", capture.report());
    Ok(())
}
