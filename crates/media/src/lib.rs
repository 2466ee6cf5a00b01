//! Live traffic: a media server that sends thousands of RTP streams, scheduled by DWCS.
//!
//! - [`server`]: the server: producers, rings, DWCS, pacing, sockets.
//! - [`media`], [`rtp`], [`sdp`]: media files as RTP, described so that players find them.
//! - [`rtcp`], [`receiver`]: what receivers report, and one that measures.
//! - [`plan`]: the server that a scenario describes.
//! - [`control`], [`metrics`]: a server from outside while it runs.
//! - [`socket`]: batches out, errors in.
//! - [`thread_per_stream`]: the plain server that this one is measured against.
#![forbid(unsafe_code)]

pub mod control;
#[doc(hidden)]
pub mod fuzz;
pub mod media;
pub mod metrics;
pub mod plan;
pub mod receiver;
pub mod rtcp;
pub mod rtp;
pub mod sdp;
pub mod server;
pub mod socket;
pub mod thread_per_stream;
