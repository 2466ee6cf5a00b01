//! Fast links and late times: rounding never accumulates into lateness.

use crate::common::random::Rng;
use crate::common::{
    Arrival, GUARANTEES, Link, arrival, config, flow, periodic, safe_policies, tighten, try_build,
    tspec,
};
use laxity_core::Bytes;
use laxity_curve::{Blocking, Guarantee};
use laxity_link::config::{Buffer, LinkConfig};

/// 100 Gbit/s: 64 B take 5.12 ns, 1500 B take 120 ns. A TSpec whose rates are no round numbers and
/// a periodic flow fill 9/10 of it.
fn fast(guarantee: Guarantee) -> LinkConfig {
    let realtime = vec![
        flow(tspec(64, 66_666_666_667, 3_200, 33_333_333_333), 4_000),
        flow(periodic(25, 64, 40), 4_000),
        flow(tspec(1500, 70_000_000_001, 9_000, 34_999_999_999), 9_000),
    ];
    let mut config = config(100_000_000_000, 1500, realtime);
    config.buffer = Some(Buffer { total: Bytes(400_000), best_effort: Bytes(200_000) });
    config.guarantee = guarantee;
    config.blocking = Blocking::Exact;
    assert!(tighten(&mut config));
    config
}

fn traffic(config: &LinkConfig, seed: u64, until: u64) -> Vec<Arrival> {
    let mut rng = Rng(seed);
    let mut trace = vec![];
    for (k, f) in (0..).zip(&config.realtime) {
        let largest = f.envelope.max_packet().0 as u32;
        let mut policer = laxity_link::police::Policer::new(&f.envelope);
        let mut now = laxity_core::Time(0);
        loop {
            now = policer.conforms_at(now, largest).unwrap();
            if now.0 > until {
                break;
            }
            policer.take(now, largest);
            trace.push(arrival(now.0, k, largest));
        }
    }
    let mut now = 0;
    while now < until {
        let bytes = rng.pick(&[64, 64, 333, 1500]);
        trace.push(arrival(now, 3, bytes));
        // About a tenth of the link.
        now += rng.range(0, 2 * u64::from(bytes) * 8 / 9);
    }
    trace.sort_by_key(|a| a.at);
    trace
}

/// Fails when the link clock rounds every transmission up, when a policer rounds its levels up with
/// every packet.
#[test]
fn no_packet_is_late_at_100_gigabit_per_second() {
    for guarantee in GUARANTEES {
        let config = fast(guarantee);
        let trace = traffic(&config, 1, 200_000);
        for name in safe_policies() {
            let Some(policy) = try_build(name, &config) else { continue };
            let mut link = Link::new(policy, &config);
            link.run(&trace);
            assert!(link.dropped.is_empty());
            let late = link.late_realtime();
            assert!(late.is_none(), "{name}: {late:?}");
            if guarantee == Guarantee::All {
                assert!(link.late_best_effort().is_none(), "{name}");
            }
            // Ten thousand packets and more, 97 % of the link: rounding each up would leave a
            // backlog of milliseconds.
            let last = link.sent.last().unwrap();
            assert!(last.end.0 < 260_000, "{name} ends at {}", last.end);
        }
    }
}

/// The same trace, 146 years later. Fails when `exact` multiplies absolute times by
/// a slope in 64 bits, when the shifted line keeps its deadline in 64 bits.
#[test]
fn decisions_do_not_depend_on_absolute_time() {
    let config = fast(Guarantee::Realtime);
    let trace = traffic(&config, 2, 20_000);
    for name in safe_policies() {
        let Some(policy) = try_build(name, &config) else { continue };
        let mut link = Link::new(policy, &config);
        link.run(&trace);
        let early: Vec<_> =
            link.sent.iter().map(|s| (s.departure.packet.seq, s.start.0, s.end.0)).collect();
        for base in [1 << 40, (1 << 62) - 10_000, 1 << 62] {
            let mut link = Link::new(try_build(name, &config).unwrap(), &config);
            link.base = base;
            link.run(&trace);
            assert!(link.late_realtime().is_none(), "{name} at {base}");
            let sent = link.sent.iter();
            let late: Vec<_> =
                sent.map(|s| (s.departure.packet.seq, s.start.0 - base, s.end.0 - base)).collect();
            assert_eq!(late, early, "{name} at {base}");
        }
    }
}
