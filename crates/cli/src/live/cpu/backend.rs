//! Calls into the kernel's scheduler; a build without the feature `kernel` returns an error.

#[cfg(not(feature = "kernel"))]
pub use disabled::*;
#[cfg(feature = "kernel")]
pub use enabled::*;

#[cfg(feature = "kernel")]
mod enabled {
    use std::time::Duration;

    use laxity_core::OptionValue;
    use laxity_cpu::{Reservation, Share};
    use laxity_kernel::cpu::record::Event;
    use laxity_kernel::cpu::{self, CpuError, Overheads, ReservationBackend, SchedulerClient};

    use crate::failure::Failure;
    use crate::live::cpu::status::{
        self, CpuMax, CpuStatus, DeadlineServer, Inferred, ReservationStatus, STATUS_VERSION,
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
    pub fn up(
        policy: &str,
        settings: &[(String, OptionValue)],
        overheads: Option<Overheads>,
    ) -> Result<Option<&'static str>, Failure> {
        Ok(cpu::up(&configured(policy, settings, overheads)?)?)
    }

    /// Starts the scheduler, recorded for `length`; [`Recorder::record`] without a length gives the events.
    pub fn up_recorded(
        policy: &str,
        settings: &[(String, OptionValue)],
        overheads: Option<Overheads>,
        length: Duration,
    ) -> Result<(), Failure> {
        Ok(cpu::up_recorded(&configured(policy, settings, overheads)?, length)?)
    }

    fn configured(
        policy: &str,
        settings: &[(String, OptionValue)],
        overheads: Option<Overheads>,
    ) -> Result<cpu::Policy, CpuError> {
        let policy = cpu::Policy::configured(policy, settings)?;
        Ok(match overheads {
            Some(overheads) => policy.with_overheads(overheads),
            None => policy,
        })
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

    fn to_status(found: &cpu::Status) -> Status {
        let cpus = found.cpus.iter().map(|c| CpuStatus {
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
        let reservations = found.reservations.iter().map(|r| ReservationStatus {
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
        let inferred = found.inferred.iter().map(|t| Inferred {
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
            policy: found.policy.clone(),
            overheads: status::Overheads {
                switch_ns: found.overheads.switch.0,
                release_ns: found.overheads.release.0,
                per_job_ns: found.overheads.per_job().0,
            },
            options: found.options.iter().map(|(o, v)| ((*o).into(), v.to_string())).collect(),
            cpus: cpus.collect(),
            reservations: reservations.collect(),
            inferred,
            unaccounted: found.unaccounted,
            misplaced_runs: found.misplaced_runs,
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
    use laxity_kernel::cpu::{Overheads, ReservationBackend};

    use crate::failure::Failure;
    use crate::live::cpu::status::{CpuMax, Status};

    pub fn up(
        _: &str,
        _: &[(String, laxity_core::OptionValue)],
        _: Option<Overheads>,
    ) -> Result<Option<&'static str>, Failure> {
        Failure::without_kernel_for_cpus()
    }

    pub fn up_recorded(
        _: &str,
        _: &[(String, laxity_core::OptionValue)],
        _: Option<Overheads>,
        _: Duration,
    ) -> Result<(), Failure> {
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
