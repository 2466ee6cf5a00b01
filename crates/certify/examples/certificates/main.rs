//! Prints certificates of random links and CPUs, for another checker: `certificates COUNT` prints valid ones,
//! `certificates COUNT changed` the same, each with one number of its proof changed; with `served` those of links
//! with service curves, with `clusters` those of CPUs that share a queue.

mod facts;
mod written;

use facts::Random;
use laxity_certify::{Facts, text};
use written::{certificate, changed, numbers, random_facts};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let count = arguments.get(1).and_then(|count| count.parse().ok()).unwrap_or(10);
    let asks = |word: &str| arguments.iter().skip(2).any(|argument| argument == word);
    let (change, served, clusters) = (asks("changed"), asks("served"), asks("clusters"));
    let mut random = Random(1);
    let mut written = 0;
    println!("laxity-certificate {}", text::VERSION);
    while written < count {
        let facts = match (served, clusters) {
            (true, _) => Facts::Link(random.served_link(5)),
            (_, true) => Facts::Cluster(random.cluster()),
            _ => random_facts(&mut random),
        };
        let Ok(proof) = certificate(&facts) else { continue };
        let mut block = text::write(&[(facts, proof)]);
        let places = numbers(&block);
        // Programs that Coq extracts take a while for long ones.
        if places.len() > 150 {
            continue;
        }
        let place = places[random.within(0, places.len() as u64 - 1) as usize];
        let by = [-1, 1, 1000, -777_777_777][random.within(0, 3) as usize];
        if change {
            block = changed(&block, place, by);
        }
        print!("{}", block.split_once('\n').map_or("", |(_, rest)| rest));
        written += 1;
    }
}
