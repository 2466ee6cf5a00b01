//! Measures reading and decoding from memory.
//!
//! `cargo bench -p laxity-trace --bench read -- [PACKETS]`

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use laxity_trace::{Capture, CsvTrace, LinkType, PcapWriter, PcapngWriter, SimPacket, decode};

fn time(what: &str, packets: u64, bytes: usize, mut run: impl FnMut() -> u64) {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        assert_eq!(black_box(run()), packets);
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (rate, size) = (packets as f64 / best / 1e6, bytes as f64 / 1e6);
    println!("{what:16} {rate:6.1} M packets/s  ({size:.0} MB, best of 5)");
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds an argument.
    let packets = std::env::args().skip(1).find(|a| a != "--bench");
    let packets = packets.map_or(Ok(1_000_000), |n| n.parse())?;
    let mut ng = PcapngWriter::new(Vec::new())?;
    let port = ng.add_interface(LinkType::ETHERNET, 0, "")?;
    let mut classic = PcapWriter::new(Vec::new(), LinkType::ETHERNET, 0)?;
    let mut text = String::from("time_ns,bytes,flow\n");
    for n in 0..packets {
        let packet = SimPacket { flow: (n % 50) as u32, bytes: 64, dscp: 46, sequence: n };
        let frame = packet.frame()?;
        ng.packet(port, n * 1000, 64, frame.bytes(), None)?;
        classic.packet(n * 1000, 64, frame.bytes())?;
        text += &format!("{},64,flow-{}\n", n * 1000, n % 50);
    }
    for (name, file) in [("pcap", classic.finish()?), ("pcapng", ng.finish()?)] {
        time(name, packets, file.len(), || {
            let mut capture = Capture::open(&file[..]).expect("a capture");
            while let Ok(Some(frame)) = capture.next_frame() {
                black_box(frame.data);
            }
            capture.report().frames
        });
        time(&format!("{name} + decode"), packets, file.len(), || {
            let mut capture = Capture::open(&file[..]).expect("a capture");
            while let Ok(Some(frame)) = capture.next_frame() {
                black_box(decode(frame.link_type, frame.data));
            }
            capture.report().frames
        });
    }
    time("csv", packets, text.len(), || {
        let mut trace = CsvTrace::open(text.as_bytes()).expect("a trace");
        let mut rows = 0;
        while let Ok(Some(row)) = trace.next_row() {
            black_box(row.flow);
            rows += 1;
        }
        rows
    });
    Ok(())
}
