//! The threads that the service looks after, and the limits of users.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::config::Parameters;
use crate::demand::Demand;
use crate::refusal::Refusal;
use crate::thread::Thread;

/// Limits of requests. The defaults are RealtimeKit's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Users at a time.
    pub users: usize,
    /// Processes of a user at a time.
    pub processes_per_user: usize,
    /// Threads of a user at a time.
    pub threads_per_user: usize,
    /// Requests of a user in a burst.
    pub requests_per_burst: u32,
    /// The length of a burst, from its first request.
    pub burst: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            users: 2048,
            processes_per_user: 15,
            threads_per_user: 25,
            requests_per_burst: 25,
            burst: Duration::from_secs(20),
        }
    }
}

/// A thread that was granted something, or whose request is being handled.
#[derive(Debug)]
pub(crate) struct Entry {
    pub user: u32,
    pub thread: Thread,
    /// Its reservation; `None` for a thread of high priority. Locked while the server is asked for it.
    pub reserved: Mutex<Option<Reserved>>,
}

/// A reservation that the service has made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reserved {
    pub parameters: Parameters,
    /// Whether it was in force when the service last saw it.
    pub in_force: bool,
    pub demand: Demand,
}

#[derive(Debug)]
struct User {
    burst_start: Instant,
    requests: u32,
    entries: Vec<Arc<Entry>>,
}

/// All entries, by user.
#[derive(Debug, Default)]
pub(crate) struct Table {
    users: BTreeMap<u32, User>,
}

impl Table {
    /// Counts a request of a user and returns the entry of its thread, a new one if it has none; and whether it is new.
    pub fn enter(
        &mut self,
        now: Instant,
        user: u32,
        thread: Thread,
        limits: &Limits,
    ) -> Result<(Arc<Entry>, bool), Refusal> {
        if !self.users.contains_key(&user) && self.users.len() >= limits.users {
            self.purge(now, limits);
            if self.users.len() >= limits.users {
                return Err(Refusal::denied("too many users have real-time threads"));
            }
        }
        let fresh = || User { burst_start: now, requests: 0, entries: Vec::new() };
        let own = self.users.entry(user).or_insert_with(fresh);
        own.purge();
        if now.duration_since(own.burst_start) >= limits.burst {
            (own.burst_start, own.requests) = (now, 0);
        }
        if own.requests >= limits.requests_per_burst {
            return Err(Refusal::denied("your user has made too many requests; try again later"));
        }
        own.requests += 1;
        if let Some(known) = own.entries.iter().find(|e| e.thread.tid == thread.tid) {
            return Ok((Arc::clone(known), false));
        }
        if own.entries.len() >= limits.threads_per_user {
            return Err(Refusal::denied("your user has too many real-time threads"));
        }
        let mut processes: Vec<u32> = own.entries.iter().map(|e| e.thread.process).collect();
        processes.push(thread.process);
        processes.sort_unstable();
        processes.dedup();
        if processes.len() > limits.processes_per_user {
            return Err(Refusal::denied("your user has too many processes with real-time threads"));
        }
        let entry = Arc::new(Entry { user, thread, reserved: Mutex::new(None) });
        own.entries.push(Arc::clone(&entry));
        Ok((entry, true))
    }

    /// Puts an entry back that was removed.
    pub fn keep(&mut self, entry: &Arc<Entry>) {
        if let Some(user) = self.users.get_mut(&entry.user) {
            if !user.entries.iter().any(|other| Arc::ptr_eq(other, entry)) {
                user.entries.push(Arc::clone(entry));
            }
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, entry: &Arc<Entry>) {
        if let Some(user) = self.users.get_mut(&entry.user) {
            user.entries.retain(|other| !Arc::ptr_eq(other, entry));
        }
    }

    /// Removes threads that have ended, and users without threads whose burst is over.
    pub fn purge(&mut self, now: Instant, limits: &Limits) {
        self.users.retain(|_, user| {
            user.purge();
            !user.entries.is_empty() || now.duration_since(user.burst_start) < limits.burst
        });
    }

    /// All entries.
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.users.values().flat_map(|user| user.entries.iter().cloned()).collect()
    }
}

impl User {
    fn purge(&mut self) {
        self.entries.retain(|entry| entry.thread.user().is_some());
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A process that ends when this is dropped.
    struct Process(Child);

    impl Process {
        fn start() -> Process {
            Process(Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat"))
        }

        fn thread(&self) -> Thread {
            Thread::open(self.0.id(), self.0.id()).expect("its thread")
        }
    }

    impl Drop for Process {
        fn drop(&mut self) {
            drop(self.0.stdin.take());
            let _ = self.0.wait();
        }
    }

    #[track_caller]
    fn refused(result: Result<(Arc<Entry>, bool), Refusal>, why: &str) {
        match result {
            Err(Refusal::AccessDenied(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{other:?}"),
        }
    }

    /// Fails when a limit is off by one, when ended threads count, when a thread counts twice, or when users
    /// share a limit.
    #[test]
    fn users_have_limits() {
        let limits = Limits {
            users: 2,
            processes_per_user: 2,
            threads_per_user: 3,
            requests_per_burst: 100,
            ..Limits::default()
        };
        let now = Instant::now();
        let mut table = Table::default();
        let processes = [(); 3].map(|()| Process::start());
        let [a, b, c] = processes.each_ref();
        let (first, is_new) = table.enter(now, 1, a.thread(), &limits).expect("first");
        assert!(is_new);
        let (again, is_new) = table.enter(now, 1, a.thread(), &limits).expect("again");
        assert!(Arc::ptr_eq(&first, &again) && !is_new);
        table.enter(now, 1, b.thread(), &limits).expect("second");
        refused(table.enter(now, 1, c.thread(), &limits), "too many processes");
        table.enter(now, 2, c.thread(), &limits).expect("another user");
        refused(table.enter(now, 3, c.thread(), &limits), "too many users");
        // A process with several threads.
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let (tids, tid) = std::sync::mpsc::channel();
        let stopped = Arc::new(Mutex::new(stopped));
        for _ in 0..2 {
            let (tids, stopped) = (tids.clone(), Arc::clone(&stopped));
            std::thread::spawn(move || {
                tids.send(laxity_reserve::current_tid()).expect("a receiver");
                let _ = stopped.lock().map(|stopped| stopped.recv());
            });
        }
        let own = std::process::id();
        let threads = [(); 2].map(|()| Thread::open(own, tid.recv().expect("an id")));
        let [third, fourth] = threads.map(|thread| thread.expect("a thread"));
        table.remove(&first);
        table.enter(now, 1, third, &limits).expect("third");
        refused(table.enter(now, 1, c.thread(), &limits), "too many processes");
        let more = Limits { threads_per_user: 2, ..limits };
        refused(table.enter(now, 1, fourth, &more), "too many real-time threads");
        drop(stop);

        let [_, b, c] = processes;
        drop(b);
        assert!(table.enter(now, 1, c.thread(), &limits).is_ok(), "the ended process counts");
        assert_eq!(table.entries().iter().filter(|e| e.user == 2).count(), 1);
        drop(c);
        table.purge(now + limits.burst, &limits);
        assert!(table.entries().iter().all(|e| e.user == 1));
        assert!(!table.users.contains_key(&2), "a user without threads remains");
    }

    /// Fails when a user has more requests in a burst, or none after it.
    #[test]
    fn floods_end_with_the_burst() {
        let limits = Limits { requests_per_burst: 3, ..Limits::default() };
        let now = Instant::now();
        let mut table = Table::default();
        let process = Process::start();
        for _ in 0..3 {
            table.enter(now, 1, process.thread(), &limits).expect("within the burst");
        }
        let later = now + limits.burst - Duration::from_millis(1);
        refused(table.enter(later, 1, process.thread(), &limits), "too many requests");
        // Nor does a burst end by being forgotten.
        table.purge(later, &limits);
        refused(table.enter(later, 1, process.thread(), &limits), "too many requests");
        table.enter(now + limits.burst, 1, process.thread(), &limits).expect("the next burst");
    }
}
