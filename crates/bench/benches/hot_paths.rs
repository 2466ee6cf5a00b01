//! Prints the benchmarks whose names contain the first argument, or all, as `laxity bench`.
//!
//! `cargo bench -p laxity-bench --bench hot_paths -- [NAME]`

fn main() {
    // Cargo adds an argument.
    let only = std::env::args().skip(1).find(|a| a != "--bench");
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
