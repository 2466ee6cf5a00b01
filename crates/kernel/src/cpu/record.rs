//! What the scheduler was told and whom it chose, event by event (`bpf/scx/record.h`).
//!
//! Off, it costs the scheduler a comparison an event. It ends by itself at the time that was asked
//! for, also when the process that asked has ended.

use std::fmt;

use laxity_core::{Span, Time};
use laxity_cpu::Reservation;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A task has a server of its own.
    Joined {
        /// Its weight.
        weight: u32,
        /// Its average execution before, zero for none.
        learnt: Span,
    },
    /// A task is in the server of a reservation.
    Bound {
        /// Its number.
        number: u32,
    },
    /// A reservation was made; nobody is in it yet.
    Reserved {
        /// Its number.
        number: u32,
        /// What it is.
        reservation: Reservation,
    },
    /// A task left its server.
    Left,
    /// A task has another weight.
    Weighed {
        /// The weight.
        weight: u32,
    },
    /// A task has something to do.
    Woke,
    /// A task has nothing to do.
    Blocked,
    /// A task executed.
    Ran {
        /// For so long since that was last said.
        length: Span,
    },
    /// What was due was looked at.
    Timer,
    /// A task was chosen, or nobody.
    Chosen {
        /// What is left of its budget.
        left: Span,
        /// When its server's deadline is.
        deadline: Time,
    },
    /// A task is on the CPU.
    Started {
        /// Within a reservation.
        reserved: bool,
        /// Its server's budget.
        budget: Span,
        /// Its server's period.
        period: Span,
    },
    /// It is no longer.
    Stopped,
}

/// An event of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When, by the clock that never goes back.
    pub at: Time,
    /// Where.
    pub cpu: u32,
    /// The task's place, which is its own while it is there; `None` for nobody.
    pub slot: Option<u32>,
    /// The task, zero for nobody.
    pub pid: u32,
    /// What.
    pub what: What,
}

/// As `struct lx_event`.
const LENGTH: usize = 40;
const NONE: u32 = u32::MAX;

impl Event {
    /// As the kernel writes it; `None` for what is no event.
    pub fn read(bytes: &[u8]) -> Option<Event> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let long = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(word)
        };
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            u32::from_ne_bytes(word)
        };
        let words = [word(8).into(), long(0), word(12).into(), word(16).into(), word(20).into()];
        Event::of(words, [long(24), long(32)])
    }

    /// From numbers: what, when, CPU, place, task, and two that depend on the first.
    fn of([what, at, cpu, slot, pid]: [u64; 5], [a, b]: [u64; 2]) -> Option<Event> {
        let word = |n: u64| u32::try_from(n).ok();
        let what = match what {
            0 => What::Joined { weight: word(a)?, learnt: Span(b) },
            1 => What::Bound { number: word(a)? },
            2 => What::Reserved {
                number: word(slot)?,
                reservation: Reservation::new(Span(a), Span(b)),
            },
            3 => What::Left,
            4 => What::Weighed { weight: word(a)? },
            5 => What::Woke,
            6 => What::Blocked,
            7 => What::Ran { length: Span(a) },
            8 => What::Timer,
            9 => What::Chosen { left: Span(a), deadline: Time(b) },
            10 | 11 => What::Started { reserved: what == 11, budget: Span(a), period: Span(b) },
            12 => What::Stopped,
            _ => return None,
        };
        let nobody = slot == u64::from(NONE) || matches!(what, What::Reserved { .. });
        let slot = if nobody { None } else { Some(word(slot)?) };
        Some(Event { at: Time(at), cpu: word(cpu)?, slot, pid: word(pid)?, what })
    }

    /// From a line that [`Event`] writes.
    pub fn parse(line: &str) -> Option<Event> {
        let mut numbers = [0; 7];
        let mut words = line.split(' ');
        for number in &mut numbers {
            *number = words.next()?.parse().ok()?;
        }
        let [what, at, cpu, slot, pid, a, b] = numbers;
        words.next().is_none().then_some(())?;
        Event::of([what, at, cpu, slot, pid], [a, b])
    }
}

/// Seven numbers, as [`Event::parse`] takes them.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut slot = self.slot.unwrap_or(NONE);
        let (what, a, b) = match self.what {
            What::Joined { weight, learnt } => (0, weight.into(), learnt.0),
            What::Bound { number } => (1, number.into(), 0),
            What::Reserved { number, reservation } => {
                slot = number;
                (2, reservation.budget.0, reservation.period.0)
            }
            What::Left => (3, 0, 0),
            What::Weighed { weight } => (4, weight.into(), 0),
            What::Woke => (5, 0, 0),
            What::Blocked => (6, 0, 0),
            What::Ran { length } => (7, length.0, 0),
            What::Timer => (8, 0, 0),
            What::Chosen { left, deadline } => (9, left.0, deadline.0),
            What::Started { reserved, budget, period } => {
                (10 + u64::from(reserved), budget.0, period.0)
            }
            What::Stopped => (12, 0, 0),
        };
        write!(f, "{what} {} {} {slot} {} {a} {b}", self.at.0, self.cpu, self.pid)
    }
}

#[cfg(feature = "kernel")]
mod live {
    use std::fs::File;
    use std::time::Duration;

    use libbpf_rs::{MapCore as _, MapFlags, MapHandle, RingBufferBuilder};

    use super::Event;
    use crate::cpu::load::refused;
    use crate::cpu::{CpuError, live, system};
    use crate::struct_writer::StructWriter;

    /// So often events are fetched: the place for them holds some 80,000.
    const STEP: Duration = Duration::from_millis(20);
    const KEY: [u8; 4] = [0; 4];

    /// As `recording` in `bpf/scx/record.h`.
    pub(in crate::cpu) struct Recording(MapHandle);

    impl Recording {
        pub(in crate::cpu) fn open() -> Result<Recording, CpuError> {
            MapHandle::from_pinned_path(system::pin("recording")).map(Recording).map_err(refused)
        }

        /// Until when, and how many events were lost so far.
        fn look(&self) -> Result<(u64, u64), CpuError> {
            let value = self.0.lookup(&KEY, MapFlags::ANY).map_err(refused)?.unwrap_or_default();
            let long = |at: usize| {
                let bytes = value.get(at..at + 8).and_then(|b| b.try_into().ok());
                bytes.map_or(0, u64::from_ne_bytes)
            };
            Ok((long(0), long(8)))
        }

        pub(in crate::cpu) fn until(&self, until: u64) -> Result<(), CpuError> {
            let mut image = StructWriter::default();
            image.u64(until).u64(self.look()?.1);
            self.0.update(&KEY, &image.into_bytes(), MapFlags::ANY).map_err(refused)
        }
    }

    /// Records what the scheduler of this machine does.
    pub struct Recorder {
        recording: Recording,
        events: MapHandle,
        /// Which one.
        scheduler: Option<u64>,
        _lock: File,
    }

    impl Recorder {
        /// Of the scheduler that is up.
        ///
        /// # Errors
        /// When none is, it cannot be asked, or somebody else records.
        pub fn open() -> Result<Recorder, CpuError> {
            // Says what is wrong where it is not up.
            live::attend(&[])?;
            let scheduler = system::identity();
            let lock = system::lock_recording()?;
            let events = MapHandle::from_pinned_path(system::pin("events")).map_err(refused)?;
            Ok(Recorder { recording: Recording::open()?, events, scheduler, _lock: lock })
        }

        /// Records for so long, or to the end of what [`up_recorded`](crate::cpu::up_recorded)
        /// began, as long as `go_on` says so and the scheduler is there; hands each event over, in order
        /// on each CPU. Answers how many were lost.
        ///
        /// # Errors
        /// When the kernel does not give them.
        pub fn record(
            &self,
            length: Option<Duration>,
            go_on: impl Fn() -> bool,
            mut each: impl FnMut(Event),
        ) -> Result<u64, CpuError> {
            let (mut until, before) = self.recording.look()?;
            // Not what an earlier one has left there.
            let since = if length.is_some() { system::now() } else { 0 };
            let mut take = |bytes: &[u8]| {
                if let Some(event) = Event::read(bytes).filter(|event| event.at.0 >= since) {
                    each(event);
                }
                0
            };
            let mut ring = RingBufferBuilder::new();
            ring.add(&self.events, &mut take).map_err(refused)?;
            let ring = ring.build().map_err(refused)?;
            if let Some(length) = length {
                until = system::after(length);
                self.recording.until(until)?;
            }
            while system::now() < until && go_on() && self.is_there() {
                std::thread::sleep(STEP);
                ring.consume().map_err(refused)?;
            }
            if system::now() < until {
                self.recording.until(0)?;
            }
            ring.consume().map_err(refused)?;
            Ok(self.recording.look()?.1 - before)
        }

        fn is_there(&self) -> bool {
            system::identity() == self.scheduler
        }

        /// Whether the scheduler is still the one that is recorded.
        ///
        /// # Errors
        /// What became of it.
        pub fn check(&self) -> Result<(), CpuError> {
            if self.is_there() {
                return Ok(());
            }
            live::attend(&[])?;
            Err(CpuError::State("the scheduler was started again meanwhile; record again"))
        }
    }
}

#[cfg(feature = "kernel")]
pub use live::Recorder;
#[cfg(feature = "kernel")]
pub(super) use live::Recording;

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a number is left out, or stands elsewhere than it is looked for.
    #[test]
    fn events_are_read_as_they_are_written() {
        for what in 0..=12 {
            let line = format!("{what} 123456789 1 7 42 5 6");
            let event = Event::parse(&line).expect("an event");
            assert_eq!(Event::parse(&event.to_string()), Some(event), "{line}");
        }
        let reserved = Event::parse("2 1 0 3 0 4000000 10000000").expect("an event");
        assert_eq!(reserved.slot, None);
        assert!(matches!(reserved.what, What::Reserved { number: 3, .. }));
        for wrong in ["", "1 2 3", "13 1 0 0 0 0 0", "8 1 0 0 0 0 0 0", "8 x 0 0 0 0 0"] {
            assert_eq!(Event::parse(wrong), None, "{wrong}");
        }
        let mut bytes = Vec::new();
        bytes.extend(77u64.to_ne_bytes());
        for word in [7u32, 2, 5, 99] {
            bytes.extend(word.to_ne_bytes());
        }
        for long in [1_000u64, 0] {
            bytes.extend(long.to_ne_bytes());
        }
        let event = Event::read(&bytes).expect("an event");
        assert_eq!(event.to_string(), "7 77 2 5 99 1000 0");
        assert_eq!(Event::read(&bytes[..32]), None);
    }
}
