//! `service_curve`

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::service::{LinkFlow, MAX_SERVICE_PIECES};
use laxity_curve::{Bucket, CurveError, DEFAULT_MIN_PACKET, Envelope};
use laxity_link::config::{Excess, RealtimeFlow, Service};

use crate::link::model::Link;
use crate::link::service_curve::{CurveForm, FlowCurve, Later};
use crate::problem::Problems;
use crate::quantity::{print_bytes, print_rate, print_span};
use crate::read::values::{self, Or};
use crate::read::walk::Section;

/// A service curve before the packets of all flows are known.
pub(super) struct Written {
    form: CurveForm,
    later: Later,
    policed: bool,
}

/// Reads the curve of a flow, and the envelope that tells the sizes of its packets: that of the file
/// where it declares one. The forms stand in the table of keys in this order.
pub(super) fn read(
    flow: &Section<'_>,
    envelope: Option<Envelope>,
    link: Option<&Link>,
    out: &mut Problems<'_>,
) -> Option<(Written, Envelope)> {
    let (index, section) = flow.form("service_curve", out)?;
    let form = form(index, &section, out);
    let later = match section.has("later") {
        false => Some(Later::By(Span::ZERO)),
        true => values::time_or(&section, "later", out).map(|later| match later {
            Or::Value(time) => Later::By(time),
            Or::Name(_) => Later::Auto,
        }),
    };
    let policed = flow.has("envelope");
    let form = form?;
    let envelope = match policed {
        true => {
            for key in ["packet", "min_packet"].into_iter().filter(|key| section.has(key)) {
                let what = format!("`{key}` of the envelope holds, and this one says it again");
                section.wrong(key, out, what, "remove it, or the envelope");
            }
            envelope?
        }
        false => sizes(&section, &form, link, out)?,
    };
    Some((Written { form, later: later?, policed }, envelope))
}

/// The curve of a form, by its place in the table of keys.
pub(super) fn form(
    index: usize,
    section: &Section<'_>,
    out: &mut Problems<'_>,
) -> Option<CurveForm> {
    match index {
        0 => rate_latency(section, out),
        1 => two_piece(section, out),
        2 => umax_dmax(section, out),
        _ => points(section, out),
    }
}

fn rate_latency(section: &Section<'_>, out: &mut Problems<'_>) -> Option<CurveForm> {
    let rate = section.positive_rate("rate", out);
    let latency = section.time("latency", out);
    Some(CurveForm::RateLatency { rate: rate?, latency: latency? })
}

fn two_piece(section: &Section<'_>, out: &mut Problems<'_>) -> Option<CurveForm> {
    let m1 = section.rate("m1", out);
    let d = section.time("d", out);
    let m2 = section.positive_rate("m2", out);
    Some(CurveForm::TwoPiece { m1: m1?, d: d?, m2: m2? })
}

fn umax_dmax(section: &Section<'_>, out: &mut Problems<'_>) -> Option<CurveForm> {
    let umax = section.positive_size("umax", out);
    let dmax = section.positive_time("dmax", out);
    let rate = section.positive_rate("rate", out);
    Some(CurveForm::UmaxDmax { umax: umax?, dmax: dmax?, rate: rate? })
}

fn points(section: &Section<'_>, out: &mut Problems<'_>) -> Option<CurveForm> {
    let rate = section.positive_rate("rate", out);
    let (list, shape) = section.tables("points", out);
    let shape = shape?;
    if list.is_empty() || list.len() >= MAX_SERVICE_PIECES {
        let what = match list.len() {
            0 => "the list is empty".to_owned(),
            n => format!("{n} points are more than {}", MAX_SERVICE_PIECES - 1),
        };
        let remedy = "write at least one { time = \"10 ms\", bytes = \"0 B\" }, and merge some \
                      where there are many";
        section.wrong("points", out, what, remedy);
        return None;
    }
    let mut points: Vec<(Span, Bytes)> = Vec::with_capacity(list.len());
    let mut sound = true;
    for (i, value) in list.iter().enumerate() {
        let path = format!("{}[{i}]", section.key_path("points"));
        let point = section.below(value, path, shape, out).and_then(|s| {
            let (time, bytes) = (s.time("time", out), s.size("bytes", out));
            let point = (time?, bytes?);
            rising(&s, points.last(), point, out).then_some(point)
        });
        sound &= point.is_some();
        points.extend(point);
    }
    sound.then_some(CurveForm::Points { points, rate: rate? })
}

/// Whether a point lies at the place of the one before it or beyond.
fn rising(
    section: &Section<'_>,
    before: Option<&(Span, Bytes)>,
    (time, bytes): (Span, Bytes),
    out: &mut Problems<'_>,
) -> bool {
    if time == Span::ZERO && bytes > Bytes(0) {
        let what = "a service curve is 0 at 0, or packets would be due on arrival";
        section.wrong("time", out, what, "give the point a time above zero");
        return false;
    }
    let Some((earlier, fewer)) = before else { return true };
    let (key, now, then) = match (time < *earlier, bytes < *fewer) {
        (true, _) => ("time", print_span(time), print_span(*earlier)),
        (_, true) => ("bytes", print_bytes(bytes), print_bytes(*fewer)),
        _ => return true,
    };
    let what = format!("the curve goes back, from {then} to {now}");
    section.wrong(key, out, what, "give points in rising order of time and bytes");
    false
}

/// An envelope that tells the sizes of the packets of a flow that declares none: a packet, and a rate
/// that is at most the curve's on the wire.
fn sizes(
    section: &Section<'_>,
    form: &CurveForm,
    link: Option<&Link>,
    out: &mut Problems<'_>,
) -> Option<Envelope> {
    let packet = match section.has("packet") {
        true => section.packet("packet", out)?,
        false => link?.max_packet,
    };
    let served = match form {
        CurveForm::RateLatency { rate, .. }
        | CurveForm::UmaxDmax { rate, .. }
        | CurveForm::Points { rate, .. } => *rate,
        CurveForm::TwoPiece { m2, .. } => *m2,
    };
    let least = match section.has("min_packet") {
        true => section.packet("min_packet", out)?,
        false => DEFAULT_MIN_PACKET.min(packet),
    };
    if least > packet {
        let (least, packet) = (print_bytes(least), print_bytes(packet));
        let what = format!("the smallest packet {least} is larger than the largest, {packet}");
        section.wrong("min_packet", out, what, "lower it, or give `packet`");
        return None;
    }
    let smallest = link?.wire().of_bytes(least);
    let rate = u128::from(served.0) * u128::from(least.0) / u128::from(smallest.0.max(1));
    let rate = Rate(u64::try_from(rate).unwrap_or(u64::MAX).max(1));
    let envelope = Envelope::buckets(&[Bucket { burst: packet, rate }], packet);
    match envelope.and_then(|envelope| envelope.with_min_packet(least)) {
        Ok(envelope) => Some(envelope),
        Err(error) => {
            refused(section, "packet", &error, out);
            None
        }
    }
}

impl Written {
    /// The curve on its link, and the delay bound of packets that conform to the envelope. `largest`
    /// is the largest packet of the link on the wire.
    pub fn on(
        self,
        flow: &Section<'_>,
        envelope: &Envelope,
        link: &Link,
        largest: Bytes,
        out: &mut Problems<'_>,
    ) -> Option<(FlowCurve, Span)> {
        let Written { form, later, policed } = self;
        let built = form.curve().and_then(|curve| curve.later(later.on(link, largest)));
        let built = built.and_then(|curve| {
            let service = Service { curve: curve.clone(), policed };
            let (envelope, excess) = (envelope.clone(), Excess::default());
            let served = RealtimeFlow::served(envelope, service, link.wire(), excess, None)?;
            if let LinkFlow::Service(spec) = served.link_flow(link.wire())? {
                spec.fits(link.rate)?;
            }
            Ok((curve, served.deadline))
        });
        match built {
            Ok((curve, delay)) => Some((FlowCurve { form, later, curve, policed }, delay)),
            Err(error) => {
                refused(flow, "service_curve", &error, out);
                None
            }
        }
    }
}

pub(super) fn refused(
    section: &Section<'_>,
    key: &str,
    error: &CurveError,
    out: &mut Problems<'_>,
) {
    match error {
        CurveError::AboveCapacity { at, capacity } => {
            let within = u64::try_from(at.ceil()).map_or(Span(u64::MAX), Span);
            let what = format!(
                "within {} the curve demands more than the link of {} can send",
                print_span(within),
                print_rate(*capacity)
            );
            section.wrong(key, out, what, "lower its slopes, or let it begin `later`");
        }
        CurveError::Shape { .. } => {
            let what = "the envelope's long-term rate exceeds the curve's, so delays have no bound";
            section.wrong(key, out, what, "raise the last slope, or lower the envelope's rate");
        }
        error => {
            let text = error.to_string();
            let (what, remedy) = text.split_once("; ").unwrap_or((&text, ""));
            section.wrong(key, out, what, remedy);
        }
    }
}
