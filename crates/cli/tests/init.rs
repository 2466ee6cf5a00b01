//! `laxity init`: two scenarios from options, which the other commands take.

mod support;

use support::{Folder, Ran, file, laxity};

/// Options for a line, as in the reference files.
const LINES: [(&str, &[&str]); 2] = [
    (
        "ethernet",
        &[
            "--up",
            "20mbit",
            "--down",
            "100mbit",
            "--line",
            "ethernet",
            "--with",
            "voice,meeting,game",
        ],
    ),
    (
        "adsl",
        &[
            "--up",
            "10 Mbit/s",
            "--down",
            "30 Mbit/s",
            "--line",
            "pppoe-llcsnap ether-vlan",
            "--with",
            "voice,zoom",
            "--share",
            "90%",
            "--jitter",
            "30ms",
            "--deadline",
            "voice=20ms",
        ],
    ),
];

fn init(folder: &Folder, options: &[&str], more: &[&str]) -> Ran {
    let output = folder.path("");
    let fixed = ["init", "--wan", "wan-of-test", "--output", &output];
    laxity(&[&fixed[..], options, more].concat())
}

/// Set `LAXITY_BLESS=1` to write the reference files.
///
/// Fails when the text changes, `check` refuses it, or a simulation of it misses a deadline.
#[test]
fn scenarios_are_as_before_and_admitted() {
    for (name, options) in LINES {
        let folder = Folder::new(&format!("init-{name}"));
        let summary = init(&folder, options, &[]).succeeds();
        for direction in ["up", "down"] {
            let path = folder.path(&format!("wan-of-test-{direction}.toml"));
            assert!(summary.contains(&format!("laxity check {path}")), "{summary}");
            let written = std::fs::read_to_string(&path).unwrap();
            let golden = file(&format!("crates/cli/tests/init/{name}-{direction}.toml"));
            if std::env::var_os("LAXITY_BLESS").is_some() {
                std::fs::write(&golden, &written).unwrap();
            }
            let golden = std::fs::read_to_string(&golden).unwrap_or_default();
            assert_eq!(written, golden, "LAXITY_BLESS=1 writes the reference file");
            assert!(laxity(&["check", &path]).succeeds().starts_with("Admitted"));
        }
    }
}

/// Fails when a file is overwritten, or one is written although the other exists.
#[test]
fn existing_files_stay_without_force() {
    let folder = Folder::new("init-force");
    let (_, options) = LINES[0];
    let down = folder.write("wan-of-test-down.toml", "mine");
    init(&folder, options, &[]).fails(2, &["wan-of-test-down.toml exists", "--force"]);
    assert_eq!(std::fs::read_to_string(&down).unwrap(), "mine");
    assert!(!std::path::Path::new(&folder.path("wan-of-test-up.toml")).exists());
    init(&folder, options, &["--force"]).succeeds();
    assert!(std::fs::read_to_string(&down).unwrap().contains("[link]"));
}

/// Fails when the status is another than documented, or the message does not name the option.
#[test]
fn errors_name_the_option() {
    let folder = Folder::new("init-errors");
    let (_, options) = LINES[0];
    let changed = |option: &str, value: &'static str| {
        let place = options.iter().position(|o| *o == option).unwrap();
        let mut options = options.to_vec();
        options[place + 1] = value;
        init(&folder, &options, &[])
    };
    init(&folder, &options[2..], &[]).fails(2, &["--up", "on a terminal"]);
    changed("--up", "-1mbit").fails(2, &["--up `-1mbit`"]);
    changed("--line", "fibre").fails(2, &["--line `fibre`", "conservative"]);
    changed("--with", "chess").fails(2, &["--with `chess`", "voice"]);
    changed("--up", "1mbit")
        .fails(1, &["`voice` does not fit onto the line up", "--deadline voice="]);
    init(&folder, options, &["--share", "0%"]).fails(2, &["--share `0%`"]);
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 0);
}
