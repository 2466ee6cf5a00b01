//! Scenarios of CPUs and their tasks.

pub mod keys;
pub mod locks;
pub mod model;
pub mod policies;
pub(crate) mod read;
mod write;

use crate::document::Document;
use crate::kind::KindInfo;

pub use model::CpuScenario;

/// This kind in the file language.
pub(crate) static KIND: KindInfo = KindInfo {
    name: "CPU",
    section: "cpu",
    noun: "a CPU scenario",
    keys: &keys::SCENARIO,
    policies: policies::POLICIES,
    some: Some(["task", "recording"]),
    either: &[],
    read: |root, path, cx| read::scenario(root, path, cx).map(Document::Cpu),
};
