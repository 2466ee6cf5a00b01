//! Scenarios of a link and the flows that share it.

mod config;
pub mod keys;
pub mod model;
pub mod policies;
pub(crate) mod read;
mod write;

use crate::document::{Document, DocumentKind};
use crate::kind::{AnyScenario, KindInfo};

pub use model::Scenario;

/// What the file language needs to know of this kind.
pub(crate) static KIND: KindInfo = KindInfo {
    kind: DocumentKind::Link,
    section: "link",
    noun: "a link scenario",
    keys: &keys::SCENARIO,
    some: Some(["realtime", "best_effort"]),
    either: &[(&keys::REALTIME, ["deadline", "rspec"])],
    read: |root, path, cx| read::scenario(root, path, cx).map(Document::Link),
};

impl AnyScenario for Scenario {
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
