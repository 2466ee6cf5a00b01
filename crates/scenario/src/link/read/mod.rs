//! Reads a link scenario, one file here for each section there.

mod best_effort;
mod envelope;
mod link;
mod matches;
mod policy;
mod queueing;
mod realtime;
mod rspec;
mod service_curve;
mod sharing;
mod source;
mod weight;

use std::path::Path;

use super::model::{PolicyChoice, Scenario};
use crate::document::{self, DocumentKind};
use crate::problem::ScenarioError;
use crate::read::flows::Names;
use crate::read::walk::Section;
use crate::read::{self, Context, TraceLoader, file};

impl Scenario {
    /// Reads and checks a file that describes a link; [`Document::read`](crate::Document::read) reads all kinds.
    ///
    /// # Errors
    /// The file cannot be read, or it has problems; all of them are reported, each with line,
    /// column, key and remedy.
    pub fn read(path: impl AsRef<Path>) -> Result<Scenario, ScenarioError> {
        let path = path.as_ref();
        Scenario::parse(&file::text(path)?, path)
    }

    /// Checks a text as if it stood in the file `path`; other files that it names are read from
    /// that file's folder.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with(text, path, &mut read::trace::load)
    }

    /// As [`parse`](Self::parse), but traces come from `traces`, not from the file system.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse_with(
        text: &str,
        path: impl AsRef<Path>,
        traces: &mut TraceLoader<'_>,
    ) -> Result<Scenario, ScenarioError> {
        document::parse_as(text, path.as_ref(), DocumentKind::Link, traces, scenario)
    }
}

/// Reads what stands under the whole file's sections.
pub(crate) fn scenario(
    root: &Section<'_>,
    path: &Path,
    cx: &mut Context<'_, '_>,
) -> Option<Scenario> {
    let link = root.table("link", cx.out).and_then(|s| link::read(&s, cx));
    let policy = match root.has("policy") {
        true => root.table("policy", cx.out).and_then(|s| policy::read(&s, cx)),
        false => Some(PolicyChoice::default()),
    };
    let mut names = Names::default();
    let realtime = realtime::read(root, link.as_ref(), &mut names, cx);
    let order = policy.as_ref().map(|policy| policy.fair_queue);
    let (known, groups) = sharing::Groups::read(root, order, &mut names, cx);
    let best_effort = best_effort::read(root, link.as_ref(), &known, &mut names, cx);
    sharing::empty(root, &groups, best_effort.iter().map(|class| class.sharing.group), cx.out);
    if !root.has("realtime") && !root.has("best_effort") {
        let what = "the scenario has no flow";
        let remedy = "add at least one section [[realtime]] or [[best_effort]]";
        cx.out.structure(root.span.clone(), "", what, remedy);
    }
    Some(Scenario {
        name: file::stem(path),
        path: path.to_owned(),
        link: link?,
        policy: policy?,
        realtime,
        groups,
        best_effort,
    })
}
