//! Actions: requests that compute or change something, by a thread of their own, so that pages and events go
//! on meanwhile.
//!
//! An action is a POST that says the secret of this server; a page of another site knows none, and its browser
//! names the site in `Origin`. One action runs at a time; a few wait, further ones are refused. One that waits is
//! given up with its connection; one that runs is finished.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

use super::Body;
use super::live::{Fields, is_own};

/// Actions that wait for the one that runs.
const WAITING: usize = 4;
/// The longest time from a request to its answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// The status of a fault inside.
pub(super) const BROKEN: &str = "500 Internal Server Error";
/// The reason after the thread has ended.
pub(super) const ENDED: &str = "the thread of the actions has ended";

/// Why an action was refused: a status of HTTP each, and a text that names the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The body cannot be understood, or asks for what is not possible (422).
    Input(String),
    /// The state of what it concerns is another than the request assumes (409).
    Conflict(String),
    /// The answer is no: not admitted, or occupied (403).
    Denied(String),
    /// This machine or program lacks something (501).
    Lacking(String),
    /// Something inside is broken (500).
    Internal(String),
}

impl Refusal {
    fn status(&self) -> &'static str {
        match self {
            Refusal::Input(_) => "422 Unprocessable Content",
            Refusal::Conflict(_) => "409 Conflict",
            Refusal::Denied(_) => "403 Forbidden",
            Refusal::Lacking(_) => "501 Not Implemented",
            Refusal::Internal(_) => BROKEN,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Input(text)
            | Refusal::Conflict(text)
            | Refusal::Denied(text)
            | Refusal::Lacking(text)
            | Refusal::Internal(text) => f.write_str(text),
        }
    }
}

type Act = Box<dyn FnMut(&str) -> Result<String, Refusal> + Send>;

/// A request with a bounded body, and what it does.
pub struct Action {
    path: &'static str,
    longest: usize,
    act: Act,
}

impl Action {
    /// An action at a path, on bodies of at most `longest` bytes. Answers are JSON.
    pub fn new(
        path: &'static str,
        longest: usize,
        act: impl FnMut(&str) -> Result<String, Refusal> + Send + 'static,
    ) -> Action {
        Action { path, longest, act: Box::new(act) }
    }
}

/// All actions of a server.
pub struct Actions {
    secret: String,
    actions: Vec<Action>,
    prepare: Box<dyn FnOnce() + Send>,
}

impl Actions {
    /// Actions of requests whose field `Laxity-Token` says `secret`. Their thread first calls `prepare`: it
    /// drops there the privileges that no action needs.
    pub fn new(
        secret: String,
        actions: Vec<Action>,
        prepare: impl FnOnce() + Send + 'static,
    ) -> Actions {
        Actions { secret, actions, prepare: Box::new(prepare) }
    }

    /// Their two ends: of the thread that serves, and of the one that acts.
    pub(super) fn split(self) -> io::Result<(Gate, Worker)> {
        let (wake, woken) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let (jobs, waiting) = sync_channel(WAITING);
        let (answers, done) = channel();
        let offered = self.actions.iter().map(|a| (a.path, a.longest)).collect();
        let gate = Gate { secret: self.secret, offered, jobs, done, woken: Some(woken), last: 0 };
        let prepare = self.prepare;
        Ok((gate, Worker { prepare, actions: self.actions, waiting, answers, wake }))
    }
}

struct Job {
    id: u64,
    action: usize,
    body: String,
    /// Whether nobody waits for the answer.
    abandoned: Arc<AtomicBool>,
}

/// An action that was handed over. Dropped before it runs, it does not run.
pub(super) struct Pending {
    id: u64,
    abandoned: Arc<AtomicBool>,
}

impl Pending {
    /// The number of its answer.
    pub fn id(&self) -> u64 {
        self.id
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
    }
}

/// The answer to a request.
pub(super) struct Done {
    pub id: u64,
    pub status: &'static str,
    pub body: Body,
}

/// The end of the thread that serves.
pub(super) struct Gate {
    secret: String,
    /// Path and longest body of each action.
    offered: Vec<(&'static str, usize)>,
    jobs: SyncSender<Job>,
    done: Receiver<Done>,
    /// Readable when an answer has come; none after the other thread has ended.
    pub woken: Option<UnixStream>,
    last: u64,
}

/// A request that is refused before an action sees it: status and reason.
pub(super) type Refused = (&'static str, String);

impl Gate {
    pub fn paths(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        self.offered.iter().map(|(path, _)| *path)
    }

    /// The longest body that any action takes.
    pub fn longest(&self) -> usize {
        self.offered.iter().map(|(_, longest)| *longest).max().unwrap_or(0)
    }

    /// The place of the action at a path, and its longest body.
    pub fn find(&self, path: &str) -> Option<(usize, usize)> {
        let place = self.offered.iter().position(|(offered, _)| *offered == path)?;
        Some((place, self.offered[place].1))
    }

    /// Hands a request over.
    pub fn submit(
        &mut self,
        action: usize,
        fields: &Fields<'_>,
        body: &str,
    ) -> Result<Pending, Refused> {
        let refused = |status, why: &str| Err((status, why.to_owned()));
        if !fields.get("origin").is_none_or(is_own) {
            return refused("403 Forbidden", "this request comes from the page of another site");
        }
        match fields.get("laxity-token") {
            None => {
                let why = "the token is missing; open the printed address";
                return refused("401 Unauthorized", why);
            }
            Some(token) if !same(token.as_bytes(), self.secret.as_bytes()) => {
                let why = "the token is that of another run; open the printed address";
                return refused("403 Forbidden", why);
            }
            Some(_) => {}
        }
        self.last += 1;
        let pending = Pending { id: self.last, abandoned: Arc::default() };
        let abandoned = Arc::clone(&pending.abandoned);
        match self.jobs.try_send(Job { id: pending.id, action, body: body.to_owned(), abandoned }) {
            Ok(()) => Ok(pending),
            Err(TrySendError::Full(_)) => {
                refused("503 Service Unavailable", "others are being answered; ask again")
            }
            Err(TrySendError::Disconnected(_)) => refused(BROKEN, ENDED),
        }
    }

    /// Whether no answer will come any more.
    pub fn has_ended(&self) -> bool {
        self.woken.is_none()
    }

    /// The answers that have come.
    pub fn answers(&mut self) -> Vec<Done> {
        // What is read says nothing but that there are some.
        let mut buffer = [0; 64];
        while let Some(bytes) = self.woken.as_mut().and_then(|w| w.read(&mut buffer).ok()) {
            if bytes == 0 {
                self.woken = None;
            }
        }
        self.done.try_iter().collect()
    }
}

/// The end of the thread that acts.
pub(super) struct Worker {
    prepare: Box<dyn FnOnce() + Send>,
    actions: Vec<Action>,
    waiting: Receiver<Job>,
    answers: Sender<Done>,
    wake: UnixStream,
}

impl Worker {
    /// Acts until the other end is dropped.
    pub fn run(mut self) {
        (self.prepare)();
        for Job { id, action, body, abandoned } in self.waiting {
            if abandoned.load(Ordering::Relaxed) {
                continue;
            }
            let done = match (self.actions[action].act)(&body) {
                Ok(text) => Done { id, status: "200 OK", body: Ok(text) },
                Err(why) => Done { id, status: why.status(), body: Err(why.to_string()) },
            };
            if self.answers.send(done).is_err() || self.wake.write_all(&[0]).is_err() {
                return;
            }
        }
    }
}

/// Compares in a time that does not tell how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}
