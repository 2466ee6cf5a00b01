//! Reads a stream scenario, one file for each section.

mod application;
mod policy;
mod server;
mod source;
mod stream;

use std::path::Path;

use super::model::{StreamPolicyChoice, StreamScenario};
use crate::document::{self, DocumentKind};
use crate::problem::ScenarioError;
use crate::read::flows::Names;
use crate::read::walk::Section;
use crate::read::{Context, TraceLoader, file};

impl StreamScenario {
    /// Reads and checks a file that describes a media server;
    /// [`Document::read`](crate::Document::read) reads all kinds.
    ///
    /// # Errors
    /// The file cannot be read, or it has problems; all of them are reported, each with line,
    /// column, key and remedy.
    pub fn read(path: impl AsRef<Path>) -> Result<StreamScenario, ScenarioError> {
        let path = path.as_ref();
        StreamScenario::parse(&file::text(path)?, path)
    }

    /// Checks a text as if it stood in the file `path`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<StreamScenario, ScenarioError> {
        let traces: &mut TraceLoader<'_> = &mut crate::read::trace::load;
        document::parse_as(text, path.as_ref(), DocumentKind::Stream, traces, scenario)
    }
}

/// Reads the sections of the file.
pub(crate) fn scenario(
    root: &Section<'_>,
    path: &Path,
    cx: &mut Context<'_, '_>,
) -> Option<StreamScenario> {
    let server = root.table("server", cx.out).and_then(|s| server::read(&s, cx));
    let policy = match root.has("policy") {
        true => root.table("policy", cx.out).map(|s| policy::read(&s, cx)),
        false => Some(StreamPolicyChoice::default()),
    };
    let mut classes = stream::Classes::new(policy.as_ref());
    let mut names = Names::default();
    let (list, shape) = root.tables("stream", cx.out);
    if let Some(shape) = shape {
        for (place, value) in list.iter().enumerate() {
            let section = crate::read::flows::open(root, "stream", place, value, shape, cx.out);
            if let Some(section) = section {
                classes.read(&section, &mut names, cx);
            }
        }
        if list.is_empty() {
            let remedy = "add at least one section [[stream]]";
            root.wrong("stream", cx.out, "the scenario has no stream", remedy);
        }
    }
    Some(StreamScenario {
        name: file::stem(path),
        path: path.to_owned(),
        server: server?,
        policy: policy?,
        streams: classes.finish(),
    })
}
