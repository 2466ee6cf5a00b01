//! Live traffic: a media server that sends thousands of RTP streams, each when DWCS says.
#![forbid(unsafe_code)]

pub mod media;
pub mod receiver;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod server;
pub mod socket;
pub mod thread_per_stream;
