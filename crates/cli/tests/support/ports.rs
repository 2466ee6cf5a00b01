//! Free ports, for programs that take theirs as arguments.

use std::net::{TcpListener, UdpSocket};
use std::sync::atomic::{AtomicU16, Ordering};

/// Ports of one call. The first is even.
pub const BLOCK: u16 = 32;
/// Below the ports that the kernel gives to those who name none, from 32768 on.
const BLOCKS: std::ops::Range<u16> = 512..896;

/// The first of [`BLOCK`] ports that are free now and that no other test of this process gets.
pub fn block() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let free = |port| {
        UdpSocket::bind(("127.0.0.1", port)).is_ok()
            && TcpListener::bind(("127.0.0.1", port)).is_ok()
    };
    // Processes that run beside this one begin elsewhere.
    let own = (std::process::id() % 48) as u16 * 8;
    for _ in BLOCKS {
        let taken = NEXT.fetch_add(1, Ordering::Relaxed);
        let first = (BLOCKS.start + (own + taken) % BLOCKS.len() as u16) * BLOCK;
        if (first..first + BLOCK).all(free) {
            return first;
        }
    }
    panic!("no free ports from {} on", BLOCKS.start * BLOCK);
}
