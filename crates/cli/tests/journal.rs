//! Messages in systemd's journal, with a real one in a mount namespace of its own.

mod support;

use std::process::Command;

use serde_json::Value;
use support::{Folder, file};

/// Starts a journal that keeps its files in `$1`, and runs the rest as its clients.
const SCRIPT: &str = r#"
set -eu
mount -t tmpfs none /run
mkdir -p /run/systemd /run/log/journal
echo 6c61786974792d6f6e2d612d74657374 >"$1/machine-id"
mount --bind "$1/machine-id" /etc/machine-id
"$2" >"$1/journald" 2>&1 &
journal=$!
tries=600
until [ -S /run/systemd/journal/stdout ]; do
    if [ $tries = 0 ]; then
        echo "journald has no socket after a minute: $(cat "$1/journald")" >&2
        kill $journal
        exit 1
    fi
    tries=$((tries - 1))
    sleep 0.1
done
laxity=$3 scenario=$4
# As a service manager starts it; earlier versions of systemd-cat do not set the variable.
started() {
    systemd-cat sh -c 'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) && export JOURNAL_STREAM && "$@"' sh "$@" || true
}
started "$laxity" link up "$scenario" --dev lxabsent --policy slower
started sh -c '"$1" link up /nowhere.toml --dev lxabsent 2>"$2/redirected"' sh "$laxity" "$1"
started "$laxity" check /nowhere.toml
started "$laxity" stream receive 127.0.0.1:0 --duration 10ms
# Until all is written.
journalctl --sync 2>/dev/null || true
journalctl --directory=/run/log/journal -o json --no-pager SYSLOG_IDENTIFIER=laxity >"$1/entries"
kill $journal
wait $journal || true
"#;

/// Fails when a message lacks its fields, is in the journal under another transport, or follows the variable
/// `JOURNAL_STREAM` where standard error is redirected: tried with `of_stderr` that does not compare the two, and
/// without `warning::begin`.
#[test]
fn messages_reach_the_journal_with_fields() {
    let folders = ["/usr/lib/systemd", "/lib/systemd"];
    let journald = folders.map(|folder| format!("{folder}/systemd-journald"));
    let Some(journald) = journald.iter().find(|path| std::path::Path::new(path).exists()) else {
        return lacking("there is no systemd-journald");
    };
    let mut possible = Command::new("unshare");
    possible.args(["--mount", "sh", "-c", "mount -t tmpfs none /run"]);
    if !possible.output().is_ok_and(|output| output.status.success()) {
        return lacking("mount namespaces need root");
    }
    let folder = Folder::new("journal");
    let scenario = file("crates/kernel/tests/vm/family.toml");
    let mut run = Command::new("unshare");
    run.args(["--mount", "sh", "-c", SCRIPT, "sh", &folder.path(""), journald]);
    run.args([env!("CARGO_BIN_EXE_laxity"), &scenario]);
    let output = run.output().expect("unshare starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let entries = std::fs::read_to_string(folder.path("entries")).expect("entries");
    let entries: Vec<Value> =
        entries.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let text = |entry: &Value, field: &str| match &entry[field] {
        Value::Null => String::new(),
        value => value.as_str().unwrap_or_else(|| panic!("{field} of {entry}")).to_owned(),
    };
    let of = |command: &str| {
        let found = entries.iter().find(|entry| entry["LAXITY_COMMAND"] == command);
        found.unwrap_or_else(|| panic!("no message of {command}: {entries:#?}"))
    };
    let up = of("link up");
    for (field, value) in [
        ("LAXITY_DEV", "lxabsent"),
        ("LAXITY_POLICY", "slower"),
        ("LAXITY_SCENARIO", &scenario),
        ("LAXITY_EXIT_STATUS", "2"),
        ("PRIORITY", "3"),
        ("_TRANSPORT", "journal"),
    ] {
        assert_eq!(text(up, field), value, "{field}");
    }
    assert!(text(up, "MESSAGE").contains("`slower`"), "{up}");
    let check = of("check");
    assert_eq!((text(check, "LAXITY_DEV"), text(check, "PRIORITY")), (String::new(), "3".into()));
    let receive = of("stream receive");
    assert_eq!(text(receive, "PRIORITY"), "6");
    assert!(text(receive, "MESSAGE").starts_with("receiving at"), "{receive}");
    let redirected = std::fs::read_to_string(folder.path("redirected")).expect("a file");
    assert!(redirected.starts_with("laxity: ") && redirected.contains("/nowhere.toml"));
    assert!(!entries.iter().any(|entry| text(entry, "MESSAGE").starts_with("laxity: ")));
}

fn lacking(why: &str) {
    let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
    assert!(!required, "LAXITY_REQUIRE_ALL=1, and {why}");
    eprintln!("skipped: {why}");
}
