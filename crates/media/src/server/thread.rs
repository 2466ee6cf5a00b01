//! The scheduler's thread, and how others talk to it.

use std::collections::HashMap;
use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use laxity_core::{Rate, Span, Time};
use laxity_dwcs::baselines::{self, Baseline};
use laxity_dwcs::structure::{Fastest, Precedence, Structure};
use laxity_dwcs::{Attributes, JoinError, StreamId, UnknownStream};

use super::clock::{Clock, Sleeper, Waker, thread_cpu, wall};
use super::config::{Policy, ServerError};
use super::counts::{Counter, Row, Timing};
use super::pacer::{Pacer, Turn};
use super::table::{Entry, Pools};
use crate::socket::AnyChannel;

/// Retry interval of a full device queue: the system does not notify when it has room.
const BUSY: Span = Span(500_000);

/// How often rings of other processes are looked at when they were empty.
const SHARED: Span = Span(500_000);

/// A message to the scheduler's thread.
#[derive(Debug)]
pub enum Message {
    /// Packets came into a ring that was empty.
    Ring(StreamId),
    Join {
        attributes: Attributes,
        entry: Box<Entry>,
        reply: Sender<Result<StreamId, JoinError>>,
    },
    Leave {
        stream: StreamId,
        reply: Sender<Result<Row, UnknownStream>>,
    },
    Change {
        stream: StreamId,
        attributes: Attributes,
        reply: Sender<Result<(), JoinError>>,
    },
    /// The process that fills a ring has ended, or another starts.
    Producer {
        stream: StreamId,
        attached: bool,
        reply: Sender<Result<(), UnknownStream>>,
    },
    /// Few streams at a time: the thread has packets to send.
    Rows {
        streams: Vec<StreamId>,
        reply: Sender<Vec<Result<Row, UnknownStream>>>,
    },
    /// With `restart`, the measures of precision are cleared.
    Timing {
        restart: bool,
        reply: Sender<Timing>,
    },
    /// Ends the thread: at once, or when all is sent but not after an instant.
    Stop {
        drain_until: Option<Time>,
    },
}

/// The sending end.
#[derive(Clone, Debug)]
pub struct Post {
    messages: Sender<Message>,
    waker: Waker,
}

impl Post {
    pub fn new(messages: Sender<Message>, waker: Waker) -> Post {
        Post { messages, waker }
    }

    /// Sends a message; false when the thread has ended.
    pub fn send(&self, message: Message) -> bool {
        let sent = self.messages.send(message).is_ok();
        self.waker.wake();
        sent
    }

    /// Announces packets.
    pub fn ring(&self, stream: StreamId) {
        // After its end the thread needs no packets.
        self.send(Message::Ring(stream));
    }
}

/// The configuration of the pacer.
#[derive(Debug)]
pub struct Plan {
    pub policy: Policy,
    pub sockets: Vec<Arc<UdpSocket>>,
    pub segment: bool,
    /// Rate, overhead, credit.
    pub limit: Option<(Rate, u64, Span)>,
}

/// The other parts of the thread.
#[derive(Debug)]
pub struct Parts {
    pub clock: Clock,
    pub sleeper: Sleeper,
    pub messages: Receiver<Message>,
    pub quantum: Span,
    pub cpu: Arc<Counter>,
}

/// State at the end.
#[derive(Debug, Default)]
pub struct Finished {
    pub timing: Timing,
    pub rows: HashMap<StreamId, Row>,
}

impl Plan {
    fn pacer<S: Structure>(&self, pools: Pools) -> Result<Pacer<S>, ServerError> {
        let channel = |socket: &Arc<UdpSocket>| AnyChannel::new(Arc::clone(socket), self.segment);
        let channels = self.sockets.iter().map(channel).collect::<Result<_, _>>();
        let channels = channels.map_err(ServerError::system("UDP socket"))?;
        let mut pacer =
            Pacer::new(&self.policy.options(), channels, pools).map_err(ServerError::Options)?;
        if let Some((rate, overhead, credit)) = self.limit {
            pacer.limit(rate, overhead, credit);
        }
        Ok(pacer)
    }
}

/// The thread: reports whether it could start, then runs until stopped.
pub fn run(
    plan: &Plan,
    pools: Pools,
    parts: Parts,
    ready: &Sender<Result<(), ServerError>>,
) -> Finished {
    let begin = Begin { plan, pools, parts, ready };
    match plan.policy {
        Policy::Dwcs(_) => begin.run::<Fastest>(),
        Policy::Baseline(name) => baselines::visit(name, begin).unwrap_or_else(|| {
            let _ = ready.send(Err(ServerError::NoPolicy(name)));
            Finished::default()
        }),
    }
}

/// All that the thread needs but the policy in its own type: decisions are not dispatched.
struct Begin<'a> {
    plan: &'a Plan,
    pools: Pools,
    parts: Parts,
    ready: &'a Sender<Result<(), ServerError>>,
}

impl Begin<'_> {
    fn run<S: Structure>(self) -> Finished {
        let Begin { plan, pools, parts, ready } = self;
        match plan.pacer::<S>(pools) {
            Ok(pacer) if ready.send(Ok(())).is_ok() => Machine { pacer, parts, early: None }.run(),
            Ok(_) => Finished::default(),
            Err(error) => {
                let _ = ready.send(Err(error));
                Finished::default()
            }
        }
    }
}

impl baselines::Visitor for Begin<'_> {
    type Output = Finished;

    fn visit<P: Precedence + Send + 'static>(self) -> Finished {
        self.run::<Baseline<P>>()
    }
}

struct Machine<S> {
    pacer: Pacer<S>,
    parts: Parts,
    /// A message found while going to sleep.
    early: Option<Message>,
}

impl<S: Structure> Machine<S> {
    fn run(mut self) -> Finished {
        // Timers of ordinary threads have a slack of 50 µs; this one has none.
        let _ = nix::sys::prctl::set_timerslack(1);
        let mut stop: Option<Time> = None;
        let mut shared_at = Time::ZERO;
        loop {
            while let Some(message) = self.message() {
                if let Message::Stop { drain_until } = message {
                    let until = drain_until.unwrap_or(Time::ZERO);
                    stop = Some(stop.map_or(until, |s: Time| s.min(until)));
                    if until == Time::ZERO {
                        break;
                    }
                } else {
                    self.handle(message);
                }
            }
            let now = self.parts.clock.now();
            if stop.is_some_and(|until| now >= until) {
                break;
            }
            if self.pacer.has_shared() && now >= shared_at {
                self.pacer.poll_shared(now);
                shared_at = now + SHARED;
            }
            if self.pacer.is_full() {
                self.flush();
            }
            let turn = self.pacer.decide(now);
            self.flush();
            let mut until = match turn {
                Turn::Again => continue,
                Turn::Full => now + BUSY,
                Turn::Idle => Time::MAX,
                Turn::Wait(until) => until,
            };
            if self.pacer.is_full() {
                until = until.min(now + BUSY);
            }
            if self.pacer.has_shared() {
                until = until.min(shared_at);
            }
            if let Some(stop) = stop {
                if self.pacer.is_drained() {
                    break;
                }
                until = until.min(stop);
            }
            self.rest(until.max(now + self.parts.quantum));
        }
        self.pacer.discard_all();
        self.account();
        Finished { timing: self.pacer.timing.clone(), rows: self.pacer.rows() }
    }

    fn message(&mut self) -> Option<Message> {
        self.early.take().or_else(|| match self.parts.messages.try_recv() {
            Ok(message) => Some(message),
            Err(TryRecvError::Empty) => None,
            // No handle is left.
            Err(TryRecvError::Disconnected) => Some(Message::Stop { drain_until: None }),
        })
    }

    fn flush(&mut self) {
        let clock = self.parts.clock;
        self.pacer.flush(|at| clock.absolute(at), || clock.now(), wall);
    }

    fn rest(&mut self, until: Time) {
        self.pacer.timing.sleeps += 1;
        let full: Vec<BorrowedFd<'_>> = self.pacer.full_sockets().map(AsFd::as_fd).collect();
        // A waker that saw this thread awake left its message before.
        let mut waiting = None;
        let until = Some(until).filter(|u| *u != Time::MAX);
        self.parts.sleeper.sleep(until, &full, || {
            waiting = self.parts.messages.try_recv().ok();
            waiting.is_some()
        });
        self.early = waiting;
    }

    fn account(&mut self) {
        self.pacer.timing.cpu = thread_cpu();
        self.parts.cpu.set(self.pacer.timing.cpu);
    }

    fn handle(&mut self, message: Message) {
        let now = self.parts.clock.now();
        // A client that has disconnected needs no answer.
        match message {
            Message::Ring(stream) => self.pacer.announce(now, stream),
            Message::Join { attributes, entry, reply } => {
                let _ = reply.send(self.pacer.join(now, &attributes, *entry));
            }
            Message::Leave { stream, reply } => {
                let _ = reply.send(self.pacer.leave(stream));
            }
            Message::Change { stream, attributes, reply } => {
                let _ = reply.send(self.pacer.change(now, stream, &attributes));
            }
            Message::Producer { stream, attached, reply } => {
                let _ = reply.send(self.pacer.producer(stream, attached));
            }
            Message::Rows { streams, reply } => {
                let rows = streams.into_iter().map(|s| self.pacer.row(s)).collect();
                let _ = reply.send(rows);
            }
            Message::Timing { restart, reply } => {
                self.account();
                let _ = reply.send(self.pacer.timing.clone());
                if restart {
                    self.pacer.timing = Timing::default();
                }
            }
            Message::Stop { .. } => {}
        }
    }
}
