//! The state of the terminal's view: what is chosen, sorted, filtered and paused, and delays so far.

use std::collections::{HashMap, VecDeque};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::parts::{Part, PartKind, Parts};

/// Intervals that a sparkline remembers.
const HISTORY: usize = 240;

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// As they belong together.
    Place,
    /// The largest share of the bound used first.
    Bound,
    /// The most late first.
    Late,
    /// The most dropped first.
    Dropped,
    /// The highest rate first.
    Rate,
}

impl Sort {
    const ALL: [Sort; 5] = [Sort::Place, Sort::Bound, Sort::Late, Sort::Dropped, Sort::Rate];

    /// As people read it.
    pub fn text(self) -> &'static str {
        match self {
            Sort::Place => "place",
            Sort::Bound => "use of the bound",
            Sort::Late => "late",
            Sort::Dropped => "dropped",
            Sort::Rate => "rate",
        }
    }
}

type Key = (PartKind, String, String, Option<u32>);

fn key(part: &Part) -> Key {
    let (kind, of, name, process) = part.key();
    (kind, of.to_owned(), name.to_owned(), process)
}

/// One part as it is shown: rates are of the last interval.
#[derive(Clone, Debug)]
pub struct Shown {
    pub part: Part,
    pub per_second: Option<f64>,
    pub bits_per_second: Option<f64>,
    /// Mean delays of past intervals in ms, or rates where there is no delay; the last is the newest.
    pub history: VecDeque<f64>,
}

impl Shown {
    /// The share of its bound that the 99th percentile of its delays uses.
    pub fn used(&self) -> Option<f64> {
        let bound = self.part.deadline_ms.filter(|ms| *ms > 0.0)?;
        Some(self.part.p99_ms? / bound)
    }
}

/// The view.
#[derive(Debug)]
pub struct App {
    shown: Vec<Shown>,
    pub notes: Vec<String>,
    pub sort: Sort,
    pub filter: String,
    /// Whether keys are letters of the filter.
    pub typing: bool,
    pub paused: bool,
    /// Whether the chosen part alone is shown.
    pub detail: bool,
    /// Place of the chosen part among those shown.
    pub chosen: usize,
    pub done: bool,
}

impl App {
    /// Without a sample yet.
    pub fn new() -> App {
        App {
            shown: Vec::new(),
            notes: Vec::new(),
            sort: Sort::Place,
            filter: String::new(),
            typing: false,
            paused: false,
            detail: false,
            chosen: 0,
            done: false,
        }
    }

    /// Takes a sample, made so many seconds after the last; nothing while paused.
    pub fn update(&mut self, parts: Parts, seconds: f64) {
        if self.paused {
            return;
        }
        let kept = self.rows().get(self.chosen).map(|shown| key(&shown.part));
        let mut before: HashMap<Key, Shown> =
            self.shown.drain(..).map(|shown| (key(&shown.part), shown)).collect();
        self.notes = parts.notes;
        for part in parts.parts {
            let earlier = before.remove(&key(&part)).filter(|e| e.part.changes == part.changes);
            self.shown.push(shown(part, earlier, seconds));
        }
        // The chosen part stays chosen where others come or go.
        let rows = self.rows();
        let place = rows.iter().position(|shown| Some(key(&shown.part)) == kept);
        self.chosen = place.unwrap_or(self.chosen.min(rows.len().saturating_sub(1)));
    }

    /// Parts that the filter lets pass, sorted.
    pub fn rows(&self) -> Vec<&Shown> {
        let wanted = self.filter.to_lowercase();
        let has = |shown: &&Shown| {
            let part = &shown.part;
            let text = format!("{} {} {}", part.kind.text(), part.of, part.name).to_lowercase();
            wanted.split_whitespace().all(|word| text.contains(word))
        };
        let mut rows: Vec<&Shown> = self.shown.iter().filter(has).collect();
        let by =
            |value: fn(&Shown) -> f64| move |a: &&Shown, b: &&Shown| value(b).total_cmp(&value(a));
        match self.sort {
            Sort::Place => {}
            Sort::Bound => rows.sort_by(by(|s| s.used().unwrap_or(-1.0))),
            Sort::Late => rows.sort_by(by(|s| s.part.deadline_misses as f64)),
            Sort::Dropped => rows.sort_by(by(|s| s.part.dropped as f64)),
            Sort::Rate => rows.sort_by(by(|s| s.per_second.unwrap_or(-1.0))),
        }
        rows
    }

    /// Acts on a key.
    pub fn key(&mut self, event: KeyEvent) {
        let last = self.rows().len().saturating_sub(1);
        if event.modifiers.contains(KeyModifiers::CONTROL) {
            self.done |= event.code == KeyCode::Char('c');
            return;
        }
        match event.code {
            KeyCode::Enter if self.typing => self.typing = false,
            KeyCode::Esc if self.typing => (self.typing, self.filter) = (false, String::new()),
            KeyCode::Backspace if self.typing => {
                self.filter.pop();
            }
            KeyCode::Char(c) if self.typing => self.filter.push(c),
            KeyCode::Char('q') => self.done = true,
            KeyCode::Esc if self.detail => self.detail = false,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Enter => self.detail = !self.detail && !self.rows().is_empty(),
            KeyCode::Char('/') => (self.typing, self.detail) = (true, false),
            KeyCode::Char('s') => {
                let place = Sort::ALL.iter().position(|s| *s == self.sort).unwrap_or(0);
                self.sort = Sort::ALL[(place + 1) % Sort::ALL.len()];
            }
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.chosen = (self.chosen + 1).min(last),
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(10),
            KeyCode::PageDown => self.chosen = (self.chosen + 10).min(last),
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = last,
            _ => {}
        }
        let rows = self.rows().len();
        self.chosen = self.chosen.min(rows.saturating_sub(1));
    }
}

fn shown(part: Part, earlier: Option<Shown>, seconds: f64) -> Shown {
    let rate = |of: fn(&Part) -> Option<u64>| {
        let before = of(&earlier.as_ref()?.part)?;
        (seconds > 0.0).then_some(of(&part)?.saturating_sub(before) as f64 / seconds)
    };
    let (per_second, bytes) = (rate(|p| p.count), rate(|p| p.bytes));
    let delay = earlier.as_ref().map(|e| part.mean_since(&e.part));
    let mut history = earlier.map(|e| e.history).unwrap_or_default();
    match (part.kind, delay) {
        // An interval without a packet has no delay.
        (PartKind::Flow, Some(delay)) => history.push_back(delay.unwrap_or(0.0)),
        (PartKind::Flow, None) => {}
        _ => history.extend(per_second),
    }
    while history.len() > HISTORY {
        history.pop_front();
    }
    Shown { part, per_second, bits_per_second: bytes.map(|b| b * 8.0), history }
}
