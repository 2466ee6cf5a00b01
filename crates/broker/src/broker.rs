//! One request of one peer.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

use laxity_core::Span;
use laxity_cpu::Reservation;
use laxity_kernel::cpu::{Attempt, CpuError, Keeper, SETTLING, Wish, settle};
use laxity_reserve::protocol::{
    About, Answer, Code, Held, Refusal, Released, Request, Reserve, Reserved, State,
};
use nix::sys::socket::{getsockopt, sockopt};

use crate::counts::Counts;
use crate::share::Rules;
use crate::task::{Task, no_task};

/// How long it is waited for what the scheduler does a little later.
const STEP: Duration = Duration::from_millis(50);

/// Who asks: what the kernel noted when the connection was made.
#[derive(Debug)]
pub struct Peer {
    /// The user.
    pub user: u32,
    /// The process, where it is one that this server sees.
    process: Option<Task>,
}

impl Peer {
    /// The peer of a connection.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn of(stream: &UnixStream) -> io::Result<Peer> {
        let credentials = getsockopt(stream, sockopt::PeerCredentials)?;
        let user = credentials.uid();
        // Zero for those in namespaces that are not below ours. The process that connected may have ended and
        // its number have gone to another: one of the same user may as well ask itself.
        let pid = u32::try_from(credentials.pid()).ok().filter(|pid| *pid > 0);
        let process = pid.and_then(|pid| Task::open(pid).ok()).filter(|task| task.is_of(user));
        Ok(Peer { user, process })
    }

    /// The task that is meant, if the peer may decide about it.
    fn task(&self, number: Option<u32>) -> Result<Task, Refusal> {
        let unseen = || Refusal::new(Code::NoTask, "your process is not seen from here");
        let process = self.process.as_ref().ok_or_else(unseen)?;
        let number_of_own = process.pid;
        let task = match number {
            Some(number) => process.named_by(number),
            None => Task::open(number_of_own).ok(),
        };
        let number = number.unwrap_or(number_of_own);
        task.filter(|task| task.is_of(self.user)).ok_or_else(|| no_task(number))
    }
}

/// Decides about requests, one at a time.
pub struct Broker {
    rules: Rules,
    keeper: Mutex<Box<dyn Keeper>>,
    /// What was asked.
    pub counts: Counts,
}

impl Broker {
    /// For a scheduler.
    pub fn new(rules: Rules, keeper: Box<dyn Keeper>) -> Broker {
        Broker { rules, keeper: Mutex::new(keeper), counts: Counts::default() }
    }

    /// Performs a request. May take seconds: reservations are answered when they are in force.
    pub fn perform(&self, peer: &Peer, request: &Request) -> Answer {
        let answer = match request {
            Request::Reserve(asked) => self.reserve(peer, asked),
            Request::Query(about) => self.query(peer, about),
            Request::Release(about) => self.release(peer, about),
        };
        answer.unwrap_or_else(Answer::Refused)
    }

    fn keeper(&self) -> MutexGuard<'_, Box<dyn Keeper>> {
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reserve(&self, peer: &Peer, asked: &Reserve) -> Result<Answer, Refusal> {
        let task = peer.task(asked.task)?;
        let reservation = Reservation::new(Span(asked.runtime_ns), Span(asked.period_ns));
        let wish = Wish { pid: task.pid, reservation, inherit: asked.inherit, owner: peer.user };
        // Others are served while this one waits.
        let cpu = settle(|patient| self.attempt(peer, &task, &wish, patient))?
            .ok_or_else(|| self.rules.explain(&CpuError::Settling, peer.user))?;
        Ok(Answer::Reserved(Reserved {
            cpu,
            runtime_ns: asked.runtime_ns,
            period_ns: asked.period_ns,
        }))
    }

    fn attempt(
        &self,
        peer: &Peer,
        task: &Task,
        wish: &Wish,
        patient: bool,
    ) -> Result<Attempt, Refusal> {
        let explain = |error: CpuError| self.rules.explain(&error, peer.user);
        let mut keeper = self.keeper();
        let table = keeper.table().map_err(explain)?;
        let allowed = keeper.allowed(wish.pid).map_err(|_| no_task(wish.pid))?;
        // Said first, or a client that asks twice would hear of shares.
        if keeper.find(wish.pid).map_err(explain)?.is_some() {
            return Err(explain(CpuError::HasOne));
        }
        self.rules.decide(&table, peer.user, wish.reservation, &allowed)?;
        // Since it was looked at, much time may have passed.
        if !task.is_of(peer.user) {
            return Err(no_task(wish.pid));
        }
        let attempt = keeper.attempt(wish, patient).map_err(explain)?;
        // Others are served while this one waits.
        drop(keeper);
        // Its number may have become another task's meanwhile.
        if !task.is_of(peer.user) {
            let _ = patiently(|| self.keeper().release(wish.pid));
            return Err(no_task(wish.pid));
        }
        Ok(attempt)
    }

    fn query(&self, peer: &Peer, about: &About) -> Result<Answer, Refusal> {
        let explain = |error: CpuError| self.rules.explain(&error, peer.user);
        let task = peer.task(about.task)?;
        let mut keeper = self.keeper();
        let table = keeper.table().map_err(explain)?;
        let found = keeper.find(task.pid).map_err(explain)?;
        let reservation = found.map(|found| Held {
            cpu: found.held.cpu,
            runtime_ns: found.held.reservation.budget.0,
            period_ns: found.held.reservation.period.0,
            inherit: found.inherited,
            tasks: found.tasks,
            late: found.deadline_misses,
            latest_ns: found.max_lateness_ns,
        });
        Ok(Answer::State(State { reservation, share: self.rules.of(&table, peer.user) }))
    }

    fn release(&self, peer: &Peer, about: &About) -> Result<Answer, Refusal> {
        let task = peer.task(about.task)?;
        // Others are served while this one waits.
        let ended = patiently(|| {
            let mut keeper = self.keeper();
            if !task.is_of(peer.user) {
                return Err(CpuError::NoTask { pid: task.pid });
            }
            keeper.release(task.pid)
        });
        ended.map_err(|error| self.rules.explain(&error, peer.user))?;
        Ok(Answer::Released(Released {}))
    }
}

/// Tries to release again and again what is not in force yet.
fn patiently(mut release: impl FnMut() -> Result<(), CpuError>) -> Result<(), CpuError> {
    for _ in 1..SETTLING {
        match release() {
            Err(CpuError::Pending) => sleep(STEP),
            ended => return ended,
        }
    }
    release()
}
