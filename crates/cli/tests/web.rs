//! `laxity web` in a real browser: `CHROMIUM`, or the one in the path. Without one the part that needs it
//! says so and passes.

#[allow(dead_code)] // the pages of reports need more of it
#[path = "../../report/tests/support/chromium.rs"]
mod chromium;
mod support;

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use chromium::Browser;
use support::{Folder, Process, command, file, laxity};

/// Starts a command that runs on; its process, and the first line of its messages with `expected`.
fn start(arguments: &[&str], expected: &str) -> (Process, String) {
    let mut command = command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut messages = BufReader::new(child.stderr.take().expect("it was asked for"));
    let process = Process::new(child);
    loop {
        let mut line = String::new();
        assert!(messages.read_line(&mut line).expect("text") > 0, "no `{expected}`");
        if line.contains(expected) {
            // The pipe stays open for further messages.
            std::thread::spawn(move || messages.read_to_string(&mut String::new()));
            return (process, line);
        }
    }
}

/// The page: its address without the token, and with it.
fn web(more: &[&str]) -> (Process, String, String) {
    let arguments = [&["web", "--listen", "127.0.0.1:0", "--interval", "100ms"], more].concat();
    let (process, line) = start(&arguments, "open http://");
    let address = line.split_whitespace().find(|word| word.starts_with("http://"));
    let address = address.expect("an address").trim_end_matches(';');
    let plain = address.split('#').next().expect("a part").to_owned();
    (process, plain, address.to_owned())
}

/// A media server on loopback, so that there is a part.
fn server(folder: &Folder) -> Process {
    let sink = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let port = sink.local_addr().expect("an address").port() & !1;
    let scenario = format!(
        "[server]\nrate = \"4 Mbit/s\"\n[[stream]]\nname = \"speech\"\ntolerance = \"1/100\"\n\
         gap = \"10 ms\"\npacket = \"160 B\"\ndestination = \"127.0.0.1:{port}\"\n"
    );
    let path = folder.write("concert.toml", scenario);
    start(&["stream", "serve", &path], "serving").0
}

/// Fails when a port in use or an address beyond loopback has no reason and remedy.
#[test]
fn addresses_are_refused_with_a_reason() {
    laxity(&["web", "--listen", "0.0.0.0:0"]).fails(2, &["loopback only", "choose another"]);
    let (_process, plain, _) = web(&[]);
    let address = plain.trim_start_matches("http://").trim_end_matches('/');
    laxity(&["web", "--listen", address]).fails(2, &["in use", "choose another"]);
}

/// Fails when the page answers a name of another site, or tries a scenario without the token.
#[test]
fn other_sites_get_nothing() {
    let (_process, plain, _) = web(&[]);
    let address = plain.trim_start_matches("http://").trim_end_matches('/');
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let foreign = ask("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n");
    assert!(foreign.starts_with("HTTP/1.1 421 "), "{foreign}");
    let own = ask("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(own.contains("\r\nContent-Security-Policy: default-src 'none'; "), "{own}");
    let without = ask("POST /check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n ");
    assert!(without.starts_with("HTTP/1.1 401 ") && without.contains("token"), "{without}");
}

/// Fails when a live part does not appear or does not move, the filter hides nothing, an edited scenario gets
/// the wrong answer, or the policy of the page blocks its own files.
#[test]
fn the_page_is_live_and_tries_admissions() {
    let program = match chromium::find() {
        Ok(program) => program,
        Err(why) => {
            assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{why}");
            eprintln!("skipped: {why}");
            return;
        }
    };
    let folder = Folder::new("web");
    let _server = server(&folder);
    let mut browser = Browser::start(&program, Path::new(&folder.path("")));
    let began = Instant::now();
    let (_process, plain, address) = web(&["--scenario", &file("scenarios/access-link.toml")]);
    let mut first = true;
    for size in [(1280, 900), (390, 844)] {
        browser.open("about:blank", size);
        browser.open(&address, size);
        let row = "[...document.querySelectorAll('tbody tr')].find(r => r.textContent.includes('concert'))";
        browser.wait(&format!("{row} !== undefined"));
        if std::mem::take(&mut first) {
            eprintln!("first picture {} ms after the start", began.elapsed().as_millis());
        }
        browser.wait(&format!("{row}.querySelector('.trend').getAttribute('d').includes('L')"));
        assert_eq!(browser.eval("location.hash"), "");
        assert_eq!(browser.eval("document.documentElement.scrollWidth <= innerWidth"), true);
        let hidden = format!("{row}.hidden");
        let type_in = |text: &str| {
            format!(
                "(() => {{ const f = document.getElementById('filter'); f.value = '{text}'; \
                 f.dispatchEvent(new Event('input')); }})()"
            )
        };
        browser.eval(&type_in("no such part"));
        assert_eq!(browser.eval(&hidden), true);
        browser.eval(&type_in("concert"));
        assert_eq!(browser.eval(&hidden), false);
        let check = "document.querySelector('#check button').click()";
        let verdict =
            |text: &str| format!("document.getElementById('verdict').textContent === '{text}'");
        browser.wait("document.getElementById('scenario').value.includes('[link]')");
        browser.eval(check);
        browser.wait(&verdict("Admitted."));
        browser.eval(
            "document.getElementById('scenario').value = \
             document.getElementById('scenario').value.replace('deadline = \"5 ms\"', 'deadline = \"0.1 ms\"')",
        );
        browser.eval(check);
        browser.wait(&verdict("Not admitted."));
    }
    assert_eq!(browser.errors, Vec::<String>::new());
    let own = |request: &String| request.starts_with(&plain) || request == "about:blank";
    assert!(browser.requests.iter().all(own), "{:?}", browser.requests);
    // Without the token, as after a reload, a check is refused with the remedy.
    browser.open(&plain, (1280, 900));
    browser.eval("document.querySelector('#check button').click()");
    browser.wait("document.getElementById('answer').textContent.includes('token')");
}
