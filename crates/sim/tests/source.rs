//! The generators' draws against the numbers that the scenario gives (Table 4 of Chakraborty,
//! Gries and Thiele, RTAS 2002).

use crate::common::file;
use laxity_core::{FlowId, Time};
use laxity_curve::Envelope;
use laxity_link::police::Policer;
use laxity_scenario::link::model::{Scenario, Source};
use laxity_sim::link::Generator;

/// The packets of a flow's source in 2000 s.
fn packets(flow: &str) -> Vec<(u64, u32)> {
    let scenario = Scenario::read(file("scenarios/access-link.toml")).unwrap();
    let realtime = scenario.realtime.iter().map(|f| (&f.name, &f.source, Some(&f.envelope)));
    let classes = scenario.best_effort.iter().map(|c| (&c.name, &c.source, c.envelope.as_ref()));
    let (_, source, envelope) = realtime.chain(classes).find(|f| f.0 == flow).unwrap();
    let (source, envelope): (&Source, &Envelope) = (source.as_ref().unwrap(), envelope.unwrap());
    let end = Time(2_000_000_000_000);
    let policer = Some(Policer::new(envelope));
    let packets = Generator::new(source, FlowId(2), 11, policer, envelope.max_packet(), end);
    packets.unwrap().map(|p| (p.time.0, p.bytes)).collect()
}

/// Mean, least and greatest in ms of bursts and of the pauses between them.
fn bursts(packets: &[(u64, u32)], pause_ms: u64) -> [(f64, f64, f64); 2] {
    let (mut on, mut off) = (Vec::new(), Vec::new());
    let mut begun = packets[0].0;
    for pair in packets.windows(2) {
        let gap = pair[1].0 - pair[0].0;
        if gap > pause_ms * 1_000_000 {
            on.push(pair[0].0 - begun);
            off.push(gap);
            begun = pair[1].0;
        }
    }
    [on, off].map(|v| {
        let ms = |ns: u64| ns as f64 / 1e6;
        let mean = v.iter().sum::<u64>() as f64 / v.len() as f64 / 1e6;
        (mean, ms(*v.iter().min().unwrap()), ms(*v.iter().max().unwrap()))
    })
}

/// On for 10 to 700 ms, off for 100 to 300 ms. A burst ends up to one packet's wait before its
/// time is over, which then belongs to the pause: 10.3 ms at 150 kB/s.
///
/// Fails when on and off are swapped, when they are drawn from another range, or when a burst
/// does not begin with a packet.
#[test]
fn bursts_and_pauses_have_their_lengths() {
    let [on, off] = bursts(&packets("ftp"), 50);
    assert!((338.0..362.0).contains(&on.0), "{on:?}");
    assert!(on.1 >= 0.0 && (650.0..=700.0).contains(&on.2), "{on:?}");
    assert!((195.0..215.0).contains(&off.0), "{off:?}");
    assert!((100.0..105.0).contains(&off.1) && (280.0..=310.3).contains(&off.2), "{off:?}");

    // Voice: on for 2 to 4 ms, off for 6 to 10 ms, a packet each 0.4 or 0.67 ms.
    let [on, off] = bursts(&packets("voice"), 5);
    assert!((2.3..3.05).contains(&on.0) && on.2 <= 4.0, "{on:?}");
    assert!((8.0..8.7).contains(&off.0) && off.1 >= 6.0 && off.2 <= 10.67, "{off:?}");
}

/// A normal of mean 1700 and deviation 200, cut at 1536: 79.5 % are cut (z = -0.8225).
///
/// Fails when lengths above the largest packet are drawn again instead of cut, or when the
/// deviation is mistaken for a variance.
#[test]
fn lengths_have_their_distribution() {
    let video = packets("video");
    let cut = video.iter().filter(|p| p.1 == 1536).count() as f64 / video.len() as f64;
    assert!((0.788..0.801).contains(&cut), "{cut}");
    let transactions = packets("transactions");
    let n = transactions.len() as f64;
    let mean = transactions.iter().map(|p| f64::from(p.1)).sum::<f64>() / n;
    let square = transactions.iter().map(|p| (f64::from(p.1) - mean).powi(2)).sum::<f64>() / n;
    assert!((mean - 300.0).abs() < 2.0, "{mean}");
    assert!((square.sqrt() - 50.0).abs() < 1.5, "{}", square.sqrt());
    assert!(packets("voice").iter().all(|p| p.1 == 100));
}
