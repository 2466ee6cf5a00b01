//! Asking the cache for a line before it is needed.

/// Starts loading the cache line at the start of `place` and returns at once.
///
/// It is only a hint: it has no effect on any value, and on targets without such an instruction it
/// does nothing.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    let address: *const T = place;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: prefetching never faults and reads nothing the program can see, and SSE, which has
    // the instruction, is part of every x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: `prfm` never faults, writes no register or memory and leaves the flags alone.
    unsafe {
        core::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address,
            options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_prefetch_changes_nothing() {
        let values = [1u64, 2, 3];
        super::prefetch(&values[2]);
        super::prefetch(&());
        assert_eq!(values, [1, 2, 3]);
    }
}
