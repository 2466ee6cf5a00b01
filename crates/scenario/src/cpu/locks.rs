//! Locks that the jobs of tasks take, and the order of their sections.

use std::cmp::Reverse;

use laxity_core::Span;

/// What a task does that meets a lock which another holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockProtocol {
    /// It stays ready: the holder executes whenever the policy picks the waiter, on the waiter's server (bandwidth
    /// inheritance).
    #[default]
    Inherit,
    /// It sleeps until it has the lock; the holder has its own server alone.
    None,
}

impl LockProtocol {
    /// Every protocol, in the order of [`NAMES`](Self::NAMES).
    pub const ALL: [LockProtocol; 2] = [LockProtocol::Inherit, LockProtocol::None];
    /// Their names in scenario files.
    pub const NAMES: [&str; 2] = ["inherit", "none"];

    /// The name in scenario files.
    pub fn name(self) -> &'static str {
        LockProtocol::NAMES[self as usize]
    }
}

/// The locks of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Locks {
    /// `[locks]`
    pub protocol: LockProtocol,
    /// Their names, in the order in which the file first has them.
    pub names: Vec<String>,
}

/// A part of each job of a task that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The lock, by its place in [`Locks::names`].
    pub lock: u32,
    /// Execution of the job before it takes the lock.
    pub at: Span,
    /// Execution of the job with the lock; not zero.
    pub hold: Span,
}

impl Section {
    /// Execution of the job up to its release of the lock.
    pub fn end(&self) -> Span {
        Span(self.at.0.saturating_add(self.hold.0))
    }
}

/// A begin or end of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockStep {
    /// Execution of the job before it.
    pub at: Span,
    /// The section, by its place.
    pub section: usize,
    /// Whether the section begins.
    pub takes: bool,
}

/// Why sections of one task make no sense together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionFault {
    /// The second begins within the first and ends after it.
    Cross(usize, usize),
    /// The second takes a lock within the first, which has it.
    Again(usize, usize),
}

/// The sections of one task in the order of its execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// Begins and ends. At one place ends come first, the inner one before the outer one.
    pub steps: Vec<LockStep>,
    /// Each section with each that lies within it.
    pub within: Vec<(usize, usize)>,
}

impl Nesting {
    /// The order of sections. Of two that begin together, the longer encloses the other; of two alike, the first
    /// does.
    ///
    /// # Errors
    /// Two sections that make no sense together.
    pub fn of(sections: &[Section]) -> Result<Nesting, SectionFault> {
        let mut order: Vec<usize> = (0..sections.len()).collect();
        order.sort_by_key(|i| (sections[*i].at, Reverse(sections[*i].hold)));
        let mut nesting = Nesting::default();
        let mut open: Vec<usize> = Vec::new();
        let end = |section: usize| LockStep { at: sections[section].end(), section, takes: false };
        for section in order {
            let Section { lock, at, .. } = sections[section];
            while let Some(done) = open.last().copied().filter(|i| sections[*i].end() <= at) {
                open.pop();
                nesting.steps.push(end(done));
            }
            for outer in &open {
                if sections[*outer].lock == lock {
                    return Err(SectionFault::Again(*outer, section));
                }
                if sections[*outer].end() < sections[section].end() {
                    return Err(SectionFault::Cross(*outer, section));
                }
                nesting.within.push((*outer, section));
            }
            nesting.steps.push(LockStep { at, section, takes: true });
            open.push(section);
        }
        nesting.steps.extend(open.into_iter().rev().map(end));
        Ok(nesting)
    }
}
