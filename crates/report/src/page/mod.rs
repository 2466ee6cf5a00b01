//! The self-contained page.

mod csp;
mod filter;
pub(crate) mod html;
pub(crate) mod prose;

use crate::figure::Figure;
use crate::table::Table;
pub use filter::Filter;
use html::Names;

/// The source of a page's numbers, printed on top of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Computed by the simulator.
    #[default]
    Simulated,
    /// Measured on a running system.
    Live,
    /// Computed by the simulator; columns headed live were measured on a running system.
    SimulatedAndLive,
    /// Computed from the scenario alone, for any conforming traffic.
    Analysed,
}

impl Kind {
    /// The label of the chip.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Simulated => "Simulated",
            Kind::Live => "Measured live",
            Kind::SimulatedAndLive => "Simulated, live beside it",
            Kind::Analysed => "Analysed",
        }
    }

    /// The sentence in the footer.
    pub fn sentence(self) -> &'static str {
        match self {
            Kind::Simulated => {
                "All times on this page were simulated; no packet was sent on a network, and no \
                 kernel ran a task."
            }
            Kind::Live => "All delays on this page were measured on a running system.",
            Kind::SimulatedAndLive => {
                "Columns headed live were measured on a running kernel, in a virtual machine; all \
                 other times on this page were simulated."
            }
            Kind::Analysed => {
                "All numbers on this page were computed from the scenario; nothing was run."
            }
        }
    }
}

/// The tone of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assessment {
    /// Yes.
    Good,
    /// No.
    Bad,
    /// Neither.
    Neutral,
}

/// Provenance of a page. Nothing of it is read from the machine, so a page is the same wherever
/// it is made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// Source of the numbers.
    pub kind: Kind,
    /// Version of the program, `0.1.0`.
    pub version: String,
    /// The command line that makes this page again.
    pub command: String,
    /// Rate of the link in bit/s.
    pub link_rate: Option<u64>,
    /// Largest best-effort packet in bytes.
    pub max_packet: Option<u64>,
    /// Name and deadline in ns of each real-time flow; those of the results when absent.
    pub deadlines: Vec<(String, u64)>,
    /// The policy that the scenario uses, named in the headline; else the last of the results.
    pub policy: Option<String>,
    /// Real-time and best-effort flow shown over time; else chosen by their delays.
    pub featured: Vec<String>,
    /// Window in ns of the excerpt over time; else around the largest best-effort delay under the
    /// first policy.
    pub excerpt: Option<(u64, u64)>,
    /// Further facts for the footer, name and value.
    pub facts: Vec<(String, String)>,
}

/// A piece of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A statement in a box, with a label (such as `Admitted`) before it.
    Statement(Assessment, String, String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// Tables beside each other where there is room.
    Tables(Vec<Table>),
    /// A figure.
    Figure(Figure),
    /// Collapsed until opened.
    More(String, Vec<Block>),
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// Contents.
    pub blocks: Vec<Block>,
}

impl Section {
    /// A section.
    pub fn new(title: impl Into<String>, blocks: Vec<Block>) -> Section {
        Section { title: title.into(), blocks }
    }
}

/// A page, and the figures in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// Heading and title of the document.
    pub title: String,
    /// The kind of report, in small type above the heading.
    pub scenario: String,
    /// Where the numbers come from.
    pub kind: Kind,
    /// What a reader may choose to see: policies, and flows, tasks or classes.
    pub filters: Vec<Filter>,
    /// Parts in order; the first stands without a heading in the table of contents.
    pub sections: Vec<Section>,
    /// The footer's names and values.
    pub provenance: Vec<(String, String)>,
}

impl Page {
    /// Adds the sections of another page behind these.
    pub fn append(&mut self, other: Page) {
        self.sections.extend(other.sections);
        for filter in other.filters {
            match self.filters.iter_mut().find(|f| f.label == filter.label) {
                Some(own) => own.extend(filter.names),
                None => self.filters.push(filter),
            }
        }
        for fact in other.provenance {
            if !self.provenance.contains(&fact) {
                self.provenance.push(fact);
            }
        }
    }

    /// Every figure as (file name, SVG document), names unique, in page order.
    pub fn svgs(&self) -> Vec<(String, String)> {
        self.figures("svg", Figure::svg)
    }

    /// Every figure as (file name, Vega-Lite specification), names unique, in page order.
    pub fn vegas(&self) -> Vec<(String, String)> {
        self.figures("vl.json", Figure::vega)
    }

    fn figures(&self, ending: &str, write: fn(&Figure) -> String) -> Vec<(String, String)> {
        let mut names = Names::default();
        let mut out = Vec::new();
        let mut stack: Vec<&Block> =
            self.sections.iter().rev().flat_map(|s| s.blocks.iter().rev()).collect();
        while let Some(block) = stack.pop() {
            match block {
                Block::Figure(f) => {
                    out.push((format!("{}.{ending}", names.take(&f.name)), write(f)));
                }
                Block::More(_, blocks) => stack.extend(blocks.iter().rev()),
                _ => {}
            }
        }
        out
    }

    /// The page. It needs no other file and no network, and reads without script.
    pub fn html(&self) -> String {
        html::write(self)
    }
}

/// Facts of the footer: the version, those given, the command and those of `meta`.
pub(crate) fn footer(meta: &Meta, facts: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut out = Vec::new();
    if !meta.version.is_empty() {
        out.push(("Version".into(), format!("laxity {}", meta.version)));
    }
    out.extend(facts);
    if !meta.command.is_empty() {
        out.push(("Command".into(), meta.command.clone()));
    }
    out.extend(meta.facts.iter().cloned());
    out
}
