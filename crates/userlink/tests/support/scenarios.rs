//! The scenarios of the tests and the benchmark.

use laxity_scenario::link::model::Scenario;

/// Voice, video and two bursty best-effort classes, nine tenths of 10 Mbit/s.
pub const FAMILY: &str = r#"
[link]
rate = "10 Mbit/s"
max_packet = "1500 B"
credit = "1 ms"
buffer = { total = "600 kB", best_effort = "400 kB" }
[policy]
use = "exact"
[[realtime]]
name = "voice"
deadline = "10 ms"
envelope = { packet = "200 B", peak = "1 MB/s", burst = "3 kB", rate = "42 kB/s" }
source = { period = "5 ms", length = "200 B" }
match = { dport = 49152 }
[[realtime]]
name = "video"
deadline = "100 ms"
envelope = { burst = "42 kB", rate = "400 kB/s", packet = "1400 B" }
source = { length = "1400 B", on = ["20 ms", "40 ms"], off = ["40 ms", "90 ms"] }
match = { dport = 49153 }
[[best_effort]]
name = "http"
envelope = { packet = "1000 B", peak = "1 MB/s", burst = "8 kB", rate = "250 kB/s" }
source = { length = "1000 B", on = ["5 ms", "20 ms"], off = ["5 ms", "30 ms"] }
match = { dport = 49154 }
[[best_effort]]
name = "bulk"
envelope = { packet = "1400 B", peak = "2 MB/s", burst = "20 kB", rate = "400 kB/s" }
source = { length = "1400 B", on = ["20 ms", "60 ms"], off = ["10 ms", "60 ms"] }
match = { dport = 49155 }
"#;

/// Flows of [`FAMILY`], the one for all else included.
pub const FLOWS: usize = 5;
pub const VOICE: usize = 0;
pub const VIDEO: usize = 1;
pub const BULK: usize = 3;

/// [`FAMILY`].
pub fn family() -> Scenario {
    parsed(FAMILY)
}

/// Reads a scenario.
pub fn parsed(text: &str) -> Scenario {
    Scenario::parse(text, "test.toml").unwrap_or_else(|e| panic!("{e}"))
}

/// [`FAMILY`] with one piece of its text replaced.
pub fn family_with(piece: &str, other: &str) -> String {
    assert!(FAMILY.contains(piece), "there is no `{piece}`");
    FAMILY.replace(piece, other)
}

/// One real-time flow and two classes at another rate; `voice` has the keys of the flow.
pub fn voice_web_bulk(rate: &str, buffer: &str, voice: &str) -> Scenario {
    parsed(&format!(
        r#"
[link]
rate = "{rate}"
max_packet = "1514 B"
credit = "1 ms"
buffer = {buffer}
[[realtime]]
name = "voice"
{voice}
[[best_effort]]
name = "web"
match = {{ dport = 49153 }}
[[best_effort]]
name = "bulk"
match = {{ dport = 49154 }}
"#
    ))
}
