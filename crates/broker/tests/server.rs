//! The server on a real socket, with real credentials, before a scheduler that only keeps the
//! books: who gets what, and what hostile clients can do to others.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use laxity_broker::{Limits, activated};
use laxity_core::Span;
use laxity_cpu::Reservation;
use laxity_daemon::socket::listen;
use laxity_reserve::protocol::{Answer, Code, LONGEST, Reply};
use laxity_reserve::{Client, Request};

use support::{ANOTHER, Books, Folder, SOMEBODY, is_root, run_as, serve};

const MS: Duration = Duration::from_millis(1);

/// A process that does nothing, of some user, until the test ends.
struct Sleeper(Child);

impl Sleeper {
    fn of(user: u32) -> Sleeper {
        let mut command = Command::new("sleep");
        if nix::unistd::geteuid().is_root() {
            command.uid(user).gid(user);
        }
        Sleeper(command.arg("60").spawn().expect("sleep"))
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// This very program, to run `the_other_side` as a user.
fn other(folder: &Folder, what: &str) -> Command {
    // Others may not enter the folder that this program lies in.
    let program = folder.0.join("program");
    if !program.exists() {
        fs::copy(std::env::current_exe().expect("a path"), &program).expect("a copy");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let mut command = Command::new(program);
    command.args(["the_other_side", "--exact", "--nocapture"]);
    command.env("LAXITY_CPU_SOCKET", folder.socket()).env("LAXITY_TEST_ASK", what);
    command
}

/// The lines that `the_other_side` prints.
fn asked_by(user: u32, folder: &Folder, what: &str) -> String {
    let output = run_as(user, &mut other(folder, what));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// What a user asks for in `asked_by`; alone it has nothing to do.
#[test]
fn the_other_side() {
    let Ok(what) = std::env::var("LAXITY_TEST_ASK") else { return };
    if what == "flood" {
        let path = std::env::var_os("LAXITY_CPU_SOCKET").expect("a path");
        let held = [(); 3].map(|()| UnixStream::connect(&path).expect("a server"));
        println!("flooded: {:?}", answer(&held[2]));
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let client = Client::connect().expect("a server");
    for step in what.split(';') {
        let words: Vec<&str> = step.split(' ').collect();
        let number = |i: usize| words[i].parse::<u32>().expect("a number");
        let said = match words[0] {
            "reserve" => {
                let request = Request::new(number(1) * MS / 10, number(2) * MS);
                let request = if words.len() > 3 { request.for_task(number(3)) } else { request };
                client.reserve(&request).map(|reserved| format!("on {}", reserved.cpu))
            }
            "query" => client.query(words.get(1).map(|_| number(1))).map(|s| format!("{s:?}")),
            "release" => client.release(words.get(1).map(|_| number(1))).map(|()| "ok".to_owned()),
            other => panic!("{other}"),
        };
        match said {
            Ok(said) => println!("{step}: {said}"),
            Err(error) => {
                let code = error.code().expect("an answer");
                println!("{step}: {code} {:?} {error}", error.fits());
            }
        }
    }
}

fn says(text: &str, step: &str, said: &str) {
    let line = text.lines().find_map(|l| l.strip_prefix(&format!("{step}: ")));
    let line = line.unwrap_or_else(|| panic!("no `{step}` in {text}"));
    assert!(line.starts_with(said), "`{step}` gave `{line}`, not `{said}`");
}

/// Users get their share for themselves, and no more; refusals name the largest runtime that fits.
/// Tasks of others are as if they were not there. Root may do all. What was granted stays when the
/// server is restarted, and counts.
///
/// Fails when the user is not taken from the connection (tried with `user: 0` for all), when whose a
/// task is is not looked at (tried with `is_of` always true), when shares are not kept apart (tried
/// with all owners in `held`), and when a restarted server does not ask the scheduler who holds
/// what.
#[test]
fn users_have_their_shares() {
    if !is_root() {
        return;
    }
    let (folder, books) = (Folder::new("shares"), Books::default());
    let server = serve(&folder, &books, Limits::default());
    let (own, foreign) = (Sleeper::of(SOMEBODY), Sleeper::of(ANOTHER));
    let (mine, theirs) = (own.0.id(), foreign.0.id());

    let steps = format!(
        "query;reserve 30 10;reserve 20 10;reserve 9 10;query;release;release;reserve 20 10 {mine};\
         query {mine};reserve 6 10;reserve 1 10 {theirs};release {theirs};query {theirs};\
         reserve 1 10 999999;reserve 1 10 1;reserve 0 10"
    );
    let said = asked_by(SOMEBODY, &folder, &steps);
    says(
        &said,
        "query",
        "State { reservation: None, share: Some(Share { held_ppm: 0, most_ppm: 250000",
    );
    says(&said, "reserve 30 10", "share Some(2.5ms) 3 ms in every 10 ms needs 30.000 %");
    says(&said, "reserve 20 10", "on 0");
    says(&said, "reserve 9 10", "has-one");
    assert!(said.contains("held_ppm: 200000"), "{said}");
    assert!(said.contains("release: ok\nrelease: has-none"), "{said}");
    says(&said, &format!("reserve 20 10 {mine}"), "on 0");
    says(
        &said,
        &format!("query {mine}"),
        "State { reservation: Some(Held { cpu: 0, runtime_ns: 2000000",
    );
    says(&said, "reserve 6 10", "share Some(500µs)");
    for step in ["reserve 1 10 ", "release ", "query "] {
        says(&said, &format!("{step}{theirs}"), "no-task None your user has no task");
    }
    says(&said, "reserve 1 10 999999", "no-task");
    says(&said, "reserve 1 10 1", "no-task");
    says(&said, "reserve 0 10", "unusable");
    let held = books.held();
    assert_eq!(held.len(), 1, "{held:?}");
    assert_eq!((held[0].pid, held[0].owner), (mine, SOMEBODY));

    // Another user has a share, too; root has no limit but the CPU.
    let said = asked_by(ANOTHER, &folder, &format!("reserve 25 10 {theirs};release {mine}"));
    says(&said, &format!("reserve 25 10 {theirs}"), "on 0");
    says(&said, &format!("release {mine}"), "no-task");
    let client = Client::at(folder.socket()).expect("a server");
    let root = client.reserve(&Request::new(6 * MS, 10 * MS)).expect_err("no room");
    assert_eq!((root.code(), root.fits()), (Some(Code::NoRoom), Some(5 * MS)));
    let granted = client.reserve(&Request::new(5 * MS, 10 * MS)).expect("room");
    assert_eq!((granted.cpu, granted.runtime_ns), (0, 5_000_000));
    assert_eq!(client.query(None).expect("an answer").share, None);
    let full = asked_by(SOMEBODY, &folder, "reserve 5 10;reserve 30 10");
    says(&full, "reserve 5 10", "no-room Some(0ns)");
    says(&full, "reserve 30 10", "share Some(0ns)");

    drop(server);
    assert!(!folder.socket().exists(), "the socket outlives its server");
    let _server = serve(&folder, &books, Limits::default());
    client.release(None).expect("still ours");
    let said = asked_by(
        SOMEBODY,
        &folder,
        &format!("reserve 6 10;query {mine};release {mine};release {mine}"),
    );
    says(&said, "reserve 6 10", "share Some(500µs)");
    assert!(said.contains(&format!("release {mine}: has-none")), "{said}");
    client.release(Some(theirs)).expect("root may");
    assert_eq!(books.held(), []);
}

/// What a process held is free when it has ended; requests are counted.
///
/// Fails when they are not: tried without `answered`.
#[test]
fn reservations_end_with_their_tasks() {
    let (folder, books) = (Folder::new("ends"), Books::default());
    let server = serve(&folder, &books, Limits::default());
    let client = Client::at(folder.socket()).expect("a server");
    let sleeper = Sleeper::of(nix::unistd::geteuid().as_raw());
    let asked = Request::new(2 * MS, 10 * MS).for_task(sleeper.0.id());
    client.reserve(&asked).expect("room");
    assert_eq!(
        client.query(Some(sleeper.0.id())).expect("an answer").reservation.map(|r| r.tasks),
        Some(1)
    );
    assert_eq!(client.reserve(&asked).expect_err("one").code(), Some(Code::HasOne));
    let number = sleeper.0.id();
    drop(sleeper);
    assert_eq!(client.query(Some(number)).expect_err("gone").code(), Some(Code::NoTask));
    assert_eq!(books.held(), []);
    let counted: Vec<(&str, &str, u64)> =
        server.broker.counts.requests().iter().map(|c| (c.request, c.outcome, c.count)).collect();
    let expected = [
        ("query", "done", 1),
        ("query", "no-task", 1),
        ("reserve", "done", 1),
        ("reserve", "has-one", 1),
    ];
    assert_eq!(counted, expected);
}

fn answer(stream: &UnixStream) -> Option<Answer> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    serde_json::from_str::<Reply>(&line).ok().map(|reply| reply.answer)
}

fn code(stream: &UnixStream) -> Option<Code> {
    match answer(stream)? {
        Answer::Refused(refusal) => Some(refusal.code),
        _ => None,
    }
}

/// Who sends too much, half a line, or nonsense is told or cut off; others are served meanwhile.
///
/// Fails when longer lines are read (tried with twice as long ones), when half a line is waited for as
/// long as its client likes (tried without `left`: the test does not end), and when connections that
/// ended still count.
#[test]
fn hostile_clients_harm_themselves() {
    let (folder, books) = (Folder::new("hostile"), Books::default());
    let server = serve(&folder, &books, patient(4, 60_000));
    let connect = || UnixStream::connect(folder.socket()).expect("a server");
    let query: &[u8] = b"{\"version\":1,\"request\":{\"query\":{}}}\n";

    for (sent, expected) in [
        (&b"nonsense\n"[..], Code::Malformed),
        (b"\n", Code::Malformed),
        (b"{\"version\":9}\n", Code::Version),
        (&[0xff; LONGEST], Code::Malformed),
        (&[b'['; LONGEST], Code::Malformed),
    ] {
        let mut stream = connect();
        stream.write_all(sent).expect("room");
        assert_eq!(code(&stream), Some(expected));
        // And that was the last word.
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(rest, b"");
    }

    // Two requests at once, one in pieces.
    let mut stream = connect();
    stream.write_all(&[query, &query[..10]].concat()).expect("room");
    let mut reader = BufReader::new(stream.try_clone().expect("a descriptor"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("an answer");
    stream.write_all(&query[10..]).expect("room");
    reader.read_line(&mut line).expect("an answer");
    assert_eq!(line.matches("\"state\"").count(), 2, "{line}");
    drop((stream, reader));

    // Half a line, nothing at all, and answers that nobody reads.
    let misbehave = || {
        let mut half = connect();
        half.write_all(&query[..10]).expect("room");
        let silent = connect();
        let mut deaf = connect();
        deaf.set_nonblocking(true).expect("a socket");
        while deaf.write_all(query).is_ok() {}
        [half, silent, deaf]
    };
    // The fourth is served, the fifth is not. Connections that were closed may not be gone yet.
    let held = misbehave();
    let fourth = loop {
        let mut fourth = connect();
        let _ = fourth.write_all(query);
        match answer(&fourth) {
            Some(Answer::State(_)) => break fourth,
            _ => std::thread::yield_now(),
        }
    };
    let turned = server.broker.counts.turned_away();
    assert_eq!(code(&connect()), Some(Code::Busy));
    assert_eq!(server.broker.counts.turned_away(), turned + 1);
    drop((held, fourth, server));

    // In time they are cut off, and there is room again.
    let server = serve(&folder, &books, patient(3, 100));
    let [mut half, mut silent, deaf] = misbehave();
    let mut end = Vec::new();
    half.read_to_end(&mut end).expect("an end");
    silent.read_to_end(&mut end).expect("an end");
    assert_eq!(end, b"");
    let client = Client::at(folder.socket()).expect("a server");
    while client.query(None).is_err() {
        std::thread::yield_now();
    }
    drop((deaf, server));
}

/// Limits in which the test, one user, root or not, comes to the end of its connections.
fn patient(connections: usize, ms: u64) -> Limits {
    Limits { connections, of_user: connections, patience: Duration::from_millis(ms) }
}

/// Connections of one user leave room for others.
///
/// Fails when users are counted together: tried with one number for all in `enter`.
#[test]
fn a_flood_of_one_user_is_not_anothers() {
    if !is_root() {
        return;
    }
    let (folder, books) = (Folder::new("flood"), Books::default());
    let limits = Limits { of_user: 2, patience: Duration::from_secs(60), ..Limits::default() };
    let _server = serve(&folder, &books, limits);
    // Connections belong to the process that made them, so another one makes them and holds them.
    let mut holder = other(&folder, "flood");
    holder.uid(SOMEBODY).gid(SOMEBODY).current_dir("/");
    let holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
    let mut holder = Sleeper(holder);
    let output = BufReader::new(holder.0.stdout.as_mut().expect("a pipe"));
    let said = output.lines().map_while(Result::ok).find(|line| line.contains("flooded"));
    let said = said.expect("an answer");
    assert!(said.contains("your user has too many connections"), "{said}");
    let said = asked_by(ANOTHER, &folder, "reserve 20 10");
    says(&said, "reserve 20 10", "on 0");
}

/// The socket has its mode and group from the first moment that it can be seen, replaces one that
/// nobody listens at, and nothing else.
///
/// Fails when a file in the way is removed, or the mode is not set: tried with both.
#[test]
fn the_socket_is_where_it_may_be() {
    let folder = Folder::new("place");
    let path = folder.0.join("deep/er/cpu.sock");
    let own = nix::unistd::getegid().as_raw();
    let group = if nix::unistd::geteuid().is_root() { SOMEBODY } else { own };
    let (listener, place) = listen(&path, 0o660, Some(group)).expect("a socket");
    let data = fs::metadata(&path).expect("a socket");
    assert_eq!(data.permissions().mode() & 0o7777, 0o660);
    assert_eq!(std::os::unix::fs::MetadataExt::gid(&data), group);
    let others = fs::read_dir(path.parent().expect("a folder")).expect("a folder").count();
    assert_eq!(others, 1, "something is left beside it");
    let taken = listen(&path, 0o660, None).expect_err("taken");
    assert!(taken.to_string().contains("listens there already"), "{taken}");
    // As if killed.
    drop(listener);
    std::mem::forget(place);
    let (_listener, place) = listen(&path, 0o600, None).expect("nobody listens");
    drop(place);
    assert!(!path.exists());
    fs::write(&path, "precious").expect("a file");
    let taken = listen(&path, 0o660, None).expect_err("a file");
    assert!(taken.to_string().contains("no socket"), "{taken}");
    assert_eq!(fs::read(&path).expect("a file"), b"precious");
}

/// A reservation that root made counts for the CPU and for nobody's share.
///
/// Fails when all owners are counted in `held`.
#[test]
fn what_root_gave_is_no_ones_share() {
    if !is_root() {
        return;
    }
    let (folder, books) = (Folder::new("given"), Books::default());
    let _server = serve(&folder, &books, Limits::default());
    let sleeper = Sleeper::of(SOMEBODY);
    books.hold(sleeper.0.id(), Reservation::new(Span(6_000_000), Span(10_000_000)));
    let said = asked_by(SOMEBODY, &folder, "reserve 25 10");
    says(&said, "reserve 25 10", "on 0");
}

/// In a PID namespace of its own a process goes by other numbers; its threads are found by these, and
/// nobody else's are.
///
/// Fails when numbers are taken for ours: tried with `Task::open` in their place, which finds the
/// first processes of the machine.
#[test]
fn threads_in_a_container_are_known_by_their_own_numbers() {
    if !is_root() {
        return;
    }
    let (folder, books) = (Folder::new("container"), Books::default());
    let _server = serve(&folder, &books, Limits::default());
    let outside = Sleeper::of(0);
    let stranger = outside.0.id();
    let inside = other(
        &folder,
        &format!("reserve 10 10;query;reserve 20 10 1;query 1;query {stranger};release 1"),
    );
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--"]).arg(inside.get_program());
    command.args(inside.get_args());
    command.envs(inside.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = command.output().expect("unshare");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{err}");
    says(&said, "reserve 10 10", "on 0");
    says(&said, "query", "State { reservation: Some(Held { cpu: 0, runtime_ns: 1000000");
    says(&said, "reserve 20 10 1", "on 0");
    says(&said, "query 1", "State { reservation: Some(Held { cpu: 0, runtime_ns: 2000000");
    says(&said, &format!("query {stranger}"), "no-task");
    says(&said, "release 1", "ok");
}

/// A socket that systemd made is taken as it is, and stays.
///
/// Fails when another descriptor than the third is taken, and when variables are that a parent left:
/// tried without `LISTEN_PID`.
#[test]
fn a_socket_of_systemd_is_served() {
    let folder = Folder::new("activated");
    let program = std::env::current_exe().expect("a path");
    let mut command = Command::new("systemd-socket-activate");
    command.arg("-l").arg(folder.socket()).args(["-E", "LAXITY_TEST_ACTIVATED=1"]).arg(program);
    command.args(["the_activated_side", "--exact", "--nocapture"]);
    let mut child = match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
        Ok(child) => Sleeper(child),
        Err(error) => {
            let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
            assert!(!required, "LAXITY_REQUIRE_ALL=1, and no systemd-socket-activate: {error}");
            eprintln!("skipped: no systemd-socket-activate: {error}");
            return;
        }
    };
    let client = loop {
        match Client::at(folder.socket()) {
            Ok(client) => break client,
            Err(_) => std::thread::sleep(10 * MS),
        }
        let ended = child.0.try_wait().expect("a child");
        assert_eq!(ended, None, "systemd-socket-activate ended without a server");
    };
    assert_eq!(client.query(None).expect("an answer").reservation, None);
    drop(child);
    assert!(folder.socket().exists());
}

/// What systemd starts in the test above; alone it has nothing to do.
#[test]
fn the_activated_side() {
    let Ok(role) = std::env::var("LAXITY_TEST_ACTIVATED") else { return };
    if role == "child" {
        assert!(activated().expect("nothing").is_none(), "this was for the parent");
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("a path"));
    child.args(["the_activated_side", "--exact"]).env("LAXITY_TEST_ACTIVATED", "child");
    assert!(child.status().expect("a program").success());
    let listener = activated().expect("a socket").expect("a socket");
    let _serving = support::serve_at(listener, &Books::default(), Limits::default());
    // Until it is killed.
    loop {
        std::thread::park();
    }
}
