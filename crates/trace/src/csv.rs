//! Packet traces as text: `time_ns,bytes,flow`.

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

use crate::window::Window;

/// Longest line of a trace, in bytes, its end included.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

const HEADER: [&str; 3] = ["time_ns", "bytes", "flow"];

/// Errors of a line of a trace.
#[derive(Debug)]
#[non_exhaustive]
pub enum CsvErrorKind {
    /// The reader failed.
    Io(io::Error),
    /// There is no line.
    Empty,
    /// The first line is not `time_ns,bytes,flow`.
    Header,
    /// The line has fewer or more than three fields.
    Fields {
        /// The number of its fields.
        found: usize,
    },
    /// A field is not a number, or not one that fits.
    Number {
        /// Name of the field.
        field: &'static str,
        /// Largest number that fits.
        max: u64,
        /// The start of the text there.
        found: String,
    },
    /// A packet of 0 bytes.
    ZeroBytes,
    /// A flow without a name.
    NoFlow,
    /// The time is before that of the line before it.
    Unsorted {
        /// Time of the line before, in nanoseconds.
        before: u64,
        /// Time of this line, in nanoseconds.
        time_ns: u64,
    },
    /// A quote that is not closed on its line, or one where none belongs.
    Quote,
    /// A control character, such as a lone carriage return.
    Control,
    /// The line is not UTF-8.
    NotUtf8,
    /// The line is longer than [`MAX_LINE_BYTES`].
    TooLong,
    /// An empty line with packets after it.
    Blank,
}

/// A line that could not be used; reading ends with it.
#[derive(Debug)]
pub struct CsvError {
    /// Line, counted from 1, the header being the first.
    pub line: u64,
    /// Column, counted from 1, in bytes.
    pub column: usize,
    /// The error.
    pub kind: CsvErrorKind,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: ", self.line, self.column)?;
        match &self.kind {
            CsvErrorKind::Io(e) => write!(f, "reading failed ({e}); read the file again"),
            CsvErrorKind::Empty => {
                write!(f, "the trace is empty; start it with the line time_ns,bytes,flow")
            }
            CsvErrorKind::Header => {
                write!(f, "the first line must be time_ns,bytes,flow; add or correct it")
            }
            CsvErrorKind::Fields { found } => write!(
                f,
                "{found} fields, not 3; write time_ns,bytes,flow and quote a name with a comma in it"
            ),
            CsvErrorKind::Number { field, max, found } => {
                write!(f, "{field} is {found:?}; write a whole number from 0 to {max}")
            }
            CsvErrorKind::ZeroBytes => write!(f, "a packet of 0 bytes; write 1 or more"),
            CsvErrorKind::NoFlow => write!(f, "the flow has no name; write one"),
            CsvErrorKind::Unsorted { before, time_ns } => write!(
                f,
                "time {time_ns} ns comes after {before} ns; sort the trace by time, for example with `sort -n`, header apart"
            ),
            CsvErrorKind::Quote => {
                write!(
                    f,
                    "a stray quote; quote whole fields, on one line, and double quotes inside"
                )
            }
            CsvErrorKind::Control => {
                write!(f, "a control character; end lines with LF or CRLF and remove it")
            }
            CsvErrorKind::NotUtf8 => write!(f, "not UTF-8; convert the file to UTF-8"),
            CsvErrorKind::TooLong => {
                write!(f, "a line of over {MAX_LINE_BYTES} bytes; check that this is a trace")
            }
            CsvErrorKind::Blank => write!(f, "an empty line inside the trace; remove it"),
        }
    }
}

impl std::error::Error for CsvError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            CsvErrorKind::Io(e) => Some(e),
            _ => None,
        }
    }
}

/// One packet of a trace, borrowed from the reader until the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CsvRow<'a> {
    /// Time in nanoseconds, from whatever start the trace counts.
    pub time_ns: u64,
    /// Length in bytes, at least 1.
    pub bytes: u32,
    /// Name of the flow, not empty.
    pub flow: &'a str,
    /// Line of the file, counted from 1.
    pub line: u64,
}

/// A [`CsvRow`] with a name of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedRow {
    /// See [`CsvRow::time_ns`].
    pub time_ns: u64,
    /// See [`CsvRow::bytes`].
    pub bytes: u32,
    /// See [`CsvRow::flow`].
    pub flow: String,
    /// See [`CsvRow::line`].
    pub line: u64,
}

/// A trace being read: a header line, then packets sorted by time.
///
/// A byte-order mark, CRLF, quoted fields and empty lines at the end are accepted. Memory stays
/// bounded by [`MAX_LINE_BYTES`] plus a constant.
#[derive(Debug)]
pub struct CsvTrace<R> {
    window: Window<R>,
    /// The flow's name where it is not the bytes of the line.
    unquoted: String,
    line: u64,
    /// Bytes of the line that was returned last.
    pending: usize,
    before_ns: u64,
    done: bool,
}

/// Where a field's text is.
enum Text {
    Line(Range<usize>),
    Unquoted,
}

/// The error and its column, counted from 0.
type Wrong = (usize, CsvErrorKind);

impl<R: Read> CsvTrace<R> {
    /// Starts reading a trace and checks its first line.
    ///
    /// # Errors
    ///
    /// When the reader fails, or the first line is not the header.
    pub fn open(reader: R) -> Result<Self, CsvError> {
        let mut trace = CsvTrace {
            window: Window::new(reader),
            unquoted: String::new(),
            line: 0,
            pending: 0,
            before_ns: 0,
            done: false,
        };
        let io = |e| CsvError { line: 1, column: 1, kind: CsvErrorKind::Io(e) };
        if trace.window.fill(3).map_err(io)? && trace.window.bytes().starts_with(b"\xef\xbb\xbf") {
            trace.window.consume(3);
        }
        let wrong = |column, kind| CsvError { line: 1, column: column + 1, kind };
        let Some(line) = trace.next_line()? else {
            return Err(wrong(0, CsvErrorKind::Empty));
        };
        let mut at = Some(0);
        for name in HEADER {
            let start = at.unwrap_or(line);
            let bytes = trace.window.bytes().get(..line).unwrap_or_default();
            let text = field(bytes, &mut at, &mut trace.unquoted);
            let text = text.map_err(|(column, kind)| wrong(column, kind))?;
            if text.map(|text| text_of(bytes, &text, &trace.unquoted) == name.as_bytes())
                != Some(true)
            {
                return Err(wrong(start, CsvErrorKind::Header));
            }
        }
        match at {
            Some(at) => Err(wrong(at, CsvErrorKind::Header)),
            None => Ok(trace),
        }
    }

    /// The next packet; `None` at the end, and ever after.
    ///
    /// # Errors
    ///
    /// When the reader fails or the line cannot be used; after that there are no more packets.
    pub fn next_row(&mut self) -> Result<Option<CsvRow<'_>>, CsvError> {
        match self.advance() {
            Ok(Some((time_ns, bytes, name))) => {
                let flow = match name {
                    Text::Line(range) => {
                        let bytes = self.window.bytes().get(range).unwrap_or_default();
                        // `advance` has checked it.
                        std::str::from_utf8(bytes).unwrap_or_default()
                    }
                    Text::Unquoted => &self.unquoted,
                };
                Ok(Some(CsvRow { time_ns, bytes, flow, line: self.line }))
            }
            Ok(None) => {
                self.done = true;
                Ok(None)
            }
            Err(e) => {
                self.done = true;
                Err(e)
            }
        }
    }

    fn advance(&mut self) -> Result<Option<(u64, u32, Text)>, CsvError> {
        if self.done {
            return Ok(None);
        }
        let Some(length) = self.next_line()? else { return Ok(None) };
        let line = self.line;
        let wrong = |(column, kind)| CsvError { line, column: column + 1, kind };
        if length == 0 {
            // Empty lines end the trace, and nothing else can.
            while let Some(length) = self.next_line()? {
                if length > 0 {
                    return Err(wrong((0, CsvErrorKind::Blank)));
                }
            }
            return Ok(None);
        }
        let bytes = self.window.bytes().get(..length).unwrap_or_default();
        let (time_ns, size, name) = packet(bytes, &mut self.unquoted).map_err(wrong)?;
        if time_ns < self.before_ns {
            let before = self.before_ns;
            return Err(wrong((0, CsvErrorKind::Unsorted { before, time_ns })));
        }
        self.before_ns = time_ns;
        Ok(Some((time_ns, size, name)))
    }

    /// Brings the next line to the start of the window and returns its length without its end.
    fn next_line(&mut self) -> Result<Option<usize>, CsvError> {
        self.window.consume(std::mem::take(&mut self.pending));
        let line = self.line + 1;
        let mut seen = 0;
        loop {
            let bytes = self.window.bytes();
            let end = bytes.iter().skip(seen).position(|b| *b == b'\n').map(|n| n + seen);
            let whole = end.map_or(bytes.len(), |end| end + 1);
            if whole > MAX_LINE_BYTES {
                let kind = CsvErrorKind::TooLong;
                return Err(CsvError { line, column: MAX_LINE_BYTES + 1, kind });
            }
            seen = bytes.len();
            if end.is_none() {
                let io = |e| CsvError { line, column: seen + 1, kind: CsvErrorKind::Io(e) };
                if self.window.fill(seen + 1).map_err(io)? {
                    continue;
                }
                if seen == 0 {
                    return Ok(None);
                }
            }
            self.pending = whole;
            self.line = line;
            let text = &self.window.bytes()[..end.unwrap_or(whole)];
            return Ok(Some(text.strip_suffix(b"\r").unwrap_or(text).len()));
        }
    }
}

impl<R: Read> Iterator for CsvTrace<R> {
    type Item = Result<OwnedRow, CsvError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next_row().transpose()?;
        Some(row.map(|row| OwnedRow {
            time_ns: row.time_ns,
            bytes: row.bytes,
            flow: row.flow.to_owned(),
            line: row.line,
        }))
    }
}

/// Reads a packet's line.
fn packet(line: &[u8], unquoted: &mut String) -> Result<(u64, u32, Text), Wrong> {
    let mut at = Some(0);
    let time_ns = number(line, &mut at, unquoted, 0, u64::MAX)?;
    let bytes_at = at.unwrap_or(line.len());
    let bytes = number(line, &mut at, unquoted, 1, u64::from(u32::MAX))?;
    let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let name_at = at.unwrap_or(line.len());
    let Some(name) = field(line, &mut at, unquoted)? else {
        return Err(too_few(line, 2));
    };
    if let Some(extra) = at {
        let found = 3 + count(line, extra, unquoted)?;
        return Err((extra, CsvErrorKind::Fields { found }));
    }
    if bytes == 0 {
        return Err((bytes_at, CsvErrorKind::ZeroBytes));
    }
    let text = text_of(line, &name, unquoted);
    if text.is_empty() {
        return Err((name_at, CsvErrorKind::NoFlow));
    }
    if let Some(n) = line.iter().position(u8::is_ascii_control) {
        return Err((n, CsvErrorKind::Control));
    }
    if let Err(e) = std::str::from_utf8(line) {
        return Err((e.valid_up_to(), CsvErrorKind::NotUtf8));
    }
    Ok((time_ns, bytes, name))
}

fn too_few(line: &[u8], found: usize) -> Wrong {
    (line.len(), CsvErrorKind::Fields { found })
}

fn count(line: &[u8], at: usize, unquoted: &mut String) -> Result<usize, Wrong> {
    let (mut at, mut found) = (Some(at), 0);
    while field(line, &mut at, unquoted)?.is_some() {
        found += 1;
    }
    Ok(found)
}

/// Reads the field number `index` as a number.
fn number(
    line: &[u8],
    at: &mut Option<usize>,
    unquoted: &mut String,
    index: usize,
    max: u64,
) -> Result<u64, Wrong> {
    let start = at.unwrap_or(line.len());
    let Some(text) = field(line, at, unquoted)? else { return Err(too_few(line, index)) };
    let text = text_of(line, &text, unquoted);
    // `parse` would also take a leading plus sign.
    let digits = std::str::from_utf8(text).ok().filter(|s| !s.starts_with('+'));
    match digits.and_then(|s| s.parse().ok()).filter(|n| *n <= max) {
        Some(n) => Ok(n),
        None => {
            let found = String::from_utf8_lossy(&text[..text.len().min(32)]).into_owned();
            Err((start, CsvErrorKind::Number { field: HEADER[index.min(2)], max, found }))
        }
    }
}

fn text_of<'a>(line: &'a [u8], text: &Text, unquoted: &'a str) -> &'a [u8] {
    match text {
        Text::Line(range) => line.get(range.clone()).unwrap_or_default(),
        Text::Unquoted => unquoted.as_bytes(),
    }
}

/// The field that starts at `at`, which then is where the next one starts; `None` after the last.
fn field(
    line: &[u8],
    at: &mut Option<usize>,
    unquoted: &mut String,
) -> Result<Option<Text>, Wrong> {
    let Some(start) = *at else { return Ok(None) };
    let rest = line.get(start..).unwrap_or_default();
    if rest.first() != Some(&b'"') {
        let length = rest.iter().position(|b| *b == b',');
        let text = &rest[..length.unwrap_or(rest.len())];
        if let Some(n) = text.iter().position(|b| *b == b'"') {
            return Err((start + n, CsvErrorKind::Quote));
        }
        *at = length.map(|n| start + n + 1);
        return Ok(Some(Text::Line(start..start + text.len())));
    }
    let mut text = Vec::new();
    let mut from = 1;
    *at = loop {
        let tail = rest.get(from..).unwrap_or_default();
        let Some(n) = tail.iter().position(|b| *b == b'"') else {
            return Err((start, CsvErrorKind::Quote));
        };
        text.extend_from_slice(&tail[..n]);
        from += n + 1;
        match rest.get(from) {
            Some(b'"') => text.push(b'"'),
            Some(b',') => break Some(start + from + 1),
            None => break None,
            Some(_) => return Err((start + from, CsvErrorKind::Quote)),
        }
        from += 1;
    };
    *unquoted = match String::from_utf8(text) {
        Ok(text) => text,
        Err(e) => return Err((start + 1 + e.utf8_error().valid_up_to(), CsvErrorKind::NotUtf8)),
    };
    Ok(Some(Text::Unquoted))
}
