//! Guarantee of a class: a service curve with the rule behind it, or the reason why there is none.

use std::fmt;

use laxity_core::{Bytes, NANOBITS_PER_BYTE, Rate, Span};
use laxity_curve::{Curve, CurveError, Piece, Rational, Tail};

/// Assumptions of the bounds about the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Rate at which it takes packets.
    pub rate: Rate,
    /// Largest packet as queued, with segmentation offload whole.
    pub max_packet: Bytes,
    /// How late a timer of the kernel may be.
    pub timer_lateness: Span,
}

impl Device {
    /// The largest packet in nanobits.
    pub fn packet(&self) -> Rational {
        nanobits(self.max_packet.0)
    }

    /// The lateness of timers in ns.
    pub fn late(&self) -> Rational {
        self.timer_lateness.0.into()
    }
}

/// Bytes in nanobits.
pub fn nanobits(bytes: u64) -> Rational {
    Rational::whole(i128::from(bytes) * NANOBITS_PER_BYTE)
}

/// Why a class has no guarantee.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// HFSC without a real-time curve: link sharing divides what is left.
    OnlyShare,
    /// The real-time curves of HFSC exceed the link in the long run.
    CurvesExceedLink,
    /// An inner class has no queue.
    Inner,
    /// HTB without enough rate beside the classes ahead.
    RatesExceedLink,
    /// HTB sends unclassified packets past all classes.
    DirectPackets,
    /// Sizes are counted with overhead, in cells or with a minimum.
    SizeTable,
    /// A band above has no bound.
    UnboundedBand(String),
    /// The bands above may use the whole link.
    BandsFillLink,
    /// A token bucket smaller than the largest packet.
    BurstBelowPacket,
    /// A zero rate or quantum.
    Zero,
    /// CBS with a port rate, credit or idle slope that do not fit.
    Credits,
    /// Gates of taprio that other classes share.
    SharedGate,
    /// No gate of taprio stays open for a packet.
    GateTooShort,
    /// A traffic class on several queues: the device orders them.
    SeveralQueues,
    /// taprio with transmission times.
    TxTimeAssist,
    /// The device chooses among queues.
    Driver,
    /// Packets that are late are dropped.
    DropsLate,
    /// The number of flows has no bound.
    UnboundedFlows,
    /// Packets are dropped by design, and flows reordered.
    DropsByDesign(String),
    /// A kind without a rule here.
    NotAnalysed(String),
    /// Below a discipline that gives no strict service.
    Parent,
    /// A rule that needs a constant rate, below a class without one.
    NeedsConstantRate(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::OnlyShare => f.write_str("no rt curve: ls is a share of what is left"),
            Reason::CurvesExceedLink => {
                f.write_str("the rt curves exceed the link in the long run")
            }
            Reason::Inner => f.write_str("inner class: its leaves hold the queues"),
            Reason::RatesExceedLink => f.write_str(
                "the rates of classes with the same or a smaller prio leave less than its rate",
            ),
            Reason::DirectPackets => {
                f.write_str("unclassified packets go first, unshaped: default is no leaf class")
            }
            Reason::SizeTable => {
                f.write_str("overhead, cells or a minimum size: bytes counted are not bytes sent")
            }
            Reason::UnboundedBand(band) => {
                write!(f, "band {band} goes first and has neither shaper nor envelope")
            }
            Reason::BandsFillLink => f.write_str("the bands that go first may fill the link"),
            Reason::BurstBelowPacket => {
                f.write_str("burst below the largest packet, which is dropped")
            }
            Reason::Zero => f.write_str("rate or quantum 0"),
            Reason::Credits => {
                f.write_str("idleslope - sendslope is not the port rate, or hicredit is too small")
            }
            Reason::SharedGate => f.write_str("other traffic classes share its gate"),
            Reason::GateTooShort => f.write_str("no opening of its gate fits the largest packet"),
            Reason::SeveralQueues => {
                f.write_str("several queues of a traffic class: the device chooses")
            }
            Reason::TxTimeAssist => f.write_str("txtime-assist: the device sends by time stamps"),
            Reason::Driver => f.write_str("the device chooses among the queues"),
            Reason::DropsLate => f.write_str("etf drops what is late"),
            Reason::UnboundedFlows => f.write_str("fq: any number of flows shares the rate"),
            Reason::DropsByDesign(kind) => write!(f, "{kind} drops and reorders flows by design"),
            Reason::NotAnalysed(kind) => write!(f, "no rule for {kind}"),
            Reason::Parent => f.write_str("the discipline above gives no strict service"),
            Reason::NeedsConstantRate(kind) => {
                write!(f, "{kind} below a class without a constant rate")
            }
        }
    }
}

/// Which rule gives a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The device alone.
    Link,
    /// Real-time curve of HFSC.
    HfscRealTime,
    /// Rate of HTB.
    HtbRate,
    /// Strict priority.
    Strict,
    /// Deficit round robin.
    Drr,
    /// Token buckets.
    TokenBucket,
    /// Credit-based shaper.
    Cbs,
    /// Gates.
    Gates,
}

impl Rule {
    /// The curve, with `C` the link, `L` the largest packet, `tau` the lateness of timers.
    pub fn formula(self) -> &'static str {
        match self {
            Rule::Link => "C t",
            Rule::HfscRealTime => "rt(t - (L + X)/C - tau)",
            Rule::HtbRate => "min(rate, burst/theta, cburst/theta) (t - theta - L/R)",
            Rule::Strict => "[C t - bands above - L]+",
            Rule::Drr => "Q/F [C t - (F - Q)(1 + L/Q) - n L]+",
            Rule::TokenBucket => "min(mtu + peakrate t, burst + rate t), later by L/C + tau",
            Rule::Cbs => {
                "idleslope (t - L/C - L (1/idleslope - 1/C) - tau), at least 2 (L/C + tau) later with offload 0"
            }
            Rule::Gates => "C times the least open time in t, openings shorter by L/C + tau",
        }
    }

    /// Where the rule comes from.
    pub fn source(self) -> &'static str {
        match self {
            Rule::Link => "FIFO",
            Rule::HfscRealTime => {
                "Stoica, Zhang, Ng, SIGCOMM 1997, theorem 2; net/sched/sch_hfsc.c (rtsc_min)"
            }
            Rule::HtbRate => "net/sched/sch_htb.c (htb_dequeue, htb_charge_class)",
            Rule::Strict => "Le Boudec, Thiran, Network Calculus, 6.2; net/sched/sch_prio.c",
            Rule::Drr => "Shreedhar, Varghese, SIGCOMM 1995; net/sched/sch_drr.c (drr_dequeue)",
            Rule::TokenBucket => "RFC 2215 (token bucket); net/sched/sch_tbf.c",
            Rule::Cbs => "IEEE 802.1Q-2018, annex L; net/sched/sch_cbs.c",
            Rule::Gates => "IEEE 802.1Qbv; net/sched/sch_taprio.c",
        }
    }
}

/// A guaranteed service.
#[derive(Clone, Debug)]
pub struct Service {
    /// The service curve, nanobits over ns.
    pub curve: Curve,
    /// A rate in bit/s and a latency in ns that a discipline below may count on as its link.
    pub link: Option<(Rational, Rational)>,
    /// The rule.
    pub rule: Rule,
}

/// A service, or why there is none.
pub type Offered = Result<Service, Reason>;

impl Service {
    /// The device itself.
    pub fn of_device(device: &Device) -> Service {
        let rate = device.rate.0.into();
        Service {
            curve: Curve::line(rate, Rational::ZERO),
            link: Some((rate, Rational::ZERO)),
            rule: Rule::Link,
        }
    }

    /// What a discipline below may count on whenever it has packets. The burst of a shaper may then be spent
    /// already, by packets before a pause.
    pub fn below(&self) -> Result<Service, CurveError> {
        match (self.rule, self.link) {
            (Rule::TokenBucket, Some((rate, latency))) => {
                Ok(Service { curve: rate_latency(rate, latency)?, ..self.clone() })
            }
            _ => Ok(self.clone()),
        }
    }
}

/// `[rate (t - latency)]+`.
pub fn rate_latency(rate: Rational, latency: Rational) -> Result<Curve, CurveError> {
    Curve::line(rate, Rational::ZERO).later(latency.greatest(Rational::ZERO))
}

/// `max(f, 0)` up to the least later value, so that the curve does not decrease.
pub fn served(curve: &Curve) -> Result<Curve, CurveError> {
    let negative = curve.min(&Curve::line(Rational::ZERO, Rational::ZERO))?;
    curve.difference(&negative)?.infimum_from()
}

/// `k f(t)`.
pub fn scaled(curve: &Curve, k: Rational) -> Result<Curve, CurveError> {
    let mut pieces = Vec::with_capacity(curve.pieces().len());
    for p in curve.pieces() {
        let (slope, intercept) = (p.slope.times(k)?, p.intercept.times(k)?);
        pieces.push(Piece { start: p.start, slope, intercept });
    }
    match curve.tail() {
        Tail::Affine => Curve::affine(pieces),
        Tail::Periodic { from, period, rise } => {
            let index = pieces.partition_point(|p| p.start < from);
            Curve::periodic(pieces, index, period, rise.times(k)?)
        }
    }
}

/// The sum of curves, zero for none.
pub fn sum<'a>(curves: impl IntoIterator<Item = &'a Curve>) -> Result<Curve, CurveError> {
    let zero = Curve::line(Rational::ZERO, Rational::ZERO);
    curves.into_iter().try_fold(zero, |sum, curve| sum.sum(curve))
}
