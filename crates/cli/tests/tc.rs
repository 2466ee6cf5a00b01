//! `laxity check --tc`: dumps of `tc`, interfaces, and the flows of a scenario.

mod support;

use std::process::Command;

use laxity_results::TcChecks;
use support::{Folder, file, laxity};

const DUMPS: &str = "crates/tc/tests/dumps/iproute2-7.1";

/// A directory with the dumps of a fixture, as the how-to describes it.
fn directory(folder: &Folder, name: &str, form: &str) {
    for section in ["qdisc", "class", "filter"] {
        if let Ok(text) = std::fs::read_to_string(file(&format!("{DUMPS}/{name}.{section}.{form}")))
        {
            folder.write(&format!("{section}.{form}"), &text);
        }
    }
}

/// Fails when a form of input is not read, or the forms disagree.
#[test]
fn directories_files_and_standard_input_agree() {
    let folder = Folder::new("tc-forms");
    directory(&folder, "hfsc", "txt");
    let path = folder.path("");
    let rate = ["--link-rate", "10 Mbit/s"];
    let of_directory = laxity(&["check", "--tc", &path, rate[0], rate[1]]).succeeds();
    let all: String = ["qdisc", "class", "filter"]
        .iter()
        .map(|s| std::fs::read_to_string(folder.path(&format!("{s}.txt"))).unwrap())
        .collect();
    let one = folder.write("all.txt", &all);
    let of_file = laxity(&["check", "--tc", &one, rate[0], rate[1]]).succeeds();
    assert_eq!(of_directory, of_file);
    assert!(of_file.contains("1:10") && of_file.contains("share"), "{of_file}");
}

/// Fails when a missing guarantee exits with 0, or the JSON is not the documented type.
#[test]
fn misconfigured_disciplines_exit_with_1() {
    let folder = Folder::new("tc-bad");
    directory(&folder, "bad-htb-default", "json");
    let path = folder.path("");
    let ran = laxity(&["check", "--tc", &path, "--link-rate", "10 Mbit/s", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let checks: TcChecks = serde_json::from_str(&ran.out).unwrap();
    assert!(!checks.devices[0].guaranteed);
    assert!(checks.devices[0].findings.iter().any(|f| f.code == "default-missing"));
}

const SCENARIO: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1514 B"

[[realtime]]
name = "voice"
deadline = "30 ms"
envelope = { burst = "4000 B", rate = "100 kB/s" }
"#;

/// Fails when a flow is compared with another class, or what Laxity would give is missing.
#[test]
fn flows_are_compared_with_their_deadlines() {
    let folder = Folder::new("tc-flows");
    directory(&folder, "hfsc", "txt");
    let (path, scenario) = (folder.path(""), folder.write("s.toml", SCENARIO));
    let both = ["--class", "voice=1:10", "--class", "other=1:30"];
    let check = |extra: &[&str]| {
        let mut args = vec!["check", &scenario, "--tc", &path, "--json"];
        args.extend(extra);
        laxity(&args)
    };
    let checks: TcChecks = serde_json::from_str(&check(&both).succeeds()).unwrap();
    let voice = &checks.devices[0].flows[0];
    // 46056/5 us.
    assert_eq!((voice.class.as_str(), voice.delay_ns), ("1:10", Some(9_211_200)));
    assert!(voice.met && voice.laxity_admits);
    let laxity_delay = voice.laxity_min_deadline_ns.expect("admitted");
    assert!(laxity_delay < 9_211_200, "{laxity_delay}");
    let ran = check(&["--class", "voice=1:30", "--class", "other=1:20"]);
    assert_eq!(ran.code, Some(1));
    for (extra, part) in [
        (&["--class", "voice=1:10"][..], "`other` has no class"),
        (&["--class", "voice=1:10", "--class", "other=1:99"][..], "no such class"),
        (&["--class", "voic=1:10"][..], "no such flow"),
    ] {
        let ran = check(extra);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.err.contains(part), "{}", ran.err);
    }
}

/// Fails when input that is no output of tc is accepted, or an error lacks place and remedy.
#[test]
fn bad_input_is_refused() {
    let folder = Folder::new("tc-refused");
    let scenario = folder.write("s.toml", SCENARIO);
    let old = file("crates/tc/tests/dumps/iproute2-6.15/hfsc.class.json");
    let peak = file(&format!("{DUMPS}/tbf.qdisc.json"));
    let sound = file(&format!("{DUMPS}/drr.qdisc.txt"));
    for (args, part) in [
        (vec!["--tc", &scenario, "--link-rate", "1 Mbit/s"], ":2: `[link]` is not output of tc"),
        (vec!["--tc", &old, "--link-rate", "1 Mbit/s"], "tc -s -d class show dev DEV"),
        (vec!["--tc", &peak, "--link-rate", "1 Mbit/s"], "lacks `peakrate`"),
        (vec!["--tc", &sound], "--link-rate"),
        (vec!["--tc", "no-such-thing"], "neither a file nor an interface"),
        (vec!["--link-rate", "1 Mbit/s"], "--tc"),
        (vec![], "SCENARIO"),
    ] {
        let mut all = vec!["check"];
        all.extend(args);
        let ran = laxity(&all);
        assert_eq!(ran.code, Some(2), "{all:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{all:?}: {}", ran.err);
    }
}

/// A tree, the text of it, and what is read from the kernel, in a network namespace of its own; `None` where this
/// machine or its kernel lacks something.
fn in_namespace(commands: &str) -> Option<(String, TcChecks)> {
    let script = format!(
        "set -e; printf '%s' '{commands}' | tc -batch -; tc -s -d qdisc show dev lo; tc -s -d class show dev lo; \
         tc -s filter show dev lo parent 1:; echo ==; exec \"$0\" check --tc lo --link-rate '100 Mbit/s' --json"
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--map-root-user", "--net", "sh", "-c", &script, env!("CARGO_BIN_EXE_laxity")]);
    let output = match unshare.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: unshare: {error}");
            return None;
        }
    };
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    match text.split_once("==\n") {
        Some((text, json)) => {
            let checks = serde_json::from_str(json);
            let why = String::from_utf8_lossy(&output.stderr);
            Some((text.to_owned(), checks.unwrap_or_else(|e| panic!("{e}: {why}"))))
        }
        None => {
            eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        }
    }
}

/// Fails when an interface is read differently from the text of tc, tried with bursts in ticks of 32 ns; all
/// disciplines are in `tc_disciplines.rs`.
#[test]
fn interfaces_are_read_without_tc() {
    let folder = Folder::new("tc-interface");
    for commands in [
        "qdisc add dev lo root handle 1: htb default 20\n\
         class add dev lo parent 1: classid 1:1 htb rate 10mbit burst 15k\n\
         class add dev lo parent 1:1 classid 1:10 htb prio 0 rate 1mbit ceil 2mbit burst 6k cburst 3k\n\
         class add dev lo parent 1:1 classid 1:20 htb prio 1 rate 4mbit burst 8k cburst 8k\n\
         qdisc add dev lo parent 1:10 handle 10: bfifo limit 20480\n",
        "qdisc add dev lo root handle 1: stab overhead 24 linklayer ethernet tbf rate 8mbit burst 4k latency 30ms\n",
    ] {
        let Some((text, kernel)) = in_namespace(commands) else { continue };
        let path = folder.write("dump.txt", &text);
        let ran = laxity(&["check", "--tc", &path, "--link-rate", "100 Mbit/s", "--json"]);
        let of_text: TcChecks = serde_json::from_str(&ran.out).unwrap();
        let (kernel, of_text) = (&kernel.devices[0], &of_text.devices[0]);
        assert_eq!((kernel.device.as_deref(), kernel.rounded_input), (Some("lo"), false));
        assert_eq!(kernel.findings, of_text.findings);
        assert!(!kernel.classes.is_empty() && kernel.classes.len() == of_text.classes.len());
        for (exact, rounded) in kernel.classes.iter().zip(&of_text.classes) {
            assert_eq!((&exact.class, &exact.reason), (&rounded.class, &rounded.reason));
            assert_eq!(exact.rate_bit_s, rounded.rate_bit_s);
            let (exact, rounded) = (exact.delay_ns.unwrap_or(0), rounded.delay_ns.unwrap_or(0));
            assert!(exact.abs_diff(rounded) <= exact / 500, "{exact} {rounded}\n{text}");
        }
    }
}
