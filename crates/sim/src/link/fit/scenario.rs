//! The scenario of a fit, and its text with remarks on what is measured and what is guessed.

use laxity_core::{Bytes, Rate, Span, Weight};
use laxity_scenario::link::model::{
    Aqm, BestEffortClass, Excess, FlowQueueing, Link, PolicyChoice, QueueBy, RealtimeFlow,
    Scenario, Sharing, Source,
};

use super::group::Group;
use super::{Class, Fit, FitError, FlowFit, Options, Sample, class_of, rate_over};

/// Room for what a recording did not show, in percent of the mean rate.
const HEADROOM: u128 = 125;

/// Builds the scenario; `flows` are those of `groups`, perhaps followed by `other`.
pub(super) fn build(
    sample: &Sample,
    groups: &[Group],
    mut flows: Vec<FlowFit>,
    options: &Options,
) -> Result<Fit, FitError> {
    if options.rate == Some(Rate(0)) {
        return Err(FitError::NoRate);
    }
    let source = || sample.named.then(|| Source::Trace { path: options.trace.clone() });
    let mut realtime = Vec::new();
    let mut best_effort = Vec::new();
    let mut max_packet = Bytes(0);
    for (group, flow) in groups.iter().zip(&flows) {
        if let Some(deadline) = flow.deadline {
            realtime.push(RealtimeFlow {
                name: flow.name.clone(),
                deadline,
                service_curve: None,
                envelope: flow.envelope.clone(),
                excess: Excess::default(),
                importance: 0,
                buffer: None,
                source: source(),
                matches: group.matches.clone(),
            });
        } else {
            max_packet = max_packet.max(flow.largest);
            best_effort.push(BestEffortClass {
                name: flow.name.clone(),
                weight: weight(group.dscp),
                envelope: None,
                buffer: None,
                flows: Some(flow_queues()),
                aqm: Aqm::CODEL,
                sharing: Sharing::default(),
                source: source(),
                matches: group.matches.clone(),
            });
        }
    }
    // A trace may have a flow `other` of its own; it is the class of that name then.
    match best_effort.iter().position(|c| c.name == "other") {
        Some(place) => {
            let other = best_effort.remove(place);
            best_effort.push(other);
        }
        None => best_effort.push(BestEffortClass {
            name: "other".to_owned(),
            weight: Weight::ONE,
            envelope: None,
            buffer: None,
            flows: Some(flow_queues()),
            aqm: Aqm::CODEL,
            sharing: Sharing::default(),
            source: None,
            matches: None,
        }),
    }
    if let Some(other) = flows.get(groups.len()) {
        max_packet = max_packet.max(other.largest);
    }
    flows.sort_by_key(|f| f.name == "other");
    let link = Link {
        rate: options.rate.unwrap_or(Rate(1)),
        max_packet: if max_packet == Bytes(0) { sample.largest } else { max_packet },
        overhead: Bytes(0),
        min_frame: Bytes(0),
        credit: Span::ZERO,
        in_flight: Bytes(0),
        buffer: None,
    };
    let name = options.output.file_stem().map(|s| s.to_string_lossy().into_owned());
    let mut scenario = Scenario {
        name: name.unwrap_or_else(|| "fitted".to_owned()),
        path: options.output.clone(),
        link,
        policy: policy(),
        realtime,
        groups: Vec::new(),
        best_effort,
    };
    let mean = rate_over(sample.bytes, sample.duration);
    let admitted = match options.rate {
        Some(_) => admitted(&scenario),
        None => choose_rate(&mut scenario, mean),
    };
    Ok(Fit { scenario, flows, rate_guessed: options.rate.is_none(), admitted, mean })
}

fn policy() -> PolicyChoice {
    PolicyChoice {
        compare: vec!["background".to_owned(), "slack".to_owned()],
        ..PolicyChoice::default()
    }
}

/// Queues for flows, hosts isolated: one transfer then delays no other.
fn flow_queues() -> FlowQueueing {
    FlowQueueing { by: QueueBy::HostAndFlow, ..FlowQueueing::default() }
}

fn weight(dscp: Option<u8>) -> Weight {
    match dscp.map(class_of) {
        Some(Class::BestEffort { weight, .. }) => weight,
        _ => Weight::ONE,
    }
}

fn admitted(scenario: &Scenario) -> bool {
    let setup = scenario.setup();
    let verdict =
        setup.flow_specs().and_then(|flows| laxity_curve::check(&setup.link_spec(), &flows));
    verdict.is_ok_and(|v| v.admitted)
}

/// Sets the smallest of 1, 2, 5, 10, ... bit/s that leaves headroom over `mean` and keeps the
/// deadlines; where none keeps them, the smallest with headroom. Says whether they are kept.
fn choose_rate(scenario: &mut Scenario, mean: Rate) -> bool {
    let least = (u128::from(mean.0) * HEADROOM).div_ceil(100);
    // Up to 500 Tbit/s, which a scenario may still say.
    let round = (0..15).flat_map(|k| [1, 2, 5].map(|m| m * 10u64.pow(k)));
    let enough = round.filter(|rate| u128::from(*rate) >= least);
    let mut first = None;
    for rate in enough.map(Rate) {
        first.get_or_insert(rate);
        scenario.link.rate = rate;
        if admitted(scenario) {
            return true;
        }
    }
    scenario.link.rate = first.unwrap_or(mean);
    false
}

impl Fit {
    /// The scenario as TOML under `heading`, each line of which becomes a comment, with a remark
    /// at everything that was measured or guessed.
    pub fn to_toml(&self, heading: &str) -> String {
        let mut out = String::new();
        for line in heading.lines() {
            out.push_str(format!("# {line}").trim_end());
            out.push('\n');
        }
        out.push('\n');
        let mut flows = self.flows.iter();
        for line in self.scenario.to_toml().lines() {
            let remark = match line {
                "[link]" => self.link_remark(),
                "[[realtime]]" | "[[best_effort]]" => {
                    flows.next().map(FlowFit::remark).unwrap_or_default()
                }
                _ => String::new(),
            };
            if !remark.is_empty() && out.lines().next_back().is_some_and(|l| l.starts_with('#')) {
                out.push('\n');
            }
            for text in remark.lines() {
                out.push_str("# ");
                out.push_str(text);
                out.push('\n');
            }
            out.push_str(line);
            out.push('\n');
        }
        out
    }

    fn link_remark(&self) -> String {
        let mut text = String::new();
        if self.rate_guessed && self.admitted {
            text += "Guess: the rate is the smallest of 1, 2, 5, 10, ... that is 1.25 times the \
                     mean rate of\nall packets and keeps the deadlines below.\n";
        } else if self.rate_guessed {
            text += "Guess: the rate is the smallest of 1, 2, 5, 10, ... that is 1.25 times the \
                     mean rate of\nall packets. No rate keeps all deadlines below.\n";
        } else if !self.admitted {
            text += "At this rate not all deadlines below are kept; `laxity check` says what \
                     would be.\n";
        }
        text += "max_packet is the largest best-effort packet seen. Lengths are those of the \
                 recording; for\nEthernet on the wire add overhead = \"24 B\" and min_frame = \
                 \"84 B\".\n";
        text
    }
}

impl FlowFit {
    fn remark(&self) -> String {
        let mut text = match (self.deadline, self.guess) {
            (Some(_), Some(usual)) => {
                format!("Guess: the deadline; this code point usually marks {usual}.\n")
            }
            (Some(_), None) => "The deadline is as given.\n".to_owned(),
            (None, _) => "Guess: the weight, and that this needs no deadline.\n".to_owned(),
        };
        if self.rate_guessed && self.deadline.is_some() {
            text += "Guess: the envelope's rate; all packets came at one instant.\n";
        } else if self.packets < 10 && self.deadline.is_some() {
            text += &format!("Only {} packets were seen.\n", self.packets);
        }
        text
    }
}
