//! The map of ARCHITECTURE.md and the code agree.

mod repository;

use std::path::Path;

use laxity_scenario::DocumentKind;
use repository::{files, metadata, root, text};
use serde_json::Value;

/// Which crate may use which others of this workspace. Lower rooms know nothing of higher ones.
const ARROWS: &[(&str, &str)] = &[
    ("core", ""),
    ("curve", "core"),
    ("ring", "core"),
    ("link", "core curve ring"),
    ("dwcs", "core ring"),
    ("cpu", "core dwcs"),
    ("transport", "core"),
    ("results", "core"),
    ("scenario", "core curve link dwcs cpu"),
    ("trace", "core"),
    ("certify", ""),
    ("tc", ""),
    ("traffic", "core link scenario trace"),
    ("sim", "core curve link dwcs cpu results scenario trace traffic transport"),
    ("report", "core results"),
    ("analysis", "core curve link dwcs cpu results scenario sim report tc"),
    ("sweep", "core results scenario sim"),
    ("daemon", ""),
    ("telemetry", ""),
    ("media", "core ring dwcs link scenario daemon telemetry"),
    ("kernel", "core curve link cpu scenario"),
    ("reserve", ""),
    ("reserve-c", "reserve"),
    ("preload", "reserve"),
    ("broker", "core cpu kernel reserve daemon"),
    ("rtkit", "reserve daemon"),
    ("userlink", "core curve link scenario trace traffic daemon"),
    ("bench", "core curve ring link dwcs cpu results scenario trace traffic sim"),
    (
        "experiments",
        "core curve link dwcs cpu results scenario trace traffic sim analysis report bench",
    ),
    ("compare-link", "core kernel link scenario traffic sim report"),
    ("compare-internet", "report sim trace"),
    ("compare-cpu", "core cpu kernel report sim"),
    ("compare-media", "core dwcs media"),
    ("tools-kernel", "core cpu kernel link scenario"),
    ("python", "core curve link dwcs cpu results scenario traffic sim analysis report sweep"),
    (
        "cli",
        "core curve link dwcs cpu results scenario trace traffic sim analysis report bench experiments \
         media kernel userlink reserve broker daemon telemetry certify tc sweep ring",
    ),
];

/// Policy crates: they build without the standard library and depend on nothing from outside.
const SANS_IO: &[&str] = &["core", "curve", "ring", "link", "dwcs", "cpu", "transport"];

/// The one place there where a number need not be exact: means for printing.
const FLOATS_MAY_BE: &[&str] = &["crates/core/src/histogram.rs"];

fn members(metadata: &Value) -> Vec<&Value> {
    let members = metadata["workspace_members"].as_array().expect("members");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    packages.filter(|p| members.contains(&p["id"])).collect()
}

fn short(package: &Value) -> &str {
    let name = package["name"].as_str().expect("a name");
    name.strip_prefix("laxity-").unwrap_or(name)
}

/// Names of direct dependencies, with what kind they are: `None` for a normal one.
fn dependencies(package: &Value) -> Vec<(&str, Option<&str>)> {
    let list = package["dependencies"].as_array().expect("dependencies").iter();
    list.map(|d| (d["name"].as_str().expect("a name"), d["kind"].as_str())).collect()
}

// Fails when a crate uses a room it may not, or a new crate has no place: tried with trace in
// report's Cargo.toml.
#[test]
fn arrows_point_downwards() {
    let metadata = metadata();
    for package in members(&metadata) {
        let name = short(package);
        let row = ARROWS.iter().find(|(crate_, _)| *crate_ == name);
        let (_, may_use) = row.unwrap_or_else(|| {
            panic!("give laxity-{name} a row in ARROWS and a place in ARCHITECTURE.md")
        });
        for (used, kind) in dependencies(package) {
            let Some(room) = used.strip_prefix("laxity-") else { continue };
            assert!(
                kind == Some("dev") || may_use.split_whitespace().any(|name| name == room),
                "laxity-{name} uses {used}: it may use {may_use:?}"
            );
        }
    }
}

/// Rooms in which each kind of scenario has a folder (or file) of the same name.
const ROOMS_OF_KINDS: &[&str] = &[
    "crates/scenario/src",
    "crates/sim/src",
    "crates/analysis/src",
    "crates/report/src",
    "crates/cli/src/check",
    "crates/cli/src/simulate",
];

// Fails when a kind lacks its place in a room, or the code of one kind uses that of another: tried
// with `use crate::link::model::Length` in crates/scenario/src/stream/model.rs.
#[test]
fn kinds_of_scenarios_know_nothing_of_each_other() {
    let kinds = DocumentKind::ALL.map(|kind| format!("{kind:?}").to_lowercase());
    let files = files();
    for room in ROOMS_OF_KINDS {
        for kind in &kinds {
            let (folder, file) = (format!("{room}/{kind}/"), format!("{room}/{kind}.rs"));
            let inside = |path: &&String| path.starts_with(&folder) || **path == file;
            let own: Vec<&String> = files.iter().filter(inside).collect();
            assert!(!own.is_empty(), "{room} has no place for {kind}");
            for path in own.into_iter().filter(|path| path.ends_with(".rs")) {
                let source = text(path);
                for other in kinds.iter().filter(|other| *other != kind) {
                    for use_ in [
                        format!("crate::{other}::"),
                        format!("super::{other}::"),
                        format!("crate::{{{other}::"),
                    ] {
                        assert!(!source.contains(&use_), "{path} uses {use_}");
                    }
                }
            }
        }
    }
}

// Fails when a command other than `laxity reproduce` needs the papers' experiments: tried with a use
// in crates/cli/src/args.rs.
#[test]
fn only_reproduce_uses_the_experiments() {
    let metadata = metadata();
    let members = members(&metadata);
    let cli = members.iter().find(|p| short(p) == "cli").expect("the command");
    let list = cli["dependencies"].as_array().expect("dependencies");
    let experiments = list.iter().find(|d| d["name"] == "laxity-experiments");
    assert_eq!(experiments.expect("its dependency")["optional"], true);
    let uses = |path: &String| {
        path.starts_with("crates/cli/src/")
            && path.ends_with(".rs")
            && text(path).contains("laxity_experiments")
    };
    let users: Vec<String> = files().into_iter().filter(uses).collect();
    assert_eq!(users, ["crates/cli/src/reproduce/enabled.rs"]);
}

// Fails when the table itself allows a cycle: each row uses rows above it only.
#[test]
fn the_table_has_an_order() {
    for (i, (name, may_use)) in ARROWS.iter().enumerate() {
        for used in may_use.split_whitespace() {
            let place = ARROWS.iter().position(|(n, _)| *n == used);
            assert!(
                place.is_some_and(|p| p < i),
                "{name} may use {used}, which is not in a lower layer"
            );
        }
    }
}

// Fails when a policy crate depends on something from outside, or on the standard library. What a
// feature needs, or the model checker, is absent otherwise.
#[test]
fn policy_crates_stand_alone() {
    let metadata = metadata();
    for package in members(&metadata).into_iter().filter(|p| SANS_IO.contains(&short(p))) {
        let name = short(package);
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            let used = dependency["name"].as_str().expect("a name");
            let allowed = used.starts_with("laxity-")
                || dependency["kind"] == "dev"
                || dependency["optional"] == true
                || dependency["target"] == "cfg(loom)";
            assert!(allowed, "laxity-{name} depends on {used}");
        }
        let source = text(&format!("crates/{name}/src/lib.rs"));
        assert!(source.contains("\n#![no_std]\n"), "laxity-{name} lost its #![no_std]");
    }
}

// Fails when a float enters a policy, a curve or admission: tried with an f64 in
// crates/link/src/assign/tbs.rs.
#[test]
fn policies_count_in_integers() {
    let policy_source = |path: &String| {
        let inside = |c: &&str| path.starts_with(&format!("crates/{c}/src/"));
        SANS_IO.iter().any(inside) && !path.ends_with("tests.rs")
    };
    let mut seen = 0;
    for path in files().iter().filter(|p| policy_source(p)) {
        seen += 1;
        let source = text(path);
        // Tests stand at the end of a file and may compare with floats.
        let source = source.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in source.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
            let floats = words.filter(|w| ["f32", "f64"].contains(w)).count();
            assert!(
                floats == 0 || FLOATS_MAY_BE.contains(&path.as_str()),
                "{path}:{}: a float; use the integer types of laxity-core",
                number + 1
            );
        }
    }
    assert!(seen > 40, "only {seen} files looked at");
}

// Fails when a room is missing on the map, or something on the map was removed.
#[test]
fn the_architecture_lists_every_crate() {
    let (map, metadata) = (text("ARCHITECTURE.md"), metadata());
    let top = metadata["workspace_root"].as_str().expect("a path");
    for package in members(&metadata) {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let room = Path::new(manifest).parent().and_then(|p| p.strip_prefix(top).ok());
        let room = room.expect("a folder of this tree").display();
        assert!(map.contains(&format!("`{room}`")), "ARCHITECTURE.md lacks {room}");
    }
    for path in code_words(&map).filter(|w| w.starts_with("crates/") && !w.contains(['*', '{'])) {
        assert!(root().join(path).exists(), "ARCHITECTURE.md names {path}, which is not there");
    }
}

/// The text between single backquotes.
fn code_words(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

// Fails when a dependency is added without a reason, or a reason outlives its dependency: tried
// with a row for a crate that is not used, and with the row of `libm` removed.
#[test]
fn every_direct_dependency_has_its_reason() {
    let map = text("ARCHITECTURE.md");
    let (_, after) = map.split_once("\n## Third-party crates\n").expect("its section");
    let section = after.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|l| l.starts_with("| `"));
    let mut explained: Vec<&str> = rows.filter_map(|l| code_words(l).next()).collect();
    let metadata = metadata();
    let mut used: Vec<&str> = members(&metadata)
        .into_iter()
        .flat_map(dependencies)
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("laxity-"))
        .collect();
    explained.sort_unstable();
    used.sort_unstable();
    used.dedup();
    assert_eq!(
        explained, used,
        "left: explained in ARCHITECTURE.md, right: named in Cargo.toml files"
    );
}

// Fails when Rust is required in one place and another version in the other.
#[test]
fn scripts_and_cargo_require_the_same_rust() {
    let version = env!("CARGO_PKG_RUST_VERSION");
    assert!(text("scripts/common.sh").contains(&format!("\nrust_least={version}\n")));
    assert!(text("README.md").contains(&format!("Rust {version}")));
}

// Fails when a test starts a program that `make test` does not look for: tried with `kill`, which
// machines without procps lack.
#[test]
fn scripts_check_for_programs_of_tests() {
    let looked_for = text("scripts/test.sh") + &text("scripts/needs.sh");
    // Of coreutils and binutils, which come with a shell and a linker, and of the packages of programs
    // that are looked for.
    let usual = [
        "cat",
        "true",
        "sleep",
        "strip",
        "timeout",
        "nsenter",
        "setpriv",
        "taskset",
        "systemd-socket-activate",
    ];
    let tests = files().into_iter().filter(|path| path.ends_with(".rs") && path.contains("test"));
    let mut seen = 0;
    for path in tests {
        let text = text(&path);
        for rest in text.split("Command::new(\"").skip(1) {
            let name = rest.split('"').next().unwrap_or_default();
            seen += 1;
            let looked = looked_for.split([' ', '\n']).any(|word| word == name);
            assert!(
                looked || usual.contains(&name) || name.starts_with("/proc/"),
                "{path} starts {name}: note it in scripts/test.sh, or do without"
            );
        }
    }
    assert!(seen > 10, "{seen}");
}
