//! Running the command as a user does.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};

use rustix::process::{Pid, Signal, kill_process};

/// The result of a run.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    pub fn of(output: Output) -> Ran {
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
            err: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        }
    }

    /// A run that was to fail: nothing on standard output, no panic.
    #[track_caller]
    pub fn fails(&self, code: i32, fragments: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
        for fragment in fragments {
            assert!(self.err.contains(fragment), "`{fragment}` is not in {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }

    /// A run that was to succeed in silence.
    #[track_caller]
    pub fn succeeds(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""), "{self:#?}");
        assert!(!self.out.is_empty());
        self.out
    }
}

pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
    command.args(arguments).env_remove("NO_COLOR");
    command
}

pub fn laxity(arguments: &[&str]) -> Ran {
    Ran::of(command(arguments).output().expect("the command starts"))
}

/// A process that does not outlive its test: one that fails kills it.
#[derive(Debug)]
pub struct Process(Option<Child>);

impl Process {
    pub fn new(child: Child) -> Process {
        Process(Some(child))
    }

    pub fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it has not ended")
    }

    /// Sends a signal, without a program for that: not every machine has `kill`.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        let child = self.0.as_ref().expect("it has not ended");
        kill_process(Pid::from_child(child), signal).expect("it runs");
    }

    /// Its result after it has ended without a signal.
    #[track_caller]
    pub fn ended(mut self) -> Ran {
        let child = self.0.take().expect("it has not ended");
        Ran::of(child.wait_with_output().expect("it ends"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A file of the repository.
pub fn file(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    Path::new(root).join(path).to_str().expect("the path is UTF-8").to_owned()
}

/// Whether `systemd-analyze verify` finds nothing in units of ours; one finds others in `folder`. Where
/// there is none it prints a note, or fails where all must run.
#[track_caller]
pub fn understood_by_systemd(folder: &Folder, units: &[String]) {
    let mut verify = Command::new("systemd-analyze");
    let path = folder.path("") + ":";
    verify.args(["verify", "--man=no"]).args(units).env("SYSTEMD_UNIT_PATH", path);
    match verify.output() {
        Err(error) => {
            let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
            assert!(!required, "LAXITY_REQUIRE_ALL=1, and no systemd-analyze: {error}");
            eprintln!("skipped: no systemd-analyze: {error}");
        }
        Ok(output) => {
            let messages = String::from_utf8_lossy(&output.stderr);
            let ours: Vec<&str> = messages.lines().filter(|l| l.contains("laxity")).collect();
            assert!(output.status.success() && ours.is_empty(), "{messages}");
        }
    }
}

/// A folder that is removed at the end of a test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("laxity-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        Folder(folder)
    }

    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().expect("the path is UTF-8").to_owned()
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
