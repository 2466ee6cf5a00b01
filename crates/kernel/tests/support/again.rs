//! The policy that is asked again what the kernel decided, also for the deadlines.

use laxity_kernel::cpu::record::{Event, EventKind};
use laxity_kernel::cpu::replay::Replay;

use crate::shown::Shown;

/// The policy that is asked again.
pub struct Again {
    pub policy: Box<dyn Shown>,
    pub replay: Replay,
    /// Weights that tasks got while they were there.
    pub weights: Vec<u32>,
}

impl Again {
    pub fn new(policy: Box<dyn Shown>) -> Again {
        Again { policy, replay: Replay::default(), weights: Vec::new() }
    }

    pub fn apply(&mut self, event: &Event) {
        let picked = self.replay.apply(&mut self.policy, event);
        let picked = picked.unwrap_or_else(|e| panic!("{:?}: {e}", self.replay.decisions));
        match (event.kind, picked) {
            (EventKind::Weighed { weight }, _) => self.weights.push(weight),
            (EventKind::Chosen { deadline, .. }, Some(pick)) => {
                let reference = self.policy.of(pick.task).map(|(_, _, deadline)| deadline);
                assert_eq!(reference, Some(deadline), "{:?}: {event}", self.replay.decisions);
            }
            _ => {}
        }
    }
}
