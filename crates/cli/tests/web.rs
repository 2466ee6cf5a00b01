//! `laxity web` in a real browser: `CHROMIUM`, or the one in the path. Without one the part that needs it
//! says so and passes.

#[allow(dead_code)] // the pages of reports need more of it
#[path = "../../report/tests/support/chromium.rs"]
mod chromium;
mod support;

use std::io::{BufRead, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use chromium::Browser;
use serde_json::json;
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
    let without = ask("POST /apply HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n ");
    assert!(without.starts_with("HTTP/1.1 401 "), "{without}");
}

/// The answer to an action of the page, with its token.
fn act(address: &str, path: &str, body: &serde_json::Value) -> String {
    let mut answer = String::new();
    asking(address, path, body).read_to_string(&mut answer).expect("an answer");
    answer
}

/// A connection that has asked for an action.
fn asking(address: &str, path: &str, body: &serde_json::Value) -> TcpStream {
    let (host, token) = address.trim_start_matches("http://").split_once("/#").expect("a token");
    let (mut stream, body) = (TcpStream::connect(host).expect("a connection"), body.to_string());
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nLaxity-Token: {token}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("a request");
    stream
}

/// Fails when a change without a link, without a check, or of a link that does not run gets another answer than
/// its own, or a long check holds up the page.
#[test]
fn changes_are_refused_with_their_reason() {
    let (_process, plain, address) = web(&[]);
    let text = std::fs::read_to_string(file("scenarios/access-link.toml")).expect("a scenario");
    let alone = act(&address, "/check", &json!({"scenario": text}));
    assert!(alone.contains(r#""admitted":true"#) && !alone.contains("digest"), "{alone}");
    // Of a link that is not there, whether or not this machine could have one.
    let change = json!({"device": "no-such-device", "scenario": text});
    let checked = act(&address, "/check", &change);
    assert!(["HTTP/1.1 501 ", "HTTP/1.1 422 "].iter().any(|s| checked.starts_with(s)), "{checked}");
    let applied = act(&address, "/apply", &json!({"digest": "0", "change": change}));
    assert!(
        applied.starts_with("HTTP/1.1 409 ") && applied.contains("check it again"),
        "{applied}"
    );
    let nothing = act(&address, "/check", &json!({"rate": "1 Mbit/s"}));
    assert!(nothing.starts_with("HTTP/1.1 422 ") && nothing.contains("device"), "{nothing}");
    // Some hundred flows take the check a while; the page goes on.
    let flow = |n: usize| {
        format!(
            "[[realtime]]\nname = \"f{n}\"\ndeadline = \"{} ms\"\n\
             envelope = {{ period = \"20 ms\", size = \"90 B\" }}\n",
            20 + n % 700
        )
    };
    let flows: String = (0..300).map(flow).collect();
    let large = format!("[link]\nrate = \"1 Gbit/s\"\nmax_packet = \"1500 B\"\n{flows}");
    let host = plain.trim_start_matches("http://").trim_end_matches('/');
    let page = || {
        let mut stream = TcpStream::connect(host).expect("a connection");
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
        let mut page = String::new();
        stream.read_to_string(&mut page).expect("the page");
        assert!(page.contains("</html>"), "{page}");
    };
    // A check may end before this thread gets a processor, but not each time.
    let beside = (0..50).any(|_| {
        let mut check = asking(&address, "/check", &json!({"scenario": large}));
        // Requests are read in the order of their connections, so the check's was read before this page is answered.
        page();
        check.set_nonblocking(true).expect("a socket");
        let goes_on = check.peek(&mut [0]).is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
        check.set_nonblocking(false).expect("a socket");
        let mut answer = String::new();
        check.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(r#""admitted":true"#), "{answer}");
        goes_on
    });
    assert!(beside, "no page was answered while a check ran");
}

/// The way from a check to a change, on a link in the events of the page, with answers as the server gives
/// them: `changes_are_refused_with_their_reason` has those of the server, the tests of links in the kernel
/// those of a change that takes effect.
fn applies_what_was_confirmed(browser: &mut Browser) {
    browser.eval(
        r#"(() => {
            document.getElementById("pause").click();
            changes.links([{ kind: "link", of: "eth9" }, { kind: "link", of: "eth8", process: 7 }]);
            window.asked = [];
            window.fetch = async (path, { body }) => {
                asked.push([path, JSON.parse(body)]);
                const text = JSON.stringify({ admitted: true, text: "as it is", digest: "abcd".repeat(16) });
                return new Response(text, { status: 200 });
            };
        })()"#,
    );
    let hidden = |id: &str| format!("document.getElementById('{id}').hidden");
    let options = "[...document.getElementById('device').options].map(o => o.value).join()";
    assert_eq!(browser.eval(options), ",eth9");
    assert_eq!(browser.eval(&hidden("set-rate")), true);
    let choose = "(() => { const d = document.getElementById('device'); d.value = 'eth9'; \
                  d.dispatchEvent(new Event('input')); })()";
    browser.eval(choose);
    assert_eq!(browser.eval(&hidden("set-rate")), false);
    let check = "document.querySelector('#check button').click()";
    let offered = "!document.getElementById('apply').hidden";
    browser.eval(check);
    browser.wait(offered);
    // Another text is another change.
    browser.eval("document.getElementById('scenario').dispatchEvent(new Event('input'))");
    assert_eq!(browser.eval(&hidden("apply")), true);
    browser.eval(check);
    browser.wait(offered);
    let open = "document.getElementById('confirm').open";
    browser.eval("document.getElementById('apply').click()");
    assert_eq!(browser.eval(open), true);
    let question = browser.eval("document.getElementById('question').textContent");
    assert!(
        question.as_str().is_some_and(|q| q.contains("eth9") && q.contains("abcd")),
        "{question}"
    );
    browser.eval("document.getElementById('cancel').click()");
    assert_eq!(browser.eval(open), false);
    assert_eq!(browser.eval("asked.filter(([path]) => path === '/apply').length"), 0);
    browser.eval("document.getElementById('apply').click()");
    browser.eval("document.getElementById('confirmed').click()");
    browser.wait("document.getElementById('verdict').textContent === 'Applied.'");
    let same = "(() => { const [check, apply] = asked.slice(-2); return apply[0] === '/apply' && \
                JSON.stringify(apply[1].change) === JSON.stringify(check[1]) && \
                apply[1].change.device === 'eth9' && apply[1].digest === 'abcd'.repeat(16); })()";
    assert_eq!(browser.eval(same), true);
    assert_eq!(browser.eval(&hidden("apply")), true);
}

/// Answers to checks that come after an edit, or after another check, in an order of their own.
fn offers_what_was_checked_last(browser: &mut Browser) {
    browser.eval(
        r#"(() => {
            window.pending = [];
            window.fetch = (path, { body }) => new Promise((resolve) => pending.push((digest) =>
                resolve(new Response(JSON.stringify({ admitted: true, text: body, digest }), { status: 200 }))));
        })()"#,
    );
    let check = "document.querySelector('#check button').click()";
    let edit = |text: &str| {
        format!(
            "(() => {{ const s = document.getElementById('scenario'); s.value = '{text}'; \
             s.dispatchEvent(new Event('input')); }})()"
        )
    };
    let answer = |number: usize| {
        format!(
            "(async () => {{ pending[{number}]('{number}'.repeat(64)); \
             await new Promise((done) => setTimeout(done, 50)); window.answered = {number}; }})()"
        )
    };
    let hidden = "document.getElementById('apply').hidden";
    browser.eval(&edit("first"));
    browser.eval(check);
    browser.eval(&edit("second"));
    browser.eval(&answer(0));
    browser.wait("window.answered === 0");
    assert_eq!(browser.eval(hidden), true);
    let verdict = browser.eval("document.getElementById('verdict').textContent");
    assert_eq!(verdict, "Edited; check it again.");
    browser.eval(check);
    browser.eval(&edit("third"));
    browser.eval(check);
    browser.eval(&answer(2));
    browser.wait("window.answered === 2");
    browser.eval(&answer(1));
    browser.wait("window.answered === 1");
    assert_eq!(browser.eval(hidden), false);
    browser.eval("document.getElementById('apply').click()");
    let question = browser.eval("document.getElementById('question').textContent");
    assert!(question.as_str().is_some_and(|q| q.contains("2222")), "{question}");
    // A link that goes takes the question with it.
    browser.eval("changes.links([])");
    assert_eq!(browser.eval("document.getElementById('confirm').open"), false);
    assert_eq!(browser.eval(hidden), true);
}

/// Ten thousand flows: rows for those in view alone, as few changes of the page an update and a scroll, delays in
/// order. Fails when rows out of view are changed too (tried: a row for every flow).
fn shows_ten_thousand_flows(browser: &mut Browser) {
    browser.eval(
        r#"(() => {
            const flow = (n, round) => ({ kind: "flow", of: "eth0", name: `flow ${n}`, count: n, per_second: n,
                mean_ms: 1 + (n % 7), p99_ms: 4, max_ms: 5, deadline_ms: 10, deadline_misses: 0, dropped: 0,
                drop_reasons: {}, facts: [], latest: (n * 31 + round * 17) % 9 });
            const time = (act) => { const began = performance.now(); act(); document.body.offsetHeight;
                return performance.now() - began; };
            const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];
            const place = tables[0].place, updates = [], scrolls = [], whole = [];
            const changes = new MutationObserver(() => {});
            changes.observe(place, { subtree: true, childList: true, characterData: true, attributes: true });
            let most = 0;
            const count = () => { most = Math.max(most, changes.takeRecords().length); };
            tables[0].filter([]);
            for (let round = 0; round < 30; round += 1) {
                const parts = Array.from({ length: 10000 }, (_, n) => flow(n, round));
                updates.push(time(() => tables[0].update(parts)));
                count();
                scrolls.push(time(() => { place.scrollTop = 15000 * round; tables[0].show(); }));
                count();
                // As the server sends it: read, compared with the parts before, shown.
                const data = JSON.stringify({ parts, notes: [] });
                paused = false;
                whole.push(time(() => events.dispatchEvent(new MessageEvent("message", { data }))));
                paused = true;
            }
            // After 240 and more, and in another order, delays stay in order and with their part.
            const kept = tables[0].all[31].history;
            for (let i = 0; i < 300; i += 1) kept.push(i);
            tables[0].update(Array.from({ length: 10000 }, (_, n) => flow(9999 - n, 0)));
            const moved = tables[0].all[9999 - 31].history.list();
            tables[0].update(Array.from({ length: 10000 }, (_, n) => flow(n, 0)));
            window.measured = { update: median(updates), scroll: median(scrolls), whole: median(whole),
                most, kept: moved.length, first: moved[0], last: moved[238],
                rows: place.querySelectorAll("tbody tr").length };
        })()"#,
    );
    let number = |browser: &mut Browser, of: &str| {
        browser.eval(&format!("measured.{of}")).as_f64().expect("a number")
    };
    let (update, scroll) = (number(browser, "update"), number(browser, "scroll"));
    let (whole, most) = (number(browser, "whole"), number(browser, "most"));
    eprintln!(
        "10,000 flows: an update takes {update:.1} ms, {whole:.1} ms with its event read, a scroll {scroll:.1} ms; \
         at most {most} changes of the page"
    );
    assert_eq!(["kept", "first", "last"].map(|of| number(browser, of)), [240.0, 61.0, 299.0]);
    assert!(number(browser, "rows") < 60.0);
    assert!(most < 2000.0, "{most} changes of the page");
    // What is filtered is found among all of them, and the last can be reached.
    let find =
        "(() => { tables[0].filter(['flow', '9999']); return tables[0].matching.length; })()";
    assert_eq!(browser.eval(find), 1);
    let bottom = "(() => { tables[0].filter([]); const p = tables[0].place; p.scrollTop = p.scrollHeight; \
                  tables[0].show(); return p.textContent.includes('flow 9999'); })()";
    assert_eq!(browser.eval(bottom), true);
}

/// Fails when a live part does not appear or does not move, the filter hides nothing, an edited scenario gets
/// the wrong answer, the answer to an old check offers to apply it, or the policy of the page blocks its own files.
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
        let hidden = format!("{row} === undefined");
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
    applies_what_was_confirmed(&mut browser);
    offers_what_was_checked_last(&mut browser);
    shows_ten_thousand_flows(&mut browser);
    assert_eq!(browser.errors, Vec::<String>::new());
    let own = |request: &String| request.starts_with(&plain) || request == "about:blank";
    assert!(browser.requests.iter().all(own), "{:?}", browser.requests);
    // Without the token, as after a reload, a check is refused with the remedy.
    browser.open(&plain, (1280, 900));
    browser.eval("document.querySelector('#check button').click()");
    browser.wait("document.getElementById('answer').textContent.includes('token')");
}
