//! Programs in C and Python, with a server and a fake scheduler.

#[path = "../../broker/tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use laxity_broker::ConnectionLimits;
use laxity_core::Span;
use laxity_cpu::Reservation;
// Makes cargo build the libraries before this test.
use laxity_reserve_c as _;
use support::{FakeScheduler, Folder, USER, is_root, run_as, serve};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compiles a C program, with warnings as errors, and links the shared or the static library.
fn compile(source: &Path, to: &Path, shared: bool) {
    let test = std::env::current_exe().expect("a path");
    let libraries = test.parent().expect("a folder");
    let name = if shared { "liblaxity_reserve_c.so" } else { "liblaxity_reserve_c.a" };
    let library = libraries.join(name);
    assert!(library.exists(), "no {}", library.display());
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(to).arg(source);
    cc.arg("-I").arg(file("include"));
    if shared {
        // Under its soname.
        let folder = to.parent().expect("a folder");
        std::fs::copy(&library, folder.join("liblaxity_reserve.so.0")).expect("a copy");
        cc.arg(folder.join("liblaxity_reserve.so.0"))
            .arg(format!("-Wl,-rpath,{}", folder.display()));
    } else {
        cc.arg(&library).args(["-lpthread", "-ldl", "-lm"]);
    }
    let output = cc.output().expect("cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn output_of(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    format!("{out}{err}")
}

/// Functions, structures and codes match the header; null pointers, a missing server and refusals are
/// handled; a reservation ends with its program.
///
/// Fails when a field has another offset in the header than in the library (tried with `cpu` first), when
/// a code has another number, or when a null pointer is written through.
#[test]
fn c_programs_reserve_for_themselves() {
    let (folder, scheduler) = (Folder::new("c"), FakeScheduler::default());
    for shared in [false, true] {
        let program = folder.0.join("calls");
        compile(&file("tests/calls.c"), &program, shared);
        let mut command = Command::new(&program);
        command.env("LAXITY_CPU_SOCKET", folder.socket()).arg("alone");
        assert_eq!(output_of(&command.output().expect("a program")), "unreachable\n");
        let _server = serve(&folder, &scheduler, ConnectionLimits::default());
        let mut command = Command::new(&program);
        command.env("LAXITY_CPU_SOCKET", folder.socket());
        let text = output_of(&if is_root() {
            run_as(USER, &mut command)
        } else {
            command.output().expect("a program")
        });
        let mut lines = text.lines();
        if is_root() {
            let share = "share max_runtime_ns 2500000: 6 ms in every 10 ms needs 60.000 % of a CPU; your user \
                 has 0.000 % of the 25.000 % that it may have; a runtime of 2.5 ms would fit";
            assert_eq!(lines.next(), Some(share), "{text}");
            assert_eq!(lines.next(), Some("share 250000 of 250000"), "{text}");
        } else {
            lines.nth(1);
        }
        assert_eq!(lines.next(), Some("runtime 2500000 every 10000000 tasks 1 cpu 0 inherit 1"));
        assert_eq!(lines.next(), Some("already-reserved not-reserved no-task"));
        assert_eq!(scheduler.reservations(), []);
    }
}

/// A program that is linked by the flags of `laxity_reserve.pc` starts, also when the folder of the library
/// is not in the search path of the dynamic linker.
///
/// Fails when the folder is not in the run path of the program: tried without `-rpath`.
#[test]
fn programs_linked_by_pkg_config_start() {
    let folder = Folder::new("installed");
    let (prefix, program) = (folder.0.join("prefix"), folder.0.join("calls"));
    let libraries = prefix.join("lib");
    std::fs::create_dir_all(&libraries).expect("a folder");
    let test = std::env::current_exe().expect("a path");
    let built = test.parent().expect("a folder").join("liblaxity_reserve_c.so");
    std::fs::copy(built, libraries.join("liblaxity_reserve.so.0")).expect("a copy");
    let link = libraries.join("liblaxity_reserve.so");
    std::os::unix::fs::symlink("liblaxity_reserve.so.0", link).expect("a link");
    let description = std::fs::read_to_string(file("laxity_reserve.pc")).expect("a file");
    let libs = description.lines().find_map(|line| line.strip_prefix("Libs: ")).expect("a line");
    let libs = libs.replace("${libdir}", libraries.to_str().expect("a path"));
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(&program).arg(file("tests/calls.c")).arg("-I").arg(file("include"));
    let output = cc.args(libs.split(' ')).output().expect("cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut command = Command::new(&program);
    command.env_remove("LD_LIBRARY_PATH").env("LAXITY_CPU_SOCKET", folder.socket()).arg("alone");
    assert_eq!(output_of(&command.output().expect("a program")), "unreachable\n");
}

/// The examples run, and reserve the largest runtime that fits when their first request is refused.
#[test]
fn the_examples_run() {
    let (folder, scheduler) = (Folder::new("examples"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    // Root has no share, so another reservation takes most of the CPU.
    scheduler
        .reserve_as_root(std::process::id(), Reservation::new(Span(70_000_000), Span(100_000_000)));
    let program = folder.0.join("periodic");
    compile(&file("examples/periodic.c"), &program, true);
    let mut python = Command::new("python3");
    python.arg(file("../../python/examples/periodic.py")).env("PYTHONPATH", file("../../python"));
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    for (mut command, reserved) in [
        (Command::new(&program), "reserved 5000 us every 20000 us"),
        (python, "reserved 5 ms every 20 ms"),
    ] {
        let text = output_of(
            &command
                .arg("3")
                .env("LAXITY_CPU_SOCKET", folder.socket())
                .output()
                .expect("a program"),
        );
        assert!(text.contains("5 ms would fit"), "{text}");
        assert!(text.contains(reserved) && text.contains("jobs 3 deadline_misses "), "{text}");
        assert_eq!(scheduler.reservations().len(), 1);
    }
}

/// The Python client works with the standard library alone.
///
/// Fails when a key is misspelt, a refusal is not raised, an answer of another version is accepted, or
/// another thread than the calling one is reserved: tried with the process in place of the thread.
#[test]
fn python_programs_reserve_for_themselves() {
    let (folder, scheduler) = (Folder::new("python"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let mut command = Command::new("python3");
    command.args(["-I", "-c"]).arg(
        "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])\n\
         exec(open(sys.argv[2]).read())",
    );
    command.arg(file("../../python")).arg(file("tests/calls.py"));
    command.env("LAXITY_CPU_SOCKET", folder.socket());
    assert_eq!(output_of(&command.output().expect("python3")), "passed\n");
    assert_eq!(scheduler.reservations(), []);
}
