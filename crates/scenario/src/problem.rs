//! Problems of a scenario, each with its place and its remedy.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An error of a scenario.
#[derive(Debug)]
pub enum ScenarioError {
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The file has problems: all of them, in file order, never none.
    Invalid {
        /// The file; empty for a text in memory.
        path: PathBuf,
        /// The problems found.
        problems: Vec<Problem>,
    },
}

/// One problem of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The key, such as `realtime.video.deadline`; empty for errors of syntax.
    pub key: String,
    /// The problem.
    pub what: String,
    /// The remedy.
    pub remedy: String,
    /// The line itself, or the part of a very long one that holds the place.
    pub source: String,
    /// The place within `source`, in characters from 0.
    pub mark: Range<usize>,
}

impl ScenarioError {
    /// The problems, if the file could be read.
    pub fn problems(&self) -> &[Problem] {
        match self {
            ScenarioError::Unreadable { .. } => &[],
            ScenarioError::Invalid { problems, .. } => problems,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        match self {
            ScenarioError::Unreadable { path, .. } | ScenarioError::Invalid { path, .. } => path,
        }
    }
}

impl std::error::Error for ScenarioError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ScenarioError::Unreadable { error, .. } => Some(error),
            ScenarioError::Invalid { .. } => None,
        }
    }
}

/// All problems, each with its line and a mark under it, then their number if it is above one.
impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScenarioError::Unreadable { path, error } => {
                write!(f, "{}: cannot be read: {error}", path.display())
            }
            ScenarioError::Invalid { path, problems } => {
                for (i, problem) in problems.iter().enumerate() {
                    if i > 0 {
                        f.write_str("\n\n")?;
                    }
                    problem.show(path, f)?;
                }
                if problems.len() > 1 {
                    write!(f, "\n\n{} problems", problems.len())?;
                }
                Ok(())
            }
        }
    }
}

impl Problem {
    fn show(&self, path: &Path, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { line, column, .. } = self;
        if !path.as_os_str().is_empty() {
            write!(f, "{}:", path.display())?;
        }
        write!(f, "{line}:{column}: ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        writeln!(f, "{}", self.what)?;
        writeln!(f, "{line:>5} | {}", self.source)?;
        f.write_str("      | ")?;
        // Tabs stay tabs, so that the mark stands under its place at any tab width.
        for c in self.source.chars().take(self.mark.start) {
            f.write_str(if c == '\t' { "\t" } else { " " })?;
        }
        for _ in 0..self.mark.len().max(1) {
            f.write_str("^")?;
        }
        if !self.remedy.is_empty() {
            write!(f, "\n      = {}", self.remedy)?;
        }
        Ok(())
    }
}

/// The origin of a problem, to filter the problems of a file with errors of syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The text is not TOML.
    Syntax,
    /// A value that is wrong by itself.
    Value,
    /// Something is missing, unknown or contradicts something else, which may be the consequence
    /// of an error of syntax.
    Structure,
}

/// Collects problems while a text is read.
pub(crate) struct Problems<'t> {
    text: &'t str,
    /// Where each line starts.
    lines: Vec<usize>,
    found: Vec<(Range<usize>, Cause, Problem)>,
}

/// How much of a long line is shown.
const SHOWN: usize = 120;

impl<'t> Problems<'t> {
    pub(crate) fn new(text: &'t str) -> Problems<'t> {
        let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
        let lines = std::iter::once(0).chain(breaks.map(|(i, _)| i + 1)).collect();
        Problems { text, lines, found: Vec::new() }
    }

    pub(crate) fn add(
        &mut self,
        cause: Cause,
        span: Range<usize>,
        key: &str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        let line = self.line_index(span.start);
        let start = self.lines[line];
        let end = self.lines.get(line + 1).copied().unwrap_or(self.text.len());
        let text = self.text.get(start..end).unwrap_or("").trim_end_matches(['\n', '\r']);
        let place = |at: usize| {
            let within = at.saturating_sub(start).min(text.len());
            text.char_indices().take_while(|(i, _)| *i < within).count()
        };
        let (from, to) = (place(span.start), place(span.end));
        let skip = if to > SHOWN { from.saturating_sub(SHOWN / 2) } else { 0 };
        // Control characters could move the cursor or recolour the terminal.
        let visible = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
        let source: String = text.chars().skip(skip).take(SHOWN).map(visible).collect();
        let mark = from - skip..to.min(skip + SHOWN).max(from) - skip;
        let problem = Problem {
            line: line + 1,
            column: from + 1,
            key: key.to_owned(),
            what: what.into(),
            remedy: remedy.into(),
            source,
            mark,
        };
        self.found.push((span, cause, problem));
    }

    /// Something missing, unknown or contradictory.
    pub(crate) fn structure(
        &mut self,
        span: Range<usize>,
        key: &str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(Cause::Structure, span, key, what, remedy);
    }

    /// A value that is wrong by itself.
    pub(crate) fn value(
        &mut self,
        span: Range<usize>,
        key: &str,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(Cause::Value, span, key, what, remedy);
    }

    /// The line of a place in the text, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.line_index(at) + 1
    }

    fn line_index(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The problems in file order. A file with errors of syntax keeps only those of
    /// values beside them, and only on other lines.
    pub(crate) fn finish(mut self) -> Vec<Problem> {
        let syntax: Vec<usize> =
            self.found.iter().filter(|(_, c, _)| *c == Cause::Syntax).map(|f| f.2.line).collect();
        if !syntax.is_empty() {
            self.found.retain(|(_, cause, problem)| match cause {
                Cause::Syntax => true,
                Cause::Value => !syntax.contains(&problem.line),
                Cause::Structure => false,
            });
        }
        self.found.sort_by_key(|(span, _, _)| span.start);
        self.found.into_iter().map(|(_, _, problem)| problem).collect()
    }
}
