use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use laxity_core::Rate;
use laxity_ring::shared;
use nix::unistd::{Uid, geteuid};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::listen::{accept, welcome};
use super::*;
use crate::fuzz;
use crate::server::{Config, Server, Stop};

/// A directory for a test, removed afterwards.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("laxity-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Place(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("control")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server with a socket for one user and an idle timeout.
struct Accepting {
    _server: Server,
    stop: Arc<AtomicBool>,
    refused: Arc<AtomicUsize>,
    thread: JoinHandle<()>,
}

impl Accepting {
    fn new(place: &Place, user: Uid, idle: Duration) -> Accepting {
        let server = Server::start(Config::default()).unwrap();
        let listener = UnixListener::bind(place.socket()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (stop, refused) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (handle, stopped, count) =
            (server.handle().clone(), Arc::clone(&stop), Arc::clone(&refused));
        let thread = std::thread::spawn(move || {
            accept(&listener, &handle, user, idle, &stopped, &count);
        });
        Accepting { _server: server, stop, refused, thread }
    }

    /// How many were refused until now.
    fn end(self) -> usize {
        let refused = self.refused.load(Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
        refused
    }
}

struct Client(BufReader<UnixStream>);

impl Client {
    fn new(path: &Path) -> Client {
        Client(BufReader::new(UnixStream::connect(path).unwrap()))
    }

    fn send(&mut self, line: &str) -> Value {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        self.0.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap()
    }

    fn ok(&mut self, request: Value) -> Value {
        let answer = self.send(&request.to_string());
        answer.get("ok").unwrap_or_else(|| panic!("{request}: {answer}")).clone()
    }

    fn error(&mut self, line: &str) -> String {
        let answer = self.send(line);
        answer["error"].as_str().unwrap_or_else(|| panic!("{line}: {answer}")).to_owned()
    }
}

fn receiver() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    (socket, address)
}

/// Fails when a request does not reach the server or its answer is not the one to it.
#[test]
fn a_server_is_controlled() {
    let place = Place::new("control");
    let (_socket, to) = receiver();
    let server = Server::start(Config::default()).unwrap();
    let control = Control::listen(server.handle().clone(), &place.socket()).unwrap();
    let mode = fs::metadata(place.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let refused = Control::listen(server.handle().clone(), &place.socket()).unwrap_err();
    assert!(refused.to_string().contains("a server listens there already"), "{refused}");

    let mut client = Client::new(&place.socket());
    let media = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/media/tone.ogg");
    let add = |name: &str, ssrc: u32, source: Value| {
        json!({"add": {"name": name, "destination": to, "ssrc": ssrc, "tolerance": "1/10",
            "gap_ns": 20_000_000, "source": source}})
    };
    client.ok(add("tone", 1, json!({"media": {"path": media, "repeat": true}})));
    client.ok(add("plain", 2, json!({"constant": {"bytes": 200}})));
    client.ok(add("frames", 3, json!({"frames": {"sizes": [3000, 200], "frame_rate": [25, 1]}})));
    client.ok(json!({"change": {"name": "plain", "tolerance": "2/7", "gap_ns": 10_000_000}}));
    let list = client.ok(json!({"list": {}}));
    assert_eq!(list[1]["tolerance"], "2/7");
    assert_eq!(list.as_array().unwrap().len(), 3);
    let sdp = client.ok(json!({"describe": {"names": ["tone"]}}));
    assert!(sdp["sdp"].as_str().unwrap().contains("opus/48000/2"));
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let stats = client.ok(json!({"stats": {}}));
        if stats["streams"].as_array().unwrap().iter().all(|s| s["packets"]["sent"] != 0) {
            assert!(stats["send_lateness_ns"]["p99"].is_u64(), "{stats}");
            break;
        }
        assert!(Instant::now() < end, "{stats}");
    }
    let dropped = client.ok(json!({"remove": {"name": "plain"}}));
    assert_eq!(dropped["name"], "plain");
    assert_eq!(client.ok(json!({"list": {}})).as_array().unwrap().len(), 2);

    for (line, text) in [
        ("nonsense", "request: expected"),
        ("{\"add\": {}}", "missing field `name`"),
        ("{\"stop\": {}}", "unknown variant `stop`"),
        ("{\"remove\": {\"name\": \"x\"}}", "there is no stream \"x\""),
        ("{\"remove\": {\"name\": \"x\", \"all\": 1}}", "unknown field `all`"),
        ("{\"attach\": {\"name\": \"tone\"}}", "its source is not `shared`"),
        ("", "EOF while parsing"),
    ] {
        let error = client.error(line);
        assert!(error.contains(text), "{line}: {error}");
    }
    let bad = add("bad", 9, json!({"media": {"path": "no/such.ogg"}}));
    assert!(client.error(&bad.to_string()).starts_with("no/such.ogg: cannot be read"));
    let mut bad = add("bad", 9, json!("shared"));
    bad["add"]["tolerance"] = json!("3/2");
    assert!(client.error(&bad.to_string()).contains("tolerance: 3 losses in 2 packets"));

    drop(control);
    assert!(!place.socket().exists());
    server.stop(Stop::Drop);
}

/// Fails when streams join or grow beyond the link without an error or warning: a stream that does not
/// fit even alone was accepted, and so was a set of too much load.
#[test]
fn streams_that_do_not_fit_are_refused_or_warned_of() {
    let place = Place::new("fits");
    let (_socket, to) = receiver();
    // With all overhead 1000 B, 1 ms of the link: a stream needs 10 %, or half as much where it may
    // lose half.
    let config = Config { rate: Some(Rate(8_000_000)), ..Config::default() };
    let server = Server::start(config).unwrap();
    let _control = Control::listen(server.handle().clone(), &place.socket()).unwrap();
    let mut client = Client::new(&place.socket());
    let add = |n: u32, gap: u64, tolerance: &str| {
        json!({"add": {"name": format!("s{n}"), "destination": to, "ssrc": n, "tolerance": tolerance,
            "gap_ns": gap, "source": {"constant": {"bytes": 972}}}})
    };
    let change = |gap: u64| json!({"change": {"name": "s1", "tolerance": "1/2", "gap_ns": gap}});
    for n in 1..=10 {
        let answer = client.ok(add(n, 10_000_000, if n <= 5 { "1/2" } else { "0/1" }));
        assert_eq!(answer["warning"], Value::Null, "stream {n}: 75 % at most");
    }
    let refused = client.error(&change(1).to_string());
    assert!(refused.contains("it alone needs 50000000.0% of the link"), "{refused}");
    assert!(refused.contains("a gap of 500000 ns or more"), "{refused}");
    assert!(client.error(&add(11, 999_999, "0/1").to_string()).contains("1000000 ns or more"));
    let list = client.ok(json!({"list": {}}));
    assert_eq!(list.as_array().unwrap().len(), 10);
    assert_eq!(list[0]["gap_ns"], 10_000_000, "a refused change changes nothing");
    // 70 % of the others and 50 of this one.
    let warned = client.ok(change(1_000_000));
    assert!(warned["warning"].as_str().unwrap().contains("120.0% of the link"), "{warned}");
    let warned = client.ok(add(11, 10_000_000, "0/1"));
    assert!(warned["warning"].as_str().unwrap().contains("130.0% of the link"), "{warned}");
    assert_eq!(client.ok(change(10_000_000))["warning"], Value::Null);
}

/// Fails when an endless line uses unbounded memory, or blocks others: tried without a
/// limit on a request.
#[test]
fn endless_lines_are_ended() {
    let place = Place::new("endless");
    let server = Server::start(Config::default()).unwrap();
    let _control = Control::listen(server.handle().clone(), &place.socket()).unwrap();
    let mut endless = UnixStream::connect(place.socket()).unwrap();
    let block = vec![b'x'; 1 << 16];
    let mut written = 0;
    while written < 1 << 22 && endless.write_all(&block).is_ok() {
        written += block.len();
    }
    assert!(written < 1 << 22, "all was read");
    assert!(Client::new(&place.socket()).ok(json!({"list": {}})).is_array());
}

/// Connections that say nothing take places from others; those of producers say nothing for as long
/// as they fill their rings.
///
/// Fails when idle connections stay, or when one with a stream attached is closed or occupies a place.
#[test]
fn idle_connections_end_and_attached_ones_do_not() {
    let place = Place::new("idle");
    let (_socket, to) = receiver();
    let accepting = Accepting::new(&place, geteuid(), Duration::from_millis(300));
    // More than there are places.
    let attached: Vec<_> = (0..20)
        .map(|n| {
            let add = json!({"add": {"name": format!("ring-{n}"), "destination": to, "ssrc": n + 1,
                "tolerance": "1/10", "gap_ns": 20_000_000, "source": "shared"}});
            Client::new(&place.socket()).ok(add);
            attach(&place.socket(), &format!("ring-{n}")).unwrap().0
        })
        .collect();
    let silent: Vec<_> = (0..3).map(|_| UnixStream::connect(place.socket()).unwrap()).collect();
    for mut stream in silent {
        let mut rest = Vec::new();
        assert_eq!(std::io::Read::read_to_end(&mut stream, &mut rest).unwrap(), 0);
    }
    for mut stream in attached {
        stream.set_nonblocking(true).unwrap();
        let waits = std::io::Read::read(&mut stream, &mut [0]).unwrap_err();
        assert_eq!(waits.kind(), std::io::ErrorKind::WouldBlock);
    }
    accepting.end();
}

/// Fails when a stale socket is in the way, or a file that is none is removed.
#[test]
fn only_dead_sockets_are_replaced() {
    let place = Place::new("stale");
    let server = Server::start(Config::default()).unwrap();
    drop(UnixListener::bind(place.socket()).unwrap());
    assert!(place.socket().exists());
    drop(Control::listen(server.handle().clone(), &place.socket()).unwrap());
    fs::write(place.socket(), "precious").unwrap();
    let error = Control::listen(server.handle().clone(), &place.socket()).unwrap_err();
    assert!(error.to_string().contains("the file is not a socket"), "{error}");
    assert_eq!(fs::read(place.socket()).unwrap(), b"precious");
}

/// Fails when another user is let in: tried with `welcome` true for all.
#[test]
fn another_user_is_refused() {
    assert!(
        welcome(Uid::from_raw(5), Uid::from_raw(5)) && welcome(Uid::from_raw(0), Uid::from_raw(5))
    );
    assert!(!welcome(Uid::from_raw(6), Uid::from_raw(5)));

    let place = Place::new("user");
    // As root the test connects as another user; otherwise the server belongs to another user.
    let root = geteuid().is_root();
    let own = if root { geteuid() } else { Uid::from_raw(geteuid().as_raw() + 1) };
    let accepting = Accepting::new(&place, own, Duration::MAX);
    let answer = if root {
        // Wide open, so that only the credentials stand in the way.
        fs::set_permissions(&place.0, fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(place.socket(), fs::Permissions::from_mode(0o666)).unwrap();
        let output = Command::new("/proc/self/exe")
            .args(["control::tests::request_as_another_user", "--exact", "--nocapture"])
            .env("LAXITY_TEST_ASK", place.socket())
            .uid(65_534)
            .gid(65_534)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    } else {
        Client::new(&place.socket()).send("").to_string()
    };
    assert!(answer.contains("only the server's user and root"), "{answer}");
    assert_eq!(accepting.end(), 1);
}

/// The other side of `another_user_is_refused`; alone it has nothing to do.
#[test]
fn request_as_another_user() {
    let Some(path) = std::env::var_os("LAXITY_TEST_ASK") else { return };
    let mut answer = String::new();
    BufReader::new(UnixStream::connect(path).unwrap()).read_line(&mut answer).unwrap();
    println!("{answer}");
}

/// A process that fills a ring in shared memory comes, goes, and comes again; another one that
/// writes nonsense harms its own stream only.
///
/// Fails when a ring is not handed over, its end not noticed, or garbage not contained: tried
/// without the detaching at hang-up.
#[test]
fn processes_fill_rings_in_shared_memory() {
    let place = Place::new("shared");
    let (socket, to) = receiver();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let server = Server::start(Config::default()).unwrap();
    let _control = Control::listen(server.handle().clone(), &place.socket()).unwrap();
    let mut client = Client::new(&place.socket());
    for (name, ssrc) in [("a", 1), ("b", 2)] {
        client.ok(json!({"add": {"name": name, "destination": to, "ssrc": ssrc, "ring_packets": 8,
            "tolerance": "1/10", "gap_ns": 1_000_000, "send_late": true, "source": "shared"}}));
    }
    let receive = || {
        let mut buffer = [0; 100];
        let bytes = socket.recv(&mut buffer).unwrap();
        buffer[..bytes].to_vec()
    };
    for round in 0..2u8 {
        let (connection, ring) = attach(&place.socket(), "a").unwrap();
        let twice = attach(&place.socket(), "a").unwrap_err();
        assert!(twice.to_string().contains("another process fills it"), "{twice}");
        let mut producer = shared::attach(&ring).unwrap();
        for n in 0..5 {
            producer.push(u64::MAX, &[round, n]).unwrap();
        }
        for n in 0..5 {
            assert_eq!(receive(), [round, n]);
        }
        // As if killed: the connection hangs up, and the shared memory is not marked closed.
        std::mem::forget(producer);
        drop(connection);
        let end = Instant::now() + Duration::from_secs(20);
        while client.ok(json!({"stats": {}}))["streams"][0]["ended"] != true {
            assert!(Instant::now() < end);
        }
    }
    let (_connection, ring) = attach(&place.socket(), "b").unwrap();
    let memory = fs::OpenOptions::new()
        .write(true)
        .open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&ring)))
        .unwrap();
    let (_other, healthy) = attach(&place.socket(), "a").unwrap();
    let mut healthy = shared::attach(&healthy).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&memory, &[0xff; 1000], 0).unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while client.ok(json!({"stats": {}}))["streams"][1]["ring_corrupted"] != true {
        assert!(Instant::now() < end);
    }
    healthy.push(0, b"still here").unwrap();
    assert_eq!(receive(), b"still here");
}

/// Requests of each kind, with all of their keys.
const REQUESTS: [&str; 8] = [
    r#"{"add":{"name":"a","destination":"127.0.0.1:9","ssrc":1,"payload_type":96,"tolerance":"1/10",
        "gap_ns":20000000,"send_late":true,"source":{"constant":{"bytes":200}},"max_payload":1200,
        "ring_packets":8,"whole_frames":true,"rtcp":"[::1]:9"}}"#,
    r#"{"add":{"name":"b","destination":"[::1]:9","ssrc":2,"tolerance":"2/7","gap_ns":null,
        "source":{"frames":{"sizes":[3000,200],"frame_rate":[25,1]}}}}"#,
    r#"{"add":{"name":"c","destination":"127.0.0.1:9","ssrc":3,"tolerance":"0/1","gap_ns":1,
        "source":{"media":{"path":"no/such.ogg","repeat":true,"frame_rate":[15,1]}}}}"#,
    r#"{"add":{"name":"d","destination":"127.0.0.1:9","ssrc":4,"tolerance":"0/1","source":"shared"}}"#,
    r#"{"change":{"name":"a","tolerance":"2/7","gap_ns":10000000,"send_late":true}}"#,
    r#"{"describe":{"names":["a","b"]}}"#,
    r#"{"attach":{"name":"d"}}"#,
    r#"{"stats":{}}"#,
];

proptest! {
    /// Fails when some bytes make reading panic, or a request cannot be read as it is written.
    #[test]
    fn no_request_panics(
        request in proptest::option::of(0..REQUESTS.len()),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        marks in proptest::collection::vec(
            (any::<prop::sample::Index>(), prop::sample::select(&br#"019-./:,"{}[]\ ax"#[..])),
            0..4,
        ),
    ) {
        let mut bytes = request.map_or(bytes, |request| REQUESTS[request].into());
        for (at, value) in marks.into_iter().filter(|_| request.is_some()) {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        fuzz::control(&bytes);
    }
}

/// Fails when a former name in a request is refused.
#[test]
fn former_names_of_requests_are_read() {
    let read =
        |text: &str| serde_json::from_str::<Request>(text).map(|request| format!("{request:?}"));
    let add = r#"{"add":{"name":"a","destination":"[::1]:9","ssrc":2,"tolerance":"2/7","gap_ns":9,
        "max_payload":500,"ring_packets":64,"source":"shared"}}"#;
    let former = add.replace("max_payload", "largest").replace("ring_packets", "ring");
    assert_eq!(read(&former).unwrap(), read(add).unwrap());
    assert_eq!(
        read(r#"{"drop":{"name":"a"}}"#).unwrap(),
        read(r#"{"remove":{"name":"a"}}"#).unwrap()
    );
}
