use laxity_scenario::link::model::Scenario;

use super::*;
use crate::link::analyse;

/// A link of 10 Mbit/s with leaky-bucket flows: name, burst in bytes, rate in kB/s, deadline in ms,
/// importance.
pub(crate) fn link(flows: &[(&str, u64, u64, u64, u32)]) -> Scenario {
    let flow = |(name, burst, rate, deadline, importance): &(&str, u64, u64, u64, u32)| {
        format!(
            "[[realtime]]\nname = \"{name}\"\ndeadline = \"{deadline} ms\"\n\
             importance = {importance}\n\
             envelope = {{ burst = \"{burst} B\", rate = \"{rate} kB/s\", packet = \"{} B\" }}\n",
            burst.min(&1000)
        )
    };
    let flows: Vec<String> = flows.iter().map(flow).collect();
    let text = format!(
        "[link]\nrate = \"10 Mbit/s\"\nmax_packet = \"1000 B\"\ncredit = \"1 ms\"\n{}",
        flows.concat()
    );
    Scenario::parse(&text, "link.toml").unwrap()
}

/// Whether `laxity check` admits the scenario with these flows alone.
pub(crate) fn admitted(scenario: &Scenario, rate: Rate, kept: &[usize]) -> bool {
    let shed: Vec<usize> = (0..scenario.realtime.len()).filter(|i| !kept.contains(i)).collect();
    analyse(&scenario.at_rate(rate, &shed, 16), "exact").unwrap().admitted
}

/// Random numbers below a limit, the same for a seed on every machine (xorshift64).
pub(crate) fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |limit| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % limit
    }
}

fn kept_of(scenario: &Scenario, rate: u64) -> Vec<&str> {
    let shedding = shed(scenario, "exact", Rate(rate)).unwrap();
    assert!(admitted(scenario, Rate(rate), &shedding.kept));
    shedding.kept.iter().map(|i| scenario.realtime[*i].name.as_str()).collect()
}

// Fails when the importance is ignored: `video` frees most.
#[test]
fn the_least_important_flow_is_shed_first() {
    let scenario = link(&[
        ("voice", 500, 25, 20, 2),
        ("game", 1000, 50, 20, 0),
        ("video", 20_000, 400, 100, 1),
    ]);
    assert_eq!(kept_of(&scenario, 10_000_000), ["voice", "game", "video"]);
    assert_eq!(kept_of(&scenario, 3_500_000), ["voice", "video"]);
    assert_eq!(kept_of(&scenario, 1_000_000), ["voice"]);
    assert_eq!(kept_of(&scenario, 100_000), Vec::<&str>::new());
}

// Fails when of equal flows the first, or the one that frees least, is shed.
#[test]
fn of_equally_important_flows_the_largest_demand_is_shed() {
    let scenario =
        link(&[("a", 500, 25, 20, 0), ("b", 20_000, 400, 100, 0), ("c", 500, 25, 20, 0)]);
    assert_eq!(kept_of(&scenario, 3_000_000), ["a", "c"]);
    let twins = link(&[("a", 4000, 25, 20, 0), ("b", 4000, 25, 20, 0), ("c", 4000, 25, 20, 0)]);
    assert_eq!(kept_of(&twins, 5_000_000), ["a", "b"]);
}

// Fails when a flow stays shed whose loss did not help: `state` has a deadline far beyond the one
// that cannot be met.
#[test]
fn flows_whose_loss_does_not_help_are_kept() {
    let scenario = link(&[("drives", 4000, 25, 8, 5), ("state", 500, 10, 900, 0)]);
    assert_eq!(kept_of(&scenario, 10_000_000), ["drives", "state"]);
    assert_eq!(kept_of(&scenario, 4_000_000), ["state"]);
}

// Fails when the credit counts as bytes of the former rate: 1 ms is 1250 B at 10 Mbit/s.
#[test]
fn the_credit_is_a_time_at_every_rate() {
    let scenario = link(&[("voice", 500, 25, 30, 0)]);
    // Blocking 1000 B, burst 500 B and 1 ms of credit within 30 ms.
    assert_eq!(kept_of(&scenario, 420_000), ["voice"]);
    assert_eq!(kept_of(&scenario, 410_000), Vec::<&str>::new());
}
