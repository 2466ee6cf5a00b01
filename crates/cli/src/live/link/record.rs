//! The statistics of a link as JSON: from the kernel's counts or from a process, read back by others.

use std::net::SocketAddr;
use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// The version of the JSON.
pub const STATUS_VERSION: u32 = 1;

/// All links of a network namespace, and its media servers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Links {
    /// [`STATUS_VERSION`].
    pub version: u32,
    /// Those of the kernel first.
    pub links: Vec<Link>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media_servers: Vec<MediaServer>,
    /// IDs of processes of Laxity that do not answer: stopped, or of another version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unresponsive: Vec<u32>,
    /// The reason why the kernel's links are missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_error: Option<String>,
}

impl Default for Links {
    fn default() -> Links {
        Links {
            version: STATUS_VERSION,
            links: Vec::new(),
            media_servers: Vec::new(),
            unresponsive: Vec::new(),
            kernel_error: None,
        }
    }
}

/// The process that runs a link in user space, or a media server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub id: u32,
    pub user: u32,
    /// As on the command line, such as `link bridge`.
    pub program: String,
}

/// A media server, `laxity stream serve`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MediaServer {
    pub process: Process,
    pub scenario: String,
    pub policy: String,
    pub streams: u64,
    pub sent: u64,
    /// Packets dropped because their deadline had passed.
    pub expired: u64,
    /// Back-to-back windows with more misses than tolerated.
    pub tumbling_violations: u64,
    pub control: Option<PathBuf>,
    pub metrics: Option<SocketAddr>,
}

/// The link of one interface.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Link {
    pub device: String,
    /// The interface whose ingress direction this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress_of: Option<String>,
    /// None for the kernel's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<Process>,
    pub policy: String,
    pub rate_bit_s: u64,
    /// Rate of the scenario, where `link set --rate` or `--rate-from` has changed the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario_rate_bit_s: Option<u64>,
    /// Real-time flows that lost their reservation because the rate fell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shed: Vec<String>,
    /// Real-time packets late because the rate fell after they were accepted; no deadline misses.
    #[serde(default)]
    pub late_rate_change: u64,
    /// False after another program removed its qdisc.
    pub attached: bool,
    /// Number of changes of the scenario.
    pub changes: u32,
    /// Another scenario comes into force with the next packet.
    pub pending: bool,
    /// The replaced root qdisc.
    pub replaced: Option<String>,
    pub backlog: Backlog,
    /// Time lost since the link came up; older programs do not count it.
    #[serde(default)]
    pub stalls: Stalls,
    /// Since the present scenario took over; real-time flows first.
    pub flows: IndexMap<String, Flow>,
    /// Under scenarios before, all flows together.
    pub previous: Flow,
}

/// Packets that wait, and their bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Backlog {
    pub packets: u32,
    pub bytes: u32,
}

/// Time in which packets waited and the link sent nothing, beyond the credit.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Stalls {
    pub count: u64,
    pub total_ms: f64,
    pub max_ms: f64,
}

impl Stalls {
    /// From nanoseconds.
    pub fn new(count: u64, total: u64, max: u64) -> Stalls {
        Stalls { count, total_ms: total as f64 / 1e6, max_ms: max as f64 / 1e6 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Realtime,
    BestEffort,
    Mixed,
}

/// One flow or class. Delays run from arrival to the end of transmission; those of demoted packets are
/// apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Flow {
    pub kind: Kind,
    pub deadline_ms: Option<f64>,
    pub packets: u64,
    pub bytes: u64,
    pub mean_ms: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub deadline_misses: u64,
    pub demoted: u64,
    /// Older programs do not count these two.
    #[serde(default)]
    pub demoted_mean_ms: Option<f64>,
    #[serde(default)]
    pub demoted_max_ms: Option<f64>,
    /// Marked with "congestion experienced" by an AQM.
    #[serde(default)]
    pub ecn_marks: u64,
    pub dropped: u64,
    /// Dropped, by reason; those that did not occur are left out.
    pub drop_reasons: IndexMap<String, u64>,
    /// For metrics: upper ends of delays in ns, each with how many there are, and their sum.
    #[serde(skip)]
    #[cfg_attr(not(feature = "kernel"), allow(dead_code))]
    pub delays: (Vec<(u64, u64)>, u64),
}

#[cfg(feature = "kernel")]
mod of_kernel {
    use laxity_kernel::counts::Counts;
    use laxity_kernel::qdisc::Status;
    use laxity_link::buffer::DropReason;
    use laxity_scenario::link::model::Scenario;

    use super::{Backlog, Flow, Kind, Link, Stalls};
    use crate::failure::Failure;

    impl Link {
        pub fn new(device: String, status: Status) -> Result<Link, Failure> {
            let scenario = Scenario::parse(&status.scenario, "").map_err(|_| {
                Failure::Lacking(format!(
                    "the link on {device} was brought up by another version of laxity, which can \
                     also take it down"
                ))
            })?;
            let reserved = |place: usize| !status.shed.contains(&place);
            let bounds = scenario.realtime.iter().map(|f| f.delay_bound().map(|bound| bound.0));
            let deadlines = bounds.enumerate().map(|(place, b)| b.filter(|_| reserved(place)));
            let all = deadlines.chain(std::iter::repeat(None));
            let flows = scenario.flow_names().zip(all).zip(&status.counts).enumerate();
            let flows = flows.map(|(place, ((name, deadline), counts))| {
                let realtime = place < scenario.realtime.len();
                let kind = if realtime { Kind::Realtime } else { Kind::BestEffort };
                (name.to_owned(), Flow::new(kind, deadline, counts))
            });
            let name = |place: &usize| Some(scenario.realtime.get(*place)?.name.clone());
            Ok(Link {
                device,
                ingress_of: status.ingress_of,
                process: None,
                policy: status.policy,
                rate_bit_s: status.rate,
                scenario_rate_bit_s: Some(scenario.link.rate.0).filter(|r| *r != status.rate),
                shed: status.shed.iter().filter_map(name).collect(),
                late_rate_change: status.late_rate_change,
                attached: status.attached,
                changes: status.changes,
                pending: status.pending,
                replaced: status.replaced,
                backlog: Backlog {
                    packets: status.queue.waiting_packets,
                    bytes: status.queue.waiting_bytes,
                },
                stalls: Stalls::new(
                    status.stalls.count,
                    status.stalls.total,
                    status.stalls.longest,
                ),
                flows: flows.collect(),
                previous: Flow::new(Kind::Mixed, None, &status.earlier),
            })
        }
    }

    impl Flow {
        fn new(kind: Kind, deadline: Option<u64>, counts: &Counts) -> Flow {
            let ms = |ns: u64| ns as f64 / 1e6;
            let mean = counts.delay_sum.checked_div(counts.packets.saturating_sub(counts.demoted));
            let demoted = counts.demoted_sum.checked_div(counts.demoted);
            let names = DropReason::ALL.iter().map(|reason| reason.name());
            let reasons = names.zip(counts.dropped).chain([("flushed", counts.flushed)]);
            let reasons = reasons.filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n));
            Flow {
                kind,
                deadline_ms: deadline.map(ms),
                packets: counts.packets,
                bytes: counts.bytes,
                mean_ms: mean.map(ms),
                p50_ms: counts.quantile(500).map(ms),
                p99_ms: counts.quantile(990).map(ms),
                max_ms: mean.map(|_| ms(counts.delay_max)),
                deadline_misses: counts.deadline_misses,
                demoted: counts.demoted,
                demoted_mean_ms: demoted.map(ms),
                demoted_max_ms: demoted.map(|_| ms(counts.demoted_max)),
                ecn_marks: counts.ecn_marks,
                dropped: counts.all_dropped(),
                drop_reasons: reasons.collect(),
                delays: (counts.delays().collect(), counts.delay_sum),
            }
        }
    }
}
