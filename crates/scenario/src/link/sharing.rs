//! Curves, upper limits and groups of best effort (Fair Service Curve): keys and model.

use laxity_core::{Span, Weight};
use laxity_curve::service::ServiceCurve;
use laxity_link::config;

use super::service_curve::{
    CurveForm, D, DMAX, LAST_SLOPE, LATENCY, LONG_TERM_RATE, M1, M2, POINTS, RATE, UMAX,
};
use crate::keys::{Forms, Key, Kind, Plain, Table, optional, required};

/// The order among best-effort classes that knows curves, as `fair_queue` names it.
pub const FSC: &str = "fsc";

/// `service_curve`, `upper_limit` and `group` of a best-effort class or group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The curve in place of a weight.
    pub curve: Option<ClassCurve>,
    /// The upper limit on its service.
    pub limit: Option<ClassCurve>,
    /// The group that it is in, by its place in the file.
    pub group: Option<usize>,
}

/// A curve of a class or group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassCurve {
    /// The curve as it is written.
    pub form: CurveForm,
    /// By how much it begins later than written.
    pub later: Span,
    /// The curve that holds, `later` included; counted on the wire.
    pub curve: ServiceCurve,
}

/// `[[group]]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Unique over flows and groups.
    pub name: String,
    /// Share among its neighbours without curves.
    pub weight: Weight,
    /// Its curve, limit and group.
    pub sharing: Sharing,
}

impl Sharing {
    /// For the scheduler.
    pub(super) fn config(&self) -> config::Sharing {
        let curve = |c: &ClassCurve| c.curve.clone();
        config::Sharing {
            curve: self.curve.as_ref().map(curve),
            limit: self.limit.as_ref().map(curve),
            group: self.group,
        }
    }
}

impl Group {
    /// For the scheduler.
    pub(super) fn config(&self) -> config::Group {
        config::Group { weight: self.weight, sharing: self.sharing.config() }
    }
}

/// `service_curve` of a class or group.
pub const CURVE: Key = optional(
    "service_curve",
    Kind::Forms(&CLASS_CURVE),
    "a line by `weight`",
    "{ m1 = \"1 MB/s\", d = \"2 ms\", m2 = \"100 kB/s\" }",
    "Its share over time in place of a weight, under `fair_queue = \"fsc\"`. A steep first piece \
     lowers the delay of a class that sends little.",
);

/// `upper_limit` of a class or group.
pub const LIMIT: Key = optional(
    "upper_limit",
    Kind::Forms(&CLASS_CURVE),
    "none",
    "{ rate = \"250 kB/s\", latency = \"0 ms\" }",
    "The most service that it gets in real time, under `fair_queue = \"fsc\"`, but for one packet. \
     The link idles where nothing else waits.",
);

/// `group` of a class or group.
pub const GROUP: Key = optional(
    "group",
    Kind::Text,
    "directly below the link",
    "\"office\"",
    "The `[[group]]` that it is in, under `fair_queue = \"fsc\"`.",
);

/// `[[group]]`
pub static GROUPS: Table = Table {
    name: "group",
    doc: "A group of best-effort classes, which shares as one class does.",
    keys: &[
        required("name", Kind::Text, "\"office\"", "Unique over all flows and groups."),
        optional(
            "weight",
            Kind::Weight,
            "1",
            "0.5",
            "Share relative to the classes and groups beside it; at most six decimals.",
        ),
        CURVE,
        LIMIT,
        GROUP,
    ],
};

const LATER: Key = optional(
    "later",
    Kind::Time,
    "as written",
    "\"1.2 ms\"",
    "Begins the whole curve later by this time.",
);

/// `service_curve` and `upper_limit` of best effort.
static CLASS_CURVE: Forms = Forms {
    name: "class curve",
    article: "a",
    doc: "Bytes on the wire over time, since the class began to wait. For a share, time is virtual: \
          only the relation of the curves counts.",
    plain: Plain::No,
    tables: &[
        Table {
            name: "rate and latency",
            doc: "rate (t - latency).",
            keys: &[RATE, LATENCY, LATER],
        },
        Table {
            name: "two pieces",
            doc: "Slope m1 for a time d, then m2.",
            keys: &[M1, D, M2, LATER],
        },
        Table {
            name: "umax and dmax",
            doc: "The two pieces as `tc` writes them: umax bytes within dmax, rate in the long run.",
            keys: &[UMAX, DMAX, LONG_TERM_RATE, LATER],
        },
        Table {
            name: "points",
            doc: "Straight from the origin through the points, then with slope rate.",
            keys: &[POINTS, LAST_SLOPE, LATER],
        },
    ],
};
