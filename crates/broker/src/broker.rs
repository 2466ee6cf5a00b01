//! Handling of one request of one peer.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use laxity_core::Span;
use laxity_cpu::Reservation;
use laxity_kernel::cpu::{
    CpuError, MAX_ATTEMPTS, ReservationBackend, ReservationRequest, ReserveOutcome,
    reserve_with_retry,
};
use laxity_reserve::protocol::{
    Answer, Code, Grant, Refusal, Released, Request, ReservationStatus, Reserve, State, Target,
};
use nix::sys::socket::{getsockopt, sockopt};

use crate::request_counters::RequestCounters;
use crate::share::UserLimits;
use crate::task::{Task, no_task};

/// Interval between attempts to release a reservation that is not in force yet, or to reserve after a grant was taken
/// back.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The client of a connection, by the credentials that the kernel recorded at `connect(2)`.
#[derive(Debug)]
pub struct Peer {
    /// The user.
    pub user: u32,
    /// The process; `None` if the PID namespace of this server does not contain it.
    process: Option<Task>,
}

impl Peer {
    /// The peer of a connection.
    ///
    /// # Errors
    /// The kernel returns no credentials.
    pub fn from_stream(stream: &UnixStream) -> io::Result<Peer> {
        let credentials = getsockopt(stream, sockopt::PeerCredentials)?;
        let user = credentials.uid();
        // The PID is zero for peers outside of our namespace. The process may have ended and its PID have
        // been reused: a process of the same user gains nothing, since it may send requests itself.
        let pid = u32::try_from(credentials.pid()).ok().filter(|pid| *pid > 0);
        let process = pid.and_then(|pid| Task::open(pid).ok());
        Ok(Peer { user, process: process.filter(|task| task.is_owned_by(user)) })
    }

    /// The task of a request, if the peer has authority over it.
    fn task(&self, tid: Option<u32>) -> Result<Task, Refusal> {
        let outside =
            || Refusal::new(Code::NoTask, "your process is outside of the server's PID namespace");
        let process = self.process.as_ref().ok_or_else(outside)?;
        let task = match tid {
            Some(tid) => process.resolve(tid),
            None => Task::open(process.pid).ok(),
        };
        let tid = tid.unwrap_or(process.pid);
        task.filter(|task| task.is_owned_by(self.user)).ok_or_else(|| no_task(tid))
    }
}

/// Handles requests, one decision at a time.
pub struct Broker {
    limits: UserLimits,
    backend: Mutex<Box<dyn ReservationBackend>>,
    /// Counters of requests and connections.
    pub counters: RequestCounters,
}

impl Broker {
    /// A broker for a scheduler.
    pub fn new(limits: UserLimits, backend: Box<dyn ReservationBackend>) -> Broker {
        Broker { limits, backend: Mutex::new(backend), counters: RequestCounters::default() }
    }

    /// Handles a request. May block for seconds, since a reservation is answered once it is in force.
    pub fn handle(&self, peer: &Peer, request: &Request) -> Answer {
        let answer = match request {
            Request::Reserve(reserve) => self.reserve(peer, reserve),
            Request::Query(target) => self.query(peer, target),
            Request::Release(target) => self.release(peer, target),
        };
        answer.unwrap_or_else(Answer::Refused)
    }

    fn backend(&self) -> MutexGuard<'_, Box<dyn ReservationBackend>> {
        self.backend.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&self, peer: &Peer, reserve: &Reserve) -> Result<Answer, Refusal> {
        let owner = reserve.user.unwrap_or(peer.user);
        if owner != peer.user && peer.user != 0 {
            return Err(Refusal::new(Code::Invalid, "only root may reserve for another user"));
        }
        let task = peer.task(reserve.task)?;
        let request = ReservationRequest {
            pid: task.pid,
            reservation: Reservation::new(Span(reserve.runtime_ns), Span(reserve.period_ns)),
            inherit: reserve.inherit,
            owner,
        };
        // The lock is not held between attempts, so that other peers are served.
        let cpu = reserve_with_retry(|deferrable| self.try_reserve(&task, &request, deferrable))?
            .ok_or_else(|| self.limits.refusal(&CpuError::Draining, owner))?;
        Ok(Answer::Reserved(Grant {
            cpu,
            runtime_ns: reserve.runtime_ns,
            period_ns: reserve.period_ns,
        }))
    }

    fn try_reserve(
        &self,
        task: &Task,
        request: &ReservationRequest,
        deferrable: bool,
    ) -> Result<ReserveOutcome, Refusal> {
        let refuse = |error: CpuError| self.limits.refusal(&error, request.owner);
        let mut backend = self.backend();
        let table = backend.reservations().map_err(refuse)?;
        let allowed = backend.allowed_cpus(request.pid).map_err(|_| no_task(request.pid))?;
        // Checked before the share: a second request for the same task is refused for this reason.
        if backend.find(request.pid).map_err(refuse)?.is_some() {
            return Err(refuse(CpuError::AlreadyReserved));
        }
        self.limits.admit(&table, request.owner, request.reservation, &allowed)?;
        // The owner may have changed since the task was opened, or not be the user for whom root reserves.
        if !task.is_owned_by(request.owner) {
            return Err(no_task(request.pid));
        }
        let outcome = backend.try_reserve(request, deferrable).map_err(refuse)?;
        let is_placed = matches!(outcome, ReserveOutcome::Placed { .. });
        // Another server may have granted the user something since the table was read.
        let holds = |table| self.limits.hold(&table, request.owner);
        let exceeds = is_placed && !backend.reservations().map_or(true, holds);
        // Release the lock before the retries of a release below.
        drop(backend);
        // The PID may have been reused in the meantime.
        let is_owned = task.is_owned_by(request.owner);
        if is_owned && !exceeds {
            return Ok(outcome);
        }
        let released = release_with_retry(|| self.backend().release(request.pid));
        if !is_owned {
            return Err(no_task(request.pid));
        }
        // A grant that cannot be taken back yet stays, and is not reported as another try.
        released.map_err(refuse)?;
        Ok(ReserveOutcome::RetryAfter(RETRY_INTERVAL))
    }

    fn query(&self, peer: &Peer, target: &Target) -> Result<Answer, Refusal> {
        let refuse = |error: CpuError| self.limits.refusal(&error, peer.user);
        let task = peer.task(target.task)?;
        let mut backend = self.backend();
        let table = backend.reservations().map_err(refuse)?;
        let found = backend.find(task.pid).map_err(refuse)?;
        let reservation = found.map(|status| ReservationStatus {
            cpu: status.placed.cpu,
            runtime_ns: status.placed.requested().budget.0,
            period_ns: status.placed.reservation.period.0,
            inherit: status.inherited,
            tasks: status.tasks,
            deadline_misses: status.deadline_misses,
            max_lateness_ns: status.max_lateness_ns,
        });
        Ok(Answer::State(State { reservation, share: self.limits.usage(&table, peer.user) }))
    }

    fn release(&self, peer: &Peer, target: &Target) -> Result<Answer, Refusal> {
        let task = peer.task(target.task)?;
        // The lock is not held between attempts, so that other peers are served.
        let released = release_with_retry(|| {
            let mut backend = self.backend();
            if !task.is_owned_by(peer.user) {
                return Err(CpuError::NoTask { pid: task.pid });
            }
            backend.release(task.pid)
        });
        released.map_err(|error| self.limits.refusal(&error, peer.user))?;
        Ok(Answer::Released(Released {}))
    }
}

/// Retries a release while the reservation is not in force yet.
fn release_with_retry(mut release: impl FnMut() -> Result<(), CpuError>) -> Result<(), CpuError> {
    for _ in 1..MAX_ATTEMPTS {
        match release() {
            Err(CpuError::Pending) => sleep(RETRY_INTERVAL),
            result => return result,
        }
    }
    release()
}
