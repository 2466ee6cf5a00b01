//! Ticks of an axis: steps of 1, 2 or 5 times a power of ten, and decades.

/// A labelled place on an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Place, in the axis' own unit.
    pub value: f64,
    /// Its label; may be empty for a place with a line but no text.
    pub label: String,
}

/// Ticks on a linear axis, at most `target + 1` of them and usually at least half as many.
///
/// Values are integer multiples of one decimal step and labels are made from the same integers, so
/// no label ever shows a rounding error. A range that is empty, reversed or not finite gives one
/// tick or none.
pub fn linear(min: f64, max: f64, target: usize) -> Vec<Tick> {
    let range = max - min;
    if !range.is_finite() || range <= 0.0 {
        return if min.is_finite() { vec![lone(min)] } else { Vec::new() };
    }
    let raw = range / target.max(1) as f64;
    let mut exponent = libm::floor(libm::log10(raw)) as i32;
    let mut mantissa = 1;
    for m in [1, 2, 5, 10] {
        mantissa = m;
        // A hair of tolerance: a range of exactly ten steps shall not fall to the next step.
        if decimal(m, exponent) >= raw * (1.0 - 1e-12) {
            break;
        }
    }
    if mantissa == 10 {
        (mantissa, exponent) = (1, exponent + 1);
    }
    let step = decimal(mantissa, exponent);
    let (first, last) = (libm::ceil(min / step - 1e-9), libm::floor(max / step + 1e-9));
    if !step.is_finite() || step <= 0.0 || first.abs() > 1e15 || last.abs() > 1e15 || last < first {
        return vec![lone(min), lone(max)];
    }
    let (first, last) = (first as i128, last as i128);
    (first..=last)
        .take(target.max(1) + 2)
        .map(|k| {
            let digits = k * i128::from(mantissa);
            Tick { value: decimal(digits, exponent), label: label(digits, exponent) }
        })
        .collect()
}

/// Ticks on a logarithmic axis: whole decades, every decade labelled as long as at most `target`
/// fit, then every second, and so on. Empty when the range is not positive.
pub fn decades(min: f64, max: f64, target: usize) -> Vec<Tick> {
    if !(min > 0.0 && max.is_finite() && max >= min) {
        return Vec::new();
    }
    let first = libm::ceil(libm::log10(min) - 1e-9) as i32;
    let last = libm::floor(libm::log10(max) + 1e-9) as i32;
    if last < first {
        return Vec::new();
    }
    let every = ((last - first) as usize / target.max(1) + 1) as i32;
    (first..=last)
        .filter(|e| (last - e) % every == 0)
        .map(|e| Tick { value: decimal(1, e), label: power(e) })
        .collect()
}

/// `digits * 10^exponent`, correctly rounded.
pub fn decimal(digits: impl Into<i128>, exponent: i32) -> f64 {
    let digits: i128 = digits.into();
    format!("{digits}e{exponent}").parse().unwrap_or(f64::NAN)
}

fn lone(value: f64) -> Tick {
    Tick { value, label: crate::number::short(value) }
}

fn label(digits: i128, exponent: i32) -> String {
    if digits == 0 {
        return "0".into();
    }
    let sign = if digits < 0 { "\u{2212}" } else { "" };
    let mut text = digits.unsigned_abs().to_string();
    if !(-6..=5).contains(&exponent) || text.len() as i32 + exponent > 7 {
        let value = crate::ticks::decimal(digits, exponent);
        return crate::number::short(value).replace('-', "\u{2212}");
    }
    if exponent >= 0 {
        text.extend(std::iter::repeat_n('0', exponent as usize));
        return format!("{sign}{text}");
    }
    let places = (-exponent) as usize;
    while text.len() <= places {
        text.insert(0, '0');
    }
    text.insert(text.len() - places, '.');
    format!("{sign}{text}")
}

fn power(exponent: i32) -> String {
    match exponent {
        0 => "1".into(),
        1 => "10".into(),
        2 => "100".into(),
        -1 => "0.1".into(),
        -2 => "0.01".into(),
        e => {
            let digits: String = e
                .to_string()
                .chars()
                .map(|c| match c {
                    '-' => '\u{207b}',
                    '1' => '\u{b9}',
                    '2' => '\u{b2}',
                    '3' => '\u{b3}',
                    d => char::from_u32(0x2070 + d as u32 - '0' as u32).unwrap_or(d),
                })
                .collect();
            format!("10{digits}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn typical_axes_have_round_ticks() {
        assert_eq!(labels(&linear(0.0, 600.0, 6)), ["0", "100", "200", "300", "400", "500", "600"]);
        assert_eq!(labels(&linear(0.0, 0.3, 3)), ["0", "0.1", "0.2", "0.3"]);
        assert_eq!(
            labels(&linear(-1.0, 1.0, 4)),
            ["\u{2212}1.0", "\u{2212}0.5", "0", "0.5", "1.0"]
        );
        assert_eq!(labels(&decades(1e-5, 1.0, 6)), ["10⁻⁵", "10⁻⁴", "10⁻³", "0.01", "0.1", "1"]);
        assert_eq!(decades(1e-12, 1.0, 5).len(), 5);
    }

    #[test]
    fn degenerate_ranges() {
        assert_eq!(labels(&linear(0.0, 0.0, 5)), ["0"]);
        assert!(linear(f64::NAN, 1.0, 5).is_empty());
        assert!(linear(5.0, f64::INFINITY, 5).len() <= 1);
        assert!(decades(0.0, 1.0, 5).is_empty());
        assert!(decades(-1.0, f64::NAN, 5).is_empty());
        assert!(decades(2.0, 3.0, 1).is_empty());
    }

    proptest! {
        // Fails when the step is not rounded up (too many ticks), when a tick leaves the range or
        // when labels are made from the floating values (they would repeat or show noise).
        #[test]
        fn ticks_are_few_increasing_distinct_and_inside_the_range(
            a in -1e12f64..1e12, size in 1e-9f64..1e12, target in 2usize..12
        ) {
            let (min, max) = (a, a + size);
            prop_assume!(max > min && size / a.abs().max(1e-300) > 1e-9);
            let ticks = linear(min, max, target);
            prop_assert!(!ticks.is_empty() && ticks.len() <= target + 1);
            let slack = (max - min) * 1e-6;
            for pair in ticks.windows(2) {
                prop_assert!(pair[0].value < pair[1].value);
            }
            for t in &ticks {
                prop_assert!(t.value >= min - slack && t.value <= max + slack);
            }
        }

        #[test]
        fn small_axes_have_exact_labels(scale in -5i32..4, n in 1u32..9999, target in 3usize..9) {
            let max = decimal(i128::from(n), scale);
            for t in linear(0.0, max, target) {
                let read: f64 = t.label.replace('\u{202f}', "").parse().unwrap_or(f64::NAN);
                prop_assert!((read - t.value).abs() <= t.value * 1e-2, "{} {}", t.label, t.value);
            }
        }

        #[test]
        fn arbitrary_numbers_give_valid_ticks(min in any::<f64>(), max in any::<f64>(), target in 0usize..20) {
            let n = linear(min, max, target).len().max(decades(min, max, target.max(1)).len());
            prop_assert!(n <= 700);
        }
    }
}
