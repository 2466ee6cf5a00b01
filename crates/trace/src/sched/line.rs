//! One line of a recording.
//!
//! Names of threads may hold spaces, colons, digits and brackets, so a line is read from its fixed
//! parts outwards: first the time that stands before the name of the event, then what is left of
//! it, and in the fields from one key to the next.

use super::{PrevState, SchedErrorKind, SchedEvent, SchedKind};

/// A line of interest, or not.
pub(super) enum Line<'a> {
    Event(SchedEvent),
    /// An event of another kind, by name.
    Other(&'a str),
    /// Number of events that the recorder reports lost at this line.
    Lost(u64),
    /// Comments, headings, empty lines.
    Nothing,
}

type Parsed<T> = Result<T, SchedErrorKind>;

pub(super) fn parse(text: &str, line: u64) -> Parsed<Line<'_>> {
    let trimmed = text.trim();
    if trimmed.is_empty() || trimmed.starts_with('#') || is_heading(trimmed) {
        return Ok(Line::Nothing);
    }
    if let Some(lost) = lost(trimmed) {
        return Ok(Line::Lost(lost));
    }
    let not_an_event = || SchedErrorKind::NotAnEvent { found: start(trimmed) };
    let (before, time, event) = split_at_time(trimmed).ok_or_else(not_an_event)?;
    let event = event.strip_prefix("sched:").unwrap_or(event);
    let (name, fields) = event.split_once(':').ok_or_else(not_an_event)?;
    let name = name.trim();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c)) {
        return Err(not_an_event());
    }
    let Some(name) = known(name) else { return Ok(Line::Other(name)) };
    let (cpu, current) = header(before)?;
    let time_ns = nanoseconds(time).ok_or_else(|| number("time", time))?;
    let kind = kind(name, fields.trim(), current)?;
    Ok(Line::Event(SchedEvent { time_ns, cpu, current, line, kind }))
}

fn start(text: &str) -> String {
    text.chars().take(60).collect()
}

fn number(field: &'static str, found: &str) -> SchedErrorKind {
    SchedErrorKind::Number { field, found: start(found) }
}

fn is_heading(line: &str) -> bool {
    let cpus = line.strip_prefix("cpus=").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let empty = line.starts_with("CPU ") && line.ends_with(" is empty");
    cpus || empty || line.starts_with("version = ") || line.starts_with("trace.dat")
}

/// `CPU:1 [LOST 12 EVENTS]`, `[12 EVENTS DROPPED]` and the like.
fn lost(line: &str) -> Option<u64> {
    let upper = line.to_ascii_uppercase();
    if !(upper.contains("LOST") || upper.contains("DROPPED")) || !upper.contains("EVENTS") {
        return None;
    }
    if upper.contains("SCHED_") {
        return None;
    }
    let digits = |token: &str| token.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok();
    let mut tokens = line.split_whitespace().filter(|w| !w.starts_with("CPU"));
    Some(tokens.find_map(digits).unwrap_or(1))
}

/// `12.345678:` and what stands before and after it: the first such number that an event follows.
fn split_at_time(line: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = line[from..].find(": ").map(|at| from + at) {
        let head = &line[..at];
        let begin = head.rfind(' ').map_or(0, |space| space + 1);
        let token = &head[begin..];
        let is_time = token.contains('.') && token.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if is_time {
            return Some((line[..begin].trim_end(), token, line[at + 1..].trim_start()));
        }
        from = at + 1;
    }
    None
}

fn known(name: &str) -> Option<&'static str> {
    const KNOWN: [&str; 6] = [
        "sched_switch",
        "sched_waking",
        "sched_wakeup",
        "sched_wakeup_new",
        "sched_process_fork",
        "sched_process_exit",
    ];
    KNOWN.into_iter().find(|k| *k == name)
}

/// CPU and thread from `name pid/tid [cpu] flags` or `name-pid (group) [cpu] flags`.
fn header(before: &str) -> Parsed<(u32, u32)> {
    // The last token in brackets is the CPU; flags after it have none.
    let (mut rest, mut interrupted) = (before, false);
    let cpu = loop {
        let (head, token) = rest.rsplit_once(char::is_whitespace).unwrap_or(("", rest));
        if let Some(cpu) = token.strip_prefix('[').and_then(|w| w.strip_suffix(']')) {
            rest = head.trim_end();
            break cpu.parse().map_err(|_| number("CPU", cpu))?;
        }
        if head.is_empty() {
            return Err(SchedErrorKind::NoCpu);
        }
        // The third flag marks events of an interrupt, not of the thread that it interrupted.
        interrupted |= matches!(token.as_bytes(), [_, _, b'h' | b'H' | b's' | b'z' | b'Z', ..]);
        rest = head.trim_end();
    };
    // The thread group that ftrace can add.
    if rest.ends_with(')') {
        rest = rest.rfind('(').map_or(rest, |at| rest[..at].trim_end());
    }
    let token = rest.rsplit(char::is_whitespace).next().unwrap_or(rest);
    // perf writes -1 for an unknown thread.
    if interrupted || token == "-1" {
        return Ok((cpu, 0));
    }
    let id = match token.rsplit_once(['/', '-']) {
        // `pid/tid` has digits on both sides; names with slashes are followed by a space or dash.
        Some((_, id)) if is_number(id) => id,
        _ => token,
    };
    Ok((cpu, thread("thread of the line", id)?))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn thread(field: &'static str, text: &str) -> Parsed<u32> {
    text.trim().parse().map_err(|_| number(field, text))
}

/// Seconds with any number of decimals up to nine.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, decimals) = text.split_once('.')?;
    if decimals.is_empty() || decimals.len() > 9 || !is_number(decimals) || !is_number(seconds) {
        return None;
    }
    let scale = 10u64.pow(9 - decimals.len() as u32);
    let fraction = decimals.parse::<u64>().ok()? * scale;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

fn kind(event: &'static str, fields: &str, current: u32) -> Parsed<SchedKind> {
    let missing = |field| SchedErrorKind::Missing { event, field };
    Ok(match event {
        "sched_switch" if fields.contains("prev_pid=") => {
            let get = |key, next| value(fields, key, next).ok_or_else(|| missing(key));
            SchedKind::Switch {
                from: thread("prev_pid", get("prev_pid=", " ")?)?,
                from_name: get("prev_comm=", " prev_pid=")?.into(),
                prev_state: state(get("prev_state=", " ==>")?),
                to: thread("next_pid", get("next_pid=", " ")?)?,
                to_name: get("next_comm=", " next_pid=")?.into(),
            }
        }
        "sched_switch" => {
            let (before, after) = fields.split_once(" ==> ").ok_or_else(|| missing("==>"))?;
            let (from_name, from, state_text) = plain(before).ok_or_else(|| missing("prev_pid"))?;
            let (to_name, to, _) = plain(after).ok_or_else(|| missing("next_pid"))?;
            SchedKind::Switch {
                from: thread("prev_pid", from)?,
                from_name: from_name.into(),
                prev_state: state(state_text),
                to: thread("next_pid", to)?,
                to_name: to_name.into(),
            }
        }
        "sched_process_fork" if fields.contains("child_pid=") => {
            let get = |key, next| value(fields, key, next).ok_or_else(|| missing(key));
            SchedKind::Fork {
                parent: thread("pid", value(fields, " pid=", " ").ok_or_else(|| missing("pid"))?)?,
                child: thread("child_pid", get("child_pid=", " ")?)?,
                name: get("child_comm=", " child_pid=")?.into(),
            }
        }
        "sched_process_fork" => {
            // `comm:pid child=comm:pid`
            let (parent, child) =
                fields.split_once(" child").ok_or_else(|| missing("child_pid"))?;
            let id = |text: &str| -> Option<(String, String)> {
                let (name, id) = text.trim_start_matches(['=', ' ', '_']).rsplit_once(':')?;
                Some((name.trim().into(), id.trim().into()))
            };
            let (_, parent) = id(parent).ok_or_else(|| missing("pid"))?;
            let (name, child) = id(child).ok_or_else(|| missing("child_pid"))?;
            SchedKind::Fork {
                parent: thread("pid", &parent)?,
                child: thread("child_pid", &child)?,
                name,
            }
        }
        // The one that ends is the one that runs.
        "sched_process_exit" => SchedKind::Exit {
            thread: value(fields, " pid=", " ").map_or(Ok(current), |id| thread("pid", id))?,
        },
        _ => {
            let new = event == "sched_wakeup_new";
            if let Some(id) = value(fields, " pid=", " ") {
                let name = value(fields, "comm=", " pid=").ok_or_else(|| missing("comm"))?;
                return Ok(SchedKind::Wakeup {
                    thread: thread("pid", id)?,
                    name: name.into(),
                    new,
                });
            }
            let (name, id, _) = plain(fields).ok_or_else(|| missing("pid"))?;
            SchedKind::Wakeup { thread: thread("pid", id)?, name: name.into(), new }
        }
    })
}

/// The text between a key and the next one. The key may begin with a space, and then also begin
/// the text.
fn value<'a>(fields: &'a str, key: &str, next: &str) -> Option<&'a str> {
    let after = match fields.find(key) {
        Some(at) => &fields[at + key.len()..],
        None => fields.strip_prefix(key.trim_start()).filter(|_| key.starts_with(' '))?,
    };
    let end = match next {
        // Names come before their number, the last key of that kind ends them.
        " " => after.find(char::is_whitespace),
        _ => after.find(next),
    };
    Some(after[..end.unwrap_or(after.len())].trim())
}

/// `name:pid [priority] rest`, as the plugins of trace-cmd write it.
fn plain(text: &str) -> Option<(&str, &str, &str)> {
    let bracket = text.rfind(" [").or_else(|| text.find('['))?;
    let (name, id) = text[..bracket].trim_end().rsplit_once(':')?;
    let rest = text[bracket..].split_once(']').map_or("", |(_, rest)| rest);
    is_number(id).then_some((name, id, rest.trim()))
}

/// The kernel's state letters: running is pre-empted, `X` and `Z` are dead, all others sleep.
/// A zero is what old kernels print for running.
fn state(text: &str) -> PrevState {
    match text.trim().chars().next() {
        None | Some('R' | '0' | '+') => PrevState::Preempted,
        Some('X' | 'Z' | 'x') => PrevState::Dead,
        Some(_) => PrevState::Blocked,
    }
}
