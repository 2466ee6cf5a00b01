use laxity_dwcs::Options;

use super::*;

const HEAD: &str = "[server]\nrate = \"10 Mbit/s\"\noverhead = \"78 B\"\nsockets = 2\n";

fn scenario(streams: &str) -> StreamScenario {
    StreamScenario::parse(&format!("{HEAD}{streams}"), "studio.toml").expect("a good scenario")
}

fn planned(streams: &str) -> Result<Plan, String> {
    let scenario = scenario(streams);
    plan(&scenario, &scenario.policy.use_).map_err(|e| e.to_string())
}

/// Fails when streams share a port or an SSRC, or a header is counted twice; tried.
#[test]
fn each_stream_goes_to_its_own_port() {
    let plan = planned(
        "[[stream]]\nname = \"speech\"\ncount = 3\ntolerance = \"1/100\"\ngap = \"20 ms\"\n\
         packet = \"120 B\"\ndestination = \"127.0.0.1:5004\"\n\
         [[stream]]\nname = \"video\"\ntolerance = \"1/3\"\ngap = \"10 ms\"\n\
         packet = \"1000 B\"\nsource = { burst = 4, every = \"40 ms\" }\n\
         destination = \"[::1]:6000\"\nssrc = 9\n",
    )
    .expect("can be served");
    let Config { streams, overhead, bind, rate, .. } = &plan.config;
    let seen: Vec<_> = streams.iter().map(|s| (s.name.as_str(), s.destination.port())).collect();
    assert_eq!(seen, [("speech-0", 5004), ("speech-1", 5006), ("speech-2", 5008), ("video", 6000)]);
    assert_eq!(streams[3].ssrc, 9);
    let first = streams[0].ssrc;
    assert_eq!((streams[1].ssrc, streams[2].ssrc), (first + 1, first + 2));
    assert_eq!(*overhead, 66, "78 B beyond the RTP payload are 66 B beyond that of UDP");
    assert_eq!(rate.map(|r| r.0), Some(10_000_000));
    assert_eq!(bind.len(), 4, "two sockets for each family");
    assert!(matches!(streams[0].source, Source::Constant { bytes: 132 }));
    let Source::Frames { sizes, rate } = &streams[3].source else { panic!("{:?}", streams[3]) };
    assert_eq!((&sizes[..], *rate), (&[4000][..], FrameRate { pictures: 25, seconds: 1 }));
    assert!(plan.notes.is_empty(), "{:?}", plan.notes);
}

#[test]
fn approximations_are_reported() {
    let plan = planned(
        "[[stream]]\nname = \"a\"\ntolerance = \"1/2\"\ngap = \"20 ms\"\n\
         packet = { uniform = [\"100 B\", \"201 B\"] }\ndestination = \"127.0.0.1:5004\"\n\
         source = { period = \"10 ms\" }\n",
    );
    let notes = plan.expect("can be served").notes;
    assert_eq!(
        notes,
        [
            "stream.a: all its packets have the mean length, 151 B",
            "stream.a: it sends a packet each gap"
        ]
    );
}

/// Fails when what cannot be served starts all the same.
#[test]
fn unsupported_requests_are_refused() {
    let class =
        "[[stream]]\nname = \"a\"\ntolerance = \"1/2\"\ngap = \"20 ms\"\npacket = \"100 B\"\n";
    let refused = |more: &str| planned(&format!("{class}{more}")).expect_err("refused");
    assert!(refused("").contains("destination = \"127.0.0.1:5004\""));
    let to = "destination = \"127.0.0.1:65000\"\n";
    let missing = refused(&format!("{to}source = {{ file = \"none.ogg\" }}\n"));
    assert!(missing.contains("none.ogg"), "{missing}");
    let pausing =
        "source = { period = \"20 ms\", on = [\"1 s\", \"2 s\"], off = [\"1 s\", \"2 s\"] }\n";
    assert!(refused(&format!("{to}{pausing}")).contains("pauses"));

    let scenario = scenario(&format!("{class}{to}"));
    assert!(plan(&scenario, "best").unwrap_err().to_string().contains("dwcs, "));
    let mut many = scenario.clone();
    many.streams[0].count = 300;
    assert!(plan(&many, "dwcs").unwrap_err().to_string().contains("port 65536"));
    let mut fixed = scenario.clone();
    fixed.server.pace = Pace::Service(Span(1_000));
    assert!(plan(&fixed, "dwcs").unwrap_err().to_string().contains("server.rate"));
}

/// Fails when a name leads to another policy, or a reading of DWCS is changed in silence: tried
/// with the first baseline for each, and without the notes.
#[test]
fn every_policy_of_a_scenario_can_be_served() {
    let mut scenario = scenario(
        "[policy]\ncompare = [\"fifo\", \"dwcs\"]\n[policy.dwcs]\nstructure = \"list\"\n\
         [[stream]]\nname = \"a\"\ntolerance = \"1/2\"\ngap = \"20 ms\"\npacket = \"100 B\"\n\
         destination = \"127.0.0.1:5004\"\n",
    );
    let of = |scenario: &StreamScenario, name: &str| {
        let plan = plan(scenario, name).expect("can be served");
        (plan.config.policy, plan.notes.join("\n"))
    };
    for policy in POLICIES {
        let (served, notes) = of(&scenario, policy.name);
        match served {
            Policy::Baseline(name) => assert_eq!((name, notes.as_str()), (policy.name, "")),
            Policy::Dwcs(options) => {
                let own = scenario.policy.options(policy.name).expect("a reading of DWCS");
                let ahead = own.ahead.or(NonZeroU32::new(1));
                assert_eq!(options, Options { ahead, ..*own });
                assert_eq!(notes.contains("max-ahead = 1"), own.ahead.is_none(), "{notes}");
                assert_eq!(notes.contains("decides like list"), policy.name == "dwcs", "{notes}");
            }
        }
    }
    scenario.policy.use_ = "edf".into();
    assert_eq!(of(&scenario, &scenario.policy.use_).0, Policy::Baseline("edf"));
}

#[test]
fn periods_become_frame_rates() {
    let rate = |ns| {
        let FrameRate { pictures, seconds } = of_period(Span(ns));
        (pictures, seconds)
    };
    assert_eq!(rate(40_000_000), (25, 1));
    assert_eq!(rate(33_366_667), (1_000_000_000, 33_366_667));
    assert_eq!(rate(10_000_000_000), (1, 10));
    assert_eq!(of_second(Frequency(29_970_000)), FrameRate { pictures: 2997, seconds: 100 });
}
