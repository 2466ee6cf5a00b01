use super::*;

fn scenario(policy: &str, deadline: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"1 Mbit/s\"\nmax_packet = \"1536 B\"\n[policy]\n{policy}\n\
         [[realtime]]\nname = \"voice\"\ndeadline = \"{deadline}\"\n\
         envelope = {{ period = \"20 ms\", size = \"200 B\" }}\n[[best_effort]]\nname = \"bulk\"\n"
    );
    Scenario::parse(&text, "test.toml").unwrap()
}

fn check(scenario: &Scenario) -> CheckResult {
    analyse(scenario, &scenario.policy.use_).unwrap()
}

// Fails when the smallest deadline that is suggested is not the smallest that is admitted.
#[test]
fn suggested_deadlines_are_minimal() {
    let roomy = check(&scenario("", "20 ms"));
    assert!(roomy.admitted && roomy.slack_bytes.is_some_and(|left| left >= 0));
    let least = roomy.flows["voice"].min_deadline_ns.unwrap();
    for (deadline, admitted) in [(least, true), (least - 1, false)] {
        let tight = check(&scenario("", &format!("{deadline} ns")));
        assert_eq!(tight.admitted, admitted, "{deadline} ns");
        assert_eq!(tight.slack_bytes.is_some_and(|left| left >= 0), admitted, "{deadline} ns");
    }
}

// Fails when `slack` that always checks is charged for a best-effort packet that blocks: it starts
// none that could.
#[test]
fn always_check_needs_no_blocking_term() {
    let always = "use = \"slack\"\nslack = { always-check = true }";
    // 200 B take 1.6 ms, a packet of best effort 12.288 ms.
    assert!(check(&scenario(always, "5 ms")).admitted);
    assert!(!check(&scenario("use = \"slack\"", "5 ms")).admitted);
    let other = scenario(always, "5 ms");
    assert!(!analyse(&other, "exact").unwrap().admitted);
    assert!(promises(&other, "slack") && !promises(&other, "exact"));
}

// Fails when a policy that keeps no deadlines promises them.
#[test]
fn only_guaranteeing_policies_promise_deadlines() {
    let roomy = scenario("", "20 ms");
    assert!(promises(&roomy, "exact") && promises(&roomy, "slack"));
    assert!(!promises(&roomy, "fifo") && !promises(&roomy, "no such policy"));
}

// Fails when packets that fit are reported to wait, or waiting ones are not reported.
#[test]
fn silence_is_bounded_by_the_residual_capacity() {
    let options = "slack = { always-check = true, idle-timeout = \"200 ms\" }";
    let silence = check(&scenario(&format!("use = \"slack\"\n{options}"), "5 ms")).idle_realtime;
    let expected = IdleRealtime { max_immediate_bytes: 225, idle_timeout_ns: Some(200_000_000) };
    assert_eq!(silence, Some(expected));
    let long = check(&scenario(&format!("use = \"slack\"\n{options}"), "20 ms"));
    assert_eq!(long.idle_realtime, None);
    assert_eq!(check(&scenario("use = \"slack\"", "20 ms")).idle_realtime, None);
}

// Fails when corners and curves differ, or a line rises above E(t).
#[test]
fn lines_stay_below_the_residual_capacity() {
    let scenario = scenario("", "20 ms");
    let curves = residual(&scenario).unwrap();
    let (time, bytes, _) = *check(&scenario).residual.last().unwrap();
    assert!(curves.effective.contains(&(time as f64, bytes)), "{curves:?}");
    assert!(curves.end_ns > time as f64);
    let names: Vec<&str> = curves.approximations.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["shifted-line", "two-segment"]);
    let left_at = |t: f64| {
        let piece = curves.effective.windows(2).find(|p| p[0].0 < p[1].0 && t <= p[1].0);
        piece.map(|p| p[0].1 + (p[1].1 - p[0].1) * (t - p[0].0) / (p[1].0 - p[0].0))
    };
    for (name, line) in &curves.approximations {
        for (t, bytes) in line.iter().filter(|p| p.1 > 0.0) {
            assert!(left_at(*t).is_none_or(|left| *bytes <= left + 1e-6), "{name} at {t}");
        }
    }
}
