//! TCP sources: applications whose packets cross the link and whose rate depends on delay, drops and
//! marks.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use laxity_core::{FlowId, Span, Time};
use laxity_link::config::QueueBy;
use laxity_link::ecn::Ecn;
use laxity_results::TcpResult;
use laxity_scenario::link::model::{Scenario, Source, TcpSource};
use laxity_scenario::link::tcp::{App, CongestionControl};
use laxity_traffic::{Arrival, FlowHasher};
use laxity_transport::app::{
    Application, Bulk, Ladder, Page, PageLoad, Pairs, TcpApplication, Video,
};
use laxity_transport::congestion::{Bbr, Cubic, Dctcp, NewReno, Prague};
use laxity_transport::{Config, Congestion, Direction, HEADER_BYTES, Packet};

use super::traffic_source::TrafficSource;
use crate::Random;

/// The header of Ethernet, in bytes; lengths of the link's packets include it.
const ETHERNET: u64 = 14;

/// Time between the end of a page load and the start of the next.
const PAUSE: Span = Span(1_000_000_000);

/// First random stream of TCP sources; generators use those numbered as their flows.
const STREAMS: u32 = 1 << 31;

/// The results of the applications of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Payload received in order, in bytes.
    pub received: u64,
    /// Pages or segments of video that were received completely.
    pub completed: u64,
    /// Time that these took, together, in ns.
    pub total_ns: u128,
    /// The longest, in ns.
    pub max_ns: u64,
}

impl Transfers {
    /// The result to print, of a run of `duration_ns`.
    pub fn result(&self, duration_ns: u64) -> TcpResult {
        let some = self.completed > 0;
        TcpResult {
            goodput_mbit_s: self.received as f64 * 8e3 / duration_ns.max(1) as f64,
            completed: self.completed,
            completion_mean_ms: some.then(|| self.total_ns as f64 / self.completed as f64 / 1e6),
            completion_max_ms: some.then(|| self.max_ns as f64 / 1e6),
        }
    }
}

#[derive(Debug)]
struct Client {
    flow: FlowId,
    source: TcpSource,
    by: QueueBy,
    /// The largest payload of a segment.
    mss: u32,
    /// Its number within the flow.
    number: u32,
    app: Box<dyn Application>,
    /// Page loads so far. A packet carries its load, because it must not reach a later one.
    load: u32,
    /// The earliest timer in the event queue.
    timer: Option<Time>,
    /// Payload of earlier loads.
    received: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A packet arrives at its end.
    Delivery { client: usize, slot: usize },
    /// A timer of a client.
    Timer { client: usize },
}

#[derive(Clone, Copy)]
struct InFlight {
    client: usize,
    load: u32,
    packet: Packet,
}

/// Hashes a sequence number by one multiplication (Knuth, TAOCP volume 3, section 6.4): the keys are
/// the engine's own, so nobody can choose them to collide.
#[derive(Default)]
struct SequenceHasher(u64);

impl Hasher for SequenceHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// The TCP sources of a scenario, merged with an open-loop source.
pub struct ClosedLoop<S> {
    open: S,
    end: Time,
    hasher: FlowHasher,
    clients: Vec<Client>,
    transfers: Vec<(FlowId, Transfers)>,
    /// Packets that servers sent and that have not been offered to the link.
    ready: VecDeque<(Arrival, InFlight)>,
    /// Packets that the link holds, by sequence number.
    queued: HashMap<u64, InFlight, BuildHasherDefault<SequenceHasher>>,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    /// Events scheduled so far, so that those of an instant are handled in the order of scheduling.
    order: u64,
    /// Packets on their way without a queue: from the link to a client, or from a client.
    slots: Vec<InFlight>,
    /// Unused places in `slots`.
    free: Vec<usize>,
}

impl<S: TrafficSource> ClosedLoop<S> {
    /// The TCP sources of `scenario` until `end`, merged with `open`.
    ///
    /// # Errors
    /// Returns `open` if the scenario has no TCP source.
    pub fn new(scenario: &Scenario, seed: u64, end: Time, open: S) -> Result<ClosedLoop<S>, S> {
        let realtime = scenario.realtime.len() as u32;
        let mut clients = Vec::new();
        let mut transfers = Vec::new();
        for (class, flow) in scenario.best_effort.iter().zip(realtime..) {
            let Some(Source::Tcp(source)) = class.source else { continue };
            let flow = FlowId(flow);
            let headers = ETHERNET + u64::from(HEADER_BYTES);
            // The scenario's reader refuses links whose packets have no room for a segment.
            let mss = scenario.link.max_packet.0.min(1514).saturating_sub(headers).max(1) as u32;
            let by = class.flows.map_or(QueueBy::FiveTuple, |flows| flows.by);
            let mut random = Random::new(seed, STREAMS | flow.0);
            transfers.push((flow, Transfers::default()));
            for number in 0..source.count {
                let start = source.start.0.saturating_add(random.uniform(0, source.rtt.0));
                let app = application(&source, mss, Time(start));
                let (load, timer, received) = (0, None, 0);
                clients.push(Client { flow, source, by, mss, number, app, load, timer, received });
            }
        }
        if clients.is_empty() {
            return Err(open);
        }
        let mut sources = ClosedLoop {
            open,
            end,
            hasher: FlowHasher::fixed(),
            clients,
            transfers,
            ready: VecDeque::new(),
            queued: HashMap::default(),
            events: BinaryHeap::new(),
            order: 0,
            slots: Vec::new(),
            free: Vec::new(),
        };
        for client in 0..sources.clients.len() {
            sources.pump(client, Time::ZERO);
        }
        Ok(sources)
    }

    /// The results of the applications of each flow with a TCP source.
    pub fn into_transfers(mut self) -> Vec<(FlowId, Transfers)> {
        for client in &self.clients {
            let received = client.received + client.app.received().0;
            transfers_of(&mut self.transfers, client.flow).received += received;
        }
        self.transfers
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    /// Sends a packet on a way without a queue, half a round trip long.
    fn deliver(&mut self, now: Time, packet: InFlight) {
        let slot = self.free.pop().unwrap_or(self.slots.len());
        if slot == self.slots.len() {
            self.slots.push(packet);
        }
        self.slots[slot] = packet;
        let at = now + Span(self.clients[packet.client].source.rtt.0 / 2);
        self.schedule(at, Event::Delivery { client: packet.client, slot });
    }

    /// Takes what a client's application sends, and its next timer.
    fn pump(&mut self, index: usize, now: Time) {
        while let Some(packet) = self.clients[index].app.poll_transmit(now) {
            let client = &self.clients[index];
            let in_flight = InFlight { client: index, load: client.load, packet };
            if packet.key.direction == Direction::Up {
                self.deliver(now, in_flight);
                continue;
            }
            let bytes = u32::try_from(packet.bytes().0 + ETHERNET).unwrap_or(u32::MAX);
            // Each load has connections of its own.
            let connection = client.load.wrapping_mul(64).wrapping_add(packet.key.connection);
            let key =
                self.hasher.key_of_connection(client.by, client.flow, client.number, connection);
            let arrival =
                Arrival { ecn: ecn(packet.ecn()), key, ..Arrival::new(now, client.flow, bytes) };
            self.ready.push_back((arrival, in_flight));
        }
        let mut restart = false;
        while let Some(done) = self.clients[index].app.poll_completion() {
            let client = &self.clients[index];
            let transfers = transfers_of(&mut self.transfers, client.flow);
            transfers.completed += 1;
            transfers.total_ns += u128::from(done.duration().0);
            transfers.max_ns = transfers.max_ns.max(done.duration().0);
            restart |= matches!(client.source.app, App::Page | App::SmallPage | App::LargePage);
        }
        let client = &mut self.clients[index];
        if restart {
            client.received += client.app.received().0;
            client.load += 1;
            client.timer = None;
            client.app = application(&client.source, client.mss, now + PAUSE);
        }
        let next = client.app.poll_timeout().map(|at| at.max(now));
        if let Some(at) = next.filter(|at| client.timer.is_none_or(|timer| *at < timer)) {
            client.timer = Some(at);
            self.schedule(at, Event::Timer { client: index });
        }
    }

    /// When the next packet or event of a TCP source is due.
    fn next_own(&self) -> Option<Time> {
        let ready = self.ready.front().map(|(arrival, _)| arrival.time);
        let event = || self.events.peek().map(|Reverse((at, ..))| *at).filter(|at| *at < self.end);
        ready.or_else(event)
    }

    fn handle_event(&mut self) {
        let Some(Reverse((now, _, event))) = self.events.pop() else { return };
        let index = match event {
            Event::Delivery { client, slot } => {
                self.free.push(slot);
                let InFlight { load, packet, .. } = self.slots[slot];
                if load != self.clients[client].load {
                    return;
                }
                self.clients[client].app.handle_delivery(now, &packet);
                client
            }
            Event::Timer { client } => {
                // An earlier timer was set since, or this one belongs to an earlier load.
                if self.clients[client].timer != Some(now) {
                    return;
                }
                self.clients[client].timer = None;
                self.clients[client].app.handle_timeout(now);
                client
            }
        };
        self.pump(index, now);
    }
}

impl<S: TrafficSource> TrafficSource for ClosedLoop<S> {
    fn next_time(&self) -> Option<Time> {
        [self.open.next_time(), self.next_own()].into_iter().flatten().min()
    }

    fn poll(&mut self, seq: u64) -> Option<Arrival> {
        let own = self.next_own();
        if self.open.next_time().is_some_and(|open| own.is_none_or(|own| open <= own)) {
            return self.open.poll(seq);
        }
        let Some((arrival, in_flight)) = self.ready.pop_front() else {
            self.handle_event();
            return None;
        };
        self.queued.insert(seq, in_flight);
        Some(arrival)
    }

    fn handle_sent(&mut self, seq: u64, end: Time) {
        match self.queued.remove(&seq) {
            Some(packet) => self.deliver(end, packet),
            None => self.open.handle_sent(seq, end),
        }
    }

    fn handle_dropped(&mut self, seq: u64) {
        if self.queued.remove(&seq).is_none() {
            self.open.handle_dropped(seq);
        }
    }

    fn handle_marked(&mut self, seq: u64) {
        match self.queued.get_mut(&seq) {
            Some(in_flight) => {
                in_flight.packet.mark();
            }
            None => self.open.handle_marked(seq),
        }
    }
}

fn transfers_of(transfers: &mut [(FlowId, Transfers)], flow: FlowId) -> &mut Transfers {
    let found = transfers.iter_mut().find(|(id, _)| *id == flow);
    &mut found.expect("each flow with a client has an entry").1
}

fn ecn(ecn: laxity_transport::Ecn) -> Ecn {
    match ecn {
        laxity_transport::Ecn::NotEct => Ecn::NotEct,
        laxity_transport::Ecn::Ect0 => Ecn::Ect0,
        laxity_transport::Ecn::Ect1 => Ecn::Ect1,
        laxity_transport::Ecn::Ce => Ecn::Ce,
    }
}

fn application(source: &TcpSource, mss: u32, start: Time) -> Box<dyn Application> {
    let control = || -> Box<dyn Congestion> {
        match source.control {
            CongestionControl::NewReno => Box::new(NewReno),
            CongestionControl::Cubic => Box::new(Cubic::default()),
            CongestionControl::Dctcp => Box::new(Dctcp::default()),
            CongestionControl::Prague => Box::new(Prague::default()),
            CongestionControl::Bbr => Box::new(Bbr::default()),
        }
    };
    let config = Config { mss, ecn: source.ecn, ..Config::default() };
    let pairs = |count| Pairs::new(count, config, &control);
    let page = |page: Page| {
        let pairs = pairs(page.connections);
        Box::new(TcpApplication::new(start, PageLoad::new(page), pairs))
    };
    match source.app {
        App::Bulk => {
            let bulk = Bulk::new(Direction::Down, None);
            Box::new(TcpApplication::new(start, bulk, pairs(1)))
        }
        App::Page => page(Page::median()),
        App::SmallPage => page(Page::small()),
        App::LargePage => page(Page::large()),
        App::Video => Box::new(TcpApplication::new(start, Video::new(Ladder::default()), pairs(1))),
    }
}
