//! What the kernel is asked for; a build without the kernel's part says so.

#[cfg(feature = "kernel")]
pub use with::*;
#[cfg(not(feature = "kernel"))]
pub use without::*;

#[cfg(feature = "kernel")]
mod with {
    use std::time::Duration;

    use laxity_cpu::{Reservation, Share};
    use laxity_kernel::cpu::record::Event;
    use laxity_kernel::cpu::{self, CpuError, Desk, Keeper};

    use crate::cpu::name_of;
    use crate::cpu::status::{Cpu, Inferred, Reserved, Status};
    use crate::failure::Failure;

    impl From<CpuError> for Failure {
        fn from(error: CpuError) -> Failure {
            let text = error.to_string();
            match error {
                CpuError::Policy { .. } | CpuError::NoTask { .. } | CpuError::Unusable(_) => {
                    Failure::Input(text)
                }
                CpuError::Refused { .. }
                | CpuError::State(_)
                | CpuError::Affinity(_)
                | CpuError::HasOne
                | CpuError::HasNone
                | CpuError::Pending
                | CpuError::Settling
                | CpuError::NoPlace
                | CpuError::Occupied { .. }
                | CpuError::Up
                | CpuError::Down
                | CpuError::Other
                | CpuError::Ended { .. } => Failure::Refused(text),
                CpuError::NoKernel
                | CpuError::NoFileSystem
                | CpuError::Types { .. }
                | CpuError::NotPermitted { .. } => Failure::Lacking(text),
                _ => Failure::Internal(text),
            }
        }
    }

    /// Answers which policy it was before.
    pub fn up(policy: &str) -> Result<Option<&'static str>, Failure> {
        Ok(cpu::up(policy)?)
    }

    pub fn down() -> Result<(), Failure> {
        Ok(cpu::down()?)
    }

    /// Answers on which CPU.
    pub fn reserve(pid: u32, asked: Reservation, inherit: bool) -> Result<u32, Failure> {
        Ok(cpu::reserve(pid, asked, inherit)?)
    }

    pub fn release(pid: u32) -> Result<(), Failure> {
        Ok(cpu::release(pid)?)
    }

    /// The scheduler of this machine, and what there is to say when none is up yet.
    pub fn keeper() -> Result<(Box<dyn Keeper>, Option<String>), Failure> {
        let mut desk = Desk::default();
        let warning = match desk.table() {
            Ok(_) => None,
            Err(error @ (CpuError::Down | CpuError::Ended { .. })) => Some(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        Ok((Box::new(desk), warning))
    }

    /// Of the scheduler that is up.
    pub struct Recorder(cpu::record::Recorder);

    impl Recorder {
        pub fn open() -> Result<Recorder, Failure> {
            Ok(Recorder(cpu::record::Recorder::open()?))
        }

        /// Answers how many events were lost.
        pub fn record(
            &self,
            length: Duration,
            go_on: impl Fn() -> bool,
            each: impl FnMut(Event),
        ) -> Result<u64, Failure> {
            Ok(self.0.record(Some(length), go_on, each)?)
        }

        /// Whether the scheduler was there to the end.
        pub fn check(&self) -> Result<(), Failure> {
            Ok(self.0.check()?)
        }
    }

    /// Looks again and again.
    #[derive(Default)]
    pub struct Watch(cpu::Watch);

    impl Watch {
        pub fn status(&mut self) -> Result<Status, Failure> {
            Ok(shown(&self.0.status()?))
        }
    }

    fn shown(status: &cpu::Status) -> Status {
        let us = |ns: u64| ns as f64 / 1e3;
        let ms = |ns: u64| ns as f64 / 1e6;
        let cpus = status.cpus.iter().map(|c| Cpu {
            cpu: c.cpu,
            reserved: c.reserved.0 as f64 / Share::ONE.0 as f64,
            servers: c.servers,
            switches: c.switches,
            taken: c.steals,
            overrun_max_us: us(c.overrun),
            release_late_max_us: us(c.late_release),
            late: c.deadline_misses,
            late_max_us: us(c.max_lateness_ns),
        });
        let reservations = status.reservations.iter().map(|r| Reserved {
            pid: r.pid,
            user: r.owner,
            cpu: r.held.cpu,
            runtime_ms: ms(r.held.reservation.budget.0),
            period_ms: ms(r.held.reservation.period.0),
            inherited: r.inherited,
            tasks: r.tasks,
            late: r.deadline_misses,
            late_max_us: us(r.max_lateness_ns),
        });
        let inferred = status.inferred.iter().map(|t| Inferred {
            pid: t.pid,
            name: name_of(t.pid).unwrap_or_default(),
            cpu: t.cpu,
            budget_ms: ms(t.budget.0),
            period_ms: ms(t.period.0),
        });
        let mut inferred: Vec<Inferred> = inferred.collect();
        inferred.sort_by(|a, b| b.budget_ms.total_cmp(&a.budget_ms).then(a.pid.cmp(&b.pid)));
        Status {
            policy: status.policy.clone(),
            cpus: cpus.collect(),
            reservations: reservations.collect(),
            inferred,
            unaccounted: status.unaccounted,
            elsewhere: status.elsewhere,
        }
    }
}

#[cfg(not(feature = "kernel"))]
mod without {
    use std::time::Duration;

    use laxity_cpu::Reservation;
    use laxity_kernel::cpu::Keeper;
    use laxity_kernel::cpu::record::Event;

    use crate::cpu::status::Status;
    use crate::failure::Failure;

    pub fn up(_: &str) -> Result<Option<&'static str>, Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub fn down() -> Result<(), Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub fn reserve(_: u32, _: Reservation, _: bool) -> Result<u32, Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub fn release(_: u32) -> Result<(), Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub fn keeper() -> Result<(Box<dyn Keeper>, Option<String>), Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub enum Recorder {}

    impl Recorder {
        pub fn open() -> Result<Recorder, Failure> {
            Failure::without_kernel_for_cpus()
        }

        pub fn record(
            &self,
            _: Duration,
            _: impl Fn() -> bool,
            _: impl FnMut(Event),
        ) -> Result<u64, Failure> {
            match *self {}
        }

        pub fn check(&self) -> Result<(), Failure> {
            match *self {}
        }
    }

    #[derive(Default)]
    pub struct Watch {}

    impl Watch {
        pub fn status(&mut self) -> Result<Status, Failure> {
            Failure::without_kernel_for_cpus()
        }
    }
}
