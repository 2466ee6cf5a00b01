//! A kind of scenario in the file language.

use std::path::Path;

use laxity_core::PolicyInfo;

use crate::document::Document;
use crate::keys::Table;
use crate::read::Context;
use crate::read::walk::Section;

/// A kind of scenario, as reader, schema and messages know it.
pub(crate) struct KindInfo {
    /// The name of the kind in `laxity policies`.
    pub(crate) name: &'static str,
    /// The section that only files of this kind have, and all of them.
    pub(crate) section: &'static str,
    /// With its article, for messages.
    pub(crate) noun: &'static str,
    /// Every table and key of such a file.
    pub(crate) keys: &'static Table,
    /// Its policies, from their registry.
    pub(crate) policies: &'static [PolicyInfo],
    /// Two lists of tables of which a file has at least one.
    pub(crate) some: Option<[&'static str; 2]>,
    /// Tables in which exactly one of several sets of keys stands.
    pub(crate) either: &'static [(&'static Table, &'static [&'static [&'static str]])],
    /// Reads the sections of the file.
    pub(crate) read: fn(&Section<'_>, &Path, &mut Context<'_, '_>) -> Option<Document>,
}
