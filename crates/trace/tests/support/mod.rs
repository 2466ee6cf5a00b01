//! Capture files built by hand, in both byte orders.
#![allow(dead_code, reason = "each test file uses its part")]

pub mod packet;

use laxity_trace::{Capture, OwnedFrame, Report};
use proptest::test_runner::{Config, RngSeed};

/// The same cases in every run, and no files left behind.
pub fn fixed_seed() -> Config {
    Config { rng_seed: RngSeed::Fixed(0x1a71), failure_persistence: None, ..Config::default() }
}

/// Appends fields in one byte order.
#[derive(Clone)]
pub struct Bytes {
    pub big: bool,
    pub out: Vec<u8>,
}

impl Bytes {
    pub fn new(big: bool) -> Self {
        Bytes { big, out: Vec::new() }
    }

    pub fn u16(&mut self, v: u16) -> &mut Self {
        self.out.extend(if self.big { v.to_be_bytes() } else { v.to_le_bytes() });
        self
    }

    pub fn u32(&mut self, v: u32) -> &mut Self {
        self.out.extend(if self.big { v.to_be_bytes() } else { v.to_le_bytes() });
        self
    }

    pub fn u64(&mut self, v: u64) -> &mut Self {
        self.out.extend(if self.big { v.to_be_bytes() } else { v.to_le_bytes() });
        self
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }

    /// The file header of a pcap file.
    pub fn pcap(big: bool, magic: u32, snaplen: u32, link: u32) -> Self {
        let mut b = Bytes::new(big);
        b.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(snaplen).u32(link);
        b
    }

    /// A pcap record.
    pub fn record(&mut self, sec: u32, frac: u32, original: u32, data: &[u8]) -> &mut Self {
        self.u32(sec).u32(frac).u32(data.len() as u32).u32(original).raw(data)
    }

    /// A pcapng block around a body, padded.
    pub fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let padded = body.len().next_multiple_of(4);
        let length = (padded + 12) as u32;
        self.u32(kind).u32(length).raw(body).raw(&[0; 3][..padded - body.len()]).u32(length)
    }

    /// A section header block.
    pub fn section(&mut self) -> &mut Self {
        let mut body = Bytes::new(self.big);
        body.u32(0x1a2b_3c4d).u16(1).u16(0).u64(u64::MAX);
        self.block(0x0a0d_0d0a, &body.out)
    }

    /// An interface description block with options as code and value.
    pub fn interface(&mut self, link: u16, snaplen: u32, options: &[(u16, &[u8])]) -> &mut Self {
        let mut body = Bytes::new(self.big);
        body.u16(link).u16(0).u32(snaplen).options(options);
        self.block(1, &body.out)
    }

    /// An enhanced packet block.
    pub fn enhanced(&mut self, id: u32, time: u64, original: u32, data: &[u8]) -> &mut Self {
        self.enhanced_with(id, time, original, data, &[])
    }

    /// An enhanced packet block with options.
    pub fn enhanced_with(
        &mut self,
        id: u32,
        time: u64,
        original: u32,
        data: &[u8],
        options: &[(u16, &[u8])],
    ) -> &mut Self {
        let mut body = Bytes::new(self.big);
        body.u32(id).u32((time >> 32) as u32).u32(time as u32);
        body.u32(data.len() as u32).u32(original).raw(data);
        body.out.resize(body.out.len().next_multiple_of(4), 0);
        body.options(options);
        self.block(6, &body.out)
    }

    fn options(&mut self, options: &[(u16, &[u8])]) -> &mut Self {
        for (code, value) in options {
            self.u16(*code).u16(value.len() as u16).raw(value);
            self.out.resize(self.out.len().next_multiple_of(4), 0);
        }
        if !options.is_empty() {
            self.u32(0);
        }
        self
    }
}

/// Every frame of a capture that opens, and the report.
pub fn read(file: &[u8]) -> (Vec<OwnedFrame>, Report) {
    let mut capture = Capture::open(file).expect("it opens");
    let frames = capture.frames().map(|frame| frame.expect("memory can be read")).collect();
    (frames, capture.report().clone())
}

/// The most memory the process has held, in bytes; `None` where the system does not report it.
pub fn peak_memory() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib << 10)
}

/// Hands over so many changed copies of a text, the same in every run: bytes flipped or replaced by
/// ones that mean something, pieces cut, doubled and moved.
pub fn mutate(text: &[u8], copies: u64, mut take: impl FnMut(&[u8])) {
    const MEANING: &[u8] = b"0123456789.:-=[]/{}\",\\ \n\xff";
    for copy in 0..copies {
        let mut state = copy.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |n: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % n.max(1) as u64) as usize
        };
        let mut changed = text.to_vec();
        for _ in 0..1 + below(3) {
            let (a, b) = (below(changed.len()), below(changed.len()));
            let (a, b) = (a.min(b), a.max(b).min(a.min(b) + 200));
            match below(5) {
                0 if !changed.is_empty() => changed[a] ^= 1 << below(8),
                1 if !changed.is_empty() => changed[a] = MEANING[below(MEANING.len())],
                2 => drop(changed.drain(a..b)),
                3 => changed.extend_from_within(a..b),
                _ => {
                    let piece = changed[a..b].to_vec();
                    let at = below(changed.len());
                    changed.splice(at..at, piece);
                }
            }
        }
        take(&changed);
    }
}
