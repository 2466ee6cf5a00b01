//! The lines of a program that measures rates, and its command line.

use laxity_core::Rate;
use laxity_scenario::quantity;

/// Rates of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// The only rate, or the one upstream.
    pub first: Rate,
    /// The one downstream.
    pub down: Option<Rate>,
}

/// The rates of a line: one, or two, of which the first is the one upstream. Numbers without a unit are
/// kbit/s, as `cake-autorate` has them. `None` for any other line.
pub fn rates(line: &str) -> Option<Rates> {
    let mut rates: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let is_unit = word.starts_with(|c: char| c.is_ascii_alphabetic());
        match rates.last_mut() {
            Some(number) if is_unit && is_number(number) => *number = format!("{number} {word}"),
            _ => rates.push(word.to_owned()),
        }
    }
    let read = |text: &String| {
        let text = if is_number(text) { format!("{text} kbit/s") } else { text.clone() };
        quantity::rate(&text).ok()
    };
    let rates: Option<Vec<Rate>> = rates.iter().map(read).collect();
    match rates?[..] {
        [first] => Some(Rates { first, down: None }),
        [first, down] => Some(Rates { first, down: Some(down) }),
        _ => None,
    }
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// A command line as words, without a shell: separated by spaces, and grouped by single or double
/// quotes. Nothing else has a meaning.
///
/// # Errors
/// The fault of the line.
pub fn words(text: &str) -> Result<Vec<String>, &'static str> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match (quote, words.is_empty()) {
        (Some(_), _) => Err("a quote has no end"),
        (None, true) => Err("it names no program"),
        (None, false) => Ok(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a form is not read, directions are exchanged, or garbage is a rate.
    #[test]
    fn lines_have_one_or_two_rates() {
        for (line, expected) in [
            ("5000", Some((5_000_000, None))),
            ("  4200.5\t", Some((4_200_500, None))),
            ("4200 18000", Some((4_200_000, Some(18_000_000)))),
            ("5 Mbit/s", Some((5_000_000, None))),
            ("5 Mbit/s 20 Mbit/s", Some((5_000_000, Some(20_000_000)))),
            ("5Mbit/s 20000", Some((5_000_000, Some(20_000_000)))),
            ("0", Some((0, None))),
            ("", None),
            ("-1", None),
            ("1 2 3", None),
            ("5000 down", None),
            ("Mbit/s", None),
            ("DEBUG; 2026-11-26 rate 500", None),
            ("99999999999999999999999", None),
            ("1e18", None),
            ("inf", None),
            ("NaN 5", None),
            ("5 ms", None),
            ("\u{0}\u{fffd}", None),
        ] {
            let expected =
                expected.map(|(first, down)| Rates { first: Rate(first), down: down.map(Rate) });
            assert_eq!(rates(line), expected, "{line:?}");
        }
    }

    // Fails when a character means what it means to a shell.
    #[test]
    fn words_are_not_expanded() {
        let split = |text| words(text).map(|w| w.join("|"));
        assert_eq!(split("autorate -i eth0"), Ok("autorate|-i|eth0".into()));
        assert_eq!(split("a 'b c' \"d 'e'\" ''"), Ok("a|b c|d 'e'|".into()));
        assert_eq!(split("a $HOME;rm *`b`\\n"), Ok("a|$HOME;rm|*`b`\\n".into()));
        assert!(split("a 'b").is_err() && split("  ").is_err());
    }
}
