//! The C headers as a program of their own, compiled with sanitizers, spoken to through pipes: no
//! unsafe code is needed to compare them with the Rust policies.

pub mod bounded_slack;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use laxity_kernel::Plan;

/// What is asked of the headers, in order.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A packet of so many bytes arrives for a flow.
    Arrival { now: u64, flow: u32, bytes: u32 },
    /// The link is free.
    Free { now: u64 },
    /// The link's clock sends.
    #[allow(dead_code)] // not every test asks for it
    Transmit { start: u64, wire: u32 },
}

/// Compiles the driver once a test program; `None` where there is no C compiler.
fn driver() -> Option<&'static Path> {
    static DRIVER: OnceLock<Option<PathBuf>> = OnceLock::new();
    DRIVER
        .get_or_init(|| {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            let name = format!("laxity-headers-{}", std::process::id());
            let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            let compile = |sanitize: &[&str]| {
                Command::new(std::env::var("CC").unwrap_or_else(|_| "cc".into()))
                    .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-I"])
                    .arg(here.join("bpf/include"))
                    .args(sanitize)
                    .arg(here.join("tests/headers/driver.c"))
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

/// What the headers answer, a line for each; `None`, with the reason printed, where they cannot be
/// compiled.
pub fn answers(plan: &Plan, steps: &[Step]) -> Option<Vec<String>> {
    let Some(driver) = driver() else {
        assert!(
            std::env::var_os("LAXITY_REQUIRE_ALL").is_none_or(|v| v != "1"),
            "LAXITY_REQUIRE_ALL=1, and there is no C compiler"
        );
        eprintln!("skipped: there is no C compiler");
        return None;
    };
    let mut input = Vec::with_capacity(plan.config.len() + steps.len() * 24 + 12);
    for word in [plan.rule.number(), plan.slots] {
        input.extend_from_slice(&word.to_ne_bytes());
    }
    input.extend_from_slice(&plan.config);
    for step in steps {
        let words = match *step {
            Step::Arrival { now, flow, bytes } => {
                [0, now, u64::from(flow) << 32 | u64::from(bytes)]
            }
            Step::Free { now } => [1, now, 0],
            Step::Transmit { start, wire } => [2, start, u64::from(wire)],
        };
        words.iter().for_each(|w| input.extend_from_slice(&w.to_ne_bytes()));
    }
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
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the driver ended with {}: {said}", output.status);
    let text = String::from_utf8(output.stdout).expect("text");
    Some(text.lines().map(String::from).collect())
}
