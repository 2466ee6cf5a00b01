//! Live parts killed at random moments, from their first instruction on: nothing is left behind, and the next
//! one starts. LAXITY_KILLS says how often; `make kills` does it a thousand times.
#![cfg(target_os = "linux")]

#[path = "../../userlink/tests/support/mod.rs"]
mod network;
#[path = "support/ports.rs"]
mod ports;
mod support;

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::process::Stdio;
use std::time::{Duration, Instant};

use network::offloads::features;
use network::scenarios::family_with;
use network::{LINK, Network, until};
use rustix::process::Signal;
use support::{Folder, Process, command, laxity};

fn kills() -> u32 {
    std::env::var("LAXITY_KILLS").map_or(9, |n| n.parse().expect("LAXITY_KILLS is a number"))
}

/// Moments up to a limit, the same in every run; a third of them in the first tenth, during the start.
struct Moments(u64);

impl Moments {
    fn next(&mut self, most: Duration) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let most = if self.0 >> 62 == 0 { most / 10 } else { most };
        most.mul_f64((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

fn start(network: &Network, arguments: &[&str]) -> Process {
    let mut command = network.command(LINK, env!("CARGO_BIN_EXE_laxity"));
    command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    Process::new(command.spawn().expect("it starts"))
}

fn kill(process: Process) {
    process.signal(Signal::KILL);
    let killed = process.ended();
    assert_eq!(killed.code, None, "it ended by itself: {killed:?}");
}

/// Fails when a bridge or tunnel killed at some moment of its start or run leaves a program, a socket or a
/// device, or keeps the next one from starting, or features from coming back.
#[test]
fn links_in_user_space_can_be_killed_at_any_moment() {
    let Some(network) = network::network() else { return };
    let folder = Folder::new("kills");
    let path = folder.write("link.toml", family_with("credit = \"1 ms\"\n", ""));
    let file = folder.path("status.json");
    let bridge = |io| {
        vec!["link", "bridge", &path, "--in", "in", "--out", "out", "--io", io, "--status", &file]
    };
    let tun = || vec!["link", "tun", &path, "--name", "tun7", "--out", "out", "--status", &file];
    let before = features(&network);
    let mut moments = Moments(7);
    let began = Instant::now();
    for n in 0..kills() {
        let arguments = match n % 3 {
            0 => bridge("packet"),
            1 => bridge("xdp"),
            _ => tun(),
        };
        let process = start(&network, &arguments);
        std::thread::sleep(moments.next(Duration::from_millis(250)));
        kill(process);
        until("nothing is left", || {
            let shown = network.ip(LINK, "link show").expect("interfaces");
            !shown.contains("xdp") && !shown.contains("PROMISC") && !shown.contains("tun7")
        });
    }
    println!("{} kills in {:?}", kills(), began.elapsed());
    for arguments in [bridge("packet"), tun()] {
        let _ = std::fs::remove_file(&file);
        let process = start(&network, &arguments);
        until("it runs", || {
            std::fs::read_to_string(&file).is_ok_and(|text| text.contains("links"))
        });
        process.signal(Signal::TERM);
        let ended = process.ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    assert_eq!(features(&network), before, "features are as they were");
}

/// Fails when a media server killed at some moment leaves a socket that keeps the next one from starting, or
/// another file.
#[test]
fn a_media_server_can_be_killed_at_any_moment() {
    let folder = Folder::new("kills-media");
    let port = ports::block();
    let _sink = UdpSocket::bind(("127.0.0.1", port)).expect("a socket");
    let scenario = format!(
        "[server]\nrate = \"4 Mbit/s\"\n[[stream]]\nname = \"speech\"\ntolerance = \"1/100\"\n\
         gap = \"1 ms\"\npacket = \"160 B\"\ndestination = \"127.0.0.1:{port}\"\n"
    );
    let path = folder.write("concert.toml", scenario);
    let control = folder.path("control.sock");
    let mut moments = Moments(11);
    let run = || {
        let mut command = command(&["stream", "serve", &path, "--control", &control]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Process::new(command.spawn().expect("it starts"))
    };
    for _ in 0..kills() {
        let process = run();
        std::thread::sleep(moments.next(Duration::from_millis(150)));
        kill(process);
    }
    let process = run();
    until("it answers", || {
        laxity(&["stream", "control", &control, "{\"stats\":{}}"]).code == Some(0)
    });
    process.signal(Signal::TERM);
    let ended = process.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let left = std::fs::read_dir(folder.path("")).expect("the folder").count();
    // The scenario, and sockets that were made and not yet moved into place when their server was killed.
    assert!(left <= 2, "{left} files");
}

/// Fails when a page or a receiver killed at some moment keeps its port from the next one, or stays in the list of
/// running programs.
#[test]
fn a_page_and_a_receiver_can_be_killed_at_any_moment() {
    let address = format!("127.0.0.1:{}", ports::block());
    let mut moments = Moments(13);
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Process::new(command.spawn().expect("it starts"))
    };
    let web = ["web", "--listen", &address, "--interval", "100ms"];
    let receiver = ["stream", "receive", &address];
    for n in 0..kills() {
        let process = run(if n % 2 == 0 { &web } else { &receiver });
        std::thread::sleep(moments.next(Duration::from_millis(150)));
        kill(process);
    }
    let process = run(&web);
    let answers = || {
        let Ok(mut stream) = TcpStream::connect(&address) else { return false };
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a socket");
        let mut answer = String::new();
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let asked = stream.write_all(request.as_bytes());
        asked.and_then(|()| stream.read_to_string(&mut answer)).is_ok()
            && answer.contains("</html>")
    };
    until("it answers", answers);
    process.signal(Signal::TERM);
    let ended = process.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let ended = laxity(&["stream", "receive", &address, "--duration", "10ms"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}
