//! Drives a [`Pipeline`] by hand: build it, hand it packets, ask it what to send.
//!
//! The pipeline has no clock, socket or thread. Its caller says what time it is; here a few
//! lines play a link of 10 Mbit/s, and the same lines would stand around a socket.
//!
//! `cargo run -p laxity-link --example pipeline`

use std::error::Error;

use laxity_core::{Bytes, FlowId, LinkClock, Rate, Span, Time, Weight};
use laxity_curve::{Blocking, Envelope, Guarantee};
use laxity_link::assign::{Exact, History};
use laxity_link::buffer::DropReason;
use laxity_link::config::{
    BestEffortClass, Excess, FairQueue, LinkConfig, Options, RealtimeFlow, Release,
};
use laxity_link::pipeline::{ByDeadline, Pipeline};
use laxity_link::{Departure, LinkPolicy, Packet, Wire};

/// Flows are numbered: real-time flows first, then best-effort classes.
const VOICE: FlowId = FlowId(0);
const BULK: FlowId = FlowId(1);

fn config() -> Result<LinkConfig, Box<dyn Error>> {
    let voice = RealtimeFlow {
        // Packets of 100 B, at most 300 B at once and 150 kB/s in the long run.
        envelope: Envelope::tspec(
            Bytes(100),
            Rate::bytes_per_second(250_000),
            Bytes(300),
            Rate::bytes_per_second(150_000),
        )?,
        deadline: Span::from_millis(5),
        excess: Excess::Delay,
        buffer: None,
        service: None,
    };
    Ok(LinkConfig {
        rate: Rate(10_000_000),
        max_packet: Bytes(1536),
        wire: Wire::default(),
        downstream_backlog: Bytes(0),
        realtime: vec![voice],
        best_effort: vec![BestEffortClass::new(Weight::ONE, None)],
        buffer: None,
        groups: vec![],
        fair_queue: FairQueue::Wfq,
        blocking: Blocking::Paper,
        guarantee: Guarantee::Realtime,
        release: Release::Arrival,
        aqm_seed: 0,
        options: Options::default(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let config = config()?;

    // May these flows be promised their deadlines at all?
    let verdict = laxity_curve::check(&config.link_spec(), &config.flow_specs()?)?;
    assert!(verdict.admitted);

    // The capacity that they leave decides how soon best effort may go. A policy can also be built
    // by name, as a trait object: `laxity_link::registry::build("exact", &config)`.
    let service = config.residual()?.service(config.guarantee)?;
    let exact = Exact::new(&service, History::CAPACITY);
    let mut pipeline = Pipeline::new(&config, ByDeadline(exact))?;

    // At 1 ms four bulk packets and a voice packet arrive, in this order.
    let arrivals = [(BULK, 1500), (BULK, 1500), (BULK, 1500), (BULK, 1500), (VOICE, 100)];
    let mut dropped = |now: Time, packet: &Packet, why: DropReason| {
        println!("{now}: {packet:?} dropped: {why:?}")
    };
    let mut now = Time(1_000_000);
    for (seq, (flow, bytes)) in (0..).zip(arrivals) {
        let wire = config.wire.of(bytes);
        let packet = Packet::new(seq, now, flow, bytes, wire);
        pipeline.enqueue(now, packet, &mut dropped);
    }

    // Whenever the link is free, send what the pipeline says.
    let mut link = LinkClock::new(config.rate).ok_or("the link has no rate")?;
    loop {
        let Some(departure) = pipeline.dequeue(now, &mut dropped) else {
            // A shaped packet may conform later without a further arrival.
            match pipeline.next_event() {
                Some(later) => now = later,
                None => break,
            }
            continue;
        };
        let Departure { packet, deadline, realtime, .. } = departure;
        let end = link.transmit(now, Bytes(u64::from(packet.wire)));
        let what = if packet.flow == VOICE { "voice" } else { "bulk" };
        println!("{now}: {what} packet {} of {} B, sent by {end}", packet.seq, packet.bytes);
        // This is the promise.
        assert!(!realtime || end <= deadline);
        now = end;
    }
    Ok(())
}
