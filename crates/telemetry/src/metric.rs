//! The descriptor of a metric.

/// The type of a metric, as Prometheus distinguishes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only increases, from 0 at the start.
    Counter,
    /// Increases and decreases.
    Gauge,
    /// Counts of values up to ascending bounds.
    Histogram,
}

impl Kind {
    /// Its name in the text format.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// The unit of a metric's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// True (1) or false (0).
    Flag,
    /// A part of one.
    Ratio,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// Bits per second.
    BitsPerSecond,
}

impl Unit {
    /// Its symbol in tables.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Count => "count",
            Unit::Flag => "0 or 1",
            Unit::Ratio => "1",
            Unit::Seconds => "s",
            Unit::Bytes => "B",
            Unit::BitsPerSecond => "bit/s",
        }
    }
}

/// One metric. Only [`table`](crate::table) makes them, so no page has one that the table lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) unit: Unit,
    pub(crate) labels: &'static [&'static str],
    pub(crate) help: &'static str,
}

impl Metric {
    /// Its whole name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its type.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The unit of its values.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The names of the labels of each sample; `le` of histograms comes after them.
    pub fn labels(&self) -> &'static [&'static str] {
        self.labels
    }

    /// One sentence for people.
    pub fn help(&self) -> &'static str {
        self.help
    }
}
