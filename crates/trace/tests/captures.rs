//! The recorded captures: what is in them, counted per flow, agrees with what tshark counts.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use laxity_trace::{Capture, LinkType, Report, Stop, decode};

/// Reads a capture and prints its report and its flows, a line each.
fn summary(name: &str) -> (Report, String, Vec<LinkType>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../captures").join(name);
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut flows = BTreeMap::<_, (u64, u64)>::new();
    while let Some(frame) = capture.next_frame().unwrap() {
        let h = decode(frame.link_type, frame.data);
        assert_eq!(h.stop, Stop::Done, "frame at {}", frame.offset);
        let tuple = h.five_tuple().unwrap();
        // A client uses a new port for each request.
        let dport = tuple.dport.filter(|_| !matches!(tuple.sport, Some(53 | 80)));
        let key = (tuple.src, tuple.dst, tuple.protocol, tuple.sport, dport, h.dscp);
        let (packets, bytes) = flows.entry(key).or_default();
        *packets += 1;
        *bytes += u64::from(frame.original_len);
    }
    let show = |port: Option<u16>| port.map_or("-".to_owned(), |port| port.to_string());
    let mut text = String::new();
    for ((src, dst, protocol, sport, dport, dscp), (packets, bytes)) in flows {
        text += &format!(
            "{src} {} {dst} {} protocol {protocol} dscp {}: {packets} packets {bytes} bytes\n",
            show(sport),
            show(dport),
            dscp.map_or("-".to_owned(), |dscp| dscp.to_string()),
        );
    }
    let links = capture.interfaces().iter().map(|i| i.link_type).collect();
    (capture.report().clone(), text, links)
}

fn check(name: &str, link: LinkType, golden: &str) {
    let (report, text, links) = summary(name);
    assert_eq!(links, [link]);
    assert!(report.faults.is_empty(), "{:?}", report.faults);
    assert_eq!(text, golden, "{name}");
}

#[test]
fn access_link() {
    check("access-link.pcap", LinkType::ETHERNET, include_str!("data/access-link.txt"));
}

#[test]
fn cooked() {
    check("cooked-sll.pcap", LinkType::LINUX_SLL, include_str!("data/cooked-sll.txt"));
    check("cooked-sll2.pcap", LinkType::LINUX_SLL2, include_str!("data/cooked-sll2.txt"));
}

#[test]
fn raw_ip() {
    check("tunnel-raw.pcap", LinkType::RAW, include_str!("data/tunnel-raw.txt"));
}
