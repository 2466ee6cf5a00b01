//! Frames that a neighbour in the same machine hands over unfinished: ten bytes of a
//! `virtio_net_hdr`, then an Ethernet frame, whose checksum is completed and which is cut into
//! packets.
#![no_main]

use laxity_trace::LinkType;
use laxity_wire::segment::{Packets, Todo, complete, unfinished};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
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
});
