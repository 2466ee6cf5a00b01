//! The server on a real socket, with real credentials and a fake scheduler: shares of users, authority
//! over tasks, and isolation from hostile clients.

mod support;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use laxity_broker::{ConnectionLimits, activation_socket};
use laxity_core::Span;
use laxity_cpu::Reservation;
use laxity_daemon::socket::listen;
use laxity_reserve::protocol::{Answer, Code, MAX_LINE_BYTES, Reply};
use laxity_reserve::{Client, Request};

use support::{FakeScheduler, Folder, OTHER_USER, USER, is_root, run_as, serve};

const MS: Duration = Duration::from_millis(1);

/// A sleeping process, killed on drop.
struct Sleeper(Child);

impl Sleeper {
    fn start(user: u32) -> Sleeper {
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

/// This test program, which runs `client_process`.
fn client(folder: &Folder, steps: &str) -> Command {
    // Other users may not enter the folder of this program.
    let program = folder.0.join("program");
    if !program.exists() {
        fs::copy(std::env::current_exe().expect("a path"), &program).expect("a copy");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    let mut command = Command::new(program);
    command.args(["client_process", "--exact", "--nocapture"]);
    command.env("LAXITY_CPU_SOCKET", folder.socket()).env("LAXITY_TEST_STEPS", steps);
    command
}

/// The output of `client_process`, run as a user.
fn run_client(user: u32, folder: &Folder, steps: &str) -> String {
    let output = run_as(user, &mut client(folder, steps));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

/// The process of `run_client`; without the variable it does nothing.
#[test]
fn client_process() {
    let Ok(steps) = std::env::var("LAXITY_TEST_STEPS") else { return };
    if steps == "flood" {
        let path = std::env::var_os("LAXITY_CPU_SOCKET").expect("a path");
        let streams = [(); 3].map(|()| UnixStream::connect(&path).expect("a server"));
        println!("flooded: {:?}", answer(&streams[2]));
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let client = Client::connect().expect("a server");
    for step in steps.split(';') {
        let words: Vec<&str> = step.split(' ').collect();
        let number = |i: usize| words[i].parse::<u32>().expect("a number");
        let result = match words[0] {
            "reserve" => {
                let request = Request::new(number(1) * MS / 10, number(2) * MS);
                let request = if words.len() > 3 { request.for_task(number(3)) } else { request };
                let request = if words.len() > 4 { request.for_user(number(4)) } else { request };
                client.reserve(&request).map(|grant| format!("on {}", grant.cpu))
            }
            "query" => client.query(words.get(1).map(|_| number(1))).map(|s| format!("{s:?}")),
            "release" => client.release(words.get(1).map(|_| number(1))).map(|()| "ok".to_owned()),
            other => panic!("{other}"),
        };
        match result {
            Ok(text) => println!("{step}: {text}"),
            Err(error) => {
                let code = error.code().expect("an answer");
                println!("{step}: {code} {:?} {error}", error.max_runtime());
            }
        }
    }
}

#[track_caller]
fn has_result(text: &str, step: &str, result: &str) {
    let line = text.lines().find_map(|l| l.strip_prefix(&format!("{step}: ")));
    let line = line.unwrap_or_else(|| panic!("no `{step}` in {text}"));
    assert!(line.starts_with(result), "`{step}` gave `{line}`, not `{result}`");
}

/// Each user may reserve up to the share and no more; refusals name the largest runtime that fits. Tasks of
/// other users are reported as missing. Root is not limited. Grants survive a restart of the server and
/// count against the share.
///
/// Fails when the user is not taken from the connection (tried with `user: 0` for all), when the owner of
/// a task is not checked (tried with `is_owned_by` always true), when shares are not separate (tried with
/// all owners in `reserved_by`), and when a restarted server does not read the reservations of the
/// scheduler.
#[test]
fn users_have_separate_shares() {
    if !is_root() {
        return;
    }
    let (folder, scheduler) = (Folder::new("shares"), FakeScheduler::default());
    let server = serve(&folder, &scheduler, ConnectionLimits::default());
    let (own, foreign) = (Sleeper::start(USER), Sleeper::start(OTHER_USER));
    let (mine, theirs) = (own.0.id(), foreign.0.id());

    let steps = format!(
        "query;reserve 30 10;reserve 20 10;reserve 9 10;query;release;release;reserve 20 10 {mine};\
         query {mine};reserve 6 10;reserve 1 10 {theirs};release {theirs};query {theirs};\
         reserve 1 10 999999;reserve 1 10 1;reserve 0 10"
    );
    let text = run_client(USER, &folder, &steps);
    has_result(
        &text,
        "query",
        "State { reservation: None, share: Some(Share { reserved_ppm: 0, limit_ppm: 250000",
    );
    has_result(&text, "reserve 30 10", "share Some(2.5ms) 3 ms in every 10 ms needs 30.000 %");
    has_result(&text, "reserve 20 10", "on 0");
    has_result(&text, "reserve 9 10", "already-reserved");
    assert!(text.contains("reserved_ppm: 200000"), "{text}");
    assert!(text.contains("release: ok\nrelease: not-reserved"), "{text}");
    has_result(&text, &format!("reserve 20 10 {mine}"), "on 0");
    has_result(
        &text,
        &format!("query {mine}"),
        "State { reservation: Some(ReservationStatus { cpu: 0, runtime_ns: 2000000",
    );
    has_result(&text, "reserve 6 10", "share Some(500µs)");
    for step in ["reserve 1 10 ", "release ", "query "] {
        has_result(&text, &format!("{step}{theirs}"), "no-task None your user has no task");
    }
    has_result(&text, "reserve 1 10 999999", "no-task");
    has_result(&text, "reserve 1 10 1", "no-task");
    has_result(&text, "reserve 0 10", "invalid");
    let reservations = scheduler.reservations();
    assert_eq!(reservations.len(), 1, "{reservations:?}");
    assert_eq!((reservations[0].pid, reservations[0].owner), (mine, USER));

    // Another user has a share of its own; root is limited by the CPU only.
    let text = run_client(OTHER_USER, &folder, &format!("reserve 25 10 {theirs};release {mine}"));
    has_result(&text, &format!("reserve 25 10 {theirs}"), "on 0");
    has_result(&text, &format!("release {mine}"), "no-task");
    let client = Client::connect_to(folder.socket()).expect("a server");
    let root = client.reserve(&Request::new(6 * MS, 10 * MS)).expect_err("no room");
    assert_eq!((root.code(), root.max_runtime()), (Some(Code::NoRoom), Some(5 * MS)));
    let granted = client.reserve(&Request::new(5 * MS, 10 * MS)).expect("room");
    assert_eq!((granted.cpu, granted.runtime_ns), (0, 5_000_000));
    assert_eq!(client.query(None).expect("an answer").share, None);
    let full = run_client(USER, &folder, "reserve 5 10;reserve 30 10");
    has_result(&full, "reserve 5 10", "no-room Some(0ns)");
    has_result(&full, "reserve 30 10", "share Some(0ns)");

    drop(server);
    assert!(!folder.socket().exists(), "the socket outlives its server");
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    client.release(None).expect("still reserved");
    let text = run_client(
        USER,
        &folder,
        &format!("reserve 6 10;query {mine};release {mine};release {mine}"),
    );
    has_result(&text, "reserve 6 10", "share Some(500µs)");
    assert!(text.contains(&format!("release {mine}: not-reserved")), "{text}");
    client.release(Some(theirs)).expect("root may");
    assert_eq!(scheduler.reservations(), []);
}

/// The reservation of a process ends with it; requests are counted.
///
/// Fails when requests are not counted: tried without `record`.
#[test]
fn reservations_end_with_their_tasks() {
    let (folder, scheduler) = (Folder::new("ends"), FakeScheduler::default());
    let server = serve(&folder, &scheduler, ConnectionLimits::default());
    let client = Client::connect_to(folder.socket()).expect("a server");
    let sleeper = Sleeper::start(nix::unistd::geteuid().as_raw());
    let request = Request::new(2 * MS, 10 * MS).for_task(sleeper.0.id());
    client.reserve(&request).expect("bandwidth");
    assert_eq!(
        client.query(Some(sleeper.0.id())).expect("an answer").reservation.map(|r| r.tasks),
        Some(1)
    );
    assert_eq!(client.reserve(&request).expect_err("reserved").code(), Some(Code::AlreadyReserved));
    let pid = sleeper.0.id();
    drop(sleeper);
    assert_eq!(client.query(Some(pid)).expect_err("ended").code(), Some(Code::NoTask));
    assert_eq!(scheduler.reservations(), []);
    let counted = server.broker.counters.requests();
    let counted: Vec<(&str, &str, u64)> =
        counted.iter().map(|c| (c.request, c.outcome, c.count)).collect();
    let expected = [
        ("query", "done", 1),
        ("query", "no-task", 1),
        ("reserve", "already-reserved", 1),
        ("reserve", "done", 1),
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

/// The server refuses or disconnects clients that send too much, half a line, or malformed lines, and
/// serves others meanwhile.
///
/// Fails when longer lines are read (tried with a limit of twice the length), when half a line has no
/// timeout (tried without `remaining`: the test does not end), and when closed connections still count.
#[test]
fn hostile_clients_do_not_affect_others() {
    let (folder, scheduler) = (Folder::new("hostile"), FakeScheduler::default());
    let server = serve(&folder, &scheduler, limits(4, 60_000));
    let connect = || UnixStream::connect(folder.socket()).expect("a server");
    let query: &[u8] = b"{\"version\":2,\"request\":{\"query\":{}}}\n";

    for (sent, expected) in [
        (&b"nonsense\n"[..], Code::Malformed),
        (b"\n", Code::Malformed),
        (b"{\"version\":9}\n", Code::Version),
        (&[0xff; MAX_LINE_BYTES], Code::Malformed),
        (&[b'['; MAX_LINE_BYTES], Code::Malformed),
    ] {
        let mut stream = connect();
        stream.write_all(sent).expect("room");
        assert_eq!(code(&stream), Some(expected));
        // The server has closed the connection.
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
    // A new server counts none of these connections.
    drop((stream, reader, server));
    let server = serve(&folder, &scheduler, limits(4, 60_000));

    // Half a line, no request at all, and answers that are not read.
    let misbehave = || {
        let mut half = connect();
        // Refused by a server whose timeout is over already.
        let _ = half.write_all(&query[..10]);
        let silent = connect();
        let mut unread = connect();
        unread.set_nonblocking(true).expect("a socket");
        while unread.write_all(query).is_ok() {}
        [half, silent, unread]
    };
    // The fourth is served, the fifth is not.
    let three = misbehave();
    let mut fourth = connect();
    fourth.write_all(query).expect("room");
    assert!(matches!(answer(&fourth), Some(Answer::State(_))));
    assert_eq!(code(&connect()), Some(Code::Busy));
    assert_eq!(server.broker.counters.rejected_connections(), 1);
    drop((three, fourth, server));

    // The timeout disconnects them, and others can connect again.
    let server = serve(&folder, &scheduler, limits(3, 1000));
    let [mut half, mut silent, unread] = misbehave();
    let mut end = Vec::new();
    // What a server has not read makes its end an error.
    let _ = half.read_to_end(&mut end);
    silent.read_to_end(&mut end).expect("an end");
    assert_eq!(end, b"");
    let client = Client::connect_to(folder.socket()).expect("a server");
    while client.query(None).is_err() {
        std::thread::yield_now();
    }
    drop((unread, server));
}

/// Limits that a single user, root or not, can reach.
fn limits(connections: usize, timeout_ms: u64) -> ConnectionLimits {
    let timeout = Duration::from_millis(timeout_ms);
    ConnectionLimits { total: connections, per_user: connections, timeout }
}

/// A flood of connections of one user does not block another user.
///
/// Fails when users are counted together: tried with one count for all in `open`.
#[test]
fn floods_do_not_block_other_users() {
    if !is_root() {
        return;
    }
    let (folder, scheduler) = (Folder::new("flood"), FakeScheduler::default());
    let timeout = Duration::from_secs(60);
    let limits = ConnectionLimits { per_user: 2, timeout, ..ConnectionLimits::default() };
    let _server = serve(&folder, &scheduler, limits);
    // The credentials are those of the connecting process, so a process of that user connects.
    let mut holder = client(&folder, "flood");
    holder.uid(USER).gid(USER).current_dir("/");
    let holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a program");
    let mut holder = Sleeper(holder);
    let output = BufReader::new(holder.0.stdout.as_mut().expect("a pipe"));
    let line = output.lines().map_while(Result::ok).find(|line| line.contains("flooded"));
    let line = line.expect("an answer");
    assert!(line.contains("your user has too many connections"), "{line}");
    let text = run_client(OTHER_USER, &folder, "reserve 20 10");
    has_result(&text, "reserve 20 10", "on 0");
}

/// The socket appears with its mode and group, and replaces a stale socket but no other file.
///
/// Fails when another file is removed, or the mode is not set: tried both.
#[test]
fn the_socket_replaces_stale_sockets_only() {
    let folder = Folder::new("place");
    let path = folder.0.join("deep/er/cpu.sock");
    let own = nix::unistd::getegid().as_raw();
    let group = if nix::unistd::geteuid().is_root() { USER } else { own };
    let (listener, file) = listen(&path, 0o660, Some(group)).expect("a socket");
    let data = fs::metadata(&path).expect("a socket");
    assert_eq!(data.permissions().mode() & 0o7777, 0o660);
    assert_eq!(std::os::unix::fs::MetadataExt::gid(&data), group);
    let others = fs::read_dir(path.parent().expect("a folder")).expect("a folder").count();
    assert_eq!(others, 1, "a temporary file is left");
    let error = listen(&path, 0o660, None).expect_err("a server");
    assert!(error.to_string().contains("listens there already"), "{error}");
    // As if the process had been killed.
    drop(listener);
    std::mem::forget(file);
    let (_listener, file) = listen(&path, 0o600, None).expect("a stale socket");
    drop(file);
    assert!(!path.exists());
    fs::write(&path, "precious").expect("a file");
    let error = listen(&path, 0o660, None).expect_err("a file");
    assert!(error.to_string().contains("not a socket"), "{error}");
    assert_eq!(fs::read(&path).expect("a file"), b"precious");
}

/// Two servers of one scheduler grant to one user at once, each within the share: a server that finds the share exceeded
/// after its grant takes the grant back.
///
/// Fails when the share is not checked again after a grant.
#[test]
fn two_servers_do_not_exceed_a_share() {
    if !is_root() {
        return;
    }
    let (folder, scheduler) = (Folder::new("beside"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let (first, second) = (Sleeper::start(USER), Sleeper::start(USER));
    let fifth = Reservation::new(Span::from_millis(2), Span::from_millis(10));
    scheduler.grant_beside(first.0.id(), fifth, USER);
    let text = run_client(USER, &folder, &format!("reserve 20 10 {}", second.0.id()));
    has_result(&text, &format!("reserve 20 10 {}", second.0.id()), "share Some(500µs)");
    let pids: Vec<u32> = scheduler.reservations().iter().map(|r| r.pid).collect();
    assert_eq!(pids, [first.0.id()]);
}

/// A reservation of root counts against the CPU and against no user's share.
///
/// Fails when all owners are counted in `reserved_by`.
#[test]
fn reservations_of_root_count_against_no_share() {
    if !is_root() {
        return;
    }
    let (folder, scheduler) = (Folder::new("root"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let sleeper = Sleeper::start(USER);
    scheduler.reserve_as_root(sleeper.0.id(), Reservation::new(Span(6_000_000), Span(10_000_000)));
    let text = run_client(USER, &folder, "reserve 25 10");
    has_result(&text, "reserve 25 10", "on 0");
}

/// Root reserves for a user: the task must be that user's, and the reservation counts to that user's share.
/// Others may not name another user.
///
/// Fails when such a reservation counts for root (tried with `owner: peer.user`), when root may take
/// another user's task for it (tried with user 0 in the checks of `try_reserve`), and when users may name others.
#[test]
fn root_reserves_for_users() {
    if !is_root() {
        return;
    }
    let (folder, scheduler) = (Folder::new("for-users"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let (own, foreign) = (Sleeper::start(USER), Sleeper::start(OTHER_USER));
    let client = Client::connect_to(folder.socket()).expect("a server");
    let request = |ms: u32| Request::new(ms * MS / 10, 10 * MS).for_user(USER);
    let other = client.reserve(&request(10).for_task(foreign.0.id())).expect_err("not theirs");
    assert_eq!(other.code(), Some(Code::NoTask));
    let large = client.reserve(&request(30).for_task(own.0.id())).expect_err("the share");
    assert_eq!((large.code(), large.max_runtime()), (Some(Code::Share), Some(25 * MS / 10)));
    client.reserve(&request(20).for_task(own.0.id())).expect("bandwidth");
    assert_eq!(scheduler.reservations()[0].owner, USER);

    let theirs = format!("reserve 1 10 {} {OTHER_USER}", foreign.0.id());
    let text = run_client(USER, &folder, &format!("reserve 6 10;{theirs};reserve 5 10 0 {USER}"));
    has_result(&text, "reserve 6 10", "share Some(500µs)");
    has_result(&text, &theirs, "invalid None only root may reserve for another user");
    has_result(&text, &format!("reserve 5 10 0 {USER}"), "no-task");
}

/// Thread ids of a process in a PID namespace of its own are resolved in that namespace, for its own
/// threads only.
///
/// Fails when thread ids are resolved in the server's namespace: tried with `Task::open`, which finds the
/// first processes of the machine.
#[test]
fn thread_ids_are_resolved_in_the_namespace_of_the_client() {
    if !is_root() {
        return;
    }
    let (folder, scheduler) = (Folder::new("container"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let outside = Sleeper::start(0);
    let foreign = outside.0.id();
    let inside = client(
        &folder,
        &format!("reserve 10 10;query;reserve 20 10 1;query 1;query {foreign};release 1"),
    );
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--"]).arg(inside.get_program());
    command.args(inside.get_args());
    command.envs(inside.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let output = command.output().expect("unshare");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{err}");
    has_result(&text, "reserve 10 10", "on 0");
    has_result(
        &text,
        "query",
        "State { reservation: Some(ReservationStatus { cpu: 0, runtime_ns: 1000000",
    );
    has_result(&text, "reserve 20 10 1", "on 0");
    has_result(
        &text,
        "query 1",
        "State { reservation: Some(ReservationStatus { cpu: 0, runtime_ns: 2000000",
    );
    has_result(&text, &format!("query {foreign}"), "no-task");
    has_result(&text, "release 1", "ok");
}

/// The server serves a socket of systemd unchanged, and does not remove it.
///
/// Fails when another descriptor than the third is used, and when variables of a parent process are:
/// tried without `LISTEN_PID`.
#[test]
fn sockets_of_systemd_are_served() {
    let folder = Folder::new("activated");
    let program = std::env::current_exe().expect("a path");
    let mut command = Command::new("systemd-socket-activate");
    command.arg("-l").arg(folder.socket()).args(["-E", "LAXITY_TEST_ACTIVATED=1"]).arg(program);
    command.args(["activated_process", "--exact", "--nocapture"]);
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
        match Client::connect_to(folder.socket()) {
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

/// The process that systemd starts in the test above; without the variable it does nothing.
#[test]
fn activated_process() {
    let Ok(role) = std::env::var("LAXITY_TEST_ACTIVATED") else { return };
    if role == "child" {
        assert!(activation_socket().expect("no error").is_none(), "it is the parent's");
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("a path"));
    child.args(["activated_process", "--exact"]).env("LAXITY_TEST_ACTIVATED", "child");
    assert!(child.status().expect("a program").success());
    let listener = activation_socket().expect("a socket").expect("a socket");
    let _server =
        support::serve_on(listener, &FakeScheduler::default(), ConnectionLimits::default());
    // Runs until it is killed.
    loop {
        std::thread::park();
    }
}
