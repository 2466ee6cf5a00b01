//! Trace events: JSON that Perfetto (ui.perfetto.dev), speedscope and chrome://tracing open.
//!
//! The format is the "Trace Event Format" of Chromium's trace viewer, JSON object form. Times are
//! microseconds; decimals keep the nanoseconds. Metadata events (`M`) name and sort processes and
//! threads.
//!
//! Beginnings and ends rather than complete events (`X`): viewers that compute with floating point
//! would find the end of a slice, begin plus duration, a little after the beginning of the next one,
//! and draw the one inside the other.

use std::fmt::Arguments;
use std::io::{self, Write};

use laxity_core::Time;

/// Writes events.
pub struct TraceEvents<W: Write> {
    to: W,
    begun: bool,
}

/// The track of an event: a process and a thread of it, in the terms of viewers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track {
    /// The process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
}

impl<W: Write> TraceEvents<W> {
    /// Begins the file.
    pub fn new(mut to: W) -> io::Result<TraceEvents<W>> {
        to.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
        Ok(TraceEvents { to, begun: false })
    }

    /// Ends the file.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.write_all(b"\n]}\n")?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn event(&mut self, fields: Arguments<'_>) -> io::Result<()> {
        let comma = if std::mem::replace(&mut self.begun, true) { "," } else { "" };
        write!(self.to, "{comma}\n{{{fields}}}")
    }

    /// Names a process.
    pub fn process(&mut self, pid: u32, name: &str) -> io::Result<()> {
        let quoted = serde_json::to_string(name)?;
        let meta = |what: &str, key: &str, value: &str| {
            format!("\"ph\":\"M\",\"pid\":{pid},\"name\":\"{what}\",\"args\":{{\"{key}\":{value}}}")
        };
        self.event(format_args!("{}", meta("process_name", "name", &quoted)))?;
        self.event(format_args!("{}", meta("process_sort_index", "sort_index", &pid.to_string())))
    }

    /// Names a thread.
    pub fn thread(&mut self, Track { pid, tid }: Track, name: &str) -> io::Result<()> {
        let quoted = serde_json::to_string(name)?;
        let meta = |what: &str, key: &str, value: &str| {
            format!(
                "\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"name\":\"{what}\",\
                 \"args\":{{\"{key}\":{value}}}"
            )
        };
        self.event(format_args!("{}", meta("thread_name", "name", &quoted)))?;
        self.event(format_args!("{}", meta("thread_sort_index", "sort_index", &tid.to_string())))
    }

    /// From one time to another.
    pub fn span(&mut self, name: &str, track: Track, from: Time, to: Time) -> io::Result<()> {
        self.edge("B", track, from, name, "")?;
        self.edge("E", track, to, name, "")
    }

    /// Begins a slice; `args` are fields of an object.
    pub fn begin(&mut self, name: &str, track: Track, at: Time, args: &str) -> io::Result<()> {
        self.edge("B", track, at, name, args)
    }

    /// Ends a slice.
    pub fn end(&mut self, name: &str, track: Track, at: Time) -> io::Result<()> {
        self.edge("E", track, at, name, "")
    }

    fn edge(
        &mut self,
        phase: &str,
        Track { pid, tid }: Track,
        at: Time,
        name: &str,
        args: &str,
    ) -> io::Result<()> {
        let (ts, name, args) = (micros(at.0), serde_json::to_string(name)?, object(args));
        self.event(format_args!(
            "\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"name\":{name}{args}"
        ))
    }

    /// Something at a time.
    pub fn instant(&mut self, name: &str, track: Track, at: Time, args: &str) -> io::Result<()> {
        let Track { pid, tid } = track;
        let (ts, args) = (micros(at.0), object(args));
        self.event(format_args!(
            "\"ph\":\"i\",\"s\":\"t\",\"pid\":{pid},\"tid\":{tid},\"ts\":{ts},\"name\":\"{name}\"{args}"
        ))
    }
}

fn object(args: &str) -> String {
    if args.is_empty() { String::new() } else { format!(",\"args\":{{{args}}}") }
}

/// Nanoseconds as microseconds with as many decimals as they need.
pub fn micros(ns: u64) -> String {
    let (whole, part) = (ns / 1000, ns % 1000);
    match part {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:03}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::micros;

    // Fails when nanoseconds are lost or turn into other decimals.
    #[test]
    fn nanoseconds_are_kept() {
        assert_eq!(["0", "0.001", "1", "1.05", "2.5"], [0, 1, 1000, 1050, 2500].map(micros)[..]);
        assert_eq!(micros(u64::MAX), "18446744073709551.615");
    }
}
