//! Prints a stream scenario as TOML.

use laxity_core::{Bytes, Span};
use laxity_dwcs::Late;

use super::model::{
    Application, Frequency, Pace, QueueLimit, Share, StreamClass, StreamPolicyChoice,
    StreamScenario, StreamSource,
};
use super::policies::POLICIES;
use crate::printer::{Printer, decimal, length, quoted, range, size, time};
use crate::quantity::print_bit_rate;

impl StreamScenario {
    /// The scenario as TOML. Keys that hold their defaults are left out. Reading it back as the
    /// same file gives an equal scenario.
    pub fn to_toml(&self) -> String {
        let mut out = Printer::new(&self.path);
        out.line("# A scenario for Laxity: a media server, its streams, and how they are ordered.");
        out.server(self);
        out.stream_policy(self);
        out.line("\n# Classes of like streams.");
        for (i, class) in self.streams.iter().enumerate() {
            out.line(if i == 0 { "[[stream]]" } else { "\n[[stream]]" });
            out.class(class);
        }
        out.text
    }
}

impl Printer {
    fn server(&mut self, scenario: &StreamScenario) {
        let server = &scenario.server;
        self.line("\n[server]");
        match server.pace {
            Pace::Rate(rate) => self.key("rate", &quoted(&print_bit_rate(rate))),
            Pace::Service(span) => self.key("service", &time(&span)),
        }
        self.unless("overhead", server.overhead, Bytes(0), size);
        self.unless("sockets", server.sockets, 1, u16::to_string);
        self.unless("buffer", server.buffer, QueueLimit::default(), limit);
    }

    fn stream_policy(&mut self, scenario: &StreamScenario) {
        let policy = &scenario.policy;
        self.policies(&policy.use_, &policy.compare);
        self.options(POLICIES, policy, &StreamPolicyChoice::default());
    }

    fn class(&mut self, class: &StreamClass) {
        self.key("name", &quoted(&class.name));
        self.unless("count", class.count, 1, u32::to_string);
        match &class.application {
            Some(needs) => self.key("application", &application(needs)),
            None => {
                self.key("tolerance", &quoted(&class.attributes.tolerance.to_string()));
                let gap = class.attributes.gap.map_or(quoted("none"), |g| time(&g));
                self.key("gap", &gap);
            }
        }
        self.unless("droppable", class.attributes.late, Late::Drop, |_| "false".into());
        self.key("packet", &length(&class.packet));
        let source = self.stream_source(&class.source);
        self.key("source", &source);
        if let Some(buffer) = &class.buffer {
            self.key("buffer", &limit(buffer));
        }
        if let Some(to) = &class.destination {
            self.key("destination", &quoted(&format!("{}:{}", to.host, to.port)));
            self.unless("port_step", to.port_step, 2, u16::to_string);
            self.unless("payload_type", to.payload_type, 96, u8::to_string);
            if let Some(ssrc) = to.ssrc {
                self.key("ssrc", &ssrc.to_string());
            }
        }
    }

    fn stream_source(&self, source: &StreamSource) -> String {
        let phase = |phase: &Option<Span>| {
            phase.map_or(String::new(), |phase| format!(", phase = {}", time(&phase)))
        };
        match source {
            StreamSource::Backlogged => quoted("backlogged"),
            StreamSource::External => quoted("external"),
            StreamSource::Periodic { period, jitter, phase: begin } => {
                let jitter = match jitter.0 {
                    0 => String::new(),
                    _ => format!(", jitter = {}", time(jitter)),
                };
                format!("{{ period = {}{jitter}{} }}", time(period), phase(begin))
            }
            StreamSource::Bursts { burst, spread, every, phase: begin } => {
                let spread = match spread {
                    0 => String::new(),
                    n => format!(", spread = {n}"),
                };
                let every = time(every);
                format!("{{ burst = {burst}{spread}, every = {every}{} }}", phase(begin))
            }
            StreamSource::OnOff { period, on, off } => {
                format!("{{ period = {}, on = {}, off = {} }}", time(period), range(on), range(off))
            }
            StreamSource::File { path, repeat } => {
                let repeat = if *repeat { ", repeat = true" } else { "" };
                format!("{{ file = {}{repeat} }}", self.path(path))
            }
        }
    }
}

fn limit(limit: &QueueLimit) -> String {
    let bytes = limit.bytes.map_or(String::new(), |b| format!(", bytes = {}", size(&b)));
    format!("{{ packets = {}{bytes} }}", limit.packets)
}

fn application(needs: &Application) -> String {
    let Application { frames: Frequency(frames), packets, loss: Share(loss), burst } = needs;
    let frames = decimal(*frames, 1_000_000);
    let loss = decimal(u64::from(*loss), 10_000);
    let burst = burst.map_or(String::new(), |burst| format!(", burst = {burst}"));
    format!("{{ frames = \"{frames}/s\", packets = {packets}, loss = \"{loss} %\"{burst} }}")
}
