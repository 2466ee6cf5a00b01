//! Compiles a driver of `tests/headers`, with sanitizers where there are any, and speaks to it
//! through pipes.
#![allow(dead_code, reason = "tests ask in one of two ways")]

#[path = "lacking.rs"]
mod lacking;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use lacking::lacking;

/// Compiles the driver once a test program; `None` where there is no C compiler.
fn compiled(source: &str) -> Option<&'static Path> {
    static DRIVER: OnceLock<Option<PathBuf>> = OnceLock::new();
    DRIVER
        .get_or_init(|| {
            let package = Path::new(env!("CARGO_MANIFEST_DIR"));
            let name = format!("laxity-{source}-{}", std::process::id());
            let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            let compile = |sanitize: &[&str]| {
                Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
                    .args(["-O1", "-g", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Werror"])
                    .arg("-I")
                    .arg(package.join("bpf/include"))
                    .args(sanitize)
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
        .as_deref()
}

/// The lines that a driver answers; `None`, with the reason printed, where it cannot be compiled.
pub fn ask(source: &str, input: Vec<u8>) -> Option<Vec<String>> {
    Some(try_ask(source, input)?.unwrap_or_else(|why| panic!("{why}")))
}

/// The same, or why the driver ended before its input did.
pub fn try_ask(source: &str, input: Vec<u8>) -> Option<Result<Vec<String>, String>> {
    let Some(driver) = compiled(source) else {
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
