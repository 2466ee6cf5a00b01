//! `[[stream]]`

use laxity_core::{Bytes, Span};
use laxity_dwcs::{Attributes, LONGEST_WINDOW, Late, RuleC, Tolerance};

use super::{application, server, source};
use crate::problem::Problems;
use crate::read::flows::Names;
use crate::read::values::{self, Or};
use crate::read::walk::Section;
use crate::read::{Context, length};
use crate::stream::model::{
    Application, Destination, MAX_PAYLOAD, MAX_STREAMS, StreamClass, StreamPolicyChoice,
};
use crate::stream::policies::DWCS;
use crate::value::Length;

/// Default of `packet`: fits the paths of the Internet with room for headers.
const DEFAULT_PACKET: Bytes = Bytes(1200);
/// RTP payload type where none is given: the first of the dynamic ones (RFC 3551).
const DEFAULT_PAYLOAD_TYPE: u8 = 96;
/// RTP on even ports, RTCP on the odd ones above (RFC 3550, section 11).
const DEFAULT_PORT_STEP: u16 = 2;

/// The classes read so far.
pub(super) struct Classes {
    done: Vec<StreamClass>,
    streams: u64,
    /// A policy that widens windows, which only short ones stand.
    widening: Option<&'static str>,
}

impl Classes {
    pub(super) fn new(policy: Option<&StreamPolicyChoice>) -> Classes {
        let widening = policy.and_then(|policy| {
            let runs = |name: &str| policy.use_ == name || policy.compare.iter().any(|n| n == name);
            let mut variants = DWCS.iter().zip(&policy.tuning);
            let found =
                variants.find(|(v, t)| t.options.rule_c == RuleC::Widen && runs(v.info.name));
            found.map(|(v, _)| v.info.name)
        });
        Classes { done: Vec::new(), streams: 0, widening }
    }

    pub(super) fn finish(self) -> Vec<StreamClass> {
        self.done
    }

    pub(super) fn read(
        &mut self,
        section: &Section<'_>,
        names: &mut Names,
        cx: &mut Context<'_, '_>,
    ) {
        if let Some(class) = read_class(section, names, cx) {
            self.check_count(section, class.count, cx.out);
            self.check_window(section, class.attributes.tolerance, cx.out);
            self.done.push(class);
        }
    }

    fn check_count(&mut self, section: &Section<'_>, count: u32, out: &mut Problems<'_>) {
        let before = self.streams;
        self.streams += u64::from(count);
        if before <= MAX_STREAMS.into() && self.streams > MAX_STREAMS.into() {
            let what = format!("this class raises the number of streams to {}", self.streams);
            let remedy = format!("a scenario may have up to {MAX_STREAMS} in all classes");
            section.wrong("count", out, what, remedy);
        }
    }

    fn check_window(&self, section: &Section<'_>, tolerance: Tolerance, out: &mut Problems<'_>) {
        let most = LONGEST_WINDOW / 3;
        if let Some(policy) = self.widening.filter(|_| tolerance.y() > most) {
            let what = format!(
                "a window of {} packets is too long for rule-c = \"widen\" of `{policy}`",
                tolerance.y()
            );
            let remedy = format!("give a window of at most {most} packets, or another rule");
            section.wrong("tolerance", out, what, remedy);
        }
    }
}

fn read_class(
    section: &Section<'_>,
    names: &mut Names,
    cx: &mut Context<'_, '_>,
) -> Option<StreamClass> {
    let name = names.claim(section, cx.out);
    let count = match section.has("count") {
        true => values::whole(section, "count", cx.out),
        false => Some(1),
    };
    let late = match section.boolean("droppable", cx.out) {
        Some(false) => Late::Send,
        _ => Late::Drop,
    };
    let demand = demand(section, cx.out);
    let packet = match section.has("packet") {
        true => length::read(section, "packet", MAX_PAYLOAD, cx.out),
        false => Some(Length::Fixed(DEFAULT_PACKET)),
    };
    let gap = demand.as_ref().map(|(_, gap, _)| *gap);
    // The source's defaults depend on the gap.
    let source = match (section.has("source"), gap) {
        (false, None) => None,
        (_, gap) => source::read(section, gap.flatten(), cx),
    };
    let buffer = server::buffer(section, cx.out);
    let destination = destination(section, count, cx.out);
    let (tolerance, gap, application) = demand?;
    Some(StreamClass {
        name: name?,
        count: count?,
        attributes: Attributes { tolerance, gap, late },
        application,
        packet: packet?,
        source: source?,
        buffer,
        destination,
    })
}

/// The streams' demand: given explicitly, or by the needs of their application.
fn demand(
    section: &Section<'_>,
    out: &mut Problems<'_>,
) -> Option<(Tolerance, Option<Span>, Option<Application>)> {
    if section.has("application") {
        for key in ["tolerance", "gap"].into_iter().filter(|k| section.has(k)) {
            let what = format!("`application` and `{key}` exclude each other");
            section.wrong(key, out, what, format!("remove `{key}` or `application`"));
        }
        let application = application::read(section, out)?;
        let (tolerance, gap) = application::attributes(section, &application, out)?;
        return Some((tolerance, Some(gap), Some(application)));
    }
    for (key, example) in [("tolerance", "\"1/80\""), ("gap", "\"20 ms\"")] {
        let misspelt = section.misspelt(key) || section.misspelt("application");
        if !section.has(key) && !misspelt {
            let what = format!("`{key}` is missing");
            let remedy = format!("add {key} = {example}, or give `application`");
            out.structure(section.span.clone(), &section.key_path(key), what, remedy);
        }
    }
    let tolerance = values::tolerance(section, "tolerance", out);
    let gap = values::time_or(section, "gap", out).map(|gap| match gap {
        Or::Value(gap) => Some(gap),
        Or::Name(_) => None,
    });
    Some((tolerance?, gap?, None))
}

fn destination(
    section: &Section<'_>,
    count: Option<u32>,
    out: &mut Problems<'_>,
) -> Option<Destination> {
    let address = values::address(section, "destination", out);
    let step = values::whole(section, "port_step", out);
    let step = step.map_or(DEFAULT_PORT_STEP, |n| n as u16);
    let payload_type = values::whole(section, "payload_type", out);
    let ssrc = values::whole(section, "ssrc", out);
    let (host, port) = address?;
    let last = u64::from(port) + u64::from(step) * u64::from(count?.saturating_sub(1));
    if last > u16::MAX.into() {
        let what = format!("the last of {} streams would go to port {last}", count?);
        let remedy = "lower `port_step`, or the port, or split the class over several hosts";
        section.wrong("destination", out, what, remedy);
        return None;
    }
    let payload_type = payload_type.map_or(DEFAULT_PAYLOAD_TYPE, |n| n as u8);
    Some(Destination { host, port, port_step: step, payload_type, ssrc })
}
