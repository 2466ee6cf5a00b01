//! Packets of a scenario's own sources over UDP, and receivers that count them and measure their
//! one-way delay.
#![allow(dead_code)]

use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use laxity_core::{FlowId, Histogram, Span, Time};
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::Traffic;
use laxity_trace::SIM_PORT_BASE;
use laxity_traffic::Arrival;
use laxity_userlink::port;

use super::{LINK, Network, RECEIVER, SENDER, enter, eventually, own_processor, until};

/// Bytes before the payload: Ethernet, IPv4, UDP.
const HEADERS: u32 = 42;
/// A number and an instant.
const LEAST: usize = 16;

/// A sender that was kept waiting for longer goes on as if it had not been: what it makes good at
/// once stays near the envelopes of its flows.
const CATCH_UP: Span = Span::from_millis(50);

/// The results of one flow.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Packets, each counted once.
    pub packets: u64,
    /// Packets that came after one that was sent later.
    pub disorder: u64,
    /// From `send` to `recv`, in ns.
    pub delay: Histogram,
}

/// The frames that a run sent and received, by flow.
#[derive(Debug)]
pub struct Outcome {
    pub sent: Vec<u64>,
    pub received: Vec<Received>,
    /// Frames for which the interfaces had no room, before the link or behind it.
    pub lost: u64,
}

/// The arrivals of a scenario's sources.
pub fn arrivals(scenario: &Scenario, seed: u64, duration: Span) -> Vec<Arrival> {
    Traffic::generate(scenario, seed, duration, &[]).collect()
}

/// Receivers of all flows; `finish` stops them.
pub struct Receivers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Received>>,
    packets: Vec<Arc<AtomicU64>>,
    /// Frames that the interfaces had lost before.
    pub lost: u64,
}

impl Receivers {
    /// Starts them. They are ready when this returns.
    pub fn start(network: &Network, flows: usize) -> Receivers {
        let (stop, began) = (Arc::new(AtomicBool::new(false)), port::now());
        let packets: Vec<_> = (0..flows).map(|_| Arc::new(AtomicU64::new(0))).collect();
        let threads = (0..).zip(&packets).map(|(flow, packets)| {
            let (namespace, stop) = (network.name(RECEIVER).to_owned(), Arc::clone(&stop));
            let packets = Arc::clone(packets);
            let (ready, is_ready) = std::sync::mpsc::channel();
            let thread = std::thread::spawn(move || {
                enter(&namespace);
                let socket = eventually(|| UdpSocket::bind(("10.9.0.2", SIM_PORT_BASE + flow)));
                rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 8 << 20)
                    .expect("root may");
                ready.send(()).expect("it waits");
                receive(&socket, began, &stop, &packets)
            });
            is_ready.recv().expect("it starts");
            thread
        });
        Receivers { threads: threads.collect(), stop, packets, lost: network.lost() }
    }

    /// How many packets of a flow have come.
    pub fn came(&self, flow: usize) -> u64 {
        self.packets[flow].load(Ordering::Relaxed)
    }

    /// Waits until so many packets of each flow have come, or were lost on the way.
    pub fn wait(&self, network: &Network, packets: &[u64]) {
        until("the receivers have what was sent to them", || {
            let lost = network.lost() - self.lost;
            let missing = packets.iter().enumerate();
            let missing = missing.map(|(flow, wanted)| wanted.saturating_sub(self.came(flow)));
            missing.sum::<u64>() <= lost
        });
    }

    /// Stops them when nothing has come for a while.
    pub fn finish(self) -> Vec<Received> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().map(|thread| thread.join().expect("it counts")).collect()
    }
}

fn receive(socket: &UdpSocket, began: Time, stop: &AtomicBool, packets: &AtomicU64) -> Received {
    let mut received = Received::default();
    let (mut buffer, mut next) = ([0; 2048], 0);
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a time");
    loop {
        match socket.recv(&mut buffer) {
            Ok(len) if len >= LEAST => {
                let word = |at: usize| {
                    u64::from_be_bytes(*buffer[at..].first_chunk().expect("long enough"))
                };
                let (number, sent) = (word(0), word(8));
                // Of a run before: it lay in a queue while an interface was down.
                if sent < began.0 {
                    continue;
                }
                received.packets += 1;
                packets.store(received.packets, Ordering::Relaxed);
                received.disorder += u64::from(number < next);
                next = next.max(number + 1);
                received.delay.record(port::now().0.saturating_sub(sent));
            }
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if stop.load(Ordering::Relaxed) {
                    return received;
                }
            }
            Err(e) => panic!("receiving: {e}"),
        }
    }
}

/// Sends arrivals, each at its time after now; returns how many of each flow.
pub fn send(network: &Network, arrivals: Vec<Arrival>, flows: usize) -> JoinHandle<Vec<u64>> {
    send_from(network, SENDER, arrivals, flows)
}

/// The same from another namespace.
pub fn send_from(
    network: &Network,
    role: usize,
    arrivals: Vec<Arrival>,
    flows: usize,
) -> JoinHandle<Vec<u64>> {
    let namespace = network.name(role).to_owned();
    std::thread::spawn(move || {
        enter(&namespace);
        own_processor(0);
        let (mut sender, mut began) = (Sender::new(flows), port::now());
        for arrival in arrivals {
            let due = began + Span(arrival.time.0);
            wait(due);
            let late = port::now().since(due);
            began += Span(late.0.saturating_sub(CATCH_UP.0));
            sender.send(arrival.flow, arrival.bytes);
        }
        sender.sent
    })
}

/// Sends packets of one flow, many times what the link carries, until it is told to stop; returns
/// how many.
pub fn flood(network: &Network, flow: FlowId, stop: &Arc<AtomicBool>) -> JoinHandle<u64> {
    let (namespace, stop) = (network.name(SENDER).to_owned(), Arc::clone(stop));
    std::thread::spawn(move || {
        enter(&namespace);
        own_processor(0);
        let mut sender = Sender::new(flow.index() + 1);
        while !stop.load(Ordering::Relaxed) {
            for _ in 0..80 {
                sender.send(flow, 1400);
            }
            std::thread::sleep(Duration::from_millis(9));
        }
        sender.sent[flow.index()]
    })
}

struct Sender {
    socket: UdpSocket,
    sent: Vec<u64>,
    buffer: [u8; 2048],
}

impl Sender {
    fn new(flows: usize) -> Sender {
        let socket = UdpSocket::bind(("10.9.0.1", 0)).expect("a port");
        Sender { socket, sent: vec![0; flows], buffer: [0; 2048] }
    }

    fn send(&mut self, flow: FlowId, bytes: u32) {
        let len = (bytes.saturating_sub(HEADERS) as usize).max(LEAST);
        let number = &mut self.sent[flow.index()];
        self.buffer[..8].copy_from_slice(&number.to_be_bytes());
        self.buffer[8..16].copy_from_slice(&port::now().0.to_be_bytes());
        let to = ("10.9.0.2", SIM_PORT_BASE + flow.0 as u16);
        // A full queue of the sender's own interface is not what is tested.
        while let Err(e) = self.socket.send_to(&self.buffer[..len], to) {
            assert!(e.kind() == ErrorKind::WouldBlock || e.raw_os_error() == Some(105), "{e}");
            std::thread::yield_now();
        }
        *number += 1;
    }
}

fn wait(due: Time) {
    let left = due.since(port::now());
    if left.0 > 0 {
        std::thread::sleep(Duration::from_nanos(left.0));
    }
}

/// Resolves addresses through the link, so that no packet of a test waits for that.
pub fn warm_up(network: &Network) {
    let ping = |role, to| {
        let namespace = network.name(role).to_owned();
        std::thread::spawn(move || {
            enter(&namespace);
            let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
            socket.send_to(&[0; 4], (to, 9)).expect("it is routed");
        })
        .join()
        .expect("it sends");
    };
    // After an interface came up the system takes its time to use it.
    let ends = [(SENDER, "a0"), (RECEIVER, "b0"), (LINK, "in"), (LINK, "out")];
    let is_up = |(role, device): &(usize, &str)| {
        let shown = network.ip(*role, &format!("link show {device}")).expect("it is there");
        shown.contains(" state UP ")
    };
    until("all interfaces are up", || ends.iter().all(is_up));
    until("the sender finds the receiver through the link", || {
        ping(SENDER, "10.9.0.2");
        ping(RECEIVER, "10.9.0.1");
        std::thread::sleep(Duration::from_millis(50));
        let known = network.ip(SENDER, "neighbour show dev a0").expect("it lists");
        known.contains("lladdr") && !known.contains("FAILED")
    });
}
