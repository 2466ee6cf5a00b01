//! Prints the benchmarks whose names contain the first argument, or all.

fn main() {
    let only = std::env::args().nth(1);
    for row in laxity_bench::run(only.as_deref(), &mut |_| {}) {
        let versus = row.baseline.zip(row.ratio);
        let versus = versus.map(|(name, ratio)| format!("{ratio:.2} times as fast as {name}"));
        println!(
            "{:<28}{:>10.2} {}  {}",
            row.name,
            row.value,
            row.unit,
            versus.unwrap_or_default()
        );
    }
}
