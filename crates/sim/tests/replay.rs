//! Recorded traffic: captures by `match`, traces by name.

use std::path::PathBuf;

use crate::common::{file, generated, scenario, simulated};
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::{Traffic, replay};
use laxity_trace::{LinkType, PcapngWriter};

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("laxity-replay-{}-{name}", std::process::id()))
}

/// Packets of each flow, in the order of the scenario.
fn counts(path: &std::path::Path, flows: &str) -> Vec<usize> {
    let scenario = scenario(&format!("[link]\nrate = \"10 Mbit/s\"\n{flows}"));
    let recording = replay::read(path, &scenario).unwrap();
    assert!(recording.packets.is_sorted_by_key(|p| p.time));
    assert_eq!(recording.packets[0].time.0, 0);
    let mut counts = vec![0; scenario.flow_count()];
    recording.packets.iter().for_each(|p| counts[p.flow.index()] += 1);
    counts
}

fn class(name: &str, rule: &str) -> String {
    format!("[[best_effort]]\nname = \"{name}\"\nmatch = {{ {rule} }}\n")
}

/// The counts that `captures/README.md` gives, which tshark gave.
///
/// Fails when a field is compared with another, when ports match only one direction, or when a
/// later rule wins.
#[test]
fn a_capture_is_classified_by_code_points_ports_and_protocols() {
    let flows = [
        class("calls", "dscp = \"EF\", dport = \"5004-5008\", protocol = \"udp\""),
        class("voice", "dscp = \"EF\""),
        class("video", "dscp = \"AF41\", dport = 5010"),
        class("screen", "dscp = \"AF41\", dport = 5012"),
        class("control", "dscp = \"AF41\""),
        class("bulk", "protocol = \"tcp\", sport = 5201"),
        class("web", "protocol = \"tcp\", sport = 80"),
        class("names", "protocol = \"udp\", sport = 53"),
        class("none", "protocol = \"tcp\", dport = 80"),
        class("link", "protocol = \"icmpv6\""),
    ];
    let got = counts(&file("captures/access-link.pcap"), &flows.concat());
    // EF to ports 5004 to 5008 includes RTCP of 5005 and 5007, three packets each.
    assert_eq!(got, [1962, 3, 2932, 2236, 6, 4857, 1400, 66, 0, 6, 0]);
}

/// Fails when prefixes of one family match the other, or when source and destination are swapped.
#[test]
fn a_capture_is_classified_by_addresses() {
    let flows = [class("six", "src = \"::/0\""), class("four", "dst = \"0.0.0.0/0\"")];
    let got = counts(&file("captures/access-link.pcap"), &flows.concat());
    assert_eq!(got.iter().sum::<usize>(), 13_468);
    // One call of 652 packets, with its RTCP, and ICMPv6 are IPv6.
    assert_eq!(got[0], 652 + 3 + 6);
    assert_eq!(got[2], 0);
}

/// Fails when later fragments, which show no ports, are given those of another packet.
#[test]
fn cooked_and_raw_captures_are_classified_too() {
    let flows = [class("af41", "dscp = \"AF41\""), class("ef", "dscp = \"EF\"")];
    for name in ["captures/cooked-sll.pcap", "captures/cooked-sll2.pcap"] {
        let got = counts(&file(name), &flows.concat());
        assert_eq!(got.iter().sum::<usize>(), 300, "{name}");
        assert!(got[0] > 20 && got[1] > 5, "{name}: {got:?}");
    }
    let flows = [class("ef", "dscp = \"EF\""), class("web", "protocol = \"tcp\", sport = 80")];
    let got = counts(&file("captures/tunnel-raw.pcap"), &flows.concat());
    assert_eq!(got, [10, 60, 50]);
}

/// Fails when the priority of the inner tag is used, or none.
#[test]
fn vlan_priorities_match() {
    let path = temporary("vlan.pcapng");
    let mut out = PcapngWriter::new(Vec::new()).unwrap();
    let port = out.add_interface(LinkType::ETHERNET, 0, "trunk").unwrap();
    for (i, tags) in [&[(6u16, 5u16)][..], &[(3, 7), (6, 8)], &[]].iter().enumerate() {
        let mut frame = vec![0u8; 12];
        for (pcp, id) in *tags {
            frame.extend([0x81, 0x00]);
            frame.extend((pcp << 13 | id).to_be_bytes());
        }
        frame.extend([0x88, 0xb5]);
        frame.extend([0; 46]);
        out.packet(port, 1_000 * i as u64, frame.len() as u32, &frame, None).unwrap();
    }
    std::fs::write(&path, out.finish().unwrap()).unwrap();
    let flows = [class("six", "priority = 6"), class("three", "priority = 3")];
    assert_eq!(counts(&path, &flows.concat()), [1, 1, 1]);
    std::fs::remove_file(path).unwrap();
}

/// Fails when a trace loses, reorders or reclassifies a packet, or when its times are moved.
#[test]
fn a_trace_of_generated_packets_gives_the_same_results() {
    let scenario = Scenario::read(file("scenarios/access-link.toml")).unwrap();
    let (run, log) = simulated(&scenario, "exact", 4, &generated(3_000));
    let names: Vec<&str> = scenario.flow_names().collect();
    let mut csv = "time_ns,bytes,flow\n".to_owned();
    for p in &log.arrived {
        csv += &format!("{},{},{}\n", p.arrival.0, p.bytes, names[p.flow.index()]);
    }
    let path = temporary("generated.csv");
    std::fs::write(&path, csv).unwrap();
    let packets = replay::read(&path, &scenario).unwrap().packets;
    std::fs::remove_file(path).unwrap();
    let traffic = Traffic::Recorded(packets.into());
    let (again, replayed) = simulated(&scenario, "exact", 99, &traffic);
    assert_eq!(log, replayed);
    let mut results = [run.result(&scenario), again.result(&scenario)];
    // The duration of a recording ends with its last packet.
    results.iter_mut().for_each(|r| r.utilisation = 0.0);
    assert_eq!(results[0], results[1]);
}
