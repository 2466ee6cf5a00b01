//! Threads of callers.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::demand::Usage;

/// The largest file of a thread that is read, in bytes. Its user may be in 65,536 groups.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A thread of a process, referenced by its directory in `/proc`. The directory becomes unreadable when the
/// thread ends, so a reused id is not taken for the same thread.
#[derive(Debug)]
pub struct Thread {
    directory: OwnedFd,
    /// The process.
    pub process: u32,
    /// The thread id.
    pub tid: u32,
}

impl Thread {
    /// A thread of a process.
    ///
    /// # Errors
    /// The process has no such thread.
    pub fn open(process: u32, tid: u32) -> io::Result<Thread> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = format!("/proc/{process}/task/{tid}");
        Ok(Thread { directory: openat(CWD, path, flags, Mode::empty())?, process, tid })
    }

    fn read(&self, name: &str) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.directory, name, flags, Mode::empty())?);
        // The name of a thread may be any bytes.
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The user that is both its real and its effective user; `None` for set-user-id programs and after its
    /// end.
    pub fn user(&self) -> Option<u32> {
        let status = self.read("status").ok()?;
        if matches!(field(&status, "State:")?.chars().next(), Some('Z' | 'X')) {
            return None;
        }
        let mut users = field(&status, "Uid:")?.split_whitespace().map(str::parse);
        let (real, effective) = (users.next()?.ok()?, users.next()?.ok()?);
        (real == effective).then_some(real)
    }

    /// Whether the thread runs and a user owns it.
    pub fn is_owned_by(&self, user: u32) -> bool {
        self.user() == Some(user)
    }

    /// Its CPU time, and how often it blocked.
    ///
    /// # Errors
    /// The thread has ended.
    pub fn usage(&self) -> io::Result<Usage> {
        let (schedstat, status) = (self.read("schedstat")?, self.read("status")?);
        let cpu_time = schedstat.split_whitespace().next().and_then(|ns| ns.parse().ok());
        let blocks = field(&status, "voluntary_ctxt_switches:").and_then(|n| n.parse().ok());
        let usage = cpu_time
            .zip(blocks)
            .map(|(ns, blocks)| Usage { cpu_time: Duration::from_nanos(ns), blocks });
        usage.ok_or_else(|| io::Error::other("the thread has no statistics"))
    }
}

/// Threads of `SCHED_FIFO` and `SCHED_RR`, of all users.
pub(crate) fn realtime_threads() -> impl Iterator<Item = Thread> {
    let numbers = |path: String| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
    };
    let tasks =
        move |process| numbers(format!("/proc/{process}/task")).map(move |tid| (process, tid));
    let threads = numbers("/proc".to_owned()).flat_map(tasks);
    let threads = threads.filter_map(|(process, tid)| Thread::open(process, tid).ok());
    threads
        .filter(|thread| thread.read("stat").is_ok_and(|stat| matches!(policy(&stat), Some(1 | 2))))
}

/// The policy in a `stat` file. The name of the thread, which may hold anything, is in parentheses.
fn policy(stat: &str) -> Option<u32> {
    // Field 41, and the first one after the name is field 3.
    stat.rsplit_once(')')?.1.split_whitespace().nth(41 - 3)?.parse().ok()
}

/// A field of a status file. The name of a thread has no newline in it (the kernel escapes it), so it cannot
/// pass for one.
fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Whether the process of a pidfd has ended.
pub(crate) fn has_ended(process: impl AsFd) -> bool {
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;

    /// Fails when a thread is looked up by its id on each call, since the id may be reused, or when one of
    /// another process is found.
    #[test]
    fn ended_threads_have_no_owner() {
        let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
        let thread = Thread::open(cat.id(), cat.id()).expect("its thread");
        let pid = Pid::from_child(&cat);
        let process = pidfd_open(pid, PidfdFlags::empty()).expect("a descriptor");
        let own = rustix::process::getuid().as_raw();
        assert!(thread.is_owned_by(own) && !thread.is_owned_by(own + 1) && !has_ended(&process));
        assert!(Thread::open(std::process::id(), cat.id()).is_err());
        drop(cat.stdin.take());
        while !has_ended(&process) {
            std::thread::yield_now();
        }
        assert_eq!(thread.user(), None, "a zombie");
        cat.wait().expect("its end");
        assert_eq!(thread.user(), None);
        assert!(thread.usage().is_err() && Thread::open(cat.id(), cat.id()).is_err());
    }

    /// Fails when the policy is read at another place than where the kernel writes it.
    #[test]
    fn policies_are_read() {
        let fields: Vec<String> =
            (3..=52).map(|n| if n == 41 { 2 } else { 9 }.to_string()).collect();
        let stat = format!("77 (a) 1 (b)) {}\n", fields.join(" "));
        assert_eq!((policy(&stat), policy("77 (short) R 1")), (Some(2), None));
        let own = std::process::id();
        let own = Thread::open(own, own).expect("this process");
        assert_eq!(own.read("stat").ok().as_deref().and_then(policy), Some(0));
    }

    /// Fails when waiting counts as CPU time, or switches that the scheduler forced count as blocking.
    #[test]
    fn usage_is_of_the_thread() {
        let (begin, usage) = std::thread::spawn(|| {
            let thread = Thread::open(std::process::id(), laxity_reserve::current_tid());
            let thread = thread.expect("this thread");
            let begin = thread.usage().expect("usage");
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(20));
            }
            (begin, thread.usage().expect("usage"))
        })
        .join()
        .expect("a thread");
        assert!((5..20).contains(&(usage.blocks - begin.blocks)), "{begin:?} {usage:?}");
        assert!(usage.cpu_time - begin.cpu_time < Duration::from_millis(50), "{usage:?}");
    }
}
