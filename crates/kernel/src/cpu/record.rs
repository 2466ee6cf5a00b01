//! Events and decisions of the scheduler, one by one (`bpf/scx/record.h`).
//!
//! While off, it costs the scheduler a comparison an event. It stops at the requested time, also when the
//! process that requested it has ended.

use std::fmt;

use laxity_core::{Span, Time};
use laxity_cpu::Reservation;

use crate::layout::cpu::{
    LX_BLOCKED_NOW, LX_BOUND, LX_CHOSEN, LX_CHOSEN_RESERVED_FIRST, LX_JOINED, LX_LEFT, LX_RAN,
    LX_RESERVATION_ENDED, LX_RESERVED, LX_RESUMED, LX_STARTED, LX_STARTED_RESERVED, LX_STOPPED,
    LX_TIMER, LX_WEIGHED, LX_WOKE, lx_event,
};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
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
    /// A reservation was created, without tasks yet.
    Reserved {
        /// Its number.
        number: u32,
        /// The reservation.
        reservation: Reservation,
    },
    /// A reservation ended whose last task never was in its server.
    ReservationEnded {
        /// Its number.
        number: u32,
    },
    /// A task left its server.
    Left,
    /// A task has another weight.
    Weighed {
        /// The weight.
        weight: u32,
    },
    /// A task became runnable.
    Woke {
        /// The current task woke it.
        by_current: bool,
    },
    /// A task blocked.
    Blocked,
    /// A task executed.
    Ran {
        /// Execution time since the last event of this kind.
        length: Span,
    },
    /// Due releases and deadlines were processed.
    Timer,
    /// The next task was picked, or none.
    Chosen {
        /// Its remaining budget.
        left: Span,
        /// The deadline of its server.
        deadline: Time,
        /// A higher scheduling class waited for the CPU, so reservations preceded best effort.
        reserved_first: bool,
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
    /// A task stopped running.
    Stopped,
    /// A preempted task goes on without a decision.
    Resumed,
}

/// An event of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time, by the monotonic clock.
    pub at: Time,
    /// The CPU.
    pub cpu: u32,
    /// The task's slot, its own while the scheduler has it; `None` for no task.
    pub slot: Option<u32>,
    /// The task, zero for none.
    pub pid: u32,
    /// The kind.
    pub kind: EventKind,
}

const NONE: u32 = u32::MAX;

impl Event {
    /// Decodes an event as the kernel writes it; `None` if it is none.
    pub fn read(bytes: &[u8]) -> Option<Event> {
        let bytes: &[u8; lx_event::SIZEOF] = bytes.try_into().ok()?;
        let [what, cpu, slot, pid] = [lx_event::WHAT, lx_event::CPU, lx_event::SLOT, lx_event::PID]
            .map(|field| field.u32(bytes).into());
        let fields = [what, lx_event::AT.u64(bytes), cpu, slot, pid];
        Event::of(fields, [lx_event::A.u64(bytes), lx_event::B.u64(bytes)])
    }

    /// From numbers: kind, time, CPU, slot, task, and two that depend on the kind.
    fn of([what, at, cpu, slot, pid]: [u64; 5], [a, b]: [u64; 2]) -> Option<Event> {
        let narrow = |n: u64| u32::try_from(n).ok();
        let kind = match what {
            LX_JOINED => EventKind::Joined { weight: narrow(a)?, learnt: Span(b) },
            LX_BOUND => EventKind::Bound { number: narrow(a)? },
            LX_RESERVED => EventKind::Reserved {
                number: narrow(slot)?,
                reservation: Reservation::new(Span(a), Span(b)),
            },
            LX_RESERVATION_ENDED => EventKind::ReservationEnded { number: narrow(slot)? },
            LX_LEFT => EventKind::Left,
            LX_WEIGHED => EventKind::Weighed { weight: narrow(a)? },
            LX_WOKE => EventKind::Woke { by_current: a > 0 },
            LX_BLOCKED_NOW => EventKind::Blocked,
            LX_RAN => EventKind::Ran { length: Span(a) },
            LX_TIMER => EventKind::Timer,
            LX_CHOSEN | LX_CHOSEN_RESERVED_FIRST => EventKind::Chosen {
                left: Span(a),
                deadline: Time(b),
                reserved_first: what == LX_CHOSEN_RESERVED_FIRST,
            },
            LX_STARTED | LX_STARTED_RESERVED => EventKind::Started {
                reserved: what == LX_STARTED_RESERVED,
                budget: Span(a),
                period: Span(b),
            },
            LX_STOPPED => EventKind::Stopped,
            LX_RESUMED => EventKind::Resumed,
            _ => return None,
        };
        let of_reservation =
            matches!(kind, EventKind::Reserved { .. } | EventKind::ReservationEnded { .. });
        let no_task = slot == u64::from(NONE) || of_reservation;
        let slot = if no_task { None } else { Some(narrow(slot)?) };
        Some(Event { at: Time(at), cpu: narrow(cpu)?, slot, pid: narrow(pid)?, kind })
    }

    /// From a line that [`Event`] writes.
    pub fn parse(line: &str) -> Option<Event> {
        let mut numbers = [0; 7];
        let mut fields = line.split(' ');
        for number in &mut numbers {
            *number = fields.next()?.parse().ok()?;
        }
        let [what, at, cpu, slot, pid, a, b] = numbers;
        fields.next().is_none().then_some(())?;
        Event::of([what, at, cpu, slot, pid], [a, b])
    }
}

/// Seven numbers, as [`Event::parse`] takes them.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut slot = self.slot.unwrap_or(NONE);
        let (what, a, b) = match self.kind {
            EventKind::Joined { weight, learnt } => (LX_JOINED, weight.into(), learnt.0),
            EventKind::Bound { number } => (LX_BOUND, number.into(), 0),
            EventKind::Reserved { number, reservation } => {
                slot = number;
                (LX_RESERVED, reservation.budget.0, reservation.period.0)
            }
            EventKind::ReservationEnded { number } => {
                slot = number;
                (LX_RESERVATION_ENDED, 0, 0)
            }
            EventKind::Left => (LX_LEFT, 0, 0),
            EventKind::Weighed { weight } => (LX_WEIGHED, weight.into(), 0),
            EventKind::Woke { by_current } => (LX_WOKE, by_current.into(), 0),
            EventKind::Blocked => (LX_BLOCKED_NOW, 0, 0),
            EventKind::Ran { length } => (LX_RAN, length.0, 0),
            EventKind::Timer => (LX_TIMER, 0, 0),
            EventKind::Chosen { left, deadline, reserved_first } => {
                let what = if reserved_first { LX_CHOSEN_RESERVED_FIRST } else { LX_CHOSEN };
                (what, left.0, deadline.0)
            }
            EventKind::Started { reserved, budget, period } => {
                (if reserved { LX_STARTED_RESERVED } else { LX_STARTED }, budget.0, period.0)
            }
            EventKind::Stopped => (LX_STOPPED, 0, 0),
            EventKind::Resumed => (LX_RESUMED, 0, 0),
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
    use crate::cpu::load::kernel_error;
    use crate::cpu::{CpuError, Policy, live, system};
    use crate::layout::cpu::lx_recording;

    /// So often events are fetched: the place for them holds some 80,000.
    const STEP: Duration = Duration::from_millis(20);
    const KEY: [u8; 4] = [0; 4];

    /// As `recording` in `bpf/scx/record.h`.
    pub(in crate::cpu) struct Recording(MapHandle);

    impl Recording {
        pub(in crate::cpu) fn open() -> Result<Recording, CpuError> {
            MapHandle::from_pinned_path(system::pin("recording"))
                .map(Recording)
                .map_err(kernel_error)
        }

        /// Until when, and how many events were lost so far.
        fn limits(&self) -> Result<(u64, u64), CpuError> {
            let value =
                self.0.lookup(&KEY, MapFlags::ANY).map_err(kernel_error)?.unwrap_or_default();
            Ok((lx_recording::UNTIL.u64(&value), lx_recording::LOST.u64(&value)))
        }

        pub(in crate::cpu) fn until(&self, until: u64) -> Result<(), CpuError> {
            let mut value = [0; lx_recording::SIZEOF];
            lx_recording::UNTIL.set_u64(&mut value, until);
            lx_recording::LOST.set_u64(&mut value, self.limits()?.1);
            self.0.update(&KEY, &value, MapFlags::ANY).map_err(kernel_error)
        }
    }

    /// Records what the scheduler of this machine does.
    pub struct Recorder {
        recording: Recording,
        events: MapHandle,
        /// Which one.
        scheduler: Option<u64>,
        policy: Policy,
        _lock: File,
    }

    impl Recorder {
        /// Of the scheduler that is up.
        ///
        /// # Errors
        /// When none is, it cannot be asked, or somebody else records.
        pub fn open() -> Result<Recorder, CpuError> {
            // Fails with the reason if the scheduler is not up.
            let (policy, _) = live::open_control_programs(&[])?;
            let scheduler = system::identity();
            let lock = system::lock_recording()?;
            let events =
                MapHandle::from_pinned_path(system::pin("events")).map_err(kernel_error)?;
            let recording = Recording::open()?;
            Ok(Recorder { recording, events, scheduler, policy, _lock: lock })
        }

        /// Records for so long, or to the end of what [`up_recorded`](crate::cpu::up_recorded)
        /// began, as long as `keep_going` says so and the scheduler is there; hands each event over, in order
        /// on each CPU. Answers how many were lost.
        ///
        /// # Errors
        /// When the kernel does not give them.
        pub fn record(
            &self,
            length: Option<Duration>,
            keep_going: impl Fn() -> bool,
            mut each: impl FnMut(Event),
        ) -> Result<u64, CpuError> {
            let (mut until, mut before) = self.recording.limits()?;
            // What began with the scheduler may have lost events before this.
            if length.is_none() {
                before = 0;
            }
            // Discard events of an earlier recording.
            let since = if length.is_some() { system::now() } else { 0 };
            let mut take = |bytes: &[u8]| {
                if let Some(event) = Event::read(bytes).filter(|event| event.at.0 >= since) {
                    each(event);
                }
                0
            };
            let mut ring = RingBufferBuilder::new();
            ring.add(&self.events, &mut take).map_err(kernel_error)?;
            let ring = ring.build().map_err(kernel_error)?;
            if let Some(length) = length {
                until = system::after(length);
                self.recording.until(until)?;
            }
            while system::now() < until && keep_going() && self.is_there() {
                std::thread::sleep(STEP);
                ring.consume().map_err(kernel_error)?;
            }
            if system::now() < until {
                self.recording.until(0)?;
            }
            ring.consume().map_err(kernel_error)?;
            Ok(self.recording.limits()?.1 - before)
        }

        fn is_there(&self) -> bool {
            system::identity() == self.scheduler
        }

        /// Whether the scheduler still has the policy and options that it had at [`open`](Self::open).
        ///
        /// # Errors
        /// It has others, or the scheduler cannot be asked.
        pub fn check_policy(&self) -> Result<(), CpuError> {
            let (policy, _) = live::open_control_programs(&[])?;
            let same = (policy.name, policy.options()) == (self.policy.name, self.policy.options());
            let changed = "the policy was changed while it was recorded; record again";
            same.then_some(()).ok_or(CpuError::State(changed))
        }

        /// Whether the recorded scheduler is still the running one.
        ///
        /// # Errors
        /// Its outcome.
        pub fn check(&self) -> Result<(), CpuError> {
            if self.is_there() {
                return Ok(());
            }
            live::open_control_programs(&[])?;
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
        for what in 0..=15 {
            let line = format!("{what} 123456789 1 7 42 5 6");
            let event = Event::parse(&line).expect("an event");
            assert_eq!(Event::parse(&event.to_string()), Some(event), "{line}");
        }
        let reserved = Event::parse("2 1 0 3 0 4000000 10000000").expect("an event");
        assert_eq!(reserved.slot, None);
        assert!(matches!(reserved.kind, EventKind::Reserved { number: 3, .. }));
        let ended = Event::parse("15 1 0 3 0 0 0").expect("an event");
        assert_eq!((ended.slot, ended.kind), (None, EventKind::ReservationEnded { number: 3 }));
        for wrong in ["", "1 2 3", "16 1 0 0 0 0 0", "8 1 0 0 0 0 0 0", "8 x 0 0 0 0 0"] {
            assert_eq!(Event::parse(wrong), None, "{wrong}");
        }
        let mut bytes = [0; lx_event::SIZEOF];
        lx_event::AT.set_u64(&mut bytes, 77);
        let fields = [lx_event::WHAT, lx_event::CPU, lx_event::SLOT, lx_event::PID];
        for (field, value) in fields.into_iter().zip([7, 2, 5, 99]) {
            field.set_u32(&mut bytes, value);
        }
        lx_event::A.set_u64(&mut bytes, 1_000);
        let event = Event::read(&bytes).expect("an event");
        assert_eq!(event.to_string(), "7 77 2 5 99 1000 0");
        assert_eq!(Event::read(&bytes[..32]), None);
    }
}
