//! Packets through models of the kernel's disciplines, none later than its bound.
//!
//! Time is in whole ns, work in nanobits, so the models are exact. Traffic is the worst that an envelope
//! allows, beside other classes that are always backlogged or greedy.

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::{Curve, Rational};
use laxity_tc::{HtbClass, Tbf};

use super::service::{Offered, Service, nanobits};
use super::{Device, bands, htb, shaper};

const C: u64 = 8_000_000;
const BYTE: i128 = 8_000_000_000;

fn device() -> Device {
    Device { rate: Rate(C), max_packet: Bytes(1500), timer_lateness: Span(0) }
}

/// A small generator with a period of 2^64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Arrivals `(ns, bytes)` of a flow that spends its bucket as soon as it can, after `start`.
fn greedy(burst: u64, rate: u64, start: i128, until: i128, dice: &mut Dice) -> Vec<(i128, u64)> {
    let (mut out, mut sent) = (Vec::new(), 0i128);
    loop {
        let size = 64 + dice.below(1437);
        let need = (sent + i128::from(size)) * BYTE - i128::from(burst) * BYTE;
        let at = start + (need.max(0) + i128::from(rate) - 1) / i128::from(rate);
        if at > until {
            return out;
        }
        sent += i128::from(size);
        out.push((at, size));
    }
}

/// A model chooses the queue that sends at an instant, or the next instant at which it may.
trait Model {
    fn pick(&mut self, now: i128, heads: &[Option<u64>]) -> Result<usize, Option<i128>>;
    fn sent(&mut self, queue: usize, size: u64, more: bool);
}

/// The largest delay in each queue.
fn run(model: &mut dyn Model, arrivals: &[Vec<(i128, u64)>]) -> Vec<i128> {
    let mut next = vec![0usize; arrivals.len()];
    let mut worst = vec![0i128; arrivals.len()];
    let mut now = 0;
    loop {
        let heads: Vec<Option<u64>> = arrivals
            .iter()
            .zip(&next)
            .map(|(a, n)| a.get(*n).filter(|(at, _)| *at <= now).map(|(_, size)| *size))
            .collect();
        let coming = arrivals.iter().zip(&next).filter_map(|(a, n)| a.get(*n)).map(|(at, _)| *at);
        let coming = coming.filter(|at| *at > now).min();
        match model.pick(now, &heads) {
            Ok(queue) => {
                let (at, size) = arrivals[queue][next[queue]];
                next[queue] += 1;
                let more = arrivals[queue].get(next[queue]).is_some_and(|(at, _)| *at <= now);
                model.sent(queue, size, more);
                now += i128::from(size) * BYTE / i128::from(C);
                worst[queue] = worst[queue].max(now - at);
            }
            Err(wake) => match [wake, coming].into_iter().flatten().min() {
                Some(at) => now = at,
                None => return worst,
            },
        }
    }
}

fn bound(offered: Offered, burst: u64, rate: u64) -> i128 {
    let curve = offered.expect("a guarantee").curve;
    let bucket = Curve::line(rate.into(), nanobits(burst));
    bucket.delay(&curve).expect("fits").expect("bounded").ceil()
}

struct Prio;

impl Model for Prio {
    fn pick(&mut self, _: i128, heads: &[Option<u64>]) -> Result<usize, Option<i128>> {
        heads.iter().position(Option::is_some).ok_or(None)
    }

    fn sent(&mut self, _: usize, _: u64, _: bool) {}
}

// Fails when the blocking packet is left out of the rule, or the bands above count by their rate alone.
#[test]
fn no_packet_of_prio_is_later() {
    let (device, whole) = (device(), Service::of_device(&device()));
    let mut closest = 0;
    for seed in 1..60 {
        let mut dice = Dice(seed);
        let (b0, r0) = (1500 + dice.below(6000), 500_000 + dice.below(3_000_000));
        let (b1, r1) = (1500 + dice.below(6000), 500_000 + dice.below(3_000_000));
        let until = 400_000_000;
        // A blocker just before both begin.
        let blocker = vec![(0, 1500)];
        let arrivals =
            [greedy(b0, r0, 1, until, &mut dice), greedy(b1, r1, 1, until, &mut dice), blocker];
        let worst = run(&mut Prio, &arrivals);
        let first = bound(bands::strict(&[], &whole, &device).expect("fits"), b0, r0);
        let above = [Ok(Curve::line(r0.into(), nanobits(b0)))];
        let second = bound(bands::strict(&above, &whole, &device).expect("fits"), b1, r1);
        assert!(worst[0] <= first, "{seed}: {} > {first}", worst[0]);
        assert!(worst[1] <= second, "{seed}: {} > {second}", worst[1]);
        closest = closest.max(worst[1] * 100 / second);
    }
    assert!(closest >= 85, "the rule is far from what happens: {closest} %");
}

struct Tokens {
    rate: i128,
    burst: i128,
    level: i128,
    at: i128,
}

impl Tokens {
    fn new(rate: u64, burst: u64) -> Tokens {
        let burst = i128::from(burst) * BYTE;
        Tokens { rate: rate.into(), burst, level: burst, at: 0 }
    }

    fn fill(&mut self, now: i128) {
        self.level = (self.level + (now - self.at) * self.rate).min(self.burst);
        self.at = now;
    }
}

struct Shaper(Tokens);

impl Model for Shaper {
    fn pick(&mut self, now: i128, heads: &[Option<u64>]) -> Result<usize, Option<i128>> {
        let Some(size) = heads[0] else { return Err(None) };
        self.0.fill(now);
        let missing = i128::from(size) * BYTE - self.0.level;
        match missing <= 0 {
            true => Ok(0),
            false => Err(Some(now + (missing + self.0.rate - 1) / self.0.rate)),
        }
    }

    fn sent(&mut self, _: usize, size: u64, _: bool) {
        self.0.level -= i128::from(size) * BYTE;
    }
}

// Fails when the packet that waits for its tokens is left out of the rule.
#[test]
fn no_packet_of_tbf_is_later() {
    let (device, whole) = (device(), Service::of_device(&device()));
    for seed in 1..60 {
        let mut dice = Dice(seed);
        let (rate, burst) = (500_000 + dice.below(4_000_000), 1500 + dice.below(5000));
        let own = (burst + dice.below(6000), rate - dice.below(rate / 2));
        let arrivals = [greedy(own.0, own.1, 0, 400_000_000, &mut dice)];
        let worst = run(&mut Shaper(Tokens::new(rate, burst)), &arrivals);
        let tbf = Tbf { rate, burst, peak: None, overhead: 0, mpu: 0 };
        let bound = bound(shaper::tbf(&tbf, &whole, &device).expect("fits"), own.0, own.1);
        assert!(worst[0] <= bound, "{seed}: {} > {bound}", worst[0]);
    }
}

/// `drr_dequeue`: the class at the head of the list sends while its deficit suffices; with its last packet
/// it leaves the list, and comes back with a fresh quantum.
struct RoundRobin {
    quanta: Vec<u64>,
    deficit: Vec<u64>,
    list: Vec<usize>,
}

impl Model for RoundRobin {
    fn pick(&mut self, _: i128, heads: &[Option<u64>]) -> Result<usize, Option<i128>> {
        for (i, head) in heads.iter().enumerate() {
            if head.is_some() && !self.list.contains(&i) {
                self.list.push(i);
                self.deficit[i] = self.quanta[i];
            }
        }
        while let Some(&i) = self.list.first() {
            let Some(size) = heads[i] else { break };
            if size <= self.deficit[i] {
                return Ok(i);
            }
            self.deficit[i] += self.quanta[i];
            self.list.rotate_left(1);
        }
        Err(None)
    }

    fn sent(&mut self, queue: usize, size: u64, more: bool) {
        self.deficit[queue] -= size;
        if !more {
            self.list.retain(|i| *i != queue);
        }
    }
}

// Fails when a class's own packet does not count in the round, or quanta below a packet take a round only.
#[test]
fn no_packet_of_drr_is_later() {
    let (device, whole) = (device(), Service::of_device(&device()));
    for seed in 1..80 {
        let mut dice = Dice(seed);
        let quanta: Vec<u64> = (0..3).map(|_| 500 + dice.below(4000)).collect();
        let frame: u64 = quanta.iter().sum();
        let share = C * quanta[0] / frame;
        let own = (1500 + dice.below(3000), share * (50 + dice.below(50)) / 100);
        let until = 300_000_000;
        let start = i128::from(dice.below(20_000_000));
        let arrivals = [
            greedy(own.0, own.1, start, until, &mut dice),
            greedy(1_000_000, 1_000_000, 0, until, &mut dice),
            greedy(1_000_000, 1_000_000, 0, until, &mut dice),
        ];
        let mut model =
            RoundRobin { deficit: vec![0; 3], list: Vec::new(), quanta: quanta.clone() };
        let worst = run(&mut model, &arrivals);
        let offered = bands::round_robin(quanta[0], &quanta, &whole, &device).expect("fits");
        let bound = bound(offered, own.0, own.1);
        assert!(worst[0] <= bound, "{seed}: {} > {bound}", worst[0]);
    }
}

/// HTB with leaves below one root: those with tokens first, by `prio`; borrowing by `ceil` only if none has.
struct Htb {
    classes: Vec<(u64, Tokens)>,
}

impl Model for Htb {
    fn pick(&mut self, now: i128, heads: &[Option<u64>]) -> Result<usize, Option<i128>> {
        let waiting: Vec<usize> = (0..heads.len()).filter(|i| heads[*i].is_some()).collect();
        for (_, tokens) in &mut self.classes {
            tokens.fill(now);
        }
        let able = waiting.iter().filter(|i| self.classes[**i].1.level >= 0);
        // Among equal priorities the kernel takes turns; the worst for a class is to be last.
        let best = able.max_by_key(|i| (u64::MAX - self.classes[**i].0, **i));
        if let Some(best) = best {
            return Ok(*best);
        }
        let wake = waiting.iter().map(|i| {
            let tokens = &self.classes[*i].1;
            now + (-tokens.level + tokens.rate - 1) / tokens.rate
        });
        Err(wake.min())
    }

    fn sent(&mut self, queue: usize, size: u64, _: bool) {
        self.classes[queue].1.level -= i128::from(size) * BYTE;
    }
}

// Fails when a class ahead counts without its packet beyond the burst, or lost tokens do not count.
#[test]
fn no_packet_of_htb_is_later() {
    let device = device();
    let link = (Rational::from(C), Rational::ZERO);
    let mut tried = 0;
    for seed in 1..120 {
        let mut dice = Dice(seed);
        let class = |dice: &mut Dice, prio| HtbClass {
            prio: Some(prio),
            rate: 400_000 + dice.below(2_500_000),
            ceil: C,
            burst: 1500 + dice.below(9000),
            cburst: 1_000_000,
            overhead: 0,
            mpu: 0,
            cells: false,
        };
        let all = [class(&mut dice, 1), class(&mut dice, 0), class(&mut dice, 1)];
        let offered = htb::leaf(&all[0], &all[1..], link, &device).expect("fits");
        let Ok(service) = &offered else { continue };
        let share = service.curve.long_term_slope().expect("fits").floor() as u64;
        let own = (1500 + dice.below(6000), share * (40 + dice.below(60)) / 100);
        let (until, start) = (600_000_000, i128::from(dice.below(30_000_000)));
        let arrivals = [
            greedy(own.0, own.1, start, until, &mut dice),
            greedy(2_000_000, 1_000_000, 0, until, &mut dice),
            greedy(2_000_000, 1_000_000, 0, until, &mut dice),
        ];
        let classes = all.iter().map(|c| (c.prio.unwrap_or(0), Tokens::new(c.rate, c.burst)));
        let worst = run(&mut Htb { classes: classes.collect() }, &arrivals);
        let bound = bound(offered, own.0, own.1);
        assert!(worst[0] <= bound, "{seed}: {} > {bound}", worst[0]);
        tried += 1;
    }
    assert!(tried >= 60, "{tried} configurations had a guarantee");
}

/// Credit of a queue, in nanobits.
struct Credit {
    idle: i128,
    most: i128,
    level: i128,
    at: i128,
}

/// A port that serves queues with credit first, in their order, then best effort (IEEE 802.1Q-2018, 8.6.8.2).
struct Port {
    credits: Vec<Credit>,
    arrivals: Vec<Vec<(i128, u64)>>,
    next: Vec<usize>,
}

impl Port {
    /// Credit grows while a packet waits, and up to nothing while none does.
    fn fill(&mut self, now: i128, heads: &[Option<u64>]) {
        for (i, c) in self.credits.iter_mut().enumerate() {
            let waits_from = match heads[i] {
                Some(_) => self.arrivals[i][self.next[i]].0.max(c.at),
                None => now,
            };
            if waits_from > c.at {
                c.level = (c.level + c.idle * (waits_from - c.at)).min(0);
            }
            c.level = (c.level + c.idle * (now - waits_from)).min(c.most);
            c.at = now;
        }
    }
}

impl Model for Port {
    fn pick(&mut self, now: i128, heads: &[Option<u64>]) -> Result<usize, Option<i128>> {
        self.fill(now, heads);
        let waiting = |i: &usize| heads[*i].is_some();
        if let Some(i) =
            (0..self.credits.len()).filter(waiting).find(|i| self.credits[*i].level >= 0)
        {
            return Ok(i);
        }
        if waiting(&self.credits.len()) {
            return Ok(self.credits.len());
        }
        let able = |i: usize| {
            let c = &self.credits[i];
            now + (-c.level + c.idle - 1) / c.idle
        };
        Err((0..self.credits.len()).filter(waiting).map(able).min())
    }

    fn sent(&mut self, queue: usize, size: u64, _: bool) {
        self.next[queue] += 1;
        if let Some(c) = self.credits.get_mut(queue) {
            c.level -= i128::from(size) * BYTE;
        }
    }
}

// Fails when the second queue does not wait for the credit of the first, or a queue for a packet of the others.
#[test]
fn no_packet_of_cbs_is_later() {
    let (device, whole) = (device(), Service::of_device(&device()));
    let mut closest = [0; 2];
    for seed in 1..120 {
        let mut dice = Dice(seed);
        let mut above: Vec<Result<Curve, String>> = Vec::new();
        let (mut credits, mut bounds, mut arrivals) = (Vec::new(), Vec::new(), Vec::new());
        let until = 400_000_000;
        for _ in 0..2 {
            let idle = (500 + dice.below(2500)) as i64 * 1000;
            let offered = match above.is_empty() {
                true => whole.clone(),
                false => bands::strict(&above, &whole, &device).expect("fits").expect("bounded"),
            };
            let (rate, latency) = offered.link.expect("a rate");
            let blocked = if above.is_empty() {
                device.packet().over(rate).expect("fits")
            } else {
                Rational::ZERO
            };
            let wait = latency.plus(blocked).expect("fits");
            let earned = wait.times(Rational::whole(idle.into())).expect("fits");
            let hicredit = earned.over(nanobits(1)).expect("fits").ceil() as i64;
            let slopes = (idle, idle - C as i64, hicredit);
            let own = (1500 + dice.below(6000), idle as u64 * (50 + dice.below(50)) / 100);
            let served = shaper::cbs(slopes, true, &offered, &device).expect("fits");
            bounds.push(bound(served, own.0, own.1));
            // Both begin just behind a packet of best effort.
            arrivals.push(greedy(own.0, own.1, 1, until, &mut dice));
            let most = i128::from(hicredit) * BYTE;
            credits.push(Credit { idle: idle.into(), most, level: 0, at: 0 });
            above.push(Ok(shaper::credit_bounded((idle, hicredit), &device).expect("fits")));
        }
        arrivals.push((0..400).map(|i| (i, 1500)).collect());
        let mut port = Port { credits, arrivals: arrivals.clone(), next: vec![0; 3] };
        let worst = run(&mut port, &arrivals);
        for queue in 0..2 {
            assert!(
                worst[queue] <= bounds[queue],
                "{seed}: {queue}: {} > {}",
                worst[queue],
                bounds[queue]
            );
            closest[queue] = closest[queue].max(worst[queue] * 100 / bounds[queue]);
        }
    }
    assert!(closest.iter().all(|c| *c >= 80), "the rule is far from what happens: {closest:?} %");
}
