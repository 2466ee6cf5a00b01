//! Input and output by packet sockets: any interface, no preparation.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use laxity_core::Time;

use crate::counts::Counts;
use crate::device::Device;
use crate::error::WireError;
use crate::pool::{Pool, Slot};
use crate::port::{self, Intake, Obstacle, Receive, Transmit, Transmitted};
use crate::segment::{self, Malformed, Packets, Todo};
use crate::sys::packet::{BATCH, Inbox, Outbox, PacketSocket, SPILL};

/// Packets of one large frame that are waiting for buffers at most; a frame has up to 64 KiB, and
/// packets of real traffic some 1400 B.
const MOST_CUTS: usize = 128;

/// Frames of an interface.
#[derive(Debug)]
pub struct PacketReceiver {
    device: Device,
    socket: PacketSocket,
    inbox: Inbox,
    /// Where a large frame is put together.
    whole: Vec<u8>,
}

impl PacketReceiver {
    /// Listens to an interface.
    ///
    /// # Errors
    /// There is no such interface, or this is not permitted.
    pub fn open(device: &Device) -> Result<PacketReceiver, WireError> {
        let socket = PacketSocket::receiver(device.index())
            .map_err(|e| WireError::io(device.name(), "listening with a packet socket", e))?;
        let whole = Vec::with_capacity(2 * SPILL);
        Ok(PacketReceiver { device: device.clone(), socket, inbox: Inbox::new(), whole })
    }

    /// One frame, with all that is left to do to it.
    fn receive_frame(&mut self, i: usize, (now, wall): (Time, Time), intake: &mut Intake<'_>) {
        let (slot, len, aux) = self.inbox.frame(i);
        let age = if aux.wall == 0 { 0 } else { wall.0.saturating_sub(aux.wall) };
        let stamp = Time(now.0.saturating_sub(age));
        intake.pool.received(slot, len, stamp);
        let done = match Todo::read(self.inbox.prefix(i)) {
            Ok(Todo { cut: None, checksum: None }) => Ok(false),
            Ok(Todo { cut: None, checksum: Some(places) }) => {
                intake.counts.checksums += 1;
                segment::complete(intake.pool.frame_mut(slot), places).map(|()| false)
            }
            Ok(Todo { cut: Some(cut), .. }) => {
                intake.counts.segmented += 1;
                let whole = &mut self.whole;
                whole.clear();
                whole.extend_from_slice(intake.pool.frame(slot));
                let rest = len.saturating_sub(whole.len()).min(SPILL);
                whole.extend_from_slice(&self.inbox.spilt(i)[..rest]);
                cut_up(whole, cut, stamp, aux.tag, intake).map(|()| true)
            }
            Err(Malformed) => Err(Malformed),
        };
        match done {
            Ok(false) => {
                if let Some((protocol, tag)) = aux.tag {
                    intake.pool.insert_tag(slot, protocol, tag);
                }
                intake.arrived.push(slot);
            }
            Ok(true) => intake.pool.release(slot),
            // A cut frame has no complete checksum, and is counted for its length.
            Err(Malformed) if intake.pool.is_cut(slot) => intake.arrived.push(slot),
            Err(Malformed) => {
                intake.counts.malformed += 1;
                intake.pool.release(slot);
            }
        }
    }
}

/// Puts the packets of a large frame into buffers of their own.
fn cut_up(
    whole: &[u8],
    cut: segment::Cut,
    stamp: Time,
    tag: Option<(u16, u16)>,
    intake: &mut Intake<'_>,
) -> Result<(), Malformed> {
    let Intake { pool, arrived, counts } = intake;
    let mut packets = Packets::of(whole, cut)?;
    for _ in 0..MOST_CUTS {
        let Some(slot) = pool.allocate() else { break };
        let Some(len) = packets.next_into(pool.buffer(slot)) else {
            pool.release(slot);
            return Ok(());
        };
        pool.received(slot, len, stamp);
        if let Some((protocol, tag)) = tag {
            pool.insert_tag(slot, protocol, tag);
        }
        arrived.push(slot);
    }
    // Frames without a buffer are lost and counted.
    counts.overflow += std::iter::from_fn(|| packets.next_into(&mut [])).count() as u64;
    Ok(())
}

impl Receive for PacketReceiver {
    fn receive(&mut self, intake: &mut Intake<'_>) -> Result<(), WireError> {
        let received = match self.inbox.receive(&self.socket, intake.pool) {
            Ok(n) => n,
            // A frame that stands for several in a way that its header cannot describe (SCTP)
            // is gone; those behind it are not.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                intake.counts.malformed += 1;
                return Ok(());
            }
            Err(e) => return self.device.excuse(e, "receiving"),
        };
        // Stamps are of the wall clock, which may jump; ages are not affected by that.
        let clocks = (port::now(), port::wall());
        for i in 0..received {
            self.receive_frame(i, clocks, intake);
        }
        self.inbox.release(received);
        Ok(())
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn check(&mut self, counts: &mut Counts) -> Result<(), WireError> {
        counts.overflow += self.socket.lost();
        self.device.check()
    }
}

/// Frames to an interface.
#[derive(Debug)]
pub struct PacketTransmitter {
    device: Device,
    socket: PacketSocket,
    outbox: Outbox,
}

impl PacketTransmitter {
    /// Sends to an interface.
    ///
    /// # Errors
    /// There is no such interface, or this is not permitted.
    pub fn open(device: &Device) -> Result<PacketTransmitter, WireError> {
        let socket = PacketSocket::sender(device.index())
            .map_err(|e| WireError::io(device.name(), "sending with a packet socket", e))?;
        Ok(PacketTransmitter { device: device.clone(), socket, outbox: Outbox::new() })
    }
}

impl Transmit for PacketTransmitter {
    fn transmit(&mut self, pool: &Pool, frames: &[Slot]) -> Result<Transmitted, WireError> {
        let mut transmitted = Transmitted { frames: 0, obstacle: None };
        while transmitted.frames < frames.len() {
            let rest = &frames[transmitted.frames..];
            match self.outbox.send(&self.socket, pool, &rest[..rest.len().min(BATCH)]) {
                Ok(n) => transmitted.frames += n,
                Err(e) => {
                    transmitted.obstacle = Some(obstacle(&self.device, e)?);
                    break;
                }
            }
        }
        Ok(transmitted)
    }

    fn check(&mut self) -> Result<(), WireError> {
        self.device.check()
    }
}

/// The meaning of an error of sending.
pub(crate) fn obstacle(device: &Device, error: io::Error) -> Result<Obstacle, WireError> {
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::ENOBUFS | libc::ENOMEM | libc::EBUSY | libc::EINTR) => {
            Ok(Obstacle::Full)
        }
        Some(libc::EMSGSIZE) => Ok(Obstacle::TooLong),
        _ => device.excuse(error, "sending").map(|()| Obstacle::Down),
    }
}
