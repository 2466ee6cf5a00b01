//! A request that retries does not block the requests of other peers.

mod support;

use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use laxity_broker::share::UserLimits;
use laxity_broker::{Broker, Peer};
use laxity_cpu::Share;
use laxity_kernel::cpu::{
    CpuError, MAX_ATTEMPTS, Policy, ReservationBackend, ReservationRequest, ReservationStatus,
    ReservationTable, ReserveOutcome,
};
use laxity_reserve::protocol::{Answer, Request, Reserve, Target};

/// A scheduler under which a task ends while it is being reserved, and whose release is pending until the
/// query is answered.
struct SlowRelease {
    task: Mutex<Child>,
    releases: Arc<AtomicU32>,
    answered: Arc<AtomicBool>,
}

impl ReservationBackend for SlowRelease {
    fn reservations(&mut self) -> Result<ReservationTable, CpuError> {
        Ok(ReservationTable { policy: Policy::named("bebs")?, cpus: 1, placed: Vec::new() })
    }

    fn allowed_cpus(&self, _: u32) -> Result<Vec<u32>, CpuError> {
        Ok(vec![0])
    }

    fn try_reserve(&mut self, _: &ReservationRequest, _: bool) -> Result<ReserveOutcome, CpuError> {
        let mut task = self.task.lock().expect("a task");
        task.kill().expect("a child");
        task.wait().expect("a child");
        Ok(ReserveOutcome::Placed { cpu: 0, in_force_after: std::time::Duration::ZERO })
    }

    fn release(&mut self, _: u32) -> Result<(), CpuError> {
        self.releases.fetch_add(1, Ordering::Relaxed);
        if self.answered.load(Ordering::Relaxed) { Ok(()) } else { Err(CpuError::Pending) }
    }

    fn find(&mut self, _: u32) -> Result<Option<ReservationStatus>, CpuError> {
        Ok(None)
    }
}

/// Fails when the broker holds its lock while it retries a release: a query is then answered after the last
/// attempt.
#[test]
fn queries_are_answered_while_a_release_retries() {
    let task = Command::new("sleep").arg("60").spawn().expect("sleep");
    let pid = task.id();
    let (releases, answered) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let backend = SlowRelease {
        task: Mutex::new(task),
        releases: Arc::clone(&releases),
        answered: Arc::clone(&answered),
    };
    let broker = Broker::new(UserLimits::new(Share::ONE), Box::new(backend));
    let (ours, _theirs) = UnixStream::pair().expect("sockets");
    let peer = Peer::from_stream(&ours).expect("this process");
    std::thread::scope(|scope| {
        let reserve = scope.spawn(|| {
            let request = Reserve {
                task: Some(pid),
                runtime_ns: 1000,
                period_ns: 1_000_000,
                inherit: false,
                user: None,
            };
            broker.handle(&peer, &Request::Reserve(request))
        });
        while releases.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let answer = broker.handle(&peer, &Request::Query(Target { task: None }));
        let attempts = releases.load(Ordering::Relaxed);
        answered.store(true, Ordering::Relaxed);
        assert!(matches!(answer, Answer::State(_)), "{answer:?}");
        assert!(attempts < MAX_ATTEMPTS, "after {attempts} attempts");
        let refused = reserve.join().expect("an answer");
        assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");
    });
}
