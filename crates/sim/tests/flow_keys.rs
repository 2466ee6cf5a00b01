//! Keys and ECN fields of simulated packets, and the counts of what an AQM does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use crate::common::{arrivals, scenario};
use laxity_core::{FlowId, Span, Time};
use laxity_link::buffer::DropReason;
use laxity_link::ecn::Ecn;
use laxity_link::{Departure, DropSink, LinkPolicy, Packet};
use laxity_sim::Control;
use laxity_sim::link::replay::read;
use laxity_sim::link::{Traffic, simulate_policy};
use laxity_trace::{Capture, decode};
use laxity_traffic::Arrival;

const TWO: &str = r#"
    [link]
    rate = "10 Mbit/s"
    [[realtime]]
    name = "voice"
    deadline = "50 ms"
    envelope = { burst = "1500 B", rate = "100 kB/s" }
    excess = "demote"
    source = { period = "5 ms", length = "200 B" }
    [[best_effort]]
    name = "bulk"
    flows = {}
    aqm = "codel"
    source = { period = "3 ms", length = "1000 B" }
    [[best_effort]]
    name = "plain"
    source = { period = "7 ms", length = "500 B" }
"#;

/// Fails when generated flows share a key, or one has several, or the seed changes them: a trace
/// of the packets would then give other results.
#[test]
fn each_generated_flow_has_a_key() {
    let scenario = scenario(TWO);
    let keys = |seed| {
        let mut keys = BTreeMap::<FlowId, BTreeSet<u64>>::new();
        for a in Traffic::generate(&scenario, seed, Span::from_millis(100), &[]) {
            keys.entry(a.flow).or_default().insert(a.key);
        }
        assert_eq!(keys.len(), 3);
        assert!(keys.values().all(|keys| keys.len() == 1), "{keys:?}");
        keys.into_values().flatten().collect::<BTreeSet<u64>>()
    };
    assert_eq!(keys(1).len(), 3);
    assert_eq!(keys(1), keys(2));
}

/// Fails when a captured packet has not the key of its addresses and ports, or not its ECN field.
#[test]
fn captured_packets_have_the_keys_of_their_headers() {
    let scenario =
        scenario("[link]\nrate = \"10 Mbit/s\"\n[[best_effort]]\nname = \"other\"\nflows = {}\n");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures/access-link.pcap");
    let packets = read(&path, &scenario).unwrap().packets;
    let mut capture = Capture::open(std::fs::File::open(&path).unwrap()).unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        frames.push((frame.time_ns, decode(frame.link_type, frame.data)));
    }
    frames.sort_by_key(|f| f.0);
    assert_eq!(packets.len(), frames.len());
    let mut keys = BTreeMap::new();
    for (packet, (_, headers)) in packets.iter().zip(&frames) {
        assert_eq!(packet.ecn as u8, headers.ecn.unwrap());
        let whole = headers.fragment == laxity_trace::Fragment::Whole;
        let tuple = headers.five_tuple().filter(|_| whole && headers.sport.is_some());
        if let Some(tuple) = tuple {
            assert_eq!(*keys.entry(tuple).or_insert(packet.key), packet.key);
        }
    }
    assert!(keys.len() > 10);
    assert_eq!(keys.values().collect::<BTreeSet<_>>().len(), keys.len());
}

/// A FIFO that marks each third packet of best effort and drops each fifth, as an AQM would.
struct Marking {
    waiting: Vec<Packet>,
}

impl LinkPolicy for Marking {
    fn enqueue(&mut self, now: Time, packet: Packet, drops: &mut dyn DropSink) {
        if packet.seq % 3 == 0 && packet.flow != FlowId(0) {
            drops.marked(now, &packet);
        }
        self.waiting.push(packet);
    }
    fn handle_stall(&mut self) {}
    fn dequeue(&mut self, now: Time, drops: &mut dyn DropSink) -> Option<Departure> {
        loop {
            if self.waiting.is_empty() {
                return None;
            }
            let packet = self.waiting.remove(0);
            if packet.seq % 5 == 4 && packet.flow != FlowId(0) {
                drops.dropped(now, &packet, DropReason::Aqm);
                continue;
            }
            let deadline = Time::MAX;
            return Some(Departure { packet, deadline, realtime: false, dropped: false });
        }
    }
    fn next_event(&self) -> Option<Time> {
        None
    }
    fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// Fails when drops or marks are not counted or counted for another flow, or when a class without
/// AQM has counts.
#[test]
fn drops_and_marks_are_counted_by_class() {
    let scenario = scenario(TWO);
    let packets: Vec<(u64, u32, u32)> = (0..30).map(|i| (i * 100, 1, 100)).collect();
    let traffic = Traffic::Recorded(Arc::new(arrivals(&packets)));
    let policy = ("marking", Marking { waiting: Vec::new() });
    let control = Control::default();
    let run = simulate_policy(&scenario, policy, 1, &traffic, None, &control).unwrap();
    let flows = run.result(&scenario).flows;
    let bulk = &flows["bulk"];
    assert_eq!((bulk.aqm_drops, bulk.ecn_marks, bulk.dropped), (Some(6), Some(10), 6));
    assert_eq!(bulk.drop_reasons["aqm"], 6);
    for name in ["voice", "plain"] {
        assert_eq!((flows[name].aqm_drops, flows[name].ecn_marks), (None, None), "{name}");
    }
}

/// Fails when the engine loses the key or the ECN field of an arrival.
#[test]
fn policies_see_keys_and_ecn_fields() {
    let arrival = Arrival {
        ecn: Ecn::Ect1,
        key: 0x1234_5678_9abc_def0,
        ..Arrival::new(Time(5), FlowId(1), 100)
    };
    let packet = arrival.packet(3, 124);
    assert_eq!((packet.ecn, packet.key, packet.seq), (Ecn::Ect1, arrival.key, 3));
    assert_eq!((packet.arrival, packet.bytes, packet.wire), (Time(5), 100, 124));
    assert_eq!((packet.flow, packet.demoted), (FlowId(1), false));
}
