//! Values that are neither plain quantities nor tables: numbers in a range, names in place of
//! numbers, tolerances, frequencies, percentages, addresses.

use laxity_core::Span;
use laxity_cpu::{CpuSet, Nice};
use laxity_dwcs::{Tolerance, ToleranceError};
use toml::de::DeValue;

use super::walk::{self, Section, shown};
use crate::keys::{Kind, nearest};
use crate::problem::Problems;
use crate::quantity::{self, Inexact, exact, print_span, split_decimal};
use crate::value::{Frequency, Share, Step};

/// A range of times, both ends included.
pub(crate) fn range(
    section: &Section<'_>,
    name: &str,
    out: &mut Problems<'_>,
) -> Option<(Span, Span)> {
    let (least, most) = section.pair(name, out, walk::time)?;
    if least > most {
        let what = format!("{} is more than {}", print_span(least), print_span(most));
        section.wrong(name, out, what, "a range is [least, most]");
        return None;
    }
    Some((least, most))
}

/// A whole number within the bounds of its key ([`Kind::Whole`]).
pub(crate) fn whole(section: &Section<'_>, name: &str, out: &mut Problems<'_>) -> Option<u32> {
    let (key, _) = section.get(name)?;
    let Kind::Whole(least, most) = key.kind else { return None };
    number(section, name, (least, most), out)
}

/// A whole number between two, both included.
pub(crate) fn number(
    section: &Section<'_>,
    name: &str,
    (least, most): (u32, u32),
    out: &mut Problems<'_>,
) -> Option<u32> {
    let (_, value) = section.get(name)?;
    let remedy = format!("write a number from {least} to {most}");
    let DeValue::Integer(number) = value.get_ref() else {
        section.wrong(name, out, "this is not a whole number", remedy);
        return None;
    };
    let parsed = u32::from_str_radix(number.as_str(), number.radix()).ok();
    let parsed = parsed.filter(|n| (least..=most).contains(n));
    if parsed.is_none() {
        let what = format!("{} is out of range", shown(&number.to_string()));
        section.wrong(name, out, what, remedy);
    }
    parsed
}

/// A value, or one of the names that may stand for it by its place among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Or<T> {
    /// The value.
    Value(T),
    /// The name.
    Name(usize),
}

/// A whole number or a name ([`Kind::WholeOr`]).
pub(crate) fn whole_or(
    section: &Section<'_>,
    name: &str,
    out: &mut Problems<'_>,
) -> Option<Or<u32>> {
    let (key, value) = section.get(name)?;
    let Kind::WholeOr(least, most, names) = key.kind else { return None };
    let Some(text) = value.get_ref().as_str() else {
        return number(section, name, (least, most), out).map(Or::Value);
    };
    let numbers = format!("a number from {least} to {most}");
    named(section, name, text, names, &numbers, out).map(Or::Name)
}

/// A time above zero, or a name ([`Kind::TimeOr`]).
pub(crate) fn time_or(
    section: &Section<'_>,
    name: &str,
    out: &mut Problems<'_>,
) -> Option<Or<Span>> {
    let (key, value) = section.get(name)?;
    let Kind::TimeOr(names) = key.kind else { return None };
    match value.get_ref().as_str() {
        Some(text) if text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic()) => {
            let times = format!("a time like {}", key.example);
            named(section, name, text, names, &times, out).map(Or::Name)
        }
        _ => section.positive_time(name, out).map(Or::Value),
    }
}

fn named(
    section: &Section<'_>,
    name: &str,
    text: &str,
    names: &[&str],
    otherwise: &str,
    out: &mut Problems<'_>,
) -> Option<usize> {
    let place = names.iter().position(|n| *n == text);
    if place.is_none() {
        let remedy = match nearest(text, names.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"? Or write {otherwise}"),
            None => format!("write {} or {otherwise}", crate::keys::strings(names)),
        };
        section.wrong(name, out, format!("unknown {name} \"{}\"", shown(text)), remedy);
    }
    place
}

/// Losses and packets ([`Kind::Tolerance`]).
pub(crate) fn tolerance(
    section: &Section<'_>,
    name: &str,
    out: &mut Problems<'_>,
) -> Option<Tolerance> {
    let text = section.text(name, out)?;
    let (what, remedy) = match text.parse::<Tolerance>() {
        Ok(tolerance) => return Some(tolerance),
        Err(ToleranceError::MoreLossesThanPackets { x, y }) => (
            format!("{x} losses do not fit into {y} packets"),
            format!("x/y means at most x lost or late in every y packets: give at most {y}/{y}"),
        ),
        Err(ToleranceError::WindowTooLong { y }) => (
            format!("a window of {y} packets is too long"),
            format!("give a shorter window of the same ratio, of at most {} packets", u16::MAX),
        ),
        Err(_) => (
            format!("\"{}\" is not a tolerance", shown(text)),
            "write whole numbers x/y, at most x lost or late in every y packets, like \"1/80\""
                .into(),
        ),
    };
    section.wrong(name, out, what, remedy);
    None
}

/// A frequency ([`Kind::Frequency`]), above zero and with at most six decimals.
pub(crate) fn frequency(
    section: &Section<'_>,
    name: &str,
    out: &mut Problems<'_>,
) -> Option<Frequency> {
    let text = section.text(name, out)?;
    let number = text.trim().strip_suffix("/s").map(str::trim_end);
    let millionths = number.and_then(split_decimal).map(|(a, b)| exact(a, b, 1_000_000));
    let (what, remedy) = match millionths {
        Some(Ok(0)) => (format!("`{name}` is zero"), "give it more than zero, like \"25/s\""),
        Some(Ok(n)) if n <= Frequency::MOST.0 => return Some(Frequency(n)),
        Some(Ok(_) | Err(Inexact::Overflow)) => {
            (format!("\"{}\" is more than a million a second", shown(text)), "give fewer")
        }
        Some(Err(Inexact::Fraction)) => {
            (format!("\"{}\" has more than six decimals", shown(text)), "give fewer decimals")
        }
        None => (
            format!("\"{}\" is not a frequency", shown(text)),
            "write how often a second, like \"25/s\" or \"29.97/s\"",
        ),
    };
    section.wrong(name, out, what, remedy);
    None
}

/// A share of a hundred ([`Kind::Percent`]), from 0 to 100 with at most four decimals.
pub(crate) fn percent(section: &Section<'_>, name: &str, out: &mut Problems<'_>) -> Option<Share> {
    let text = section.text(name, out)?;
    let number = text.trim().strip_suffix('%').map(str::trim_end);
    let millionths = number.and_then(split_decimal).map(|(a, b)| exact(a, b, 10_000));
    let (what, remedy) = match millionths {
        Some(Ok(n)) if n <= u64::from(Share::WHOLE.0) => return Some(Share(n as u32)),
        Some(Ok(_) | Err(Inexact::Overflow)) => {
            (format!("\"{}\" is more than 100 %", shown(text)), "give at most \"100 %\"")
        }
        Some(Err(Inexact::Fraction)) => {
            (format!("\"{}\" has more than four decimals", shown(text)), "give fewer decimals")
        }
        None => (
            format!("\"{}\" is not a percentage", shown(text)),
            "write it with its sign, like \"1 %\" or \"0.5 %\"",
        ),
    };
    section.wrong(name, out, what, remedy);
    None
}

/// A nice value ([`Kind::Nice`]).
pub(crate) fn nice(section: &Section<'_>, name: &str, out: &mut Problems<'_>) -> Option<Nice> {
    let (_, value) = section.get(name)?;
    let remedy = "write a number from -20 (most of the CPU) to 19 (least)";
    let DeValue::Integer(number) = value.get_ref() else {
        section.wrong(name, out, "this is not a whole number", remedy);
        return None;
    };
    let parsed = i8::from_str_radix(number.as_str(), number.radix()).ok().and_then(Nice::new);
    if parsed.is_none() {
        let what = format!("{} is out of range", shown(&number.to_string()));
        section.wrong(name, out, what, remedy);
    }
    parsed
}

/// CPUs ([`Kind::Cpus`]) of so many.
pub(crate) fn cpus(
    section: &Section<'_>,
    name: &str,
    count: u32,
    out: &mut Problems<'_>,
) -> Option<CpuSet> {
    let text = section.text(name, out)?;
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |s: &str| s.trim().parse::<u32>().ok().filter(|n| *n < CpuSet::MOST);
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then(|| CpuSet::range(first, last - first + 1))
    };
    let set = text.split(',').try_fold(CpuSet::NONE, |all, p| Some(all.or(part(p)?)));
    let Some(set) = set else {
        let what = format!("\"{}\" is not a list of CPUs", shown(text));
        section.wrong(name, out, what, "write numbers and ranges from 0 on, like \"0,2-3\"");
        return None;
    };
    if let Some(cpu) = set.without(CpuSet::range(0, count)).first() {
        let what = format!("there is no CPU {}", cpu.0);
        let remedy = match count {
            1 => "there is one CPU, 0: remove the line, or raise `cpus` in [cpu]".to_owned(),
            n => format!("CPUs are numbered from 0 to {}", n - 1),
        };
        section.wrong(name, out, what, remedy);
        return None;
    }
    Some(set)
}

/// The most steps of a script.
const MOST_STEPS: usize = 100_000;

/// Steps of a script ([`Kind::Steps`]): a verb and a time each.
pub(crate) fn steps(
    section: &Section<'_>,
    name: &str,
    out: &mut Problems<'_>,
) -> Option<Vec<Step>> {
    let (key, value) = section.get(name)?;
    let DeValue::Array(array) = value.get_ref() else {
        let remedy = format!("write it like {name} = {}", key.example);
        section.wrong(name, out, "this is not a list of steps", remedy);
        return None;
    };
    if array.is_empty() || array.len() > MOST_STEPS {
        let what = format!("a script has from 1 to {MOST_STEPS} steps, this one {}", array.len());
        section.wrong(name, out, what, format!("write it like {name} = {}", key.example));
        return None;
    }
    let mut done = Vec::with_capacity(array.len());
    for value in array.iter() {
        let remedy = "write `run`, `sleep` or `until` and a time, like \"run 5 ms\"";
        let Some(text) = value.get_ref().as_str() else {
            out.value(value.span(), &section.key_path(name), "this is not a step", remedy);
            continue;
        };
        let (verb, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text, ""));
        let step = match verb {
            "run" => Step::Run,
            "sleep" => Step::Sleep,
            "until" => Step::Until,
            _ => {
                let what = format!("\"{}\" is not a step", shown(text));
                out.value(value.span(), &section.key_path(name), what, remedy);
                continue;
            }
        };
        match quantity::span(rest) {
            Ok(span) if span <= walk::MAX_SPAN => done.push(step(span)),
            Ok(_) => {
                let what = format!("\"{}\" lasts more than 1000 h", shown(text));
                out.value(value.span(), &section.key_path(name), what, "check the unit");
            }
            Err(error) => {
                let what = format!("\"{}\" has no time: {}", shown(text), error.reason());
                out.value(value.span(), &section.key_path(name), what, error.remedy());
            }
        }
    }
    (done.len() == array.len()).then_some(done)
}

/// A host and a port ([`Kind::Address`]): a name, an IPv4 address or an IPv6 one in brackets.
pub(crate) fn address(
    section: &Section<'_>,
    name: &str,
    out: &mut Problems<'_>,
) -> Option<(String, u16)> {
    let text = section.text(name, out)?;
    let parts = text.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse::<u16>().ok()?;
        let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let valid = match inner {
            Some(v6) => v6.parse::<std::net::Ipv6Addr>().is_ok(),
            None => !host.is_empty() && host.bytes().all(is_of_host),
        };
        valid.then(|| (host.to_owned(), port))
    });
    match parts {
        Some((_, 0)) => {
            let remedy = "give the port of the first stream, from 1 to 65535";
            section.wrong(name, out, "nothing can be sent to port 0", remedy);
            None
        }
        Some(address) => Some(address),
        None => {
            let what = format!("\"{}\" is not a host and a port", shown(text));
            let remedy = "write it like \"192.0.2.7:5004\", \"player.example:5004\" or \
                          \"[2001:db8::7]:5004\"";
            section.wrong(name, out, what, remedy);
            None
        }
    }
}

fn is_of_host(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_')
}
