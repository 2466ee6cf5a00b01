//! The answers that determine the scenarios, from options and, on a terminal, from questions.
//!
//! Questions are read from and written to what the caller passes, so tests answer them without a
//! terminal.

use std::io::{BufRead, Write};

use laxity_core::{Bytes, Rate, Span};
use laxity_scenario::quantity::{self, QuantityError};

use super::args::InitArgs;
use super::device;
use super::error::InitError;
use super::line::Line;
use super::presets::{Direction, PRESETS, Preset};

/// Least and largest rate of a line.
const RATES: (Rate, Rate) = (Rate(64_000), Rate(1_000_000_000_000));
/// Largest deadline and jitter.
const MOST_TIME: Span = Span::from_millis(10_000);

/// Answers that determine the two scenarios.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Rate of the line upstream.
    pub up: Rate,
    /// Rate of the line downstream.
    pub down: Rate,
    /// Kind of line.
    pub line: Line,
    /// Interface of the line.
    pub wan: String,
    /// Link-layer header in the packets of the interface.
    pub header: Bytes,
    /// Presets with their deadlines, in the order of [`PRESETS`].
    pub with: Vec<(&'static Preset, Span)>,
    /// Share of the line's rate in percent.
    pub share: u32,
    /// Jitter of the provider downstream.
    pub jitter: Span,
}

impl Answers {
    /// Rate of the line in a direction.
    pub fn rate(&self, direction: Direction) -> Rate {
        match direction {
            Direction::Up => self.up,
            Direction::Down => self.down,
        }
    }

    /// Jitter of packets that arrive at the link in a direction.
    pub fn jitter(&self, direction: Direction) -> Span {
        match direction {
            Direction::Up => Span::ZERO,
            Direction::Down => self.jitter,
        }
    }
}

/// Facts of this machine.
pub struct Machine<'a> {
    /// Interface of the default route.
    pub default_route: Option<String>,
    /// Contents of `type` of an interface.
    pub link_type: &'a dyn Fn(&str) -> Option<String>,
}

/// Where questions are asked.
pub struct Terminal<'a> {
    /// Answers, a line each.
    pub input: &'a mut dyn BufRead,
    /// Questions.
    pub output: &'a mut dyn Write,
}

/// A question for the value of an option.
struct Question<'a, T> {
    option: &'static str,
    given: Option<&'a str>,
    text: &'a str,
    /// Value of an empty answer.
    default: Option<&'a str>,
    read: &'a dyn Fn(&str) -> Result<T, InitError>,
}

/// Reads options and asks for missing ones; without a terminal, missing ones are an error.
///
/// # Errors
/// All but [`InitError::Exists`] and [`InitError::DoesNotFit`].
pub fn answers(
    args: &InitArgs,
    machine: &Machine<'_>,
    mut terminal: Option<Terminal<'_>>,
) -> Result<Answers, InitError> {
    let share = share(&args.share)?;
    let jitter = time("--jitter", &args.jitter)?;
    if terminal.is_none() {
        let wan = args.wan.as_deref().or(machine.default_route.as_deref());
        let needed = [
            ("--up", args.up.as_deref()),
            ("--down", args.down.as_deref()),
            ("--line", args.line.as_deref()),
            ("--wan", wan),
            ("--with", args.with.as_deref()),
        ];
        let missing = needed.into_iter().filter(|(_, value)| value.is_none());
        let missing: Vec<_> = missing.map(|(option, _)| option).collect();
        if !missing.is_empty() {
            return Err(InitError::Missing(missing));
        }
    }
    let up = Question {
        option: "--up",
        given: args.up.as_deref(),
        text: "Upstream rate of the line, such as 20mbit",
        default: None,
        read: &|text| rate("--up", text),
    };
    let up = up.answer(&mut terminal)?;
    let down = Question {
        option: "--down",
        given: args.down.as_deref(),
        text: "Downstream rate of the line, such as 100mbit",
        default: None,
        read: &|text| rate("--down", text),
    };
    let down = down.answer(&mut terminal)?;
    let kinds = Line::kinds().collect::<Vec<_>>().join(", ");
    let line = Question {
        option: "--line",
        given: args.line.as_deref(),
        text: &format!("Kind of line: {kinds}"),
        default: Some("conservative"),
        read: &|text| Line::parse(text).map_err(|e| InitError::value("--line", text, e)),
    };
    let line = line.answer(&mut terminal)?;
    let route = machine.default_route.as_deref();
    let wan = Question {
        option: "--wan",
        given: args.wan.as_deref().or(route.filter(|_| terminal.is_none())),
        text: "Interface of the line",
        default: route,
        read: &interface,
    };
    let wan = wan.answer(&mut terminal)?;
    let names = PRESETS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    let with = Question {
        option: "--with",
        given: args.with.as_deref(),
        text: &format!("Traffic that gets deadlines: {names}, or none"),
        default: Some("voice,meeting,game"),
        read: &presets,
    };
    let mut with = with.answer(&mut terminal)?;
    deadlines(&args.deadline, &mut with)?;
    let header = device::header((machine.link_type)(&wan).as_deref());
    Ok(Answers { up, down, line, wan, header, with, share, jitter })
}

impl<T> Question<'_, T> {
    /// The option's value, or the first answer that can be used.
    fn answer(&self, terminal: &mut Option<Terminal<'_>>) -> Result<T, InitError> {
        if let Some(given) = self.given {
            return (self.read)(given);
        }
        let Some(Terminal { input, output }) = terminal else {
            return Err(InitError::Missing(vec![self.option]));
        };
        let failed = |e: std::io::Error| InitError::Io(format!("the terminal: {e}"));
        loop {
            let default = self.default.map(|d| format!(" [{d}]")).unwrap_or_default();
            write!(output, "{}{default}: ", self.text)
                .and_then(|()| output.flush())
                .map_err(failed)?;
            let mut line = Vec::new();
            if input.read_until(b'\n', &mut line).map_err(failed)? == 0 {
                return Err(InitError::Ended { option: self.option });
            }
            let line = String::from_utf8_lossy(&line);
            let answer = match (line.trim(), self.default) {
                ("", Some(default)) => default,
                (answer, _) => answer,
            };
            match (self.read)(answer) {
                Ok(value) => return Ok(value),
                Err(error) => writeln!(output, "{error}").map_err(failed)?,
            }
        }
    }
}

/// A rate as in scenarios, or as in tc(8): `20mbit`.
fn rate(option: &'static str, text: &str) -> Result<Rate, InitError> {
    let lower = text.trim().to_ascii_lowercase();
    let units = [("kbit", "kbit/s"), ("mbit", "Mbit/s"), ("gbit", "Gbit/s"), ("bit", "bit/s")];
    let tc = units.into_iter().find_map(|(unit, ours)| Some((lower.strip_suffix(unit)?, ours)));
    let read = match tc {
        Some((number, unit)) => quantity::rate(&format!("{} {unit}", number.trim())),
        None => quantity::rate(text),
    };
    let wrong = |e: QuantityError| InitError::value(option, text, usage(&e));
    let rate = read.map_err(wrong)?;
    if rate < RATES.0 || rate > RATES.1 {
        let reason = "give a rate from 64 kbit/s to 1 Tbit/s";
        return Err(InitError::value(option, text, reason));
    }
    Ok(rate)
}

fn usage(error: &QuantityError) -> String {
    format!("{}; {}", error.reason(), error.remedy())
}

fn time(option: &'static str, text: &str) -> Result<Span, InitError> {
    let time = quantity::span(text).map_err(|e| InitError::value(option, text, usage(&e)))?;
    if time > MOST_TIME {
        return Err(InitError::value(option, text, "give at most 10 s"));
    }
    Ok(time)
}

fn share(text: &str) -> Result<u32, InitError> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    let digits = (1..=3).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    let share = number.parse::<u32>().ok().filter(|n| digits && (1..=100).contains(n));
    share.ok_or_else(|| InitError::value("--share", text, "give 1% to 100%, such as 95%"))
}

fn interface(text: &str) -> Result<String, InitError> {
    match device::is_name(text) {
        true => Ok(text.to_owned()),
        false => {
            Err(InitError::value("--wan", text, "give the name of an interface, such as eth0"))
        }
    }
}

fn presets(text: &str) -> Result<Vec<(&'static Preset, Span)>, InitError> {
    let names: Vec<&str> = text.split([',', ' ']).filter(|name| !name.is_empty()).collect();
    let known = || PRESETS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
    match names[..] {
        [] => {
            return Err(InitError::value(
                "--with",
                text,
                format!("give some of {}, or none", known()),
            ));
        }
        ["none"] => return Ok(Vec::new()),
        _ => {}
    }
    if let Some(name) = names.iter().find(|name| Preset::find(name).is_none()) {
        let reason =
            format!("there is no preset of that name; choose some of {}, or none", known());
        return Err(InitError::value("--with", name, reason));
    }
    let chosen = PRESETS.iter().filter(|preset| names.contains(&preset.name));
    Ok(chosen.map(|preset| (preset, preset.deadline)).collect())
}

fn deadlines(given: &[String], with: &mut [(&'static Preset, Span)]) -> Result<(), InitError> {
    for text in given {
        let wrong = |reason: &str| InitError::value("--deadline", text, reason);
        let (name, deadline) = text
            .split_once('=')
            .ok_or_else(|| wrong("write a preset and a time, such as voice=20ms"))?;
        let deadline = time("--deadline", deadline)?;
        if deadline == Span::ZERO {
            return Err(wrong("nothing is sent in 0 s; write for example voice=20ms"));
        }
        let place = with.iter_mut().find(|(preset, _)| preset.name == name);
        place.ok_or_else(|| wrong("--with does not name this preset"))?.1 = deadline;
    }
    Ok(())
}
