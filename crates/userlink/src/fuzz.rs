//! Entry points of a fuzzer: plain functions that panic only when something is wrong.

use laxity_trace::LinkType;

use crate::segment::{Packets, Todo, complete, unfinished};

/// Any bytes are what a neighbour in the same machine hands over: ten of a `struct virtio_net_hdr`,
/// then an Ethernet frame. The checksum is completed and the frame is cut into packets, or it is
/// malformed. A place that is found for a checksum lies in the frame; packets are no longer than
/// `longest`, and no more than the bytes of the frame.
///
/// # Panics
/// When one of these does not hold.
pub fn segments(data: &[u8]) {
    let Some((prefix, frame)) = data.split_first_chunk::<10>() else { return };
    if let Some(place) = unfinished(LinkType::ETHERNET, frame) {
        let mut frame = frame.to_vec();
        assert!(complete(&mut frame, place).is_ok());
    }
    let Ok(todo) = Todo::read(prefix) else { return };
    let mut frame = frame.to_vec();
    if todo.checksum.is_some_and(|place| complete(&mut frame, place).is_err()) {
        return;
    }
    let Some(cut) = todo.cut else { return };
    let Ok(mut packets) = Packets::of(&frame, cut) else { return };
    let mut buffer = vec![0; packets.longest()];
    let (longest, mut count) = (packets.longest(), 0);
    while let Some(length) = packets.next_into(&mut buffer) {
        assert!(length <= longest);
        count += 1;
        assert!(count <= frame.len());
    }
}
