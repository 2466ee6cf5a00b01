//! What a kind of scenario gives to the file language.

use std::path::Path;

use crate::document::{Document, DocumentKind};
use crate::keys::Table;
use crate::read::Context;
use crate::read::walk::Section;

/// A kind of scenario, as reader, schema and messages know it.
pub(crate) struct KindInfo {
    /// Its name in code.
    pub(crate) kind: DocumentKind,
    /// The section that only files of this kind have, and all of them.
    pub(crate) section: &'static str,
    /// With its article, for messages.
    pub(crate) noun: &'static str,
    /// Every table and key of such a file.
    pub(crate) keys: &'static Table,
    /// Two lists of tables of which a file has at least one.
    pub(crate) some: Option<[&'static str; 2]>,
    /// Tables in which exactly one of two keys stands.
    pub(crate) either: &'static [(&'static Table, [&'static str; 2])],
    /// Reads what stands under the whole file's sections.
    pub(crate) read: fn(&Section<'_>, &Path, &mut Context<'_, '_>) -> Option<Document>,
}

/// A scenario of any kind.
pub(crate) trait AnyScenario {
    /// What it is.
    fn info(&self) -> &'static KindInfo;
    /// The file's stem.
    fn name(&self) -> &str;
    /// The scenario as TOML, which reads back equal.
    fn to_toml(&self) -> String;
}
