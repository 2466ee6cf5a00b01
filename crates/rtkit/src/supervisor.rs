//! Reservations of the threads that asked for real-time priority, from the request to their end.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use laxity_reserve::{Client, Code, Error, Request};

use crate::config::{Config, Parameters};
use crate::demand::{Bounds, Demand};
use crate::refusal::Refusal;
use crate::sys;
use crate::table::{Entry, Reserved, Table};
use crate::thread::{Thread, realtime_threads};

/// The interval at which demand is observed.
const INTERVAL: Duration = Duration::from_secs(1);
/// That interval after a reservation is made, when its runtime may be far too small.
const FIRST_INTERVAL: Duration = Duration::from_millis(100);
/// The number of those.
const FIRST_INTERVALS: u32 = 20;
/// The interval at which the server is asked whether a reservation is still there: it ends with the scheduler,
/// and with an affinity that rules its CPU out.
const QUERY_INTERVAL: Duration = Duration::from_secs(5);

/// The state of the service.
#[derive(Debug)]
pub struct Supervisor {
    config: Config,
    client: Client,
    start: Instant,
    table: Mutex<Table>,
    granted: Condvar,
    /// The number of short intervals to come.
    first_intervals: AtomicU32,
    exits: AtomicBool,
}

impl Supervisor {
    /// A supervisor that reserves with a client, which must be root's.
    pub fn new(config: Config, client: Client) -> Supervisor {
        Supervisor {
            config,
            client,
            start: Instant::now(),
            table: Mutex::default(),
            granted: Condvar::new(),
            first_intervals: AtomicU32::new(0),
            exits: AtomicBool::new(false),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Reserves for a thread of a user. A thread that has a reservation by its own request, or by its
    /// priority, keeps it. May block for seconds, since a reservation is answered once it is in force.
    ///
    /// # Errors
    /// The priority is out of range, another user owns the thread, the user has reached a limit, or the server
    /// of reservations refuses or cannot be reached.
    pub fn make_realtime(&self, user: u32, thread: Thread, priority: u32) -> Result<(), Refusal> {
        let parameters = self.config.parameters(priority)?;
        let (entry, is_new) = self.enter(user, thread)?;
        let mut reserved = entry.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = *reserved {
            let same = known.parameters.period == parameters.period;
            if same && known.in_force {
                return Ok(());
            }
            return self.replace(&entry, &mut reserved, known, parameters);
        }
        match self.request(&entry, parameters) {
            Ok(()) => {
                let demand = Demand::default();
                *reserved = Some(Reserved { parameters, in_force: true, demand });
                // Another request for the thread, refused meanwhile, may have removed it.
                self.table().keep(&entry);
                self.first_intervals.store(FIRST_INTERVALS, Ordering::Relaxed);
                self.granted.notify_all();
                Ok(())
            }
            Err(error) => {
                // One of high priority still counts.
                if is_new {
                    self.table().remove(&entry);
                }
                match error.code() {
                    Some(Code::AlreadyReserved) => Ok(()),
                    _ => Err(error.into()),
                }
            }
        }
    }

    /// Another reservation in place of one that a thread has; on an error it has that one again, if it fits.
    fn replace(
        &self,
        entry: &Entry,
        reserved: &mut Option<Reserved>,
        known: Reserved,
        parameters: Parameters,
    ) -> Result<(), Refusal> {
        let result = self.release(entry).and_then(|()| self.request(entry, parameters));
        if is_reserved(&result) {
            let demand = Demand::default();
            *reserved = Some(Reserved { parameters, in_force: true, demand });
            return Ok(());
        }
        let in_force = is_reserved(&self.request(entry, known.parameters));
        *reserved = Some(Reserved { in_force, ..known });
        Ok(result?)
    }

    /// Gives a thread of a user a nice value, as RealtimeKit does.
    ///
    /// # Errors
    /// The value is out of range, another user owns the thread, the user has reached a limit, or the kernel
    /// refuses.
    pub fn make_high_priority(&self, user: u32, thread: Thread, nice: i32) -> Result<(), Refusal> {
        self.config.check_nice(nice)?;
        let (entry, is_new) = self.enter(user, thread)?;
        let (process, tid) = (entry.thread.process, entry.thread.tid);
        let result = sys::set_nice(tid, nice);
        // The thread may have ended, and its id belong to another one.
        let still = entry.thread.is_owned_by(user);
        if result.is_ok() && !still {
            let _ = sys::set_nice(tid, 0);
        }
        match result {
            Ok(()) if still => {
                // Another request for the thread, refused meanwhile, may have removed it.
                self.table().keep(&entry);
                Ok(())
            }
            result => {
                if is_new {
                    self.table().remove(&entry);
                }
                let failed = |e| Refusal::failed(format!("thread {tid} of process {process}: {e}"));
                result.map_err(failed).and(Err(Refusal::no_thread(process, tid)))
            }
        }
    }

    /// Ends all reservations that this service has made, and returns all nice values that it has given to 0.
    ///
    /// # Errors
    /// The server of reservations cannot be reached, or refuses. The service then keeps looking after those threads.
    pub fn reset_known(&self) -> Result<(), Refusal> {
        let entries = self.table().entries();
        let results = entries.iter().map(|entry| {
            let mut reserved = entry.reserved.lock().unwrap_or_else(PoisonError::into_inner);
            if reserved.is_some() {
                self.release(entry)?;
                *reserved = None;
            }
            self.table().remove(entry);
            if entry.thread.is_owned_by(entry.user) {
                // It may end now.
                let _ = sys::set_nice(entry.thread.tid, 0);
            }
            Ok(())
        });
        results.collect::<Vec<Result<(), Error>>>().into_iter().collect::<Result<(), Error>>()?;
        Ok(())
    }

    /// The same, and all users' threads of `SCHED_FIFO` and `SCHED_RR` return to the default policy; root's stay.
    ///
    /// # Errors
    /// As for [`reset_known`](Supervisor::reset_known).
    pub fn reset_all(&self) -> Result<(), Refusal> {
        let known = self.reset_known();
        for thread in realtime_threads() {
            if thread.user().is_some_and(|user| user != 0) {
                let _ = sys::set_nice(thread.tid, 0);
            }
        }
        known
    }

    /// Notes that the service ends on request.
    pub fn exit(&self) {
        self.exits.store(true, Ordering::Relaxed);
    }

    /// Whether the service ends on request.
    pub fn exits(&self) -> bool {
        self.exits.load(Ordering::Relaxed)
    }

    /// Observes demand, changes reservations and makes lost ones again, for ever.
    pub fn run(&self) -> ! {
        let mut query = Duration::ZERO;
        loop {
            let table = self.table();
            let idle = |table: &mut Table| table.entries().is_empty();
            drop(self.granted.wait_while(table, idle));
            let left = self.first_intervals.load(Ordering::Relaxed);
            self.first_intervals.store(left.saturating_sub(1), Ordering::Relaxed);
            std::thread::sleep(if left > 0 { FIRST_INTERVAL } else { INTERVAL });
            let now = self.start.elapsed();
            let is_due = now >= query;
            if is_due {
                query = now + QUERY_INTERVAL;
            }
            self.refine(now, is_due);
        }
    }

    /// Takes in what each thread has used until a time since the start of the service, and adjusts its
    /// reservation. With `query` it asks the server first whether that is still there.
    pub fn refine(&self, now: Duration, query: bool) {
        let entries = {
            let mut table = self.table();
            table.purge(Instant::now(), &self.config.limits);
            table.entries()
        };
        for entry in entries {
            let mut reserved = entry.reserved.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(known) = reserved.as_mut() else { continue };
            let is_own = self.refine_one(&entry, known, now, query);
            if !is_own {
                *reserved = None;
            }
        }
    }

    /// Returns whether the reservation still is this service's: a thread may have made another one for itself.
    fn refine_one(
        &self,
        entry: &Entry,
        reserved: &mut Reserved,
        now: Duration,
        query: bool,
    ) -> bool {
        let Ok(usage) = entry.thread.usage() else { return true };
        let own = reserved.parameters;
        if query || !reserved.in_force {
            match self.found(entry, own) {
                Ok(Found::Other) => return false,
                Ok(found) => reserved.in_force = found == Found::Own,
                // Without a server nothing is known; the reservation is the scheduler's.
                Err(Error::Refused(_)) => reserved.in_force = false,
                Err(_) => return true,
            }
        }
        if !reserved.in_force {
            reserved.in_force = self.request(entry, own).is_ok();
            return true;
        }
        let bounds = Bounds {
            start_runtime: self.config.start_runtime(own.period),
            max_runtime: own.period * self.config.max_percent / 100,
            max_job: self.config.rttime_max,
        };
        if let Some(runtime) = reserved.demand.observe(now, usage, own, bounds) {
            match self.found(entry, own) {
                Ok(Found::Other) => return false,
                _ => self.resize(entry, reserved, now, runtime),
            }
        }
        true
    }

    /// What the server knows of a thread that this service has reserved for.
    fn found(&self, entry: &Entry, own: Parameters) -> Result<Found, Error> {
        let state = self.client.query(Some(entry.thread.tid))?;
        let ns = Duration::from_nanos;
        Ok(state.reservation.map_or(Found::None, |found| {
            let same = (ns(found.runtime_ns), ns(found.period_ns)) == (own.runtime, own.period);
            if same { Found::Own } else { Found::Other }
        }))
    }

    /// Changes a runtime. A larger one that does not fit becomes what fits, or stays.
    fn resize(&self, entry: &Entry, reserved: &mut Reserved, now: Duration, runtime: Duration) {
        let own = reserved.parameters;
        if self.release(entry).is_err() {
            return;
        }
        let mut result = self.request(entry, Parameters { runtime, ..own });
        reserved.parameters.runtime = runtime;
        if let Err(error) = &result {
            reserved.demand.refused(now);
            let fits = error.max_runtime().filter(|fits| *fits > own.runtime && *fits < runtime);
            reserved.parameters.runtime = fits.unwrap_or(own.runtime);
            result = self.request(entry, reserved.parameters);
        }
        reserved.in_force = is_reserved(&result);
    }

    fn enter(&self, user: u32, thread: Thread) -> Result<(Arc<Entry>, bool), Refusal> {
        match thread.user() {
            Some(owner) if owner == user => {}
            Some(_) => {
                let text = format!("process {} belongs to another user", thread.process);
                return Err(Refusal::denied(text));
            }
            None => return Err(Refusal::no_thread(thread.process, thread.tid)),
        }
        self.table().enter(Instant::now(), user, thread, &self.config.limits)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, entry: &Entry, parameters: Parameters) -> Result<(), Error> {
        let tid = entry.thread.tid;
        let request = Request::new(parameters.runtime, parameters.period);
        self.client.reserve(&request.for_task(tid).for_user(entry.user))?;
        // The server grants it to the user's own threads only; this one may have ended, and its id belong to
        // another one.
        if !entry.thread.is_owned_by(entry.user) {
            let _ = self.client.release(Some(tid));
        }
        Ok(())
    }

    /// Ends the reservation of a thread; one that is not there has ended.
    fn release(&self, entry: &Entry) -> Result<(), Error> {
        match self.client.release(Some(entry.thread.tid)) {
            Err(error) if error.code() == Some(Code::NotReserved) => Ok(()),
            result => result,
        }
    }
}

/// A thread's reservation, by the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    None,
    /// As this service has made it.
    Own,
    /// Another one, by the thread or for it.
    Other,
}

/// Whether a thread has a reservation after a request for one.
fn is_reserved(result: &Result<(), Error>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) => error.code() == Some(Code::AlreadyReserved),
    }
}
