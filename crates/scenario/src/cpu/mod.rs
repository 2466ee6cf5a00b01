//! Scenarios of CPUs and their tasks.

pub mod keys;
pub mod model;
pub mod policies;
pub(crate) mod read;
mod write;

use crate::document::{Document, DocumentKind};
use crate::kind::{AnyScenario, KindInfo};

pub use model::CpuScenario;

/// What the file language needs to know of this kind.
pub(crate) static KIND: KindInfo = KindInfo {
    kind: DocumentKind::Cpu,
    section: "cpu",
    noun: "a CPU scenario",
    keys: &keys::SCENARIO,
    some: Some(["task", "recording"]),
    either: &[],
    read: |root, path, cx| read::scenario(root, path, cx).map(Document::Cpu),
};

impl AnyScenario for CpuScenario {
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
