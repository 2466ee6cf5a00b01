//! The format of certificates: text, a keyword and whole numbers a line.
//!
//! The first line is `laxity-certificate 1`. Then come blocks, one for a link, for each CPU or cluster one for each
//! instant at which its reservations change; a block has its facts, the line `proof`, the numbers of the proof, and the
//! line `end`. `docs/reference/certificate.md` describes each line.

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::FromStr;

use crate::facts::{ClusterFacts, ClusterProof, CpuFacts, CpuProof, FlowProof, LinkProof, printed};
use crate::{
    Envelope, Facts, Flow, Line, LinkFacts, Piece, Promise, Proof, Refusal, Reservation, Service,
};

/// Version of the format.
pub const VERSION: u32 = 1;

const HEADER: &str = "laxity-certificate";

/// What begins a block.
const KINDS: &str = "`link`, `cpu` or `cluster`";

/// The certificate of a link.
pub fn link(facts: &LinkFacts, proof: &LinkProof) -> String {
    write(&[(Facts::Link(facts.clone()), Proof::Link(proof.clone()))])
}

/// A certificate of blocks.
pub fn write(blocks: &[(Facts, Proof)]) -> String {
    let mut out = format!("{HEADER} {VERSION}\n");
    for (facts, proof) in blocks {
        for line in facts_lines(facts) {
            out.push_str(&line);
            out.push('\n');
        }
        out.push_str("proof\n");
        match proof {
            Proof::Link(proof) => link_proof(&mut out, proof),
            Proof::Cpu(proof) => cpu_proof(&mut out, proof),
            Proof::Cluster(proof) => cluster_proof(&mut out, proof),
        }
        out.push_str("end\n");
    }
    out
}

/// The facts of a scenario alone, in the same lines: what an independent checker compares.
pub fn write_facts(all: &[Facts]) -> String {
    let mut out = format!("{HEADER} {VERSION}\n");
    for facts in all {
        out.push_str(&facts_lines(facts).join("\n"));
        out.push('\n');
    }
    out
}

fn facts_lines(facts: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    match facts {
        Facts::Link(link) => {
            lines.push("link".to_owned());
            lines.push(format!("rate {}", link.rate));
            lines.push(format!("best-effort {}", link.best_effort));
            lines.push(format!("backlog {}", link.backlog));
            lines.push(format!("blocking {}", if link.paper { "paper" } else { "exact" }));
            for flow in &link.flows {
                lines.push(format!("flow {}", printed(&flow.name)).trim_end().to_owned());
                let bucket = |(burst, rate): &(u64, u64)| format!("bucket {burst} {rate}");
                match &flow.promise {
                    Promise::Deadline { deadline, envelope } => {
                        lines.push(format!("deadline {deadline}"));
                        lines.push(format!("packet {}", flow.packet));
                        match envelope {
                            Envelope::Buckets(buckets) => lines.extend(buckets.iter().map(bucket)),
                            Envelope::Periodic { size, period, jitter } => {
                                lines.push(format!("periodic {size} {period} {jitter}"));
                            }
                        }
                    }
                    Promise::Service(service) => {
                        lines.push(format!("packets {} {}", service.smallest, flow.packet));
                        for p in &service.pieces {
                            let (n, d) = p.from;
                            lines.push(format!("piece {n} {d} {} {} {}", p.level, p.rise, p.over));
                        }
                        lines.extend(service.buckets.iter().map(bucket));
                    }
                }
            }
        }
        Facts::Cpu(cpu) => {
            lines.push(cpu.number.map_or("cpu".to_owned(), |number| format!("cpu {number}")));
            lines.extend(share_lines(cpu.from, cpu.unit, cpu.best_effort, &cpu.reservations));
        }
        Facts::Cluster(cluster) => {
            let number = cluster.number.map_or(String::new(), |number| format!(" {number}"));
            lines.push(format!("cluster{number}"));
            lines.push(format!("cpus {}", cluster.cpus));
            let ClusterFacts { from, unit, best_effort, reservations, .. } = cluster;
            lines.extend(share_lines(*from, *unit, *best_effort, reservations));
        }
    }
    lines
}

/// The lines that a CPU and a cluster have in common; [`Reader::shares`] reads them.
fn share_lines(
    from: u64,
    unit: u64,
    best_effort: u64,
    reservations: &[Reservation],
) -> Vec<String> {
    let mut lines =
        vec![format!("from {from}"), format!("unit {unit}"), format!("best-effort {best_effort}")];
    for r in reservations {
        lines.push(format!("reservation {}", printed(&r.name)).trim_end().to_owned());
        lines.push(format!("budget {}", r.budget));
        lines.push(format!("period {}", r.period));
        lines.push(format!("deadline {}", r.deadline));
    }
    lines
}

fn link_proof(out: &mut String, proof: &LinkProof) {
    for flow in &proof.flows {
        match flow {
            FlowProof::Corners(corners) => {
                out.push_str("corners");
                for corner in corners {
                    let _ = write!(out, " {corner}");
                }
                out.push('\n');
            }
            FlowProof::Steps(steps) => {
                let _ = writeln!(out, "steps {steps}");
            }
            FlowProof::Service { first, steps } => {
                let _ = writeln!(out, "first {first}\nsteps {steps}");
            }
        }
    }
    let _ = writeln!(out, "horizon {}", proof.horizon);
    let _ = writeln!(out, "blocks {}", proof.blocks);
    for (until, next) in &proof.then_blocks {
        let _ = writeln!(out, "until {until} {next}");
    }
    for line in &proof.curve {
        let _ = writeln!(out, "curve {} {} {}", line.at, line.rise, line.level);
    }
    let _ = writeln!(out, "binding {} {}", proof.binding, proof.residual);
}

fn cpu_proof(out: &mut String, proof: &CpuProof) {
    let _ = writeln!(out, "parts {}", proof.parts);
    let _ = writeln!(out, "short {}", proof.short);
    for steps in &proof.steps {
        let _ = writeln!(out, "steps {steps}");
    }
    let _ = writeln!(out, "horizon {}", proof.horizon);
}

fn cluster_proof(out: &mut String, proof: &ClusterProof) {
    let ClusterProof { parts, sum, largest } = proof;
    let _ = write!(out, "parts {parts}\nsum {sum}\nlargest {largest}\n");
}

/// Reads a certificate.
///
/// # Errors
/// The first line that is not as it should be.
pub fn read(text: &str) -> Result<Vec<(Facts, Proof)>, Refusal> {
    let mut reader = Reader { lines: lines(text).peekable(), at: 0 };
    let header = reader.lines.next().unwrap_or_default();
    if !words(header).eq([HEADER, &VERSION.to_string()]) {
        return Err(Refusal::Version { found: shown(header) });
    }
    reader.at = 1;
    let mut blocks = Vec::new();
    while reader.lines.peek().is_some() {
        if reader.takes("link") {
            blocks.push((Facts::Link(reader.link()?), Proof::Link(reader.link_proof()?)));
        } else if let Some(number) = reader.list("cpu", "`cpu`, and its number of several")? {
            blocks.push((Facts::Cpu(reader.cpu(&number)?), Proof::Cpu(reader.cpu_proof()?)));
        } else if let Some(number) =
            reader.list("cluster", "`cluster`, and its number of several")?
        {
            let facts = Facts::Cluster(reader.cluster(&number)?);
            blocks.push((facts, Proof::Cluster(reader.cluster_proof()?)));
        } else {
            return Err(reader.wrong(KINDS));
        }
        reader.word("end", "`end`")?;
    }
    if blocks.is_empty() { Err(reader.wrong(KINDS)) } else { Ok(blocks) }
}

/// Compares what a certificate is about with a scenario.
///
/// # Errors
/// The first line that differs, with its number.
pub fn compare(text: &str, scenario: &[Facts]) -> Result<(), Refusal> {
    let mut proof = false;
    let mut end = 0;
    let mut written = lines(text).enumerate().filter_map(|(index, line)| {
        end = index + 1;
        match line {
            _ if index == 0 => None,
            "proof" => {
                proof = true;
                None
            }
            "end" => {
                proof = false;
                None
            }
            _ if proof => None,
            _ => Some((index + 1, line)),
        }
    });
    let mut wanted = scenario.iter().flat_map(facts_lines);
    loop {
        let (found, want) = (written.next(), wanted.next());
        if found.is_none() && want.is_none() {
            return Ok(());
        }
        if found.map(|(_, line)| line) == want.as_deref() {
            continue;
        }
        drop(written);
        let (line, found) = found.unwrap_or((end, "nothing more"));
        let scenario = want.unwrap_or_else(|| "nothing more".to_owned());
        return Err(Refusal::Facts { line, certificate: shown(found), scenario });
    }
}

/// The lines of a certificate, without the spaces around them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_terminator('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line).trim_matches(' '))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(' ').filter(|word| !word.is_empty())
}

/// The beginning of a line, for a message.
fn shown(line: &str) -> String {
    line.chars().take(200).collect()
}

/// Reads one line after the other: a file of empty lines takes no memory.
struct Reader<'a, L: Iterator<Item = &'a str>> {
    lines: Peekable<L>,
    /// Index of the next line.
    at: usize,
}

impl<'a, L: Iterator<Item = &'a str>> Reader<'a, L> {
    fn wrong(&self, expected: &'static str) -> Refusal {
        Refusal::Syntax { line: self.at + 1, expected }
    }

    /// What follows a keyword in the next line, if it begins with that.
    fn next_after(&mut self, keyword: &str) -> Option<&'a str> {
        let rest = self.lines.peek()?.strip_prefix(keyword)?;
        (rest.is_empty() || rest.starts_with(' ')).then(|| rest.trim_matches(' '))
    }

    /// The same, and goes on to the line after it.
    fn after(&mut self, keyword: &str) -> Option<&'a str> {
        let rest = self.next_after(keyword)?;
        self.lines.next();
        self.at += 1;
        Some(rest)
    }

    fn takes(&mut self, keyword: &str) -> bool {
        self.next_after(keyword) == Some("") && self.after(keyword).is_some()
    }

    fn word(&mut self, keyword: &str, expected: &'static str) -> Result<(), Refusal> {
        if self.takes(keyword) { Ok(()) } else { Err(self.wrong(expected)) }
    }

    /// The whole numbers after a keyword, if the next line begins with it.
    fn list<T: FromStr + ToString>(
        &mut self,
        keyword: &str,
        expected: &'static str,
    ) -> Result<Option<Vec<T>>, Refusal> {
        let Some(rest) = self.after(keyword) else { return Ok(None) };
        // As they are printed: no sign or zero in front.
        let number = |word: &str| word.parse().ok().filter(|n: &T| n.to_string() == word);
        let numbers: Option<Vec<T>> = words(rest).map(number).collect();
        numbers.map(Some).ok_or(Refusal::Syntax { line: self.at, expected })
    }

    fn numbers<T: FromStr + ToString, const N: usize>(
        &mut self,
        keyword: &str,
        expected: &'static str,
    ) -> Result<Option<[T; N]>, Refusal> {
        let Some(list) = self.list(keyword, expected)? else { return Ok(None) };
        let exact: Result<[T; N], _> = list.try_into();
        exact.map(Some).map_err(|_| Refusal::Syntax { line: self.at, expected })
    }

    fn number<T: FromStr + ToString>(
        &mut self,
        keyword: &str,
        expected: &'static str,
    ) -> Result<T, Refusal> {
        match self.numbers::<T, 1>(keyword, expected)? {
            Some([number]) => Ok(number),
            None => Err(self.wrong(expected)),
        }
    }

    fn link(&mut self) -> Result<LinkFacts, Refusal> {
        let rate = self.number("rate", "`rate` and bit/s")?;
        let best_effort = self.number("best-effort", "`best-effort` and bytes")?;
        let backlog = self.number("backlog", "`backlog` and bytes")?;
        let paper = match self.after("blocking") {
            Some("paper") => true,
            Some("exact") => false,
            _ => return Err(self.wrong("`blocking paper` or `blocking exact`")),
        };
        let mut flows = Vec::new();
        while let Some(name) = self.after("flow") {
            let sizes = self.numbers("packets", "`packets` and two sizes in bytes")?;
            let (packet, promise) = match sizes {
                Some([smallest, packet]) => (packet, Promise::Service(self.service(smallest)?)),
                None => self.deadline()?,
            };
            flows.push(Flow { name: name.to_owned(), packet, promise });
        }
        Ok(LinkFacts { rate, best_effort, backlog, paper, flows })
    }

    fn buckets(&mut self) -> Result<Vec<(u64, u64)>, Refusal> {
        let mut buckets = Vec::new();
        while let Some([burst, rate]) = self.numbers("bucket", "`bucket`, bytes, bit/s")? {
            buckets.push((burst, rate));
        }
        Ok(buckets)
    }

    fn deadline(&mut self) -> Result<(u64, Promise), Refusal> {
        let deadline = self.number("deadline", "`deadline` and ns, or `packets` and two sizes")?;
        let packet = self.number("packet", "`packet` and bytes")?;
        let buckets = self.buckets()?;
        let periodic = "`periodic`, bytes, ns, ns, or `bucket`, bytes, bit/s";
        let envelope = if buckets.is_empty() {
            match self.numbers("periodic", periodic)? {
                Some([size, period, jitter]) => Envelope::Periodic { size, period, jitter },
                None => return Err(self.wrong(periodic)),
            }
        } else {
            Envelope::Buckets(buckets)
        };
        Ok((packet, Promise::Deadline { deadline, envelope }))
    }

    fn service(&mut self, smallest: u64) -> Result<Service, Refusal> {
        let expected = "`piece`, two numbers of its begin, three of its line";
        let mut pieces = Vec::new();
        while let Some([n, d, level, rise, over]) = self.numbers("piece", expected)? {
            pieces.push(Piece { from: (n, d), level, rise, over });
        }
        if pieces.is_empty() {
            return Err(self.wrong(expected));
        }
        Ok(Service { smallest, pieces, buckets: self.buckets()? })
    }

    fn link_proof(&mut self) -> Result<LinkProof, Refusal> {
        self.word("proof", "`flow` or `proof`")?;
        let mut flows = Vec::new();
        loop {
            if let Some(corners) = self.list("corners", "`corners` and ticks")? {
                flows.push(FlowProof::Corners(corners));
            } else if let Some([steps]) = self.numbers("steps", "`steps` and a number")? {
                flows.push(FlowProof::Steps(steps));
            } else if let Some([first]) = self.numbers("first", "`first` and a tick")? {
                let steps = self.number("steps", "`steps` and a number")?;
                flows.push(FlowProof::Service { first, steps });
            } else {
                break;
            }
        }
        let horizon =
            self.number("horizon", "`corners`, `first`, `steps` or `horizon` and a tick")?;
        let blocks = self.number("blocks", "`blocks` and bytes")?;
        let mut then_blocks = Vec::new();
        while let Some([until, next]) = self.numbers("until", "`until`, ns, bytes")? {
            then_blocks.push((until, next));
        }
        let mut curve = Vec::new();
        while let Some([at, rise, level]) = self.numbers("curve", "`curve`, tick, rise, level")? {
            curve.push(Line { at, rise, level });
        }
        let binding = "`until`, `curve` or `binding`, tick, residual";
        match self.numbers("binding", binding)? {
            Some([binding, residual]) => {
                Ok(LinkProof { flows, horizon, blocks, then_blocks, curve, binding, residual })
            }
            None => Err(self.wrong(binding)),
        }
    }

    fn cpu(&mut self, number: &[u32]) -> Result<CpuFacts, Refusal> {
        let number = self.one_at_most(number, "`cpu` and one number")?;
        let (from, unit, best_effort, reservations) = self.shares()?;
        Ok(CpuFacts { number, from, unit, best_effort, reservations })
    }

    fn cluster(&mut self, number: &[u32]) -> Result<ClusterFacts, Refusal> {
        let number = self.one_at_most(number, "`cluster` and one number")?;
        let cpus = self.number("cpus", "`cpus` and a number")?;
        let (from, unit, best_effort, reservations) = self.shares()?;
        Ok(ClusterFacts { number, cpus, from, unit, best_effort, reservations })
    }

    /// The number that was read after a keyword, if any.
    fn one_at_most(&self, list: &[u32], expected: &'static str) -> Result<Option<u32>, Refusal> {
        match *list {
            [] => Ok(None),
            [number] => Ok(Some(number)),
            _ => Err(Refusal::Syntax { line: self.at, expected }),
        }
    }

    /// From when on reservations are in force, the unit, what best effort keeps, and the reservations.
    fn shares(&mut self) -> Result<(u64, u64, u64, Vec<Reservation>), Refusal> {
        let from = self.number("from", "`from` and ns")?;
        let unit = self.number("unit", "`unit` and a number")?;
        let best_effort = self.number("best-effort", "`best-effort` and a number")?;
        let mut reservations = Vec::new();
        while let Some(name) = self.after("reservation") {
            let budget = self.number("budget", "`budget` and ns")?;
            let period = self.number("period", "`period` and ns")?;
            let deadline = self.number("deadline", "`deadline` and ns")?;
            reservations.push(Reservation { name: name.to_owned(), budget, period, deadline });
        }
        Ok((from, unit, best_effort, reservations))
    }

    fn cluster_proof(&mut self) -> Result<ClusterProof, Refusal> {
        self.word("proof", "`reservation` or `proof`")?;
        let parts = self.number("parts", "`parts` and a number")?;
        let sum = self.number("sum", "`sum` and a number")?;
        let largest = self.number("largest", "`largest` and a number")?;
        Ok(ClusterProof { parts, sum, largest })
    }

    fn cpu_proof(&mut self) -> Result<CpuProof, Refusal> {
        self.word("proof", "`reservation` or `proof`")?;
        let parts = self.number("parts", "`parts` and a number")?;
        let short = self.number("short", "`short` and a number")?;
        let mut steps = Vec::new();
        while let Some([count]) = self.numbers("steps", "`steps` and a number")? {
            steps.push(count);
        }
        let horizon = self.number("horizon", "`steps` or `horizon` and ns")?;
        Ok(CpuProof { parts, short, steps, horizon })
    }
}
