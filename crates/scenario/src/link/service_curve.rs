//! The service curve of a real-time flow (SCED): keys and model.

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::CurveError;
use laxity_curve::service::{ServiceCurve, ServiceSpec};
use laxity_link::config::{self, Service};

use crate::keys::{Forms, Key, Kind, Plain, Table, optional, required};
use crate::link::model::{Link, RealtimeFlow, Scenario};

/// `service_curve` of a real-time flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowCurve {
    /// The curve as it is written.
    pub form: CurveForm,
    /// By how much it begins later than written.
    pub later: Later,
    /// The curve that holds, `later` included; counted on the wire.
    pub curve: ServiceCurve,
    /// Whether the flow declares an envelope. It is enforced then; a flow without one may send what
    /// it likes, and its excess makes only its own packets wait.
    pub policed: bool,
}

/// A curve as it is written, in bytes on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CurveForm {
    /// `rate (t - latency)`.
    RateLatency {
        /// The rate after the latency.
        rate: Rate,
        /// Nothing is served before.
        latency: Span,
    },
    /// The two-piece curve of HFSC: slope `m1` for the first `d`, then `m2`.
    TwoPiece {
        /// The first slope, which may be zero.
        m1: Rate,
        /// Where the second begins.
        d: Span,
        /// The second slope.
        m2: Rate,
    },
    /// The two-piece curve in the terms of `tc`: `umax` bytes within `dmax`, `rate` in the long run.
    UmaxDmax {
        /// Bytes within `dmax`.
        umax: Bytes,
        /// Time for the first `umax` bytes.
        dmax: Span,
        /// The long-term rate.
        rate: Rate,
    },
    /// Straight lines between points, then `rate`.
    Points {
        /// Time and bytes, in rising order; two of one time are a jump.
        points: Vec<(Span, Bytes)>,
        /// The slope after the last.
        rate: Rate,
    },
}

/// `later` of a service curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Later {
    /// By a time.
    By(Span),
    /// By what may block: the largest packet of the link and what is below the scheduler. Curves
    /// whose sum stays below the link's capacity are then admitted.
    Auto,
}

impl CurveForm {
    /// The curve as it is written.
    ///
    /// # Errors
    /// See the constructors of [`ServiceCurve`].
    pub fn curve(&self) -> Result<ServiceCurve, CurveError> {
        match self {
            CurveForm::RateLatency { rate, latency } => ServiceCurve::rate_latency(*rate, *latency),
            CurveForm::TwoPiece { m1, d, m2 } => ServiceCurve::two_piece(*m1, *d, *m2),
            CurveForm::UmaxDmax { umax, dmax, rate } => {
                ServiceCurve::umax_dmax(*umax, *dmax, *rate)
            }
            CurveForm::Points { points, rate } => ServiceCurve::points(points, *rate),
        }
    }
}

impl Later {
    /// The time on a link whose largest packet, of any flow, has `largest` bytes on the wire.
    pub fn on(self, link: &Link, largest: Bytes) -> Span {
        let blocked = Bytes(largest.0.saturating_add(link.downstream_backlog().0));
        match self {
            Later::By(time) => time,
            Later::Auto => ServiceSpec::safe_delay(blocked, link.rate),
        }
    }
}

/// The largest packet of a link on the wire.
pub(super) fn largest(link: &Link, packets: impl Iterator<Item = Bytes>) -> Bytes {
    let wire = link.wire();
    packets.map(|bytes| wire.of_bytes(bytes)).fold(wire.of_bytes(link.max_packet), Bytes::max)
}

impl Scenario {
    /// The time by which curves that are later by `"auto"` begin later.
    pub fn auto_later(&self) -> Span {
        Later::Auto.on(&self.link, self.largest(&self.link))
    }

    fn largest(&self, link: &Link) -> Bytes {
        largest(link, self.realtime.iter().map(|f| f.envelope.max_packet()))
    }

    /// Exchanges the link; curves that are later by `"auto"` then begin at another time.
    pub fn set_link(&mut self, link: Link) {
        let largest = self.largest(&link);
        for flow in &mut self.realtime {
            let Some(service) = flow.service_curve.as_mut().filter(|s| s.later == Later::Auto)
            else {
                continue;
            };
            let later = service.later.on(&link, largest);
            let curve = service.form.curve().and_then(|curve| curve.later(later));
            let wire = link.wire();
            let moved = curve.and_then(|curve| {
                let service = Service { curve: curve.clone(), policed: service.policed };
                let envelope = flow.envelope.clone();
                let served =
                    config::RealtimeFlow::served(envelope, service, wire, flow.excess, None)?;
                Ok((curve, served.deadline))
            });
            // Numbers beyond 128 bits leave the curve as it was, which admission then judges.
            if let Ok((curve, delay)) = moved {
                (service.curve, flow.deadline) = (curve, delay);
            }
        }
        self.link = link;
    }
}

impl RealtimeFlow {
    /// The deadline of the flow, or with a service curve the delay bound of packets that conform to
    /// its envelope; `None` for a flow with a curve alone, whose delays depend on what it sends.
    pub fn delay_bound(&self) -> Option<Span> {
        let free = self.service_curve.as_ref().is_some_and(|s| !s.policed);
        (!free).then_some(self.deadline)
    }
}

const LATER: Key = optional(
    "later",
    Kind::TimeOr(&["auto"]),
    "as written",
    "\"1.2 ms\"",
    "Begins the whole curve later by this time. `auto`: by the time of the largest packet of the \
     link, so that curves whose sum fits the link are admitted, which is HFSC's guarantee.",
);

const PACKET: Key = optional(
    "packet",
    Kind::Size,
    "the envelope's, or the link's `max_packet`",
    "\"400 B\"",
    "Largest packet of a flow without an envelope; larger ones are dropped.",
);

const MIN_PACKET: Key = optional(
    "min_packet",
    Kind::Size,
    "the envelope's, or \"40 B\", or the largest packet where that is smaller",
    "\"64 B\"",
    "Smaller packets of a flow without an envelope count as this long. Small packets are due soon \
     after a curve begins to rise.",
);

// Keys of the forms of a curve, of flows and of classes.
pub(super) const RATE: Key =
    required("rate", Kind::Rate, "\"250 kB/s\"", "Rate after the latency.");
pub(super) const LATENCY: Key =
    required("latency", Kind::Time, "\"8 ms\"", "Time before the curve rises.");
pub(super) const M1: Key = required("m1", Kind::Rate, "\"40 kB/s\"", "First slope; may be zero.");
pub(super) const D: Key = required("d", Kind::Time, "\"5 ms\"", "Length of the first piece.");
pub(super) const M2: Key = required("m2", Kind::Rate, "\"10 kB/s\"", "Second slope.");
pub(super) const UMAX: Key = required("umax", Kind::Size, "\"1500 B\"", "Bytes within dmax.");
pub(super) const DMAX: Key =
    required("dmax", Kind::Time, "\"10 ms\"", "Time for the first umax bytes.");
pub(super) const LONG_TERM_RATE: Key =
    required("rate", Kind::Rate, "\"100 kB/s\"", "Long-term rate.");
pub(super) const POINTS: Key = required(
    "points",
    Kind::Tables(&POINT),
    "[{ time = \"10 ms\", bytes = \"0 B\" }, { time = \"20 ms\", bytes = \"6 kB\" }]",
    "Points in rising order of time and bytes, at most 31. Two at one time are a jump.",
);
pub(super) const LAST_SLOPE: Key =
    required("rate", Kind::Rate, "\"300 kB/s\"", "Slope after the last point.");

/// `service_curve`
pub static SERVICE_CURVE: Forms = Forms {
    name: "service curve",
    article: "a",
    doc: "Service that the flow gets while it has packets, in bytes on the wire over time (SCED). A \
          packet is due when the curve reaches its last byte.",
    plain: Plain::No,
    tables: &[
        Table {
            name: "rate and latency",
            doc: "rate (t - latency).",
            keys: &[RATE, LATENCY, LATER, PACKET, MIN_PACKET],
        },
        Table {
            name: "two pieces",
            doc: "Slope m1 for a time d, then m2, as in HFSC. Concave with m1 above m2: low delay at \
                  a low rate. Convex otherwise.",
            keys: &[M1, D, M2, LATER, PACKET, MIN_PACKET],
        },
        Table {
            name: "umax and dmax",
            doc: "The two pieces as `tc` writes them: a burst of umax within dmax, and rate in the \
                  long run.",
            keys: &[UMAX, DMAX, LONG_TERM_RATE, LATER, PACKET, MIN_PACKET],
        },
        Table {
            name: "points",
            doc: "Straight from the origin through the points, then with slope rate.",
            keys: &[POINTS, LAST_SLOPE, LATER, PACKET, MIN_PACKET],
        },
    ],
};

/// One of `points`
pub static POINT: Table = Table {
    name: "points",
    doc: "A point of a service curve.",
    keys: &[
        required("time", Kind::Time, "\"10 ms\"", "Since the flow became backlogged."),
        required("bytes", Kind::Size, "\"6 kB\"", "Bytes on the wire that are due by then."),
    ],
};
