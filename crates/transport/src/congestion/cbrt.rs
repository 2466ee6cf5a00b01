//! The cube root in integers.

/// The greatest integer whose cube is at most `n`.
pub fn cbrt(n: u128) -> u64 {
    let mut root: u128 = 0;
    let mut bit = 1u128 << 42;
    while bit > 0 {
        let next = root | bit;
        // The cube of 2^43 - 1 does not fit; its square does.
        if next.checked_mul(next * next).is_some_and(|cube| cube <= n) {
            root = next;
        }
        bit >>= 1;
    }
    root as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a root is off by one at a cube or beside it: tried with `<` for `<=`.
    #[test]
    fn roots_are_exact_at_cubes_and_beside_them() {
        for root in (0..2000).chain([1 << 20, 3_000_000_007, (1 << 42) + 12_345]) {
            let cube = u128::from(root).pow(3);
            assert_eq!(cbrt(cube), root);
            if root > 0 {
                assert_eq!(cbrt(cube - 1), root - 1);
            }
        }
        assert_eq!(cbrt(u128::MAX), 6_981_463_658_331);
    }
}
