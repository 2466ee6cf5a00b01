//! Written certificates of random links, CPUs and clusters, and the same with a number changed.

use laxity_certify::{Facts, NoCertificate, Proof, cluster, cpu, link};

use crate::facts::Random;

/// A link or a CPU.
pub fn random_facts(random: &mut Random) -> Facts {
    if random.within(0, 3) == 0 { Facts::Cpu(random.cpu()) } else { Facts::Link(random.link(5)) }
}

/// The certificate of a link, a CPU or a cluster.
pub fn certificate(facts: &Facts) -> Result<Proof, NoCertificate> {
    match facts {
        Facts::Link(facts) => link::issue(facts).map(Proof::Link),
        Facts::Cpu(facts) => cpu::issue(facts).map(Proof::Cpu),
        Facts::Cluster(facts) => cluster::issue(facts).map(Proof::Cluster),
    }
}

/// The places of all numbers in the proof of a written certificate: index of line and of word.
pub fn numbers(text: &str) -> Vec<(usize, usize)> {
    let mut proof = false;
    let mut places = Vec::new();
    for (l, line) in text.lines().enumerate() {
        match line {
            "proof" => proof = true,
            "end" => proof = false,
            _ if proof => places.extend((1..line.split(' ').count()).map(|w| (l, w))),
            _ => {}
        }
    }
    places
}

/// The text with another number at a place.
pub fn changed(text: &str, (l, w): (usize, usize), by: i128) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut words: Vec<String> = lines[l].split(' ').map(str::to_owned).collect();
    let number: i128 = words[w].parse().expect("a number");
    words[w] = (number + by).to_string();
    lines[l] = words.join(" ");
    lines.join("\n") + "\n"
}
