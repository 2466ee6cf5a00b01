//! `laxity link set --rate`: another rate of a link under the scenario that it runs.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use laxity_analysis::link::{RateChange, RatePlanner, Shedding};
use laxity_core::{Rate, Span, Time};
use laxity_kernel::{Plan, PlanError};
use laxity_report::number;
use laxity_scenario::link::model::Scenario;
use laxity_scenario::quantity;

use super::args::SetArgs;
use super::{backend, duration};
use crate::failure::Failure;
use crate::{interrupt, warning};

/// Period of checks whether to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A link in the kernel, as far as its rate is concerned.
#[cfg_attr(not(feature = "kernel"), allow(dead_code))]
#[derive(Clone, Debug)]
pub struct Running {
    /// The file of its scenario.
    pub scenario: String,
    pub policy: String,
    /// In bit/s.
    pub rate: u64,
    /// Places of flows without a reservation.
    pub shed: Vec<usize>,
}

/// A link whose rate follows a planner.
pub struct RatedLink {
    device: String,
    running: Running,
    scenario: Scenario,
    planner: RatePlanner,
    began: Instant,
    timeout: Duration,
}

impl RatedLink {
    /// The link of an interface.
    pub fn new(device: &str, timeout: Duration) -> Result<RatedLink, Failure> {
        let running = backend::running(device)?;
        let scenario = Scenario::parse(&running.scenario, "").map_err(|_| {
            Failure::Lacking(format!(
                "the link on {device} was brought up by another version of laxity"
            ))
        })?;
        let rate = Rate(running.rate);
        let (policy, shed) = (&running.policy, &running.shed);
        let planner = RatePlanner::new(&scenario, policy, rate, shed, Time::ZERO);
        let planner = planner.map_err(Failure::input)?;
        let (device, began) = (device.to_owned(), Instant::now());
        Ok(RatedLink { device, running, scenario, planner, began, timeout })
    }

    fn now(&self) -> Time {
        Time(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// The planner, to hand it rates.
    pub fn planner(&mut self) -> &mut RatePlanner {
        &mut self.planner
    }

    /// Rate of the scenario.
    pub fn scenario_rate(&self) -> Rate {
        self.scenario.link.rate
    }

    /// Returns to the scenario's rate, with all flows, without waiting.
    pub fn return_to_scenario(&self) -> Result<(), Failure> {
        let restored = self.planner.flows().shed.clone();
        let kept = (0..self.scenario.realtime.len()).collect();
        let flows = Shedding { kept, shed: Vec::new() };
        let rate = self.scenario_rate();
        if rate == self.planner.rate() && restored.is_empty() {
            return Ok(());
        }
        self.apply(&RateChange { rate, flows, shed: Vec::new(), restored })
    }

    /// Time until [`RatedLink::follow`] may have something to do without another rate.
    pub fn next_timeout(&self) -> Option<Span> {
        self.planner.next_timeout().map(|at| at.since(self.now()))
    }

    /// Brings into effect what is due. Returns whether anything changed.
    pub fn follow(&mut self) -> Result<bool, Failure> {
        let Some(change) = self.planner.poll(self.now()).map_err(Failure::input)? else {
            return Ok(false);
        };
        self.apply(&change)?;
        Ok(true)
    }

    /// The plan of a change.
    fn plan(&self, change: &RateChange) -> Result<Plan, Failure> {
        let RateChange { rate, flows, .. } = change;
        let plan = Plan::at_rate(&self.scenario, &self.running.policy, *rate, &flows.shed);
        plan.map_err(|error| {
            let text = format!("{} at {}: {error}", self.device, number::rate(rate.0));
            match error {
                PlanError::NotAdmitted(_) => Failure::Refused(text),
                _ => Failure::Input(text),
            }
        })
    }

    fn apply(&self, change: &RateChange) -> Result<(), Failure> {
        let (device, plan) = (&self.device, self.plan(change)?);
        let later =
            backend::set_rate(&plan, change.rate, &self.running.scenario, device, self.timeout)?;
        let when = match later {
            true => ", whose plan takes over when no real-time packet waits",
            false => "",
        };
        self.sentences(change, when).iter().for_each(warning::say);
        Ok(())
    }

    /// A change for people.
    fn sentences(&self, change: &RateChange, when: &str) -> Vec<String> {
        let RateChange { rate, flows, shed, restored } = change;
        let mut sentences = vec![format!(
            "{} runs at {}{when}: {} of {} real-time flows admitted",
            self.device,
            number::rate(rate.0),
            flows.kept.len(),
            self.scenario.realtime.len()
        )];
        sentences.extend(shed.iter().map(|flow| {
            let flow = &self.scenario.realtime[*flow];
            format!(
                "{} loses its reservation (importance {}) and is best effort",
                flow.name, flow.importance
            )
        }));
        let back = |flow: &usize| {
            format!("{} has its reservation back", self.scenario.realtime[*flow].name)
        };
        sentences.extend(restored.iter().map(back));
        sentences
    }

    /// That a rate changes nothing.
    fn stays(&self) -> String {
        let rate = number::rate(self.planner.rate().0);
        format!("{} stays at {rate}: changes below 1 % are ignored", self.device)
    }
}

/// Whether another rate of a link would change it, and what it would then say; changes nothing.
pub fn preview(device: &str, rate: Rate) -> Result<(bool, String), Failure> {
    let mut link = RatedLink::new(device, Duration::ZERO)?;
    link.planner().handle_rate(rate);
    let Some(change) = link.planner.poll(Time::ZERO).map_err(Failure::input)? else {
        return Ok((false, link.stays()));
    };
    match link.plan(&change) {
        Ok(_) => Ok((true, link.sentences(&change, "").join("\n"))),
        Err(Failure::Refused(text)) => Ok((false, text)),
        Err(failure) => Err(failure),
    }
}

/// Gives a link another rate; flows that fit again are restored after ten seconds, for which it waits. What
/// happened, for people.
pub fn change(device: &str, rate: Rate, timeout: Duration) -> Result<String, Failure> {
    let mut link = RatedLink::new(device, timeout)?;
    link.planner().handle_rate(rate);
    if !link.follow()? {
        return Ok(link.stays());
    }
    restore(std::slice::from_mut(&mut link))?;
    let flows = link.planner.flows();
    let (kept, all) = (flows.kept.len(), link.scenario.realtime.len());
    let rate = number::rate(link.planner.rate().0);
    Ok(format!("{device} runs at {rate}: {kept} of {all} real-time flows admitted"))
}

/// Waits for flows that fit again, until they are restored or the command is stopped.
fn restore(links: &mut [RatedLink]) -> Result<(), Failure> {
    let interrupted = interrupt::control();
    let mut said = false;
    while let Some(wait) = links.iter().filter_map(RatedLink::next_timeout).min() {
        if interrupted.stopped() {
            break;
        }
        if !said {
            warning::say("flows that fit again are restored in 10 s; Ctrl-C leaves them shed");
            said = true;
        }
        std::thread::sleep(POLL_INTERVAL.min(Duration::from_nanos(wait.0)));
        for link in links.iter_mut() {
            link.follow()?;
        }
    }
    Ok(())
}

/// Runs `laxity link set --rate` and `--ingress-rate`. Flows that fit again are restored after ten
/// seconds, for which the command waits.
pub fn set(args: &SetArgs) -> Result<ExitCode, Failure> {
    let timeout = duration("--timeout", &args.timeout)?;
    let read = |option: &str, text: &Option<String>| {
        let read =
            |text: &String| quantity::rate(text).map_err(|e| Failure::quantity(option, text, &e));
        text.as_ref().map(read).transpose()
    };
    let egress = read("--rate", &args.rate)?.map(|rate| (args.dev.clone(), rate));
    let ingress = match read("--ingress-rate", &args.ingress_rate)? {
        Some(rate) => Some((backend::ingress_device(&args.dev)?, rate)),
        None => None,
    };
    let mut links = Vec::new();
    for (device, rate) in egress.into_iter().chain(ingress) {
        let mut link = RatedLink::new(&device, timeout)?;
        link.planner().handle_rate(rate);
        if !link.follow()? {
            warning::say(link.stays());
        }
        links.push(link);
    }
    restore(&mut links)?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails when a rate that a program may print makes the planner or the plan panic, or an error names
    /// no reason.
    #[test]
    fn extreme_rates_have_a_plan_or_a_reason() {
        let text = include_str!("../../../../kernel/tests/vm/family.toml");
        let scenario = Scenario::parse(text, "family.toml").expect("a scenario");
        let mbit = Rate(1_000_000);
        let extreme = [0, 1, 63_999, 64_000, 64_001].map(Rate);
        let large = [Rate(1_000_000_000_000), Rate(1_000_000_000_000_000_000), Rate(u64::MAX)];
        let mut planned = 0;
        for policy in ["background", "shifted-line", "exact", "slack"] {
            for rate in extreme.into_iter().chain(large) {
                let mut planner =
                    RatePlanner::new(&scenario, policy, mbit, &[], Time::ZERO).expect("a planner");
                planner.handle_rate(rate);
                match planner.poll(Time::ZERO) {
                    Ok(Some(RateChange { rate, flows, .. })) => {
                        match Plan::at_rate(&scenario, policy, rate, &flows.shed) {
                            Ok(_) => planned += 1,
                            Err(error) => assert!(!error.to_string().is_empty()),
                        }
                    }
                    Ok(None) => panic!("{policy} at {rate:?}: no change"),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
        assert!(planned >= 4 * extreme.len(), "{planned}");
    }
}
