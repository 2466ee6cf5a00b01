//! `laxity check --tc`: dumps of `tc`, interfaces, and the flows of a scenario.

mod support;

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
