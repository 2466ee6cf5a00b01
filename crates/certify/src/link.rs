//! Certificates of links (`proofs/link/Certificate.v`).
//!
//! A flow `k` demands `A_k(t - d_k)` in an interval of `t`, a blocking packet `s(t)`, and `c` is below the
//! scheduler. A certificate shows `sum A_k + max(s_BE, s) + c <= C t` from the least deadline on, and that
//! the residual curve `E` never falls and keeps `E + sum A_k + s + c <= C t` everywhere.

use crate::events::{
    Overflow, Staircase, least_to_come, lowest, minus, negative, plus, remainder, replaced, times,
    up,
};
use crate::{Envelope, Flow, FlowProof, Line, LinkFacts, LinkProof, NoCertificate, Refusal};

/// Nanobits of a byte at a bit/s for a nanosecond.
const NANOBITS: i128 = 8_000_000_000;

/// The most steps that a certificate follows.
pub const MAX_STEPS: i128 = 1 << 18;

impl From<Overflow> for Refusal {
    fn from(_: Overflow) -> Refusal {
        Refusal::Overflow
    }
}

impl From<Overflow> for NoCertificate {
    fn from(_: Overflow) -> NoCertificate {
        NoCertificate::Overflow
    }
}

/// A link in the units of its proof.
struct Link<'a> {
    facts: &'a LinkFacts,
    rate: i128,
}

impl<'a> Link<'a> {
    /// Refuses facts that no scenario has.
    fn new(facts: &'a LinkFacts) -> Result<Link<'a>, String> {
        if facts.rate == 0 {
            return Err("rate".to_owned());
        }
        for flow in &facts.flows {
            let fits = match &flow.envelope {
                Envelope::Buckets(buckets) => {
                    let binding =
                        |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
                    !buckets.is_empty() && buckets.windows(2).all(binding)
                }
                Envelope::Periodic { period, .. } => *period > 0,
            };
            if !fits {
                return Err(flow.name.clone());
            }
        }
        Ok(Link { facts, rate: facts.rate.into() })
    }

    /// Bytes in nanobits times the rate.
    fn work(&self, bytes: i128) -> Result<i128, Overflow> {
        times(self.rate, times(NANOBITS, bytes)?)
    }

    fn ticks(&self, ns: i128) -> Result<i128, Overflow> {
        times(self.rate, ns)
    }

    fn due(&self, flow: &Flow) -> Result<i128, Overflow> {
        self.ticks(flow.deadline.into())
    }

    fn bucket(&self, flow: &Flow, at: i128, (burst, rate): (u64, u64)) -> Result<Line, Overflow> {
        let rise = i128::from(rate);
        let level = minus(self.work(burst.into())?, times(rise, self.due(flow)?)?)?;
        Ok(Line { at, rise, level })
    }

    fn staircase(&self, flow: &Flow) -> Result<Option<Staircase>, Overflow> {
        let Envelope::Periodic { size, period, jitter } = flow.envelope else { return Ok(None) };
        Ok(Some(Staircase {
            due: self.due(flow)?,
            step: self.work(size.into())?,
            period: self.ticks(period.into())?,
            late: self.ticks(jitter.into())?,
            scale: self.rate,
        }))
    }

    /// The least deadline in ticks.
    fn least(&self) -> Result<i128, Overflow> {
        let deadlines = self.facts.flows.iter().map(|flow| i128::from(flow.deadline));
        self.ticks(deadlines.min().unwrap_or(0))
    }

    /// What is left of the link beside these events and so many bytes.
    fn left(&self, bytes: i128, events: &[Line]) -> Result<Vec<Line>, Overflow> {
        let bytes = plus(bytes, self.facts.backlog.into())?;
        remainder(self.rate, minus(0, self.work(bytes)?)?, events)
    }

    fn blocking(&self, most: i128, then: &[(i128, i128)]) -> Result<Vec<Line>, Overflow> {
        let mut lines = vec![Line { at: 0, rise: 0, level: self.work(most)? }];
        for (until, next) in then {
            lines.push(Line { at: self.ticks(*until)?, rise: 0, level: self.work(*next)? });
        }
        replaced(&lines)
    }

    /// The largest packet of all.
    fn largest(&self) -> i128 {
        let packets = self.facts.flows.iter().map(|flow| flow.packet);
        i128::from(packets.fold(self.facts.best_effort, u64::max))
    }
}

/// The residual beside best-effort blockers, the one beside real-time blockers, and the curve below it.
struct Left {
    beside_best_effort: Vec<Line>,
    beside_blocks: Vec<Line>,
}

impl Left {
    fn new(link: &Link<'_>, demand: &[Line], blocks: &[Line]) -> Result<Left, Overflow> {
        let beside_best_effort = link.left(link.facts.best_effort.into(), demand)?;
        let beside_blocks = link.left(0, &[demand, blocks].concat())?;
        Ok(Left { beside_best_effort, beside_blocks })
    }

    fn binding(&self, least: i128) -> Result<Option<(i128, i128)>, Overflow> {
        let best = lowest(&self.beside_best_effort, least, None)?;
        lowest(&self.beside_blocks, least, best)
    }

    fn negative(&self, least: i128) -> Result<Option<i128>, Overflow> {
        match negative(&self.beside_best_effort, least)? {
            Some(at) => Ok(Some(at)),
            None => negative(&self.beside_blocks, least),
        }
    }
}

/// Checks a certificate: that it is a proof, and that none of its numbers could be another.
///
/// # Errors
/// The first place at which it is wrong.
pub fn check(facts: &LinkFacts, proof: &LinkProof) -> Result<(), Refusal> {
    let link = Link::new(facts).map_err(|of| Refusal::Fact { of })?;
    let missing = |number: usize| facts.flows.get(number).map_or(String::new(), |f| f.name.clone());
    if facts.flows.is_empty() || proof.flows.len() != facts.flows.len() {
        return Err(Refusal::Corner { of: missing(proof.flows.len()), number: 1 });
    }
    let mut demand = Vec::new();
    let (mut follows, mut total) = (false, 0i128);
    for (flow, shape) in facts.flows.iter().zip(&proof.flows) {
        let wrong = |number: usize| Refusal::Corner { of: flow.name.clone(), number };
        match (&flow.envelope, shape, link.staircase(flow)?) {
            (Envelope::Buckets(buckets), FlowProof::Corners(corners), _) => {
                let lines = bucket_lines(&link, flow, buckets, corners, wrong)?;
                demand.extend(replaced(&lines)?);
            }
            (_, FlowProof::Steps(steps), Some(stairs)) => {
                total = total.saturating_add(*steps);
                if total > MAX_STEPS || *steps != stairs.before(proof.horizon)? {
                    return Err(wrong(1));
                }
                let last = minus(*steps, 1)?;
                follows |= last >= 0 && plus(stairs.step_at(last)?, 1)? == proof.horizon;
                demand.extend(replaced(&stairs.lines(*steps)?)?);
            }
            _ => return Err(wrong(1)),
        }
    }
    if proof.horizon != 0 && !follows {
        return Err(Refusal::Horizon);
    }
    check_blocking(&link, proof)?;
    let blocks = link.blocking(proof.blocks, &proof.then_blocks)?;
    let left = Left::new(&link, &demand, &blocks)?;
    let least = link.least()?;
    if let Some(at) = left.negative(least)? {
        return Err(Refusal::Demand { at, unit: "ticks" });
    }
    check_curve(&left.beside_blocks, &proof.curve)?;
    match left.binding(least)? {
        Some((at, value)) if (at, value) != (proof.binding, proof.residual) => {
            Err(Refusal::Binding { at, value })
        }
        _ => Ok(()),
    }
}

/// The lines of a flow's buckets, each from the first tick at which it is not above the one before.
fn bucket_lines(
    link: &Link<'_>,
    flow: &Flow,
    buckets: &[(u64, u64)],
    corners: &[i128],
    wrong: impl Fn(usize) -> Refusal,
) -> Result<Vec<Line>, Refusal> {
    let mut before = link.bucket(flow, link.due(flow)?, buckets[0])?;
    let mut lines = vec![before];
    if corners.len() + 1 != buckets.len() {
        return Err(wrong(corners.len().min(buckets.len())));
    }
    for (i, (corner, bucket)) in corners.iter().zip(&buckets[1..]).enumerate() {
        let next = link.bucket(flow, *corner, *bucket)?;
        let earlier = minus(*corner, 1)?;
        let first = next.value(*corner)? <= before.value(*corner)?
            && next.value(earlier)? > before.value(earlier)?;
        if *corner < before.at || !first {
            return Err(wrong(i + 1));
        }
        lines.push(next);
        before = next;
    }
    Ok(lines)
}

/// That blocking covers the packets of all flows, and each level is that of a packet.
fn check_blocking(link: &Link<'_>, proof: &LinkProof) -> Result<(), Refusal> {
    let flows = &link.facts.flows;
    if link.facts.paper {
        let largest = proof.blocks == link.largest();
        let only = proof.then_blocks.is_empty();
        return if largest && only { Ok(()) } else { Err(Refusal::Blocking { number: 1 }) };
    }
    let mut level = proof.blocks;
    let mut from = 0;
    for (i, (until, next)) in proof.then_blocks.iter().enumerate() {
        let is_one =
            |flow: &Flow| i128::from(flow.packet) == level && i128::from(flow.deadline) == *until;
        if *until < from || *next >= level || !flows.iter().any(is_one) {
            return Err(Refusal::Blocking { number: i + 1 });
        }
        (level, from) = (*next, *until);
    }
    if level != 0 {
        return Err(Refusal::Blocking { number: proof.then_blocks.len() + 1 });
    }
    for flow in flows {
        let mut level = proof.blocks;
        let mut covered = i128::from(flow.packet) <= level;
        for (until, next) in &proof.then_blocks {
            if i128::from(flow.deadline) <= *until {
                break;
            }
            level = *next;
            covered &= i128::from(flow.packet) <= level;
        }
        if !covered {
            return Err(Refusal::Uncovered { of: flow.name.clone() });
        }
    }
    Ok(())
}

/// That the curve never falls, is below what is left, and is the largest such.
fn check_curve(left: &[Line], curve: &[Line]) -> Result<(), Refusal> {
    let first = curve.first().is_some_and(|line| line.at == 0);
    if !first {
        return Err(Refusal::Curve { number: 1 });
    }
    for (i, line) in curve.iter().enumerate() {
        let wrong = Refusal::Curve { number: i + 1 };
        if line.rise < 0 {
            return Err(wrong);
        }
        if let Some(next) = curve.get(i + 1) {
            if next.at <= line.at || line.value(minus(next.at, 1)?)? > next.value(next.at)? {
                return Err(wrong);
            }
        }
    }
    let mut falls = Vec::with_capacity(left.len());
    for event in replaced(left)?.iter().skip(1) {
        let (rise, level) = (minus(0, event.rise)?, minus(0, event.level)?);
        falls.push(Line { at: event.at, rise, level });
    }
    falls.extend(replaced(curve)?);
    let Some(line) = left.first() else { return Err(Refusal::Curve { number: 1 }) };
    let number = |at: i128| curve.partition_point(|line| line.at <= at).max(1);
    if let Some(at) = negative(&remainder(line.rise, line.level, &falls)?, 0)? {
        return Err(Refusal::Curve { number: number(at) });
    }
    let largest = least_to_come(left)?;
    let same = largest.iter().zip(curve).take_while(|(a, b)| a == b).count();
    if same != curve.len() || same != largest.len() {
        return Err(Refusal::Curve { number: same + 1 });
    }
    Ok(())
}

/// Makes the certificate of a link.
///
/// # Errors
/// See [`NoCertificate`].
pub fn issue(facts: &LinkFacts) -> Result<LinkProof, NoCertificate> {
    let link = Link::new(facts).map_err(|of| NoCertificate::Facts { of })?;
    if facts.flows.is_empty() {
        return Err(NoCertificate::Nothing);
    }
    let horizon = horizon(&link)?;
    let mut demand = Vec::new();
    let mut flows = Vec::with_capacity(facts.flows.len());
    let mut after_last = 0;
    for flow in &facts.flows {
        match (&flow.envelope, link.staircase(flow)?) {
            (Envelope::Buckets(buckets), _) => {
                let corners = corners(&link, flow, buckets)?;
                let ats = [&[link.due(flow)?], &corners[..]].concat();
                if !ats.is_sorted() {
                    return Err(NoCertificate::Facts { of: flow.name.clone() });
                }
                let lines = ats.iter().zip(buckets).map(|(at, b)| link.bucket(flow, *at, *b));
                demand.extend(replaced(&lines.collect::<Result<Vec<_>, _>>()?)?);
                flows.push(FlowProof::Corners(corners));
            }
            (_, Some(stairs)) => {
                let steps = stairs.before(horizon)?;
                if steps > 0 {
                    after_last = after_last.max(plus(stairs.step_at(steps - 1)?, 1)?);
                }
                demand.extend(replaced(&stairs.lines(steps)?)?);
                flows.push(FlowProof::Steps(steps));
            }
            (_, None) => return Err(NoCertificate::Facts { of: flow.name.clone() }),
        }
    }
    let (blocks, then_blocks) = blocking(&link);
    let left = Left::new(&link, &demand, &link.blocking(blocks, &then_blocks)?)?;
    let least = link.least()?;
    if left.negative(least)?.is_some() {
        return Err(NoCertificate::NotAdmitted);
    }
    let curve = least_to_come(&left.beside_blocks)?;
    let (binding, residual) = left.binding(least)?.ok_or(NoCertificate::Nothing)?;
    Ok(LinkProof { flows, horizon: after_last, blocks, then_blocks, curve, binding, residual })
}

/// Where each next bucket begins to bind.
fn corners(link: &Link<'_>, flow: &Flow, buckets: &[(u64, u64)]) -> Result<Vec<i128>, Overflow> {
    let corner = |pair: &[(u64, u64)]| {
        let (before, next) = (link.bucket(flow, 0, pair[0])?, link.bucket(flow, 0, pair[1])?);
        up(minus(next.level, before.level)?, minus(before.rise, next.rise)?)
    };
    buckets.windows(2).map(corner).collect()
}

/// How far steps are followed: twice as far as admission needs, so that the residual curve is exact where
/// packets wait, or less if there were too many.
fn horizon(link: &Link<'_>) -> Result<i128, NoCertificate> {
    let (mut rises, mut levels) = (0, link.work(plus(link.largest(), link.facts.backlog.into())?)?);
    let (mut last, mut stairs) = (0, Vec::new());
    for flow in &link.facts.flows {
        let line = match (&flow.envelope, link.staircase(flow)?) {
            (_, Some(stair)) => {
                last = last.max(stair.due);
                stairs.push(stair);
                stair.above()?
            }
            (Envelope::Buckets(buckets), None) => {
                last = last
                    .max(corners(link, flow, buckets)?.last().copied().unwrap_or(link.due(flow)?));
                link.bucket(flow, 0, buckets[buckets.len() - 1])?
            }
            (Envelope::Periodic { .. }, None) => continue,
        };
        rises = plus(rises, line.rise)?;
        levels = plus(levels, line.level)?;
    }
    let free = minus(link.rate, rises)?;
    if stairs.is_empty() {
        return Ok(0);
    }
    if free <= 0 {
        // Each rise was rounded up by less than one.
        let overload = free <= -(stairs.len() as i128);
        return Err(if overload { NoCertificate::NotAdmitted } else { NoCertificate::Repeats });
    }
    let enough = up(levels, free)?.max(last);
    let steps = |horizon: i128| {
        let mut sum: i128 = 0;
        for stair in &stairs {
            sum = plus(sum, stair.before(horizon)?)?;
        }
        Ok::<i128, Overflow>(sum)
    };
    let mut horizon = times(enough, 2)?;
    while steps(horizon)? > MAX_STEPS {
        if horizon <= enough {
            return Err(NoCertificate::TooManySteps { limit: MAX_STEPS });
        }
        horizon = enough.max(horizon / 2);
    }
    Ok(horizon)
}

/// The largest packet that may block, and until when which.
fn blocking(link: &Link<'_>) -> (i128, Vec<(i128, i128)>) {
    if link.facts.paper {
        return (link.largest(), Vec::new());
    }
    let mut flows: Vec<&Flow> = link.facts.flows.iter().collect();
    flows.sort_by_key(|flow| std::cmp::Reverse((flow.deadline, flow.packet)));
    let (mut level, mut then) = (0, Vec::new());
    for flow in flows {
        if i128::from(flow.packet) > level {
            then.push((i128::from(flow.deadline), level));
            level = i128::from(flow.packet);
        }
    }
    then.reverse();
    (level, then)
}
