//! The client: one connection for each request.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::error::Error;
use crate::protocol::{
    Answer, Call, Code, Grant, MAX_LINE_BYTES, Reserve, SOCKET_PATH, SOCKET_VARIABLE, State,
    Target, VERSION, encode_line, parse_reply,
};
use crate::{current_tid, protocol};

/// Timeout of an answer. A reservation is answered once it is in force, which may take until best effort
/// has given back seconds that it used ahead.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A request for CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    task: Option<u32>,
    runtime: Duration,
    period: Duration,
    inherit: bool,
    user: Option<u32>,
}

impl Request {
    /// A runtime in every period, for the calling thread.
    pub fn new(runtime: Duration, period: Duration) -> Request {
        Request { task: None, runtime, period, inherit: false, user: None }
    }

    /// For another thread, by its thread id ([`current_tid`]); that of a process is its first thread.
    #[must_use]
    pub fn for_task(self, tid: u32) -> Request {
        Request { task: Some(tid), ..self }
    }

    /// Threads and processes that the task starts later share the reservation.
    #[must_use]
    pub fn inherited(self) -> Request {
        Request { inherit: true, ..self }
    }

    /// For a user, who must own the task and whose share it takes from: root's alone, for services that
    /// reserve for their clients.
    #[must_use]
    pub fn for_user(self, uid: u32) -> Request {
        Request { user: Some(uid), ..self }
    }
}

/// A client of the server of this machine.
#[derive(Clone, Debug)]
pub struct Client {
    path: PathBuf,
}

impl Client {
    /// Connects to the socket that `LAXITY_CPU_SOCKET` names, by default [`SOCKET_PATH`].
    ///
    /// # Errors
    /// No server listens, or the caller may not connect.
    pub fn connect() -> Result<Client, Error> {
        Client::connect_to(Client::unconnected().path)
    }

    /// A client that does not connect before its first request. Saves a connection for callers with a
    /// single request.
    pub fn unconnected() -> Client {
        let path = std::env::var_os(SOCKET_VARIABLE).filter(|path| !path.is_empty());
        Client::unconnected_to(path.map_or_else(|| PathBuf::from(SOCKET_PATH), PathBuf::from))
    }

    /// The same for a socket.
    pub fn unconnected_to(path: impl Into<PathBuf>) -> Client {
        Client { path: path.into() }
    }

    /// Connects to a socket.
    ///
    /// # Errors
    /// No server listens, or the caller may not connect.
    pub fn connect_to(path: impl Into<PathBuf>) -> Result<Client, Error> {
        let client = Client::unconnected_to(path);
        client.stream().map(|_| client)
    }

    /// The socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reserves, and returns once the reservation is in force. The reservation ends with the last of its
    /// tasks, or by [`release`](Client::release).
    ///
    /// # Errors
    /// The server refuses the reservation, or cannot be reached.
    pub fn reserve(&self, request: &Request) -> Result<Grant, Error> {
        // The server refuses a time that saturates.
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let reserve = Reserve {
            task: Some(request.task.unwrap_or_else(current_tid)),
            runtime_ns: ns(request.runtime),
            period_ns: ns(request.period),
            inherit: request.inherit,
            user: request.user,
        };
        match self.call(protocol::Request::Reserve(reserve))? {
            Answer::Reserved(grant) => Ok(grant),
            other => Err(unexpected(&other)),
        }
    }

    /// The reservation of a task, by default the calling thread, and the share of its user.
    ///
    /// # Errors
    /// The caller owns no such task, or the server cannot be reached.
    pub fn query(&self, task: Option<u32>) -> Result<State, Error> {
        let task = Some(task.unwrap_or_else(current_tid));
        match self.call(protocol::Request::Query(Target { task }))? {
            Answer::State(state) => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends the reservation of a task, by default the calling thread; it continues as best effort.
    ///
    /// # Errors
    /// The task is not reserved, the caller owns no such task, or the server cannot be reached.
    pub fn release(&self, task: Option<u32>) -> Result<(), Error> {
        let task = Some(task.unwrap_or_else(current_tid));
        match self.call(protocol::Request::Release(Target { task }))? {
            Answer::Released(_) => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn stream(&self) -> Result<UnixStream, Error> {
        let unreachable = |error| Error::Unreachable { path: self.path.clone(), error };
        let stream = UnixStream::connect(&self.path).map_err(unreachable)?;
        let timeouts = stream
            .set_read_timeout(Some(TIMEOUT))
            .and_then(|()| stream.set_write_timeout(Some(TIMEOUT)));
        timeouts.map(|()| stream).map_err(unreachable)
    }

    /// Sends a request and returns the answer; a refusal is an error.
    fn call(&self, request: protocol::Request) -> Result<Answer, Error> {
        let stream = self.stream()?;
        let interrupted = |error| Error::Interrupted { path: self.path.clone(), error };
        // A server that rejects the connection answers without reading the request, so an answer is valid
        // even if sending failed.
        let sent = send(&stream, &encode_line(&Call { version: VERSION, request }));
        let mut line = Vec::new();
        let read = BufReader::new(stream).take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut line);
        if line.last() != Some(&b'\n') {
            let eof = || io::Error::from(io::ErrorKind::UnexpectedEof);
            return Err(interrupted(read.err().or(sent.err()).unwrap_or_else(eof)));
        }
        match parse_reply(&line) {
            Ok(Answer::Refused(refusal)) => Err(Error::Refused(refusal)),
            Ok(answer) => Ok(answer),
            Err(error) if error.code == Code::Version => Err(Error::Refused(error)),
            Err(error) => Err(Error::Answer(error.text)),
        }
    }
}

/// Sends all bytes. `MSG_NOSIGNAL` prevents SIGPIPE, which would end a C program when the server has
/// closed the connection.
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

    /// A server that answers each connection with the next text, then ends.
    fn server(
        name: &str,
        answers: &'static [&'static str],
    ) -> (PathBuf, std::thread::JoinHandle<Vec<String>>) {
        let path = std::env::temp_dir().join(format!("laxity-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).expect("a socket");
        let thread = std::thread::spawn(move || {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().expect("a client");
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).expect("a line");
                requests.push(line);
                stream.write_all(answer.as_bytes()).expect("a reader");
            }
            requests
        });
        (path, thread)
    }

    /// Fails when the request does not name the calling thread, a refusal is no error, or an answer that is
    /// truncated, malformed, of another version or to another request is accepted.
    #[test]
    fn answers_are_validated() {
        let (path, thread) = server(
            "client",
            &[
                "",
                "{\"version\":2,\"answer\":{\"reserved\":{\"cpu\":3,\"runtime_ns\":4,\"period_ns\":9,\"more\":1}}}\n",
                "{\"version\":2,\"answer\":{\"refused\":{\"code\":\"no-room\",\"text\":\"full\",\"max_runtime_ns\":7}}}\n",
                "{\"version\":2,\"answer\":{\"refused\":{\"code\":\"newer\",\"text\":\"new\"}}}\n",
                "{\"version\":2,\"answer\":{\"released\":{}}}\n",
                "{\"version\":2,\"answer\":{\"relea",
                "nonsense\n",
                "{\"version\":3,\"answer\":{\"released\":{\"more\":1}}}\n",
            ],
        );
        let client = Client::connect_to(&path).expect("a server");
        let request = Request::new(Duration::from_nanos(4), Duration::MAX).inherited();
        assert_eq!(client.reserve(&request).expect("granted").cpu, 3);
        let refused = client.reserve(&request.for_task(5)).expect_err("refused");
        assert_eq!(refused.code(), Some(Code::NoRoom));
        assert_eq!(refused.max_runtime(), Some(Duration::from_nanos(7)));
        assert_eq!(refused.to_string(), "full");
        assert_eq!(client.release(None).expect_err("refused").code(), Some(Code::Unknown));
        assert!(matches!(client.query(None), Err(Error::Answer(_))));
        assert!(matches!(client.query(None), Err(Error::Interrupted { .. })));
        assert!(matches!(client.query(None), Err(Error::Answer(_))));
        let version = client.release(None).expect_err("another version");
        assert_eq!(version.code(), Some(Code::Version));
        let text = "the server speaks version 3 of the protocol, this client version 2";
        assert_eq!(version.to_string(), text);
        let requests = thread.join().expect("a server");
        let tid = current_tid();
        let max = u64::MAX;
        let expected = format!(
            "{{\"version\":2,\"request\":{{\"reserve\":{{\"task\":{tid},\"runtime_ns\":4,\
             \"period_ns\":{max},\"inherit\":true}}}}}}\n"
        );
        assert_eq!(requests[1], expected);
        assert!(requests[2].contains("\"task\":5"), "{}", requests[2]);

        let error = client.query(None).expect_err("no server");
        assert!(error.to_string().contains("laxity cpu serve"), "{error}");
        let _ = std::fs::remove_file(&path);
    }
}
