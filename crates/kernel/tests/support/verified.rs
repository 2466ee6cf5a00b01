//! The verifier's cost of the programs, compared with the recorded one.

use std::path::Path;

/// Whether what the verifier processed, in lines below the kernel's release, is what a file of this
/// crate says, as far as kernel and compiler are the same; whatever they are it is below half of
/// what the kernel allows.
#[track_caller]
pub fn verified(text: &str, path: &str, least: usize) {
    let recorded =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file");
    let mut lines = text.lines();
    let kernel = lines.next().expect("a release");
    let same = recorded.contains(&format!("# {kernel}, clang {}\n", env!("LAXITY_CLANG_VERSION")));
    let costs: Vec<&str> = lines.collect();
    assert!(costs.len() >= least, "{text}");
    for line in &costs {
        let cost: u32 = line.rsplit(' ').next().and_then(|n| n.parse().ok()).expect("a number");
        assert!(cost < 500_000, "{line}: the kernel gives up at a million");
    }
    let kept: Vec<&str> = recorded.lines().filter(|l| !l.starts_with('#')).collect();
    if same {
        assert_eq!(costs, kept, "put these into {path} if that is meant");
    } else {
        eprintln!("not compared: Linux {kernel}, clang {}", env!("LAXITY_CLANG_VERSION"));
    }
}
