//! The numbers of CoDel in C beyond what traffic of the comparison with Rust reaches.

#[path = "support/headers.rs"]
mod headers;

/// Fails when a Newton step is left out, or the scale is off by one.
#[test]
fn inverse_roots_have_a_relative_error_of_at_most_two_to_the_minus_16() {
    let all = (1..5_000u32).chain((5_000..u32::MAX - 2_000_000).step_by(999_983));
    let all: Vec<u32> = all.chain([u32::MAX - 1, u32::MAX]).collect();
    let input = all.iter().flat_map(|n| n.to_ne_bytes()).collect();
    let Some(answers) = headers::ask("codel.c", input) else { return };
    assert_eq!(answers.len(), all.len());
    for (n, answer) in all.iter().zip(answers) {
        let root: u128 = answer.parse().expect("a number");
        // 2^64 / n lies between the squares of the value with the error taken away and added; the
        // value is an integer, so for large n its last place counts.
        let error = root.div_ceil(65_536) + 1;
        let square = |x: u128| x * x * u128::from(*n);
        let (low, high) = (square(root.saturating_sub(error)), square(root + error));
        assert!(low <= 1 << 64 && high >= 1 << 64, "{n}: {root}");
    }
}
