//! One request, one connection, one answer.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::SendFlags;
use serde_json::from_slice;

use crate::error::Error;
use crate::protocol::{
    About, Answer, Call, LONGEST, Reply, Reserve, Reserved, SOCKET, SOCKET_VARIABLE, State,
    VERSION, line,
};
use crate::{protocol, this_thread};

/// How long an answer may take. Reservations are answered when they are in force, for which best
/// effort may have to give back seconds that it used ahead.
const PATIENCE: Duration = Duration::from_secs(60);

/// CPU time that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    task: Option<u32>,
    runtime: Duration,
    period: Duration,
    inherit: bool,
}

impl Request {
    /// So much CPU time in every period, for the calling thread.
    pub fn new(runtime: Duration, period: Duration) -> Request {
        Request { task: None, runtime, period, inherit: false }
    }

    /// For another thread, by its number: that of [`this_thread`] there, or that of a process for
    /// its first thread.
    #[must_use]
    pub fn for_task(self, task: u32) -> Request {
        Request { task: Some(task), ..self }
    }

    /// Threads and processes that the task starts from then on share the reservation.
    #[must_use]
    pub fn inherited(self) -> Request {
        Request { inherit: true, ..self }
    }
}

/// Asks the server of this machine.
#[derive(Clone, Debug)]
pub struct Client {
    path: PathBuf,
}

impl Client {
    /// At the socket that `LAXITY_CPU_SOCKET` names, or else [`SOCKET`].
    ///
    /// # Errors
    /// Nobody listens there, or the caller may not ask.
    pub fn connect() -> Result<Client, Error> {
        Client::at(Client::later().path)
    }

    /// The same without a connection: the first request finds out whether anybody listens. For who
    /// asks once and goes, since each connection counts.
    pub fn later() -> Client {
        let named = std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty());
        Client { path: named.map_or_else(|| PathBuf::from(SOCKET), PathBuf::from) }
    }

    /// At a socket.
    ///
    /// # Errors
    /// Nobody listens there, or the caller may not ask.
    pub fn at(path: impl Into<PathBuf>) -> Result<Client, Error> {
        let client = Client { path: path.into() };
        client.stream().map(|_| client)
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reserves, and comes back when the reservation is in force. It ends with the last of its
    /// tasks, or by [`release`](Client::release).
    ///
    /// # Errors
    /// It is refused, with what would fit; or the server cannot be asked.
    pub fn reserve(&self, asked: &Request) -> Result<Reserved, Error> {
        // What does not fit into the number does not fit into a CPU either, and the server says so.
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let request = protocol::Request::Reserve(Reserve {
            task: Some(asked.task.unwrap_or_else(this_thread)),
            runtime_ns: ns(asked.runtime),
            period_ns: ns(asked.period),
            inherit: asked.inherit,
        });
        match self.ask(request)? {
            Answer::Reserved(reserved) => Ok(reserved),
            other => Err(unexpected(&other)),
        }
    }

    /// What a task has, the calling thread for `None`, and what its user may still have.
    ///
    /// # Errors
    /// There is no such task of the caller's, or the server cannot be asked.
    pub fn query(&self, task: Option<u32>) -> Result<State, Error> {
        let task = Some(task.unwrap_or_else(this_thread));
        match self.ask(protocol::Request::Query(About { task }))? {
            Answer::State(state) => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the reservation of a task, the calling thread for `None`: it goes on as best effort.
    ///
    /// # Errors
    /// It has none, there is no such task of the caller's, or the server cannot be asked.
    pub fn release(&self, task: Option<u32>) -> Result<(), Error> {
        let task = Some(task.unwrap_or_else(this_thread));
        match self.ask(protocol::Request::Release(About { task }))? {
            Answer::Released(_) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn stream(&self) -> Result<UnixStream, Error> {
        let unreachable = |error| Error::Unreachable { path: self.path.clone(), error };
        let stream = UnixStream::connect(&self.path).map_err(unreachable)?;
        let times = stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.set_write_timeout(Some(PATIENCE)));
        times.map(|()| stream).map_err(unreachable)
    }

    /// The answer, refusals being errors.
    fn ask(&self, request: protocol::Request) -> Result<Answer, Error> {
        let stream = self.stream()?;
        let interrupted = |error| Error::Interrupted { path: self.path.clone(), error };
        // A server that has no time for this user says so without reading: its answer counts even
        // where writing failed.
        let written = send(&stream, &line(&Call { version: VERSION, request }));
        let mut answer = Vec::new();
        let read = BufReader::new(stream).take(LONGEST as u64).read_until(b'\n', &mut answer);
        if answer.last() != Some(&b'\n') {
            let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(interrupted(read.err().or(written.err()).unwrap_or_else(cut)));
        }
        match from_slice::<Reply>(&answer) {
            Ok(Reply { answer: Answer::Refused(refusal), .. }) => Err(Error::Refused(refusal)),
            Ok(reply) => Ok(reply.answer),
            Err(error) => {
                Err(Error::Answer(format!("{}: {error}", String::from_utf8_lossy(&answer).trim())))
            }
        }
    }
}

/// Writes all of it. A program in C would be ended by a signal if the server hung up; Rust's own library
/// prevents that in later versions only.
fn send(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(stream, bytes, SendFlags::NOSIGNAL) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn unexpected(answer: &Answer) -> Error {
    Error::Answer(format!("{answer:?}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::protocol::Code;

    /// A server that answers each connection with one of some texts, and then is gone.
    fn server(
        name: &str,
        answers: &'static [&'static str],
    ) -> (PathBuf, std::thread::JoinHandle<Vec<String>>) {
        let path = std::env::temp_dir().join(format!("laxity-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("a socket");
        let thread = std::thread::spawn(move || {
            let mut asked = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).expect("a line");
                asked.push(line);
                stream.write_all(answer.as_bytes()).expect("a reader");
            }
            asked
        });
        (path, thread)
    }

    /// Fails when the caller's thread is not named, a refusal is taken for an answer, or an answer
    /// that is cut, strange or to another question is believed.
    #[test]
    fn answers_are_taken_for_what_they_are() {
        let (path, thread) = server(
            "client",
            &[
                "",
                "{\"version\":1,\"answer\":{\"reserved\":{\"cpu\":3,\"runtime_ns\":4,\"period_ns\":9,\"more\":1}}}\n",
                "{\"version\":1,\"answer\":{\"refused\":{\"code\":\"no-room\",\"text\":\"full\",\"fits_ns\":7}}}\n",
                "{\"version\":1,\"answer\":{\"refused\":{\"code\":\"newer\",\"text\":\"new\"}}}\n",
                "{\"version\":1,\"answer\":{\"released\":{}}}\n",
                "{\"version\":1,\"answer\":{\"relea",
                "nonsense\n",
            ],
        );
        let client = Client::at(&path).expect("a server");
        let asked = Request::new(Duration::from_nanos(4), Duration::MAX).inherited();
        assert_eq!(client.reserve(&asked).expect("granted").cpu, 3);
        let refused = client.reserve(&asked.for_task(5)).expect_err("refused");
        assert_eq!(refused.code(), Some(Code::NoRoom));
        assert_eq!(refused.fits(), Some(Duration::from_nanos(7)));
        assert_eq!(refused.to_string(), "full");
        assert_eq!(client.release(None).expect_err("refused").code(), Some(Code::Unknown));
        assert!(matches!(client.query(None), Err(Error::Answer(_))));
        assert!(matches!(client.query(None), Err(Error::Interrupted { .. })));
        assert!(matches!(client.query(None), Err(Error::Answer(_))));
        let asked = thread.join().expect("a server");
        let me = this_thread();
        let most = u64::MAX;
        let expected = format!(
            "{{\"version\":1,\"request\":{{\"reserve\":{{\"task\":{me},\"runtime_ns\":4,\
             \"period_ns\":{most},\"inherit\":true}}}}}}\n"
        );
        assert_eq!(asked[1], expected);
        assert!(asked[2].contains("\"task\":5"), "{}", asked[2]);

        let gone = client.query(None).expect_err("nobody");
        assert!(gone.to_string().contains("laxity cpu serve"), "{gone}");
        let _ = std::fs::remove_file(&path);
    }
}
