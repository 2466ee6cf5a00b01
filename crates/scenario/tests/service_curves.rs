//! Service curves of real-time flows in a link scenario.

use laxity_core::{Bytes, Rate, Span};
use laxity_curve::service::{LinkFlow, ServiceCurve, ServiceSpec, check_flows};
use laxity_scenario::link::model::*;

/// A scenario whose one real-time flow has these keys.
fn scenario(link: &str, keys: &str) -> Scenario {
    let text = format!(
        "[link]\nrate = \"10 Mbit/s\"\n{link}\n[[realtime]]\nname = \"flow\"\n{keys}\n\
         [[best_effort]]\nname = \"bulk\"\n"
    );
    Scenario::parse(&text, "link.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn curve(keys: &str) -> FlowCurve {
    let scenario = scenario("", &format!("service_curve = {{ {keys} }}"));
    let again = Scenario::parse(&scenario.to_toml(), "link.toml").unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, scenario, "{}", scenario.to_toml());
    scenario.realtime[0].service_curve.clone().unwrap()
}

const MS: u64 = 1_000_000;

fn kb(n: u64) -> Rate {
    Rate::bytes_per_second(n * 1000)
}

// Fails when a form is read as another, a key of it as another, or a printed one reads differently.
#[test]
fn every_form_is_its_curve() {
    let ms = |n| Span(n * MS);
    let forms = [
        ("rate = \"250 kB/s\", latency = \"8 ms\"", ServiceCurve::rate_latency(kb(250), ms(8))),
        (
            "m1 = \"40 kB/s\", d = \"5 ms\", m2 = \"10 kB/s\"",
            ServiceCurve::two_piece(kb(40), ms(5), kb(10)),
        ),
        (
            "m1 = \"0 B/s\", d = \"5 ms\", m2 = \"10 kB/s\"",
            ServiceCurve::two_piece(kb(0), ms(5), kb(10)),
        ),
        (
            "umax = \"1500 B\", dmax = \"10 ms\", rate = \"100 kB/s\"",
            ServiceCurve::umax_dmax(Bytes(1500), ms(10), kb(100)),
        ),
        (
            "points = [{ time = \"9 ms\", bytes = \"0 B\" }, { time = \"9 ms\", bytes = \"3 kB\" }], \
             rate = \"300 kB/s\"",
            ServiceCurve::points(&[(ms(9), Bytes(0)), (ms(9), Bytes(3000))], kb(300)),
        ),
    ];
    for (keys, expected) in forms {
        let expected = expected.unwrap();
        let plain = curve(keys);
        assert_eq!(
            (&plain.curve, plain.policed, plain.later),
            (&expected, false, Later::By(Span(0)))
        );
        let later = curve(&format!("{keys}, later = \"2 ms\""));
        assert_eq!(later.curve, expected.later(ms(2)).unwrap());
        assert_eq!(
            curve(&format!("{keys}, packet = \"900 B\", min_packet = \"64 B\"")).curve,
            expected
        );
    }
}

// Fails when a size is taken from elsewhere, an envelope is not enforced, or the bound of a flow
// without one is shown.
#[test]
fn sizes_come_from_the_envelope_or_the_curve() {
    let keys = "service_curve = { rate = \"250 kB/s\", latency = \"8 ms\" }";
    let sizes = |scenario: &Scenario| match &scenario.setup().link_flows().unwrap()[0] {
        LinkFlow::Service(ServiceSpec { min_packet, max_packet, envelope, .. }) => {
            (min_packet.0, max_packet.0, envelope.is_some())
        }
        LinkFlow::Deadline(_) => panic!("a deadline"),
    };
    let free = scenario("max_packet = \"1000 B\"", keys);
    assert_eq!((sizes(&free), free.realtime[0].delay_bound()), ((40, 1000, false), None));
    let framed = scenario("overhead = \"24 B\"\nmin_frame = \"84 B\"", keys);
    assert_eq!(sizes(&framed), (84, 1560, false));
    let envelope = "envelope = { burst = \"2 kB\", rate = \"100 kB/s\", packet = \"500 B\" }";
    let policed = scenario("", &format!("{keys}\n{envelope}"));
    // 2000 B at 250 kB/s behind the latency.
    let bound = policed.realtime[0].delay_bound();
    assert_eq!((sizes(&policed), bound), ((40, 500, true), Some(Span(16 * MS))));
    assert_eq!(Scenario::parse(&policed.to_toml(), "link.toml").unwrap(), policed);
}

// Fails when `auto` leaves out the largest packet of any flow or what is below the scheduler, or
// does not follow the link.
#[test]
fn auto_is_what_may_block() {
    let keys = "service_curve = { rate = \"250 kB/s\", latency = \"0 s\", later = \"auto\" }";
    let mut scenario = scenario("in_flight = \"464 B\"", keys);
    assert_eq!(scenario.auto_later(), Span(1_600_000));
    let begins = |s: &Scenario| s.realtime[0].service_curve.as_ref().unwrap().curve.clone();
    let expected = |at| ServiceCurve::rate_latency(kb(250), Span(at)).unwrap();
    assert_eq!(begins(&scenario), expected(1_600_000));
    assert_eq!(begins(&scenario.at_rate(Rate(5_000_000), &[], 16)), expected(3_200_000));
    scenario.set_link(Link { max_packet: Bytes(2036), ..scenario.link.clone() });
    assert_eq!(begins(&scenario), expected(2_000_000));
    let setup = scenario.setup();
    let flows = setup.link_flows().unwrap();
    assert!(check_flows(&setup.link_spec(), &flows).unwrap().admitted);
}
