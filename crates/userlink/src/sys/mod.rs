//! System calls that no safe crate offers: the only unsafe code of the crate. Everything else calls these
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
