//! Axes: from data to pixels.

use crate::ticks::{self, Tick};

/// The scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By their logarithm; values not above the axis' least are drawn at its end, or, where the axis
    /// breaks at zero, zero beyond the break.
    Log,
}

/// The unit of an axis; chooses the prefix that suits the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, shown as s, ms, µs or ns.
    Time,
    /// Bytes, shown as B, kB, MB or GB.
    Bytes,
    /// Shown without a unit.
    Plain,
}

/// One axis of a plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its quantity, without the unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Unit of the values.
    pub unit: Unit,
    /// Least value shown.
    pub min: f64,
    /// Greatest value shown.
    pub max: f64,
    /// Ticks given by hand, in the units of the data.
    pub ticks: Option<Vec<Tick>>,
    /// Whether ticks have lines across the panel.
    pub grid: bool,
    /// Whether a logarithmic axis breaks below its least value and has zero beyond the break.
    pub zero: bool,
}

/// The share of a broken axis beyond its break.
pub(crate) const BREAK: f64 = 0.09;

impl Axis {
    /// A linear axis. An empty, reversed or infinite range is made a usable one.
    pub fn linear(label: impl Into<String>, unit: Unit, min: f64, max: f64) -> Axis {
        let min = if min.is_finite() { min } else { 0.0 };
        let max = if max.is_finite() && max > min { max } else { min + min.abs().max(1.0) };
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            unit,
            min,
            max,
            ticks: None,
            grid: true,
            zero: false,
        }
    }

    /// A logarithmic axis; both ends must be positive, else a decade below one is shown.
    pub fn log(label: impl Into<String>, unit: Unit, min: f64, max: f64) -> Axis {
        let (min, max) =
            if min > 0.0 && max.is_finite() && max > min { (min, max) } else { (0.1, 1.0) };
        Axis { scale: Scale::Log, ..Axis::linear(label, unit, min, max) }
    }

    /// Breaks a logarithmic axis below its least value: zero has no logarithm.
    pub fn with_zero(mut self) -> Axis {
        self.zero = self.scale == Scale::Log;
        self
    }

    /// A vertical axis of names, the first on top; the i-th lies at `-i`.
    pub fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Axis {
        let ticks: Vec<Tick> = names
            .into_iter()
            .enumerate()
            .map(|(i, name)| Tick { value: -(i as f64), label: name.into() })
            .collect();
        let mut axis = Axis::linear("", Unit::Plain, 0.5 - ticks.len().max(1) as f64, 0.5);
        axis.ticks = Some(ticks);
        axis.grid = false;
        axis
    }

    /// The size of one shown unit in data units, and its name.
    pub(crate) fn prefix(&self) -> (f64, &'static str) {
        let top = self.max.abs().max(self.min.abs());
        match self.unit {
            Unit::Time if top >= 2e9 => (1e9, "s"),
            Unit::Time if top >= 1e6 => (1e6, "ms"),
            Unit::Time if top >= 1e3 => (1e3, "\u{b5}s"),
            Unit::Time => (1.0, "ns"),
            Unit::Bytes if top >= 2e9 => (1e9, "GB"),
            Unit::Bytes if top >= 2e6 => (1e6, "MB"),
            Unit::Bytes if top >= 2e3 => (1e3, "kB"),
            Unit::Bytes => (1.0, "B"),
            Unit::Plain => (1.0, ""),
        }
    }

    /// Label with unit.
    pub(crate) fn title(&self) -> String {
        match (self.label.as_str(), self.prefix().1) {
            (label, "") => label.into(),
            ("", unit) => unit.into(),
            (label, unit) => format!("{label} ({unit})"),
        }
    }

    /// Ticks in data units.
    pub(crate) fn marks(&self, target: usize) -> Vec<Tick> {
        if let Some(ticks) = &self.ticks {
            return ticks.clone();
        }
        let per = self.prefix().0;
        let mut ticks = match self.scale {
            Scale::Linear => ticks::linear(self.min / per, self.max / per, target),
            Scale::Log => ticks::decades(self.min / per, self.max / per, target),
        };
        for t in &mut ticks {
            t.value *= per;
        }
        if self.zero {
            ticks.insert(0, Tick { value: 0.0, label: "0".into() });
        }
        ticks
    }

    /// Place along the axis: 0 at its least, 1 at its greatest value; may lie outside.
    pub(crate) fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.min) / (self.max - self.min),
            Scale::Log if value <= 0.0 && self.zero => 0.0,
            Scale::Log => {
                let low = libm::log10(self.min);
                let above = match value <= self.min {
                    true => 0.0,
                    false => (libm::log10(value) - low) / (libm::log10(self.max) - low),
                };
                let from = if self.zero { BREAK } else { 0.0 };
                from + above * (1.0 - from)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a range is used unchanged: every place on the axis would be not-a-number.
    #[test]
    fn degenerate_axis_ranges_are_widened() {
        let odd = [0.0, -3.0, 5.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        for (min, max) in odd.iter().flat_map(|a| odd.iter().map(move |b| (*a, *b))) {
            for axis in
                [Axis::linear("", Unit::Time, min, max), Axis::log("", Unit::Plain, min, max)]
            {
                assert!(axis.min.is_finite() && axis.max.is_finite() && axis.min < axis.max);
                assert!(axis.place(1.0).is_finite());
            }
        }
    }

    // Fails when zero is drawn at the least value of a logarithmic axis, as if it were that value.
    #[test]
    fn a_broken_axis_keeps_zero_apart() {
        let axis = Axis::log("share", Unit::Plain, 0.001, 1.0).with_zero();
        assert_eq!(axis.place(0.0), 0.0);
        assert_eq!(axis.place(0.001), BREAK);
        assert!((axis.place(1.0) - 1.0).abs() < 1e-12);
        assert_eq!(axis.marks(8)[0].label, "0");
        assert!(!Axis::linear("", Unit::Plain, 0.0, 1.0).with_zero().zero);
    }

    #[test]
    fn si_prefixes_suit_the_range() {
        assert_eq!(Axis::linear("delay", Unit::Time, 0.0, 30e6).title(), "delay (ms)");
        assert_eq!(Axis::linear("", Unit::Bytes, 0.0, 5e6).title(), "MB");
        assert_eq!(Axis::linear("x", Unit::Plain, 0.0, 5e6).title(), "x");
        let names = Axis::names(["a", "b"]);
        assert!(names.place(0.0) > names.place(-1.0) && names.place(-1.0) > 0.0);
    }
}
