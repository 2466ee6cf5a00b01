//! A file of any kind, which its sections determine.

use std::path::Path;

use laxity_core::PolicyInfo;
use toml::de::DeTable;

use crate::cpu::{self, CpuScenario};
use crate::keys::{Table, nearest};
use crate::kind::KindInfo;
use crate::link::{self, Scenario};
use crate::problem::{Problems, ScenarioError};
use crate::read::walk::Section;
use crate::read::{self, Context, TraceLoader};
use crate::stream::{self, StreamScenario};

/// A scenario file.
#[derive(Clone, Debug, PartialEq)]
pub enum Document {
    /// `[link]`: a link and the flows that share it.
    Link(Scenario),
    /// `[server]`: a media server and its streams.
    Stream(StreamScenario),
    /// `[cpu]`: CPUs and their tasks.
    Cpu(CpuScenario),
}

/// The kind of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// A link.
    Link,
    /// A media server.
    Stream,
    /// CPUs.
    Cpu,
}

impl DocumentKind {
    /// Every kind.
    pub const ALL: [DocumentKind; 3] =
        [DocumentKind::Link, DocumentKind::Stream, DocumentKind::Cpu];

    /// Its part of the file language.
    pub(crate) fn info(self) -> &'static KindInfo {
        match self {
            DocumentKind::Link => &link::KIND,
            DocumentKind::Stream => &stream::KIND,
            DocumentKind::Cpu => &cpu::KIND,
        }
    }

    /// The name of the kind, as `laxity policies` prints it.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Every policy for scenarios of this kind.
    pub fn policies(self) -> &'static [PolicyInfo] {
        self.info().policies
    }

    /// The section that only files of this kind have, and all of them.
    pub fn section(self) -> &'static str {
        self.info().section
    }

    /// With its article, for messages.
    pub fn noun(self) -> &'static str {
        self.info().noun
    }

    /// The tables and keys of such a file.
    pub fn keys(self) -> &'static Table {
        self.info().keys
    }
}

impl Document {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file cannot be read, or it has problems; all of them are reported, each with line,
    /// column, key and remedy.
    pub fn read(path: impl AsRef<Path>) -> Result<Document, ScenarioError> {
        let path = path.as_ref();
        Document::parse(&read::file::text(path)?, path)
    }

    /// Checks a text as if it stood in the file `path`; other files that it names are read from
    /// that file's folder.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Document, ScenarioError> {
        Document::parse_with(text, path, &mut read::trace::load)
    }

    /// As [`parse`](Self::parse), but traces come from `traces`, not from the file system.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn parse_with(
        text: &str,
        path: impl AsRef<Path>,
        traces: &mut TraceLoader<'_>,
    ) -> Result<Document, ScenarioError> {
        let path = path.as_ref();
        read::file::parse(text, path, traces, |table, cx| {
            let kind = kind(table, text.len(), None, cx.out)?;
            let root = open(table, kind, text.len(), cx);
            (kind.info().read)(&root, path, cx)
        })
    }

    /// The kind of the file.
    pub fn kind(&self) -> DocumentKind {
        match self {
            Document::Link(_) => DocumentKind::Link,
            Document::Stream(_) => DocumentKind::Stream,
            Document::Cpu(_) => DocumentKind::Cpu,
        }
    }

    /// The scenario's name.
    pub fn name(&self) -> &str {
        match self {
            Document::Link(scenario) => &scenario.name,
            Document::Stream(scenario) => &scenario.name,
            Document::Cpu(scenario) => &scenario.name,
        }
    }

    /// The file that the scenario was read from; empty for a scenario made in memory.
    pub fn path(&self) -> &Path {
        match self {
            Document::Link(scenario) => &scenario.path,
            Document::Stream(scenario) => &scenario.path,
            Document::Cpu(scenario) => &scenario.path,
        }
    }

    /// The link of the file, if it describes one.
    pub fn link(&self) -> Option<&Scenario> {
        match self {
            Document::Link(scenario) => Some(scenario),
            _ => None,
        }
    }

    /// The scenario as TOML, which reads back equal.
    pub fn to_toml(&self) -> String {
        match self {
            Document::Link(scenario) => scenario.to_toml(),
            Document::Stream(scenario) => scenario.to_toml(),
            Document::Cpu(scenario) => scenario.to_toml(),
        }
    }
}

/// Checks a text that should be of one kind; `read` reads its sections.
pub(crate) fn parse_as<T>(
    text: &str,
    path: &Path,
    wanted: DocumentKind,
    traces: &mut TraceLoader<'_>,
    read: fn(&Section<'_>, &Path, &mut Context<'_, '_>) -> Option<T>,
) -> Result<T, ScenarioError> {
    read::file::parse(text, path, traces, |table, cx| {
        let kind = kind(table, text.len(), Some(wanted), cx.out)?;
        read(&open(table, kind, text.len(), cx), path, cx)
    })
}

/// Opens the file and reports keys that belong to files of another kind.
fn open<'a>(
    table: &'a DeTable<'a>,
    kind: DocumentKind,
    end: usize,
    cx: &mut Context<'_, '_>,
) -> Section<'a> {
    let elsewhere = |name: &str| {
        let other = DocumentKind::ALL.into_iter().find(|k| k.keys().key(name).is_some())?;
        let what = format!("`{name}` belongs to {}", other.noun());
        let (other, own) = (other.section(), kind.section());
        let remedy = format!("remove it, or write [{other}] in place of [{own}]");
        Some((what, remedy))
    };
    Section::root(table, kind.keys(), end, &elsewhere, cx.out)
}

/// The kind of the file; reports a file of none, of several, or of one that is not wanted.
fn kind(
    table: &DeTable<'_>,
    end: usize,
    wanted: Option<DocumentKind>,
    out: &mut Problems<'_>,
) -> Option<DocumentKind> {
    let mut found: Vec<_> = table
        .keys()
        .filter_map(|key| {
            let is = |kind: &DocumentKind| kind.section() == key.get_ref().as_ref();
            Some((DocumentKind::ALL.into_iter().find(is)?, key.span()))
        })
        .collect();
    found.sort_by_key(|(_, span)| span.start);
    match (&found[..], wanted) {
        ([(kind, span)], Some(wanted)) if *kind != wanted => {
            let what = format!("this is {}, and {} is wanted", kind.noun(), wanted.noun());
            let remedy = format!("name a file with a section [{}]", wanted.section());
            out.structure(span.clone(), kind.section(), what, remedy);
            None
        }
        ([(kind, _)], _) => Some(*kind),
        ([], _) => {
            let kind = wanted.or_else(|| likely(table));
            if kind.is_none() {
                let sections = DocumentKind::ALL.map(|k| format!("[{}]", k.section())).join(", ");
                let what = format!("the file has none of the sections {sections}");
                let remedies =
                    DocumentKind::ALL.map(|k| format!("[{}] for {}", k.section(), k.noun()));
                let remedy = format!("begin with {}", remedies.join(", or "));
                out.structure(end..end, "", what, remedy);
            }
            kind
        }
        ([(first, _), (second, span), ..], _) => {
            let (first, second) = (first.section(), second.section());
            let what = format!("[{second}] beside [{first}]: a file describes one of them");
            let remedy = format!("give [{second}] a file of its own");
            out.structure(span.clone(), second, what, remedy);
            None
        }
    }
}

/// The probable kind of a file without its section: a section is misspelt, or there are
/// others that only one kind has.
fn likely(table: &DeTable<'_>) -> Option<DocumentKind> {
    let names = || table.keys().map(|k| k.get_ref().as_ref());
    let sections = DocumentKind::ALL.map(DocumentKind::section);
    let misspelt = names().find_map(|name| nearest(name, sections));
    let by_section = |s| DocumentKind::ALL.into_iter().find(|k| k.section() == s);
    let alone = |kind: &DocumentKind| {
        let others = DocumentKind::ALL.into_iter().filter(|k| k != kind);
        let shared = |name: &str| others.clone().any(|k| k.keys().key(name).is_some());
        names().any(|n| kind.keys().key(n).is_some() && !shared(n))
    };
    misspelt.and_then(by_section).or_else(|| DocumentKind::ALL.into_iter().find(alone))
}
