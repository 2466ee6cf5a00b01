use super::*;

fn scenario(streams: &str) -> StreamScenario {
    let text = format!("[server]\nservice = \"1 ms\"\n{streams}");
    StreamScenario::parse(&text, "test.toml").unwrap()
}

fn check(streams: &str) -> StreamCheckResult {
    let scenario = scenario(streams);
    analyse(&scenario, &scenario.policy.use_)
}

fn stream(name: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\n{keys}\n")
}

// Fails when tolerated losses are charged, or the reported number of streams does not fit.
#[test]
fn reported_stream_limits_are_exact() {
    let of = |count: u64| {
        check(&stream("s", &format!("count = {count}\ngap = \"10 ms\"\ntolerance = \"1/2\"")))
    };
    let one = of(1);
    assert!(one.admitted && (one.utilisation - 0.05).abs() < 1e-6, "{one:?}");
    let most = of(30).classes["s"].max_streams;
    assert_eq!(most, 20);
    assert!(of(most).admitted && !of(most + 1).admitted);
}

// Fails when gaps that differ pass for promised, or obstacles are not spoken of.
#[test]
fn different_gaps_void_the_promise() {
    let same = stream("a", "gap = \"10 ms\"\ntolerance = \"1/2\"");
    let other = stream("b", "gap = \"20 ms\"\ntolerance = \"1/2\"");
    let both = check(&(same.clone() + &other));
    assert!(both.admitted && !both.guaranteed && both.obstacles[0].contains("gaps differ"));
    let alone = scenario(&same);
    assert!(!analyse(&alone, "fifo").guaranteed);
    assert_eq!(analyse(&alone, "fifo").obstacles, ["fifo does not know what streams tolerate"]);
}

// Fails when backlogged streams are reported to pause, or those with jitter are not.
#[test]
fn possibly_empty_queues_are_named() {
    let keys = "gap = \"10 ms\"\ntolerance = \"1/2\"\nsource = ";
    let full = stream("full", &format!("{keys}\"backlogged\""));
    let rare = stream("rare", &format!("{keys}{{ period = \"30 ms\" }}"));
    assert_eq!(check(&(full + &rare)).intermittent, ["rare"]);
}
