//! Batches: packets gathered for one socket, sent in as few system calls as possible, each with a
//! known fate.

use std::io::IoSlice;

use nix::errno::Errno;

use super::transmit::{Message, Transmit};

/// Packets in a batch at most. Batches grow with the load and are full only when the thread is
/// behind: then more packets for one destination are at hand to leave as one, which is what lets it
/// catch up. On loopback a packet needs 1.5 to 3 µs, so the last of a full batch leaves about
/// half a millisecond after the first.
pub const BATCH: usize = 256;

/// Bytes in one segmented message at most: what one datagram can carry.
const LARGEST_RUN: usize = 65_000;

/// A packet on its way out.
#[derive(Debug, Default)]
pub struct Datagram {
    /// The packets to send.
    pub body: Vec<u8>,
    /// The sender's note: which stream.
    pub stream: u32,
    /// The sender's note: since when it could have gone, ns.
    pub due: u64,
    /// Where in the body the time of sending is written, 0 for nowhere.
    pub stamp: u16,
}

/// Complaints that one flush passes over, so that it ends.
const MOST_COMPLAINTS: usize = 4 * BATCH;

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The kernel has it.
    Sent,
    /// Too long for the path; packets larger than the path MTU are never fragmented.
    TooLong,
    /// The kernel refused it, twice.
    Refused(Errno),
}

/// How a flush ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Nothing waits any more.
    Done,
    /// The socket's buffer is full: it becomes writable again.
    Full,
    /// The device's queue is full; the system does not notify when it has room.
    Busy,
}

/// Packets that wait for one socket.
#[derive(Debug)]
pub struct Channel<T: Transmit> {
    pub(super) transmit: T,
    segment: bool,
    to: Vec<T::Address>,
    waiting: Vec<Datagram>,
    /// How many of those that wait are in order of destination already.
    arranged: usize,
}

impl<T: Transmit> Channel<T> {
    pub(super) fn new(transmit: T, segment: bool) -> Channel<T> {
        let (to, waiting) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
        Channel { transmit, segment, to, waiting, arranged: 0 }
    }

    /// The sender of batches.
    pub fn transmit(&self) -> &T {
        &self.transmit
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// Gives it back when a whole batch waits already.
    #[inline]
    pub fn push(&mut self, to: T::Address, datagram: Datagram) -> Result<(), Datagram> {
        if self.waiting.len() == BATCH {
            return Err(datagram);
        }
        self.to.push(to);
        self.waiting.push(datagram);
        Ok(())
    }

    /// Packets that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The packets that wait.
    pub fn waiting(&mut self) -> std::slice::IterMut<'_, Datagram> {
        self.waiting.iter_mut()
    }

    /// Drops what waits of a stream; answers how many.
    pub fn withdraw(&mut self, stream: u32) -> usize {
        let before = self.waiting.len();
        self.arranged = 0;
        let mut keep = self.waiting.iter().map(|d| d.stream != stream);
        self.to.retain(|_| keep.next().unwrap_or(false));
        self.waiting.retain(|d| d.stream != stream);
        before - self.waiting.len()
    }

    /// Discards waiting packets without sending them.
    pub fn take_waiting(&mut self) -> Vec<Datagram> {
        (self.arranged, _) = (0, self.to.clear());
        std::mem::take(&mut self.waiting)
    }

    /// Brings packets for one destination together, in their order, so that they can leave as runs.
    /// All of a batch are eligible, so that batching makes none late.
    fn arrange(&mut self) {
        let Channel { to, waiting, arranged, .. } = self;
        let fresh = *arranged..waiting.len();
        *arranged = waiting.len();
        if fresh.len() < 2 {
            return;
        }
        let mut order = [(0, 0); BATCH];
        let order = &mut order[..fresh.len()];
        for (place, (index, to)) in order.iter_mut().zip(fresh.clone().zip(&to[fresh.clone()])) {
            *place = (T::key(to), index);
        }
        order.sort_unstable();
        if order.windows(2).all(|pair| pair[0].0 != pair[1].0) {
            return;
        }
        let (first, mut sorted) = (fresh.start, Vec::with_capacity(BATCH));
        let mut targets = Vec::with_capacity(BATCH);
        for (_, index) in order {
            targets.push(to[*index]);
            sorted.push(std::mem::take(&mut waiting[*index]));
        }
        to[first..].copy_from_slice(&targets);
        for (place, datagram) in waiting[first..].iter_mut().zip(sorted) {
            *place = datagram;
        }
    }

    /// Sends waiting packets and reports the fate of each. Packets that a full buffer held back
    /// goes on waiting.
    ///
    /// A complaint of the network about one destination reaches the next sender on the socket,
    /// so an error counts against a packet only when it happens twice. Several complaints may follow
    /// each other; an ICMP error does not concern the current packet and is skipped.
    pub fn flush(&mut self, mut fate: impl FnMut(Datagram, Fate)) -> Flush {
        if self.segment {
            self.arrange();
        }
        let Channel { transmit, segment, to, waiting, arranged } = self;
        let fates: &mut [Fate; BATCH] = &mut [Fate::Sent; BATCH];
        let mut done = 0;
        let (mut tried, mut complaints) = (None, 0);
        // Packets before this place go out one by one after their run was refused.
        let mut singly_to = 0;
        let end = loop {
            if done == waiting.len() {
                break Flush::Done;
            }
            let mut slices = [IoSlice::new(&[]); BATCH];
            let packets = &mut slices[..waiting.len() - done];
            for (slice, datagram) in packets.iter_mut().zip(&waiting[done..]) {
                *slice = IoSlice::new(&datagram.body);
            }
            let most = if *segment { usize::MAX } else { 1 };
            let singly = singly_to.max(done) - done;
            let batch = gather(packets, &to[done..], most, singly);
            match transmit.transmit(&batch.messages, batch.segment) {
                Ok(sent) => {
                    done += batch.messages[..sent].iter().map(|m| m.packets.len()).sum::<usize>()
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break Flush::Full,
                Err(Errno::ENOBUFS) => break Flush::Busy,
                Err(Errno::ECONNREFUSED) if complaints < MOST_COMPLAINTS => complaints += 1,
                Err(_) if tried != Some((done, singly_to)) => tried = Some((done, singly_to)),
                Err(error) => {
                    let run = batch.messages[0].packets.len();
                    if run > 1 {
                        // The device or the path may not take runs.
                        *segment &= error != Errno::EIO;
                        singly_to = done + run;
                        continue;
                    }
                    fates[done] = match error {
                        Errno::EMSGSIZE => Fate::TooLong,
                        error => Fate::Refused(error),
                    };
                    done += 1;
                }
            }
        };
        *arranged = arranged.saturating_sub(done);
        to.drain(..done);
        for (datagram, outcome) in waiting.drain(..done).zip(fates) {
            fate(datagram, *outcome);
        }
        end
    }
}

struct Batch<'a, A> {
    messages: Vec<Message<'a, A>>,
    segment: Option<u16>,
}

/// Joins neighbours for one destination into runs of equal length, of which only the last may be
/// shorter. The kernel gets one length for the whole call, so a batch ends before a run of
/// another length or a single packet that would be cut.
fn gather<'a, A: Copy + PartialEq>(
    packets: &'a [IoSlice<'a>],
    to: &[A],
    most: usize,
    singly: usize,
) -> Batch<'a, A> {
    let mut batch = Batch { messages: Vec::with_capacity(packets.len()), segment: None };
    let mut longest = 0;
    let mut first = 0;
    while first < packets.len() {
        let run = if first < singly { 1 } else { run(&packets[first..], &to[first..], most) };
        let length = packets[first].len();
        if run > 1 {
            let cut = u16::try_from(length).ok();
            if batch.segment.is_some_and(|s| Some(s) != cut) || longest > length {
                break;
            }
            batch.segment = cut;
        } else if batch.segment.is_some_and(|s| usize::from(s) < length) {
            break;
        }
        longest = longest.max(length);
        let packets = &packets[first..first + run];
        batch.messages.push(Message { to: to[first], packets });
        first += run;
    }
    batch
}

/// How many packets from the first on form a run.
fn run<A: PartialEq>(packets: &[IoSlice<'_>], to: &[A], most: usize) -> usize {
    let length = packets[0].len();
    if length == 0 {
        return 1;
    }
    let mut count = 1;
    while count < packets.len().min(most) && to[count] == to[0] {
        let next = packets[count].len();
        if next > length || next == 0 || (count + 1) * length > LARGEST_RUN {
            break;
        }
        count += 1;
        if next < length {
            break;
        }
    }
    count
}
