//! System calls that no safe crate offers: the only unsafe code here. Everything else asks these
//! files in safe terms.

#[allow(unsafe_code)]
pub mod bpf;
#[allow(unsafe_code)]
pub mod ethtool;
#[allow(unsafe_code)]
pub mod packet;
#[allow(unsafe_code)]
pub mod tun;
#[allow(unsafe_code)]
pub mod xsk;
