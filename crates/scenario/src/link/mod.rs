//! Scenarios of a link and the flows that share it.

mod at_rate;
mod config;
pub mod keys;
pub mod model;
pub mod policies;
pub mod queueing;
pub(crate) mod read;
pub mod service_curve;
pub mod sharing;
pub mod tcp;
mod write;

use crate::document::Document;
use crate::kind::KindInfo;

pub use model::Scenario;

/// This kind in the file language.
pub(crate) static KIND: KindInfo = KindInfo {
    name: "link",
    section: "link",
    noun: "a link scenario",
    keys: &keys::SCENARIO,
    policies: laxity_link::registry::POLICIES,
    some: Some(["realtime", "best_effort"]),
    either: &[(
        &keys::REALTIME,
        &[&["deadline", "envelope"], &["rspec", "envelope"], &["service_curve"]],
    )],
    read: |root, path, cx| read::scenario(root, path, cx).map(Document::Link),
};
