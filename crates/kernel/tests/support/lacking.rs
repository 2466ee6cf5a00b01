//! Tests without something that they need are skipped, or fail where all must run.

/// Something that a test needs is not there: says so, or fails where all must run. Never true.
pub fn lacking(why: &str) -> bool {
    let required = std::env::var_os("LAXITY_REQUIRE_ALL").is_some_and(|v| v == "1");
    assert!(!required, "LAXITY_REQUIRE_ALL=1, and {why}");
    eprintln!("skipped: {why}");
    false
}
