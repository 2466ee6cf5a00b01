//! Compiles a driver of `tests/headers`, with sanitizers where there are any, and speaks to it
//! through pipes.
#![allow(dead_code, reason = "tests ask in one of two ways")]

#[path = "lacking.rs"]
mod lacking;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use lacking::lacking;

/// Compiles a driver once a test program for each set of options; `None` where there is no C compiler.
fn compiled(source: &str, options: &[&str]) -> Option<PathBuf> {
    static DRIVERS: Mutex<BTreeMap<String, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut drivers = DRIVERS.lock().expect("no panic in it");
    let name = [&[source], options].concat().join("");
    drivers
        .entry(name.clone())
        .or_insert_with(|| {
            let package = Path::new(env!("CARGO_MANIFEST_DIR"));
            let name = format!("laxity-{name}-{}", std::process::id());
            let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            let compile = |sanitize: &[&str]| {
                Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
                    .args(["-O1", "-g", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror"])
                    .arg("-I")
                    .arg(package.join("bpf/include"))
                    .args(sanitize)
                    .args(options)
                    .arg(package.join("tests/headers").join(source))
                    .arg("-o")
                    .arg(&out)
                    .output()
            };
            let strict = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
            for sanitize in [&strict[..], &[]] {
                match compile(sanitize) {
                    Err(_) => return None,
                    Ok(output) if output.status.success() => return Some(out),
                    Ok(output) if sanitize.is_empty() => {
                        panic!("{}", String::from_utf8_lossy(&output.stderr))
                    }
                    // Libraries of the sanitizers may be lacking.
                    Ok(_) => {}
                }
            }
            None
        })
        .clone()
}

/// The lines that a driver answers; `None`, with the reason printed, where it cannot be compiled.
pub fn ask(source: &str, input: Vec<u8>) -> Option<Vec<String>> {
    ask_with(source, &[], input)
}

/// The same of a driver that is compiled with some options.
pub fn ask_with(source: &str, options: &[&str], input: Vec<u8>) -> Option<Vec<String>> {
    Some(answer(source, options, input)?.unwrap_or_else(|why| panic!("{why}")))
}

/// The same, or why the driver ended before its input did.
pub fn try_ask(source: &str, input: Vec<u8>) -> Option<Result<Vec<String>, String>> {
    answer(source, &[], input)
}

fn answer(source: &str, options: &[&str], input: Vec<u8>) -> Option<Result<Vec<String>, String>> {
    let Some(driver) = compiled(source, options) else {
        lacking("there is no C compiler");
        return None;
    };
    let mut child = Command::new(driver)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the driver starts");
    let mut to = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || to.write_all(&input));
    let output = child.wait_with_output().expect("the driver ends");
    let _ = writer.join();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Some(Err(format!("the driver ended with {}: {stderr}", output.status)));
    }
    let text = String::from_utf8(output.stdout).expect("text");
    Some(Ok(text.lines().map(String::from).collect()))
}
