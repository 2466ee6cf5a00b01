//! The control socket: streams come, change and go while the server runs.
//!
//! A Unix socket that only its owner and root may use. Each line is a request in JSON, each gets one
//! line back, `{"ok": ...}` or `{"error": "..."}`:
//!
//! ```text
//! {"add": {"name": "a", "destination": "127.0.0.1:5004", "ssrc": 7, "tolerance": "1/80",
//!          "gap_ns": 20000000, "source": {"media": {"path": "a.ogg", "repeat": true}}}}
//! {"change": {"name": "a", "tolerance": "1/20", "gap_ns": 20000000}}
//! {"remove": {"name": "a"}}
//! {"list": {}}
//! {"stats": {}}
//! {"describe": {"names": ["a"]}}
//! {"attach": {"name": "b"}}
//! ```
//!
//! (Each on one line.) The answer to `attach` carries the descriptor of the ring of a stream with
//! source `"shared"` (SCM_RIGHTS); the stream rests when that connection is closed.
//!
//! Where the server has a rate, `add` and `change` refuse a stream that needs more than the whole
//! link; when all streams together do, the answer has a `"warning"`.

mod listen;
mod request;
#[cfg(test)]
mod tests;

pub use listen::{Control, attach};
pub use request::{
    Add, Change, ConstantSource, FramesSource, MediaSource, Named, Names, None, Request,
    SourceRequest, statistics,
};
