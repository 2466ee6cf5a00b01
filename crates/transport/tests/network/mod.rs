//! Applications on an access link: a FIFO each way, and a delay. Driven as a simulator would.
#![allow(dead_code)]

use std::collections::{BTreeMap, VecDeque};

use laxity_core::{Bytes, Rate, Span, Time};
use laxity_transport::app::{Application, Completion};
use laxity_transport::{Direction, Packet};

pub const MS: u64 = 1_000_000;

enum Event {
    Transmitted(usize),
    Arrive { app: usize, packet: Packet },
    Timer { app: usize },
}

#[derive(Default)]
struct Line {
    rate: Rate,
    limit: usize,
    waiting: VecDeque<(usize, Packet)>,
    sending: Option<(usize, Packet)>,
}

pub struct Network {
    pub now: Time,
    pub apps: Vec<Box<dyn Application>>,
    /// Each with the application's index.
    pub completions: Vec<(usize, Completion)>,
    pub events: u64,
    delay: Span,
    /// Down, up.
    lines: [Line; 2],
    timers: Vec<Option<Time>>,
    /// By time, then in the order of scheduling.
    scheduled: BTreeMap<(Time, u64), Event>,
    order: u64,
}

impl Network {
    /// A link of `down` and `up` with queues of `limit` packets; `rtt` is split between the ways.
    pub fn new(down: Rate, up: Rate, limit: usize, rtt: Span) -> Network {
        let line = |rate| Line { rate, limit, ..Line::default() };
        Network {
            now: Time::ZERO,
            apps: Vec::new(),
            completions: Vec::new(),
            events: 0,
            delay: Span(rtt.0 / 2),
            lines: [line(down), line(up)],
            timers: Vec::new(),
            scheduled: BTreeMap::new(),
            order: 0,
        }
    }

    pub fn add(&mut self, app: impl Application + 'static) {
        self.apps.push(Box::new(app));
        self.timers.push(None);
        self.pump(self.apps.len() - 1);
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.scheduled.insert((at, self.order), event);
    }

    fn pump(&mut self, app: usize) {
        while let Some(packet) = self.apps[app].poll_transmit(self.now) {
            let line = usize::from(packet.key.direction == Direction::Up);
            if self.lines[line].waiting.len() < self.lines[line].limit {
                self.lines[line].waiting.push_back((app, packet));
                self.transmit(line);
            }
        }
        while let Some(completion) = self.apps[app].poll_completion() {
            self.completions.push((app, completion));
        }
        let next = self.apps[app].poll_timeout().map(|at| at.max(self.now));
        if let Some(at) = next.filter(|at| self.timers[app].is_none_or(|timer| *at < timer)) {
            self.timers[app] = Some(at);
            self.schedule(at, Event::Timer { app });
        }
    }

    fn transmit(&mut self, line: usize) {
        let Line { rate, waiting, sending, .. } = &mut self.lines[line];
        if sending.is_some() {
            return;
        }
        *sending = waiting.pop_front();
        if let Some((_, packet)) = sending {
            let end = self.now + rate.time_for(packet.bytes() + Bytes(14)).expect("a rate");
            self.schedule(end, Event::Transmitted(line));
        }
    }

    /// Handles events until `end`.
    pub fn run(&mut self, end: Time) {
        while let Some(next) = self.scheduled.first_entry().filter(|next| next.key().0 <= end) {
            let ((at, _), event) = next.remove_entry();
            self.events += 1;
            self.now = at;
            match event {
                Event::Transmitted(line) => {
                    let (app, packet) = self.lines[line].sending.take().expect("a packet");
                    self.schedule(at + self.delay, Event::Arrive { app, packet });
                    self.transmit(line);
                }
                Event::Arrive { app, packet } => {
                    self.apps[app].handle_delivery(at, &packet);
                    self.pump(app);
                }
                Event::Timer { app } if self.timers[app] == Some(at) => {
                    self.timers[app] = None;
                    self.apps[app].handle_timeout(at);
                    self.pump(app);
                }
                Event::Timer { .. } => {}
            }
        }
        self.now = end;
    }
}
