//! Frames that a neighbour in the same machine hands over unfinished: ten bytes of a
//! `virtio_net_hdr`, then an Ethernet frame, which gets its checksum and is cut into
//! packets.
#![no_main]

use laxity_userlink::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| fuzz::segments(data));
