//! The corpus and a bounded number of seeded mutations of it, on stable.

use std::path::Path;

use laxity_scenario::fuzz;

/// Mutations of each file of the corpus.
const MUTATIONS: u64 = 150;

fn corpus() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for folder in ["corpus", "tests/errors", "../../scenarios"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        paths.extend(entries.map(|e| e.unwrap().path()));
    }
    paths.retain(|p| p.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths.iter().map(|p| std::fs::read(p).unwrap()).collect()
}

/// SplitMix64: the same mutations on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

const TOKENS: &[&str] = &[
    "0",
    "-1",
    "18446744073709551615",
    "1e400",
    "nan",
    "\"",
    "\"\"\"",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    "\r\n",
    "#",
    "\\",
    "\\u0000",
    "\u{feff}",
    "é",
    "true",
    "1979-05-27",
    " B",
    " B/s",
    " ns",
    " h",
    "[[realtime]]\n",
    "[server]\n",
    "[[stream]]\n",
    "source = \"backlogged\"\n",
    "tolerance = \"65535/65535\"\n",
    "gap = \"none\"\n",
    "[cpu]\n",
    "[[task]]\n",
    "[[reservation]]\n",
    "work = \"cpu-bound\"\n",
    "work = { steps = [\"run 1 ns\"] }\n",
    "reservation = \"none\"\n",
    "count = 10000\n",
    "cost = { gop = [\"1 us\", \"1 h\"] }",
    "[policy.slack]\n",
    "name = \"other\"\n",
    "envelope.burst = \"1 B\"\n",
    "trace = \"x\"",
    "0.000001",
    "4294.967295",
];

fn mutate(data: &[u8], all: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut out = data.to_vec();
    for _ in 0..=random.below(3) {
        let at = random.below(out.len() + 1);
        let end = (at + random.below(24)).min(out.len());
        match random.below(6) {
            0 if at < out.len() => out[at] = random.next() as u8,
            1 => drop(out.drain(at..end)),
            2 => out.splice(at..at, TOKENS[random.below(TOKENS.len())].bytes()).for_each(drop),
            3 => {
                let part = out[at..end].to_vec();
                out.splice(at..at, part).for_each(drop);
            }
            4 => {
                let donor = &all[random.below(all.len())];
                let from = random.below(donor.len());
                let to = (from + random.below(200)).min(donor.len());
                out.splice(at..at, donor[from..to].iter().copied()).for_each(drop);
            }
            // Change a digit: numbers are where meaning changes.
            _ => {
                let digits = out.iter_mut().filter(|b| b.is_ascii_digit());
                let mut digits: Vec<&mut u8> = digits.collect();
                let place = random.below(digits.len());
                if let Some(digit) = digits.get_mut(place) {
                    **digit = b'0' + random.below(10) as u8;
                }
            }
        }
    }
    out
}

// Fails when a text makes the reader panic, or when a scenario prints as something else.
#[test]
fn corpus_and_mutations() {
    let all = corpus();
    assert!(all.len() > 50);
    for (i, data) in all.iter().enumerate() {
        fuzz::scenario(data);
        let mut random = Random(i as u64);
        for _ in 0..MUTATIONS {
            fuzz::scenario(&mutate(data, &all, &mut random));
        }
    }
}

// Fails when depth or length costs the stack or time out of proportion.
#[test]
fn pathological_input_is_refused_in_bounded_time() {
    let many = |s: &str, n: usize| s.repeat(n);
    for text in [
        format!("a = {}", many("[", 100_000)),
        format!("a = {}", many("{ a = ", 100_000)),
        format!("{} = 1", many("a.", 100_000)),
        many("[[realtime]]\n", 2_000),
        many("x = 1\n", 5_000),
        format!("[link]\nrate = \"{} bit/s\"", many("9", 1_000_000)),
        format!("[link]\nrate = \"0.{}1 bit/s\"", many("0", 1_000_000)),
        format!("[link]\n{} = 1", many("k", 1_000_000)),
        many("\u{0}", 1000),
    ] {
        fuzz::scenario(text.as_bytes());
    }
}
