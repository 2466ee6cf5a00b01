//! Input and output by XDP sockets: cheaper than packet sockets, for interfaces with one queue.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use laxity_trace::LinkType;

use crate::counts::Counts;
use crate::device::{Device, control};
use crate::error::WireError;
use crate::packet::obstacle;
use crate::pool::{Pool, Slot};
use crate::port::{self, Intake, Obstacle, Receive, Transmit, Transmitted};
use crate::segment;
use crate::sys::{bpf, ethtool, xsk};

/// Frames to a round.
const BATCH: u32 = 256;

/// An Ethernet header with two tags: frames are this much longer than packets.
const LINK_HEADER: u32 = 14 + 2 * 4;

/// Frames of an interface.
#[derive(Debug)]
pub struct XdpReceiver {
    device: Device,
    socket: xsk::XskIn,
    lost: u64,
    /// The program is there as long as this is.
    _program: OwnedFd,
}

/// Frames to an interface.
#[derive(Debug)]
pub struct XdpTransmitter {
    device: Device,
    socket: xsk::XskOut,
    longest: usize,
}

/// Both halves of an interface. From now on it gives all that comes in to the receiver, and
/// nothing to this machine.
///
/// # Errors
/// The interface has several queues or cannot do it, another program is there, or this is not
/// permitted.
pub fn open(device: &Device) -> Result<(XdpReceiver, XdpTransmitter), WireError> {
    let failed = |what| move |e| WireError::io(device.name(), what, e);
    let ask = control().map_err(failed("asking for queues"))?;
    let queues = ethtool::queues(ask.as_fd(), device.name()).unwrap_or(1);
    if queues > 1 {
        let device = device.name().to_owned();
        return Err(WireError::Queues { device, queues });
    }
    let mtu = ethtool::mtu(ask.as_fd(), device.name()).map_err(failed("asking for the MTU"))?;
    let longest = mtu.saturating_add(LINK_HEADER) as usize;
    if longest > xsk::LONGEST {
        let device = device.name().to_owned();
        return Err(WireError::Jumbo { device, mtu });
    }
    let (receive, send) = xsk::open(device.index(), 0).map_err(failed("opening an XDP socket"))?;
    let map = bpf::socket_map(1).map_err(failed("making a map of sockets"))?;
    bpf::insert(map.as_fd(), 0, receive.as_fd()).map_err(failed("filling a map of sockets"))?;
    let program = bpf::redirect(map.as_fd()).map_err(failed("loading a program for XDP"))?;
    let attached = bpf::attach(program.as_fd(), device.index())
        .map_err(failed("attaching a program for XDP"))?;
    let receive =
        XdpReceiver { device: device.clone(), socket: receive, lost: 0, _program: attached };
    Ok((receive, XdpTransmitter { device: device.clone(), socket: send, longest }))
}

impl Receive for XdpReceiver {
    fn receive(&mut self, intake: &mut Intake<'_>) -> Result<(), WireError> {
        let Intake { pool, arrived, counts } = intake;
        let now = port::now();
        self.socket.receive(BATCH, |frame| {
            let Some(slot) = pool.allocate() else { return false };
            let buffer = pool.buffer(slot);
            let part = frame.len().min(buffer.len());
            buffer[..part].copy_from_slice(&frame[..part]);
            pool.received(slot, frame.len(), now);
            // A frame has no metadata, but an incomplete checksum can be detected.
            let frame = pool.frame_mut(slot);
            if let Some(places) = segment::unfinished(LinkType::ETHERNET, frame) {
                counts.checksums += u64::from(segment::complete(frame, places).is_ok());
            }
            arrived.push(slot);
            true
        });
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn check(&mut self, counts: &mut Counts) -> Result<(), WireError> {
        let lost = self.socket.lost();
        counts.overflow += lost.saturating_sub(self.lost);
        self.lost = lost;
        self.device.check()
    }
}

impl XdpTransmitter {
    /// The MTU may change, and the kernel does not report frames that are too long for it.
    fn measure(&mut self) {
        let mtu = control().and_then(|ask| ethtool::mtu(ask.as_fd(), self.device.name()));
        if let Ok(mtu) = mtu {
            self.longest = (mtu.saturating_add(LINK_HEADER) as usize).min(xsk::LONGEST);
        }
    }
}

impl Transmit for XdpTransmitter {
    fn transmit(&mut self, pool: &Pool, frames: &[Slot]) -> Result<Transmitted, WireError> {
        let fits = |frame: &&[u8]| frame.len() <= self.longest;
        let put = self.socket.put(frames.iter().map(|slot| pool.frame(*slot)).take_while(fits));
        let next = frames.get(put).map(|slot| pool.frame(*slot));
        // Frames in the ring wait for room, in order; the kernel sends them at the next call.
        let stuck = match self.socket.kick() {
            Ok(0) => None,
            Ok(_) => Some(Obstacle::Full),
            Err(e) => Some(obstacle(&self.device, e)?),
        };
        let too_long = next.is_some_and(|frame| frame.len() > self.longest);
        let obstacle = match (stuck, next) {
            (None, Some(_)) if too_long => Some(Obstacle::TooLong),
            (None, Some(_)) => Some(Obstacle::Full),
            (stuck, _) => stuck,
        };
        Ok(Transmitted { frames: put, obstacle })
    }

    fn check(&mut self) -> Result<(), WireError> {
        self.measure();
        self.device.check()
    }
}
