//! Control of a running server by other threads.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use laxity_core::{Rate, Time};
use laxity_dwcs::{Attributes, StreamId, UnknownStream};
use laxity_ring::shared;

use super::clock::Clock;
use super::config::{ServerError, Source, StreamConfig};
use super::counts::{Counter, Counts, Made, Row, Timing};
use super::inlet::Inlet;
use super::producer::Start;
use super::source::Feeder;
use super::spread;
use super::table::{Entry, Feed, Outlet, Reported};
use super::thread::{Finished, Message, Post};
use crate::rtcp::{NetworkCounts, ReceiverReport};
use crate::sdp::{self, Described};

/// A running server, for any thread. Clones are the same server.
#[derive(Clone, Debug)]
pub struct Handle {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub post: Post,
    pub clock: Clock,
    /// Whether each socket is of IPv4.
    pub families: Vec<bool>,
    pub sockets: Vec<Arc<UdpSocket>>,
    pub cname: String,
    pub rtcp: bool,
    /// The rate of the whole server, and the overhead of a packet beyond its UDP payload in bytes.
    pub rate: Option<(Rate, u64)>,
    pub threads_cpu: Vec<(String, Arc<Counter>)>,
    pub registry: Mutex<Registry>,
}

#[derive(Debug)]
pub(crate) struct Registry {
    pub streams: HashMap<String, Registered>,
    pub ssrcs: HashMap<u32, String>,
    /// How many streams go to each destination, and how often the network complained of it.
    pub destinations: HashMap<SocketAddr, (usize, u64)>,
    /// The producers; `None` when the server stops.
    pub starts: Option<Vec<Sender<Start>>>,
    pub added: u64,
    /// Of streams that were dropped.
    pub retired: Counts,
    pub network: NetworkCounts,
    /// Where receiver reports come in.
    pub rtcp: Option<SocketAddr>,
}

/// A stream that runs.
#[derive(Debug)]
pub(crate) struct Registered {
    pub id: StreamId,
    pub number: u64,
    pub config: StreamConfig,
    pub made: Arc<Made>,
    pub reported: Option<Arc<Reported>>,
    pub receiver_report: ReceiverReport,
    /// Sender reports sent last: [`middle`](crate::rtcp::middle) and monotonic time.
    pub reports: [(u32, u64); 4],
    /// When the next is due, monotonic.
    pub next_report: u64,
    inlet: Option<Inlet>,
    memory: Option<OwnedFd>,
    /// A process fills the ring.
    attached: bool,
}

/// Everything that is counted, at one instant or nearly so.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// The streams in the order in which they were added.
    pub streams: Vec<StreamSnapshot>,
    /// Where the packets of streams went that were dropped since.
    pub retired: Counts,
    /// Precision.
    pub timing: Timing,
    /// CPU time of each thread, kernel time included, ns.
    pub threads: Vec<(String, u64)>,
    /// Counts of received network packets.
    pub network: NetworkCounts,
}

/// Counts of a stream.
#[derive(Clone, Debug)]
pub struct StreamSnapshot {
    /// Its configuration, with the current attributes.
    pub config: StreamConfig,
    /// The scheduler's counts.
    pub row: Row,
    /// Packets made.
    pub produced: u64,
    /// Packets refused because the ring was full.
    pub overflows: u64,
    /// Packets refused because no datagram holds them.
    pub oversize: u64,
    /// Number of ICMP errors about its destination.
    pub icmp_errors: u64,
    /// The last report of its receiver.
    pub receiver_report: ReceiverReport,
}

impl Snapshot {
    /// The stream of that name.
    pub fn stream(&self, name: &str) -> Option<&StreamSnapshot> {
        self.streams.iter().find(|s| s.config.name == name)
    }

    /// Where all packets went, those of dropped streams included.
    pub fn total(&self) -> Counts {
        let mut total = self.retired;
        self.streams.iter().for_each(|s| total.merge(&s.row.counts));
        total
    }
}

/// Rows requested from the scheduler's thread at once: it has packets to send.
const ROWS: usize = 64;

impl Handle {
    pub(super) fn new(shared: Arc<Shared>) -> Handle {
        Handle { shared }
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Adds a stream, which starts at once.
    ///
    /// # Errors
    /// It is invalid, its name or SSRC is in use, or the server has stopped.
    pub fn add(&self, config: StreamConfig) -> Result<(), ServerError> {
        config.check()?;
        let mut registry = self.shared.registry();
        let registry = &mut *registry;
        let user = match registry.ssrcs.get(&config.ssrc) {
            _ if registry.streams.contains_key(&config.name) => Some(config.name.clone()),
            by => by.cloned(),
        };
        if let Some(by) = user {
            return Err(ServerError::SsrcInUse { name: config.name, by });
        }
        let starts = registry.starts.as_ref().ok_or(ServerError::Stopped)?;
        let number = registry.added;
        let channel = self.shared.channel(&config, number)?;
        let (outlet, feed, memory) = outlet(&config)?;
        let reported = (self.shared.rtcp && config.rtcp_destination().is_some())
            .then(|| Arc::new(Reported::default()));
        let framed =
            matches!(config.source, Source::Media { .. } | Source::Frames { .. } | Source::Inlet);
        let entry = Entry {
            outlet,
            to: config.destination.into(),
            channel,
            pool: matches!(
                config.source,
                Source::Media { .. } | Source::Constant { .. } | Source::Frames { .. }
            )
            .then(|| number as usize % starts.len()),
            gap: config.attributes.gap.unwrap_or_default(),
            whole_frames: config.whole_frames && framed,
            reported: reported.clone(),
            counts: Counts::default(),
            lost_frame: None,
        };
        let attributes = config.attributes;
        let id = self
            .ask(|reply| Message::Join { attributes, entry: Box::new(entry), reply })?
            .map_err(|source| ServerError::Attributes { name: config.name.clone(), source })?;
        let made = Arc::new(Made::default());
        let clock = self.shared.clock;
        let mut inlet = None;
        match (feed, &config.source) {
            (Some(feed), Source::Inlet) => {
                let (made, post) = (Arc::clone(&made), self.shared.post.clone());
                inlet = Some(Inlet { feed, made, post, stream: id, clock, frame: 0 });
            }
            (Some(feed), _) => {
                let start = clock.now() + spread(number, attributes.gap.unwrap_or_default());
                let feeder = Feeder::new(&config, feed, Arc::clone(&made), start);
                let thread = &starts[number as usize % starts.len()];
                if let Some(feeder) = feeder {
                    // A producer that died feeds nothing; the stream shows as ended.
                    let _ = thread.send(Start { stream: id, feeder });
                }
            }
            (None, _) => {}
        }
        registry.added += 1;
        registry.ssrcs.insert(config.ssrc, config.name.clone());
        registry.destinations.entry(config.destination).or_default().0 += 1;
        let name = config.name.clone();
        let stream = Registered {
            id,
            number,
            config,
            made,
            reported,
            receiver_report: ReceiverReport::default(),
            reports: [(0, 0); 4],
            next_report: 0,
            inlet,
            memory,
            attached: false,
        };
        registry.streams.insert(name, stream);
        Ok(())
    }

    /// The stream of that name.
    ///
    /// # Errors
    /// There is none.
    pub fn stream(&self, name: &str) -> Result<StreamConfig, ServerError> {
        let registry = self.shared.registry();
        let found = registry.streams.get(name).map(|stream| stream.config.clone());
        found.ok_or_else(|| ServerError::NoStream { name: name.into() })
    }

    /// The producing end of a stream with [`Source::Inlet`], once.
    pub fn inlet(&self, name: &str) -> Option<Inlet> {
        self.shared.registry().streams.get_mut(name)?.inlet.take()
    }

    /// The descriptor of the ring of a stream with [`Source::Shared`], for the one process that fills
    /// it ([`shared::attach`]). What an earlier one left is discarded.
    ///
    /// # Errors
    /// There is no such stream, it has another source, or a process fills it already.
    pub fn attach(&self, name: &str) -> Result<OwnedFd, ServerError> {
        let mut registry = self.shared.registry();
        let missing = || ServerError::NoStream { name: name.into() };
        let stream = registry.streams.get_mut(name).ok_or_else(missing)?;
        let wrong = |what: &str| ServerError::Stream { name: name.into(), what: what.into() };
        let memory = stream.memory.as_ref();
        let memory = memory.ok_or_else(|| wrong("its source is not `shared`"))?;
        if stream.attached {
            return Err(wrong("another process fills it already"));
        }
        let copy = memory.try_clone().map_err(ServerError::system("a copy of a descriptor"))?;
        let id = stream.id;
        self.ask(|reply| Message::Producer { stream: id, attached: true, reply })?
            .map_err(|UnknownStream(_)| missing())?;
        stream.attached = true;
        Ok(copy)
    }

    /// The process that filled a stream has ended. Its remaining packets are sent, then the stream rests until
    /// another comes.
    ///
    /// # Errors
    /// There is no such stream, or the server has stopped.
    pub fn detach(&self, name: &str) -> Result<(), ServerError> {
        let mut registry = self.shared.registry();
        let missing = || ServerError::NoStream { name: name.into() };
        let stream = registry.streams.get_mut(name).ok_or_else(missing)?;
        stream.attached = false;
        let id = stream.id;
        self.ask(|reply| Message::Producer { stream: id, attached: false, reply })?
            .map_err(|UnknownStream(_)| missing())
    }

    /// Gives a stream other attributes, with a fresh window.
    ///
    /// # Errors
    /// There is no such stream, or the attributes make no sense; it then stays as it was.
    pub fn change(&self, name: &str, attributes: Attributes) -> Result<(), ServerError> {
        let mut registry = self.shared.registry();
        let Some(stream) = registry.streams.get_mut(name) else {
            return Err(ServerError::NoStream { name: name.into() });
        };
        let changed = StreamConfig { attributes, ..stream.config.clone() };
        changed.check()?;
        let stream_id = stream.id;
        self.ask(|reply| Message::Change { stream: stream_id, attributes, reply })?
            .map_err(|source| ServerError::Attributes { name: name.into(), source })?;
        stream.config = changed;
        Ok(())
    }

    /// Drops a stream; what waits is not sent. Answers its final state.
    ///
    /// # Errors
    /// There is no such stream, or the server has stopped.
    pub fn remove(&self, name: &str) -> Result<StreamSnapshot, ServerError> {
        let mut registry = self.shared.registry();
        let registry = &mut *registry;
        let missing = || ServerError::NoStream { name: name.into() };
        let id = registry.streams.get(name).ok_or_else(missing)?.id;
        let row = self
            .ask(|reply| Message::Leave { stream: id, reply })?
            .map_err(|UnknownStream(_)| missing())?;
        let stream = registry.streams.remove(name).ok_or_else(missing)?;
        registry.ssrcs.remove(&stream.config.ssrc);
        registry.retired.merge(&row.counts);
        let snapshot = registry.snapshot(&stream, row);
        let to = stream.config.destination;
        if let Some((streams, _)) = registry.destinations.get_mut(&to) {
            *streams -= 1;
            if *streams == 0 {
                registry.destinations.remove(&to);
            }
        }
        Ok(snapshot)
    }

    /// The streams in the order in which they were added.
    pub fn list(&self) -> Vec<StreamConfig> {
        let registry = self.shared.registry();
        registry.in_order().into_iter().map(|s| s.config.clone()).collect()
    }

    /// Clears the measures of precision; answers what was measured until now.
    ///
    /// # Errors
    /// The server has stopped.
    pub fn restart_timing(&self) -> Result<Timing, ServerError> {
        self.ask(|reply| Message::Timing { restart: true, reply })
    }

    /// All that is counted. The scheduler's thread reports a few streams at a time, so counts
    /// of different streams may be some microseconds apart.
    ///
    /// # Errors
    /// The server has stopped.
    pub fn snapshot(&self) -> Result<Snapshot, ServerError> {
        let timing = self.ask(|reply| Message::Timing { restart: false, reply })?;
        let mut stopped = false;
        let snapshot = self.snapshot_by(timing, |ids| {
            let streams = ids.to_vec();
            self.ask(|reply| Message::Rows { streams, reply }).unwrap_or_else(|_| {
                stopped = true;
                Vec::new()
            })
        });
        if stopped { Err(ServerError::Stopped) } else { Ok(snapshot) }
    }

    pub(super) fn final_snapshot(&self, finished: Finished) -> Snapshot {
        let Finished { timing, rows } = finished;
        let row = |id: &StreamId| rows.get(id).copied().ok_or(UnknownStream(*id));
        self.snapshot_by(timing, |ids| ids.iter().map(row).collect())
    }

    fn snapshot_by(
        &self,
        timing: Timing,
        mut rows: impl FnMut(&[StreamId]) -> Vec<Result<Row, UnknownStream>>,
    ) -> Snapshot {
        let registry = self.shared.registry();
        let mut streams = Vec::with_capacity(registry.streams.len());
        for some in registry.in_order().chunks(ROWS) {
            let ids: Vec<StreamId> = some.iter().map(|s| s.id).collect();
            let rows = rows(&ids);
            let known = some.iter().zip(rows).filter_map(|(s, row)| Some((s, row.ok()?)));
            streams.extend(known.map(|(s, row)| registry.snapshot(s, row)));
        }
        let threads = self.shared.threads_cpu.iter();
        Snapshot {
            streams,
            retired: registry.retired,
            timing,
            threads: threads.map(|(name, cpu)| (name.clone(), cpu.get())).collect(),
            network: registry.network,
        }
    }

    /// A session description of streams that are played together.
    ///
    /// # Errors
    /// One of them does not exist.
    pub fn describe(&self, title: &str, names: &[&str]) -> Result<String, ServerError> {
        let registry = self.shared.registry();
        let mut streams = Vec::new();
        for name in names {
            let missing = || ServerError::NoStream { name: (*name).into() };
            let config = &registry.streams.get(*name).ok_or_else(missing)?.config;
            streams.push(Described {
                codec: config.codec(),
                destination: config.destination,
                rtcp: config.rtcp,
                payload_type: config.payload_type,
                ssrc: config.ssrc,
                cname: &self.shared.cname,
            });
        }
        Ok(sdp::describe(title, self.shared.address(), &streams))
    }

    /// The addresses that packets are sent from.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.shared.sockets.iter().filter_map(|s| s.local_addr().ok()).collect()
    }

    /// Where receiver reports come in.
    pub fn rtcp_address(&self) -> Option<SocketAddr> {
        self.shared.registry().rtcp
    }

    fn ask<T>(&self, message: impl FnOnce(Sender<T>) -> Message) -> Result<T, ServerError> {
        let (reply, answer) = mpsc::channel();
        self.shared.post.send(message(reply));
        answer.recv().map_err(|_| ServerError::Stopped)
    }
}

impl Shared {
    /// The registry is consistent after a thread has panicked: nothing panics between changes.
    pub fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_rtcp_address(&self, address: Option<SocketAddr>) {
        self.registry().rtcp = address;
    }

    pub fn set_cpu(&self, thread: &str, cpu: u64) {
        if let Some((_, counter)) = self.threads_cpu.iter().find(|(name, _)| name == thread) {
            counter.set(cpu);
        }
    }

    fn channel(&self, config: &StreamConfig, number: u64) -> Result<usize, ServerError> {
        let v4 = config.destination.is_ipv4();
        let fitting: Vec<usize> =
            (0..self.families.len()).filter(|i| self.families[*i] == v4).collect();
        if fitting.is_empty() {
            let destination = config.destination.ip();
            return Err(ServerError::NoSocket { name: config.name.clone(), destination });
        }
        Ok(fitting[number as usize % fitting.len()])
    }

    fn address(&self) -> IpAddr {
        let first = self.sockets.first().and_then(|s| s.local_addr().ok());
        // Bound to all addresses, it has no one address; players want some.
        let one = first.map(|a| a.ip()).filter(|ip| !ip.is_unspecified());
        one.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

impl Registry {
    fn in_order(&self) -> Vec<&Registered> {
        let mut streams: Vec<&Registered> = self.streams.values().collect();
        streams.sort_unstable_by_key(|s| s.number);
        streams
    }

    fn snapshot(&self, stream: &Registered, row: Row) -> StreamSnapshot {
        let produced = match stream.config.source {
            // Another process does not report; packets popped or waiting were made.
            Source::Shared => row.counts.popped() + row.waiting as u64,
            _ => stream.made.packets.get(),
        };
        StreamSnapshot {
            row,
            produced,
            overflows: stream.made.overflows.get(),
            oversize: stream.made.oversize.get(),
            icmp_errors: self.destinations.get(&stream.config.destination).map_or(0, |d| d.1),
            receiver_report: stream.receiver_report,
            config: stream.config.clone(),
        }
    }
}

type Ends = (Outlet, Option<Feed>, Option<OwnedFd>);

fn outlet(config: &StreamConfig) -> Result<Ends, ServerError> {
    if !matches!(config.source, Source::Shared) {
        let (feed, outlet) = Feed::new(config.ring);
        return Ok((outlet, Some(feed), None));
    }
    let wrong = |what: String| ServerError::Stream { name: config.name.clone(), what };
    // `check` bounds both numbers.
    let (packets, bytes) = (config.ring as u32, config.largest as u32);
    let shape = shared::Shape::new(packets, bytes).map_err(|e| wrong(e.to_string()))?;
    let (ring, memory) = shared::create(shape).map_err(|e| wrong(e.to_string()))?;
    Ok((Outlet::Shared { ring, last: Time::ZERO }, None, Some(memory)))
}
