//! The description of a sweep: a scenario, the values of some of its keys, policies, seeds.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use laxity_core::Span;
use laxity_scenario::link::model::Source;
use laxity_scenario::{Document, TraceLoader, load_trace, quantity, vary};
use sha2::{Digest, Sha256};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::SweepError;

/// The most simulations of a sweep.
pub const MAX_SIMULATIONS: u64 = 100_000_000;

/// How many seeds one part has, unless the sweep says another number.
pub const SEEDS_PER_PART: u64 = 25;

/// A key of the scenario and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Axis {
    key: String,
    /// Each as it stands in the description, which is TOML.
    values: Vec<String>,
}

/// A sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The text of the scenario.
    scenario: String,
    /// Where it was read from.
    path: PathBuf,
    axes: Vec<Axis>,
    policies: Vec<String>,
    first_seed: u64,
    last_seed: u64,
    seeds_per_part: u64,
    duration: Option<Span>,
    /// Of the contents of the files that the scenario names under any value.
    files: String,
}

/// One part of a sweep.
pub(crate) struct Part {
    /// The scenario with the values of the part.
    pub document: Document,
    /// The varied keys with their values, texts without quotes.
    pub values: Vec<(String, String)>,
    pub policies: Vec<String>,
    pub seeds: std::ops::RangeInclusive<u64>,
    pub duration: Option<Span>,
}

impl Sweep {
    /// Reads the description of a sweep, and its scenario.
    ///
    /// # Errors
    /// A file cannot be read, or the description has a problem.
    pub fn read(path: &Path) -> Result<Sweep, SweepError> {
        let text = |path: &Path| {
            std::fs::read_to_string(path)
                .map_err(|error| SweepError::File { path: path.to_owned(), error })
        };
        Sweep::parse(&text(path)?, path, text)
    }

    /// Reads the text of a description as if it stood in the file `path`; `read` gives the text of the
    /// scenario, whose path is relative to that file.
    ///
    /// # Errors
    /// As [`read`](Self::read); the scenario is checked with each value of each key, beside the first of the
    /// others, and the files that it names are read.
    pub fn parse(
        text: &str,
        path: impl AsRef<Path>,
        read: impl FnOnce(&Path) -> Result<String, SweepError>,
    ) -> Result<Sweep, SweepError> {
        let reader = Reader { text, path: path.as_ref() };
        let mut sweep = reader.sweep(read)?;
        let mut named = NamedFiles::default();
        let (first, policies) = named.of(&sweep, &sweep.values(0))?;
        let known = first.kind().policies();
        for name in &policies {
            if known.iter().all(|p| p.name != name) {
                let names: Vec<&str> = known.iter().map(|p| p.name).collect();
                let problem =
                    format!("no policy is called `{name}`; there are {}", names.join(" "));
                return Err(reader.problem(0, problem));
            }
        }
        for (place, axis) in sweep.axes.iter().enumerate() {
            for value in axis.values.iter().skip(1) {
                let mut values = sweep.values(0);
                values[place].1 = value;
                named.of(&sweep, &values)?;
            }
        }
        sweep.files = named.digest()?;
        Ok(sweep)
    }

    /// A sweep that [`parse`](Self::parse) has accepted, perhaps on another machine, with its
    /// [`files`](Self::files). Nothing is checked again, because each part of a sweep may be sent with all of it.
    ///
    /// # Errors
    /// The description has a problem.
    pub fn parsed(
        text: &str,
        path: impl AsRef<Path>,
        scenario: String,
        files: String,
    ) -> Result<Sweep, SweepError> {
        let reader = Reader { text, path: path.as_ref() };
        Ok(Sweep { files, ..reader.sweep(|_| Ok(scenario))? })
    }

    /// A digest of the contents of the files that the scenario names, when the sweep was read.
    pub fn files(&self) -> &str {
        &self.files
    }

    /// How many parts its dataset has.
    pub fn parts(&self) -> u64 {
        self.points() * self.chunks()
    }

    /// How many simulations it has.
    pub fn simulations(&self) -> u64 {
        let policies = self.part(0).map_or(0, |part| part.policies.len() as u64);
        self.points() * policies * (self.last_seed - self.first_seed + 1)
    }

    /// A number that differs for sweeps with different results.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        add(env!("CARGO_PKG_VERSION"));
        add(&self.scenario);
        // The name of the scenario is a column of the results.
        add(&self.path.file_stem().unwrap_or_default().to_string_lossy());
        add(&self.files);
        for axis in &self.axes {
            add(&axis.key);
            axis.values.iter().for_each(|value| add(value));
        }
        add("");
        self.policies.iter().for_each(|policy| add(policy));
        let numbers = (self.first_seed, self.last_seed, self.seeds_per_part, self.duration);
        add(&format!("{numbers:?}"));
        hexadecimal(hash)
    }

    /// Points of the grid.
    fn points(&self) -> u64 {
        self.axes.iter().map(|axis| axis.values.len() as u64).product()
    }

    /// Parts of each point.
    fn chunks(&self) -> u64 {
        (self.last_seed - self.first_seed + 1).div_ceil(self.seeds_per_part)
    }

    /// A part by its number.
    pub(crate) fn part(&self, number: u64) -> Result<Part, SweepError> {
        let (point, chunk) = (number / self.chunks(), number % self.chunks());
        let values = self.values(point);
        let (document, policies) = self.document(&values, &mut load_trace)?;
        let first = self.first_seed + chunk * self.seeds_per_part;
        let last = self.last_seed.min(first + (self.seeds_per_part - 1));
        let shown = |(key, value): (&str, &str)| (key.to_owned(), unquoted(value).to_owned());
        let values = values.into_iter().map(shown).collect();
        Ok(Part { document, values, policies, seeds: first..=last, duration: self.duration })
    }

    /// The keys that vary with their values at a point of the grid.
    fn values(&self, mut point: u64) -> Vec<(&str, &str)> {
        let mut values = Vec::with_capacity(self.axes.len());
        // The last axis changes first.
        for axis in self.axes.iter().rev() {
            let size = axis.values.len() as u64;
            values.push((axis.key.as_str(), axis.values[(point % size) as usize].as_str()));
            point /= size;
        }
        values.reverse();
        values
    }

    /// The scenario with these values, and its policies.
    fn document(
        &self,
        values: &[(&str, &str)],
        traces: &mut TraceLoader<'_>,
    ) -> Result<(Document, Vec<String>), SweepError> {
        let wrong = |error: &dyn std::fmt::Display| {
            SweepError::Scenario(with_values(values.iter().copied(), error))
        };
        let text = vary::varied(&self.scenario, values).map_err(|error| wrong(&error))?;
        let document =
            Document::parse_with(&text, &self.path, traces).map_err(|error| wrong(&error))?;
        let policies = match self.policies.is_empty() {
            true => vec![used(&document).to_owned()],
            false => self.policies.clone(),
        };
        Ok((document, policies))
    }
}

/// A problem with the values under which it occurs.
pub(crate) fn with_values<'v>(
    values: impl Iterator<Item = (&'v str, &'v str)>,
    problem: &dyn std::fmt::Display,
) -> String {
    let values: Vec<String> = values.map(|(key, value)| format!("{key} = {value}")).collect();
    match values.is_empty() {
        true => problem.to_string(),
        false => format!("with {}: {problem}", values.join(", ")),
    }
}

/// The files on which results depend beside the scenario.
#[derive(Default)]
struct NamedFiles(BTreeSet<PathBuf>);

impl NamedFiles {
    /// The scenario of a sweep with these values, and its policies; its files are noted.
    fn of(
        &mut self,
        sweep: &Sweep,
        values: &[(&str, &str)],
    ) -> Result<(Document, Vec<String>), SweepError> {
        let found = sweep.document(values, &mut |path, flow| {
            self.0.insert(path.to_owned());
            load_trace(path, flow)
        })?;
        match &found.0 {
            Document::Link(scenario) => {
                let realtime = scenario.realtime.iter().map(|f| f.source.as_ref());
                let best_effort = scenario.best_effort.iter().map(|c| c.source.as_ref());
                for source in realtime.chain(best_effort).flatten() {
                    if let Source::Trace { path } = source {
                        self.0.insert(path.clone());
                    }
                }
            }
            // Media files are for live servers.
            Document::Stream(_) => {}
            Document::Cpu(scenario) => {
                self.0.extend(scenario.recordings.iter().map(|recording| recording.path.clone()));
            }
        }
        Ok(found)
    }

    fn digest(&self) -> Result<String, SweepError> {
        let mut hash = Sha256::new();
        for path in &self.0 {
            let content = std::fs::File::open(path).and_then(|mut file| content(&mut file));
            let text = |error| SweepError::Scenario(format!("{}: {error}", path.display()));
            hash.update(content.map_err(text)?);
        }
        Ok(hexadecimal(hash))
    }
}

/// The digest of a file.
fn content(file: &mut impl Read) -> io::Result<[u8; 32]> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(bytes) => hash.update(&buffer[..bytes]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The policy that a scenario uses.
fn used(document: &Document) -> &str {
    match document {
        Document::Link(scenario) => &scenario.policy.use_,
        Document::Stream(scenario) => &scenario.policy.use_,
        Document::Cpu(scenario) => &scenario.policy.use_,
    }
}

/// The text of a simple string of TOML, anything else as it is.
fn unquoted(value: &str) -> &str {
    let inside = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inside.filter(|v| !v.contains(['"', '\\'])).unwrap_or(value)
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
}

const KEYS: &[&str] = &["scenario", "policies", "seeds", "seeds_per_part", "duration", "vary"];

impl Reader<'_> {
    fn problem(&self, at: usize, text: impl Into<String>) -> SweepError {
        let line = self.text[..at.min(self.text.len())].matches('\n').count() + 1;
        SweepError::Grid { path: self.path.to_owned(), line, text: text.into() }
    }

    fn sweep(
        &self,
        read: impl FnOnce(&Path) -> Result<String, SweepError>,
    ) -> Result<Sweep, SweepError> {
        let root = DeTable::parse(self.text).map_err(|error| {
            self.problem(error.span().map_or(0, |span| span.start), error.message())
        })?;
        let root = root.get_ref();
        if let Some(key) = root.keys().find(|key| !KEYS.contains(&key.get_ref().as_ref())) {
            let text = format!("unknown key `{}`; there are {}", key.get_ref(), KEYS.join(", "));
            return Err(self.problem(key.span().start, text));
        }
        let scenario = root.get("scenario").ok_or_else(|| {
            self.problem(0, "no `scenario`; name its file, such as scenario = \"link.toml\"")
        })?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let path = folder.join(self.string(scenario, "scenario")?);
        let (first_seed, last_seed) = match root.get("seeds") {
            Some(seeds) => self.seeds(seeds)?,
            None => (1, 1),
        };
        let seeds_per_part = match root.get("seeds_per_part") {
            Some(value) => self.whole(value, "seeds_per_part", 1)?,
            None => SEEDS_PER_PART,
        };
        let duration = root.get("duration").map(|value| self.duration(value)).transpose()?;
        let mut axes = Vec::new();
        if let Some(vary) = root.get("vary") {
            let DeValue::Table(table) = vary.get_ref() else {
                return Err(self
                    .problem(vary.span().start, "`vary` is a table of keys with lists of values"));
            };
            for (key, values) in table.iter() {
                axes.push(self.axis(key.get_ref(), values)?);
            }
        }
        let policies =
            root.get("policies").map_or(Ok(Vec::new()), |value| self.strings(value, "policies"))?;
        let sizes = axes.iter().map(|axis: &Axis| axis.values.len() as u64);
        let seeds = last_seed - first_seed + 1;
        let mut counts = sizes.chain([policies.len().max(1) as u64, seeds]);
        let simulations = counts.try_fold(1u64, u64::checked_mul);
        if simulations.is_none_or(|count| count > MAX_SIMULATIONS) {
            return Err(self.problem(
                0,
                format!("more than {MAX_SIMULATIONS} simulations: give fewer values"),
            ));
        }
        let scenario = read(&path)?;
        Ok(Sweep {
            scenario,
            path,
            axes,
            policies,
            first_seed,
            last_seed,
            seeds_per_part,
            duration,
            files: String::new(),
        })
    }

    fn axis(&self, key: &str, values: &Spanned<DeValue<'_>>) -> Result<Axis, SweepError> {
        let at = values.span().start;
        let wrong = || self.problem(at, format!("`{key}` under `vary` needs a list of values"));
        let DeValue::Array(items) = values.get_ref() else { return Err(wrong()) };
        if items.is_empty() {
            return Err(wrong());
        }
        let values: Vec<String> =
            items.iter().map(|item| self.text[item.span()].to_owned()).collect();
        if let Some(i) = (1..values.len()).find(|i| values[..*i].contains(&values[*i])) {
            return Err(self.problem(at, format!("`{key}` has the value {} twice", values[i])));
        }
        Ok(Axis { key: key.to_owned(), values })
    }

    fn string<'v>(
        &self,
        value: &'v Spanned<DeValue<'_>>,
        key: &str,
    ) -> Result<&'v str, SweepError> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.problem(value.span().start, format!("`{key}` is a text in quotes"))),
        }
    }

    fn strings(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<Vec<String>, SweepError> {
        let DeValue::Array(items) = value.get_ref() else {
            return Err(self.problem(value.span().start, format!("`{key}` is a list of texts")));
        };
        items.iter().map(|item| self.string(item, key).map(str::to_owned)).collect()
    }

    fn whole(
        &self,
        value: &Spanned<DeValue<'_>>,
        key: &str,
        least: u64,
    ) -> Result<u64, SweepError> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse::<u64>().ok().filter(|n| *n >= least),
            _ => None,
        };
        let most = MAX_SIMULATIONS;
        number.filter(|n| *n <= most).ok_or_else(|| {
            self.problem(
                value.span().start,
                format!("`{key}` is a whole number from {least} to {most}"),
            )
        })
    }

    fn seeds(&self, value: &Spanned<DeValue<'_>>) -> Result<(u64, u64), SweepError> {
        let wrong =
            || self.problem(value.span().start, "`seeds` is a list of the first and the last seed");
        let DeValue::Array(items) = value.get_ref() else { return Err(wrong()) };
        let [first, last] = &items[..] else { return Err(wrong()) };
        let (first, last) = (self.whole(first, "seeds", 0)?, self.whole(last, "seeds", 0)?);
        if last < first { Err(wrong()) } else { Ok((first, last)) }
    }

    fn duration(&self, value: &Spanned<DeValue<'_>>) -> Result<Span, SweepError> {
        let at = value.span().start;
        let span = quantity::span(self.string(value, "duration")?)
            .map_err(|error| self.problem(at, error.to_string()))?;
        if span == Span::ZERO {
            return Err(self.problem(at, "`duration`: nothing happens in 0 s"));
        }
        Ok(span)
    }
}
