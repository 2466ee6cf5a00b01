//! Descriptions of the command: help, version, policies, schema, completions, man pages.

mod support;

use laxity_scenario::DocumentKind;
use serde_json::Value;
use support::{Folder, file, laxity};

#[test]
fn help_names_every_command_and_exit_status() {
    let help = laxity(&["--help"]).succeeds();
    for fragment in ["check", "simulate", "fit", "bench", "policies", "schema", "130 interrupted"] {
        assert!(help.contains(fragment), "{fragment} is not in {help}");
    }
    for command in ["check", "simulate", "fit", "bench", "policies", "completions", "man"] {
        assert!(laxity(&[command, "--help"]).succeeds().contains("Usage"), "{command}");
    }
    assert!(laxity(&["--version"]).succeeds().starts_with("laxity "));
}

/// Fails when a policy of the registry is not listed.
#[test]
fn policies_are_listed_with_their_options() {
    let text = laxity(&["policies"]).succeeds();
    let json: Value = serde_json::from_str(&laxity(&["policies", "--json"]).succeeds()).unwrap();
    let names: Vec<_> =
        json.as_array().unwrap().iter().map(|p| p["name"].as_str().unwrap()).collect();
    let all = || DocumentKind::ALL.into_iter().flat_map(DocumentKind::policies);
    assert!(names.iter().copied().eq(all().map(|p| p.name)));
    let live = |name: &str| {
        let row = json.as_array().unwrap().iter().find(|p| p["name"] == name);
        row.unwrap()["live"].as_array().unwrap().iter().map(|l| l.as_str().unwrap()).collect()
    };
    let (exact, berate): (Vec<_>, Vec<_>) = (live("exact"), live("berate"));
    assert_eq!((exact, berate), (vec!["qdisc", "user-link"], vec!["sched_ext"]));
    for p in all() {
        assert!(text.contains(p.name) && text.contains(p.summary), "{}", p.name);
        assert!(p.options.iter().all(|o| text.contains(o.name)), "{}", p.name);
    }
}

#[test]
fn the_schema_is_json_of_the_scenario() {
    let schema: Value = serde_json::from_str(&laxity(&["schema"]).succeeds()).unwrap();
    let files = [
        ("link-scenario", &["link", "policy", "realtime", "best_effort"][..]),
        ("stream-scenario", &["server", "policy", "stream"]),
    ];
    for (file, keys) in files {
        for key in keys {
            assert!(schema["$defs"][file]["properties"][key].is_object(), "{file}: {key}");
        }
    }
}

#[test]
fn completions_and_man_pages_are_written() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(laxity(&["completions", shell]).succeeds().contains("simulate"), "{shell}");
    }
    let folder = Folder::new("man");
    let ran = laxity(&["man", &folder.path("pages")]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
    for page in ["laxity.1", "laxity-simulate.1", "laxity-check.1", "laxity-fit.1"] {
        let text = std::fs::read_to_string(folder.path("pages") + "/" + page).unwrap();
        assert!(text.contains(".SH NAME"), "{page}");
    }
}

/// Fails when the command refuses a committed scenario, or not as documented.
#[test]
fn the_committed_scenarios_are_admitted() {
    let mut count = 0;
    for entry in std::fs::read_dir(file("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let text = laxity(&["check", path.to_str().unwrap()]).succeeds();
            let fits = text.starts_with("Admitted") || text.starts_with("Nothing is reserved.");
            assert!(fits, "{}: {text}", path.display());
            count += 1;
        }
    }
    assert!(count >= 9, "{count}");
}

/// A prefix that units, pkg-config or sed would misread is refused before anything is built. The
/// build is out of reach, should it come to that.
///
/// Fails when such a prefix is accepted: the units then named another file, with status 0.
#[test]
fn invalid_unit_prefixes_are_refused() {
    for prefix in ["/x/a&b", "/x/a b", "/x/a|b", "/x/a%b", "x"] {
        let mut install = std::process::Command::new("bash");
        install.arg(file("scripts/install.sh")).env("PREFIX", prefix).env("PATH", "/usr/bin:/bin");
        let output = install.current_dir(file("")).output().expect("bash starts");
        assert_eq!(output.status.code(), Some(2), "{prefix}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("PREFIX"), "{output:?}");
    }
}

/// The faults that `make faults` puts back apply to the sources as they are.
///
/// Fails when a change of the servers of CPUs leaves a patch behind: tried with a word changed in a line that a patch
/// removes.
#[test]
fn patches_of_faults_apply() {
    let folder = file("crates/cpu/tests/faults");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("a folder of patches") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|e| e != "patch") {
            continue;
        }
        let mut patch = std::process::Command::new("patch");
        patch.args(["--dry-run", "--force", "-p1", "--input"]).arg(&path).current_dir(file(""));
        let output = match patch.output() {
            Ok(output) => output,
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                let required = std::env::var("LAXITY_REQUIRE_ALL");
                assert_ne!(required.as_deref(), Ok("1"), "LAXITY_REQUIRE_ALL=1 without `patch`");
                eprintln!("skipped: there is no `patch`");
                return;
            }
            Err(why) => panic!("patch does not start: {why}"),
        };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{} no longer applies: {said}", path.display());
        count += 1;
    }
    assert!(count >= 13, "only {count} patches");
}
