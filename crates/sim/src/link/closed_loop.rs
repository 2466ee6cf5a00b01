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
    /// The place of its flow in [`ClosedLoop::ways`].
    way: usize,
    /// Page loads so far. A packet carries its load, because it must not reach a later one.
    load: u32,
    /// The earliest timer in the event queue.
    timer: Option<Time>,
    /// Payload of earlier loads.
    received: u64,
}

/// A packet between its ends. It stays in one place until it is delivered or dropped.
#[derive(Clone, Copy)]
struct InFlight {
    client: u32,
    load: u32,
    packet: Packet,
}

/// Where a packet is in [`ClosedLoop::slots`].
type Slot = u32;

/// When something happens. Events of an instant are handled in the order of scheduling, by the second
/// number.
type Instant = (Time, u64);

/// Packets on their way without a queue, half a round trip long: each leaves after the one before it, so
/// they arrive in order.
type Way = VecDeque<(Instant, Slot)>;

/// The ways of a flow.
struct Ways {
    delay: Span,
    /// From the clients.
    up: Way,
    /// From the link to the clients.
    down: Way,
}

impl Ways {
    fn of(&mut self, direction: Direction) -> &mut Way {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

/// The next event of the TCP sources.
#[derive(Clone, Copy)]
enum Event {
    /// The first packet of a way arrives, up or down, of this flow's ways.
    Delivery { ways: usize, direction: Direction },
    /// The first timer expires.
    Timer,
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
    ready: VecDeque<(Arrival, Slot)>,
    /// Packets that the link holds, by sequence number.
    queued: HashMap<u64, Slot, BuildHasherDefault<SequenceHasher>>,
    ways: Vec<Ways>,
    /// Timers, with their client.
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Events scheduled so far.
    order: u64,
    /// All packets.
    slots: Vec<InFlight>,
    /// Unused places in `slots`.
    free: Vec<Slot>,
    /// The next event, known since the last change of ways and timers.
    next: Option<(Instant, Event)>,
}

impl<S: TrafficSource> ClosedLoop<S> {
    /// The TCP sources of `scenario` until `end`, merged with `open`.
    ///
    /// # Errors
    /// Returns `open` if the scenario has no TCP source.
    pub fn new(scenario: &Scenario, seed: u64, end: Time, open: S) -> Result<ClosedLoop<S>, S> {
        let realtime = scenario.realtime.len() as u32;
        let mut clients = Vec::new();
        let (mut transfers, mut ways) = (Vec::new(), Vec::new());
        for (class, flow) in scenario.best_effort.iter().zip(realtime..) {
            let Some(Source::Tcp(source)) = class.source else { continue };
            let flow = FlowId(flow);
            let headers = ETHERNET + u64::from(HEADER_BYTES);
            // The scenario's reader refuses links whose packets have no room for a segment.
            let mss = scenario.link.max_packet.0.min(1514).saturating_sub(headers).max(1) as u32;
            let by = class.flows.map_or(QueueBy::FiveTuple, |flows| flows.by);
            let mut random = Random::new(seed, STREAMS | flow.0);
            transfers.push((flow, Transfers::default()));
            let delay = Span(source.rtt.0 / 2);
            ways.push(Ways { delay, up: Way::default(), down: Way::default() });
            for number in 0..source.count {
                let start = source.start.0.saturating_add(random.uniform(0, source.rtt.0));
                let app = application(&source, mss, Time(start));
                let (way, load, timer, received) = (ways.len() - 1, 0, None, 0);
                clients.push(Client {
                    flow,
                    source,
                    by,
                    mss,
                    number,
                    app,
                    way,
                    load,
                    timer,
                    received,
                });
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
            ways,
            timers: BinaryHeap::new(),
            order: 0,
            slots: Vec::new(),
            free: Vec::new(),
            next: None,
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

    fn instant(&mut self, at: Time) -> Instant {
        self.order += 1;
        (at, self.order)
    }

    /// An event was scheduled, and may be the next.
    fn hasten(&mut self, instant: Instant, event: Event) {
        if self.next.is_none_or(|(next, _)| instant < next) {
            self.next = Some((instant, event));
        }
    }

    /// The next event, after one was handled.
    fn find_next(&mut self) {
        let timer = self.timers.peek().map(|Reverse((instant, _))| (*instant, Event::Timer));
        self.next = timer;
        for (place, ways) in self.ways.iter().enumerate() {
            for (way, direction) in [(&ways.up, Direction::Up), (&ways.down, Direction::Down)] {
                let Some((instant, _)) = way.front() else { continue };
                if self.next.is_none_or(|(next, _)| *instant < next) {
                    self.next = Some((*instant, Event::Delivery { ways: place, direction }));
                }
            }
        }
    }

    /// Stores a packet that was sent.
    fn store(&mut self, packet: InFlight) -> Slot {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = packet;
                slot
            }
            None => {
                self.slots.push(packet);
                (self.slots.len() - 1) as Slot
            }
        }
    }

    /// Sends a packet on a way.
    fn deliver(&mut self, now: Time, slot: Slot, direction: Direction) {
        let place = self.clients[self.slots[slot as usize].client as usize].way;
        let instant = self.instant(now + self.ways[place].delay);
        self.ways[place].of(direction).push_back((instant, slot));
        self.hasten(instant, Event::Delivery { ways: place, direction });
    }

    /// Takes what a client's application sends, and its next timer.
    fn pump(&mut self, index: usize, now: Time) {
        while let Some(packet) = self.clients[index].app.poll_transmit(now) {
            let client = &self.clients[index];
            let in_flight = InFlight { client: index as u32, load: client.load, packet };
            if packet.key.direction == Direction::Up {
                let slot = self.store(in_flight);
                self.deliver(now, slot, Direction::Up);
                continue;
            }
            let bytes = u32::try_from(packet.bytes().0 + ETHERNET).unwrap_or(u32::MAX);
            // Each load has connections of its own.
            let connection = client.load.wrapping_mul(64).wrapping_add(packet.key.connection);
            let key =
                self.hasher.key_of_connection(client.by, client.flow, client.number, connection);
            let arrival =
                Arrival { ecn: ecn(packet.ecn()), key, ..Arrival::new(now, client.flow, bytes) };
            let slot = self.store(in_flight);
            self.ready.push_back((arrival, slot));
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
            let instant = self.instant(at);
            self.timers.push(Reverse((instant, index as u32)));
            self.hasten(instant, Event::Timer);
        }
    }

    /// When the next packet or event of a TCP source is due.
    fn next_own(&self) -> Option<Time> {
        let ready = self.ready.front().map(|(arrival, _)| arrival.time);
        let event = || self.next.map(|((at, _), _)| at).filter(|at| *at < self.end);
        ready.or_else(event)
    }

    fn handle_event(&mut self) {
        let Some(((now, _), event)) = self.next else { return };
        let client = match event {
            Event::Delivery { ways, direction } => self.handle_delivery(now, ways, direction),
            Event::Timer => self.handle_timer(now),
        };
        self.find_next();
        if let Some(client) = client {
            self.pump(client, now);
        }
    }

    /// The first packet of a way arrives. Returns its client, unless it is of an earlier load.
    fn handle_delivery(&mut self, now: Time, ways: usize, direction: Direction) -> Option<usize> {
        let (_, slot) = self.ways[ways].of(direction).pop_front()?;
        self.free.push(slot);
        let InFlight { client, load, packet } = &self.slots[slot as usize];
        let index = *client as usize;
        let client = &mut self.clients[index];
        if *load != client.load {
            return None;
        }
        client.app.handle_delivery(now, packet);
        Some(index)
    }

    /// The first timer expires. Returns its client, unless an earlier timer was set since, or it belongs to
    /// an earlier load.
    fn handle_timer(&mut self, now: Time) -> Option<usize> {
        let Reverse((_, client)) = self.timers.pop()?;
        let index = client as usize;
        let client = &mut self.clients[index];
        if client.timer != Some(now) {
            return None;
        }
        client.timer = None;
        client.app.handle_timeout(now);
        Some(index)
    }
}

impl<S: TrafficSource> TrafficSource for ClosedLoop<S> {
    fn next_time(&self) -> Option<Time> {
        Time::first(self.open.next_time(), self.next_own())
    }

    fn poll(&mut self, seq: u64) -> Option<Arrival> {
        let own = self.next_own();
        if self.open.next_time().is_some_and(|open| own.is_none_or(|own| open <= own)) {
            return self.open.poll(seq);
        }
        let Some((arrival, slot)) = self.ready.pop_front() else {
            self.handle_event();
            return None;
        };
        self.queued.insert(seq, slot);
        Some(arrival)
    }

    fn handle_sent(&mut self, seq: u64, end: Time) {
        match self.queued.remove(&seq) {
            Some(slot) => self.deliver(end, slot, Direction::Down),
            None => self.open.handle_sent(seq, end),
        }
    }

    fn handle_dropped(&mut self, seq: u64) {
        match self.queued.remove(&seq) {
            Some(slot) => self.free.push(slot),
            None => self.open.handle_dropped(seq),
        }
    }

    fn handle_marked(&mut self, seq: u64) {
        match self.queued.get(&seq) {
            Some(slot) => {
                self.slots[*slot as usize].packet.mark();
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
