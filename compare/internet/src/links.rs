//! The access links, what a run in the virtual machine needs to know of them, and the scenarios of
//! our qdisc.

use std::fmt::Write as _;

use crate::streams::{STREAMS, Stream};

/// An access link with a router before it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// As results name it: Mbit/s down and up.
    pub name: &'static str,
    /// Provider's line downwards and upwards, in kbit/s.
    pub line_kbit: [u64; 2],
    /// Rates of the shapers, in kbit/s; without them 95 % of the line.
    pub shape_kbit: Option<[u64; 2]>,
    /// Whether both ends of TCP negotiate ECN.
    pub ecn: bool,
    /// One-way delay of the Internet, in us.
    pub delay_us: u64,
    /// Maximum transmission unit, in bytes.
    pub mtu: u64,
    /// Deadlines of [`STREAMS`] in the router, in us.
    pub deadlines_us: [u64; 3],
    /// Jitter that the provider's queue gives to real time on the way down, in us.
    pub jitter_us: u64,
    /// Warm-up and measured time, in s.
    pub seconds: [u64; 2],
}

const HOME: Link = Link {
    name: "20/5",
    line_kbit: [20_000, 5000],
    shape_kbit: None,
    ecn: false,
    delay_us: 20_000,
    mtu: 1500,
    deadlines_us: [12_000, 100_000, 33_000],
    jitter_us: 155_000,
    seconds: [4, 12],
};

/// Two access links of homes and one link of a data centre. On `20/5-shaped` the shaper is the only bottleneck, on
/// `20/5-ecn` TCP takes marks.
pub const LINKS: [Link; 5] = [
    HOME,
    Link {
        name: "20/5-shaped",
        line_kbit: [200_000, 200_000],
        shape_kbit: Some([19_000, 4750]),
        ..HOME
    },
    Link { name: "20/5-ecn", ecn: true, ..HOME },
    Link { name: "100/20", line_kbit: [100_000, 20_000], seconds: [3, 5], ..HOME },
    Link {
        name: "1000/1000",
        line_kbit: [1_000_000, 1_000_000],
        delay_us: 500,
        mtu: 9000,
        shape_kbit: None,
        ecn: false,
        deadlines_us: [2000, 10_000, 5000],
        jitter_us: 20_000,
        seconds: [1, 2],
    },
];

/// The first for a shorter time, for continuous integration.
pub const SHORT: Link = Link { name: "20/5-short", seconds: [1, 2], ..HOME };

/// What goes over a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Downloads and uploads with the marks of RRUL, pages, a film, real time.
    Marks,
    /// Four downloads and four uploads without marks.
    Plain,
    /// A host with one download and one upload, another with sixteen of each.
    Hosts,
}

impl Load {
    const ALL: [Load; 3] = [Load::Marks, Load::Plain, Load::Hosts];

    fn name(self) -> &'static str {
        match self {
            Load::Marks => "marks",
            Load::Plain => "plain",
            Load::Hosts => "hosts",
        }
    }

    /// The load of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn of_name(name: &str) -> Result<Load, String> {
        let found = Load::ALL.into_iter().find(|load| load.name() == name);
        found.ok_or_else(|| format!("no load `{name}`"))
    }
}

/// Directions are numbers: 0 down, 1 up.
const UP: usize = 1;
/// The lag of a sender behind its period, in us.
const LAG_US: u64 = 5000;

impl Link {
    /// The shaper's rate, in kbit/s; 0 is down, 1 up.
    pub fn shape_kbit(&self, direction: usize) -> u64 {
        self.shape_kbit.map_or(self.line_kbit[direction] * 95 / 100, |rates| rates[direction])
    }

    /// Round trip of an unloaded path, in ms.
    pub fn rtt_ms(&self) -> u64 {
        (2 * self.delay_us).div_ceil(1000)
    }

    /// Largest frame, in bytes.
    pub fn frame(&self) -> u64 {
        self.mtu + 14
    }

    fn packet_time_us(&self, direction: usize) -> u64 {
        (self.frame() * 8000).div_ceil(self.line_kbit[direction])
    }

    /// Delay of the path that is added to a deadline, in us.
    pub fn path_us(&self, direction: usize) -> u64 {
        self.delay_us + self.packet_time_us(direction)
    }

    /// Bytes of a stream that may come at once: a period's, those that jitter moves together, and a
    /// packet.
    fn burst(&self, stream: &Stream, direction: usize) -> u64 {
        let shape = stream.shape[direction];
        let jitter = if direction == UP { LAG_US } else { self.jitter_us };
        shape.period_bytes()
            + shape.packet
            + (shape.period_bytes() * jitter).div_ceil(stream.period_us)
    }

    /// Shell variables of `vm.sh`.
    pub fn params(&self, seed: u64, load: Load) -> String {
        let [warm, seconds] = self.seconds;
        let mut text = String::new();
        let mut set = |name: &str, value: String| {
            let _ = writeln!(text, "{name}='{value}'");
        };
        set("seed", seed.to_string());
        set("warm", warm.to_string());
        set("seconds", seconds.to_string());
        // 2: only when the other end asks.
        set("ecn", if self.ecn { "1" } else { "2" }.into());
        set("load", load.name().into());
        set("mtu", self.mtu.to_string());
        set("delay", format!("{}us", self.delay_us));
        for (direction, name) in ["down", "up"].into_iter().enumerate() {
            let shape = self.shape_kbit(direction);
            set(&format!("line_{name}"), format!("{}kbit", self.line_kbit[direction]));
            set(&format!("shape_{name}"), format!("{shape}kbit"));
            set(&format!("share_{name}"), format!("{}kbit {}kbit", shape * 4 / 5, shape / 16));
            let curves = STREAMS.iter().zip(self.deadlines_us).map(|(stream, deadline)| {
                let burst = self.burst(stream, direction);
                let rate = stream.shape[direction].rate(stream.period_us);
                format!("{burst}b/{deadline}us/{rate}bps")
            });
            set(&format!("hfsc_{name}"), curves.collect::<Vec<_>>().join(" "));
        }
        // The least that lets a frame through; at high rates what passes between two timer ticks.
        let burst = self.frame().max(self.shape_kbit(0) / 80) + 86;
        set("burst", burst.to_string());
        set("cake_rtt", format!("{}ms", self.rtt_ms()));
        let limits = STREAMS.iter().zip(self.deadlines_us).map(|(stream, deadline)| {
            format!("{}={}:{}", stream.name, stream.port, deadline + self.path_us(UP))
        });
        set("limits_up", limits.collect::<Vec<_>>().join(" "));
        let judged = format!("{} {}", self.shape_kbit(0), self.path_us(0));
        let deadlines = STREAMS
            .iter()
            .zip(self.deadlines_us)
            .map(|(stream, deadline)| format!("{}={}:{deadline}", stream.name, stream.port));
        set("judged", judged);
        set("deadlines", deadlines.collect::<Vec<_>>().join(" "));
        text
    }

    /// The scenario of our qdisc in a direction; with flow queues and AQM, or with plain queues.
    pub fn scenario(&self, direction: usize, flows: bool) -> String {
        let rate = self.shape_kbit(direction);
        let frame = self.frame();
        let mut text = format!(
            "[link]\nrate = \"{rate} kbit/s\"\nmax_packet = \"{frame} B\"\n\
             credit = \"1 ms\"\n\
             buffer = {{ total = \"3 MB\", best_effort = \"1 MB\" }}\n\
             [policy]\nuse = \"slack\"\nfair_queue = \"wf2q+\"\n"
        );
        for (stream, deadline) in STREAMS.iter().zip(self.deadlines_us) {
            let shape = stream.shape[direction];
            let _ = write!(
                text,
                "[[realtime]]\nname = \"{}\"\ndeadline = \"{deadline} us\"\nexcess = \"demote\"\n\
                 envelope = {{ packet = \"{} B\", peak = \"125 MB/s\", burst = \"{} B\", rate = \"{} B/s\" }}\n\
                 match = {{ protocol = \"udp\", dport = {} }}\n",
                stream.name,
                shape.packet,
                self.burst(stream, direction),
                shape.rate(stream.period_us),
                stream.port,
            );
        }
        // Downwards what is dropped counts as sent, as under CAKE: the provider's queue stays short.
        let managed = match (flows, direction) {
            (false, _) => "",
            (true, UP) => {
                "flows = { by = \"host-and-flow\", hosts = \"source\" }\naqm = \"codel\"\n"
            }
            (true, _) => {
                "flows = { by = \"host-and-flow\", hosts = \"destination\" }\n\
                 aqm = { use = \"codel\", ingress = true }\n"
            }
        };
        for (name, weight, rule) in
            [("background", "0.0625", "match = { dscp = \"CS1\" }\n"), ("other", "1", "")]
        {
            let _ = write!(
                text,
                "[[best_effort]]\nname = \"{name}\"\nweight = {weight}\n{managed}{rule}"
            );
        }
        text
    }
}

/// The link of a name.
///
/// # Errors
/// There is none.
pub fn of_name(name: &str) -> Result<&'static Link, String> {
    LINKS
        .iter()
        .chain([&SHORT])
        .find(|link| link.name == name)
        .ok_or_else(|| format!("no link `{name}`"))
}
