//! Running scripts in the virtual machine and reading what they print.
#![allow(dead_code)]

#[path = "../support/lacking.rs"]
mod lacking;

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

#[allow(unused_imports, reason = "not every test asks for it")]
pub use lacking::lacking;

/// Exit status of `vm/fetch`: this machine lacks something.
const LACKS: i32 = 3;

/// The output of a script. A test that fails prints it, below its own message.
pub struct VmOutput(String);

impl Deref for VmOutput {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Display for VmOutput {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Drop for VmOutput {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the script printed:\n{}", self.0);
        }
    }
}

/// A file of the repository.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Whether the virtual machine can be had; says why not.
pub fn available() -> bool {
    let fetch = Command::new(file("vm/fetch")).args(["--for", "packets"]).output();
    let output = fetch.expect("a script");
    if output.status.success() {
        return true;
    }
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(LACKS), "vm/fetch: {why}");
    lacking(&format!("there is no virtual machine: {why}"))
}

/// A program of `tools/kernel`.
pub fn tool(name: &str) -> PathBuf {
    built(name, "-p laxity-tools-kernel --features kernel")
}

/// A program of a crate.
pub fn binary(package: &str, name: &str) -> PathBuf {
    built(name, &format!("-p {package} --bin {name}"))
}

/// An example of a crate.
pub fn example(package: &str, name: &str) -> PathBuf {
    built(&format!("examples/{name}"), &format!("-p {package} --example {name}"))
}

/// A program below the folder that also holds the folder of test programs. Cargo builds it for tests of the
/// whole workspace, not for those of one crate.
fn built(path: &str, options: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let target = test.parent().and_then(Path::parent).expect("a target folder");
    let path = target.join(path);
    assert!(
        path.exists(),
        "{} is not built; build it with: cargo build --profile test {options}",
        path.display()
    );
    path
}

/// Programs without what only debuggers read: they travel into the machine. Other tests may be taking the
/// same one along at this time, so it comes to be there at once and whole.
pub fn stripped(path: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let to = folder.join(path.file_name().expect("a name"));
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let made = folder.join(format!("stripped-{}-{number}", std::process::id()));
    let strip = Command::new("strip").arg("-o").arg(&made).arg(path).status();
    let whole = strip.is_ok_and(|status| status.success()) && fs::rename(&made, &to).is_ok();
    if whole { to } else { path.to_owned() }
}

/// Runs a script of `crates/kernel/tests/vm` in the virtual machine, which gets programs and files
/// beside it, and returns what it printed.
pub fn run(script: &str, programs: &[PathBuf], files: &[PathBuf]) -> VmOutput {
    run_with(&[], script, &[], programs, files)
}

/// The same with options of `vm/run` and arguments of the script. `LAXITY_KERNEL=VERSION` in the
/// environment makes it another kernel, as `vm/fetch` has it.
pub fn run_with(
    options: &[&str],
    script: &str,
    arguments: &[&str],
    programs: &[PathBuf],
    files: &[PathBuf],
) -> VmOutput {
    let mut command = Command::new(file("vm/run"));
    command.args(["--for", "packets", "--timeout", "900"]);
    // Clocks that count instructions stand still while the machine does; without them programs run twice as fast.
    if !options.contains(&"--steal") && !options.contains(&"--in-real-time") {
        command.arg("--deterministic");
    }
    command.args(options);
    if let Some(version) = std::env::var_os("LAXITY_KERNEL") {
        command.arg("--kernel").arg(version);
    }
    for program in programs {
        command.arg("--with").arg(program);
    }
    let own = ["family.toml", "tight.toml", script];
    let own = own.map(|name| file("crates/kernel/tests/vm").join(name));
    let shared = ["wire.sh", "checks.sh"].map(|name| file("vm/guest").join(name));
    for path in own.iter().chain(&shared).chain(files) {
        command.arg("--file").arg(path);
    }
    let output = command.args(["--", "sh", script]).args(arguments).output().expect("a script");
    let (text, stderr) = (output.stdout, output.stderr);
    let text = String::from_utf8_lossy(&text).into_owned();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(output.status.success(), "{script} ended with {}:\n{stderr}\n{text}", output.status);
    VmOutput(text)
}

/// A program of util-linux or coreutils, which are everywhere.
pub fn program(name: &str) -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths).map(|p| p.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("no {name} here"))
}

/// The part of the output below a heading.
pub fn part<'a>(text: &'a str, heading: &str) -> &'a str {
    let heading = format!("== {heading}\n");
    let rest = text.split(&heading).nth(1).unwrap_or_else(|| panic!("no {heading}{text}"));
    rest.split("== ").next().unwrap_or(rest)
}

/// The number after a word on the line that begins with `start`.
pub fn number(part: &str, start: &str, key: &str) -> u64 {
    let line = part.lines().find(|l| l.starts_with(start));
    let line = line.unwrap_or_else(|| panic!("no `{start}` in {part}"));
    let mut fields = line.split(' ').skip_while(|w| *w != key);
    let value = fields.nth(1).and_then(|w| w.parse().ok());
    value.unwrap_or_else(|| panic!("no number after `{key}` in `{line}`"))
}
