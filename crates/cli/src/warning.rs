//! Notes and warnings on standard error.

use std::fmt::Display;
use std::io::Write;
use std::path::Path;

use laxity_trace::Report;

/// Prints a note. A closed standard error is ignored.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "laxity: {text}");
}

/// The faults of a capture, each with its offset in the file.
pub fn faults(path: &Path, report: &Report) {
    for fault in report.faults.kept() {
        say(format_args!("{}: {fault}", path.display()));
    }
    let more = report.faults.total() - report.faults.kept().len() as u64;
    if more > 0 {
        say(format_args!("{}: and {more} more faults", path.display()));
    }
    if !report.faults.is_empty() {
        say(format_args!("{}: the other {} packets are used", path.display(), report.frames));
    }
}
