//! Quantities as the text form of `tc` prints them.

/// A decimal number as thousandths, and the unit after it. More than three digits after the point, or
/// none at all, is `None`: `tc` prints three significant digits.
fn thousandths(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    if part.len() > 3 || whole.is_empty() {
        return None;
    }
    let scale = [1000, 100, 10, 1][part.len()];
    let part: u64 = if part.is_empty() { 0 } else { part.parse().ok()? };
    let whole: u64 = whole.parse().ok()?;
    Some((whole.checked_mul(1000)?.checked_add(part.checked_mul(scale)?)?, unit))
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let (number, unit) = thousandths(text)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some(number.checked_mul(*factor)? / 1000)
}

/// A rate in bit/s. SI units: `10Mbit` is 10,000,000 bit/s.
pub fn rate(text: &str) -> Option<u64> {
    const UNITS: &[(&str, u64)] = &[
        ("bit", 1),
        ("Kbit", 1_000),
        ("Mbit", 1_000_000),
        ("Gbit", 1_000_000_000),
        ("Tbit", 1_000_000_000_000),
    ];
    scaled(text, UNITS)
}

/// A size in bytes: `15Kb` is 15 × 1024 bytes.
pub fn size(text: &str) -> Option<u64> {
    scaled(text, &[("b", 1), ("", 1), ("Kb", 1 << 10), ("Mb", 1 << 20)])
}

/// A time in ns: `6.75ms`.
pub fn time(text: &str) -> Option<u64> {
    scaled(text, &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)])
}

/// A hexadecimal number, with or without `0x`.
pub fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}
