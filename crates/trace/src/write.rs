//! Captures written: every byte follows from what the caller gives, none from the host.

use std::fmt;
use std::io::{self, Write};

use crate::frame::LinkType;
use crate::pcap::{MAX_ORIGINAL_BYTES, MAX_RECORD_BYTES};
use crate::pcapng::{BYTE_ORDER_MARK, ENHANCED_PACKET, INTERFACE, MAX_INTERFACES, SECTION};

/// Why something could not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The writer failed.
    Io(io::Error),
    /// The packet's time does not fit into a pcap file, which ends in 2106.
    Time {
        /// The time in nanoseconds since 1970.
        time_ns: u64,
    },
    /// The packet is empty, or longer than a reader of this crate accepts.
    Length {
        /// Its bytes to be stored.
        captured: usize,
        /// Its bytes on the wire.
        original: u32,
    },
    /// More bytes were given than the packet has on the wire.
    ShortOriginal {
        /// The bytes given.
        captured: usize,
        /// The bytes on the wire.
        original: u32,
    },
    /// The link type does not fit into 16 bits.
    LinkType(LinkType),
    /// No interface of that number was added.
    UnknownInterface(u32),
    /// More than [`crate::MAX_INTERFACES`] interfaces.
    TooManyInterfaces,
    /// A comment or name of 64 KiB or more.
    TextTooLong(usize),
    /// A simulated packet's flow number is 2^24 or more, see [`crate::SimPacket`].
    FlowRange(u32),
    /// A simulated packet's DSCP is 64 or more.
    DscpRange(u8),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Io(e) => {
                write!(f, "writing the capture failed ({e}); check the disk and the path")
            }
            WriteError::Time { time_ns } => {
                write!(f, "time {time_ns} ns does not fit into pcap; write pcapng")
            }
            WriteError::Length { captured, original } => write!(
                f,
                "a packet of {original} bytes, {captured} of them stored; it can have 1 to {MAX_ORIGINAL_BYTES}, {MAX_RECORD_BYTES} of them stored"
            ),
            WriteError::ShortOriginal { captured, original } => write!(
                f,
                "{captured} bytes given of a packet of {original}; give no more than it has"
            ),
            WriteError::LinkType(LinkType(n)) => {
                write!(f, "link type {n} does not fit into 16 bits; use a LINKTYPE_ number")
            }
            WriteError::UnknownInterface(n) => {
                write!(f, "interface {n} was not added; add it before its packets")
            }
            WriteError::TooManyInterfaces => {
                write!(f, "more than {MAX_INTERFACES} interfaces; write several files")
            }
            WriteError::TextTooLong(n) => {
                write!(f, "a text of {n} bytes; at most {} fit into an option", u16::MAX)
            }
            WriteError::FlowRange(n) => {
                write!(f, "flow number {n} does not fit into 24 bits; number flows from 0")
            }
            WriteError::DscpRange(n) => write!(f, "DSCP {n} is over 63; give the code point alone"),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            WriteError::Io(e) => Some(e),
            _ => None,
        }
    }
}

impl From<io::Error> for WriteError {
    fn from(e: io::Error) -> Self {
        WriteError::Io(e)
    }
}

fn checked_lengths(captured: usize, original: u32) -> Result<u32, WriteError> {
    if original == 0 || original > MAX_ORIGINAL_BYTES || captured > MAX_RECORD_BYTES as usize {
        return Err(WriteError::Length { captured, original });
    }
    if captured > original as usize {
        return Err(WriteError::ShortOriginal { captured, original });
    }
    Ok(captured as u32)
}

fn link_number(link_type: LinkType) -> Result<u16, WriteError> {
    u16::try_from(link_type.0).map_err(|_| WriteError::LinkType(link_type))
}

/// Writes a pcapng file: little-endian, nanoseconds, one section, no mention of the host.
///
/// Nothing is buffered between packets; give it a [`std::io::BufWriter`] for a file.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    inner: W,
    block: Vec<u8>,
    interfaces: u32,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// When the writer fails.
    pub fn new(inner: W) -> Result<Self, WriteError> {
        let mut writer = PcapngWriter { inner, block: Vec::new(), interfaces: 0 };
        writer.begin(SECTION);
        writer.put32(BYTE_ORDER_MARK);
        writer.put32(1); // Version 1.0.
        writer.block.extend([0xff; 8]); // The section's length is unspecified.
        writer.end()?;
        Ok(writer)
    }

    /// Describes an interface and returns its number; `snaplen` 0 is no limit.
    ///
    /// # Errors
    ///
    /// When the writer fails, the name is too long, there are too many interfaces, or the link
    /// type is over 65535.
    pub fn add_interface(
        &mut self,
        link_type: LinkType,
        snaplen: u32,
        name: &str,
    ) -> Result<u32, WriteError> {
        let link = link_number(link_type)?;
        if self.interfaces as usize >= MAX_INTERFACES {
            return Err(WriteError::TooManyInterfaces);
        }
        self.begin(INTERFACE);
        self.put32(u32::from(link));
        self.put32(snaplen);
        if !name.is_empty() {
            self.option(2, name.as_bytes())?;
        }
        self.option(9, &[9])?; // Units of 10^-9 s.
        self.put32(0);
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes one packet: nanoseconds since 1970, bytes on the wire, the bytes to store (a prefix
    /// of the packet), and a comment that Wireshark shows with it.
    ///
    /// # Errors
    ///
    /// When the writer fails, the interface was not added, the lengths do not go together, or the
    /// comment is too long.
    pub fn packet(
        &mut self,
        interface: u32,
        time_ns: u64,
        original_len: u32,
        data: &[u8],
        comment: Option<&str>,
    ) -> Result<(), WriteError> {
        if interface >= self.interfaces {
            return Err(WriteError::UnknownInterface(interface));
        }
        let captured = checked_lengths(data.len(), original_len)?;
        self.begin(ENHANCED_PACKET);
        self.put32(interface);
        self.put32((time_ns >> 32) as u32);
        self.put32(time_ns as u32);
        self.put32(captured);
        self.put32(original_len);
        self.block.extend_from_slice(data);
        self.pad();
        if let Some(comment) = comment {
            self.option(1, comment.as_bytes())?;
            self.put32(0);
        }
        self.end()
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    ///
    /// When the writer fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.inner.flush()?;
        Ok(self.inner)
    }

    fn begin(&mut self, kind: u32) {
        self.block.clear();
        self.put32(kind);
        self.put32(0); // The length, known at the end.
    }

    fn put32(&mut self, value: u32) {
        self.block.extend(value.to_le_bytes());
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn option(&mut self, code: u16, value: &[u8]) -> Result<(), WriteError> {
        let length =
            u16::try_from(value.len()).map_err(|_| WriteError::TextTooLong(value.len()))?;
        self.block.extend(code.to_le_bytes());
        self.block.extend(length.to_le_bytes());
        self.block.extend_from_slice(value);
        self.pad();
        Ok(())
    }

    fn end(&mut self) -> Result<(), WriteError> {
        let length = (self.block.len() + 4) as u32;
        if let Some(slot) = self.block.get_mut(4..8) {
            slot.copy_from_slice(&length.to_le_bytes());
        }
        self.put32(length);
        self.inner.write_all(&self.block)?;
        Ok(())
    }
}

/// Writes a classic pcap file: little-endian, nanoseconds.
///
/// Nothing is buffered between packets; give it a [`std::io::BufWriter`] for a file.
#[derive(Debug)]
pub struct PcapWriter<W> {
    inner: W,
    record: Vec<u8>,
}

impl<W: Write> PcapWriter<W> {
    /// Starts a file; `snaplen` 0 is no limit.
    ///
    /// # Errors
    ///
    /// When the writer fails, or the link type is over 65535.
    pub fn new(mut inner: W, link_type: LinkType, snaplen: u32) -> Result<Self, WriteError> {
        let link = link_number(link_type)?;
        // Some readers take a limit of 0 literally.
        let snaplen = if snaplen == 0 { 262_144 } else { snaplen };
        let mut header = Vec::with_capacity(24);
        header.extend(0xa1b2_3c4d_u32.to_le_bytes());
        header.extend([2, 0, 4, 0]); // Version 2.4.
        header.extend([0; 8]); // Time zone and accuracy, unused.
        header.extend(snaplen.to_le_bytes());
        header.extend(u32::from(link).to_le_bytes());
        inner.write_all(&header)?;
        Ok(PcapWriter { inner, record: Vec::new() })
    }

    /// Writes one packet: nanoseconds since 1970, bytes on the wire, the bytes to store.
    ///
    /// # Errors
    ///
    /// When the writer fails, the time is past 2106, or the lengths do not go together.
    pub fn packet(
        &mut self,
        time_ns: u64,
        original_len: u32,
        data: &[u8],
    ) -> Result<(), WriteError> {
        let captured = checked_lengths(data.len(), original_len)?;
        let seconds =
            u32::try_from(time_ns / 1_000_000_000).map_err(|_| WriteError::Time { time_ns })?;
        let fraction = (time_ns % 1_000_000_000) as u32;
        self.record.clear();
        for field in [seconds, fraction, captured, original_len] {
            self.record.extend(field.to_le_bytes());
        }
        self.record.extend_from_slice(data);
        self.inner.write_all(&self.record)?;
        Ok(())
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    ///
    /// When the writer fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        self.inner.flush()?;
        Ok(self.inner)
    }
}
