//! Calls into the kernel's scheduler; a build without the feature `kernel` returns an error.

#[cfg(not(feature = "kernel"))]
pub use disabled::*;
#[cfg(feature = "kernel")]
pub use enabled::*;

#[cfg(feature = "kernel")]
mod enabled {
    use std::time::Duration;

    use laxity_cpu::{Reservation, Share};
    use laxity_kernel::cpu::record::Event;
    use laxity_kernel::cpu::{self, CpuError, Policy, ReservationBackend, SchedulerClient};

    use crate::failure::Failure;
    use crate::live::cpu::status::{
        CpuMax, CpuStatus, DeadlineServer, Inferred, Overheads, ReservationStatus, STATUS_VERSION,
        Status,
    };
    use crate::live::cpu::task_name;

    impl From<CpuError> for Failure {
        fn from(error: CpuError) -> Failure {
            let text = error.to_string();
            match error {
                CpuError::Policy { .. }
                | CpuError::Option { .. }
                | CpuError::NoTask { .. }
                | CpuError::Invalid(_) => Failure::Input(text),
                CpuError::Refused { .. }
                | CpuError::State(_)
                | CpuError::Affinity(_)
                | CpuError::Quota { .. }
                | CpuError::AlreadyReserved
                | CpuError::NotReserved
                | CpuError::Pending
                | CpuError::Draining
                | CpuError::TableFull
                | CpuError::OtherScheduler { .. }
                | CpuError::AlreadyRunning
                | CpuError::NotRunning
                | CpuError::OtherVersion
                | CpuError::Ejected { .. } => Failure::Refused(text),
                CpuError::NoKernel
                | CpuError::NoFileSystem
                | CpuError::Types { .. }
                | CpuError::NotPermitted { .. } => Failure::Lacking(text),
                _ => Failure::Internal(text),
            }
        }
    }

    /// Returns the previous policy.
    pub fn up(policy: &Policy) -> Result<Option<&'static str>, Failure> {
        Ok(cpu::up(policy)?)
    }

    /// Starts the scheduler, recorded for `length`; [`Recorder::record`] without a length gives the events.
    pub fn up_recorded(policy: &Policy, length: Duration) -> Result<(), Failure> {
        Ok(cpu::up_recorded(policy, length)?)
    }

    pub fn down() -> Result<(), Failure> {
        Ok(cpu::down()?)
    }

    /// Returns the CPU.
    pub fn reserve(pid: u32, reservation: Reservation, inherit: bool) -> Result<u32, Failure> {
        Ok(cpu::reserve(pid, reservation, inherit)?)
    }

    pub fn release(pid: u32) -> Result<(), Failure> {
        Ok(cpu::release(pid)?)
    }

    /// The scheduler of this machine, and a warning if it is not running yet.
    pub fn reservation_backend() -> Result<(Box<dyn ReservationBackend>, Option<String>), Failure> {
        let mut client = SchedulerClient::default();
        let warning = match client.reservations() {
            Ok(_) => None,
            Err(error @ (CpuError::NotRunning | CpuError::Ejected { .. })) => {
                Some(error.to_string())
            }
            Err(error) => return Err(error.into()),
        };
        Ok((Box::new(client), warning))
    }

    /// Records events of the running scheduler.
    pub struct Recorder(cpu::record::Recorder);

    impl Recorder {
        pub fn open() -> Result<Recorder, Failure> {
            Ok(Recorder(cpu::record::Recorder::open()?))
        }

        /// Returns the number of lost events.
        pub fn record(
            &self,
            length: Option<Duration>,
            keep_going: impl Fn() -> bool,
            each: impl FnMut(Event),
        ) -> Result<u64, Failure> {
            Ok(self.0.record(length, keep_going, each)?)
        }

        /// Checks that the policy and its options are those from when the recording began.
        pub fn check_policy(&self) -> Result<(), Failure> {
            Ok(self.0.check_policy()?)
        }

        /// Checks that the same scheduler still runs.
        pub fn check(&self) -> Result<(), Failure> {
            Ok(self.0.check()?)
        }
    }

    /// Reads the status repeatedly.
    #[derive(Default)]
    pub struct StatusMonitor(cpu::StatusMonitor);

    impl StatusMonitor {
        pub fn status(&mut self) -> Result<Status, Failure> {
            Ok(to_status(&self.0.status()?))
        }
    }

    fn to_status(status: &cpu::Status) -> Status {
        let cpus = status.cpus.iter().map(|c| CpuStatus {
            cpu: c.cpu,
            reserved: c.reserved.0 as f64 / Share::ONE.0 as f64,
            servers: c.servers,
            switches: c.switches,
            steals: c.steals,
            max_overrun_ns: c.max_overrun_ns,
            max_release_lateness_ns: c.max_release_lateness_ns,
            deadline_misses: c.deadline_misses,
            max_lateness_ns: c.max_lateness_ns,
            deadline_server: cpu::deadline_server(c.cpu)
                .map(|s| DeadlineServer { runtime_ns: s.runtime.0, period_ns: s.period.0 }),
        });
        let reservations = status.reservations.iter().map(|r| ReservationStatus {
            pid: r.pid,
            user: r.owner,
            cpu: r.placed.cpu,
            runtime_ns: r.placed.requested().budget.0,
            overhead_ns: r.placed.overhead.0,
            period_ns: r.placed.reservation.period.0,
            inherited: r.inherited,
            tasks: r.tasks,
            deadline_misses: r.deadline_misses,
            max_lateness_ns: r.max_lateness_ns,
            exceeds: r
                .pid
                .and_then(cpu::quota)
                .filter(|quota| !quota.allows(&r.placed.requested()))
                .map(cpu_max),
        });
        let inferred = status.inferred.iter().map(|t| Inferred {
            pid: t.pid,
            name: task_name(t.pid).unwrap_or_default(),
            cpu: t.cpu,
            budget_ns: t.budget.0,
            period_ns: t.period.0,
        });
        let mut inferred: Vec<Inferred> = inferred.collect();
        inferred.sort_by(|a, b| b.budget_ns.cmp(&a.budget_ns).then(a.pid.cmp(&b.pid)));
        Status {
            version: STATUS_VERSION,
            policy: status.policy.clone(),
            overheads: Overheads {
                switch_ns: status.overheads.switch.0,
                release_ns: status.overheads.release.0,
                per_job_ns: status.overheads.per_job().0,
            },
            options: status.options.iter().map(|(o, v)| ((*o).into(), v.to_string())).collect(),
            cpus: cpus.collect(),
            reservations: reservations.collect(),
            inferred,
            unaccounted: status.unaccounted,
            misplaced_runs: status.misplaced_runs,
            cpu_max: Vec::new(),
        }
    }

    fn cpu_max(quota: cpu::Quota) -> CpuMax {
        let (runtime_ns, period_ns) = (quota.runtime.0, quota.period.0);
        CpuMax { group: quota.group, runtime_ns, period_ns }
    }

    /// Limits of control groups, which the kernel does not enforce for this scheduler.
    pub fn limits() -> Vec<CpuMax> {
        cpu::quotas().into_iter().map(cpu_max).collect()
    }
}

#[cfg(not(feature = "kernel"))]
mod disabled {
    use std::time::Duration;

    use laxity_cpu::Reservation;
    use laxity_kernel::cpu::record::Event;
    use laxity_kernel::cpu::{Policy, ReservationBackend};

    use crate::failure::Failure;
    use crate::live::cpu::status::{CpuMax, Status};

    pub fn up(_: &Policy) -> Result<Option<&'static str>, Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub fn up_recorded(_: &Policy, _: Duration) -> Result<(), Failure> {
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

    pub fn limits() -> Vec<CpuMax> {
        Vec::new()
    }

    pub fn reservation_backend() -> Result<(Box<dyn ReservationBackend>, Option<String>), Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub enum Recorder {}

    impl Recorder {
        pub fn open() -> Result<Recorder, Failure> {
            Failure::without_kernel_for_cpus()
        }

        pub fn record(
            &self,
            _: Option<Duration>,
            _: impl Fn() -> bool,
            _: impl FnMut(Event),
        ) -> Result<u64, Failure> {
            match *self {}
        }

        pub fn check_policy(&self) -> Result<(), Failure> {
            match *self {}
        }

        pub fn check(&self) -> Result<(), Failure> {
            match *self {}
        }
    }

    #[derive(Default)]
    pub struct StatusMonitor {}

    impl StatusMonitor {
        pub fn status(&mut self) -> Result<Status, Failure> {
            Failure::without_kernel_for_cpus()
        }
    }
}
