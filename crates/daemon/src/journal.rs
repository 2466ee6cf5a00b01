//! Messages to systemd's journal, with fields, by its [native protocol].
//!
//! [native protocol]: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/

use std::io::{self, Write};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use rustix::fs::fstat;

/// Where the journal receives messages.
const SOCKET: &str = "/run/systemd/journal/socket";

/// The importance of a message, as syslog(3) numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The program fails, or a request does.
    Error = 3,
    /// Something may be wrong.
    Warning = 4,
    /// Normal, but to be known.
    Notice = 5,
    /// What the program does.
    Info = 6,
}

/// The messages of a program: to the journal where that receives standard error, else lines there.
#[derive(Debug)]
pub struct Messages {
    program: &'static str,
    journal: Option<Journal>,
}

impl Messages {
    /// Of a program, which is named in each.
    pub fn of(program: &'static str) -> Messages {
        let mut journal = Journal::of_stderr();
        if let Some(journal) = &mut journal {
            journal.add_field("SYSLOG_IDENTIFIER", program.as_bytes());
        }
        Messages { program, journal }
    }

    /// The journal, if messages go there.
    pub fn journal(&mut self) -> Option<&mut Journal> {
        self.journal.as_mut()
    }

    /// Sends a message; the journal gets the fields, too. What the journal does not accept is a line on standard error,
    /// and a closed standard error is ignored.
    pub fn send(&self, priority: Priority, text: &str, fields: &[(&str, &str)]) {
        let journal = self.journal.as_ref();
        if journal.is_none_or(|journal| journal.send(priority, text, fields).is_err()) {
            let _ = writeln!(io::stderr().lock(), "{}: {text}", self.program);
        }
    }
}

/// A connection to the journal, and the fields of all messages of this process.
#[derive(Debug)]
pub struct Journal {
    socket: UnixDatagram,
    fields: Vec<u8>,
}

impl Journal {
    /// The journal, where it receives this process's standard error: `JOURNAL_STREAM` names the device and inode of
    /// the stream, so that a redirected standard error goes where it was redirected to. `None` elsewhere, and where the
    /// journal cannot be reached.
    pub fn of_stderr() -> Option<Journal> {
        let stream = std::env::var("JOURNAL_STREAM").ok()?;
        let stderr = fstat(std::io::stderr()).ok()?;
        (stream == format!("{}:{}", stderr.st_dev, stderr.st_ino)).then_some(())?;
        Journal::at(Path::new(SOCKET)).ok()
    }

    /// The journal at a socket.
    ///
    /// # Errors
    /// Nothing listens there, or this process may not send to it.
    pub fn at(socket: &Path) -> io::Result<Journal> {
        let connection = UnixDatagram::unbound()?;
        connection.connect(socket)?;
        // A journal that is stopped must not stop a link.
        connection.set_nonblocking(true)?;
        Ok(Journal { socket: connection, fields: Vec::new() })
    }

    /// Adds a field to all messages that follow. Names consist of capital letters, digits and underscores, at most 64 of
    /// them, a letter first; the journal ignores others.
    pub fn add_field(&mut self, name: &str, value: &[u8]) {
        write_field(&mut self.fields, name, value);
    }

    /// Sends a message with fields of its own, beside those of the process.
    ///
    /// # Errors
    /// The journal has ended or accepts nothing at the moment, or the message exceeds the socket's buffer, some
    /// 200 kB. The message is not in the journal.
    pub fn send(
        &self,
        priority: Priority,
        message: &str,
        fields: &[(&str, &str)],
    ) -> io::Result<()> {
        let mut datagram = self.fields.clone();
        write_field(&mut datagram, "PRIORITY", (priority as u8).to_string().as_bytes());
        write_field(&mut datagram, "MESSAGE", message.as_bytes());
        for (name, value) in fields {
            write_field(&mut datagram, name, value.as_bytes());
        }
        let sent = self.socket.send(&datagram)?;
        debug_assert_eq!(sent, datagram.len(), "datagrams are sent as a whole");
        Ok(())
    }
}

/// A field as `NAME=value` in a line; a value of several lines with its length in eight bytes, the least significant
/// first.
fn write_field(to: &mut Vec<u8>, name: &str, value: &[u8]) {
    to.extend_from_slice(name.as_bytes());
    if value.contains(&b'\n') {
        to.push(b'\n');
        to.extend_from_slice(&(value.len() as u64).to_le_bytes());
    } else {
        to.push(b'=');
    }
    to.extend_from_slice(value);
    to.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a value could end its field and begin another one: tried with `=` for all.
    #[test]
    fn values_of_several_lines_carry_their_length() {
        let mut bytes = Vec::new();
        write_field(&mut bytes, "MESSAGE", b"two\nlines");
        write_field(&mut bytes, "PRIORITY", b"6");
        let length = 9u64.to_le_bytes();
        let expected = [b"MESSAGE\n".as_slice(), &length, b"two\nlines\nPRIORITY=6\n"].concat();
        assert_eq!(bytes, expected);
    }

    /// Fails when a full or closed journal blocks the program or is taken for success.
    #[test]
    fn a_stopped_journal_does_not_stop_its_clients() {
        let folder = std::env::temp_dir().join(format!("laxity-journal-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("socket");
        assert!(Journal::at(&path).is_err(), "nothing listens");
        let listener = UnixDatagram::bind(&path).expect("a socket");
        let journal = Journal::at(&path).expect("it listens");
        let long = "x".repeat(1 << 20);
        assert!(journal.send(Priority::Info, &long, &[]).is_err(), "no buffer is that large");
        let full = (0..100_000).any(|_| journal.send(Priority::Info, "a message", &[]).is_err());
        assert!(full, "nobody reads");
        drop(listener);
        assert!(journal.send(Priority::Info, "a message", &[]).is_err());
        std::fs::remove_dir_all(&folder).expect("a folder of this test");
    }
}
