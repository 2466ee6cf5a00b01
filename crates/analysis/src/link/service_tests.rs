use super::*;

/// A link of 10 Mbit/s with these real-time flows under a policy.
fn scenario(policy: &str, flows: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"10 Mbit/s\"\nmax_packet = \"1500 B\"\n[policy]\nuse = \"{policy}\"\n\
         blocking = \"exact\"\n{flows}\n[[best_effort]]\nname = \"bulk\"\n"
    );
    Scenario::parse(&text, "test.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn flow(name: &str, keys: &str) -> String {
    format!("[[realtime]]\nname = \"{name}\"\n{keys}\n")
}

fn check(scenario: &Scenario) -> CheckResult {
    analyse(scenario, &scenario.policy.use_).unwrap()
}

const SENSOR: &str = "deadline = \"12 ms\"\nenvelope = { buckets = [{ burst = \"300 B\", rate = \"200 kB/s\" }, \
     { burst = \"1200 B\", rate = \"100 kB/s\" }] }";
const CONTROL: &str = "service_curve = { rate = \"250 kB/s\", latency = \"8 ms\", packet = \"1000 B\", min_packet = \"64 B\" }";
const VIDEO: &str = "service_curve = { points = [{ time = \"10 ms\", bytes = \"0 B\" }, { time = \"10 ms\", bytes = \
     \"3000 B\" }, { time = \"20 ms\", bytes = \"6000 B\" }, { time = \"40 ms\", bytes = \"6000 B\" }], \
     rate = \"300 kB/s\", packet = \"1500 B\", min_packet = \"64 B\" }";

fn voice(m1: u64, more: &str) -> String {
    let curve = format!(
        "service_curve = {{ m1 = \"{m1} kB/s\", d = \"5 ms\", m2 = \"100 kB/s\", packet = \"400 B\", \
         min_packet = \"64 B\"{more} }}"
    );
    flow("voice", &curve)
}

/// Fails when whole packets or blocking are left out, flows of one kind do not count, or the bounds
/// and what would do are not those of the set. The numbers are worked out by hand: a link of
/// 1.25 B/us, voice of 64 to 400 B, control, video and a sensor beside best effort of 1500 B.
#[test]
fn flows_of_both_kinds_are_admitted_together() {
    let others = flow("control", CONTROL) + &flow("video", VIDEO) + &flow("sensor", SENSOR);
    let slow = check(&scenario("exact", &(voice(40, "") + &others)));
    assert!(slow.admitted);
    assert_eq!((slow.slack_bytes, slow.binding_interval_ns), (Some(436), Some(1_600_000)));
    assert_eq!(slow.later_auto, None);
    let served = |check: &CheckResult, name: &str| check.flows[name].service.clone().unwrap();
    assert_eq!(served(&slow, "video").min_later_ns, Some(0));
    assert_eq!(served(&slow, "video").delay_bound_ns, None);
    let last = served(&slow, "video").curve.last().copied();
    assert_eq!(last, Some((40_000_000, 6000.0, 300_000.0)));
    assert!(slow.flows["sensor"].min_deadline_ns.is_some_and(|d| d < 12_000_000));

    let fast = scenario("exact", &(voice(400, "") + &others));
    let refused = check(&fast);
    assert!(!refused.admitted && refused.residual.len() > 2);
    assert_eq!((refused.slack_bytes, refused.binding_interval_ns), (Some(-1364), Some(160_000)));
    // What does not block cannot help.
    assert_eq!(served(&refused, "video").min_later_ns, None);
    let later = served(&refused, "voice").min_later_ns.unwrap();
    for (by, admitted) in [(later, true), (later - 1, false)] {
        let moved = voice(400, &format!(", later = \"{by} ns\""));
        assert_eq!(check(&scenario("exact", &(moved + &others))).admitted, admitted, "{by}");
    }
    // 1500 B at 10 Mbit/s.
    assert_eq!(refused.later_auto, Some(LaterAuto { later_ns: 1_200_000, admitted: true }));
}

/// Fails when bounds are those of another flow, or not on the wire.
#[test]
fn envelopes_beside_curves_bound_delay_and_backlog() {
    let envelope = "envelope = { burst = \"4000 B\", rate = \"100 kB/s\", packet = \"1000 B\" }";
    let curve = "service_curve = { rate = \"250 kB/s\", latency = \"8 ms\" }";
    let bounded = check(&scenario("exact", &flow("control", &format!("{curve}\n{envelope}"))));
    let service = bounded.flows["control"].service.clone().unwrap();
    // 4000 B at 250 kB/s behind the latency; 4000 B, what comes within it, and one packet.
    assert_eq!(service.delay_bound_ns, Some(24_000_000));
    assert_eq!(service.backlog_bound_bytes, Some(4000 + 800 + 1000));
}

/// Fails when a policy that refuses curves promises them, or the refusal names another flow.
#[test]
fn policies_without_service_curves_refuse() {
    let flows = flow("sensor", SENSOR) + &flow("control", CONTROL);
    for policy in laxity_link::registry::POLICIES {
        let scenario = scenario(policy.name, &flows);
        let analysed = analyse(&scenario, policy.name);
        let built = laxity_link::registry::build(policy.name, &scenario.setup());
        let serves = laxity_link::registry::serves_curves(policy.name);
        // Lines that a curve leaves no room for are refused for another reason.
        let refused = built.err().is_some_and(|e| e.to_string().contains("service curve"));
        assert_eq!((analysed.is_ok(), refused), (serves, !serves), "{}", policy.name);
        assert!(serves || !promises(&scenario, policy.name));
        if let Err(error) = analysed {
            assert!(error.to_string().contains("the service curve of `control`"), "{error}");
        }
    }
    assert!(promises(&scenario("exact", &flows), "exact"));
}

/// Fails when a bound is given where nothing guarantees it, or a class alone has not the residual of
/// the paper's link (Chakraborty, Gries, Thiele, RTAS 2002): 12288/5 us.
#[test]
fn best_effort_has_bounds_where_deadlines_are_guaranteed() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/access-link.toml");
    let mut scenario = Scenario::read(file).unwrap();
    scenario.policy.blocking = laxity_curve::Blocking::Exact;
    // The paper has three classes; `other` takes next to nothing.
    scenario.best_effort[3].weight = laxity_core::Weight(1);
    let bounds = |scenario: &Scenario| check(scenario).best_effort;
    let given = bounds(&scenario);
    assert_eq!(given.keys().collect::<Vec<_>>(), ["ftp", "http", "mail"]);
    assert!(given.values().all(|c| c.alone_delay_ns.is_none() && c.shared_delay_ns.is_some()));
    scenario.policy.guarantee = laxity_curve::Guarantee::All;
    for class in bounds(&scenario).values() {
        assert_eq!(class.alone_delay_ns, Some(2_457_600));
        assert!(class.shared_delay_ns > class.flow_delay_ns && class.flow_curve.len() > 3);
    }
    scenario.policy.use_ = "proportional-share".into();
    assert!(bounds(&scenario).values().all(|c| c.shared_delay_ns.is_none()));
}
