//! Slopes and credits of CBS for the one or two shortest deadlines.

use laxity_core::Span;
use laxity_curve::Rational;
use laxity_scenario::link::Scenario;

use super::arrivals::Arrivals;
use super::{Link, PlanError, RealTime, Target};
use crate::tc::bands;
use crate::tc::service::{Device, Service, nanobits};
use crate::tc::shaper::credit_bounded;

/// Classes A and B of IEEE 802.1Q.
const CLASSES: usize = 2;

/// Flows of one deadline.
#[derive(Clone, Debug)]
pub struct Group {
    /// Their names.
    pub members: Vec<String>,
    /// Their traffic together.
    pub flow: RealTime,
}

/// Slopes in bit/s, credits in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slopes {
    /// Idle slope.
    pub idle: i64,
    /// Send slope, negative.
    pub send: i64,
    /// Largest credit.
    pub hicredit: i64,
    /// Least credit, negative.
    pub locredit: i64,
}

/// Flows by deadline, the shortest first.
pub fn groups(scenario: &Scenario, flows: &[RealTime]) -> Result<Vec<Group>, PlanError> {
    let mut deadlines: Vec<Span> = flows.iter().map(|f| f.deadline).collect();
    deadlines.sort();
    deadlines.dedup();
    let beyond = flows.iter().find(|f| deadlines.iter().skip(CLASSES).any(|d| *d == f.deadline));
    if let Some(flow) = beyond {
        let (deadlines, classes) = (deadlines.len(), CLASSES);
        return Err(PlanError::Classes { flow: flow.name.clone(), deadlines, classes });
    }
    let (overhead, frame) = (scenario.link.overhead, scenario.link.min_frame);
    let mut out = Vec::with_capacity(deadlines.len());
    for deadline in deadlines {
        let members = scenario.realtime.iter().filter(|f| f.deadline == deadline);
        let wire: Vec<_> = members
            .clone()
            .map(|f| f.envelope.on_wire(overhead, frame))
            .collect::<Result<_, _>>()?;
        let members: Vec<String> = members.map(|f| f.name.clone()).collect();
        let name = members.first().cloned().unwrap_or_default();
        out.push(Group {
            flow: RealTime { name, deadline, arrivals: Arrivals::of(&wire) },
            members,
        });
    }
    Ok(out)
}

/// The slopes of each group. A group waits for a packet of others and, behind the first, for what the credits
/// of those above allow.
pub fn slopes(groups: &[Group], link: &Link, device: &Device) -> Result<Vec<Slopes>, PlanError> {
    let rate = i64::try_from(device.rate.0).ok().filter(|r| r % 1000 == 0);
    let Some(rate) = rate.filter(|r| *r / 1000 <= i64::from(i32::MAX)) else {
        let what = "cbs counts whole kbit/s, at most 2 Tbit/s; choose such a rate";
        return Err(PlanError::Range { key: "[link] rate", what });
    };
    let (mut above, mut out) = (Vec::new(), Vec::with_capacity(groups.len()));
    for group in groups {
        let most = || PlanError::Sum {
            flow: group.flow.name.clone(),
            link: device.rate,
            target: Target::Cbs,
        };
        let offered = bands::strict(&above, &Service::of_device(device), device)?;
        let Some((left, wait)) = offered.ok().and_then(|s| s.link) else { return Err(most()) };
        let wait = wait.plus(link.latency)?.plus(link.late)?;
        let own = device.packet().over(link.rate)?;
        let due = Rational::from(group.flow.deadline.0).minus(wait)?.plus(own)?;
        // The kernel may not credit the first wait of a busy period.
        let twice = Rational::from(group.flow.deadline.0).minus(wait.plus(wait)?)?;
        if twice <= Rational::ZERO {
            return Err(group.flow.too_soon(wait.plus(wait)?, Target::Cbs));
        }
        let mut slope = group.flow.arrivals.rate();
        for (x, y) in group.flow.arrivals.corners()? {
            slope = slope.greatest(y.plus(link.packet)?.over(due.plus(x)?)?);
            slope = slope.greatest(y.over(twice.plus(x)?)?);
        }
        let kbits = slope.over(Rational::whole(1000))?.ceil().max(1);
        let idle = i64::try_from(kbits.saturating_mul(1000)).unwrap_or(i64::MAX);
        if idle >= rate || Rational::whole(idle.into()) > left {
            return Err(most());
        }
        let credit = wait.times(Rational::whole(idle.into()))?.over(nanobits(1))?.ceil();
        let share = Rational::new(i128::from(rate - idle), rate.into())?;
        let least = Rational::from(device.max_packet.0).times(share)?.ceil();
        let slopes = Slopes {
            idle,
            send: idle - rate,
            hicredit: i64::try_from(credit).unwrap_or(i64::MAX),
            locredit: -i64::try_from(least).unwrap_or(i64::MAX),
        };
        above.push(Ok(credit_bounded((slopes.idle, slopes.hicredit), device)?));
        out.push(slopes);
    }
    Ok(out)
}
