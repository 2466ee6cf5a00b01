//! Tasks and whose they are.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use laxity_reserve::protocol::{Code, Refusal};
use rustix::fs::{CWD, Mode, OFlags, openat};

/// A thread of some process. It is held by its folder in `/proc`, which goes with it: when its number
/// has become another task's, nothing more is read there.
#[derive(Debug)]
pub struct Task {
    folder: OwnedFd,
    /// Its number, as root's namespace has it.
    pub pid: u32,
}

/// Of what the kernel says of a task no more is read, in bytes. A user may be in 65,536 groups.
const LONGEST: u64 = 1 << 20;

/// What the kernel says of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Status {
    real: u32,
    effective: u32,
    /// Its number in each namespace from ours to its own.
    numbers: Vec<u32>,
}

/// The refusal for a task that is not there, or not there for the caller: which of these is nobody
/// else's business.
pub(crate) fn no_task(number: u32) -> Refusal {
    Refusal::new(Code::NoTask, format!("your user has no task {number}"))
}

impl Task {
    /// The task of this number.
    ///
    /// # Errors
    /// There is none.
    pub fn open(pid: u32) -> io::Result<Task> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Task { folder: openat(CWD, format!("/proc/{pid}"), flags, Mode::empty())?, pid })
    }

    fn status(&self) -> io::Result<Status> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.folder, "status", flags, Mode::empty())?;
        // A task may have any bytes for a name, and a great many groups.
        let mut bytes = Vec::new();
        fs::File::from(file).take(LONGEST).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let whole = (bytes.len() as u64) < LONGEST;
        let status = whole.then(|| parse(&text)).flatten();
        status.ok_or_else(|| io::Error::other("the kernel says nothing of its user"))
    }

    /// Whether it still lives and a user may decide about it: root about all, others where they are
    /// the real and the effective user, so not about programs that run for them as somebody else.
    pub fn is_of(&self, user: u32) -> bool {
        let theirs = |status: Status| status.real == user && status.effective == user;
        self.status().is_ok_and(|status| user == 0 || theirs(status))
    }

    /// The task that another one calls by a number. In a container numbers are others than ours;
    /// there only threads of the caller itself are found.
    pub(crate) fn named_by(&self, number: u32) -> Option<Task> {
        let depth = self.status().ok()?.numbers.len();
        if depth <= 1 {
            return Task::open(number).ok();
        }
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).ok()?;
        let threads =
            threads.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        threads.filter_map(|pid| Task::open(pid).ok()).find(|task| {
            let numbers = task.status().unwrap_or_default().numbers;
            numbers.len() == depth && numbers.last() == Some(&number)
        })
    }
}

fn parse(text: &str) -> Option<Status> {
    let numbers = |key: &str| -> Option<Vec<u32>> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    let users = numbers("Uid:")?;
    Some(Status {
        real: *users.first()?,
        effective: *users.get(1)?,
        // Kernels without namespaces have no such line.
        numbers: numbers("NSpid:").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Fails when real and effective users are not told apart, or a program's name is taken for
    /// what the kernel says.
    #[test]
    fn status_is_read() {
        let text = "Name:\tUid:\nUmask:\t0022\nUid:\t1000\t0\t0\t0\nNSpid:\t812\t7\n";
        let status = Status { real: 1000, effective: 0, numbers: vec![812, 7] };
        assert_eq!(parse(text), Some(status));
        assert_eq!(parse("Name:\tx\n"), None);
        assert_eq!(parse("Uid:\t1000\n"), None);
        assert_eq!(parse("Uid:\tx\ty\n"), None);
    }

    /// Fails when a task is looked up by its number each time: what is there later may be another.
    #[test]
    fn a_task_that_ended_is_no_longer_anybodys() {
        let user = nix::unistd::getuid().as_raw();
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let task = Task::open(child.id()).expect("a task");
        assert!(task.is_of(user) && task.is_of(0));
        assert!(!task.is_of(user + 1));
        child.kill().expect("a child");
        child.wait().expect("a child");
        assert!(!task.is_of(user) && !task.is_of(0));
        assert!(Task::open(child.id()).is_err());
    }

    /// Fails when what the kernel says of a task has to be text: its name need not be.
    #[test]
    fn a_task_may_have_any_name() {
        std::thread::spawn(|| {
            fs::write("/proc/thread-self/comm", b"abc\xc3").expect("a name");
            let thread = Task::open(laxity_reserve::this_thread()).expect("this thread");
            assert!(thread.is_of(nix::unistd::getuid().as_raw()));
        })
        .join()
        .expect("a thread");
    }

    /// Fails when threads are not found by their own number.
    #[test]
    fn threads_are_tasks() {
        let own = Task::open(std::process::id()).expect("this process");
        std::thread::spawn(move || {
            let number = laxity_reserve::this_thread();
            let thread = own.named_by(number).expect("this thread");
            assert!(thread.is_of(nix::unistd::getuid().as_raw()));
            assert_ne!(thread.pid, own.pid);
        })
        .join()
        .expect("a thread");
    }
}
