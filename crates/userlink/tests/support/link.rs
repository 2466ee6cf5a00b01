//! A link between the interfaces of the network, started, waited for and stopped.

use laxity_scenario::link::model::Scenario;
use laxity_trace::LinkType;
use laxity_traffic::Arrival;
use laxity_userlink::bridge::{Attached, Ended, Io, Running, Schedule};
use laxity_userlink::counts::Counts;
use laxity_userlink::lock::Lock;
use laxity_userlink::offload::Offload;
use laxity_userlink::port::Receive;

use super::traffic::{self, Outcome, Receivers};
use super::{LINK, Network, eventually, until};

/// Both directions between `in` and `out`; the other one is not scheduled.
pub struct Link {
    pub forth: Running,
    pub back: Running,
    pub holds: [(Offload, Lock); 2],
    pub scenario: Scenario,
    pub policy: String,
}

impl Link {
    /// Starts it from the calling thread, which it moves into the namespace of the link.
    pub fn start(network: &Network, schedule: Schedule, io: Io) -> Link {
        Link::start_reading(network, schedule, io, |receive| receive)
    }

    /// The same with something between the interface `in` and the thread.
    pub fn start_reading(
        network: &Network,
        schedule: Schedule,
        io: Io,
        between: impl FnOnce(Box<dyn Receive>) -> Box<dyn Receive>,
    ) -> Link {
        network.enter(LINK);
        // Packets that change processors may change places.
        super::own_processor(1);
        let attach = |device| eventually(|| Attached::to(device, io));
        let (input, output) = (attach("in"), attach("out"));
        let start = |name, schedule: &Schedule, receive, transmit| {
            Running::start(name, schedule, LinkType::ETHERNET, receive, transmit)
                .expect("it starts")
        };
        let forth = start("forth", &schedule, between(input.receive), output.transmit);
        let back = start("back", &Schedule::unscheduled(), output.receive, input.transmit);
        let (scenario, policy) = (schedule.scenario, schedule.policy);
        Link { forth, back, holds: [input.hold, output.hold], scenario, policy }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.forth.report().expect("it runs").counts
    }

    /// Waits until each frame that came is sent or dropped for a reason; none is stuck.
    pub fn drains(&self, what: &str) {
        until(&format!("{what}: no frame waits"), || {
            self.counts().classes.iter().all(|class| class.waiting() == 0)
        });
    }

    /// Sends arrivals, and waits until all of them have come to their end.
    pub fn pass(&self, network: &Network, arrivals: Vec<Arrival>) -> Outcome {
        let flows = self.scenario.flow_count();
        self.pass_of(network, || traffic::send(network, arrivals, flows).join().expect("it sends"))
    }

    /// The same for whatever sends and says how many packets of each flow.
    pub fn pass_of(&self, network: &Network, send: impl FnOnce() -> Vec<u64>) -> Outcome {
        let flows = self.scenario.flow_count();
        let before = self.counts();
        let receivers = Receivers::start(network, flows);
        let lost = receivers.lost;
        let sent = send();
        let total: u64 = sent.iter().sum();
        let arrived = |counts: &Counts| -> u64 {
            let came = (0..flows).map(|f| counts.classes[f].packets - before.classes[f].packets);
            let came = came.zip(&sent).map(|(came, sent)| came.min(*sent));
            came.sum::<u64>() + counts.overflow - before.overflow
        };
        until("all that was sent is read or lost before", || {
            arrived(&self.counts()) + network.lost() - lost >= total
        });
        self.drains("pass");
        let counts = self.counts();
        let went = (0..flows).map(|f| counts.classes[f].sent() - before.classes[f].sent());
        let went: Vec<u64> = went.collect();
        receivers.wait(network, &went);
        let received = receivers.finish();
        Outcome { sent, received, lost: network.lost() - lost }
    }

    /// Stops it; the interfaces are as they were.
    pub fn stop(self) -> Ended {
        self.back.stop().expect("it stops");
        let ended = self.forth.stop().expect("it stops");
        if let Some(error) = &ended.error {
            panic!("the link ended: {error}");
        }
        ended
    }
}
