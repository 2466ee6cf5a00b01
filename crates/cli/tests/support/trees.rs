//! Random trees of the kernel's disciplines, and traffic for them.

use std::fmt::Write as _;

/// Largest packet, in bytes.
pub const LARGEST: u64 = 1500;

/// Rate of the emulated link in bit/s: a byte a microsecond.
const LINK: u64 = 8_000_000;

/// Rate at which the interface itself takes packets, which copies and system calls do not reach.
const DEVICE: u64 = 1_000_000_000;

/// How long flows send.
const UNTIL: u64 = 150_000_000;

/// A small generator with a period of 2^64.
pub struct Dice(u64);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }

    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }
}

/// A flow of a class.
pub struct Flow {
    /// Its class.
    pub class: String,
    /// Rate in bit/s of the bucket by which it is judged.
    pub rate: u64,
    /// Whether it keeps to a bucket; the others fill the link.
    pub bounded: bool,
    /// Times in ns and bytes.
    packets: Vec<(u64, u64)>,
}

/// A tree and its traffic.
pub struct Tree {
    /// What it is for: a discipline.
    pub kind: &'static str,
    /// For `tc -batch`.
    pub commands: String,
    /// The class of traffic that matches no flow.
    pub rest: String,
    /// Rate at which the device takes packets, in bit/s.
    pub link_rate: u64,
    /// The flows, `f0` and so on.
    pub flows: Vec<Flow>,
    /// Whether all flows begin at once.
    together: bool,
}

impl Tree {
    fn new(kind: &'static str, commands: &str, rest: &str, dice: &mut Dice) -> Tree {
        let together = dice.below(2) == 0;
        let (commands, rest) = (commands.to_owned(), rest.to_owned());
        Tree { kind, commands, rest, link_rate: DEVICE, flows: Vec::new(), together }
    }

    fn line(&mut self, command: &str) {
        self.commands += command;
        self.commands.push('\n');
    }

    /// Adds a flow, and a filter that leads it to its class.
    fn flow(&mut self, class: &str, rate: u64, bounded: bool, packets: Vec<(u64, u64)>) {
        let parent = class.split(':').next().unwrap_or_default();
        let port = 6000 + self.flows.len();
        let pref = self.flows.len() + 1;
        if self.kind != "tbf" {
            self.line(&format!(
                "filter add dev near parent {parent}: protocol ip pref {pref} flower ip_proto udp dst_port {port} classid {class}"
            ));
        }
        self.flows.push(Flow { class: class.to_owned(), rate, bounded, packets });
    }

    /// All packets, by time, as a packet trace.
    pub fn trace(&self) -> String {
        let flows = self.flows.iter().enumerate();
        let mut all: Vec<(u64, u64, usize)> = flows
            .flat_map(|(i, f)| f.packets.iter().map(move |(at, bytes)| (*at, *bytes, i)))
            .collect();
        all.sort();
        let mut out = String::from("time_ns,bytes,flow\n");
        for (at, bytes, i) in all {
            writeln!(out, "{at},{bytes},f{i}").expect("a string");
        }
        out
    }

    /// The flows for `traffic send`.
    pub fn senders(&self) -> String {
        let each = (0..self.flows.len()).map(|i| format!("f{i}={}:0", 6000 + i));
        each.collect::<Vec<_>>().join(" ") + "\n"
    }

    /// The flows for `traffic collect`.
    pub fn receivers(&self) -> String {
        let each =
            self.flows.iter().enumerate().map(|(i, f)| format!("f{i}={}:{}", 6000 + i, f.rate));
        each.collect::<Vec<_>>().join(" ") + "\n"
    }
}

/// As soon as the bucket allows, from `start`.
fn greedy(burst: u64, rate: u64, start: u64, until: u64, dice: &mut Dice) -> Vec<(u64, u64)> {
    let (mut out, mut sent) = (Vec::new(), 0u64);
    let large = dice.below(3) > 0;
    loop {
        let size =
            if large { dice.within(1200, LARGEST) } else { dice.within(80, LARGEST) }.min(burst);
        let need = (sent + size).saturating_sub(burst) * 8_000_000_000;
        let at = start + need.div_ceil(rate);
        if at > until {
            return out;
        }
        sent += size;
        out.push((at, size));
    }
}

/// When all begin at once: the blocking packets have arrived, and one has just begun to be sent.
const TOGETHER: u64 = 9 * 1_500_000 + 60_000;

/// Traffic of a bucket: with others at once, in bursts, or random.
fn traffic(burst: u64, rate: u64, together: bool, dice: &mut Dice) -> Vec<(u64, u64)> {
    if together {
        return greedy(burst, rate, TOGETHER, UNTIL, dice);
    }
    let start = TOGETHER + dice.below(4_000_000);
    if dice.below(2) == 0 {
        // Silent until the bucket is full again, once and once more.
        let refill = burst * 8_000_000_000 / rate;
        let (mut out, mut at) = (Vec::new(), start);
        while at < UNTIL {
            let end = at + dice.within(10_000_000, 60_000_000);
            out.extend(greedy(burst, rate, at, end.min(UNTIL), dice));
            at = end + refill;
        }
        return out;
    }
    let (mut out, mut at) = (Vec::new(), start);
    while at < UNTIL {
        let size = dice.within(80, LARGEST).min(burst);
        out.push((at, size));
        let mean = size * 8_000_000_000 / rate;
        at += mean / 2 + dice.below(mean * 2);
    }
    out
}

/// More than the link carries, from the beginning: its packets block.
fn flood(dice: &mut Dice) -> Vec<(u64, u64)> {
    let bytes = dice.within(60_000, 150_000);
    (0..bytes / LARGEST).map(|i| (i * 1000, LARGEST)).collect()
}

const SHAPER: &str = "qdisc add dev near root handle 1: tbf rate 8mbit burst 1514b limit 2mb\n";

/// The tree of a number, one kind after the other.
pub fn tree(number: u64) -> Tree {
    let mut dice = Dice(number * 2_654_435_761 + 88_172_645_463_325_252);
    match number % 6 {
        0 => tbf(&mut dice),
        1 => prio(&mut dice),
        2 => ets(&mut dice, number % 12 == 2),
        3 => drr(&mut dice),
        4 => htb(&mut dice, number % 12 == 4),
        _ => hfsc(&mut dice),
    }
}

fn tbf(dice: &mut Dice) -> Tree {
    let (rate, burst) = (dice.within(800, 6000) * 1000, dice.within(1600, 8000));
    let peak = match dice.below(3) {
        0 => format!(" peakrate {}bit mtu 1600", rate + dice.within(200, 4000) * 1000),
        _ => String::new(),
    };
    let root = format!(
        "qdisc add dev near root handle 1: tbf rate {rate}bit burst {burst}b limit 2mb{peak}\n"
    );
    let mut tree = Tree::new("tbf", &root, "1:1", dice);
    let own = dice.within(burst, burst + 12_000);
    let rate = rate - dice.below(rate / 3);
    tree.flow("1:1", rate, true, traffic(own, rate, true, dice));
    tree
}

/// Bands behind each other, the last one flooded.
fn bands(tree: &mut Tree, count: u64, dice: &mut Dice) {
    for band in 1..=count {
        let rate = LINK / (count + 1) * dice.within(40, 100) / 100;
        let burst = dice.within(1500, 9000);
        let packets = traffic(burst, rate, tree.together, dice);
        tree.flow(&format!("2:{band}"), rate, true, packets);
    }
}

fn prio(dice: &mut Dice) -> Tree {
    let count = dice.within(1, 3);
    let last = count + 1;
    let map = vec![count.to_string(); 16].join(" ");
    let bands_of = last.max(2);
    let line =
        format!("qdisc add dev near parent 1:1 handle 2: prio bands {bands_of} priomap {map}\n");
    let mut tree = Tree::new("prio", &(SHAPER.to_owned() + &line), &format!("2:{last}"), dice);
    bands(&mut tree, count, dice);
    tree.flow(&format!("2:{last}"), LINK, false, flood(dice));
    tree
}

/// Judged by its strict bands, or by the others behind one or none.
fn ets(dice: &mut Dice, by_strict: bool) -> Tree {
    let strict = if by_strict { dice.within(1, 2) } else { dice.below(2) };
    let quanta: Vec<u64> = (0..dice.within(2, 3)).map(|_| dice.within(800, 5000)).collect();
    let all = strict + quanta.len() as u64;
    let words: Vec<String> = quanta.iter().map(ToString::to_string).collect();
    let map = vec![(all - 1).to_string(); 16].join(" ");
    let strict_bands = if strict > 0 { format!("strict {strict} ") } else { String::new() };
    let line = format!(
        "qdisc add dev near parent 1:1 handle 2: ets bands {all} {strict_bands}quanta {} priomap {map}\n",
        words.join(" ")
    );
    let kind = if by_strict { "ets strict" } else { "ets" };
    let mut tree = Tree::new(kind, &(SHAPER.to_owned() + &line), &format!("2:{all}"), dice);
    bands(&mut tree, strict, dice);
    if !by_strict {
        let taken: u64 = tree.flows.iter().map(|f| f.rate).sum();
        shares(&mut tree, strict, &quanta, LINK - taken, dice);
        return tree;
    }
    for band in strict + 1..=all {
        tree.flow(&format!("2:{band}"), LINK, false, flood(dice));
    }
    tree
}

/// The first quantum bounded, the others flooded.
fn shares(tree: &mut Tree, before: u64, quanta: &[u64], link: u64, dice: &mut Dice) {
    let frame: u64 = quanta.iter().sum();
    let share = link * quanta[0] / frame;
    let rate = (share * dice.within(40, 98) / 100).max(8000);
    let burst = dice.within(1500, 8000);
    tree.flow(&format!("2:{}", before + 1), rate, true, traffic(burst, rate, tree.together, dice));
    for i in 1..quanta.len() as u64 {
        tree.flow(&format!("2:{}", before + 1 + i), LINK, false, flood(dice));
    }
}

fn drr(dice: &mut Dice) -> Tree {
    let quanta: Vec<u64> = (0..dice.within(2, 4)).map(|_| dice.within(500, 5000)).collect();
    let mut lines = SHAPER.to_owned() + "qdisc add dev near parent 1:1 handle 2: drr\n";
    for (i, quantum) in quanta.iter().enumerate() {
        writeln!(lines, "class add dev near parent 2: classid 2:{} drr quantum {quantum}", i + 1)
            .expect("a string");
    }
    let mut tree = Tree::new("drr", &lines, "2:2", dice);
    shares(&mut tree, 0, &quanta, LINK, dice);
    tree
}

/// Leaves below a shaper, or alone on the interface.
fn htb(dice: &mut Dice, alone: bool) -> Tree {
    let (before, parent) = if alone { ("", "root") } else { (SHAPER, "parent 1:1") };
    let lines = format!(
        "{before}qdisc add dev near {parent} handle 2: htb default 4\n\
         class add dev near parent 2: classid 2:9 htb rate 8mbit ceil 8mbit burst 6000 cburst 6000 quantum 1500\n"
    );
    let kind = if alone { "htb alone" } else { "htb" };
    let mut tree = Tree::new(kind, &lines, "2:4", dice);
    if alone {
        tree.link_rate = DEVICE / 10;
    }
    let leaf = |tree: &mut Tree, minor: u64, prio: u64, rate: u64, burst: u64, dice: &mut Dice| {
        let (ceil, cburst) = match dice.below(3) {
            0 => (rate, dice.within(1600, 9000)),
            _ => (LINK, dice.within(1600, 9000)),
        };
        tree.line(&format!(
            "class add dev near parent 2:9 classid 2:{minor} htb prio {prio} rate {rate}bit ceil {ceil}bit burst {burst} cburst {cburst} quantum 1500"
        ));
    };
    for minor in 1..=3 {
        let (rate, burst) = (dice.within(400, 2000) * 1000, dice.within(2000, 12_000));
        leaf(&mut tree, minor, minor - 1, rate, burst, dice);
        // Beside a slow link a class has less than its rate where its burst is small.
        let sure = rate * if alone { dice.within(60, 100) } else { dice.within(30, 90) } / 100;
        let own = dice.within(1500, 12_000);
        let packets = traffic(own, sure, tree.together, dice);
        tree.flow(&format!("2:{minor}"), sure, true, packets);
    }
    leaf(&mut tree, 4, 7, 400_000, 3000, dice);
    tree.flow("2:4", LINK, false, flood(dice));
    tree
}

fn hfsc(dice: &mut Dice) -> Tree {
    let lines = SHAPER.to_owned()
        + "qdisc add dev near parent 1:1 handle 2: hfsc default 4\n\
           class add dev near parent 2: classid 2:9 hfsc ls m2 8mbit\n";
    let mut tree = Tree::new("hfsc", &lines, "2:4", dice);
    for minor in 1..=3u64 {
        let m2 = dice.within(300, 1600) * 1000;
        let (m1, d) = match dice.below(2) {
            0 => (m2 + dice.within(200, 1000) * 1000, dice.within(5, 40)),
            _ => (0, dice.within(1, 20)),
        };
        tree.line(&format!(
            "class add dev near parent 2:9 classid 2:{minor} hfsc rt m1 {m1}bit d {d}ms m2 {m2}bit ls m2 80kbit"
        ));
        let rate = m2 * dice.within(50, 100) / 100;
        let burst = dice.within(1500, 8000);
        let packets = traffic(burst, rate, tree.together, dice);
        tree.flow(&format!("2:{minor}"), rate, true, packets);
    }
    tree.line("class add dev near parent 2:9 classid 2:4 hfsc ls m2 7mbit");
    tree.flow("2:4", LINK, false, flood(dice));
    tree
}
