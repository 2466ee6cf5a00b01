//! The units for systemd in `packaging/`.

mod support;

use std::process::Command;

use support::{Folder, file, understood_by_systemd};

/// Name and text of each unit.
fn units() -> Vec<(String, String)> {
    let entries = std::fs::read_dir(file("packaging")).expect("a folder");
    let names = entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut units: Vec<(String, String)> = names
        .filter(|name| name.ends_with(".service") || name.ends_with(".socket"))
        .map(|name| {
            let text = std::fs::read_to_string(file(&format!("packaging/{name}"))).expect("a unit");
            (name, text)
        })
        .collect();
    units.sort();
    assert!(units.len() >= 7, "{units:?}");
    units
}

/// A unit that starts the command of the tests, also in place of another program.
fn with_command_of_tests(text: &str) -> String {
    let text = text.replace("/usr/local/bin/laxity-rtkit", "/usr/local/bin/laxity");
    text.replace("/usr/local/bin/laxity", env!("CARGO_BIN_EXE_laxity"))
}

/// Fails when systemd does not understand a line of a unit: tried with `SocketModes`, `ExecReloads` and
/// `ProtectProc=hidden`.
#[test]
fn systemd_understands_the_units() {
    let folder = Folder::new("units");
    let mut paths = Vec::new();
    for (name, text) in units() {
        let text = with_command_of_tests(&text);
        // Interfaces of tests have no unit of their own.
        let text = text.replace("BindsTo=sys-subsystem-net-devices-%i.device\n", "");
        folder.write(&name, &text);
        let instance = name.replace('@', "@eth0");
        paths.push(if instance == name {
            folder.path(&name)
        } else {
            folder.write(&instance, text)
        });
    }
    understood_by_systemd(&folder, &paths);
}

/// The drop-in for other services applies to a unit, whose command runs within the reservation.
///
/// Fails when systemd does not understand a line of it (tried with `ExecStart=` left out, which leaves two
/// commands), or when the variable has another name than the command reads.
#[test]
fn systemd_understands_the_drop_in() {
    let folder = Folder::new("drop-in");
    let text = std::fs::read_to_string(file("packaging/reservation.conf")).expect("a drop-in");
    let unit = folder.write("player.service", "[Service]\nExecStart=/usr/bin/sleep infinity\n");
    std::fs::create_dir(folder.path("player.service.d")).expect("a folder");
    folder.write("player.service.d/reservation.conf", with_command_of_tests(&text));
    understood_by_systemd(&folder, &[unit]);

    let value = |key: &str| text.lines().rev().find_map(|line| line.strip_prefix(key));
    let (name, reservation) = value("Environment=").and_then(|v| v.split_once('=')).expect("one");
    let start = value("ExecStart=/usr/local/bin/laxity ").expect("a command");
    let run = |reservation: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_laxity"));
        // A program that is not there, in case that this machine has a scheduler.
        command
            .args(start.split(' ').map(|word| word.replace("/usr/bin/sleep", "/nowhere/at/all")));
        let output = command.env(name, reservation).env("LAXITY_CPU_SOCKET", "/nowhere").output();
        String::from_utf8_lossy(&output.expect("it starts").stderr).into_owned()
    };
    assert!(run("20ms/10ms").contains("20 ms of CPU time by 10 ms"), "{}", run("20ms/10ms"));
    let error = run(reservation);
    assert!(!error.contains("Usage:") && !error.contains("--period"), "{error}");
}

/// Fails when a unit can do much that it need not: tried without its filters of system
/// calls. Where this systemd cannot say, nothing is tested.
#[test]
fn units_are_confined() {
    for (name, _) in units().iter().filter(|(name, _)| name.ends_with(".service")) {
        let unit = file(&format!("packaging/{name}"));
        let mut analyze = Command::new("systemd-analyze");
        analyze.args(["security", "--offline=true", "--no-pager", "--threshold=30"]).arg(&unit);
        let Ok(output) = analyze.output() else {
            eprintln!("skipped: there is no systemd-analyze");
            return;
        };
        let report = String::from_utf8_lossy(&output.stdout);
        if !report.contains("Overall exposure level") {
            eprintln!("skipped: this systemd-analyze does not judge files");
            return;
        }
        assert!(output.status.success(), "{name}: {report}");
    }
}

/// A unit starts a command that takes its options: each is asked with values in place of variables, and refuses the
/// missing scenario (status 2 with the file named), not the command line.
///
/// Fails when an option of a unit is renamed: tried with `--outgoing` in laxity-bridge@.service.
#[test]
fn commands_of_units_are_understood() {
    let mut seen = 0;
    for (name, text) in units() {
        let starts = text.lines().filter_map(|line| line.strip_prefix("ExecStart="));
        for start in starts.filter(|start| start.contains("/etc/laxity/%I.toml")) {
            let start =
                start.replace("%I", "lxabsent").replace("%i", "lxabsent").replace("%t", "/run");
            let start = start.replace("${LAXITY_IN}", "lxin").replace("${LAXITY_OUT}", "lxout");
            let words = start.split(' ').skip(1).filter(|word| !word.starts_with('$'));
            let output = Command::new(env!("CARGO_BIN_EXE_laxity")).args(words).output();
            let output = output.expect("it starts");
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!error.contains("Usage:"), "{name}: {error}");
            let named = error.contains("/etc/laxity/lxabsent.toml");
            assert!(named || output.status.code() == Some(3), "{name}: {error}");
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}
