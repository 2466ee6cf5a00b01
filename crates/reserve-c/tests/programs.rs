//! Programs in C and Python ask a server that only keeps the books.

#[path = "../../broker/tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use laxity_broker::Limits;
use laxity_core::Span;
use laxity_cpu::Reservation;
// So that the libraries are built before this runs.
use laxity_reserve_c as _;
use support::{Books, Folder, SOMEBODY, is_root, run_as, serve};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Compiles a program in C, with warnings as errors, against the shared or the static library.
fn compiled(source: &Path, to: &Path, shared: bool) {
    let test = std::env::current_exe().expect("a path");
    let libraries = test.parent().expect("a folder");
    let name = if shared { "liblaxity_reserve_c.so" } else { "liblaxity_reserve_c.a" };
    let library = libraries.join(name);
    assert!(library.exists(), "no {}", library.display());
    let mut cc = Command::new("cc");
    cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(to).arg(source);
    cc.arg("-I").arg(here("include"));
    if shared {
        // Under the name by which it is looked for when the program starts.
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

fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    format!("{out}{err}")
}

/// The functions, their structures and codes are as the header says; null pointers, a missing
/// server and refusals are answered; a reservation ends when its program does.
///
/// Fails when a field of the header stands elsewhere than in the library (tried with `cpu` first),
/// when a code has another number, or when a null pointer is written through.
#[test]
fn c_programs_reserve_for_themselves() {
    let (folder, books) = (Folder::new("c"), Books::default());
    for shared in [false, true] {
        let program = folder.0.join("calls");
        compiled(&here("tests/calls.c"), &program, shared);
        let mut command = Command::new(&program);
        command.env("LAXITY_CPU_SOCKET", folder.socket()).arg("alone");
        assert_eq!(said(&command.output().expect("a program")), "unreachable\n");
        let _server = serve(&folder, &books, Limits::default());
        let mut command = Command::new(&program);
        command.env("LAXITY_CPU_SOCKET", folder.socket());
        let text = said(&if is_root() {
            run_as(SOMEBODY, &mut command)
        } else {
            command.output().expect("a program")
        });
        let mut lines = text.lines();
        if is_root() {
            let share = "share fits 2500000: 6 ms in every 10 ms needs 60.000 % of a CPU; your user \
                 has 0.000 % of the 25.000 % that it may have; a runtime of 2.5 ms would fit";
            assert_eq!(lines.next(), Some(share), "{text}");
            assert_eq!(lines.next(), Some("share 250000 of 250000"), "{text}");
        } else {
            lines.nth(1);
        }
        assert_eq!(lines.next(), Some("holds 2500000 every 10000000 tasks 1 cpu 0 inherit 1"));
        assert_eq!(lines.next(), Some("has-one has-none no-task"));
        assert_eq!(books.held(), []);
    }
}

/// A program that is built with what `laxity_reserve.pc` says starts, wherever the library was
/// installed: that folder need not be one in which the system looks.
///
/// Fails when the folder is not written into the program: tried without `-rpath`.
#[test]
fn programs_built_as_documented_start() {
    let folder = Folder::new("installed");
    let (prefix, program) = (folder.0.join("prefix"), folder.0.join("calls"));
    let libraries = prefix.join("lib");
    std::fs::create_dir_all(&libraries).expect("a folder");
    let test = std::env::current_exe().expect("a path");
    let built = test.parent().expect("a folder").join("liblaxity_reserve_c.so");
    std::fs::copy(built, libraries.join("liblaxity_reserve.so.0")).expect("a copy");
    let link = libraries.join("liblaxity_reserve.so");
    std::os::unix::fs::symlink("liblaxity_reserve.so.0", link).expect("a link");
    let description = std::fs::read_to_string(here("laxity_reserve.pc")).expect("a file");
    let libs = description.lines().find_map(|line| line.strip_prefix("Libs: ")).expect("a line");
    let libs = libs.replace("${libdir}", libraries.to_str().expect("a path"));
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(&program).arg(here("tests/calls.c")).arg("-I").arg(here("include"));
    let output = cc.args(libs.split(' ')).output().expect("cc");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut command = Command::new(&program);
    command.env_remove("LD_LIBRARY_PATH").env("LAXITY_CPU_SOCKET", folder.socket()).arg("alone");
    assert_eq!(said(&command.output().expect("a program")), "unreachable\n");
}

/// The examples run as they are: with less than they ask for when that is all there is.
#[test]
fn the_examples_run() {
    let (folder, books) = (Folder::new("examples"), Books::default());
    let _server = serve(&folder, &books, Limits::default());
    // Root has no share; so that there is too little for all, most is taken.
    books.hold(std::process::id(), Reservation::new(Span(70_000_000), Span(100_000_000)));
    let program = folder.0.join("periodic");
    compiled(&here("examples/periodic.c"), &program, true);
    let mut python = Command::new("python3");
    python.arg(here("../../python/examples/periodic.py")).env("PYTHONPATH", here("../../python"));
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    for (mut command, reserved) in [
        (Command::new(&program), "reserved 5000 us every 20000 us"),
        (python, "reserved 5 ms every 20 ms"),
    ] {
        let text = said(
            &command
                .arg("3")
                .env("LAXITY_CPU_SOCKET", folder.socket())
                .output()
                .expect("a program"),
        );
        assert!(text.contains("5 ms would fit"), "{text}");
        assert!(text.contains(reserved) && text.contains("jobs 3 late "), "{text}");
        assert_eq!(books.held().len(), 1);
    }
}

/// The client in Python does as it says, with the standard library alone.
///
/// Fails when a key is misspelt, a refusal is not raised, or the calling thread is not the one that
/// is reserved for: tried with the process in place of the thread.
#[test]
fn python_programs_reserve_for_themselves() {
    let (folder, books) = (Folder::new("python"), Books::default());
    let _server = serve(&folder, &books, Limits::default());
    let mut command = Command::new("python3");
    command.args(["-I", "-c"]).arg(
        "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])\n\
         exec(open(sys.argv[2]).read())",
    );
    command.arg(here("../../python")).arg(here("tests/calls.py"));
    command.env("LAXITY_CPU_SOCKET", folder.socket());
    assert_eq!(said(&command.output().expect("python3")), "all as it should be\n");
    assert_eq!(books.held(), []);
}
