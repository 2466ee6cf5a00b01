//! `laxity stream`: a server, a receiver and requests, as processes, over loopback.

#[path = "support/ports.rs"]
mod ports;
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::process::{ChildStderr, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use support::{Folder, Process, Ran, command, file, laxity};

/// A command that runs until a signal stops it.
struct Running {
    process: Process,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    fn start(arguments: &[&str]) -> Running {
        let mut command = command(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let stderr = BufReader::new(child.stderr.take().expect("it was asked for"));
        Running { process: Process::new(child), stderr }
    }

    /// Reads its messages up to the line that contains `expected`.
    #[track_caller]
    fn wait_for(&mut self, expected: &str) -> String {
        let mut seen = String::new();
        loop {
            let mut line = String::new();
            let read = self.stderr.read_line(&mut line).expect("a line of text");
            assert!(read > 0, "it ended without `{expected}`: {seen}");
            if line.contains(expected) {
                return line;
            }
            seen += &line;
        }
    }

    fn interrupt(&self) {
        self.process.signal(Signal::INT);
    }

    fn end(mut self) -> Ran {
        let mut out = String::new();
        let pipe = self.process.child().stdout.as_mut().expect("it was asked for");
        pipe.read_to_string(&mut out).expect("standard output is UTF-8");
        let mut err = String::new();
        self.stderr.read_to_string(&mut err).expect("standard error is UTF-8");
        Ran { code: self.process.child().wait().expect("it ends").code(), out, err }
    }
}

/// Speech and a video that together need more than the link has, and fit within tolerances.
fn scenario(port: u16) -> String {
    format!(
        r#"
[server]
rate = "4 Mbit/s"
overhead = "28 B"

[[stream]]
name = "speech"
count = 2
tolerance = "1/100"
gap = "10 ms"
packet = "160 B"
destination = "127.0.0.1:{port}"

[[stream]]
name = "video"
count = 3
tolerance = "1/2"
gap = "5 ms"
packet = "1000 B"
destination = "127.0.0.1:{}"
"#,
        port + 8
    )
}

fn ask(socket: &str, request: &str) -> Value {
    let answer = laxity(&["stream", "control", socket, request]).succeeds();
    serde_json::from_str(&answer).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a count"))
}

/// Media servers that `laxity link status` and `laxity top` show of a process.
fn shown(process: u32) -> (Vec<Value>, bool) {
    let status: Value = match laxity(&["link", "status", "--json"]) {
        ran if ran.code == Some(0) => serde_json::from_str(&ran.out).expect("JSON"),
        // Nothing runs, and there is nothing of the kernel.
        ran => {
            assert_eq!(ran.code, Some(3), "{ran:?}");
            Value::Null
        }
    };
    let servers = status["media_servers"].as_array().cloned().unwrap_or_default();
    let servers = servers.into_iter().filter(|server| server["process"]["id"] == process).collect();
    let top = laxity(&["top", "--count", "1"]);
    (servers, top.out.contains(&format!(" {process} ")))
}

/// Fails when a running server is not listed, or a killed one still is.
#[test]
fn running_servers_are_listed() {
    let folder = Folder::new("shown");
    let file = folder.write("shown.toml", scenario(ports::block()));
    let socket = folder.path("control");
    let arguments = ["stream", "serve", &file, "--control", &socket];
    let mut server = Running::start(&arguments);
    server.wait_for("serving");
    let id = server.process.child().id();
    let (servers, on_top) = shown(id);
    let [shows] = &servers[..] else { panic!("{servers:?}") };
    assert_eq!((&shows["streams"], &shows["control"]), (&5.into(), &socket.into()));
    assert!(on_top);
    server.process.signal(Signal::KILL);
    server.end();
    assert_eq!(shown(id), (Vec::new(), false));
}

/// The whole path of a user: serve, receive, describe, query, change, measure, stop.
///
/// Fails when the server ignores SIGINT, a stream added at run time is not sent, metrics and
/// statistics disagree on streams, or the receiver's JSON leaves delay out.
#[test]
fn servers_serve_answer_and_stop() {
    let folder = Folder::new("serve");
    let port = ports::block();
    let file = folder.write("server.toml", scenario(port));
    let (socket, sdp) = (folder.path("control"), folder.path("server.sdp"));
    let speech = format!("127.0.0.1:{port}");
    let arguments = ["stream", "receive", &speech, "--tolerance", "1/100", "--json"];
    let mut receiver = Running::start(&arguments);
    receiver.wait_for("receiving at");

    let mut server = Running::start(&[
        "stream",
        "serve",
        &file,
        "--sdp",
        &sdp,
        "--control",
        &socket,
        "--listen",
        "127.0.0.1:0",
        "--rtcp",
        "127.0.0.1:0",
        "--json",
    ]);
    let line = server.wait_for("serving 5 streams");
    let metrics = line.split("http://").nth(1).unwrap().split('/').next().unwrap().to_owned();

    let described = std::fs::read_to_string(&sdp).unwrap();
    assert_eq!(described.matches("\nm=").count(), 5, "{described}");
    assert!(described.contains(&format!(" {port} RTP/AVP ")), "{described}");

    let list = ask(&socket, r#"{"list": {}}"#);
    assert_eq!(list.as_array().unwrap().len(), 5);
    let add = format!(
        r#"{{"add": {{"name": "more", "destination": "127.0.0.1:{}", "ssrc": 9, "tolerance":
        "0/1", "gap_ns": 10000000, "source": {{"constant": {{"bytes": 100}}}}}}}}"#,
        port + 30
    );
    let more = UdpSocket::bind(("127.0.0.1", port + 30)).unwrap();
    more.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    ask(&socket, &add);
    let mut packet = [0; 200];
    for _ in 0..20 {
        assert_eq!(more.recv(&mut packet).expect("the added stream is sent"), 100);
    }
    let change = r#"{"change": {"name": "more", "tolerance": "1/4", "gap_ns": 5000000}}"#;
    ask(&socket, change);
    let list = ask(&socket, r#"{"list": {}}"#);
    assert_eq!((&list[5]["name"], &list[5]["tolerance"]), (&"more".into(), &"1/4".into()));

    let mut page = String::new();
    let mut connection = TcpStream::connect(&metrics).unwrap();
    write!(connection, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    connection.read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert!(page.contains(r#"stream="more""#) && page.contains(r#"stream="video-2""#), "{page}");

    let dropped = ask(&socket, r#"{"remove": {"name": "more"}}"#);
    assert!(number(&dropped["packets"]["sent"]) >= 20, "{dropped}");
    let again = laxity(&["stream", "control", &socket, r#"{"remove": {"name": "more"}}"#]);
    again.fails(1, &["more"]);

    server.interrupt();
    let ran = server.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let done: Value = serde_json::from_str(&ran.out).unwrap();
    let streams = done["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 5);
    let of = |name: &str| streams.iter().find(|s| s["name"] == name).unwrap();
    assert!(number(&of("speech-1")["packets"]["sent"]) > 10);
    let sent = number(&of("speech-0")["packets"]["sent"]);

    receiver.interrupt();
    let ran = receiver.end();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let source = &report["sources"][0];
    assert_eq!(number(&source["received"]), sent, "loopback loses nothing: {report}");
    assert_eq!(number(&source["delay_ns"]["count"]), sent, "{report}");
    assert!(!std::path::Path::new(&socket).exists(), "the control socket was left behind");
}

/// The kernel's status of each thread of a process.
fn threads(child: &std::process::Child) -> Vec<String> {
    let folder = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("a process");
    let status = |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("status"));
    folder.filter_map(|entry| status(entry.ok()?).ok()).collect()
}

/// Fails when a thread keeps capabilities, a way to new ones, or system calls that it never makes;
/// and when the scheduler does not go before others.
#[test]
fn privileges_are_dropped() {
    let folder = Folder::new("serve-privileges");
    let file = folder.write("privileges.toml", scenario(9));
    let (socket, any) = (folder.path("control"), "127.0.0.1:0");
    let serve = ["stream", "serve", &file, "--control", &socket, "--listen", any, "--rtcp", any];
    let receive = ["stream", "receive", any];
    let filtered = std::path::Path::new("/proc/sys/kernel/seccomp").exists();
    for (arguments, expected, least) in [(&serve[..], "serving", 6), (&receive[..], "receiving", 2)]
    {
        let mut running = Running::start(arguments);
        running.wait_for(expected);
        let given_back = |status: &String| {
            let has = |line: &str| status.lines().any(|l| l == line);
            has("CapEff:\t0000000000000000")
                && has("CapPrm:\t0000000000000000")
                && has("NoNewPrivs:\t1")
                && (!filtered || has("Seccomp:\t2"))
        };
        // Threads may begin after the message that it serves.
        let mut seen = threads(running.process.child());
        for _ in 0..6000 {
            if seen.len() >= least && seen.iter().all(given_back) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            seen = threads(running.process.child());
        }
        let missing: Vec<_> = seen.iter().filter(|status| !given_back(status)).collect();
        assert!(seen.len() >= least && missing.is_empty(), "{} threads, {missing:?}", seen.len());
        if expected == "serving" && may_raise() {
            let scheduler = seen.iter().find(|status| status.starts_with("Name:\tscheduler"));
            let pid =
                scheduler.and_then(|status| status.lines().find_map(|l| l.strip_prefix("Pid:\t")));
            let pid = pid.and_then(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?));
            assert_eq!(rustix::process::getpriority_process(pid).ok(), Some(-20));
        }
        running.interrupt();
        assert_eq!(running.end().code, Some(0));
    }
}

fn may_raise() -> bool {
    use rustix::thread::{CapabilitySet, capabilities};
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_NICE))
}

/// Fails when a server starts on what it cannot serve, or does not say what to do.
#[test]
fn unservable_scenarios_are_refused() {
    let folder = Folder::new("serve-refused");
    let fine = scenario(ports::block());
    let link = file("scenarios/access-link.toml");
    laxity(&["stream", "serve", &link]).fails(2, &["[server]", "[[stream]]"]);

    let media = fine.replace("packet = \"160 B\"", "source = { file = \"none.ogg\" }");
    let media = folder.write("media.toml", media);
    laxity(&["stream", "serve", &media]).fails(2, &["none.ogg"]);

    let fine = folder.write("fine.toml", fine);
    laxity(&["stream", "serve", &fine, "--policy", "best"]).fails(2, &["best", "dwcs", "fifo"]);
    laxity(&["stream", "serve", &fine, "--bind", "192.0.2.1:0"]).fails(2, &["192.0.2.1"]);
    laxity(&["stream", "serve", &fine, "--quantum", "3"]).fails(2, &["--quantum", "3"]);
    let unusable = folder.path("no/such/folder/socket");
    laxity(&["stream", "serve", &fine, "--control", &unusable]).fails(2, &["no/such/folder"]);
    let long = folder.path(&"long".repeat(40));
    laxity(&["stream", "serve", &fine, "--control", &long]).fails(2, &["longlong"]);

    let in_use = UdpSocket::bind("127.0.0.1:0").unwrap();
    let in_use = in_use.local_addr().unwrap().to_string();
    laxity(&["stream", "receive", &in_use]).fails(2, &[&in_use, "choose another"]);
    let none = folder.path("none");
    laxity(&["stream", "control", &none, r#"{"list": {}}"#]).fails(2, &["--control"]);
    // Any text that is no request is bad input.
    laxity(&["stream", "control", &none, r#"{"nope": {}}"#]).fails(2, &["nope", "--help"]);
    let plain = folder.write("plain", String::new());
    laxity(&["stream", "serve", &fine, "--control", &plain])
        .fails(2, &[&plain, "not a socket", "choose another"]);
    laxity(&["stream", "receive", &in_use, "--clock-rate", "0"]).fails(2, &["--clock-rate", "0"]);
    let last = laxity(&["stream", "receive", "127.0.0.1:65535", "--duration", "1ms"]);
    assert!(last.code == Some(2) || last.err.contains("a port below 65535"), "{last:?}");
    laxity(&["stream", "control", &none, "{"]).fails(2, &["not JSON"]);
}

/// The scenario that comes with the command is served as it is, under each kind of policy.
///
/// Fails when a stream of it has no destination, or a policy that can be simulated cannot be served.
#[test]
fn committed_stream_scenarios_are_served() {
    let example = file("scenarios/media-server.toml");
    for policy in ["dwcs-tolerance-first", "fifo", "static-priority", "edf"] {
        let arguments =
            ["stream", "serve", &example, "--policy", policy, "--duration", "300ms", "--json"];
        let ran = laxity(&arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let done: Value = serde_json::from_str(&ran.out).unwrap();
        let streams = done["streams"].as_array().unwrap();
        assert_eq!(streams.len(), 270);
        let alarms = streams.iter().filter(|s| s["name"].as_str().unwrap().starts_with("alarm"));
        let sent: u64 = alarms.map(|s| number(&s["packets"]["sent"])).sum();
        assert!(policy == "fifo" || sent > 50, "{policy}: {sent}");
    }
}
