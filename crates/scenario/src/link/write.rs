//! Prints a link scenario as TOML.

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_curve::{DEFAULT_MIN_PACKET, Envelope};
use laxity_link::config::Options;
use laxity_link::registry;

use crate::link::model::{
    Aqm, BestEffortClass, Blocking, ClassCurve, CurveForm, Excess, FairQueue, FlowCurve,
    FlowQueueing, FscOrder, Group, Guarantee, Later, Match, Prefix, RealtimeFlow, Release, Restart,
    Scenario, Sharing, Source,
};
use crate::link::queueing;
use crate::link::sharing::FSC;
use crate::link::tcp::{self, App};
use crate::names;
use crate::printer::{Printer, length, quoted, range, size, time, weight};
use crate::quantity::{print_bit_rate, print_rate};
use crate::read::flows::OTHER;

impl Scenario {
    /// The scenario as TOML. Keys that hold their defaults are left out. Reading it back as the
    /// same file gives an equal scenario; an envelope that was fitted to a trace is printed as
    /// the fitted buckets.
    pub fn to_toml(&self) -> String {
        let mut out = Printer::new(&self.path);
        out.line("# A scenario for Laxity: a link, its flows and its policy.");
        out.link(self);
        out.policy(self);
        if !self.realtime.is_empty() {
            out.line("\n# Flows with deadlines; a packet belongs to the first that matches.");
        }
        for (i, flow) in self.realtime.iter().enumerate() {
            out.realtime(flow, i == 0);
        }
        let implicit = |c: &&BestEffortClass| {
            c.name == OTHER
                && (c.weight, c.envelope.is_none()) == (Weight::ONE, true)
                && (c.buffer, &c.source) == (None, &None)
                && (c.flows, c.aqm) == (None, Aqm::None)
                && c.sharing == Sharing::default()
        };
        let classes: Vec<_> = self.best_effort.iter().filter(|c| !implicit(c)).collect();
        for group in &self.groups {
            out.group(group, &self.groups);
        }
        if !classes.is_empty() || self.realtime.is_empty() {
            out.line("\n# Best effort. What matches nothing goes to a class `other` of weight 1.");
        }
        for (i, class) in classes.iter().enumerate() {
            out.best_effort(class, &self.groups, i == 0);
        }
        if classes.is_empty() && self.realtime.is_empty() {
            out.line("[[best_effort]]");
            out.key("name", &quoted(OTHER));
        }
        out.text
    }
}

impl Printer {
    fn link(&mut self, scenario: &Scenario) {
        let link = &scenario.link;
        self.line("\n[link]");
        self.key("rate", &quoted(&print_bit_rate(link.rate)));
        self.key("max_packet", &size(&link.max_packet));
        self.unless("overhead", link.overhead, Bytes(0), size);
        self.unless("min_frame", link.min_frame, Bytes(0), size);
        self.unless("credit", link.credit, Span::ZERO, time);
        self.unless("in_flight", link.in_flight, Bytes(0), size);
        if let Some(b) = link.buffer {
            let (total, part) = (size(&b.total), size(&b.best_effort));
            self.key("buffer", &format!("{{ total = {total}, best_effort = {part} }}"));
        }
    }

    fn policy(&mut self, scenario: &Scenario) {
        let policy = &scenario.policy;
        self.policies(&policy.use_, &policy.compare);
        self.unless("fair_queue", policy.fair_queue, FairQueue::default(), |f| {
            quoted(match f {
                FairQueue::Wfq => "wfq",
                FairQueue::Scfq => "scfq",
                FairQueue::Wf2qPlus => "wf2q+",
                FairQueue::Fsc(_) => FSC,
            })
        });
        if policy.fair_queue == FairQueue::Fsc(FscOrder::Start) {
            self.key("fair_order", &quoted("start"));
        }
        self.unless("blocking", policy.blocking, Blocking::default(), |b| {
            quoted(match b {
                Blocking::Paper => "paper",
                Blocking::Exact => "exact",
            })
        });
        self.unless("guarantee", policy.guarantee, Guarantee::default(), |g| {
            quoted(match g {
                Guarantee::Realtime => "realtime",
                Guarantee::All => "all",
            })
        });
        self.unless("release", policy.release, Release::default(), |r| {
            quoted(match r {
                Release::Arrival => "arrival",
                Release::HeadOfLine => "hol",
            })
        });
        self.unless("restart", policy.options.restart, Restart::default(), |r| {
            quoted(match r {
                Restart::Sooner => "sooner",
                Restart::Idle => "idle",
            })
        });
        self.options(registry::POLICIES, &policy.options, &Options::default());
    }

    fn realtime(&mut self, flow: &RealtimeFlow, first: bool) {
        self.line(if first { "[[realtime]]" } else { "\n[[realtime]]" });
        self.key("name", &quoted(&flow.name));
        match &flow.service_curve {
            None => self.key("deadline", &time(&flow.deadline)),
            Some(curve) => self.key("service_curve", &service_curve(curve, &flow.envelope)),
        }
        if flow.service_curve.as_ref().is_none_or(|curve| curve.policed) {
            self.key("envelope", &envelope(&flow.envelope));
        }
        self.unless("excess", flow.excess, Excess::default(), |e| {
            quoted(match e {
                Excess::Delay => "delay",
                Excess::Demote => "demote",
                Excess::Drop => "drop",
            })
        });
        self.unless("importance", flow.importance, 0, |n| n.to_string());
        self.common(flow.buffer, flow.source.as_ref(), flow.matches.as_ref());
    }

    fn group(&mut self, group: &Group, groups: &[Group]) {
        self.line("\n[[group]]");
        self.key("name", &quoted(&group.name));
        self.sharing(group.weight, &group.sharing, groups);
    }

    /// The share of a class or group, and where it stands.
    fn sharing(&mut self, share: Weight, sharing: &Sharing, groups: &[Group]) {
        match &sharing.curve {
            None => self.key("weight", &weight(share)),
            Some(curve) => self.key("service_curve", &class_curve(curve)),
        }
        if let Some(limit) = &sharing.limit {
            self.key("upper_limit", &class_curve(limit));
        }
        if let Some(group) = sharing.group.and_then(|group| groups.get(group)) {
            self.key("group", &quoted(&group.name));
        }
    }

    fn best_effort(&mut self, class: &BestEffortClass, groups: &[Group], first: bool) {
        self.line(if first { "[[best_effort]]" } else { "\n[[best_effort]]" });
        self.key("name", &quoted(&class.name));
        self.sharing(class.weight, &class.sharing, groups);
        if let Some(e) = &class.envelope {
            self.key("envelope", &envelope(e));
        }
        if let Some(f) = class.flows {
            self.key("flows", &flows(f));
        }
        self.unless("aqm", class.aqm, Aqm::None, aqm);
        self.common(class.buffer, class.source.as_ref(), class.matches.as_ref());
    }

    fn common(&mut self, buffer: Option<Bytes>, source: Option<&Source>, matches: Option<&Match>) {
        if let Some(buffer) = buffer {
            self.key("buffer", &size(&buffer));
        }
        if let Some(source) = source {
            let text = self.source(source);
            self.key("source", &text);
        }
        if let Some(matches) = matches {
            self.key("match", &match_fields(matches));
        }
    }

    fn source(&self, source: &Source) -> String {
        match source {
            Source::OnOff { length: l, on, off } => {
                format!("{{ length = {}, on = {}, off = {} }}", length(l), range(on), range(off))
            }
            Source::Greedy { length: l } => format!("{{ greedy = true, length = {} }}", length(l)),
            Source::Periodic { period, length: l, jitter } => {
                let jitter = match jitter.0 {
                    0 => String::new(),
                    _ => format!(", jitter = {}", time(jitter)),
                };
                format!("{{ period = {}, length = {}{jitter} }}", time(period), length(l))
            }
            Source::Tcp(source) => {
                let mut keys = vec![
                    format!("tcp = {}", quoted(tcp::CONTROLS[source.control as usize])),
                    format!("rtt = {}", time(&source.rtt)),
                ];
                if source.app != App::Bulk {
                    keys.push(format!("app = {}", quoted(tcp::APPS[source.app as usize])));
                }
                if source.count != 1 {
                    keys.push(format!("count = {}", source.count));
                }
                if source.start != Span::ZERO {
                    keys.push(format!("start = {}", time(&source.start)));
                }
                if source.ecn {
                    keys.push("ecn = true".to_owned());
                }
                format!("{{ {} }}", keys.join(", "))
            }
            Source::Trace { path } => {
                format!("{{ trace = {} }}", self.path(path))
            }
        }
    }
}

fn flows(flows: FlowQueueing) -> String {
    let defaults = FlowQueueing::default();
    let mut keys = vec![format!("by = {}", quoted(queueing::QUEUE_BY[flows.by as usize]))];
    if flows.hosts != defaults.hosts {
        keys.push(format!("hosts = {}", quoted(queueing::HOSTS[flows.hosts as usize])));
    }
    if flows.queues != defaults.queues {
        keys.push(format!("queues = {}", flows.queues));
    }
    format!("{{ {} }}", keys.join(", "))
}

/// The name alone where nothing else is set.
fn aqm(aqm: &Aqm) -> String {
    let (name, own, rtt, target, step, common) = match *aqm {
        Aqm::None => return quoted("none"),
        Aqm::Codel { rtt, target, interval: _, ecn, sojourn, ingress } => {
            ("codel", Aqm::CODEL, Some(rtt), target, None, (ecn, sojourn, ingress))
        }
        Aqm::Pie { target, ecn, sojourn, ingress } => {
            ("pie", Aqm::PIE, None, target, None, (ecn, sojourn, ingress))
        }
        Aqm::L4s { target, rtt, step, ecn, sojourn, ingress } => {
            ("l4s", Aqm::L4S, Some(rtt), target, step, (ecn, sojourn, ingress))
        }
    };
    if *aqm == own {
        return quoted(name);
    }
    let (ecn, sojourn, ingress) = common;
    let sojourn = sojourn.map(|s| quoted(queueing::SOJOURN[s as usize]));
    let keys = [
        ("rtt", rtt.filter(|rtt| *rtt != Aqm::RTT).map(|rtt| time(&rtt))),
        ("target", target.map(|t| time(&t))),
        ("step", step.map(|t| time(&t))),
        ("ecn", (!ecn).then(|| "false".to_owned())),
        ("sojourn", sojourn),
        ("ingress", ingress.then(|| "true".to_owned())),
    ];
    let set: Vec<String> =
        keys.into_iter().filter_map(|(k, v)| Some(format!(", {k} = {}", v?))).collect();
    format!("{{ use = {}{} }}", quoted(name), set.concat())
}

fn curve_form(form: &CurveForm) -> String {
    let rate = |rate: &Rate| quoted(&print_rate(*rate));
    match form {
        CurveForm::RateLatency { rate: r, latency } => {
            format!("rate = {}, latency = {}", rate(r), time(latency))
        }
        CurveForm::TwoPiece { m1, d, m2 } => {
            format!("m1 = {}, d = {}, m2 = {}", rate(m1), time(d), rate(m2))
        }
        CurveForm::UmaxDmax { umax, dmax, rate: r } => {
            format!("umax = {}, dmax = {}, rate = {}", size(umax), time(dmax), rate(r))
        }
        CurveForm::Points { points, rate: r } => {
            let point =
                |(t, b): &(Span, Bytes)| format!("{{ time = {}, bytes = {} }}", time(t), size(b));
            let points: Vec<String> = points.iter().map(point).collect();
            format!("points = [{}], rate = {}", points.join(", "), rate(r))
        }
    }
}

/// The curve of a class as it was written.
fn class_curve(curve: &ClassCurve) -> String {
    let later = match curve.later {
        Span::ZERO => String::new(),
        later => format!(", later = {}", time(&later)),
    };
    format!("{{ {}{later} }}", curve_form(&curve.form))
}

/// The curve as it was written, with the sizes of packets where no envelope tells them.
fn service_curve(curve: &FlowCurve, sizes: &Envelope) -> String {
    let mut keys = curve_form(&curve.form);
    match curve.later {
        Later::By(Span::ZERO) => {}
        Later::By(later) => keys += &format!(", later = {}", time(&later)),
        Later::Auto => keys += ", later = \"auto\"",
    }
    if let (false, Envelope::Buckets { max_packet, min_packet, .. }) = (curve.policed, sizes) {
        keys += &format!(", packet = {}, min_packet = {}", size(max_packet), size(min_packet));
    }
    format!("{{ {keys} }}")
}

fn envelope(envelope: &Envelope) -> String {
    match envelope {
        Envelope::Periodic { period, size: bytes, jitter, .. } => {
            let jitter = match jitter.0 {
                0 => String::new(),
                _ => format!(", jitter = {}", time(jitter)),
            };
            format!("{{ period = {}, size = {}{jitter} }}", time(period), size(bytes))
        }
        Envelope::Buckets { buckets, max_packet, min_packet, .. } => {
            let minimum = match *min_packet == DEFAULT_MIN_PACKET.min(*max_packet) {
                true => String::new(),
                false => format!(", min_packet = {}", size(min_packet)),
            };
            let rate = |i: usize| quoted(&print_rate(buckets[i].rate));
            let burst = |i: usize| size(&buckets[i].burst);
            match buckets.len() {
                1 if buckets[0].burst == *max_packet => {
                    format!("{{ burst = {}, rate = {}{minimum} }}", burst(0), rate(0))
                }
                2 if buckets[0].burst == *max_packet => format!(
                    "{{ packet = {}, peak = {}, burst = {}, rate = {}{minimum} }}",
                    burst(0),
                    rate(0),
                    burst(1),
                    rate(1)
                ),
                1 => {
                    let packet = size(max_packet);
                    let (burst, rate) = (burst(0), rate(0));
                    format!("{{ burst = {burst}, rate = {rate}, packet = {packet}{minimum} }}")
                }
                n => {
                    let each = |i| format!("{{ burst = {}, rate = {} }}", burst(i), rate(i));
                    let list: Vec<String> = (0..n).map(each).collect();
                    let packet = size(max_packet);
                    format!("{{ buckets = [{}], packet = {packet}{minimum} }}", list.join(", "))
                }
            }
        }
    }
}

fn match_fields(matches: &Match) -> String {
    let number_or_name = |name: String| match name.bytes().all(|b| b.is_ascii_digit()) {
        true => name,
        false => quoted(&name),
    };
    let dscp = |code: u8| names::dscp_name(code).map_or(code.to_string(), str::to_owned);
    let ports = |(a, b): (u16, u16)| match a == b {
        true => a.to_string(),
        false => quoted(&format!("{a}-{b}")),
    };
    let fields = [
        ("dscp", matches.dscp.map(|c| number_or_name(dscp(c)))),
        ("protocol", matches.protocol.map(|c| number_or_name(names::protocol_name(c)))),
        ("src", matches.src.map(prefix)),
        ("dst", matches.dst.map(prefix)),
        ("sport", matches.sport.map(ports)),
        ("dport", matches.dport.map(ports)),
        ("mark", matches.mark.map(|n| n.to_string())),
        ("priority", matches.priority.map(|n| n.to_string())),
    ];
    let given: Vec<String> =
        fields.into_iter().filter_map(|(k, v)| Some(format!("{k} = {}", v?))).collect();
    format!("{{ {} }}", given.join(", "))
}

fn prefix(prefix: Prefix) -> String {
    let whole = if prefix.address.is_ipv4() { 32 } else { 128 };
    match prefix.bits == whole {
        true => quoted(&prefix.address.to_string()),
        false => quoted(&format!("{}/{}", prefix.address, prefix.bits)),
    }
}
