//! Failures of the command: exit status, a message that names place and
//! remedy on standard error, nothing on standard output.

mod support;

use std::process::Stdio;

use support::{Folder, command, file, laxity};

/// Fails when a problem of a scenario loses its line, key or remedy, or is reported elsewhere.
#[test]
fn malformed_scenarios_are_bad_input() {
    let folder = file("crates/scenario/tests/errors");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        let path = path.to_str().unwrap();
        for command in ["check", "simulate"] {
            let ran = laxity(&[command, path]);
            ran.fails(2, &[path, "      = "]);
            let place = ran.err.split_once(&format!("{path}:")).unwrap().1;
            let line = place.split(':').next().unwrap();
            assert!(line.parse::<u32>().is_ok(), "no line in {}", ran.err);
        }
        count += 1;
    }
    assert!(count >= 30, "{count}");
}

/// Fails when a missing or unreadable file is an internal error, or its path is not named.
#[test]
fn files_that_cannot_be_read_are_bad_input() {
    let nowhere = "/nowhere/at/all.toml";
    laxity(&["check", nowhere]).fails(2, &[nowhere, "No such file"]);
    laxity(&["simulate", nowhere]).fails(2, &[nowhere]);
    laxity(&["fit", nowhere]).fails(2, &[nowhere]);
    let folder = Folder::new("unreadable");
    laxity(&["check", &folder.path("")]).fails(2, &["directory"]);
    let link = file("scenarios/access-link.toml");
    laxity(&["simulate", &link, "--trace", nowhere]).fails(2, &[nowhere]);
    laxity(&["simulate", &link, "--trace", &folder.path("")]).fails(2, &["directory"]);
}

/// Fails when a wrong option passes, or its message does not say what would be right.
#[test]
fn wrong_options_are_bad_usage() {
    let link = file("scenarios/access-link.toml");
    let capture = file("captures/cooked-sll.pcap");
    let media = file("scenarios/media-server.toml");
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &["Usage", "simulate", "check", "fit"]),
        (&["chekc"], &["chekc", "check"]),
        (&["check"], &["SCENARIO"]),
        (&["check", &link, "--blocking", "some"], &["paper", "exact"]),
        (&["simulate", &link, "--policy", "exat"], &["exat", "exact", "background", "slack"]),
        (&["simulate", &link, "--seeds", "5..1"], &["5..1", "below"]),
        (&["simulate", &link, "--seeds", "5"], &["1..5"]),
        (&["simulate", &link, "--seeds", "0..10000"], &["10000"]),
        (&["simulate", &link, "--seeds", "1..2", "--seed", "1"], &["--seed"]),
        (&["simulate", &link, "--duration", "0s"], &["--duration", "60s"]),
        (&["simulate", &link, "--duration", "5"], &["--duration `5`", "unit"]),
        (&["simulate", &link, "--duration", "1s", "--trace", &capture], &["--trace"]),
        (&["simulate", &link, "--seeds", "1..2", "--trace", &capture], &["--seeds"]),
        (&["simulate", &link, "--seeds", "1..2", "--packets", "x.csv"], &["one seed"]),
        (&["simulate", &link, "--svg", "x"], &["--report"]),
        (&["simulate", &link, "--duration", "-1s"], &["--duration `-1s`", "negative"]),
        (&["simulate", &link, "--seeds", "-1"], &["-1", "1..5"]),
        (&["fit", &capture, "--rate", "-1Mbit/s"], &["--rate `-1Mbit/s`", "negative"]),
        (&["link", "bridge", &link, "--in", "a", "--out", "b", "--duration", "-1s"], &["negative"]),
        (&["stream", "serve", &media, "--duration", "-1s"], &["--duration `-1s`", "negative"]),
        (
            &["cpu", "run", "--runtime", "-1ms", "--period", "5ms", "--", "true"],
            &["--runtime `-1ms`"],
        ),
        (&["fit", &capture, "--tightness", "1.1"], &["1.1", "from 0 to 1"]),
        (&["fit", &capture, "--tightness", "-1"], &["-1"]),
        (&["fit", &capture, "--max-packet", "1"], &["--max-packet `1`", "unit"]),
        (&["fit", &capture, "--max-packet", "100B"], &["af41", "at least 1244 B"]),
        (&["fit", &capture, "--rate", "fast"], &["--rate `fast`", "bit/s"]),
        (&["fit", &capture, "--rate", "0 bit/s"], &["rate 0"]),
        (&["fit", &capture, "--deadline", "ef"], &["ef=10ms"]),
        (&["fit", &capture, "--deadline", "nobody=1ms"], &["nobody", "af41"]),
        (&["fit", &capture, "--flow-key", "colour"], &["dscp", "flow", "port"]),
        (&["bench", "--only", "nothing"], &["nothing"]),
        (&["completions", "dos"], &["bash", "zsh", "fish"]),
    ];
    for (arguments, fragments) in cases {
        laxity(arguments).fails(2, fragments);
    }
}

/// The error of a scenario without sources names the sources of packets.
#[test]
fn scenarios_without_sources_need_a_trace() {
    let path = file("scenarios/captured-link.toml");
    laxity(&["simulate", &path]).fails(2, &["captured-link.toml", "voice", "--trace"]);
}

/// Fails when a refusal exits 0, or when the answer is missing from standard output.
#[test]
fn a_refusal_exits_with_one() {
    let folder = Folder::new("refused");
    let text = std::fs::read_to_string(file("scenarios/access-link.toml")).unwrap();
    let path =
        folder.write("tight.toml", text.replace("deadline = \"5 ms\"", "deadline = \"1 ms\""));
    let ran = laxity(&["check", &path]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
    assert!(ran.out.starts_with("Not admitted"), "{}", ran.out);

    // Without a promise a miss in the simulation breaks none.
    let ran = laxity(&["simulate", &path, "--policy", "exact", "--duration", "1s"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(ran.err.contains("not admitted") && ran.err.contains("laxity check"), "{}", ran.err);
}

/// A simulation with a policy that promises nothing misses deadlines and exits 0.
#[test]
fn misses_of_a_policy_without_promise_are_no_failure() {
    let path = file("scenarios/greedy-harder.toml");
    let ran = laxity(&["simulate", &path, "--policy", "fifo", "--duration", "2s", "--json"]);
    assert_eq!(ran.code, Some(0));
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert!(json["policies"]["fifo"]["realtime_deadline_misses"].as_u64().unwrap() > 0);
}

/// Fails when a file that cannot be written is bad input, or when the results are lost with it.
#[test]
fn outputs_that_cannot_be_written_exit_with_four() {
    let link = file("scenarios/access-link.toml");
    let nowhere = "/nowhere/file";
    for option in ["--packets", "--pcap-out"] {
        let ran = laxity(&["simulate", &link, "--duration", "1s", option, nowhere]);
        ran.fails(4, &[nowhere, "No such file"]);
    }
    let ran = laxity(&["simulate", &link, "--duration", "1s", "--report", nowhere, "--json"]);
    assert_eq!(ran.code, Some(4));
    assert!(ran.err.contains(nowhere) && ran.out.starts_with('{'), "{ran:#?}");
    laxity(&["man", "/proc/nowhere"]).fails(4, &["/proc/nowhere"]);
    let capture = file("captures/cooked-sll.pcap");
    laxity(&["fit", &capture, "-o", nowhere]).fails(4, &[nowhere]);
    let ran = laxity(&["check", &link, "--report", nowhere]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
}

/// Fails when the command panics or reports an error on a closed standard output.
#[test]
fn a_closed_stdout_is_no_error() {
    let link = file("scenarios/access-link.toml");
    for arguments in [&["policies"][..], &["schema"], &["check", &link], &["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = command(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!((ran.status.code(), &*err), (Some(0), ""), "{arguments:?}");
    }
    // A full disk is another matter.
    if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
        let ran = command(&["policies"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(ran.status.code(), Some(4));
        assert!(String::from_utf8_lossy(&ran.stderr).contains("standard output"));
    }
}

/// Fails when a message to a closed standard error ends the run.
#[test]
fn a_closed_stderr_stops_nothing() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ran = command(&["check", "/nowhere"]).stderr(writer).output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
}
