//! HFSC of the kernel breaks the curve of one class when a convex one comes back early: the
//! measurement of `docs/results/hfsc-convex.md`, in the virtual machine.
//!
//! Built with the feature `kernel` only. Skipped, with the reason, where the virtual machine
//! cannot be had; `LAXITY_REQUIRE_ALL=1` makes that a failure.
#![cfg(feature = "kernel")]

mod machine;

use machine::{available, number, part, tool};

/// Fails when a kernel has the gap no more, which is what the page should say then, or when the
/// measurement counts more than HFSC's delay: the same burst half a millisecond later is in time.
#[test]
fn a_convex_class_that_comes_back_early_makes_another_late() {
    if !available() {
        return;
    }
    let text = machine::run("hfsc.sh", &[tool("traffic")], &[]);
    // 12,500 bytes at 10 Mbit/s and a largest packet.
    let promised = 11_200;
    let delay = |back: &str| number(part(&text, back), "got concave", "max_us");
    let (early, later) = (delay("12990000"), delay("13500000"));
    assert!(early > promised + 500, "{early} us\n{text}");
    assert!(later <= promised, "{later} us\n{text}");
}
