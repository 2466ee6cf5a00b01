//! A server on a real socket, with a fake scheduler that only stores reservations.
#![allow(dead_code)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use laxity_broker::share::UserLimits;
use laxity_broker::{Broker, ConnectionLimits, Server};
use laxity_core::Span;
use laxity_cpu::{Reservation, Share};
use laxity_daemon::socket::{SocketFile, listen};
use laxity_kernel::cpu::{
    CpuError, PlacedReservation, Policy, ReservationBackend, ReservationRequest, ReservationStatus,
    ReservationTable, ReserveOutcome, check, place,
};

/// Two users other than root.
pub const USER: u32 = 65_534;
pub const OTHER_USER: u32 = 65_533;

/// The reservations of the fake scheduler, which outlive a server, and whether it is down.
#[derive(Clone, Default)]
pub struct FakeScheduler {
    reservations: Arc<Mutex<Vec<ReservationRequest>>>,
    down: Arc<AtomicBool>,
    /// What another server grants while this one decides.
    beside: Arc<Mutex<Option<ReservationRequest>>>,
}

impl FakeScheduler {
    fn live(&self) -> std::sync::MutexGuard<'_, Vec<ReservationRequest>> {
        let mut reservations = self.reservations.lock().expect("reservations");
        // A reservation ends with its task.
        reservations.retain(|reservation| {
            let status = fs::read_to_string(format!("/proc/{}/status", reservation.pid));
            status.is_ok_and(|text| !text.contains("State:\tZ"))
        });
        reservations
    }

    pub fn reservations(&self) -> Vec<ReservationRequest> {
        self.live().clone()
    }

    /// Loses all reservations, as a scheduler does that is started again.
    pub fn lose_all(&self) {
        self.live().clear();
    }

    /// Takes the scheduler down, or up again.
    pub fn set_down(&self, down: bool) {
        self.down.store(down, Ordering::Relaxed);
    }

    /// Tasks of a user share a reservation, which they inherited.
    pub fn share(&self, pids: &[u32], reservation: Reservation, owner: u32) {
        let of = |&pid: &u32| ReservationRequest { pid, reservation, inherit: true, owner };
        self.live().extend(pids.iter().map(of));
    }

    /// Lets another server grant this to the owner during the next grant of this one.
    pub fn grant_beside(&self, pid: u32, reservation: Reservation, owner: u32) {
        let request = ReservationRequest { pid, reservation, inherit: false, owner };
        *self.beside.lock().expect("a request") = Some(request);
    }

    /// Reserves as root does without a server.
    pub fn reserve_as_root(&self, pid: u32, reservation: Reservation) {
        self.live().push(ReservationRequest { pid, reservation, inherit: false, owner: 0 });
    }
}

fn place_on_first(reservation: Reservation) -> PlacedReservation {
    PlacedReservation { cpu: 0, reservation, overhead: Span::ZERO }
}

/// One CPU under `bebs`.
struct FakeBackend(FakeScheduler);

impl ReservationBackend for FakeBackend {
    fn reservations(&mut self) -> Result<ReservationTable, CpuError> {
        if self.0.down.load(Ordering::Relaxed) {
            return Err(CpuError::NotRunning);
        }
        let placed = self.0.reservations().into_iter();
        let placed = placed.map(|r| (place_on_first(r.reservation), r.owner)).collect();
        Ok(ReservationTable { policy: Policy::named("bebs")?, cpus: 1, placed })
    }

    fn allowed_cpus(&self, _: u32) -> Result<Vec<u32>, CpuError> {
        Ok(vec![0])
    }

    fn try_reserve(
        &mut self,
        request: &ReservationRequest,
        _: bool,
    ) -> Result<ReserveOutcome, CpuError> {
        check(request.reservation)?;
        let table = self.reservations()?;
        let placed: Vec<PlacedReservation> =
            table.placed.iter().map(|(placed, _)| *placed).collect();
        let mut reservations = self.0.live();
        reservations.extend(self.0.beside.lock().expect("a request").take());
        if reservations.iter().any(|r| r.pid == request.pid) {
            return Err(CpuError::AlreadyReserved);
        }
        let cpu = place(&table.policy, &placed, request.reservation, &[0])?;
        reservations.push(*request);
        Ok(ReserveOutcome::Placed { cpu, in_force_after: Duration::ZERO })
    }

    fn release(&mut self, pid: u32) -> Result<(), CpuError> {
        let mut reservations = self.0.live();
        let index = reservations.iter().position(|r| r.pid == pid);
        reservations.remove(index.ok_or(CpuError::NotReserved)?);
        Ok(())
    }

    fn find(&mut self, pid: u32) -> Result<Option<ReservationStatus>, CpuError> {
        let reservations = self.0.live();
        Ok(reservations.iter().find(|r| r.pid == pid).map(|r| ReservationStatus {
            pid: Some(pid),
            owner: r.owner,
            placed: place_on_first(r.reservation),
            inherited: r.inherit,
            tasks: reservations.iter().filter(|other| r.inherit && other.inherit).count().max(1)
                as u64,
            deadline_misses: 0,
            max_lateness_ns: 0,
        }))
    }
}

/// A temporary folder that all users may enter, removed on drop.
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

/// A server that grants each user a quarter of its CPU; all users may connect.
pub struct TestServer {
    pub broker: Arc<Broker>,
    _server: Server,
    _file: Option<SocketFile>,
}

pub fn serve(folder: &Folder, scheduler: &FakeScheduler, limits: ConnectionLimits) -> TestServer {
    let (listener, file) = listen(&folder.socket(), 0o666, None).expect("a socket");
    TestServer { _file: Some(file), ..serve_on(listener, scheduler, limits) }
}

pub fn serve_on(
    listener: UnixListener,
    scheduler: &FakeScheduler,
    limits: ConnectionLimits,
) -> TestServer {
    let share = UserLimits::new(Share::per_mille(250));
    let broker = Arc::new(Broker::new(share, Box::new(FakeBackend(scheduler.clone()))));
    let server = Server::start(listener, Arc::clone(&broker), limits).expect("a server");
    TestServer { broker, _server: server, _file: None }
}

/// Whether this test can run programs as other users; with LAXITY_REQUIRE_ALL=1 it must.
pub fn is_root() -> bool {
    if nix::unistd::geteuid().is_root() {
        return true;
    }
    let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
    assert!(!required, "LAXITY_REQUIRE_ALL=1, and this is not root");
    eprintln!("skipped: only root can run programs as other users");
    false
}

/// Runs a program as another user.
pub fn run_as(user: u32, command: &mut Command) -> Output {
    command.uid(user).gid(user).current_dir("/").output().expect("a program")
}
