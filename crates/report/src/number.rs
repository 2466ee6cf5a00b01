//! Numbers as text, the same on every machine: integers and correctly rounded decimals only.

/// The text for a missing number.
pub const NONE: &str = "\u{2013}";

/// Separates groups of three digits: a narrow space that does not break.
const GROUP: char = '\u{202f}';

/// A number with a fixed count of decimals; not-a-number and infinities are [`NONE`], numbers of
/// more than fifteen digits are scientific.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    if value.abs() >= 1e15 {
        return format!("{value:.3e}");
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_string(),
        Some(rest) => format!("\u{2212}{}", grouped(rest)),
        None => grouped(&text),
    }
}

/// A whole number in groups of three.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A signed whole number in groups of three, with a true minus sign.
pub fn signed(n: i64) -> String {
    let digits = grouped(&n.unsigned_abs().to_string());
    if n < 0 { format!("\u{2212}{digits}") } else { digits }
}

/// A time span in the unit that suits it, with at most three decimals: `30 ms`, `1.25 s`.
pub fn span(ns: u64) -> String {
    let (per, unit) = match ns {
        1_000_000_000.. => (1_000_000_000, "s"),
        1_000_000.. => (1_000_000, "ms"),
        1_000.. => (1_000, "\u{b5}s"),
        _ => (1, "ns"),
    };
    format!("{} {unit}", thousandths(u128::from(ns), per))
}

/// A rate in the unit that suits it: `10 Mbit/s`.
pub fn rate(bit_s: u64) -> String {
    let (per, unit) = match bit_s {
        1_000_000_000.. => (1_000_000_000, "Gbit/s"),
        1_000_000.. => (1_000_000, "Mbit/s"),
        1_000.. => (1_000, "kbit/s"),
        _ => (1, "bit/s"),
    };
    format!("{} {unit}", thousandths(u128::from(bit_s), per))
}

/// A ratio in whole percent, `65%`; `None` when the whole is zero or either is no number.
pub fn percent(part: f64, whole: f64) -> Option<String> {
    let ratio = part / whole * 100.0;
    (ratio.is_finite() && whole > 0.0).then(|| format!("{}%", fixed(ratio, 0)))
}

/// Three significant digits, no trailing zeros after the point.
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return NONE.into();
    }
    let a = value.abs();
    if a != 0.0 && !(1e-4..1e9).contains(&a) {
        return format!("{value:.2e}");
    }
    let decimals = match a {
        _ if a >= 100.0 || a == 0.0 => 0,
        _ if a >= 10.0 => 1,
        _ if a >= 1.0 => 2,
        _ if a >= 0.1 => 3,
        _ => 5,
    };
    let text = fixed(value, decimals);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text
    }
}

fn thousandths(n: u128, per: u128) -> String {
    let milli = (n * 1000 + per / 2) / per;
    let (whole, rest) = (milli / 1000, milli % 1000);
    let whole = grouped(&whole.to_string());
    if rest == 0 {
        return whole;
    }
    let rest = format!("{rest:03}");
    format!("{whole}.{}", rest.trim_end_matches('0'))
}

/// Groups the digits before the point; up to four digits stay together.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_once('.').map_or((text, None), |(w, r)| (w, Some(r)));
    let mut out = String::new();
    let n = whole.len();
    for (i, c) in whole.chars().enumerate() {
        if n > 4 && i > 0 && (n - i) % 3 == 0 {
            out.push(GROUP);
        }
        out.push(c);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}

/// One unit and one count of decimals for all delays of a table, so that they align.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delays {
    /// Multiplies milliseconds.
    factor: f64,
    /// The unit's name.
    pub unit: &'static str,
    decimals: usize,
}

impl Delays {
    /// Chooses by the largest and the least positive number, both in milliseconds.
    pub fn of(values_ms: impl Iterator<Item = f64>) -> Delays {
        let (mut max, mut min) = (0.0f64, f64::INFINITY);
        for v in values_ms.map(f64::abs).filter(|v| v.is_finite() && *v > 0.0) {
            max = max.max(v);
            min = min.min(v);
        }
        let (factor, unit) = match max {
            _ if max >= 100_000.0 => (1e-3, "s"),
            _ if max >= 0.2 || max == 0.0 => (1.0, "ms"),
            _ => (1000.0, "\u{b5}s"),
        };
        let decimals = if min * factor < 0.1 { 3 } else { 2 };
        Delays { factor, unit, decimals }
    }

    /// One number in the chosen unit, without it.
    pub fn text(&self, ms: f64) -> String {
        fixed(ms * self.factor, self.decimals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted_readably() {
        assert_eq!(fixed(14.25, 2), "14.25");
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(-1.5, 1), "\u{2212}1.5");
        assert_eq!(fixed(f64::NAN, 2), NONE);
        assert_eq!(fixed(1e300, 2), "1.000e300");
        assert_eq!(count(1234), "1234");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(signed(-15_000), "\u{2212}15\u{202f}000");
        assert_eq!(signed(i64::MIN).chars().count(), 26);
        assert_eq!(span(30_000_000), "30 ms");
        assert_eq!(span(1_250_000_000), "1.25 s");
        assert_eq!(span(1_500), "1.5 \u{b5}s");
        assert_eq!(span(0), "0 ns");
        assert_eq!(span(u64::MAX), "18\u{202f}446\u{202f}744\u{202f}073.71 s");
        assert_eq!(rate(10_000_000), "10 Mbit/s");
        assert_eq!(percent(14.25, 21.95).as_deref(), Some("65%"));
        assert_eq!(percent(1.0, 0.0), None);
        assert_eq!(short(0.125), "0.125");
        assert_eq!(short(1500.0), "1500");
        assert_eq!(short(10.0), "10");
    }

    #[test]
    fn delays_of_a_table_share_a_unit() {
        let d = Delays::of([0.53, 28.82].into_iter());
        assert_eq!((d.unit, d.text(28.82).as_str()), ("ms", "28.82"));
        let d = Delays::of([0.00053, 0.0288].into_iter());
        assert_eq!((d.unit, d.text(0.0288).as_str()), ("\u{b5}s", "28.80"));
        assert_eq!(Delays::of(std::iter::empty()).unit, "ms");
    }
}
