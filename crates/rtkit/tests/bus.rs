//! The service on a private bus, with the real server of reservations and a fake scheduler.

#[path = "../../broker/tests/support/mod.rs"]
mod broker;
mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use laxity_broker::ConnectionLimits;
use laxity_cpu::Reservation;
use laxity_reserve::current_tid;
use laxity_rtkit::{Config, Limits};

use broker::{FakeScheduler, Folder, USER, is_root, run_as, serve};
use support::{Bus, DENIED, FAILED, TestService, call, client};

/// Reservations of a scheduler, as thread, runtime and period in us, and user.
fn reserved(scheduler: &FakeScheduler) -> Vec<(u32, u64, u64, u32)> {
    let all = scheduler.reservations();
    let us = |time: laxity_core::Span| time.0 / 1000;
    all.iter()
        .map(|r| (r.pid, us(r.reservation.budget), us(r.reservation.period), r.owner))
        .collect()
}

/// A thread that sleeps until this is dropped.
struct Sleeper {
    tid: u32,
    _stop: mpsc::Sender<()>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Sleeper {
    fn start() -> Sleeper {
        let (tids, tid) = mpsc::channel();
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            tids.send(current_tid()).expect("a receiver");
            let _ = stopped.recv();
        });
        Sleeper { tid: tid.recv().expect("an id"), _stop: stop, thread: Some(thread) }
    }

    /// Returns when the kernel has no such thread any more, which may be after it is joined.
    fn end(mut self) {
        let (tid, thread) = (self.tid, self.thread.take());
        drop(self);
        thread.expect("a thread").join().expect("its end");
        let entry = format!("/proc/self/task/{tid}");
        let mut tries = 0..6000;
        while Path::new(&entry).exists() {
            assert!(tries.next().is_some(), "thread {tid} was joined and is still there");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The process that tests run as another user: makes the calls of its variable, a line each.
#[test]
fn client_process() {
    let Ok(calls) = std::env::var("LAXITY_TEST_CALLS") else { return };
    let proxy = client(&std::env::var("DBUS_SYSTEM_BUS_ADDRESS").expect("a bus"));
    for line in calls.split(';') {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |i: usize| match words[i] {
            "own" => current_tid().into(),
            "process" => std::process::id().into(),
            word => word.parse::<u64>().expect("a number"),
        };
        let result = match words[0] {
            "realtime" => call(&proxy, "MakeThreadRealtime", &(number(1), number(2) as u32)),
            "for" => {
                let body = (number(1), number(2), number(3) as u32);
                call(&proxy, "MakeThreadRealtimeWithPID", &body)
            }
            "nice" => call(&proxy, "MakeThreadHighPriority", &(number(1), -(number(2) as i32))),
            "reset" => call(&proxy, "ResetKnown", &()),
            "reset-all" => call(&proxy, "ResetAll", &()),
            "exit" => call(&proxy, "Exit", &()),
            "flood" => {
                (0..number(1)).try_for_each(|_| call(&proxy, "MakeThreadRealtime", &(0_u64, 1_u32)))
            }
            other => panic!("{other}"),
        };
        println!(
            "{line}: {}",
            result.map_or_else(|(name, text)| format!("{name} {text}"), |()| "ok".into())
        );
    }
}

fn run_client(user: u32, folder: &Folder, bus: &Bus, calls: &str) -> String {
    let program = folder.0.join("program");
    if !program.exists() {
        std::fs::copy(std::env::current_exe().expect("a path"), &program).expect("a copy");
    }
    let mut command = Command::new(program);
    command.args(["client_process", "--exact", "--nocapture"]).env("LAXITY_TEST_CALLS", calls);
    let output = run_as(user, command.env("DBUS_SYSTEM_BUS_ADDRESS", &bus.address));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[track_caller]
fn has_line(text: &str, call: &str, result: &str) {
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{call}: ")));
    let line = line.unwrap_or_else(|| panic!("no `{call}` in {text}"));
    assert!(line.starts_with(result), "`{call}` gave `{line}`, not `{result}`");
}

/// A thread gets a reservation by its priority, and loses it with its end; the properties are RealtimeKit's.
///
/// Fails when a method or property has another name or type, when the priority has no effect, when the thread
/// id is not the one that is reserved for, when a second request is refused, or leaves the first reservation,
/// and when a second service takes the name (tried with the flags of zbus).
#[test]
fn threads_get_reservations() {
    let Some(bus) = Bus::start("threads") else { return };
    let (folder, scheduler) = (Folder::new("rtkit-threads"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let _service = TestService::start(&bus, &folder.socket(), Config::default());
    assert!(TestService::second_is_refused(&bus), "the name changed hands");
    let proxy = client(&bus.address);
    assert_eq!(proxy.get_property::<i64>("RTTimeUSecMax").expect("a property"), 200_000);
    assert_eq!(proxy.get_property::<i32>("MaxRealtimePriority").expect("a property"), 20);
    assert_eq!(proxy.get_property::<i32>("MinNiceLevel").expect("a property"), -15);

    let (own, user) = (std::process::id(), nix::unistd::getuid().as_raw());
    let sleeper = Sleeper::start();
    let realtime =
        |tid: u32, priority: u32| call(&proxy, "MakeThreadRealtime", &(u64::from(tid), priority));
    realtime(sleeper.tid, 20).expect("granted");
    assert_eq!(reserved(&scheduler), [(sleeper.tid, 500, 5000, user)]);
    realtime(sleeper.tid, 20).expect("it has one");
    realtime(sleeper.tid, 1).expect("another priority");
    assert_eq!(reserved(&scheduler), [(sleeper.tid, 1000, 10_000, user)]);
    call(&proxy, "MakeThreadRealtimeWithPID", &(u64::from(own), u64::from(sleeper.tid), 20_u32))
        .expect("its own process");
    assert_eq!(reserved(&scheduler), [(sleeper.tid, 500, 5000, user)]);
    let tid = sleeper.tid;
    sleeper.end();
    assert_eq!(reserved(&scheduler), []);
    assert_eq!(realtime(tid, 1).expect_err("ended").0, FAILED);

    // One that reserved for itself keeps its own.
    let sleeper = Sleeper::start();
    let own = Reservation::new(laxity_core::Span(2_000_000), laxity_core::Span(20_000_000));
    scheduler.reserve_as_root(sleeper.tid, own);
    realtime(sleeper.tid, 20).expect("it has one");
    assert_eq!(reserved(&scheduler), [(sleeper.tid, 2000, 20_000, 0)]);
    sleeper.end();
}

/// What RealtimeKit refuses is refused by the same error, and leaves nothing.
///
/// Fails when a thread of another process or user is taken, or a priority out of range; when an error has another
/// name.
#[test]
fn wrong_requests_are_refused() {
    let Some(bus) = Bus::start("wrong") else { return };
    let (folder, scheduler) = (Folder::new("rtkit-wrong"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let limits = Limits { threads_per_user: 1, requests_per_burst: 100, ..Limits::default() };
    let config = Config { limits, ..Config::default() };
    let _service = TestService::start(&bus, &folder.socket(), config);
    let proxy = client(&bus.address);
    let mut cat = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
    let sleeper = Sleeper::start();
    let tid = u64::from(sleeper.tid);
    let realtime = |tid: u64, priority: u32| call(&proxy, "MakeThreadRealtime", &(tid, priority));
    for (thread, priority, error) in [
        (tid, 0, FAILED),
        (tid, 100, FAILED),
        (tid, u32::MAX, FAILED),
        (tid, 21, DENIED),
        // Of another process.
        (cat.id().into(), 5, FAILED),
        (1 << 40, 5, FAILED),
        (u64::MAX, 5, FAILED),
    ] {
        let (name, text) = realtime(thread, priority).expect_err("refused");
        assert_eq!(name, error, "{thread} {priority}: {text}");
    }
    let for_process = |process: u64, thread: u64| {
        call(&proxy, "MakeThreadRealtimeWithPID", &(process, thread, 5_u32))
    };
    assert_eq!(for_process(cat.id().into(), tid).expect_err("not its thread").0, FAILED);
    assert_eq!(for_process(1 << 40, 0).expect_err("no process").0, FAILED);
    assert_eq!(reserved(&scheduler), []);
    let nice = |priority: i32| call(&proxy, "MakeThreadHighPriority", &(tid, priority));
    assert_eq!(nice(-16).expect_err("too low").0, DENIED);
    assert_eq!(nice(20).expect_err("no value").0, FAILED);
    for_process(cat.id().into(), 0).expect("the first thread of a process of this user");
    assert_eq!(reserved(&scheduler)[0].0, cat.id());
    let (name, text) = realtime(tid, 5).expect_err("one too many");
    assert_eq!((name.as_str(), text.contains("too many real-time threads")), (DENIED, true));
    drop(cat.stdin.take());
    cat.wait().expect("its end");
    assert_eq!(for_process(cat.id().into(), 0).expect_err("ended").0, FAILED);
    realtime(tid, 5).expect("the other has ended");
    sleeper.end();
}

/// Users have their share through the bus as without it, and their own threads only; a flood ends with an error.
///
/// Fails when a reservation counts for root (tried without `for_user`), when the user is not taken from the
/// connection (tried with 0), and when requests are not counted.
#[test]
fn users_are_told_apart() {
    if !is_root() {
        return;
    }
    let Some(bus) = Bus::start("users") else { return };
    let (folder, scheduler) = (Folder::new("rtkit-users"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let config = Config { start_percent: 20, ..Config::default() };
    let _service = TestService::start(&bus, &folder.socket(), config);
    let foreign = std::process::id();
    let calls = format!("for {foreign} 0 5;realtime {foreign} 5;for {foreign} {foreign} 5");
    let text = run_client(USER, &folder, &bus, &calls);
    has_line(&text, &format!("for {foreign} 0 5"), DENIED);
    has_line(&text, &format!("realtime {foreign} 5"), FAILED);
    has_line(&text, &format!("for {foreign} {foreign} 5"), DENIED);
    // 25 % of one CPU: one thread of 20 %, not two.
    let text = run_client(USER, &folder, &bus, "realtime own 20;realtime process 20;nice own 5");
    has_line(&text, "realtime own 20", "ok");
    has_line(&text, "realtime process 20", &format!("{DENIED} 1 ms in every 5 ms needs 20.000 %"));
    has_line(&text, "nice own 5", "ok");
    assert_eq!(reserved(&scheduler), []);
    let text = run_client(USER, &folder, &bus, "flood 30");
    has_line(&text, "flood 30", &format!("{DENIED} your user has made too many requests"));
    // The bus knows users by name only; every machine has this one.
    let text = run_client(1, &folder, &bus, "realtime own 20");
    has_line(&text, "realtime own 20", "ok");
}

/// Without a server of reservations requests fail, with one they succeed again, and a reservation that its
/// scheduler lost is made again; a thread that uses more than its runtime gets more.
///
/// Fails when the service keeps a connection to a server that has ended, when a lost reservation stays lost
/// (tried without the query), when demand has no effect (tried without `resize`), and when a refused thread counts
/// (tried without `remove`).
#[test]
fn reservations_follow_server_and_demand() {
    let Some(bus) = Bus::start("follow") else { return };
    let (folder, scheduler) = (Folder::new("rtkit-follow"), FakeScheduler::default());
    let limits = Limits { threads_per_user: 1, ..Limits::default() };
    let config = Config { limits, ..Config::default() };
    let service = TestService::start(&bus, &folder.socket(), config);
    let proxy = client(&bus.address);
    let (tids, tid) = mpsc::channel();
    let (stop, stopped) = mpsc::channel::<()>();
    // Half of the time, in jobs of 2 ms.
    let worker = std::thread::spawn(move || {
        tids.send(current_tid()).expect("a receiver");
        while stopped.recv_timeout(Duration::from_millis(2)) == Err(mpsc::RecvTimeoutError::Timeout)
        {
            support::compute(Duration::from_millis(2));
        }
    });
    let tid = tid.recv().expect("an id");
    let realtime = |tid| call(&proxy, "MakeThreadRealtime", &(u64::from(tid), 20_u32));
    let (name, text) = realtime(current_tid()).expect_err("no server");
    assert_eq!((name.as_str(), text.contains("laxity cpu serve")), (FAILED, true), "{text}");

    let server = serve(&folder, &scheduler, ConnectionLimits::default());
    realtime(tid).expect("a server");
    drop(server);
    let seconds = Duration::from_secs;
    service.supervisor.refine(seconds(5), true);
    assert_eq!(reserved(&scheduler).len(), 1);
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    scheduler.lose_all();
    service.supervisor.refine(seconds(10), true);
    assert_eq!(reserved(&scheduler)[0].1, 500, "made again");
    // On a busy machine it takes more.
    let mut runtime = 0;
    for second in 11..100 {
        std::thread::sleep(Duration::from_millis(200));
        service.supervisor.refine(seconds(second), false);
        runtime = reserved(&scheduler)[0].1;
        if runtime >= 1000 {
            break;
        }
    }
    assert!(runtime >= 1000, "{runtime} us");
    drop(stop);
    worker.join().expect("its end");
}

/// A thread of high priority counts to the limits also after a request for real-time priority was refused. One that has
/// another reservation than the service made keeps that, however much it computes.
///
/// Fails when each refused request removes its thread (tried without `is_new`), and when another reservation is taken
/// for the service's (tried without the comparison of times).
#[test]
fn limits_and_reservations_of_threads_stay() {
    let Some(bus) = Bus::start("stay") else { return };
    let (folder, scheduler) = (Folder::new("rtkit-stay"), FakeScheduler::default());
    let limits = Limits { threads_per_user: 1, requests_per_burst: 100, ..Limits::default() };
    let config = Config { limits, ..Config::default() };
    let service = TestService::start(&bus, &folder.socket(), config);
    let proxy = client(&bus.address);
    let (sleeper, other) = (Sleeper::start(), Sleeper::start());
    let request =
        |method: &str, tid: u32, value: i32| call(&proxy, method, &(u64::from(tid), value));
    let realtime = |tid: u32| call(&proxy, "MakeThreadRealtime", &(u64::from(tid), 20_u32));
    request("MakeThreadHighPriority", sleeper.tid, 5).expect("a nice value");
    assert_eq!(realtime(sleeper.tid).expect_err("no server").0, FAILED);
    let (name, text) = request("MakeThreadHighPriority", other.tid, 5).expect_err("one too many");
    assert_eq!((name.as_str(), text.contains("too many real-time threads")), (DENIED, true));

    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    realtime(sleeper.tid).expect("a server");
    scheduler.lose_all();
    let ms = laxity_core::Span::from_millis;
    scheduler.reserve_as_root(sleeper.tid, Reservation::new(ms(2), ms(20)));
    for seconds in [5, 10, 15] {
        service.supervisor.refine(Duration::from_secs(seconds), true);
        assert_eq!(reserved(&scheduler), [(sleeper.tid, 2000, 20_000, 0)]);
    }
    // It has ended, and is not made again.
    scheduler.lose_all();
    service.supervisor.refine(Duration::from_secs(20), true);
    assert_eq!(reserved(&scheduler), []);
    sleeper.end();
    other.end();
}

/// Root ends all reservations and nice values that the service has given, real-time policies of users' threads, and the
/// service, by RealtimeKit's methods. Others may not.
///
/// Fails when users may (tried without the policy of the bus and the service's own), when a reservation stays (tried
/// without `release`) or a nice value, when a thread of a real-time policy keeps it or root's loses it (tried without
/// the user), when a thread that was reset counts to the limits (tried without `remove`), and when the caller of `Exit` has no
/// answer (tried without `reply`).
#[test]
fn root_resets_and_ends() {
    if !is_root() {
        return;
    }
    let Some(bus) = Bus::start("reset") else { return };
    let (folder, scheduler) = (Folder::new("rtkit-reset"), FakeScheduler::default());
    let _server = serve(&folder, &scheduler, ConnectionLimits::default());
    let limits = Limits { threads_per_user: 1, ..Limits::default() };
    let config = Config { limits, ..Config::default() };
    let service = TestService::start(&bus, &folder.socket(), config);
    let text = run_client(USER, &folder, &bus, "reset;reset-all;exit");
    for method in ["reset", "reset-all", "exit"] {
        has_line(&text, method, DENIED);
    }
    let proxy = client(&bus.address);
    let mut users = Command::new("sleep");
    let mut users =
        std::os::unix::process::CommandExt::uid(users.arg("60"), USER).spawn().expect("sleep");
    let sleeper = Sleeper::start();
    // Field 3 is the first one after the name.
    let stat = |tid: u32, field: usize| {
        let stat = std::fs::read_to_string(format!("/proc/{tid}/stat")).expect("a thread");
        let field = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(field - 3));
        field.map(str::to_owned).expect("its fields")
    };
    let nice = |tid| stat(tid, 19);
    let other = Sleeper::start();
    for (method, thread) in [("ResetKnown", sleeper.tid), ("ResetAll", other.tid)] {
        let tid = u64::from(thread);
        call(&proxy, "MakeThreadRealtime", &(tid, 20_u32)).expect("granted");
        call(&proxy, "MakeThreadHighPriority", &(tid, -5)).expect("granted");
        assert_eq!((reserved(&scheduler).len(), &*nice(thread)), (1, "-5"));
        call(&proxy, method, &()).expect("root");
        assert_eq!((reserved(&scheduler).len(), &*nice(thread)), (0, "0"));
    }
    other.end();
    let fifo = |pid: u32| {
        let chrt = Command::new("chrt").args(["-f", "-p", "1", &pid.to_string()]).status();
        chrt.is_ok_and(|status| status.success())
    };
    // A container may forbid the policy.
    let own = std::process::id();
    if fifo(users.id()) && fifo(own) {
        call(&proxy, "ResetAll", &()).expect("root");
        let policy = |pid| stat(pid, 41);
        assert_eq!((&*policy(users.id()), &*policy(own)), ("0", "1"));
        let back = Command::new("chrt").args(["-o", "-p", "0", &own.to_string()]).status();
        assert!(back.is_ok_and(|status| status.success()));
    }
    users.kill().expect("its end");
    users.wait().expect("its end");
    call(&proxy, "MakeThreadRealtime", &(u64::from(sleeper.tid), 20_u32)).expect("granted");
    call(&proxy, "Exit", &()).expect("root");
    assert!(service.supervisor.exits());
    assert_eq!(reserved(&scheduler).len(), 1, "it goes with its thread");
    // The bus has the name for another one.
    drop(service);
    let _next = TestService::start(&bus, &folder.socket(), Config::default());
    sleeper.end();
}
