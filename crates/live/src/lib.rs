//! Live traffic: a media server that sends thousands of RTP streams, each when DWCS says.
#![forbid(unsafe_code)]

pub mod media;
pub mod rtp;
pub mod sdp;
pub mod socket;
