//! How many packets a forwarding thread moves for each second of processor time, the kernel's part
//! included.
//!
//! It makes network namespaces of its own in which a sender, the link and a receiver are joined by
//! veth pairs, and removes them in the end. What the receiver's kernel does with a packet is part
//! of the figure: on veth it happens where the packet is sent from. The sender has one processor
//! and the link another, both before everybody else, so that more is offered than goes through;
//! a link that waits for packets spends most of its time on waking. As root:
//!
//! `cargo bench -p laxity-userlink --bench bridge -- [BYTES [SECONDS [packet|xdp]]]`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laxity_core::Time;
use laxity_trace::SimPacket;
use laxity_userlink::bridge::{Io, Report, Schedule};
use laxity_userlink::device::Device;
use laxity_userlink::packet::PacketTransmitter;
use laxity_userlink::pool::{Pool, Slot};
use laxity_userlink::port::Transmit as _;

use rustix::process::setpriority_process;
use rustix::thread::gettid;
use support::link::Link;
use support::scenarios::voice_web_bulk;

#[path = "../tests/support/mod.rs"]
mod support;

/// Of the flow for real time.
const VOICE: &str = r#"
deadline = "4 ms"
envelope = { packet = "1514 B", peak = "4 GB/s", burst = "500 kB", rate = "500 MB/s" }
match = { dscp = "EF" }
"#;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds an argument.
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    let bytes: u32 = arguments.next().map_or(Ok(200), |n| n.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(3), |n| n.parse())?;
    let only = arguments.next();
    for (name, io) in [("packet", Io::Packet), ("xdp", Io::Xdp)] {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        for policy in ["fifo", "exact", "slack"] {
            let mut all: Vec<f64> = Vec::new();
            for _ in 0..3 {
                all.push(run(io, policy, bytes, seconds)?);
            }
            all.sort_by(f64::total_cmp);
            let [least, middle, most] = all[..] else { continue };
            println!(
                "{name:6} {policy:6} {bytes} B: {middle:.0} packets/CPU-second ({least:.0} to {most:.0})"
            );
        }
    }
    Ok(())
}

fn run(io: Io, policy: &str, bytes: u32, seconds: u64) -> Result<f64, Box<dyn Error>> {
    let network = support::Network::new()?;
    let stop = Arc::new(AtomicBool::new(false));
    let (from, asked) = (network.name(support::SENDER).to_owned(), Arc::clone(&stop));
    let flood = std::thread::spawn(move || {
        support::enter(&from);
        support::own_processor(0);
        before_others();
        flood(bytes, &asked).expect("the sender sends");
    });
    let buffer = "{ total = \"8 MB\", best_effort = \"4 MB\" }";
    let scenario = voice_web_bulk("40 Gbit/s", buffer, VOICE);
    let schedule = Schedule { policy: policy.to_owned(), ..Schedule::of(scenario) };
    before_others();
    let link = Link::start(&network, schedule, io);
    std::thread::sleep(Duration::from_millis(500));
    let ask = || link.forth.report().ok_or("the link ended");
    let (before, began) = (ask()?, Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let (after, took) = (ask()?, began.elapsed());
    stop.store(true, Ordering::Relaxed);
    flood.join().map_err(|_| "the sender broke down")?;
    link.stop();
    let sent = |r: &Report| r.counts.classes.iter().map(|c| c.sent()).sum::<u64>();
    let (packets, cpu) = (sent(&after) - sent(&before), after.cpu_ns - before.cpu_ns);
    let rate = packets as f64 * 1e9 / cpu as f64;
    eprintln!(
        "{policy}: {packets} packets in {took:?} and {} ms of CPU: {rate:.0}/CPU-second; lost before \
         the link {}, blocked {}",
        cpu / 1_000_000,
        after.counts.overflow,
        after.counts.blocked
    );
    Ok(rate)
}

/// Puts the calling thread, and those it will start, before all others.
fn before_others() {
    let _ = setpriority_process(Some(gettid()), -20);
}

/// Sends frames of all classes as fast as it can.
fn flood(bytes: u32, stop: &AtomicBool) -> Result<(), Box<dyn Error>> {
    let mut transmit = PacketTransmitter::open(&Device::find("a0")?)?;
    let mut pool = Pool::new(256, bytes as usize).ok_or("too many bytes")?;
    let mut slots: Vec<Slot> = Vec::new();
    while let Some(slot) = pool.allocate() {
        let flow = slot.number() as u32 % 3;
        let dscp = if flow == 0 { 46 } else { 0 };
        let packet = SimPacket { flow, bytes, dscp, sequence: slot.number() };
        pool.buffer(slot)[..42].copy_from_slice(packet.frame()?.bytes());
        pool.received(slot, bytes as usize, Time(0));
        slots.push(slot);
    }
    while !stop.load(Ordering::Relaxed) {
        let transmitted = transmit.transmit(&pool, &slots)?;
        if transmitted.frames == 0 {
            std::thread::yield_now();
        }
    }
    Ok(())
}
