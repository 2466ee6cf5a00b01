//! A soak: many packets in virtual time through every policy that keeps deadlines, on one link after another.
//!
//! LAXITY_SOAK_PACKETS says how many packets in total; `make soak` runs 10^9, and then memory and descriptors
//! of the process are watched too.

use std::collections::VecDeque;
use std::path::Path;

use laxity_core::{Span, Time};
use laxity_link::buffer::DropReason;
use laxity_link::registry::{self, POLICIES, Visitor};
use laxity_link::{Departure, LinkPolicy, Packet};
use laxity_scenario::link::model::Scenario;
use laxity_sim::Control;
use laxity_sim::link::{Observer, Traffic, run};

const SCENARIOS: [&str; 5] = ["access-link", "service-curves", "link-sharing", "robot", "studio"];

/// Best effort that offers three times the link, into a buffer that it fills.
const FLOOD: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1500 B"
buffer = { total = "200 kB", best_effort = "150 kB" }
[policy]
use = "exact"
[[realtime]]
name = "voice"
deadline = "10 ms"
envelope = { burst = "400 B", rate = "40 kB/s" }
source = { period = "7 ms", length = "214 B", jitter = "3 ms" }
[[realtime]]
name = "video"
deadline = "30 ms"
envelope = { packet = "1500 B", peak = "800 kB/s", burst = "15000 B", rate = "500 kB/s" }
source = { length = "1500 B", on = ["50 ms", "100 ms"], off = ["10 ms", "20 ms"] }
[[best_effort]]
name = "first"
weight = 0.7
envelope = { burst = "30 kB", rate = "2 MB/s" }
source = { length = { uniform = ["60 B", "1500 B"] }, on = ["10 ms", "700 ms"], off = ["10 ms", "30 ms"] }
[[best_effort]]
name = "second"
weight = 0.3
envelope = { burst = "30 kB", rate = "2 MB/s" }
source = { length = "1500 B", on = ["10 ms", "700 ms"], off = ["10 ms", "300 ms"] }
"#;

/// Packets between two looks at the process.
const STRIDE: u64 = 5_000_000;
/// Growth that the allocator may show after the first look, in bytes.
const GROWTH: u64 = 4 << 20;

/// Counts and orders of one link.
struct Watch<'a> {
    scenario: &'a Scenario,
    arrived: u64,
    sent: u64,
    dropped: u64,
    late: u64,
    last_end: Time,
    /// Real-time packets of each flow that are neither sent nor dropped, in the order of arrival.
    waiting: Vec<VecDeque<u64>>,
    process: Option<Process>,
}

impl Watch<'_> {
    /// Takes a real-time packet out of its flow's queue; one that was overtaken is a fault, but for packets
    /// that were demoted or dropped before.
    fn leave(&mut self, packet: &Packet, in_order: bool) {
        let Some(queue) = self.waiting.get_mut(packet.flow.index()) else { return };
        let place = queue.iter().position(|seq| *seq == packet.seq);
        let place = place.expect("a packet leaves once, and had arrived");
        assert!(!in_order || place == 0, "packet {} overtook another of its flow", packet.seq);
        queue.remove(place);
    }
}

impl Observer for Watch<'_> {
    fn arrived(&mut self, packet: &Packet) {
        self.arrived += 1;
        if let Some(queue) = self.waiting.get_mut(packet.flow.index()) {
            queue.push_back(packet.seq);
        }
        if self.arrived % STRIDE == 0 {
            if let Some(process) = &mut self.process {
                process.look();
            }
        }
    }

    fn sent(&mut self, departure: &Departure, end: Time) {
        self.sent += 1;
        assert!(end > self.last_end, "the link sends one packet after another");
        self.last_end = end;
        let packet = &departure.packet;
        let realtime = packet.flow.index() < self.scenario.realtime.len() && !packet.demoted;
        self.late += u64::from(realtime && end > departure.deadline);
        self.leave(packet, realtime);
    }

    fn dropped(&mut self, _: Time, packet: &Packet, _: DropReason) {
        self.dropped += 1;
        self.leave(packet, false);
    }
}

/// Memory and descriptors of this process.
struct Process {
    first: Option<(u64, usize)>,
}

impl Process {
    fn look(&mut self) {
        let pages = std::fs::read_to_string("/proc/self/statm").expect("procfs");
        let resident = pages.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok());
        let resident = resident.expect("a number of pages") * 4096;
        let open = std::fs::read_dir("/proc/self/fd").expect("procfs").count();
        let (memory, descriptors) = *self.first.get_or_insert((resident, open));
        assert!(resident <= memory + GROWTH, "memory grew from {memory} to {resident} B");
        assert_eq!(open, descriptors, "descriptors are left open");
    }
}

struct Soak<'a> {
    scenario: &'a Scenario,
    packets: u64,
    watched: bool,
}

impl Visitor for Soak<'_> {
    /// Packets sent, dropped and late, and the end in virtual time.
    type Output = (u64, u64, u64, Time);

    fn visit<P: LinkPolicy + Send + 'static>(self, mut policy: P) -> Self::Output {
        let scenario = self.scenario;
        let mut watch = Watch {
            scenario,
            arrived: 0,
            sent: 0,
            dropped: 0,
            late: 0,
            last_end: Time::ZERO,
            waiting: vec![VecDeque::new(); scenario.realtime.len()],
            process: self.watched.then_some(Process { first: None }),
        };
        let arrivals = Traffic::generate(scenario, 1, Span(u64::MAX / 4), &[]);
        let arrivals = arrivals.take(self.packets as usize);
        let (rate, wire) = (scenario.link.rate, scenario.link.wire());
        let ending = run(&mut policy, arrivals, rate, wire, &mut watch, &Control::default());
        assert_eq!(watch.arrived, self.packets);
        assert_eq!(watch.arrived, watch.sent + watch.dropped, "packets that are in no count");
        assert!(watch.waiting.iter().all(VecDeque::is_empty));
        assert_eq!((ending.unsent, policy.waiting()), (0, 0), "a queue that does not empty");
        (watch.sent, watch.dropped, watch.late, ending.time)
    }
}

/// Fails when a policy counts a packet twice or not at all, is late after many periods, where virtual time is
/// near no start, keeps what has left, or reorders a real-time flow.
#[test]
fn policies_keep_their_promises_for_long() {
    let given = std::env::var("LAXITY_SOAK_PACKETS").ok();
    let total: u64 =
        given.as_ref().map_or(400_000, |n| n.parse().expect("LAXITY_SOAK_PACKETS is a number"));
    let names: Vec<&str> = POLICIES.iter().filter(|p| p.keeps_deadlines).map(|p| p.name).collect();
    let read = |name: &'static str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let text = std::fs::read_to_string(root.join(format!("{name}.toml")));
        (name, Scenario::parse(&text.expect("a scenario"), name).expect("a scenario"))
    };
    let flood = Scenario::parse(FLOOD, "flood").expect("a scenario");
    let scenarios: Vec<_> = SCENARIOS.map(read).into_iter().chain([("flood", flood)]).collect();
    let all =
        scenarios.iter().flat_map(|(name, s)| names.iter().map(move |policy| (*name, s, *policy)));
    // Not every policy serves curves, or finds a safe line.
    let pairs: Vec<_> =
        all.filter(|(_, s, policy)| registry::build(policy, &s.setup()).is_ok()).collect();
    assert!(pairs.len() > 35, "{}", pairs.len());
    let mut lost = 0;
    for (name, scenario, policy) in &pairs {
        let packets = total.div_ceil(pairs.len() as u64);
        let soak = Soak { scenario, packets, watched: given.is_some() };
        let (sent, dropped, late, end) =
            registry::visit(policy, &scenario.setup(), soak).expect("it was built before");
        let hours = end.0 / 3_600_000_000_000;
        println!("{name}, {policy}: {sent} sent, {dropped} dropped, {late} late, {hours} h");
        assert_eq!(late, 0, "{name}, {policy}");
        lost += dropped;
    }
    assert!(lost > 0, "no buffer was full");
}
