use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::actions::Worker;
use super::*;

const REQUEST: &[u8] = b"GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Against hanging: what a working server does at once takes less on any machine.
const LONG: Duration = Duration::from_secs(60);

fn any() -> SocketAddr {
    "127.0.0.1:0".parse().expect("an address")
}

fn serve(body: &str) -> Server {
    let body = body.to_owned();
    let page = Page::new("/page", METRICS, move || Ok(body.clone()));
    Server::listen(any(), vec![page], || {}).expect("loopback")
}

fn limited(page: Page, limits: Limits) -> Server {
    Server::with(any(), vec![page], limits, || {}).expect("loopback")
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("a connection");
    stream.set_read_timeout(Some(LONG)).expect("a socket");
    stream
}

fn ask(server: &Server, request: &[u8]) -> String {
    let mut stream = connect(server);
    stream.write_all(request).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Fails when clients are served one after the other: silent ones have reached their
/// deadlines, and are closed, before the requesting one gets its answer.
#[test]
fn silent_clients_do_not_block_others() {
    let server = serve("here");
    let silent: Vec<TcpStream> = (0..10).map(|_| connect(&server)).collect();
    assert!(ask(&server, REQUEST).ends_with("\r\n\r\nhere"));
    for mut stream in silent {
        stream.set_nonblocking(true).expect("a socket");
        let error = stream.read(&mut [0]).expect_err("no request was sent");
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}

/// Fails when new connections are turned away when all places are occupied, or the newest one is
/// closed instead of the oldest.
#[test]
fn the_oldest_connection_makes_room() {
    let limits = Limits { connections: 4, patience: Duration::MAX, ..Limits::default() };
    let page = Page::new("/page", METRICS, || Ok("here".to_owned()));
    let server = limited(page, limits);
    let mut silent: Vec<TcpStream> = (0..9).map(|_| connect(&server)).collect();
    assert!(ask(&server, REQUEST).ends_with("here"));
    let (old, new) = silent.split_at_mut(6);
    for stream in old {
        assert_eq!(stream.read(&mut [0]).expect("an end"), 0);
    }
    for stream in new {
        stream.set_nonblocking(true).expect("a socket");
        assert!(stream.read(&mut [0]).is_err());
    }
}

/// Fails when the server waits for a client that reads its page slowly: tried with a time limit
/// for each write. Then the reader gets all of it.
#[test]
fn slow_readers_do_not_delay_shutdown() {
    const BYTES: usize = 24 << 20;
    let server = serve(&"x".repeat(BYTES));
    let mut stream = connect(&server);
    stream.write_all(REQUEST).expect("a request");
    let received = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&received);
    let reader = std::thread::spawn(move || {
        let mut buffer = vec![0; 256 << 10];
        while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
            count.fetch_add(bytes, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    while received.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    drop(server);
    reader.join().expect("a reader");
    assert!(received.load(Ordering::Relaxed) < BYTES);
}

/// Fails when a client may take as long as it likes, with its request or with the answer, so also
/// when the deadline moves with each byte.
#[test]
fn clients_have_a_deadline() {
    const BYTES: usize = 24 << 20;
    let limits = Limits { patience: Duration::from_millis(100), ..Limits::default() };
    let body = "x".repeat(BYTES);
    let page = Page::new("/page", METRICS, move || Ok(body.clone()));
    let server = limited(page, limits);

    let mut slow = connect(&server);
    // It ends, or the server hangs up: sooner or later a byte is refused.
    while slow.write_all(b"x").is_ok() {
        std::thread::sleep(Duration::from_millis(10));
    }

    let mut slow = connect(&server);
    slow.write_all(REQUEST).expect("a request");
    let (mut buffer, mut received) = (vec![0; 64 << 10], 0);
    while let Ok(bytes @ 1..) = slow.read(&mut buffer) {
        received += bytes;
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(received < BYTES, "all {received} bytes");
}

/// Fails when each request builds its page.
#[test]
fn concurrent_requests_share_one_page() {
    let made = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&made);
    let page =
        Page::new("/page", METRICS, move || Ok(count.fetch_add(1, Ordering::Relaxed).to_string()));
    let always = Limits { fresh: Duration::MAX, ..Limits::default() };
    let server = limited(page, always);
    for _ in 0..5 {
        assert!(ask(&server, REQUEST).ends_with("\r\n\r\n0"));
    }
    assert_eq!(made.load(Ordering::Relaxed), 1);

    let count = Arc::clone(&made);
    let page =
        Page::new("/page", METRICS, move || Ok(count.fetch_add(1, Ordering::Relaxed).to_string()));
    let never = Limits { fresh: Duration::ZERO, ..Limits::default() };
    let server = limited(page, never);
    for n in 1..4 {
        assert!(ask(&server, REQUEST).ends_with(&format!("\r\n\r\n{n}")));
    }
}

/// A page of another site may have its name resolve to this machine; a browser then requests the page under
/// that name. Fails when `Host` is not looked at, or only its beginning is.
#[test]
fn only_loopback_hosts_are_served() {
    let server = serve("here");
    let status = |host: &str| {
        let answer = ask(&server, format!("GET /page HTTP/1.1\r\n{host}\r\n\r\n").as_bytes());
        answer.split(' ').nth(1).expect("a status").to_owned()
    };
    for good in
        ["localhost", "LocalHost:9402", "127.0.0.1", "127.0.0.1:9402", "127.3.2.1:80", "[::1]:9402"]
    {
        assert_eq!(status(&format!("Host: {good}")), "200", "{good}");
    }
    assert_eq!(status("hOsT:\tlocalhost \r\nAccept: */*"), "200");
    for bad in [
        "example.org",
        "example.org:9402",
        "localhost.example.org",
        "127.0.0.1.example.org",
        "192.0.2.1",
        "[2001:db8::1]",
        // Not a number.
        &format!("{}:http", "localhost"),
        "",
    ] {
        assert_eq!(status(&format!("Host: {bad}")), "421", "{bad}");
    }
    assert_eq!(status("Host: localhost\r\nHost: example.org"), "400");
    assert_eq!(status("Accept: */*"), "400");
    // Before 1.1 there need be none.
    assert!(ask(&server, b"GET /page HTTP/1.0\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
}

/// The test's end of an action that says when it begins, and then waits.
struct Slow {
    begun: Receiver<()>,
    /// One that runs ends for each message, all do when this is dropped.
    release: Sender<()>,
}

impl Slow {
    /// With what the action does.
    fn new() -> (Slow, impl FnMut() + Send + 'static) {
        let ((begin, begun), (release, released)) = (channel(), channel());
        let act = move || {
            let _ = begin.send(());
            let _ = released.recv();
        };
        (Slow { begun, release }, act)
    }

    fn has_begun(&self) {
        self.begun.recv_timeout(LONG).expect("it begins");
    }
}

fn live(limits: Limits) -> Server {
    with_slow(limits, || {})
}

fn with_slow(limits: Limits, mut slow: impl FnMut() + Send + 'static) -> Server {
    let mut n = 0;
    let events = Events::new("/events", Duration::from_millis(30), move || {
        n += 1;
        if n == 2 { Err("none\nnow".to_owned()) } else { Ok(format!("event {n}")) }
    });
    let action = Action::new("/act", 100, move |body| match body {
        "" => Err(Refusal::Input("no body".to_owned())),
        "slow" => {
            slow();
            Ok("done slowly".to_owned())
        }
        "panic" => panic!("asked for"),
        body => Ok(format!("did {body}")),
    });
    let page = Page::new("/page", METRICS, || Ok("here".to_owned()));
    let actions = Actions::new("secret".to_owned(), vec![action], || {});
    let events = Some(events);
    Server::live(any(), vec![page], events, Some(actions), limits, || {}).expect("loopback")
}

/// A connection that has asked for the action.
fn act(server: &Server, body: &str) -> TcpStream {
    let mut stream = connect(server);
    let length = body.len();
    let request = format!(
        "POST /act HTTP/1.1\r\nHost: localhost\r\nLaxity-Token: secret\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).expect("a request");
    stream
}

fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Fails when a page waits for an action, more wait than there are places or fewer, or one whose client has left
/// holds up the next.
#[test]
fn pages_do_not_wait_for_actions() {
    let (slow, act_slowly) = Slow::new();
    let server = with_slow(Limits { patience: LONG, ..Limits::default() }, act_slowly);
    let client = act(&server, "slow");
    slow.has_begun();
    assert!(ask(&server, REQUEST).ends_with("here"));
    slow.release.send(()).expect("it waits");
    assert!(rest(client).ends_with("done slowly"));

    let left = act(&server, "slow");
    slow.has_begun();
    drop(left);
    let (sender, answers) = channel();
    for _ in 0..7 {
        let (stream, sender) = (act(&server, "slow"), sender.clone());
        std::thread::spawn(move || sender.send(rest(stream)));
    }
    let next = || answers.recv_timeout(LONG).expect("an answer");
    // One runs and four wait, so three get an answer before it ends.
    for _ in 0..3 {
        let refused = next();
        assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    }
    drop(slow.release);
    for _ in 0..4 {
        let done = next();
        assert!(done.ends_with("done slowly"), "{done}");
    }
}

/// Fails when an action that nobody waits for any more takes place, or a server that is dropped leaves one
/// half done: tried without a look at `abandoned`, and without the join of its thread.
#[test]
fn abandoned_actions_do_not_run() {
    let done = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&done);
    let (slow, mut act_slowly) = Slow::new();
    let action = Action::new("/act", 100, move |body| {
        if body == "slow" {
            act_slowly();
            // A server that does not wait for it is gone before.
            std::thread::sleep(Duration::from_millis(100));
        }
        log.lock().expect("no panic").push(body.to_owned());
        Ok(body.to_owned())
    });
    let actions = Some(Actions::new("secret".to_owned(), vec![action], || {}));
    let page = Page::new("/page", METRICS, || Ok("here".to_owned()));
    let limits = Limits { patience: LONG, ..Limits::default() };
    let server = Server::live(any(), vec![page], None, actions, limits, || {}).expect("loopback");
    // The thread looks at connections in their order: when it answers the last, it has seen what the others
    // have sent, and that they were closed.
    let has_seen_all = || assert!(ask(&server, REQUEST).ends_with("here"));
    let client = act(&server, "slow");
    slow.has_begun();
    let left: Vec<TcpStream> = ["left"; 3].map(|body| act(&server, body)).into();
    has_seen_all();
    drop(left);
    has_seen_all();
    slow.release.send(()).expect("it waits");
    assert!(rest(client).ends_with("slow"));
    assert!(rest(act(&server, "stays")).ends_with("stays"));
    assert_eq!(*done.lock().expect("no panic"), ["slow", "stays"]);

    let clients = ["slow", "waits"].map(|body| act(&server, body));
    slow.has_begun();
    let last = connect(&server);
    has_seen_all();
    let dropped = std::thread::spawn(move || drop(server));
    // Connections end in their order, and with them what waits.
    assert_eq!(rest(last), "");
    slow.release.send(()).expect("it waits");
    dropped.join().expect("no panic");
    assert_eq!(*done.lock().expect("no panic"), ["slow", "stays", "slow"]);
    drop(clients);
}

/// What is on offer, and an action that waits for its worker.
fn waiting_action() -> (Offer, Pending, Worker) {
    let action = Action::new("/act", 100, |_| Ok(String::new()));
    let actions = Actions::new("secret".to_owned(), vec![action], || {});
    let (gate, worker) = actions.split().expect("sockets");
    let fresh = Duration::ZERO;
    let mut offer = Offer { pages: vec![], events: None, gate: Some(gate), fresh };
    let request = b"POST /act HTTP/1.1\r\nHost: localhost\r\nLaxity-Token: secret\r\n\
                    Content-Length: 0\r\n\r\n";
    let Answer::Later(pending) = answer(request, &mut offer) else { panic!("no action") };
    (offer, pending, worker)
}

/// Fails when a client that sends without end, where it has nothing to say, is read until it stops: others wait
/// meanwhile. One of events is left at its first byte.
#[test]
fn talkative_clients_delay_nobody() {
    let (mut offer, pending, _worker) = waiting_action();
    let listener = TcpListener::bind(any()).expect("loopback");
    let mut advance = |state: State| {
        let mut client =
            TcpStream::connect(listener.local_addr().expect("it is bound")).expect("one");
        let (stream, _) = listener.accept().expect("a connection");
        client.write_all(&[0; 20_000]).expect("less than the buffers hold");
        drop(client);
        let mut left = stream.try_clone().expect("a descriptor");
        stream.set_nonblocking(true).expect("a socket");
        let next = Connection { stream, began: Instant::now(), state }.advance(&mut offer);
        (next == Next::Waits, left.read_to_end(&mut Vec::new()).expect("the rest"))
    };
    let (waits, left) = advance(State::Acting(pending));
    assert!(waits && left > 19_000, "{left} bytes left");
    let (waits, left) = advance(State::Streaming { event: Arc::from([]), sent: 0 });
    assert!(!waits && left > 19_000, "{left} bytes left");
}

/// Fails when the end of the actions' thread ends pages, or keeps the other thread busy.
#[test]
fn pages_survive_a_broken_action() {
    let server = live(Limits::default());
    let broken = rest(act(&server, "panic"));
    assert!(broken.starts_with("HTTP/1.1 500 "), "{broken}");
    let refused = (0..6000).find_map(|_| {
        std::thread::sleep(Duration::from_millis(10));
        Some(rest(act(&server, "this"))).filter(|answer| answer.starts_with("HTTP/1.1 500 "))
    });
    assert!(refused.is_some_and(|answer| answer.contains("has ended")));
    assert!(ask(&server, REQUEST).ends_with("here"));
}

/// Fails when a stream ends after an event, an error ends it, or a line of an event passes for its end.
#[test]
fn events_go_on() {
    let server = live(Limits { patience: LONG, ..Limits::default() });
    let mut stream = connect(&server);
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
    let (mut text, mut buffer) = (String::new(), [0; 512]);
    while !text.contains("data: event 9\n\n") {
        let bytes = stream.read(&mut buffer).expect("an event");
        assert!(bytes > 0, "it ended: {text}");
        text.push_str(std::str::from_utf8(&buffer[..bytes]).expect("text"));
    }
    assert!(text.contains("Content-Type: text/event-stream\r\n"), "{text}");
    assert!(text.contains("\r\n\r\ndata: event 1\n\nevent: problem\ndata: none now\n\n"), "{text}");
}

/// Fails when a client that reads no events keeps its place, a stream ends at the deadline of pages while it waits
/// for its next event, or an action does: tried without each arm of `lasts`. That the server looks at `lasts`,
/// `clients_have_a_deadline` shows.
#[test]
fn deadlines_are_those_of_what_a_client_waits_for() {
    const PATIENCE: Duration = Duration::from_millis(100);
    let (mut offer, pending, _worker) = waiting_action();
    let listener = TcpListener::bind(any()).expect("loopback");
    // Whether a client that says and reads nothing keeps its place beyond the deadline of pages.
    let mut stays = |state: State| {
        let client = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("one");
        let (stream, _) = listener.accept().expect("a connection");
        stream.set_nonblocking(true).expect("a socket");
        let began = Instant::now().checked_sub(PATIENCE).expect("this machine runs for longer");
        let mut connection = Connection { stream, began, state };
        let waits = connection.advance(&mut offer) == Next::Waits;
        drop(client);
        waits && connection.lasts(PATIENCE)
    };
    assert!(!stays(State::Asking(Vec::new())));
    assert!(stays(State::Acting(pending)));
    // More than the buffers of sockets hold.
    let long: Arc<[u8]> = vec![b'x'; 24 << 20].into();
    assert!(!stays(State::Streaming { event: Arc::clone(&long), sent: 0 }));
    assert!(!stays(State::Answering { head: Vec::new(), body: long, sent: 0 }));
    assert!(stays(State::Streaming { event: Arc::from(*b"x"), sent: 1 }));
}

/// Fails when an action takes place without the secret, for another site, for a name of another site, or on
/// a body that is too long, not whole, longer than its head says, or of no certain length.
#[test]
fn actions_need_the_secret_and_their_own_site() {
    let server = live(Limits::default());
    let post = |fields: &str, body: &str| {
        let length = body.len();
        let request = format!(
            "POST /act HTTP/1.1\r\nHost: localhost\r\n{fields}Content-Length: {length}\r\n\r\n{body}"
        );
        ask(&server, request.as_bytes())
    };
    let known = "Laxity-Token: secret\r\n";
    let done = post(known, "this");
    assert!(done.starts_with("HTTP/1.1 200 ") && done.ends_with("did this"), "{done}");
    let own = format!("{known}Origin: http://127.0.0.1:1\r\n");
    assert!(post(&own, "this").ends_with("did this"));
    let evil = ["http://example.org", "null", "https://localhost", "http://localhost.example.org"];
    for origin in evil {
        let answer = post(&format!("{known}Origin: {origin}\r\n"), "this");
        assert!(answer.starts_with("HTTP/1.1 403 "), "{origin}: {answer}");
    }
    assert!(post("", "this").starts_with("HTTP/1.1 401 "));
    assert!(post("Laxity-Token: secrets\r\n", "this").starts_with("HTTP/1.1 403 "));
    assert!(post(known, "").starts_with("HTTP/1.1 422 "));
    assert!(post(known, &"x".repeat(101)).starts_with("HTTP/1.1 413 "));
    let rebound = b"POST /act HTTP/1.1\r\nHost: example.org\r\nLaxity-Token: secret\r\n\
                    Content-Length: 4\r\n\r\nthis";
    assert!(ask(&server, rebound).starts_with("HTTP/1.1 421 "));
    let with_length = |length: &str| {
        let head = "POST /act HTTP/1.1\r\nHost: localhost\r\nLaxity-Token: secret\r\n";
        ask(&server, format!("{head}{length}\r\nthis and more").as_bytes())
    };
    let cut = with_length("Content-Length: 4\r\n");
    assert!(cut.starts_with("HTTP/1.1 200 ") && cut.ends_with("\r\n\r\ndid this"), "{cut}");
    for (length, status) in [
        ("", "411"),
        ("Transfer-Encoding: chunked\r\n", "411"),
        ("Content-Length: +4\r\n", "400"),
        ("Content-Length: \r\n", "400"),
        ("Content-Length: 4\r\nContent-Length: 5\r\n", "400"),
        ("Content-Length: 101\r\n", "413"),
        ("Content-Length: 99999999999999999999\r\n", "413"),
    ] {
        let answer = with_length(length);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{length}: {answer}");
    }
    let get = b"GET /act HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert!(ask(&server, get).starts_with("HTTP/1.1 404 "));
}
