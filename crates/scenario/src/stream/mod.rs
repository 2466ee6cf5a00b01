//! Scenarios of a media server and its streams.

pub mod keys;
pub mod model;
pub mod policies;
pub(crate) mod read;
mod write;

use crate::document::{Document, DocumentKind};
use crate::kind::{AnyScenario, KindInfo};

pub use model::StreamScenario;

/// What the file language needs to know of this kind.
pub(crate) static KIND: KindInfo = KindInfo {
    kind: DocumentKind::Stream,
    section: "server",
    noun: "a stream scenario",
    keys: &keys::SCENARIO,
    some: None,
    either: &[(&keys::SERVER, ["rate", "service"]), (&keys::STREAM, ["tolerance", "application"])],
    read: |root, path, cx| read::scenario(root, path, cx).map(Document::Stream),
};

impl AnyScenario for StreamScenario {
    fn info(&self) -> &'static KindInfo {
        &KIND
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn to_toml(&self) -> String {
        self.to_toml()
    }
}
