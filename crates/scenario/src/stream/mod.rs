//! Scenarios of a media server and its streams.

pub mod keys;
pub mod model;
pub mod policies;
pub(crate) mod read;
mod write;

use crate::document::Document;
use crate::kind::KindInfo;

pub use model::StreamScenario;

/// This kind in the file language.
pub(crate) static KIND: KindInfo = KindInfo {
    name: "stream",
    section: "server",
    noun: "a stream scenario",
    keys: &keys::SCENARIO,
    policies: policies::POLICIES,
    some: None,
    either: &[
        (&keys::SERVER, &[&["rate"], &["service"]]),
        (&keys::STREAM, &[&["tolerance"], &["application"]]),
    ],
    read: |root, path, cx| read::scenario(root, path, cx).map(Document::Stream),
};
