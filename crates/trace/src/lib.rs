//! Packet captures, packet traces and recordings of schedulers: read, decoded, written.
//!
//! - [`Capture`] reads classic pcap and pcapng from any [`std::io::Read`] in bounded memory. What
//!   is wrong with a file is collected as [`Fault`]s with byte offsets; the rest of it is used.
//! - [`decode`] turns the first bytes of a frame into [`Headers`]: VLAN tags, DSCP, addresses,
//!   protocol, ports, for the link types of [`LinkType`].
//! - [`FlowIdentity`] is the flow of a frame, through tunnels; [`set_ce`] marks a packet.
//! - [`PcapngWriter`] and [`PcapWriter`] write captures with bytes that depend only on their
//!   input; [`SimPacket`] makes frames for packets that were only simulated.
//! - [`CsvTrace`] reads `time_ns,bytes,flow` packet traces.
//! - [`sched`] reads the output of `perf sched script` and `trace-cmd report`, [`rt_app`] workloads of
//!   rt-app.
//!
//! ```
//! use laxity_trace::{Capture, LinkType, PcapngWriter, SimPacket, decode};
//!
//! let mut out = PcapngWriter::new(Vec::new())?;
//! let port = out.add_interface(LinkType::ETHERNET, 0, "departures")?;
//! let packet = SimPacket { flow: 3, bytes: 1514, dscp: 46, sequence: 0 };
//! let frame = packet.frame()?;
//! out.packet(port, 1_000, frame.original_len, frame.bytes(), Some("slack 20 us"))?;
//! let file = out.finish()?;
//!
//! let mut capture = Capture::open(&file[..])?;
//! while let Some(frame) = capture.next_frame()? {
//!     let headers = decode(frame.link_type, frame.data);
//!     assert_eq!((frame.time_ns, headers.dscp), (1_000, Some(46)));
//! }
//! assert!(capture.report().faults.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod capture;
mod csv;
mod decode;
mod ecn;
mod fault;
mod frame;
#[doc(hidden)]
pub mod fuzz;
mod identity;
mod pcap;
mod pcapng;
pub mod rt_app;
pub mod sched;
mod synth;
mod window;
mod write;

pub use capture::{Capture, Format, Frames, Interface, Report, TimeOrder};
pub use csv::{CsvError, CsvErrorKind, CsvRow, CsvTrace, MAX_LINE_BYTES, OwnedRow};
pub use decode::{FiveTuple, Fragment, Headers, Stop, VlanStack, VlanTag, decode};
pub use ecn::{ECN_CE, set_ce};
pub use fault::{BadBlock, BadHeader, CaptureError, Fault, FaultKind, Faults, MAX_FAULTS};
pub use frame::{Frame, LinkType, OwnedFrame};
pub use identity::{FlowIdentity, IDENTITY_BYTES, Subflow};
pub use pcap::{MAX_ORIGINAL_BYTES, MAX_RECORD_BYTES};
pub use pcapng::{MAX_BLOCK_BYTES, MAX_INTERFACES};
pub use synth::{SIM_PORT_BASE, SIM_PORTS, SimFrame, SimPacket, simulated_flow};
pub use write::{PcapWriter, PcapngWriter, WriteError};
