//! A sliding view of a byte stream: look ahead by a bounded amount, consume, know the offset.

use std::io::{self, ErrorKind, Read};

/// Bytes requested of the reader at a time; the buffer never exceeds the largest look-ahead by more.
const CHUNK: usize = 64 * 1024;

/// Buffered bytes of `inner` that are not consumed yet, with their offset in the stream.
#[derive(Debug)]
pub(crate) struct Window<R> {
    inner: R,
    buf: Vec<u8>,
    start: usize,
    end: usize,
    offset: u64,
    eof: bool,
    /// An error of looking further ahead than needed.
    deferred: Option<io::Error>,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(inner: R) -> Self {
        Window { inner, buf: Vec::new(), start: 0, end: 0, offset: 0, eof: false, deferred: None }
    }

    /// Offset in the stream of the first byte that is not consumed.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// All buffered bytes; `fill` makes a given number available.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buf[self.start..self.end]
    }

    /// Bytes buffered now.
    pub(crate) fn len(&self) -> usize {
        self.end - self.start
    }

    /// Makes at least `n` bytes available; `false` when the stream ends before that.
    #[inline]
    pub(crate) fn fill(&mut self, n: usize) -> io::Result<bool> {
        if self.end - self.start >= n { Ok(true) } else { self.fill_slowly(n) }
    }

    /// As `fill`, for bytes that are not needed yet: an error waits until they are.
    #[inline]
    pub(crate) fn look_ahead(&mut self, n: usize) -> bool {
        self.fill(n).unwrap_or_else(|e| {
            self.deferred = Some(e);
            false
        })
    }

    #[cold]
    fn fill_slowly(&mut self, n: usize) -> io::Result<bool> {
        if let Some(e) = self.deferred.take() {
            return Err(e);
        }
        while self.len() < n && !self.eof {
            let mut crowded = self.end == self.buf.len();
            if self.start + n > self.buf.len() && self.start > 0 {
                self.buf.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
                crowded = self.end * 2 >= self.buf.len();
            }
            // The buffer grows with the bytes that arrive, not with the length a file claims. The
            // slack keeps a byte-by-byte scan from moving the buffer for every byte.
            let most = n.max(CHUNK) + CHUNK.max(n / 4);
            if crowded && self.buf.len() < most {
                self.buf.resize((self.buf.len() * 2).clamp(CHUNK, most), 0);
            }
            match self.inner.read(&mut self.buf[self.end..]) {
                Ok(0) => self.eof = true,
                // A reader that claims more bytes than its buffer holds is not trusted.
                Ok(got) => self.end = (self.end + got).min(self.buf.len()),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(self.len() >= n)
    }

    /// Drops `n` buffered bytes (all of them when there are fewer).
    #[inline]
    pub(crate) fn consume(&mut self, n: usize) {
        let n = n.min(self.end - self.start);
        self.start += n;
        self.offset += n as u64;
    }
}

/// The byte order of a capture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The `u16` at `at`; 0 when it is not there.
    #[inline]
    pub(crate) fn u16(self, b: &[u8], at: usize) -> u16 {
        match b.get(at..).and_then(|b| b.first_chunk()) {
            Some(x) if self == Endian::Little => u16::from_le_bytes(*x),
            Some(x) => u16::from_be_bytes(*x),
            None => 0,
        }
    }

    /// The `u32` at `at`; 0 when it is not there.
    #[inline]
    pub(crate) fn u32(self, b: &[u8], at: usize) -> u32 {
        match b.get(at..).and_then(|b| b.first_chunk()) {
            Some(x) if self == Endian::Little => u32::from_le_bytes(*x),
            Some(x) => u32::from_be_bytes(*x),
            None => 0,
        }
    }

    /// The `u64` at `at`; 0 when it is not there.
    pub(crate) fn u64(self, b: &[u8], at: usize) -> u64 {
        match b.get(at..).and_then(|b| b.first_chunk()) {
            Some(x) if self == Endian::Little => u64::from_le_bytes(*x),
            Some(x) => u64::from_be_bytes(*x),
            None => 0,
        }
    }
}
