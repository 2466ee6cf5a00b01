//! What goes over the socket: a line of JSON each way. `docs/how-to/cpu-programs.md` describes it.
//!
//! Times are whole nanoseconds. Servers refuse keys that they do not know, so that nothing is
//! misspelt in silence; clients ignore them, so that answers can grow.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version that is spoken here.
pub const VERSION: u32 = 1;
/// Where servers listen when nothing else is said.
pub const SOCKET: &str = "/run/laxity/cpu.sock";
/// The environment variable that says something else.
pub const SOCKET_VARIABLE: &str = "LAXITY_CPU_SOCKET";
/// The longest line of either side, in bytes, with its end.
pub const LONGEST: usize = 4096;

/// A line to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// [`VERSION`].
    pub version: u32,
    /// What is asked.
    pub request: Request,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// CPU time for a task.
    Reserve(Reserve),
    /// What a task has, and what its user may still have.
    Query(About),
    /// An end to the reservation of a task.
    Release(About),
}

/// CPU time for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserve {
    /// A thread, by the number that it has for the caller; the caller's first one when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// CPU time in each period.
    pub runtime_ns: u64,
    /// The period, within which the CPU time is given.
    pub period_ns: u64,
    /// Threads and processes that the task starts from then on share the reservation.
    #[serde(default)]
    pub inherit: bool,
}

/// Which task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// As in [`Reserve`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
}

/// A line from the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The version that the server speaks.
    pub version: u32,
    /// The answer.
    pub answer: Answer,
}

impl Reply {
    /// In the version that is spoken here.
    pub fn new(answer: Answer) -> Reply {
        Reply { version: VERSION, answer }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is in force.
    Reserved(Reserved),
    /// What was asked about.
    State(State),
    /// The task is best effort.
    Released(Released),
    /// No.
    Refused(Refusal),
}

/// A reservation in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// The CPU that keeps it.
    pub cpu: u32,
    /// CPU time in each period.
    pub runtime_ns: u64,
    /// The period.
    pub period_ns: u64,
}

/// Nothing further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {}

/// What a task has, and what its user may still have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The reservation that the task is of.
    pub reservation: Option<Held>,
    /// The share of the caller's user; none is set for root.
    pub share: Option<Share>,
}

/// A reservation, and how it was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// The CPU that keeps it.
    pub cpu: u32,
    /// CPU time in each period.
    pub runtime_ns: u64,
    /// The period.
    pub period_ns: u64,
    /// Whether children share it.
    pub inherit: bool,
    /// Tasks that share it now.
    pub tasks: u64,
    /// Periods in which work within the runtime ended after the period.
    pub late: u64,
    /// By how much at most.
    pub latest_ns: u64,
}

/// A user's share, in millionths of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// What all reservations of the user come to.
    pub held_ppm: u64,
    /// What they may come to.
    pub most_ppm: u64,
}

/// Why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// For programs.
    pub code: Code,
    /// For people.
    pub text: String,
    /// The largest runtime that would be granted with the same period, where that is the question;
    /// zero when none would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fits_ns: Option<u64>,
}

/// Why not, for programs. The numbers are those of the C interface and stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
#[repr(i32)]
pub enum Code {
    /// No CPU that the task may use has room for it.
    NoRoom = 1,
    /// It is more than the user's share.
    Share = 2,
    /// The user, or the machine, has as many reservations as may be.
    TooMany = 3,
    /// The task has a reservation already.
    HasOne = 4,
    /// The task has none.
    HasNone = 5,
    /// There is no such task, or it is of another user.
    NoTask = 6,
    /// The reservation makes no sense by itself.
    Unusable = 7,
    /// The CPUs that the task may use rule it out.
    Affinity = 8,
    /// No scheduler is up.
    Down = 9,
    /// The server is busy with others, or the user has too many connections. Later it may do.
    Busy = 10,
    /// The request cannot be understood.
    Malformed = 11,
    /// The server speaks another version.
    Version = 12,
    /// Something inside.
    Internal = 13,
    /// A code that came after this version.
    #[serde(other)]
    Unknown = 14,
}

impl Code {
    /// All of them.
    pub const ALL: [Code; 14] = [
        Code::NoRoom,
        Code::Share,
        Code::TooMany,
        Code::HasOne,
        Code::HasNone,
        Code::NoTask,
        Code::Unusable,
        Code::Affinity,
        Code::Down,
        Code::Busy,
        Code::Malformed,
        Code::Version,
        Code::Internal,
        Code::Unknown,
    ];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Code::NoRoom => "no-room",
            Code::Share => "share",
            Code::TooMany => "too-many",
            Code::HasOne => "has-one",
            Code::HasNone => "has-none",
            Code::NoTask => "no-task",
            Code::Unusable => "unusable",
            Code::Affinity => "affinity",
            Code::Down => "down",
            Code::Busy => "busy",
            Code::Malformed => "malformed",
            Code::Version => "version",
            Code::Internal => "internal",
            Code::Unknown => "unknown",
        }
    }

    /// For the C interface.
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
    /// A refusal where no other runtime would help.
    pub fn new(code: Code, text: impl Into<String>) -> Refusal {
        Refusal { code, text: text.into(), fits_ns: None }
    }
}

/// Reads a request.
///
/// # Errors
/// The refusal to answer with: another version, or something that cannot be understood.
pub fn read(line: &[u8]) -> Result<Request, Refusal> {
    /// What every version has.
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let malformed = |error: serde_json::Error| {
        let mut text = format!("request: {error}");
        text.truncate(text.floor_boundary(LONGEST / 4));
        Refusal::new(Code::Malformed, text)
    };
    let Versioned { version } = serde_json::from_slice(line).map_err(malformed)?;
    if version != VERSION {
        let text = format!("version {VERSION} is spoken here, not {version}");
        return Err(Refusal::new(Code::Version, text));
    }
    serde_json::from_slice::<Call>(line).map(|call| call.request).map_err(malformed)
}

/// Cutting texts between characters.
trait Boundary {
    /// The last boundary at or before a place.
    fn floor_boundary(&self, at: usize) -> usize;
}

impl Boundary for String {
    fn floor_boundary(&self, at: usize) -> usize {
        (0..=at.min(self.len())).rev().find(|i| self.is_char_boundary(*i)).unwrap_or(0)
    }
}

/// A message as its line.
pub fn line(message: &impl Serialize) -> Vec<u8> {
    // Integers, texts and options under fixed keys always have a form.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn asked(task: Option<u32>, inherit: bool) -> Request {
        Request::Reserve(Reserve { task, runtime_ns: 4_000_000, period_ns: 10_000_000, inherit })
    }

    /// Fails when a key is renamed: programs of others write these lines.
    #[test]
    fn lines_are_as_documented() {
        let request = |text: &str| read(text.as_bytes());
        let line =
            r#"{"version":1,"request":{"reserve":{"runtime_ns":4000000,"period_ns":10000000}}}"#;
        assert_eq!(request(line), Ok(asked(None, false)));
        let line = r#"{"version": 1, "request": {"reserve":
            {"task": 7, "runtime_ns": 4000000, "period_ns": 10000000, "inherit": true}}}"#;
        assert_eq!(request(line), Ok(asked(Some(7), true)));
        let line = r#"{"version":1,"request":{"query":{}}}"#;
        assert_eq!(request(line), Ok(Request::Query(About::default())));
        let line = r#"{"version":1,"request":{"release":{"task":7}}}"#;
        assert_eq!(request(line), Ok(Request::Release(About { task: Some(7) })));

        let refusal = Refusal { fits_ns: Some(5), ..Refusal::new(Code::NoRoom, "no room") };
        let written = super::line(&Reply::new(Answer::Refused(refusal)));
        let expected =
            r#"{"version":1,"answer":{"refused":{"code":"no-room","text":"no room","fits_ns":5}}}"#;
        assert_eq!(String::from_utf8_lossy(&written), format!("{expected}\n"));
    }

    /// Fails when what is wrong is taken for something else, or not named.
    #[test]
    fn faults_are_told_apart() {
        let refused = |text: &str| read(text.as_bytes()).expect_err(text);
        let other = refused(r#"{"version":2,"request":{"reserve":{"share":"half"}}}"#);
        assert_eq!(other.code, Code::Version);
        assert!(other.text.contains("version 1") && other.text.contains("not 2"), "{other:?}");
        for (line, named) in [
            ("", "EOF"),
            ("{}", "version"),
            (r#"{"version":-1}"#, "-1"),
            (r#"{"version":1,"request":{"query":{"taks":1}}}"#, "taks"),
            (r#"{"version":1,"request":{"query":{"task":-1}}}"#, "-1"),
            (r#"{"version":1,"request":{"reserve":{"runtime_ns":1.5,"period_ns":2}}}"#, "1.5"),
            (r#"{"version":1,"request":{"reserve":{"runtime_ns":1}}}"#, "period_ns"),
            (r#"{"version":1,"request":{"shutdown":{}}}"#, "shutdown"),
            (r#"{"version":1,"request":{"query":{}}} x"#, "trailing"),
        ] {
            let refusal = refused(line);
            assert_eq!(refusal.code, Code::Malformed, "{line}");
            assert!(refusal.text.contains(named), "no {named} in {}", refusal.text);
        }
    }

    /// Fails when two codes share a number or a name, or a new one is not understood as unknown.
    #[test]
    fn codes_have_a_name_and_a_number_each() {
        for (at, code) in Code::ALL.into_iter().enumerate() {
            assert_eq!(code.number(), at as i32 + 1, "{code}");
            let name = serde_json::to_value(code).expect("a name");
            assert_eq!(name, code.name());
            assert_eq!(serde_json::from_value::<Code>(name).expect("a code"), code);
        }
        assert_eq!(serde_json::from_str::<Code>("\"in-the-future\"").ok(), Some(Code::Unknown));
    }

    proptest! {
        /// Requests with bytes changed, cut or doubled are understood or refused, and the refusal
        /// fits into a line. Fails when the text of a refusal repeats a long key in full.
        #[test]
        fn no_line_is_too_strange(
            from in 0..4usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<prop::sample::Index>(),
            long in 3800..4030usize,
        ) {
            let texts = [
                r#"{"version":1,"request":{"reserve":{"runtime_ns":4000000,"period_ns":10000000}}}"#.to_owned(),
                r#"{"version":1,"request":{"query":{"task":4294967295}}}"#.to_owned(),
                r#"{"version":1,"request":{"release":{}}}"#.to_owned(),
                format!(r#"{{"version":1,"request":{{"{}":{{}}}}}}"#, "\u{e9}".repeat(long / 2)),
            ];
            let mut line = texts[from].clone().into_bytes();
            for (at, byte) in changes {
                let at = at.index(line.len());
                line[at] = byte;
            }
            if cut.index(2) == 0 {
                line.truncate(cut.index(line.len() + 1));
            }
            if let Err(refusal) = read(&line) {
                let answer = super::line(&Reply::new(Answer::Refused(refusal)));
                prop_assert!(answer.len() <= LONGEST);
            }
        }

        /// Whatever comes, it is no panic.
        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(&bytes);
            let _ = serde_json::from_slice::<Reply>(&bytes);
        }
    }
}
