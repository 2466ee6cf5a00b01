//! Scenarios fitted to the captures: they hold every packet, and nothing smaller would.

use std::path::Path;

use crate::common::{file, replay};
use laxity_core::{Bytes, Rate, Span};
use laxity_curve::{Bucket, Envelope, Rational};
use laxity_link::police::Policer;
use laxity_scenario::link::model::Scenario;
use laxity_sim::link::fit::{Fit, Grouping, Options, Sample, fit};
use laxity_trace::{LinkType, PcapngWriter};
use laxity_traffic::Arrival;

fn options(by: Grouping) -> Options {
    Options {
        by,
        packet: None,
        tightness: Rational::ONE,
        rate: None,
        deadlines: Vec::new(),
        trace: "trace.csv".into(),
        output: "fitted.toml".into(),
    }
}

/// The fit as its text says it, and the packets that its rules pick.
fn fitted(path: &Path, options: &Options) -> (Fit, Scenario, Vec<Arrival>) {
    let sample = Sample::read(path).unwrap();
    let fit = fit(&sample, options).unwrap();
    let text = fit.to_toml("A heading\n\nof three lines");
    let scenario =
        Scenario::parse(&text, &options.output).unwrap_or_else(|e| panic!("{text}\n{e}"));
    let recording = laxity_sim::link::replay::read(path, &scenario).unwrap();
    assert_eq!(recording.packets.len() as u64, sample.packets);
    (fit, scenario, recording.packets)
}

/// Packets of a flow that exceed an envelope.
fn excess(packets: &[Arrival], flow: usize, envelope: &Envelope) -> usize {
    let mut policer = Policer::new(envelope);
    let mut count = 0;
    for p in packets.iter().filter(|p| p.flow.index() == flow) {
        if policer.conforms_at(p.time, p.bytes) == Some(p.time) {
            policer.take(p.time, p.bytes);
        } else {
            count += 1;
        }
    }
    count
}

/// The envelope with less burst, less rate or less peak; `None` where it would be none.
fn less(envelope: &Envelope, which: usize, bytes: u64, bits: u64) -> Option<Envelope> {
    let Envelope::Buckets { buckets, max_packet, min_packet, .. } = envelope else { return None };
    let mut buckets = buckets.clone();
    let bucket = buckets.get_mut(which)?;
    let burst = bucket.burst.0.checked_sub(bytes)?;
    *bucket = Bucket { burst: Bytes(burst), rate: Rate(bucket.rate.0.checked_sub(bits)?) };
    Envelope::buckets(&buckets, (*max_packet).min(Bytes(burst)))
        .ok()?
        .with_min_packet(*min_packet)
        .ok()
}

/// Fails when the fit is made for other packets than `match` picks, when a burst or peak is
/// rounded down, or when either is larger than needed.
#[test]
fn fitted_envelopes_are_tight() {
    let mut flows = 0;
    for name in ["access-link", "cooked-sll", "cooked-sll2", "tunnel-raw"] {
        for by in [Grouping::Dscp, Grouping::Flow, Grouping::Port] {
            for tightness in [(0, 1), (1, 2), (9999, 10_000), (1, 1)] {
                let tightness = Rational::new(tightness.0, tightness.1).unwrap();
                let options = Options { tightness, ..options(by) };
                let path = file(&format!("captures/{name}.pcap"));
                let (fit, scenario, packets) = fitted(&path, &options);
                assert!(
                    fit.admitted,
                    "{name} {by:?}: the guessed rate keeps the guessed deadlines"
                );
                for (i, f) in scenario.realtime.iter().enumerate() {
                    let place = format!("{name} {by:?} {tightness:?} {}", f.name);
                    assert_eq!(excess(&packets, i, &f.envelope), 0, "{place}");
                    let Some([.., last]) = f.envelope.lines() else { panic!("{place}") };
                    let last_place = f.envelope.lines().unwrap().len() - 1;
                    if last.burst > f.envelope.max_packet() {
                        let burst = less(&f.envelope, last_place, 1, 0).unwrap();
                        assert!(excess(&packets, i, &burst) > 0, "{place}: b - 1");
                    }
                    if last_place == 1 && f.envelope.lines().unwrap()[0].rate > last.rate {
                        let peak = less(&f.envelope, 0, 0, 1).unwrap();
                        assert!(excess(&packets, i, &peak) > 0, "{place}: p - 1");
                    }
                    flows += 1;
                }
            }
        }
    }
    assert!(flows > 100, "{flows}");
}

/// Fails when groups lose packets, or when counts are those of other groups.
#[test]
fn fitted_flows_contain_all_packets() {
    for by in [Grouping::Dscp, Grouping::Flow, Grouping::Port] {
        let (fit, scenario, packets) = fitted(&file("captures/access-link.pcap"), &options(by));
        assert_eq!(fit.flows.iter().map(|f| f.packets).sum::<u64>(), 13_468);
        assert_eq!(fit.flows.iter().map(|f| f.bytes).sum::<u64>(), 15_620_432);
        for (name, flow) in scenario.flow_names().zip(0..) {
            let seen = packets.iter().filter(|p| p.flow.0 == flow).count() as u64;
            let reported = fit.flows.iter().find(|f| f.name == name).map_or(0, |f| f.packets);
            assert_eq!(seen, reported, "{by:?} {name}");
        }
    }
}

/// Fails when deadlines follow anything but the code point, or an option is ignored.
#[test]
fn deadlines_are_guessed_by_code_point_or_given() {
    let path = file("captures/access-link.pcap");
    let (fit, scenario, _) = fitted(&path, &options(Grouping::Dscp));
    let deadlines: Vec<_> =
        scenario.realtime.iter().map(|f| (f.name.as_str(), f.deadline.0 / 1_000_000)).collect();
    assert_eq!(deadlines, [("af41", 30), ("ef", 10)]);
    assert_eq!((fit.scenario.link.rate, fit.rate_guessed), (Rate(20_000_000), true));

    let given = Options {
        deadlines: vec![("tcp-80".into(), Span::from_millis(500))],
        rate: Some(Rate(9_000_000)),
        packet: Some(Bytes(1600)),
        ..options(Grouping::Port)
    };
    let (fit, scenario, packets) = fitted(&path, &given);
    let web = scenario.realtime.iter().position(|f| f.name == "tcp-80").unwrap();
    assert_eq!(scenario.realtime[web].deadline, Span::from_millis(500));
    assert_eq!(scenario.realtime[web].envelope.max_packet(), Bytes(1600));
    assert_eq!(excess(&packets, web, &scenario.realtime[web].envelope), 0);
    assert_eq!((scenario.link.rate, fit.admitted), (Rate(9_000_000), false));

    let sample = Sample::read(&path).unwrap();
    let unknown = Options { deadlines: vec![("no".into(), Span(1))], ..options(Grouping::Dscp) };
    let error = fit_error(&sample, &unknown);
    assert_eq!(error, "there is no flow `no` to give a deadline; there is af41, ef, be");
    let small = Options { packet: Some(Bytes(1000)), ..options(Grouping::Dscp) };
    let error = fit_error(&sample, &small);
    assert!(
        error.contains("`af41` has packets of 1242 B") && error.contains("at least"),
        "{error}"
    );
}

fn fit_error(sample: &Sample, options: &Options) -> String {
    fit(sample, options).unwrap_err().to_string()
}

/// A trace has names instead of headers; its scenario replays it without further options.
///
/// Fails when names are lost, the class `other` is not matched with the flow of that name, or the
/// file is not found from the scenario.
#[test]
fn a_csv_trace_becomes_a_scenario_that_replays_it() {
    let folder = std::env::temp_dir().join(format!("laxity-fit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("t.csv");
    let rows = "time_ns,bytes,flow\n0,100,other\n0,200,ef-desk\n5000000,1500,\"a, \"\"b\"\"\"\n\
                20000000,200,ef-desk\n20000000,200,ef-desk\n";
    std::fs::write(&path, rows).unwrap();
    let output = folder.join("t.toml");
    let options =
        Options { trace: path.clone(), output: output.clone(), ..options(Grouping::Dscp) };
    let (fit, scenario, packets) = fitted(&path, &options);
    assert_eq!(scenario.flow_names().collect::<Vec<_>>(), ["ef-desk", "a, \"b\"", "other"]);
    assert_eq!(excess(&packets, 0, &scenario.realtime[0].envelope), 0);
    // Two at one instant have no finite peak rate.
    assert_eq!(fit.flows[0].tspec.peak, None);
    assert_eq!(fit.flows[0].tspec.burst, Bytes(400));
    for class in &scenario.best_effort {
        let Some(laxity_scenario::link::model::Source::Trace { path: from }) = &class.source else {
            panic!("{} has no source", class.name)
        };
        assert_eq!(std::fs::canonicalize(from).unwrap(), std::fs::canonicalize(&path).unwrap());
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Five packets of 1000 B at once within 10 ms, behind one on the wire: 4.8 Mbit/s, so 5.
///
/// Fails when the rate is guessed by the mean alone, or the peak counts both ends of its window.
#[test]
fn the_guessed_rate_keeps_the_guessed_deadlines() {
    let rows = "0,1000,ef\n".repeat(5) + "10000000,1000,ef\n20000000,30,ef\n100000000,1000,bulk\n";
    let (fit, scenario, packets) = of_rows("rate", &rows);
    assert_eq!((fit.scenario.link.rate, fit.admitted), (Rate(5_000_000), true));
    let verdict = |rate| {
        let mut setup = scenario.setup();
        setup.rate = Rate(rate);
        laxity_curve::check(&setup.link_spec(), &setup.flow_specs().unwrap()).unwrap().admitted
    };
    assert_eq!([2_000_000, 5_000_000].map(verdict), [false, true]);
    assert_eq!(fit.flows[0].peak, Rate(4_000_000));
    assert_eq!(excess(&packets, 0, &scenario.realtime[0].envelope), 0);
}

/// Packets smaller than the usual minimum policed unit of 40 B count with their size.
///
/// Fails when the envelope retains that unit: it was fitted to the lengths themselves.
#[test]
fn short_packets_conform() {
    let rows: String =
        (0..50).map(|i| format!("{},{},ef\n", i * 1_000_000, [20, 60][i % 2])).collect();
    let (_, scenario, packets) = of_rows("short", &rows);
    assert_eq!(excess(&packets, 0, &scenario.realtime[0].envelope), 0);
}

/// A trace of these rows, fitted with nothing else said.
fn of_rows(name: &str, rows: &str) -> (Fit, Scenario, Vec<Arrival>) {
    let name = format!("laxity-fit-{name}-{}.csv", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, format!("time_ns,bytes,flow\n{rows}")).unwrap();
    let all = fitted(&path, &options(Grouping::Dscp));
    std::fs::remove_file(&path).unwrap();
    all
}

/// Later fragments show no ports; their rule must not take the packets that do.
///
/// Fails when the order of rules follows the bytes alone.
#[test]
fn rules_with_more_conditions_come_first() {
    let mut out = PcapngWriter::new(Vec::new()).unwrap();
    let port = out.add_interface(LinkType::RAW, 0, "tun").unwrap();
    for i in 0..20u64 {
        let mut packet =
            vec![0x45, 46 << 2, 0, 40, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        if i % 2 == 0 {
            packet.extend([0x9c, 0x40, 0x13, 0x8c, 0, 20, 0, 0]);
        } else {
            packet[6..8].copy_from_slice(&[0, 1]);
        }
        packet.resize(40, 0);
        // The fragments have more bytes on the wire than were captured.
        let length = if i % 2 == 0 { 40 } else { 1000 };
        out.packet(port, i * 5_000_000, length, &packet, None).unwrap();
    }
    let path = std::env::temp_dir().join(format!("laxity-fit-frag-{}.pcapng", std::process::id()));
    std::fs::write(&path, out.finish().unwrap()).unwrap();
    for by in [Grouping::Flow, Grouping::Port] {
        let (fit, _, _) = fitted(&path, &options(by));
        let flows: Vec<_> = fit.flows.iter().map(|f| (f.name.as_str(), f.bytes)).collect();
        assert_eq!(flows, [("ef-udp-5004", 400), ("ef-udp", 10_000)], "{by:?}");
    }
    std::fs::remove_file(&path).unwrap();
}

/// One packet alone says nothing of a rate.
#[test]
fn the_rate_of_a_single_packet_is_marked_as_a_guess() {
    let path = std::env::temp_dir().join(format!("laxity-fit-one-{}.csv", std::process::id()));
    std::fs::write(&path, "time_ns,bytes,flow\n77,30,ef\n").unwrap();
    let (fit, scenario, packets) = fitted(&path, &options(Grouping::Dscp));
    std::fs::remove_file(&path).unwrap();
    assert!(fit.flows[0].rate_guessed);
    assert!(fit.to_toml("").contains("# Guess: the envelope's rate"));
    assert_eq!(excess(&packets, 0, &scenario.realtime[0].envelope), 0);
    // Shorter than the usual minimum policed unit.
    assert_eq!(scenario.realtime[0].envelope.burst(), Bytes(30));
}

/// The scenario that the demonstration replays: its envelopes are those of the fit, real time
/// meets its deadlines, nothing is dropped, and best effort gains from policy to policy.
///
/// Fails when the capture, the envelopes or a policy change so that this is no longer true.
#[test]
fn the_scenario_of_a_capture_describes_its_link() {
    let path = file("captures/access-link.pcap");
    let scenario = Scenario::read(file("scenarios/captured-link.toml")).unwrap();
    let packets = laxity_sim::link::replay::read(&path, &scenario).unwrap().packets;
    let mut wrong = Vec::new();
    for (i, f) in scenario.realtime.iter().enumerate() {
        let of = packets.iter().filter(|p| p.flow.index() == i);
        let trace: Vec<_> = of.map(|p| (p.time, Bytes(p.bytes.into()))).collect();
        let largest = trace.iter().map(|(_, b)| *b).max().unwrap();
        let smallest = trace.iter().map(|(_, b)| *b).min().unwrap();
        let tspec = laxity_curve::fit_tspec(&trace, largest, Rational::ONE).unwrap();
        let wanted = tspec.envelope().unwrap().with_min_packet(smallest).unwrap();
        if f.envelope != wanted || excess(&packets, i, &f.envelope) > 0 {
            wrong.push(format!("{}: the fit gives {tspec:?}, {smallest}", f.name));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let verdict = {
        let setup = scenario.setup();
        laxity_curve::check(&setup.link_spec(), &setup.flow_specs().unwrap()).unwrap()
    };
    assert!(verdict.admitted);
    let mut means = Vec::new();
    for policy in ["background", "shifted-line", "exact", "slack"] {
        let (run, log) = replay(&scenario, policy, packets.clone());
        let result = run.result(&scenario);
        assert_eq!((result.realtime_deadline_misses, log.dropped.len()), (0, 0), "{policy}");
        means.push(result.best_effort_mean_ms.unwrap());
    }
    assert!(means.is_sorted_by(|a, b| a > b), "{means:?}");
    assert!(means[2] < 0.8 * means[0] && means[3] < 0.6 * means[0], "{means:?}");
}
