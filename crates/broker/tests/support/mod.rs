//! A server on a real socket before a scheduler that only keeps the books.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use laxity_broker::share::Rules;
use laxity_broker::{Broker, Limits, Server};
use laxity_cpu::{Reservation, Share};
use laxity_daemon::socket::{Place, listen};
use laxity_kernel::cpu::{
    Attempt, CpuError, Held, Keeper, Policy, Reserved, Table, Wish, check, place,
};

/// Nobody in particular.
pub const SOMEBODY: u32 = 65_534;
pub const ANOTHER: u32 = 65_533;

/// Books as the scheduler keeps them; they outlive servers, as the scheduler does.
#[derive(Clone, Default)]
pub struct Books(Arc<Mutex<Vec<Wish>>>);

impl Books {
    fn living(&self) -> std::sync::MutexGuard<'_, Vec<Wish>> {
        let mut wishes = self.0.lock().expect("books");
        // Reservations die with their tasks.
        wishes.retain(|wish| {
            let status = fs::read_to_string(format!("/proc/{}/status", wish.pid));
            status.is_ok_and(|text| !text.contains("State:\tZ"))
        });
        wishes
    }

    pub fn held(&self) -> Vec<Wish> {
        self.living().clone()
    }

    /// As root would reserve without a server.
    pub fn hold(&self, pid: u32, reservation: Reservation) {
        self.living().push(Wish { pid, reservation, inherit: false, owner: 0 });
    }
}

/// One CPU under `bebs`.
struct Keeps(Books);

impl Keeper for Keeps {
    fn table(&mut self) -> Result<Table, CpuError> {
        let held = self.0.held().into_iter();
        let held = held.map(|w| (Held { cpu: 0, reservation: w.reservation }, w.owner));
        Ok(Table { policy: Policy::named("bebs")?, cpus: 1, held: held.collect() })
    }

    fn allowed(&self, _: u32) -> Result<Vec<u32>, CpuError> {
        Ok(vec![0])
    }

    fn attempt(&mut self, wish: &Wish, _: bool) -> Result<Attempt, CpuError> {
        check(wish.reservation)?;
        let table = self.table()?;
        let held: Vec<Held> = table.held.iter().map(|(held, _)| *held).collect();
        let mut wishes = self.0.living();
        if wishes.iter().any(|w| w.pid == wish.pid) {
            return Err(CpuError::HasOne);
        }
        let cpu = place(&table.policy, &held, wish.reservation, &[0])?;
        wishes.push(*wish);
        Ok(Attempt::Placed { cpu, after: Duration::ZERO })
    }

    fn release(&mut self, pid: u32) -> Result<(), CpuError> {
        let mut wishes = self.0.living();
        let at = wishes.iter().position(|w| w.pid == pid).ok_or(CpuError::HasNone)?;
        wishes.remove(at);
        Ok(())
    }

    fn find(&mut self, pid: u32) -> Result<Option<Reserved>, CpuError> {
        let wishes = self.0.living();
        Ok(wishes.iter().find(|w| w.pid == pid).map(|w| Reserved {
            pid: Some(pid),
            owner: w.owner,
            held: Held { cpu: 0, reservation: w.reservation },
            inherited: w.inherit,
            tasks: 1,
            deadline_misses: 0,
            max_lateness_ns: 0,
        }))
    }
}

/// A folder for a test, which everybody may enter and which is gone afterwards.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("laxity-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("a folder");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
        Folder(path)
    }

    pub fn socket(&self) -> PathBuf {
        self.0.join("cpu.sock")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server that gives a quarter of its CPU to each user; everybody may connect.
pub struct Serving {
    pub broker: Arc<Broker>,
    _server: Server,
    _place: Option<Place>,
}

pub fn serve(folder: &Folder, books: &Books, limits: Limits) -> Serving {
    let (listener, place) = listen(&folder.socket(), 0o666, None).expect("a socket");
    Serving { _place: Some(place), ..serve_at(listener, books, limits) }
}

pub fn serve_at(listener: UnixListener, books: &Books, limits: Limits) -> Serving {
    let rules = Rules::new(Share::per_mille(250));
    let broker = Arc::new(Broker::new(rules, Box::new(Keeps(books.clone()))));
    let server = Server::start(listener, Arc::clone(&broker), limits).expect("a server");
    Serving { broker, _server: server, _place: None }
}

/// Whether this test can become other users; where all must run it has to.
pub fn is_root() -> bool {
    if nix::unistd::geteuid().is_root() {
        return true;
    }
    let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
    assert!(!required, "LAXITY_REQUIRE_ALL=1, and this is not root");
    eprintln!("skipped: only root can ask as somebody else");
    false
}

/// Runs a program as a user that is not root.
pub fn run_as(user: u32, command: &mut Command) -> Output {
    command.uid(user).gid(user).current_dir("/").output().expect("a program")
}
