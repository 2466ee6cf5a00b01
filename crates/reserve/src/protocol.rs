//! The protocol of the socket: one line of JSON for each request and each answer, described in
//! `docs/how-to/cpu-programs.md`.
//!
//! Times are integers in nanoseconds. A server refuses unknown keys, so that a misspelt key is noticed; a
//! client ignores them, so that answers can be extended. Both sides check the version.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of the protocol.
pub const VERSION: u32 = 2;
/// The default path of the socket.
pub const SOCKET_PATH: &str = "/run/laxity/cpu.sock";
/// The environment variable that names another path.
pub const SOCKET_VARIABLE: &str = "LAXITY_CPU_SOCKET";
/// The longest line of either side, in bytes, including the newline.
pub const MAX_LINE_BYTES: usize = 4096;

/// A line from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// [`VERSION`] of the client.
    pub version: u32,
    /// The request.
    pub request: Request,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Reserves CPU time for a task.
    Reserve(Reserve),
    /// Reads the reservation of a task, and the share of its user.
    Query(Target),
    /// Ends the reservation of a task.
    Release(Target),
}

/// A reservation for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserve {
    /// The thread id in the PID namespace of the caller; by default the caller's first thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// CPU time in each period.
    pub runtime_ns: u64,
    /// The period, which is also the relative deadline.
    pub period_ns: u64,
    /// Whether threads and processes that the task starts later share the reservation.
    #[serde(default)]
    pub inherit: bool,
    /// The user who must own the task and to whose share the reservation counts; by default the caller.
    /// Only root may name another one, as a service does that reserves for its clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
}

/// The task of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// As in [`Reserve`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
}

/// A line from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// [`VERSION`] of the server.
    pub version: u32,
    /// The answer.
    pub answer: Answer,
}

impl Reply {
    /// An answer in this version.
    pub fn new(answer: Answer) -> Reply {
        Reply { version: VERSION, answer }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The reservation is in force.
    Reserved(Grant),
    /// The answer to a query.
    State(State),
    /// The reservation has ended.
    Released(Released),
    /// The request is refused.
    Refused(Refusal),
}

/// A granted reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The CPU that serves it.
    pub cpu: u32,
    /// CPU time in each period.
    pub runtime_ns: u64,
    /// The period.
    pub period_ns: u64,
}

/// The empty answer to a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {}

/// The reservation of a task, and the share of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The reservation that the task belongs to.
    pub reservation: Option<ReservationStatus>,
    /// The share of the caller's user; root has none.
    pub share: Option<Share>,
}

/// A reservation and its deadline statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationStatus {
    /// The CPU that serves it.
    pub cpu: u32,
    /// CPU time in each period.
    pub runtime_ns: u64,
    /// The period.
    pub period_ns: u64,
    /// Whether children share it.
    pub inherit: bool,
    /// The number of tasks that share it.
    pub tasks: u64,
    /// The number of periods in which work within the runtime ended after the period.
    pub deadline_misses: u64,
    /// The greatest lateness of such work.
    pub max_lateness_ns: u64,
}

/// A user's share, in millionths of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The sum of the user's reservations.
    pub reserved_ppm: u64,
    /// The limit on that sum.
    pub limit_ppm: u64,
}

/// The reason for a refusal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason, for programs.
    pub code: Code,
    /// The reason, for people.
    pub text: String,
    /// The largest runtime that would be granted with the same period, for refusals that depend on it;
    /// zero if none would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runtime_ns: Option<u64>,
}

/// The code of a refusal. The numbers are those of the C interface and do not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[repr(i32)]
pub enum Code {
    /// No CPU in the affinity of the task has enough bandwidth left.
    NoRoom = 1,
    /// The reservation exceeds the user's share.
    Share = 2,
    /// The user, or the scheduler, has reached the maximum number of reservations.
    TooMany = 3,
    /// The task is already reserved.
    AlreadyReserved = 4,
    /// The task is not reserved.
    NotReserved = 5,
    /// The task does not exist, or another user owns it.
    NoTask = 6,
    /// The reservation is invalid, whatever the load.
    Invalid = 7,
    /// The affinity of the task rules it out.
    Affinity = 8,
    /// No scheduler is running.
    NoScheduler = 9,
    /// Too many connections, or released bandwidth has not drained; retry later.
    Busy = 10,
    /// The request is malformed.
    Malformed = 11,
    /// The peer speaks another version of the protocol.
    Version = 12,
    /// An internal error.
    Internal = 13,
    /// A code that this version does not know.
    #[serde(other)]
    Unknown = 14,
}

impl Code {
    /// All codes.
    pub const ALL: [Code; 14] = [
        Code::NoRoom,
        Code::Share,
        Code::TooMany,
        Code::AlreadyReserved,
        Code::NotReserved,
        Code::NoTask,
        Code::Invalid,
        Code::Affinity,
        Code::NoScheduler,
        Code::Busy,
        Code::Malformed,
        Code::Version,
        Code::Internal,
        Code::Unknown,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Code::NoRoom => "no-room",
            Code::Share => "share",
            Code::TooMany => "too-many",
            Code::AlreadyReserved => "already-reserved",
            Code::NotReserved => "not-reserved",
            Code::NoTask => "no-task",
            Code::Invalid => "invalid",
            Code::Affinity => "affinity",
            Code::NoScheduler => "no-scheduler",
            Code::Busy => "busy",
            Code::Malformed => "malformed",
            Code::Version => "version",
            Code::Internal => "internal",
            Code::Unknown => "unknown",
        }
    }

    /// The number of the C interface.
    pub fn number(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Refusal {
    /// A refusal that does not depend on the runtime.
    pub fn new(code: Code, text: impl Into<String>) -> Refusal {
        Refusal { code, text: text.into(), max_runtime_ns: None }
    }
}

/// The key that lines of every version have.
#[derive(Deserialize)]
struct Versioned {
    version: u32,
}

/// Parses the line of a client.
///
/// # Errors
/// The refusal to answer with: the client speaks another version, or the line is malformed.
pub fn parse_request(line: &[u8]) -> Result<Request, Refusal> {
    let malformed = |error: serde_json::Error| {
        let mut text = format!("request: {error}");
        // In JSON a character of one byte takes up to six, as `\u0001`.
        text.truncate(floor_char_boundary(&text, MAX_LINE_BYTES / 8));
        Refusal::new(Code::Malformed, text)
    };
    let Versioned { version } = serde_json::from_slice(line).map_err(malformed)?;
    if version != VERSION {
        let text = format!(
            "the client speaks version {version} of the protocol, the server version {VERSION}"
        );
        return Err(Refusal::new(Code::Version, text));
    }
    serde_json::from_slice::<Call>(line).map(|call| call.request).map_err(malformed)
}

/// Parses the line of a server. A refusal has the same form in every version and is returned as is.
///
/// # Errors
/// The line is malformed, for which the refusal is [`Code::Malformed`], or of another version.
pub fn parse_reply(line: &[u8]) -> Result<Answer, Refusal> {
    let reply = serde_json::from_slice::<Reply>(line);
    if let Ok(Reply { answer: answer @ Answer::Refused(_), .. }) = reply {
        return Ok(answer);
    }
    let version = serde_json::from_slice::<Versioned>(line).map(|line| line.version);
    match version {
        Ok(version) if version != VERSION => Err(Refusal::new(
            Code::Version,
            format!(
                "the server speaks version {version} of the protocol, this client version {VERSION}"
            ),
        )),
        _ => {
            let malformed = |error: serde_json::Error| {
                Refusal::new(
                    Code::Malformed,
                    format!("{}: {error}", String::from_utf8_lossy(line).trim()),
                )
            };
            reply.map(|reply| reply.answer).map_err(malformed)
        }
    }
}

/// The last character boundary at or before an index.
fn floor_char_boundary(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|i| text.is_char_boundary(*i)).unwrap_or(0)
}

/// Encodes a message as a line.
pub fn encode_line(message: &impl Serialize) -> Vec<u8> {
    // Structures of integers, strings and options always serialize.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fuzz;

    fn reserve(task: Option<u32>, inherit: bool) -> Request {
        let (runtime_ns, period_ns) = (4_000_000, 10_000_000);
        Request::Reserve(Reserve { task, runtime_ns, period_ns, inherit, user: None })
    }

    /// Fails when a key is renamed, since other programs depend on it.
    #[test]
    fn lines_are_as_documented() {
        let request = |text: &str| parse_request(text.as_bytes());
        let line =
            r#"{"version":2,"request":{"reserve":{"runtime_ns":4000000,"period_ns":10000000}}}"#;
        assert_eq!(request(line), Ok(reserve(None, false)));
        let line = r#"{"version": 2, "request": {"reserve":
            {"task": 7, "runtime_ns": 4000000, "period_ns": 10000000, "inherit": true}}}"#;
        assert_eq!(request(line), Ok(reserve(Some(7), true)));
        let line = r#"{"version":2,"request":{"reserve":{"runtime_ns":1,"period_ns":2,"user":9}}}"#;
        let Ok(Request::Reserve(for_user)) = request(line) else { panic!("{line}") };
        assert_eq!(for_user.user, Some(9));
        let line = r#"{"version":2,"request":{"query":{}}}"#;
        assert_eq!(request(line), Ok(Request::Query(Target::default())));
        let line = r#"{"version":2,"request":{"release":{"task":7}}}"#;
        assert_eq!(request(line), Ok(Request::Release(Target { task: Some(7) })));

        let reply = |answer| String::from_utf8(encode_line(&Reply::new(answer))).expect("UTF-8");
        let refusal = Refusal { max_runtime_ns: Some(5), ..Refusal::new(Code::NoRoom, "no room") };
        let expected = r#"{"version":2,"answer":{"refused":{"code":"no-room","text":"no room","max_runtime_ns":5}}}"#;
        assert_eq!(reply(Answer::Refused(refusal)), format!("{expected}\n"));
        let status = ReservationStatus {
            cpu: 1,
            runtime_ns: 4,
            period_ns: 9,
            inherit: false,
            tasks: 2,
            deadline_misses: 3,
            max_lateness_ns: 7,
        };
        let share = Share { reserved_ppm: 5, limit_ppm: 6 };
        let state = State { reservation: Some(status), share: Some(share) };
        let expected = r#"{"version":2,"answer":{"state":{"reservation":{"cpu":1,"runtime_ns":4,"period_ns":9,"inherit":false,"tasks":2,"deadline_misses":3,"max_lateness_ns":7},"share":{"reserved_ppm":5,"limit_ppm":6}}}}"#;
        assert_eq!(reply(Answer::State(state)), format!("{expected}\n"));
    }

    /// Fails when a faulty line gets another code, or a text that does not name the fault.
    #[test]
    fn refusals_name_the_fault() {
        let refused = |text: &str| parse_request(text.as_bytes()).expect_err(text);
        let other = refused(r#"{"version":1,"request":{"reserve":{"share":"half"}}}"#);
        assert_eq!(other.code, Code::Version);
        let text = "the client speaks version 1 of the protocol, the server version 2";
        assert_eq!(other.text, text);
        for (line, fault) in [
            ("", "EOF"),
            ("{}", "version"),
            (r#"{"version":-1}"#, "-1"),
            (r#"{"version":2,"request":{"query":{"taks":1}}}"#, "taks"),
            (r#"{"version":2,"request":{"query":{"task":-1}}}"#, "-1"),
            (r#"{"version":2,"request":{"reserve":{"runtime_ns":1.5,"period_ns":2}}}"#, "1.5"),
            (r#"{"version":2,"request":{"reserve":{"runtime_ns":1}}}"#, "period_ns"),
            (r#"{"version":2,"request":{"shutdown":{}}}"#, "shutdown"),
            (r#"{"version":2,"request":{"query":{}}} x"#, "trailing"),
        ] {
            let refusal = refused(line);
            assert_eq!(refusal.code, Code::Malformed, "{line}");
            assert!(refusal.text.contains(fault), "no {fault} in {}", refusal.text);
        }
    }

    /// Fails when an answer of another version is accepted, or its error does not name both versions; and
    /// when a refusal of another version is lost.
    #[test]
    fn replies_of_other_versions_are_rejected() {
        for line in [
            r#"{"version":1,"answer":{"released":{}}}"#,
            r#"{"version":1,"answer":{"state":{"reservation":{"cpu":0,"late":0},"share":null}}}"#,
        ] {
            let error = parse_reply(line.as_bytes()).expect_err(line);
            assert_eq!(error.code, Code::Version, "{line}");
            let text = "the server speaks version 1 of the protocol, this client version 2";
            assert_eq!(error.text, text);
        }
        let line = r#"{"version":1,"answer":{"refused":{"code":"version","text":"not 2"}}}"#;
        let refusal = Refusal::new(Code::Version, "not 2");
        assert_eq!(parse_reply(line.as_bytes()), Ok(Answer::Refused(refusal)));
        let malformed = parse_reply(b"{\"version\":2}").expect_err("no answer");
        assert_eq!(malformed.code, Code::Malformed);
    }

    /// Fails when two codes share a number or a name, or an unknown one is an error.
    #[test]
    fn codes_have_unique_names_and_numbers() {
        for (index, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code.number(), index as i32 + 1, "{code}");
            let name = serde_json::to_value(code).expect("a name");
            assert_eq!(name, code.name());
            assert_eq!(serde_json::from_value::<Code>(name).expect("a code"), code);
        }
        assert_eq!(serde_json::from_str::<Code>("\"in-the-future\"").ok(), Some(Code::Unknown));
    }

    proptest! {
        /// Requests with changed bytes or a missing end are parsed or refused, and the refusal fits into a
        /// line. Fails when the text of a refusal repeats a long key in full.
        #[test]
        fn refusals_of_mutated_lines_fit_into_a_line(
            sample in 0..5usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
            key_bytes in 3800..4030usize,
        ) {
            let texts = [
                r#"{"version":2,"request":{"reserve":{"runtime_ns":4000000,"period_ns":10000000}}}"#.to_owned(),
                r#"{"version":2,"request":{"query":{"task":4294967295}}}"#.to_owned(),
                r#"{"version":2,"request":{"release":{}}}"#.to_owned(),
                format!(r#"{{"version":2,"request":{{"{}":{{}}}}}}"#, "\u{e9}".repeat(key_bytes / 2)),
                format!(r#"{{"version":2,"{}":{{}}}}"#, r"\u0001".repeat(key_bytes / 6)),
            ];
            let mut line = texts[sample].clone().into_bytes();
            for (index, byte) in changes {
                let index = index.index(line.len());
                line[index] = byte;
            }
            if cut.index(2) == 0 {
                line.truncate(cut.index(line.len() + 1));
            }
            fuzz::line(&line);
        }

        /// Fails when any bytes make a parser panic, or a message is not read as it is written.
        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            fuzz::line(&bytes);
        }
    }
}
