//! The commented scenario of one direction.

use std::fmt::Write as _;
use std::path::Path;

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::Bucket;
use laxity_scenario::link::model::Scenario;
use laxity_scenario::quantity::{print_bit_rate, print_bytes, print_rate, print_span};

use super::answers::Answers;
use super::error::InitError;
use super::line::Encoding;
use super::presets::{Direction, Mark, Preset};

/// Largest IP packet of lines to the Internet.
const MTU: u64 = 1500;

/// Best effort may hold what the line carries in 400 ms, four times CoDel's interval, within these limits.
const BUFFER_TIME: Span = Span::from_millis(400);
const BUFFERS: (Bytes, Bytes) = (Bytes(64_000), Bytes(8_000_000));

/// A scenario and its text.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The scenario, as read from the text.
    pub scenario: Scenario,
    /// The text with comments.
    pub text: String,
}

impl Answers {
    /// Largest packet of the interface of the line.
    pub fn max_packet(&self) -> Bytes {
        Bytes(self.header.0 + MTU)
    }

    /// Name of a direction's file.
    pub fn file(&self, direction: Direction) -> String {
        format!("{}-{}.toml", self.wan, direction.name())
    }
}

/// Writes the scenario of a direction.
///
/// # Errors
/// [`InitError::Io`] if the text is no scenario, which is a fault of this function.
pub fn draft(answers: &Answers, direction: Direction) -> Result<Draft, InitError> {
    let mut text = head(answers, direction);
    text += &link(answers, direction);
    for (preset, deadline) in &answers.with {
        text += &realtime(answers, direction, preset, *deadline);
    }
    text += &best_effort(answers, direction);
    let scenario = Scenario::parse(&text, Path::new(&answers.file(direction)))
        .map_err(|e| InitError::Io(format!("the scenario is not readable: {e}")))?;
    Ok(Draft { scenario, text })
}

fn head(answers: &Answers, direction: Direction) -> String {
    let wan = &answers.wan;
    let way = match direction {
        Direction::Up => {
            format!("The upstream direction of {wan}: what this router sends to the provider.")
        }
        Direction::Down => {
            format!("The downstream direction of {wan}: what arrives from the provider.")
        }
    };
    format!(
        "# {way} Written by `laxity init`.\n\
         #\n\
         # Packets wait here, where they are scheduled, only while this link is slower than the line.\n\
         # `laxity check` tests the deadlines after each change.\n"
    )
}

fn link(answers: &Answers, direction: Direction) -> String {
    let Answers { line, share, header, .. } = answers;
    let given = answers.rate(direction);
    let used = match line.encoding {
        Encoding::None => String::new(),
        Encoding::Ptm => ", of which PTM encoding leaves 64/65".to_owned(),
        Encoding::Atm => ", of which the headers of ATM cells leave 48/53".to_owned(),
    };
    let mut text =
        format!("\n[link]\n# {share} % of the line's {}{used}.\n", print_bit_rate(given));
    let mut key = |name: &str, value: String| {
        let _ = writeln!(text, "{name} = \"{value}\"");
    };
    key("rate", print_bit_rate(line.rate(given, *share)));
    key("max_packet", print_bytes(answers.max_packet()));
    text += &format!("# Framing of `{}`", line.name());
    text += match (header.0, line.encoding) {
        (0, Encoding::Atm) => ", with at most 47 B to fill the last ATM cell.\n",
        (0, _) => ".\n",
        (_, Encoding::Atm) => {
            " beyond the Ethernet header that packets of this interface\n# include, with at most 47 B to fill \
             the last ATM cell.\n"
        }
        _ => " beyond the Ethernet header that packets of this interface include.\n",
    };
    let _ = writeln!(text, "overhead = \"{}\"", print_bytes(line.overhead(*header)));
    if line.min_frame() > Bytes(0) {
        let _ = writeln!(text, "min_frame = \"{}\"", print_bytes(line.min_frame()));
    }
    text += "# The shaper may be late by this much and then catch up.\n\
             credit = \"200 us\"\n\
             \n\
             [policy]\n";
    text += match direction {
        Direction::Up => "use = \"slack\"\n",
        Direction::Down => {
            "# Real time goes first. Under `slack` the others would borrow its time, so that the AQM\n\
             # would notice later that packets queue at the provider.\n\
             use = \"background\"\n"
        }
    };
    text
}

fn realtime(answers: &Answers, direction: Direction, preset: &Preset, deadline: Span) -> String {
    let mut text = String::from("\n");
    for line in preset.about {
        let _ = writeln!(text, "# {line}");
    }
    let jitter = answers.jitter(direction);
    if jitter > Span::ZERO {
        let _ = writeln!(
            text,
            "# The envelope admits packets that the provider delayed by up to {}.",
            print_span(jitter)
        );
    }
    let buckets = preset.buckets(direction, answers.max_packet(), jitter);
    let _ = writeln!(text, "[[realtime]]\nname = \"{}\"", preset.name);
    let _ = writeln!(text, "deadline = \"{}\"", print_span(deadline));
    let _ = writeln!(
        text,
        "envelope = {}",
        envelope(&buckets, answers.max_packet(), preset.min_packet)
    );
    text += "excess = \"demote\"\n";
    let matches = match (preset.mark, direction) {
        (Mark::Dscp(name), _) => format!("dscp = \"{name}\""),
        (Mark::Udp(from, to), Direction::Up) => {
            format!("protocol = \"udp\", dport = \"{from}-{to}\"")
        }
        (Mark::Udp(from, to), Direction::Down) => {
            format!("protocol = \"udp\", sport = \"{from}-{to}\"")
        }
    };
    let _ = writeln!(text, "match = {{ {matches} }}");
    text
}

fn envelope(buckets: &[Bucket], packet: Bytes, min_packet: Bytes) -> String {
    let line = |b: &Bucket| {
        format!("burst = \"{}\", rate = \"{}\"", print_bytes(b.burst), print_rate(b.rate))
    };
    let lines = match buckets {
        [one] => line(one),
        _ => {
            let all: Vec<String> = buckets.iter().map(|b| format!("{{ {} }}", line(b))).collect();
            format!("buckets = [{}]", all.join(", "))
        }
    };
    let (packet, min_packet) = (print_bytes(packet), print_bytes(min_packet));
    format!("{{ {lines}, packet = \"{packet}\", min_packet = \"{min_packet}\" }}")
}

fn best_effort(answers: &Answers, direction: Direction) -> String {
    let Rate(rate) = answers.rate(direction);
    let buffer = u128::from(rate) * u128::from(BUFFER_TIME.0) / 8_000_000_000;
    let buffer = Bytes(u64::try_from(buffer).unwrap_or(u64::MAX)).clamp(BUFFERS.0, BUFFERS.1);
    // Whole kilobytes are easier to read and to change.
    let buffer = print_bytes(Bytes(buffer.0 / 1000 * 1000));
    // A drop then frees no time, which slows senders down until the provider's queue is empty.
    let (aqm, about) = match direction {
        Direction::Up => ("\"codel\"", ""),
        Direction::Down => (
            "{ use = \"codel\", ingress = true }",
            "\n# A packet that it drops has used the line, so it occupies the link as if sent.",
        ),
    };
    format!(
        "\n# Backups that mark themselves \"lower effort\" (RFC 8622) get a tenth of the share of the rest.\n\
         [[best_effort]]\n\
         name = \"bulk\"\n\
         weight = 0.1\n\
         flows = {{ by = \"host-and-flow\" }}\n\
         aqm = {aqm}\n\
         buffer = \"{buffer}\"\n\
         match = {{ dscp = \"LE\" }}\n\
         \n\
         # Everything else. Hosts share equally, then the flows of a host; CoDel keeps their queues short.{about}\n\
         [[best_effort]]\n\
         name = \"other\"\n\
         flows = {{ by = \"host-and-flow\" }}\n\
         aqm = {aqm}\n\
         buffer = \"{buffer}\"\n"
    )
}
