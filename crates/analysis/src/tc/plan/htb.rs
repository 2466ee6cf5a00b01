//! Rates, bursts and priorities of HTB for envelopes and deadlines.

use laxity_curve::{CurveError, Rational};

use super::{Link, PlanError, RealTime, Target, grain};
use crate::tc::service::nanobits;

/// Most rounds until rates and bursts settle.
const ROUNDS: usize = 400;

/// The last of the eight priorities is best effort's.
pub const BEST_EFFORT: u64 = 7;

/// A leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its priority.
    pub prio: u64,
    /// Its rate in bit/s.
    pub rate: u64,
    /// Its burst in bytes.
    pub burst: u64,
}

/// The longest that a leaf waits beside those that may go first; `None` where they leave less than its rate.
fn wait(own: &Leaf, ahead: &[&Leaf], link: &Link) -> Result<Option<Rational>, CurveError> {
    let mut work = link.packet.plus(link.rate.times(link.latency)?)?;
    let mut left = link.rate;
    for leaf in ahead {
        work = work.plus(nanobits(grain::burst_at_most(leaf.burst)))?.plus(link.packet)?;
        left = left.minus(leaf.rate.into())?;
    }
    if left < own.rate.into() || left.signum() <= 0 {
        return Ok(None);
    }
    work.over(left)?.plus(link.late).map(Some)
}

fn ahead(leaves: &[Leaf], i: usize) -> Vec<&Leaf> {
    let others = leaves.iter().enumerate();
    others.filter(|(j, l)| *j != i && l.prio <= leaves[i].prio).map(|(_, l)| l).collect()
}

/// The burst that keeps all tokens of a wait, for rate and ceiling alike.
fn burst(theta: Rational, rate: u64, ceil: u64, link: &Link) -> Result<u64, CurveError> {
    let tokens = theta.times(rate.into())?.greatest(link.packet).over(nanobits(1))?.ceil();
    Ok(grain::burst_up(u64::try_from(tokens).unwrap_or(u64::MAX), rate.max(ceil)))
}

/// Leaves for the flows: shorter deadlines go first, each with the rate that its deadline leaves after the
/// wait.
pub fn leaves(flows: &[RealTime], link: &Link) -> Result<Vec<Leaf>, PlanError> {
    let mut deadlines: Vec<_> = flows.iter().map(|f| f.deadline).collect();
    deadlines.sort();
    deadlines.dedup();
    let prio = |flow: &RealTime| {
        let rank = deadlines.iter().position(|d| *d == flow.deadline).unwrap_or(0);
        (rank as u64).min(BEST_EFFORT - 1)
    };
    let first = |flow: &RealTime| Leaf {
        prio: prio(flow),
        rate: grain::rate_up(flow.arrivals.rate()).max(8),
        burst: 0,
    };
    let mut leaves: Vec<Leaf> = flows.iter().map(first).collect();
    let most = |leaves: &[Leaf]| {
        let flow = flows.iter().zip(leaves).max_by_key(|(_, l)| l.rate);
        let flow = flow.map(|(f, _)| f.name.clone()).unwrap_or_default();
        PlanError::Sum { flow, link: link.bit_rate(), target: Target::Htb }
    };
    for _ in 0..ROUNDS {
        let before = leaves.clone();
        for (i, flow) in flows.iter().enumerate() {
            let Some(theta) = wait(&leaves[i], &ahead(&leaves, i), link)? else {
                return Err(most(&leaves));
            };
            let left = Rational::from(flow.deadline.0).minus(theta)?;
            if left.signum() <= 0 {
                return Err(flow.too_soon(theta, Target::Htb));
            }
            let mut rate = Rational::from(leaves[i].rate);
            for (x, y) in flow.arrivals.corners()? {
                rate = rate.greatest(y.plus(link.packet)?.over(left.plus(x)?)?);
            }
            leaves[i].rate = grain::rate_up(rate);
            leaves[i].burst =
                leaves[i].burst.max(burst(theta, leaves[i].rate, leaves[i].rate, link)?);
            if leaves[i].burst > u64::from(u32::MAX) {
                return Err(most(&leaves));
            }
        }
        if leaves == before {
            return Ok(leaves);
        }
    }
    Err(most(&leaves))
}

/// Leaves for best effort behind those of the flows, by weight: a part of what is left is theirs, the rest is
/// borrowed.
pub fn best_effort(
    realtime: &[Leaf],
    shares: &[Rational],
    link: &Link,
) -> Result<Option<Vec<Leaf>>, CurveError> {
    let mut left = link.rate;
    for leaf in realtime {
        left = left.minus(leaf.rate.into())?;
    }
    // Bursts and waits lengthen each other: less rate until they settle.
    for halves in 1..8 {
        let part = left.over(Rational::whole(1 << halves))?;
        let mut all = realtime.to_vec();
        for share in shares {
            let rate = grain::rate_down(part.times(*share)?).max(8000);
            all.push(Leaf { prio: BEST_EFFORT, rate, burst: 0 });
        }
        if let Some(settled) = settle(all, realtime.len(), link)? {
            return Ok(Some(settled));
        }
    }
    Ok(None)
}

fn settle(mut all: Vec<Leaf>, from: usize, link: &Link) -> Result<Option<Vec<Leaf>>, CurveError> {
    for _ in 0..ROUNDS {
        let before = all.clone();
        for i in from..all.len() {
            let Some(theta) = wait(&all[i], &ahead(&all, i), link)? else { return Ok(None) };
            all[i].burst = all[i].burst.max(burst(theta, all[i].rate, link.bit_rate().0, link)?);
            if all[i].burst > u64::from(u32::MAX) {
                return Ok(None);
            }
        }
        if all == before {
            return Ok(Some(all.split_off(from)));
        }
    }
    Ok(None)
}
