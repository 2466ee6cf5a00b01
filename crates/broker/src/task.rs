//! Tasks and their owners.

use std::fs;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use laxity_reserve::protocol::{Code, Refusal};
use rustix::fs::{CWD, Mode, OFlags, openat};

/// A thread of some process, referenced by its directory in `/proc`. The directory becomes unreadable when
/// the task ends, so a reused PID is not taken for the same task.
#[derive(Debug)]
pub struct Task {
    directory: OwnedFd,
    /// Its PID in the namespace of this server.
    pub pid: u32,
}

/// The largest status file that is read, in bytes. A user may be in 65,536 groups.
const MAX_STATUS_BYTES: u64 = 1 << 20;

/// The fields of `/proc/PID/status` that identify a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Status {
    real_uid: u32,
    effective_uid: u32,
    /// Its PID in each namespace from ours to its own.
    pids: Vec<u32>,
}

/// The refusal for a task that does not exist or that another user owns; the peer cannot tell which.
pub(crate) fn no_task(tid: u32) -> Refusal {
    Refusal::new(Code::NoTask, format!("your user has no task {tid}"))
}

impl Task {
    /// The task with this PID.
    ///
    /// # Errors
    /// The task does not exist.
    pub fn open(pid: u32) -> io::Result<Task> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Task { directory: openat(CWD, format!("/proc/{pid}"), flags, Mode::empty())?, pid })
    }

    fn status(&self) -> io::Result<Status> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(&self.directory, "status", flags, Mode::empty())?;
        // The name of a task may be any bytes, and its list of groups may be long.
        let mut bytes = Vec::new();
        fs::File::from(file).take(MAX_STATUS_BYTES).read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let is_complete = (bytes.len() as u64) < MAX_STATUS_BYTES;
        let status = is_complete.then(|| parse(&text)).flatten();
        status.ok_or_else(|| io::Error::other("its status names no user"))
    }

    /// Whether the task is alive and a user has authority over it: root over all tasks, others over tasks
    /// of which they are both the real and the effective user, which excludes set-user-id programs.
    pub fn is_owned_by(&self, user: u32) -> bool {
        let owns = |status: Status| status.real_uid == user && status.effective_uid == user;
        self.status().is_ok_and(|status| user == 0 || owns(status))
    }

    /// The task that has a thread id in the PID namespace of this task. In a namespace below ours, only
    /// threads of this task's process are found.
    pub(crate) fn resolve(&self, tid: u32) -> Option<Task> {
        let depth = self.status().ok()?.pids.len();
        if depth <= 1 {
            return Task::open(tid).ok();
        }
        let threads = fs::read_dir(format!("/proc/{}/task", self.pid)).ok()?;
        let threads =
            threads.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        threads.filter_map(|pid| Task::open(pid).ok()).find(|task| {
            let pids = task.status().unwrap_or_default().pids;
            pids.len() == depth && pids.last() == Some(&tid)
        })
    }
}

fn parse(text: &str) -> Option<Status> {
    let numbers = |key: &str| -> Option<Vec<u32>> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().map(|word| word.parse().ok()).collect()
    };
    let uids = numbers("Uid:")?;
    Some(Status {
        real_uid: *uids.first()?,
        effective_uid: *uids.get(1)?,
        // Kernels without namespaces have no such line.
        pids: numbers("NSpid:").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Fails when the real and the effective user are confused, or the name of a program is parsed as a
    /// field.
    #[test]
    fn status_files_are_parsed() {
        let text = "Name:\tUid:\nUmask:\t0022\nUid:\t1000\t0\t0\t0\nNSpid:\t812\t7\n";
        let status = Status { real_uid: 1000, effective_uid: 0, pids: vec![812, 7] };
        assert_eq!(parse(text), Some(status));
        assert_eq!(parse("Name:\tx\n"), None);
        assert_eq!(parse("Uid:\t1000\n"), None);
        assert_eq!(parse("Uid:\tx\ty\n"), None);
    }

    /// Fails when a task is looked up by its PID on each check, since the PID may be reused.
    #[test]
    fn ended_tasks_have_no_owner() {
        let user = nix::unistd::getuid().as_raw();
        let mut child = Command::new("sleep").arg("60").spawn().expect("sleep");
        let task = Task::open(child.id()).expect("a task");
        assert!(task.is_owned_by(user) && task.is_owned_by(0));
        assert!(!task.is_owned_by(user + 1));
        child.kill().expect("a child");
        child.wait().expect("a child");
        assert!(!task.is_owned_by(user) && !task.is_owned_by(0));
        assert!(Task::open(child.id()).is_err());
    }

    /// Fails when the status has to be UTF-8, which the name of a task need not be.
    #[test]
    fn task_names_may_be_any_bytes() {
        std::thread::spawn(|| {
            fs::write("/proc/thread-self/comm", b"abc\xc3").expect("a name");
            let thread = Task::open(laxity_reserve::current_tid()).expect("this thread");
            assert!(thread.is_owned_by(nix::unistd::getuid().as_raw()));
        })
        .join()
        .expect("a thread");
    }

    /// Fails when threads are not found by their own thread id.
    #[test]
    fn threads_are_resolved_by_their_tid() {
        let own = Task::open(std::process::id()).expect("this process");
        std::thread::spawn(move || {
            let tid = laxity_reserve::current_tid();
            let thread = own.resolve(tid).expect("this thread");
            assert!(thread.is_owned_by(nix::unistd::getuid().as_raw()));
            assert_ne!(thread.pid, own.pid);
        })
        .join()
        .expect("a thread");
    }
}
