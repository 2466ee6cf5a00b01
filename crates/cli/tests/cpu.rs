//! `laxity cpu` where it must not touch the machine: bad usage is refused before anything is tried.

mod support;

use support::laxity;

/// Fails when times without units are accepted, when a reservation is not checked before the kernel
/// is queried, or when the policies of the simulator are offered.
#[test]
fn usage_errors_precede_kernel_errors() {
    let run = |runtime: &'static str, period: &'static str| {
        laxity(&["cpu", "run", "--runtime", runtime, "--period", period, "--", "true"])
    };
    run("4", "10ms").fails(2, &["--runtime", "4"]);
    run("4ms", "10 parsecs").fails(2, &["--period", "10 parsecs"]);
    run("20ms", "10ms").fails(2, &["20 ms of CPU time by 10 ms", "up to the deadline"]);
    run("0ms", "10ms").fails(2, &["a budget of 0 ms"]);
    laxity(&["cpu", "up", "--policy", "eevdf"]).fails(2, &["eevdf", "bebs-credit"]);
    laxity(&["cpu", "run", "--runtime", "4ms", "--period", "10ms"]).fails(2, &["CMD"]);
    laxity(&["cpu", "reserve", "one", "--runtime", "4ms", "--period", "10ms"]).fails(2, &["one"]);
    let record = |file: &'static str, length: &'static str| {
        laxity(&["cpu", "record", file, "--duration", length])
    };
    record("unwritten", "1 parsec").fails(2, &["--duration", "1 parsec"]);
    record("unwritten", "11min").fails(2, &["at most 10 minutes"]);
    assert!(!std::path::Path::new("unwritten").exists());
}

/// Fails when the environment is not read, takes precedence over the options, or is not checked before the kernel is
/// queried.
#[test]
fn reservations_may_be_in_the_environment() {
    let run = |variable: Option<&str>, options: &[&str]| {
        let arguments = [&["cpu", "run"], options, &["--", "/nowhere/at/all"]].concat();
        let mut command = support::command(&arguments);
        command.env_remove("LAXITY_RESERVATION").env("LAXITY_CPU_SOCKET", "/nowhere/either");
        command.envs(variable.map(|v| ("LAXITY_RESERVATION", v)));
        support::Ran::of(command.output().expect("the command starts"))
    };
    run(None, &[]).fails(2, &["--runtime and --period", "LAXITY_RESERVATION such as 4ms/10ms"]);
    run(Some("4ms"), &[]).fails(2, &["LAXITY_RESERVATION", "not `4ms`"]);
    run(Some("4/10ms"), &[]).fails(2, &["LAXITY_RESERVATION", "4"]);
    run(Some("20ms/10ms"), &[]).fails(2, &["20 ms of CPU time by 10 ms"]);
    run(Some("4ms/10ms"), &["--runtime", "4ms"]).fails(2, &["--period"]);
    run(Some("4ms/10ms"), &["--runtime", "0ms", "--period", "1ms"]).fails(2, &["a budget of 0 ms"]);
    // Read; nothing schedules here, or the program is missing.
    let ran = run(Some("4ms/10ms"), &[]);
    assert!(!ran.err.contains("LAXITY_RESERVATION") && ran.code != Some(0), "{}", ran.err);
}

/// Fails when an overhead is accepted that no reservation has, or without a unit.
#[test]
fn overheads_are_checked_first() {
    let up = |overhead: &'static str| laxity(&["cpu", "up", "--overhead", overhead]);
    up("switch=6").fails(2, &["--overhead switch=6: "]);
    up("migration=20us").fails(2, &["a reservation stays on its CPU"]);
    up("interrupt=20us").fails(2, &["switch and release"]);
    up("switch=1s").fails(2, &["at most 100 ms"]);
}

/// The measured overheads are those of a scenario, and of each kind there is a positive one.
///
/// Fails when the text is not TOML, or a cost is not measured.
#[test]
fn measured_overheads_are_a_section() {
    let ran = laxity(&["cpu", "measure"]);
    let text = ran.succeeds();
    assert!(text.contains("[overheads]\nswitch = \""), "{text}");
    let scenario = format!("[cpu]\n{text}[[task]]\nname = \"a\"\nwork = \"cpu-bound\"\n");
    let folder = support::Folder::new("measured");
    laxity(&["check", &folder.write("measured.toml", scenario)]).succeeds();
    let json = laxity(&["cpu", "measure", "--json"]).succeeds();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    for kind in ["switch", "release"] {
        assert!(json[kind]["samples"].as_u64() >= Some(2_000), "{json}");
        assert!(json[kind]["max_ns"].as_u64() > Some(0), "{json}");
    }
    laxity(&["cpu", "measure", "--cpu", "9999"]).fails(2, &["--cpu 9999: this process may run on"]);
}

/// Fails when options of the server are not looked at before it does anything.
#[test]
fn invalid_servers_do_not_start() {
    let serve = |option: &'static str, value: &'static str| {
        laxity(&["cpu", "serve", "--socket", "/nowhere/at/all", option, value])
    };
    serve("--share", "25").fails(2, &["--share", "12.5%"]);
    serve("--share", "120%").fails(2, &["--share", "from 0% to 100%"]);
    serve("--mode", "rw").fails(2, &["--mode", "0660"]);
    serve("--listen", "anywhere").fails(2, &["--listen"]);
}

/// Without a scheduler the status is 3 where the machine or the build lacks something,
/// 1 where it could be up and is not.
#[test]
fn status_without_a_scheduler_names_a_remedy() {
    let ran = laxity(&["cpu", "status", "--json"]);
    match ran.code {
        // There is one.
        Some(0) => {}
        Some(1) => ran.fails(1, &["laxity cpu up"]),
        // A kernel without sched_ext, a user without privileges, a command built without the kernel's part.
        _ => {
            ran.fails(3, &[]);
            let reasons = ["CONFIG_SCHED_CLASS_EXT", "CAP_BPF", "KERNEL=1"];
            assert!(reasons.iter().any(|w| ran.err.contains(w)), "{}", ran.err);
        }
    }
}

#[cfg(feature = "kernel")]
#[path = "../../kernel/tests/machine/mod.rs"]
mod machine;

#[cfg(feature = "kernel")]
mod live {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::Value;

    // So that its libraries are built before this runs.
    use laxity_reserve_c as _;

    use super::machine::{
        self, VmOutput, available, binary, example, file, number, part, stripped, tool,
    };

    /// A program in C with the static library.
    fn compiled(source: &str, name: &str) -> PathBuf {
        let test = std::env::current_exe().expect("a path");
        let library = test.parent().expect("a folder").join("liblaxity_reserve_c.a");
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let mut cc = Command::new("cc");
        cc.arg("-O1").arg("-s").arg("-o").arg(&to).arg("-I").arg(file("crates/reserve-c/include"));
        cc.arg(file(source)).arg(library);
        let done = cc.args(["-lpthread", "-ldl", "-lm"]).status().expect("cc");
        assert!(done.success());
        to
    }

    /// The library for programs of `SCHED_DEADLINE`. Cargo builds it for tests of the whole workspace.
    fn preload() -> PathBuf {
        let test = std::env::current_exe().expect("a path");
        let library = test.parent().expect("a folder").join("liblaxity_preload.so");
        let hint = "build it with: cargo test -p laxity-preload --no-run";
        assert!(library.exists(), "{} is not built; {hint}", library.display());
        library
    }

    /// Python of this machine: the program, its home, and the files of all that the library of
    /// reservations imports.
    fn python() -> (PathBuf, String, Vec<String>) {
        // Where it has no module in C for decimals, one that the list lacks.
        let imports = "import os, sys, time, fractions, _pydecimal, laxity.reserve as _\n\
             print(os.path.realpath(sys.executable)); print(sys.base_prefix)\n\
             for m in list(sys.modules.values()):\n  if getattr(m, '__file__', None): print(m.__file__)";
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", file("python")).env("PYTHONDONTWRITEBYTECODE", "1");
        let output = command.args(["-S", "-c", imports]).output().expect("python3");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("paths");
        let mut lines = text.lines().map(str::to_owned);
        let (program, home) = (lines.next().expect("a program"), lines.next().expect("a folder"));
        (program.into(), home, lines.collect())
    }

    /// The configuration of a bus with the policy of the package, as files in the machine; `None` where there is no
    /// program for it.
    fn bus() -> Option<[String; 2]> {
        if Command::new("dbus-daemon").arg("--version").output().is_err() {
            machine::lacking("there is no dbus-daemon");
            return None;
        }
        let text = std::fs::read_to_string(file("crates/rtkit/tests/bus.conf")).expect("a file");
        // systemd sees names on the bus once it has its own.
        let own = "<policy user=\"root\"><allow own=\"org.freedesktop.systemd1\"/></policy>";
        let text = text.replace("@POLICY@", "/job/laxity-rtkit.conf").replace("@OWN@", own);
        // Another test may take one along at this time.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("bus-{}-{number}.conf", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, text.replace("@FOLDER@", "/run/dbus")).expect("a file");
        let policy = file("packaging/laxity-rtkit.conf").display().to_string();
        Some([format!("{}:/job/bus.conf", path.display()), policy])
    }

    /// PipeWire of this machine with the modules and plugins of the test, each a program for the machine; `None` where
    /// it is not installed.
    fn pipewire() -> Option<Vec<PathBuf>> {
        let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
        let folders = folders.map(|e| e.path()).chain(["/usr/lib".into(), "/usr/lib64".into()]);
        let Some(folder) = folders.into_iter().find(|f| f.join("pipewire-0.3").exists()) else {
            machine::lacking("there is no pipewire");
            return None;
        };
        let modules = "rt protocol-native metadata client-node client-device access adapter \
                       link-factory session-manager";
        let modules = modules.split_whitespace();
        let modules =
            modules.map(|m| folder.join(format!("pipewire-0.3/libpipewire-module-{m}.so")));
        let plugins = [
            "support/libspa-support",
            "support/libspa-dbus",
            "audioconvert/libspa-audioconvert",
            "audiotestsrc/libspa-audiotestsrc",
        ];
        let plugins = plugins.map(|p| folder.join(format!("spa-0.2/{p}.so")));
        // Copies that may be executed, as the image takes programs only.
        let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pipewire");
        std::fs::create_dir_all(&to).expect("a folder");
        let copy = |path: PathBuf| {
            let copy = to.join(path.file_name().expect("a name"));
            std::fs::copy(&path, &copy).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&copy, mode).expect("a mode");
            copy
        };
        let mut files: Vec<PathBuf> = modules.chain(plugins).map(copy).collect();
        files.extend(["pipewire", "pw-link"].map(PathBuf::from));
        Some(files)
    }

    /// A script under the kernel for CPUs, with files of this machine at their places there.
    fn run(
        script: &str,
        arguments: &[&str],
        programs: &[PathBuf],
        places: impl Iterator<Item = String>,
    ) -> VmOutput {
        let mut options = vec!["--for".to_owned(), "cpu".to_owned()];
        options.extend(places.flat_map(|place| ["--file".to_owned(), place]));
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        machine::run_with(&options, script, arguments, programs, &[])
    }

    #[track_caller]
    fn assert_contains(part: &str, expected: &[&str]) {
        for text in expected {
            assert!(part.contains(text), "no `{text}` in {part}");
        }
    }

    /// Slices and waits end where they began, the reserved task's deadlines are there, none is
    /// missed, and slices on the only processor do not overlap.
    fn is_a_trace(text: &str) {
        let trace: Value = serde_json::from_str(text).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let named = |name: &str| events.iter().filter(|e| e["name"] == name).count();
        assert!(named("deadline") >= 30, "{} deadlines", named("deadline"));
        assert_eq!(named("deadline missed"), 0);
        let mut open: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
        for event in events {
            let track = (event["pid"].as_u64(), event["tid"].as_u64());
            let names = open.entry(track).or_default();
            match event["ph"].as_str() {
                Some("B") => names.push(&event["name"]),
                Some("E") => assert_eq!(names.pop(), Some(&event["name"]), "{event}"),
                _ => {}
            }
            assert!(names.len() <= 1, "{event}");
        }
        assert!(open.values().all(Vec::is_empty));
        let reserved = events.iter().filter(|e| e["args"]["reserved"] == true);
        assert!(reserved.filter(|e| e["args"]["budget_us"] == 3000).count() >= 30);
    }

    /// The services run under their confinement: the CPUs are scheduled from `enable --now` to
    /// `stop`, by another policy after `reload`, and the first program to ask for a reservation starts
    /// the server. Thread IDs differ from the kernel's, as in a container: the requesting program has
    /// the reservation, keeps its deadlines, and is listed by its ID; other namespaces do not see it. A client of
    /// RealtimeKit has one, too, and a nice value, and so have programs of `SCHED_DEADLINE` with the library for them;
    /// where the kernel has a deadline server for sched_ext, the server of reservations sizes it.
    ///
    /// Fails when the scheduler's service lacks a privilege (tried: `CapabilityBoundingSet=CAP_NET_ADMIN`),
    /// when a reload to the policy that is there counts as a failure (tried: `ExecReload` without its `-`),
    /// when tasks are looked up by the kernel's numbers (tried: `bpf_task_from_pid` in `laxity_reserve`,
    /// which reserved for another task), and when they are identified by these (tried: `lx_pid_for_caller` that returns
    /// what it got), and when a program in a reservation has SIGPIPE reset (tried with `exec` of the standard library).
    #[test]
    fn services_run_under_systemd() {
        let folders = ["/usr/lib/systemd", "/lib/systemd"].map(Path::new);
        let folder = folders.into_iter().find(|f| f.join("systemd").exists());
        if !available() {
            return;
        }
        let Some(folder) = folder else {
            machine::lacking("there is no systemd");
            return;
        };
        let targets =
            "basic local-fs multi-user paths shutdown slices sockets swap sysinit timers umount";
        let targets = targets.split(' ').map(|t| folder.join(format!("system/{t}.target")));
        let ours = [
            "laxity-cpu.service",
            "laxity-cpu-reservations.socket",
            "laxity-cpu-reservations.service",
            "laxity-rtkit.service",
        ]
        .map(|name| file(&format!("packaging/{name}")));
        let places = targets.chain(ours).map(|unit| {
            let name = unit.file_name().and_then(|n| n.to_str()).expect("a name");
            format!("{}:/etc/systemd/system/{name}", unit.display())
        });
        let Some(bus) = bus() else { return };
        let places = places.chain(bus);
        let programs = [
            folder.join("systemd"),
            "systemctl".into(),
            "setpriv".into(),
            "dbus-daemon".into(),
            "busctl".into(),
            stripped(Path::new(env!("CARGO_BIN_EXE_laxity"))),
            stripped(&binary("laxity-rtkit", "laxity-rtkit")),
            stripped(&example("laxity-rtkit", "realtime")),
            stripped(&tool("tasks")),
            stripped(&preload()),
            compiled("crates/preload/tests/deadline.c", "deadline"),
            "chrt".into(),
        ];
        let text = run("units.sh", &[], &programs, places);

        let enable = part(&text, "enable");
        let active = "laxity-cpu.service is active, success\n\
             laxity-cpu-reservations.socket is active, success\n\
             laxity-cpu-reservations.service is inactive, success\n\
             enabled\nPolicy bebs-credit\n";
        assert!(enable.ends_with(active), "{enable}");
        let reload = "ended with 0\nlaxity-cpu.service is active, success\nenabled\nPolicy berate\neach runtime gets 4 us more\n";
        assert_eq!(part(&text, "reload"), reload);
        let rtkit = part(&text, "rtkit");
        let states = "laxity-rtkit.service is active, success\nrtkit-daemon.service is active, success\ngranted\n";
        assert_contains(rtkit, &[states, "ended with 0\n-5\n"]);
        assert!(rtkit.ends_with("rtkit-daemon.service is inactive, success\n"), "{rtkit}");
        let reservations = part(&text, "reservations");
        let known = "laxity-cpu-reservations.service is active, success\nit is known\nunseen ";
        let refused =
            "needs 30.040 % of a CPU with the 0.004 ms of overheads added to each runtime; ";
        assert_contains(reservations, &[known, refused]);
        assert_eq!(number(reservations, "jobs", "missed"), 0, "{reservations}");
        // SIGPIPE, signal 13, is still ignored.
        let ignored = reservations.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        assert!(ignored.is_some_and(|mask| mask >> 12 & 1 == 1), "{reservations}");
        // On Linux 7, and the service may write there.
        if let Some(size) = reservations.lines().find_map(|l| l.strip_prefix("server ")) {
            assert_eq!(size, "251000 1000000", "{reservations}");
        }
        let deadline = part(&text, "deadline");
        let steps = [
            "set 2 10: ok\nget: ok 6 2 10 10\njobs 100 late 0 ",
            "\nset 3 10: EBUSY\nget: ok 6 2 10 10\npolicy 0 0: ok\nget: ok 0\nended with 0\n",
        ];
        assert_contains(deadline, &steps);
        // The first job begins within a period.
        assert!((99..=100).contains(&number(deadline, "jobs 100 late", "periods")), "{deadline}");
        assert_contains(deadline, &["Device or resource busy\nended with 1\n"]);
        assert_eq!(number(deadline, "jobs 100 missed", "missed"), 0, "{deadline}");
        // The kernel's answer, without a server.
        assert_contains(deadline, &["Operation not permitted\nended with 1\n"]);
        // After that nothing: a socket would be listed.
        let inactive = "laxity-cpu-reservations.socket is inactive, success\n\
             laxity-cpu-reservations.service is inactive, success\n";
        assert!(deadline.ends_with(inactive), "{deadline}");
        let stop = "ended with 0\nlaxity-cpu.service is inactive, success\ndisabled\n";
        assert_eq!(part(&text, "stop"), stop);
        let start =
            "ended with 0\nended with 0\nenabled\nPolicy berate\nended with 0\nkernel content\n";
        assert_eq!(part(&text, "start"), start);
    }

    /// A program without any privilege asks RealtimeKit on D-Bus: it has a reservation of its user, which grows to
    /// twice its work within seconds, and from then on misses no deadline beside a compilation. So does PipeWire by
    /// its own module, whose sound has no gap.
    ///
    /// Fails when the runtime does not follow (tried without `resize`: all jobs are late), and when a second service takes
    /// the name (tried with the flags of zbus).
    #[test]
    fn clients_of_realtimekit_have_reservations() {
        if !available() {
            return;
        }
        let Some(bus) = bus() else { return };
        let programs = [
            stripped(Path::new(env!("CARGO_BIN_EXE_laxity"))),
            stripped(&binary("laxity-rtkit", "laxity-rtkit")),
            stripped(&example("laxity-rtkit", "realtime")),
            stripped(&tool("tasks")),
            "dbus-daemon".into(),
            "setpriv".into(),
        ];
        let pipewire = pipewire();
        let (sound, arguments): (&[PathBuf], &[&str]) = match &pipewire {
            Some(files) => (files, &["pipewire"]),
            None => (&[], &[]),
        };
        let conf = ["crates/kernel/tests/vm/pipewire.conf", "crates/kernel/tests/vm/client.conf"];
        let conf = conf.map(|name| file(name).display().to_string());
        let programs = [&programs[..], sound].concat();
        let text = run("rtkit.sh", arguments, &programs, bus.into_iter().chain(conf));

        assert_contains(part(&text, "without"), &["refused: ", "ServiceUnknown", "ended with 0"]);
        let denied = "refused: org.freedesktop.DBus.Error.AccessDenied: priority 21";
        assert_contains(part(&text, "refused"), &[denied]);
        let granted = part(&text, "granted");
        let runtime = granted.trim().strip_prefix("\"user\":1000\"runtime_ns\":");
        let runtime = runtime.and_then(|rest| rest.split('\n').next()?.parse::<u64>().ok());
        assert!(runtime.is_some_and(|ns| (1_500_000..=5_000_000).contains(&ns)), "{granted}");
        assert_contains(granted, &["\ngranted\n"]);
        assert_eq!(part(&text, "ended"), "none is left\n");
        assert_eq!(number(granted, "second half", "missed"), 0, "{granted}");
        if pipewire.is_some() {
            let sound = part(&text, "pipewire");
            assert_eq!(number(sound, "sound", "xruns"), 0, "{sound}");
            assert!(number(sound, "sound", "blocks") >= 120, "{sound}");
            let reserved = sound.lines().any(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.len() == 8 && words[4] == "5" && words[6] == "0"
            });
            assert!(reserved, "no reservation of 5 ms without misses: {sound}");
        }
        let again = part(&text, "again");
        assert_contains(again, &["has an owner", "ended with 1\n", "makes reservations\n"]);
        assert!(text.ends_with("kernel content\n"), "{text}");
    }

    /// Programs in C, Rust and Python, without any privilege, reserve for themselves and are in time
    /// beside CPU-bound tasks. A refusal reports what remains of the user's share or of the
    /// CPU; users cannot change tasks of others. While the server is stopped reservations are kept. A
    /// killed server loses none, and the next one knows their owners. Reservations end
    /// with their tasks; a child's reservation is released on its own after its parent has ended.
    ///
    /// A command without privileges names the missing ones, and only those are needed: a root with no others suffices.
    /// Children of a reserved task share its reservation only on request.
    ///
    /// Fails when the owner is not kept with the reservation (without `r->owner` in `lx_reserve_for` the
    /// next server finds none of that user), when the server keeps using a removed scheduler (tried with
    /// `identity` always the same), when a child's reservation is looked up by the number of the first
    /// task, and when a recording that is cut short is no JSON, as it was.
    #[test]
    fn unprivileged_programs_reserve_for_themselves() {
        if !available() {
            return;
        }
        let (python, home, modules) = python();
        let programs = [
            python.clone(),
            stripped(Path::new(env!("CARGO_BIN_EXE_laxity"))),
            stripped(&tool("tasks")),
            stripped(&example("laxity-reserve", "periodic")),
            compiled("crates/reserve-c/examples/periodic.c", "periodic-c"),
            compiled("crates/reserve-c/tests/query.c", "query-c"),
            "setpriv".into(),
        ];
        // Their paths on this machine; ours is beside the script.
        let place = |path: &String| {
            let own = path.rsplit_once("/python/laxity/");
            own.map_or_else(|| path.clone(), |(_, name)| format!("/job/laxity/{name}"))
        };
        let program = file("python/examples/periodic.py").display().to_string();
        let recording = file("crates/kernel/tests/vm/recording.sh").display().to_string();
        let places = modules.iter().map(|m| format!("{m}:{}", place(m)));
        let places = places.chain([program, recording]);
        let name = python.file_name().and_then(|n| n.to_str()).expect("a name");
        let arguments = [name, &home];
        let text = run("programs.sh", &arguments, &programs, places);

        let none = part(&text, "none is up");
        assert_contains(none, &["the scheduler is not up", "ended with 1"]);
        let privileges = part(&text, "privileges");
        assert_eq!(privileges.matches("CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN").count(), 5);
        assert_eq!(privileges.matches("ended with 3\n").count(), 5, "{privileges}");
        let up =
            "ended with 3\ndisabled\nlaxity: policy bebs-credit schedules the CPUs\nended with 0\n";
        assert_contains(privileges, &[up]);
        assert!(privileges.ends_with("ended with 3\nenabled\n"), "{privileges}");
        let without = part(&text, "without");
        assert_contains(
            without,
            &["unreachable: /tmp/unheard: ", "ended with 1\n", "ended with 0\n"],
        );
        for language in ["c", "rust"] {
            let kept = part(&text, language);
            assert_contains(kept, &["reserved 6500 us every 20000 us\n", "ended with 0"]);
            assert_eq!(number(kept, "jobs 50", "deadline_misses"), 0, "{kept}");
        }
        let kept = part(&text, "python");
        assert_contains(kept, &["reserved 6.5 ms every 20 ms\n", "ended with 0"]);
        assert_eq!(number(kept, "jobs 50", "deadline_misses"), 0, "{kept}");
        let reserve = part(&text, "reserve");
        let [own, inherited] = [
            "runtime 2000000 tasks 1 inherit 0\nended with 0\nruntime 0 tasks 0 inherit 0\n",
            "runtime 2000000 tasks 2 inherit 1\nended with 0\nruntime 2000000 tasks 2 inherit 1\n",
        ];
        assert_contains(reserve, &["has 2 ms in every 20 ms on CPU 0\n", own, inherited]);
        assert_eq!(reserve.matches("is best effort\nended with 0\n").count(), 2, "{reserve}");
        let top = part(&text, "top");
        assert_contains(
            top,
            &[
                "\nCPUs: bebs-credit\n",
                "3 ms       10 ms    0      1                0          0 us\n",
            ],
        );
        // CPU-bound tasks are among the inferred ones.
        let inferred = top.rsplit("inferred of").next().unwrap_or_default();
        assert!(inferred.lines().filter(|l| l.ends_with(" tasks")).count() >= 3, "{top}");
        let trace = part(&text, "trace");
        assert_contains(
            trace,
            &["CAP_BPF", "ended with 3", "slices in /tmp/trace.json", "ended with 0"],
        );
        is_a_trace(part(&text, "events"));
        let cut = part(&text, "cut short");
        assert_contains(cut, &["slices in /tmp/cut.json", "ended with 130\n"]);
        assert!(cut.ends_with("]}\n"), "{cut}");
        let hidden = part(&text, "hidden");
        assert!(hidden.starts_with("ended with 0\n"), "it is not hidden: {hidden}");
        assert_contains(hidden, &["Policy bebs-credit", "Inferred", "ended with 0\n"]);
        let gone = part(&text, "scheduler removed");
        assert_contains(
            gone,
            &["slices in /tmp/gone.json", "the scheduler is not up", "ended with 1\n"],
        );
        assert!(gone.ends_with("]}\n"), "{gone}");
        let suspended = part(&text, "suspended");
        assert_eq!(number(suspended, "jobs 50", "missed"), 0, "{suspended}");
        let share = part(&text, "share");
        let own = "your user has 32.500 % of the 40.000 % that it may have; a runtime of 1.5 ms \
             would fit\nended with 1\n";
        assert_contains(share, &["32.500 % of a CPU; ", own, "another\nended with 0\n"]);
        assert_eq!(share.matches("your user has no task").count(), 3, "{share}");
        assert_eq!(share.matches("ended with 2").count(), 3, "{share}");
        let room = part(&text, "room");
        assert_contains(
            room,
            &["more than the 2.500 % left; a budget of 0.5 ms would fit\nended with 1"],
        );
        let killed = part(&text, "killed");
        assert_contains(killed, &["enabled\n", own, "laxity_cpu_up{policy=\"bebs-credit\"} 1\n"]);
        assert_contains(killed, &["user=\"1000\",cpu=\"0\"} 0.006500000\n"]);
        assert_contains(killed, &["{request=\"reserve\",outcome=\"share\"} 1\n"]);
        assert_contains(part(&text, "ended"), &["reserved 6500 us", "ended with 0"]);
        let child = "runtime 2000000 tasks 1 inherit 1\nended with 0\n";
        assert_contains(part(&text, "children"), &[child, "is best effort\nended with 0"]);
        let overheads = part(&text, "overheads");
        assert!(number(overheads, "without jobs 100", "missed") > 0, "{overheads}");
        assert_eq!(number(overheads, "with jobs 100", "missed"), 0, "{overheads}");
        assert_contains(
            overheads,
            &[
                "policy bebs-credit schedules the CPUs instead of bebs-credit\nended with 0\n",
                "a switch takes 50 us, a release 25, so each runtime gets 125 us more",
                "needs 41.250 % of a CPU with the 0.125 ms of overheads added to each runtime; your user",
                "a runtime of 3.875 ms would fit\nended with 1\n",
                "needs 65.250 % of the CPU, 1.500 % more than the 63.750 % left; a budget of 6.25 ms would fit; \
                 overheads add 0.125 ms to each budget\nended with 1\n",
                "\n[overheads]\nswitch = ",
            ],
        );
        // They stay with another policy, and with a reservation that was made under them.
        let values = |key: &str| -> Vec<String> {
            let lines = overheads.lines().filter(|l| l.contains(&format!("\"{key}\"")));
            lines.map(|l| l.trim().trim_end_matches(',').to_owned()).collect()
        };
        assert_eq!(values("per_job_ns"), ["\"per_job_ns\": 125000", "\"per_job_ns\": 0"]);
        assert_eq!(values("overhead_ns"), ["\"overhead_ns\": 125000"; 2]);
        assert!(values("reserved").iter().any(|v| v.starts_with("\"reserved\": 0.3125")));
        let other = part(&text, "another scheduler");
        assert_contains(other, &["the scheduler is not up", "ended with 1\nended with 0\n"]);
        let stopped = part(&text, "stopped");
        assert!(stopped.starts_with("ended with 0\nlaxity: "), "a socket is left: {stopped}");
        assert_contains(
            stopped,
            &["CAP_BPF", "/run/laxity/cpu.sock", "laxity cpu serve", "ended with 3"],
        );
        // A live run is legal, and each change of its record is found.
        let recorded = part(&text, "recorded");
        let written = "slices in /tmp/run.csv; `laxity validate /tmp/run.csv` judges them\n";
        let up = "policy bebs-credit schedules the CPUs, and is recorded\n";
        assert_contains(recorded, &[up, written]);
        assert!(recorded.starts_with("ended with 0\n"), "{recorded}");
        let judged = part(&text, "judged");
        let legal = "legal run and premises hold, so nothing is late\nended with 0\n";
        assert_contains(judged, &["bebs-credit on CPU 0", legal]);
        let jobs = judged.split_once(" jobs:").and_then(|(before, _)| before.rsplit_once(' '));
        let jobs = jobs.and_then(|(_, jobs)| jobs.parse::<u32>().ok());
        assert!(jobs.is_some_and(|jobs| jobs > 300), "{judged}");
        for (changed, cause) in [
            ("another server", "its server was not ready"),
            ("another time", "not a legal run of EDF servers"),
            ("another deadline", "and its server at"),
            ("another budget", "had no budget left"),
        ] {
            let refused = part(&text, changed);
            assert_contains(refused, &[cause, "ended with 1\n"]);
        }
        assert!(text.ends_with("disabled\nkernel content\n"), "{text}");
    }

    /// Records of two processors are legal under both policies that have servers, also when a reservation changes
    /// meanwhile, with a tolerance of some turns of the emulator; one with a later deadline is not. One whose recorder
    /// stood still until events were lost says so and is not judged.
    ///
    /// Fails when a release by a late timer is judged as one of then (tried: `bebs`, whose deadlines are due 6 us
    /// earlier), and when jobs after one beyond its budget stay unpromised (tried: a period for each begun budget).
    /// Fails when the number of lost events does not come into the record (tried: a recorder that answers none).
    /// Fails when a second recording starts the scheduler, whose events nobody reads, while the first is being written.
    #[test]
    fn records_of_two_cpus_are_legal() {
        if !available() {
            return;
        }
        let programs =
            [stripped(Path::new(env!("CARGO_BIN_EXE_laxity"))), stripped(&tool("tasks"))];
        let recording = file("crates/kernel/tests/vm/recording.sh").display().to_string();
        let options = ["--for", "cpu", "--smp", "2", "--file", &recording];
        let policies = ["bebs-credit", "bebs"];
        let text = machine::run_with(&options, "records.sh", &policies, &programs, &[]);
        for policy in policies {
            assert_contains(part(&text, &format!("recorded under {policy}")), &["ended with 0\n"]);
            let judged = part(&text, &format!("judged under {policy}"));
            let legal = "legal run and premises hold, so nothing is late\n";
            assert_eq!(judged.matches(legal).count(), 2, "{judged}");
            let jobs = judged.lines().filter_map(|l| l.strip_suffix(" jobs:")?.rsplit(' ').next());
            let jobs: u32 = jobs.map(|jobs| jobs.parse::<u32>().expect("a number")).sum();
            assert!(jobs > 150, "{judged}");
            let changed = part(&text, &format!("changed under {policy}"));
            assert_contains(changed, &["and its server at", "ended with 1\n"]);
        }
        let gap = part(&text, "recorded with a gap");
        assert_contains(gap, &["events were lost: the record has gaps and cannot be judged\n"]);
        let judged = part(&text, "judged with a gap");
        let unjudged = "not judged: the record has a gap, ";
        assert_contains(judged, &["bebs on CPU 0", unjudged, "ended with 1\n"]);
        assert!(!judged.contains("legal run") && !judged.contains("premise"), "{judged}");
        let second = part(&text, "second record");
        assert_contains(second, &["somebody records already; try again when that has ended\n"]);
        assert!(second.contains("\ndisabled\n"), "{second}");
        assert!(text.ends_with("kernel content\n"), "{text}");
    }
}
