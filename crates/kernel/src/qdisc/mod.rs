//! The link's scheduler on an interface: brought up, looked at, taken down.
//!
//! One copy of the programs is loaded for each interface and registered as a qdisc of its own
//! name. What keeps it alive and tells about it is pinned in a folder of the BPF file system that
//! only its owner can enter; the qdisc itself lives as long as the interface has it.

mod error;
mod load;
mod netlink;
mod pins;

use std::io;
use std::os::unix::fs::MetadataExt as _;

pub use error::LinkError;
pub use load::{Programs, profile, verify};

use crate::counts::{self, Counts};
use crate::plan::Plan;
use error::kernel;
use netlink::Netlink;
use pins::Pins;

/// Major number of the qdisc's handle, as `tc` shows it: `1ac5:`.
const HANDLE: u32 = 0x1ac5_0000;

/// What is known of a link that is up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The policy it runs.
    pub policy: String,
    /// The scenario's file as it was brought up with.
    pub scenario: String,
    /// Whether the interface still has the qdisc: false after somebody else removed it.
    pub attached: bool,
    /// By flow, real-time flows first.
    pub counts: Vec<Counts>,
}

/// An interface, in the network namespace of the calling thread.
struct Place {
    netlink: Netlink,
    device: String,
    index: u32,
    net: u32,
}

impl Place {
    fn new(device: &str) -> Result<Place, LinkError> {
        let netlink = Netlink::open().map_err(kernel("open a socket to ask about interfaces"))?;
        let no_device = |_| LinkError::NoDevice { device: device.into() };
        let index = netlink.index(device).map_err(no_device)?;
        let path = "/proc/thread-self/ns/net";
        let net = std::fs::metadata(path)
            .map_err(|error| LinkError::Io { path: path.into(), error })?
            .ino() as u32;
        Ok(Place { netlink, device: device.into(), index, net })
    }

    /// Unique over the machine, as names of qdiscs must be; the kernel allows 15 characters. Numbers
    /// of namespaces begin a little below 0xf0000000. Pins may not have dots.
    fn kind(&self) -> String {
        format!("laxity{:x}_{:x}", self.net.wrapping_sub(0xefff_fff0), self.index)
    }

    fn pins(&self) -> Pins {
        Pins::new(&self.kind())
    }
}

/// Puts a plan on an interface. `about` is the text that [`status`] gives back.
///
/// # Errors
/// See [`LinkError`]; the interface is then as it was.
pub fn up(plan: &Plan, policy: &str, about: &str, device: &str) -> Result<(), LinkError> {
    let mut place = Place::new(device)?;
    let kind = place.kind();
    let root = place.netlink.root(place.index).map_err(kernel("list qdiscs"))?;
    if let Some(root) = root {
        if root.kind == kind {
            return Err(LinkError::Up { device: device.into() });
        }
        if root.handle != 0 {
            return Err(LinkError::Occupied { device: device.into(), kind: root.kind });
        }
    }
    // Of a link that somebody else took away.
    place.pins().remove()?;

    let segments = place.netlink.segments(place.index).map_err(kernel("describe the interface"))?;
    let header = format!("{policy} {}\n", segments.unwrap_or(0));
    let own = load::Own { kind: &kind, net: place.net, ifindex: place.index, handle: HANDLE };
    let mut programs = Programs::load(plan, &own, &(header + about))?;
    programs.register(&place.pins())?;
    let attached = attach(&mut place, &kind);
    if attached.is_err() {
        place.pins().remove()?;
    }
    attached
}

fn attach(place: &mut Place, kind: &str) -> Result<(), LinkError> {
    // A packet of many segments would hold the link for longer than admission counted with.
    place
        .netlink
        .set_segments(place.index, 1)
        .map_err(kernel("limit the interface to one segment a packet"))?;
    place.netlink.add_root(place.index, HANDLE, kind).map_err(kernel("attach the qdisc"))
}

/// What a link has done so far.
///
/// # Errors
/// When the interface has none, or it cannot be read.
pub fn status(device: &str) -> Result<Status, LinkError> {
    let mut place = Place::new(device)?;
    let pins = place.pins();
    let down = || LinkError::Down { device: device.into() };
    let about = pins.read("about")?.ok_or_else(down)?;
    let bytes = pins.read("counts")?.ok_or_else(down)?;
    let about = String::from_utf8_lossy(&about);
    let about = about.trim_end_matches('\0');
    let (header, scenario) = about.split_once('\n').unwrap_or((about, ""));
    let policy = header.split(' ').next().unwrap_or_default();
    let root = place.netlink.root(place.index).map_err(kernel("list qdiscs"))?;
    Ok(Status {
        policy: policy.into(),
        scenario: scenario.into(),
        attached: root.is_some_and(|root| root.kind == place.kind()),
        counts: bytes.chunks_exact(counts::SIZE).filter_map(Counts::read).collect(),
    })
}

/// Takes a link away and leaves the interface as it was found.
///
/// # Errors
/// When the interface has none, or the kernel refuses.
pub fn down(device: &str) -> Result<(), LinkError> {
    let mut place = Place::new(device)?;
    let pins = place.pins();
    let about = pins.read("about")?;
    let root = place.netlink.root(place.index).map_err(kernel("list qdiscs"))?;
    let attached = root.is_some_and(|root| root.kind == place.kind());
    if about.is_none() && !attached {
        return Err(LinkError::Down { device: place.device });
    }
    if attached {
        place.netlink.delete_root(place.index).map_err(kernel("remove the qdisc"))?;
    }
    if let Some(segments) = about.as_deref().and_then(segments_of) {
        let restored = place.netlink.set_segments(place.index, segments);
        restored.map_err(kernel("restore the segments of a packet"))?;
    }
    pins.remove()
}

/// The interface's segments before, from the first line of `about`.
fn segments_of(about: &[u8]) -> Option<u32> {
    let line = about.split(|b| *b == b'\n').next()?;
    let words = std::str::from_utf8(line).ok()?;
    words.split(' ').nth(1)?.parse().ok().filter(|n| *n > 0)
}

fn io_error(path: &std::path::Path) -> impl FnOnce(io::Error) -> LinkError {
    let path = path.display().to_string();
    move |error| LinkError::Io { path, error }
}
