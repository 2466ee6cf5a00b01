//! Nobody waits for what another one waits for.

mod support;

use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use laxity_broker::share::Rules;
use laxity_broker::{Broker, Peer};
use laxity_cpu::Share;
use laxity_kernel::cpu::{Attempt, CpuError, Keeper, Policy, Reserved, SETTLING, Table, Wish};
use laxity_reserve::protocol::{About, Answer, Request, Reserve};

/// A scheduler under which a task ends while it is given a reservation, whose end then takes its
/// time.
struct Slow {
    task: Mutex<Child>,
    releases: Arc<AtomicU32>,
    answered: Arc<AtomicBool>,
}

impl Keeper for Slow {
    fn table(&mut self) -> Result<Table, CpuError> {
        Ok(Table { policy: Policy::named("bebs")?, cpus: 1, held: Vec::new() })
    }

    fn allowed(&self, _: u32) -> Result<Vec<u32>, CpuError> {
        Ok(vec![0])
    }

    fn attempt(&mut self, _: &Wish, _: bool) -> Result<Attempt, CpuError> {
        let mut task = self.task.lock().expect("a task");
        task.kill().expect("a child");
        task.wait().expect("a child");
        Ok(Attempt::Placed { cpu: 0, after: std::time::Duration::ZERO })
    }

    fn release(&mut self, _: u32) -> Result<(), CpuError> {
        self.releases.fetch_add(1, Ordering::Relaxed);
        if self.answered.load(Ordering::Relaxed) { Ok(()) } else { Err(CpuError::Pending) }
    }

    fn find(&mut self, _: u32) -> Result<Option<Reserved>, CpuError> {
        Ok(None)
    }
}

/// Fails when the scheduler is held while a release is tried again and again: a client that asks
/// meanwhile is answered after the last try.
#[test]
fn others_are_answered_while_a_release_waits() {
    let task = Command::new("sleep").arg("60").spawn().expect("sleep");
    let pid = task.id();
    let (releases, answered) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let slow = Slow {
        task: Mutex::new(task),
        releases: Arc::clone(&releases),
        answered: Arc::clone(&answered),
    };
    let broker = Broker::new(Rules::new(Share::ONE), Box::new(slow));
    let (ours, _theirs) = UnixStream::pair().expect("sockets");
    let peer = Peer::of(&ours).expect("this process");
    std::thread::scope(|scope| {
        let reserve = scope.spawn(|| {
            let asked =
                Reserve { task: Some(pid), runtime_ns: 1000, period_ns: 1_000_000, inherit: false };
            broker.perform(&peer, &Request::Reserve(asked))
        });
        while releases.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        let answer = broker.perform(&peer, &Request::Query(About { task: None }));
        let tries = releases.load(Ordering::Relaxed);
        answered.store(true, Ordering::Relaxed);
        assert!(matches!(answer, Answer::State(_)), "{answer:?}");
        assert!(tries < SETTLING, "after {tries} tries");
        let refused = reserve.join().expect("an answer");
        assert!(matches!(refused, Answer::Refused(_)), "{refused:?}");
    });
}
