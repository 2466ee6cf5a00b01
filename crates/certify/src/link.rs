//! Certificates of links (`proofs/link/Certificate.v`).
//!
//! A flow `k` demands `A_k(t - d_k)` in an interval of `t`, or with a service curve the whole packets of `S_k(t)`;
//! a blocking packet `s(t)`, and `c` is below the scheduler. A certificate shows that demand,
//! `max(s_BE, s)` and `c` are together at most `C t` from the least deadline on, and that the residual curve `E`
//! never falls and fits beside demand, `s` and `c` everywhere.
//!
//! A packet of a flow with a service curve blocks in any interval, since the flow may have been served ahead, but
//! then nothing of its flow is due: it takes the place of what the flow demands.

use crate::events::{
    Overflow, Staircase, least_to_come, lowest, minus, negative, plus, remainder, replaced, times,
    up,
};
use crate::service::{End, Ticks, least_of};
use crate::{
    Envelope, Flow, FlowProof, Line, LinkFacts, LinkProof, NoCertificate, Promise, Refusal,
};

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
            let fits = match &flow.promise {
                Promise::Deadline { envelope: Envelope::Buckets(buckets), .. } => {
                    let binding =
                        |pair: &[(u64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1;
                    !buckets.is_empty() && buckets.windows(2).all(binding)
                }
                Promise::Deadline { envelope: Envelope::Periodic { period, .. }, .. } => {
                    *period > 0
                }
                Promise::Service(service) => Ticks::valid(service, flow.packet),
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

    /// The line of a bucket of a flow that is due at `due`.
    fn bucket(&self, due: i128, at: i128, (burst, rate): (u64, u64)) -> Result<Line, Overflow> {
        let rise = i128::from(rate);
        let level = minus(self.work(burst.into())?, times(rise, due)?)?;
        Ok(Line { at, rise, level })
    }

    /// What the checks are about.
    fn demand(&self, flow: &'a Flow) -> Result<Demand<'a>, Overflow> {
        Ok(match &flow.promise {
            Promise::Deadline { deadline, envelope } => {
                let due = self.ticks((*deadline).into())?;
                match envelope {
                    Envelope::Buckets(buckets) => Demand::Buckets { due, buckets },
                    Envelope::Periodic { size, period, jitter } => Demand::Periodic(Staircase {
                        due,
                        step: self.work((*size).into())?,
                        period: self.ticks((*period).into())?,
                        late: self.ticks((*jitter).into())?,
                        scale: self.rate,
                    }),
                }
            }
            Promise::Service(service) => {
                let ticks = Ticks {
                    service,
                    rate: self.rate,
                    smallest: self.work(service.smallest.into())?,
                    largest: self.work(flow.packet.into())?,
                };
                let buckets = service.buckets.iter().map(|b| self.bucket(0, 0, *b));
                let asked = ticks.asked(&buckets.collect::<Result<Vec<_>, _>>()?)?;
                Demand::Service { ticks, asked }
            }
        })
    }

    /// The flows that have deadlines.
    fn deadlines(&self) -> impl Iterator<Item = (i128, &'a Flow)> {
        self.facts.flows.iter().filter_map(|flow| match flow.promise {
            Promise::Deadline { deadline, .. } => Some((i128::from(deadline), flow)),
            Promise::Service(_) => None,
        })
    }

    /// The first tick at which anything of a flow can be due.
    fn first(&self, flow: &Flow, shape: &FlowProof) -> Result<i128, Overflow> {
        match (&flow.promise, shape) {
            (Promise::Deadline { deadline, .. }, _) => self.ticks((*deadline).into()),
            (_, FlowProof::Service { first, .. }) => Ok(*first),
            _ => Ok(0),
        }
    }

    /// The least of these over all flows but one.
    fn least(&self, shapes: &[FlowProof], but: Option<usize>) -> Result<Option<i128>, Overflow> {
        let mut least: Option<i128> = None;
        for (i, (flow, shape)) in self.facts.flows.iter().zip(shapes).enumerate() {
            if but != Some(i) {
                let first = self.first(flow, shape)?;
                least = Some(least.map_or(first, |least| least.min(first)));
            }
        }
        Ok(least)
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

/// What a flow demands, before the proof says how far it is followed.
enum Demand<'a> {
    Buckets { due: i128, buckets: &'a [(u64, u64)] },
    Periodic(Staircase),
    Service { ticks: Ticks<'a>, asked: Vec<Line> },
}

/// What is left of the link beside all flows and each kind of blocker.
struct Left {
    beside_best_effort: Vec<Line>,
    /// First beside packets of flows with deadlines, then beside those of each flow with a service curve, by
    /// its place among the flows.
    beside_blocks: Vec<(Option<usize>, Vec<Line>)>,
}

impl Left {
    /// `demand`: the events of each flow.
    fn new(link: &Link<'_>, demand: &[Vec<Line>], blocks: &[Line]) -> Result<Left, Overflow> {
        let all = demand.concat();
        let beside_best_effort = link.left(link.facts.best_effort.into(), &all)?;
        let mut beside_blocks = vec![(None, link.left(0, &[&all, blocks].concat())?)];
        for (k, flow) in link.facts.flows.iter().enumerate() {
            if matches!(flow.promise, Promise::Deadline { .. }) || link.facts.paper {
                continue;
            }
            let others = [demand[..k].concat(), demand[k + 1..].concat()].concat();
            beside_blocks.push((Some(k), link.left(flow.packet.into(), &others)?));
        }
        Ok(Left { beside_best_effort, beside_blocks })
    }

    fn binding(&self, least: i128) -> Result<Option<(i128, i128)>, Overflow> {
        let mut best = lowest(&self.beside_best_effort, least, None)?;
        for (_, lines) in &self.beside_blocks {
            best = lowest(lines, least, best)?;
        }
        Ok(best)
    }

    fn negative(&self, least: i128) -> Result<Option<i128>, Overflow> {
        if let Some(at) = negative(&self.beside_best_effort, least)? {
            return Ok(Some(at));
        }
        for (_, lines) in &self.beside_blocks {
            if let Some(at) = negative(lines, least)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// The largest curve below what is left that never falls.
    fn curve(&self) -> Result<Vec<Line>, Overflow> {
        let mut curve: Option<Vec<Line>> = None;
        for (_, lines) in &self.beside_blocks {
            let next = least_to_come(lines)?;
            curve = Some(match curve {
                Some(curve) => least_of(&curve, &next)?,
                None => next,
            });
        }
        Ok(curve.unwrap_or_default())
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
    let mut demand = Vec::with_capacity(facts.flows.len());
    let (mut follows, mut total) = (false, 0i128);
    for (flow, shape) in facts.flows.iter().zip(&proof.flows) {
        let wrong = |number: usize| Refusal::Corner { of: flow.name.clone(), number };
        let lines = match (link.demand(flow)?, shape) {
            (Demand::Buckets { due, buckets }, FlowProof::Corners(corners)) => {
                bucket_lines(&link, due, buckets, corners, wrong)?
            }
            (Demand::Periodic(stairs), FlowProof::Steps(steps)) => {
                total = total.saturating_add(*steps);
                if total > MAX_STEPS || *steps != stairs.before(proof.horizon)? {
                    return Err(wrong(1));
                }
                let last = minus(*steps, 1)?;
                follows |= last >= 0 && plus(stairs.step_at(last)?, 1)? == proof.horizon;
                stairs.lines(*steps)?
            }
            (Demand::Service { ticks, asked }, FlowProof::Service { first, steps }) => {
                if !ticks.first_is(*first)? {
                    return Err(wrong(1));
                }
                total = total.saturating_add(*steps);
                if total > MAX_STEPS {
                    return Err(wrong(2));
                }
                let whole = ticks.whole(&asked, End::After(*steps))?;
                let in_time = whole.last().is_none_or(|last| last < proof.horizon)
                    && whole.next().is_none_or(|next| next >= proof.horizon);
                if whole.followed != *steps || !in_time {
                    return Err(wrong(2));
                }
                follows |=
                    whole.last().is_some_and(|last| last.checked_add(1) == Some(proof.horizon));
                whole.lines
            }
            _ => return Err(wrong(1)),
        };
        demand.push(replaced(&lines)?);
    }
    if proof.horizon != 0 && !follows {
        return Err(Refusal::Horizon);
    }
    check_blocking(&link, proof)?;
    let blocks = link.blocking(proof.blocks, &proof.then_blocks)?;
    let left = Left::new(&link, &demand, &blocks)?;
    let least = link.least(&proof.flows, None)?.unwrap_or(0);
    if let Some(at) = left.negative(least)? {
        return Err(Refusal::Demand { at, unit: "ticks" });
    }
    check_curve(&left, &proof.curve)?;
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
    due: i128,
    buckets: &[(u64, u64)],
    corners: &[i128],
    wrong: impl Fn(usize) -> Refusal,
) -> Result<Vec<Line>, Refusal> {
    let mut before = link.bucket(due, due, buckets[0])?;
    let mut lines = vec![before];
    if corners.len() + 1 != buckets.len() {
        return Err(wrong(corners.len().min(buckets.len())));
    }
    for (i, (corner, bucket)) in corners.iter().zip(&buckets[1..]).enumerate() {
        let next = link.bucket(due, *corner, *bucket)?;
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
    if link.facts.paper {
        let largest = proof.blocks == link.largest();
        let only = proof.then_blocks.is_empty();
        return if largest && only { Ok(()) } else { Err(Refusal::Blocking { number: 1 }) };
    }
    let mut level = proof.blocks;
    let mut from = 0;
    for (i, (until, next)) in proof.then_blocks.iter().enumerate() {
        let is_one = |(deadline, flow): (i128, &Flow)| {
            i128::from(flow.packet) == level && deadline == *until
        };
        if *until < from || *next >= level || !link.deadlines().any(is_one) {
            return Err(Refusal::Blocking { number: i + 1 });
        }
        (level, from) = (*next, *until);
    }
    if level != 0 {
        return Err(Refusal::Blocking { number: proof.then_blocks.len() + 1 });
    }
    for (deadline, flow) in link.deadlines() {
        let mut level = proof.blocks;
        let mut covered = i128::from(flow.packet) <= level;
        for (until, next) in &proof.then_blocks {
            if deadline <= *until {
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
fn check_curve(left: &Left, curve: &[Line]) -> Result<(), Refusal> {
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
    let number = |at: i128| curve.partition_point(|line| line.at <= at).max(1);
    for (_, left) in &left.beside_blocks {
        let mut falls = Vec::with_capacity(left.len() + curve.len());
        for event in replaced(left)?.iter().skip(1) {
            let (rise, level) = (minus(0, event.rise)?, minus(0, event.level)?);
            falls.push(Line { at: event.at, rise, level });
        }
        falls.extend(replaced(curve)?);
        let Some(line) = left.first() else { return Err(Refusal::Curve { number: 1 }) };
        if let Some(at) = negative(&remainder(line.rise, line.level, &falls)?, 0)? {
            return Err(Refusal::Curve { number: number(at) });
        }
    }
    let largest = left.curve()?;
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
    let mut demand = Vec::with_capacity(facts.flows.len());
    let mut flows = Vec::with_capacity(facts.flows.len());
    let mut after_last = 0;
    for flow in &facts.flows {
        let wrong = || NoCertificate::Facts { of: flow.name.clone() };
        let lines = match link.demand(flow)? {
            Demand::Buckets { due, buckets } => {
                let corners = corners(&link, due, buckets)?;
                let ats = [&[due], &corners[..]].concat();
                if !ats.is_sorted() {
                    return Err(wrong());
                }
                let lines = ats.iter().zip(buckets).map(|(at, b)| link.bucket(due, *at, *b));
                let lines = lines.collect::<Result<Vec<_>, _>>()?;
                flows.push(FlowProof::Corners(corners));
                lines
            }
            Demand::Periodic(stairs) => {
                let steps = stairs.before(horizon)?;
                if steps > 0 {
                    after_last = after_last.max(plus(stairs.step_at(steps - 1)?, 1)?);
                }
                flows.push(FlowProof::Steps(steps));
                stairs.lines(steps)?
            }
            Demand::Service { ticks, asked } => {
                let first = ticks.first()?.ok_or_else(wrong)?;
                let whole = ticks.whole(&asked, End::Before(horizon, MAX_STEPS))?;
                if let Some(last) = whole.last() {
                    after_last = after_last.max(plus(last, 1)?);
                }
                flows.push(FlowProof::Service { first, steps: whole.followed });
                whole.lines
            }
        };
        demand.push(replaced(&lines)?);
    }
    let (blocks, then_blocks) = blocking(&link);
    let left = Left::new(&link, &demand, &link.blocking(blocks, &then_blocks)?)?;
    let least = link.least(&flows, None)?.unwrap_or(0);
    if left.negative(least)?.is_some() {
        return Err(not_admitted(&link, &flows, &left, least)?);
    }
    let curve = left.curve()?;
    let (binding, residual) = left.binding(least)?.ok_or(NoCertificate::Nothing)?;
    Ok(LinkProof { flows, horizon: after_last, blocks, then_blocks, curve, binding, residual })
}

/// Whether demand exceeds the link, or only beside a packet of a flow that was served ahead, in an interval so short
/// that nothing of another flow is due: the flow alone keeps its deadlines, which the theorems do not say.
fn not_admitted(
    link: &Link<'_>,
    shapes: &[FlowProof],
    left: &Left,
    least: i128,
) -> Result<NoCertificate, Overflow> {
    let mut alone = None;
    let mut refused = negative(&left.beside_best_effort, least)?.is_some();
    for (flow, lines) in &left.beside_blocks {
        if negative(lines, least)?.is_none() {
            continue;
        }
        let others = match flow {
            Some(k) => link.least(shapes, Some(*k))?,
            None => Some(least),
        };
        match (flow, others) {
            (Some(k), None) => alone = Some(*k),
            (Some(k), Some(others)) if negative(lines, others)?.is_none() => alone = Some(*k),
            _ => refused = true,
        }
    }
    let name = |k: usize| link.facts.flows[k].name.clone();
    Ok(match alone {
        Some(k) if !refused => NoCertificate::ServedAhead { flow: name(k) },
        _ => NoCertificate::NotAdmitted,
    })
}

/// Where each next bucket begins to bind.
fn corners(link: &Link<'_>, due: i128, buckets: &[(u64, u64)]) -> Result<Vec<i128>, Overflow> {
    let corner = |pair: &[(u64, u64)]| {
        let (before, next) = (link.bucket(due, 0, pair[0])?, link.bucket(due, 0, pair[1])?);
        up(minus(next.level, before.level)?, minus(before.rise, next.rise)?)
    };
    buckets.windows(2).map(corner).collect()
}

/// Flows whose demand has steps.
struct Steps<'a> {
    stairs: Vec<Staircase>,
    served: Vec<(Ticks<'a>, Vec<Line>)>,
}

impl Steps<'_> {
    fn before(&self, horizon: i128) -> Result<i128, Overflow> {
        let mut sum: i128 = 0;
        for stair in &self.stairs {
            sum = plus(sum, stair.before(horizon)?)?;
        }
        for (ticks, asked) in &self.served {
            let end = End::Before(horizon, MAX_STEPS + 1);
            sum = plus(sum, ticks.whole(asked, end)?.followed)?;
        }
        Ok(sum)
    }

    /// Where the last step is, if they do not repeat for ever.
    fn end(&self) -> Result<Option<i128>, Overflow> {
        if !self.stairs.is_empty() {
            return Ok(None);
        }
        let mut end = 0;
        for (ticks, asked) in &self.served {
            let (Some(count), Some(line)) = (ticks.last_gap()?, asked.last()) else {
                return Ok(None);
            };
            let level = minus(times(count, ticks.largest)?, line.level)?;
            end = end.max(line.at).max(if line.rise > 0 { up(level, line.rise)? } else { 0 });
        }
        plus(end, 1).map(Some)
    }
}

/// How far steps are followed: twice as far as admission needs, so that the residual curve is exact where
/// packets wait, or less if there were too many.
fn horizon(link: &Link<'_>) -> Result<i128, NoCertificate> {
    let (mut rises, mut levels) = (0, link.work(plus(link.largest(), link.facts.backlog.into())?)?);
    let (mut last, mut steps) = (0, Steps { stairs: Vec::new(), served: Vec::new() });
    for flow in &link.facts.flows {
        let line = match link.demand(flow)? {
            Demand::Periodic(stair) => {
                last = last.max(stair.due);
                steps.stairs.push(stair);
                stair.above()?
            }
            Demand::Buckets { due, buckets } => {
                last = last.max(corners(link, due, buckets)?.last().copied().unwrap_or(due));
                link.bucket(due, 0, buckets[buckets.len() - 1])?
            }
            Demand::Service { ticks, asked } => {
                let Some(line) = asked.last().copied() else { continue };
                last = last.max(line.at).max(ticks.first()?.unwrap_or(0));
                steps.served.push((ticks, asked));
                line
            }
        };
        rises = plus(rises, line.rise)?;
        levels = plus(levels, line.level)?;
    }
    let free = minus(link.rate, rises)?;
    if steps.stairs.is_empty() && steps.served.is_empty() {
        return Ok(0);
    }
    let (enough, mut horizon) = if free > 0 {
        let enough = up(levels, free)?.max(last);
        (enough, times(enough, 2)?)
    } else {
        // Each rise of a period was rounded up by less than one.
        if free < 0 && free <= -(steps.stairs.len() as i128) {
            return Err(NoCertificate::NotAdmitted);
        }
        let end = steps.end()?.ok_or(NoCertificate::Repeats)?.max(last);
        (end, end)
    };
    while steps.before(horizon)? > MAX_STEPS {
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
    let mut flows: Vec<(i128, &Flow)> = link.deadlines().collect();
    flows.sort_by_key(|(deadline, flow)| std::cmp::Reverse((*deadline, flow.packet)));
    let (mut level, mut then) = (0, Vec::new());
    for (deadline, flow) in flows {
        if i128::from(flow.packet) > level {
            then.push((deadline, level));
            level = i128::from(flow.packet);
        }
    }
    then.reverse();
    (level, then)
}
