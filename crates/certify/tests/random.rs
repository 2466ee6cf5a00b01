//! Certificates of random links, CPUs and clusters pass, and with any one number changed they do not.

#[path = "../examples/certificates/facts.rs"]
mod facts;
#[path = "../examples/certificates/written.rs"]
mod written;

use facts::Random;
use laxity_certify::{Facts, NoCertificate, Proof, Refusal, cluster, cpu, link, text};
use written::{certificate, changed, numbers, random_facts};

fn check(text: &str) -> Result<(), Refusal> {
    for (facts, proof) in text::read(text)? {
        match (&facts, &proof) {
            (Facts::Link(facts), Proof::Link(proof)) => link::check(facts, proof)?,
            (Facts::Cpu(facts), Proof::Cpu(proof)) => cpu::check(facts, proof)?,
            (Facts::Cluster(facts), Proof::Cluster(proof)) => cluster::check(facts, proof)?,
            _ => panic!("facts of one kind and a proof of the other"),
        }
    }
    Ok(())
}

/// Facts that have no certificate.
#[derive(Debug, Default)]
struct Without {
    refused: u32,
    ahead: u32,
    other: u32,
}

/// So many certificates of random facts pass, and none with one number changed.
fn pass_unless_changed(
    mut random: Random,
    count: u32,
    facts: impl Fn(&mut Random) -> Facts,
) -> Without {
    let (mut written, mut without) = (0, Without::default());
    while written < count {
        let facts = facts(&mut random);
        match certificate(&facts) {
            Ok(proof) => {
                let text = text::write(&[(facts, proof)]);
                passes_unless_changed(&mut random, &text, written % 20 == 0);
                written += 1;
            }
            Err(NoCertificate::NotAdmitted) => without.refused += 1,
            Err(NoCertificate::ServedAhead { .. }) => without.ahead += 1,
            Err(_) => without.other += 1,
        }
    }
    without
}

/// A certificate passes, and none in which one number is changed: in one place, or in all of a short one.
fn passes_unless_changed(random: &mut Random, written: &str, all: bool) {
    assert_eq!(check(written), Ok(()), "{written}");
    let places = numbers(written);
    let all = all && places.len() < 100;
    let one = places[random.within(0, places.len() as u64 - 1) as usize];
    for place in places.into_iter().filter(|place| all || *place == one) {
        let by = [-1, 1, 1000, -777_777_777][random.within(0, 3) as usize];
        let changed = changed(written, place, by);
        assert!(check(&changed).is_err(), "{place:?} by {by} passes:\n{changed}");
    }
}

// Fails when `issue` and `check` disagree, or a number of the proof is not looked at. Tried: without the
// checks of the horizon, of the least residual, that the curve is the largest, that a corner is the first tick,
// that blocking packets are those of flows, that the share of short deadlines is the least, and of the parts.
#[test]
fn certificates_pass_and_changed_ones_are_refused() {
    let without = pass_unless_changed(Random(7), 10_000, random_facts);
    assert!(without.refused > 2000 && without.ahead == 0 && without.other < 500, "{without:?}");
}

// Fails when `issue` and `check` disagree about service curves, or a number about them is not looked at. Tried: a
// first tick that is any at which the curve has reached the smallest packet, and any number of lines that are
// followed.
#[test]
fn certificates_of_service_curves_pass_and_changed_ones_are_refused() {
    let facts = |random: &mut Random| Facts::Link(random.served_link(5));
    let without = pass_unless_changed(Random(9), 3000, facts);
    assert!(without.refused > 500 && without.ahead > 0 && without.other < 100, "{without:?}");
}

// Fails when `issue` and `check` disagree about clusters, or a number about them is not looked at. Tried: without the
// comparison of the sum, of the greatest density and of the parts, which then may be any multiple.
#[test]
fn certificates_of_clusters_pass_and_changed_ones_are_refused() {
    let facts = |random: &mut Random| Facts::Cluster(random.cluster());
    let without = pass_unless_changed(Random(13), 3000, facts);
    let counts = without.refused > 500 && without.ahead == 0 && without.other == 0;
    assert!(counts, "{without:?}");
}

// Fails when the test of a cluster lets more in than its CPUs have, or less: tried with the greatest density counted
// once for each CPU, and with what best effort keeps of one CPU alone.
#[test]
fn clusters_are_admitted_up_to_the_bound() {
    let reservation = |budget| laxity_certify::Reservation {
        name: "r".to_owned(),
        budget,
        period: 200,
        deadline: 100,
    };
    // On 4 CPUs with a tenth kept of each: four halves and three times a half more are 3.5, so a tenth is free.
    let facts = |last| laxity_certify::ClusterFacts {
        number: None,
        cpus: 4,
        from: 0,
        unit: 1000,
        best_effort: 100,
        reservations: [50, 50, 50, 50, last].map(reservation).to_vec(),
    };
    let full = cluster::issue(&facts(10)).expect("a certificate");
    assert_eq!((full.parts, full.sum, full.largest), (1000, 2100, 500));
    assert_eq!(cluster::check(&facts(10), &full), Ok(()));
    assert_eq!(cluster::issue(&facts(11)), Err(NoCertificate::NotAdmitted));
    let over = laxity_certify::ClusterProof { sum: 2110, ..full };
    assert_eq!(cluster::check(&facts(11), &over), Err(Refusal::Cluster));
}

// Fails when lines of another scenario are taken for those of this one: tried with a comparison of the
// common beginning only.
#[test]
fn certificates_are_about_one_scenario() {
    let mut random = Random(3);
    for number in 0..200 {
        let facts = match number % 3 {
            0 => random_facts(&mut random),
            1 => Facts::Link(random.served_link(5)),
            _ => Facts::Cluster(random.cluster()),
        };
        let Ok(proof) = certificate(&facts) else { continue };
        let written = text::write(&[(facts.clone(), proof)]);
        assert_eq!(text::compare(&written, std::slice::from_ref(&facts)), Ok(()));
        let differs = |other: &[Facts]| {
            assert!(matches!(text::compare(&written, other), Err(Refusal::Facts { .. })));
        };
        differs(&[]);
        differs(&[facts.clone(), facts.clone()]);
        differs(&[random_facts(&mut random)]);
        // Each number of the facts, by one.
        for (l, line) in
            written.lines().enumerate().take_while(|(_, line)| *line != "proof").skip(1)
        {
            let words = line.split(' ').count();
            for w in (1..words)
                .filter(|w| line.split(' ').nth(*w).is_some_and(|n| n.parse::<i64>().is_ok()))
            {
                let changed = changed(&written, (l, w), 1);
                assert!(
                    text::compare(&changed, std::slice::from_ref(&facts)).is_err(),
                    "{changed}"
                );
            }
        }
    }
}

// Fails when a file that is no certificate makes the reader or the checks panic: any cut, any line twice.
#[test]
fn broken_files_are_refused_with_the_line() {
    let mut random = Random(11);
    for number in 0..40 {
        let facts = match number % 3 {
            0 => random_facts(&mut random),
            1 => Facts::Link(random.served_link(5)),
            _ => Facts::Cluster(random.cluster()),
        };
        let Ok(proof) = certificate(&facts) else { continue };
        let written = text::write(&[(facts, proof)]);
        let lines: Vec<&str> = written.lines().collect();
        if lines.len() > 150 {
            continue;
        }
        for cut in 0..lines.len() {
            assert!(check(&lines[..cut].join("\n")).is_err());
            let mut twice = lines.clone();
            twice.insert(cut, lines[cut]);
            assert!(check(&twice.join("\n")).is_err(), "line {cut} twice: {}", lines[cut]);
        }
        for place in numbers(&written) {
            for by in [i128::MAX / 3, -(i128::MAX / 3)] {
                assert!(check(&changed(&written, place, by)).is_err());
            }
        }
    }
    assert_eq!(
        check("laxity-certificate 2\n"),
        Err(Refusal::Version { found: "laxity-certificate 2".to_owned() })
    );
    let short = "laxity-certificate 1\nlink\nrate x\n";
    assert_eq!(check(short), Err(Refusal::Syntax { line: 3, expected: "`rate` and bit/s" }));
}

// Fails when a certificate of a thousand flows is too large. Takes well below a second optimised; in debug
// builds the time only shows that nothing is quadratic beyond a few operations a pair of flows.
#[test]
fn a_thousand_flows_fit_into_a_megabyte() {
    let mut random = Random(5);
    let mut facts = random.link(1);
    facts.rate = 10_000_000_000;
    facts.paper = false;
    let some = random.link(5).flows;
    facts.flows = (0..1000u64)
        .map(|n| {
            let mut flow = some[n as usize % some.len()].clone();
            flow.name = format!("flow {n}");
            let deadline = 40_000_000 + 1_000_003 * random.within(0, 40);
            flow.packet = 100 + n;
            let mut envelope = laxity_certify::Envelope::Buckets(vec![
                (1536, 20_000_000 + n),
                (3000 + n, 4_000_000),
            ]);
            if n % 4 == 0 {
                let (size, period, jitter) = (flow.packet, 20_000_000 + n, n);
                envelope = laxity_certify::Envelope::Periodic { size, period, jitter };
            }
            flow.promise = laxity_certify::Promise::Deadline { deadline, envelope };
            flow
        })
        .collect();
    let start = std::time::Instant::now();
    let proof = link::issue(&facts).expect("admitted");
    let written = text::link(&facts, &proof);
    assert_eq!(check(&written), Ok(()));
    eprintln!("{} bytes in {:?}", written.len(), start.elapsed());
    assert!(written.len() < 1_000_000, "{} bytes", written.len());
}

// Fails when a line passes in another form than it is written in, which the checker from Coq would refuse: tried
// with tabs and other spaces.
#[test]
fn lines_have_one_form() {
    let mut random = Random(5);
    let facts = std::iter::repeat_with(|| Facts::Link(random.link(2)));
    let (facts, proof) = facts
        .filter_map(|facts| certificate(&facts).ok().map(|proof| (facts, proof)))
        .next()
        .expect("one is admitted");
    let written = text::write(&[(facts.clone(), proof)]);
    let same = [written.replace('\n', "\r\n"), written.trim_end().to_owned()];
    for text in same {
        assert_eq!(check(&text), Ok(()));
        assert_eq!(text::compare(&text, std::slice::from_ref(&facts)), Ok(()));
    }
    for (from, to) in [
        ("rate ", "rate \t"),
        ("rate ", "rate \u{a0}"),
        ("rate ", "rate 0"),
        ("rate ", "rate +"),
        ("\nrate", "\n\trate"),
        ("\nend\n", "\nend x\n"),
        ("\nlink\n", "\nlink x\n"),
        ("\nproof\n", "\nproof\u{a0}\n"),
        ("certificate 1\n", "certificate 1 2\n"),
        ("certificate 1\n", "certificate\t1\n"),
        ("\nlink\n", "\n\nlink\n"),
    ] {
        let changed = written.replacen(from, to, 1);
        assert_ne!(changed, written);
        let refused = check(&changed).expect_err(&changed);
        assert!(matches!(refused, Refusal::Syntax { .. } | Refusal::Version { .. }), "{refused}");
    }
    let none = "\n".repeat(1 << 20);
    assert!(matches!(text::read(&none), Err(Refusal::Version { .. })));
}

// Fails when a refusal names a unit that is not that of the facts, or a flow without a name.
#[test]
fn refusals_name_their_unit() {
    let demand = |unit| Refusal::Demand { at: 5, unit }.to_string();
    assert_eq!(demand("ns"), "more can be due in an interval of 5 ns than fits into it");
    let nobody = Refusal::Corner { of: String::new(), number: 3 }.to_string();
    assert!(!nobody.contains('`') && nobody.contains("another number of flows"), "{nobody}");
    let asked = |deadline| laxity_certify::Reservation {
        name: "r".to_owned(),
        budget: 10,
        period: 100,
        deadline,
    };
    let mut facts = laxity_certify::CpuFacts {
        number: None,
        from: 0,
        unit: 1 << 20,
        best_effort: 0,
        reservations: vec![asked(50)],
    };
    let mut proof = cpu::issue(&facts).expect("a certificate");
    // The same share for a deadline that needs more.
    facts.reservations = vec![asked(5)];
    proof.short = 0;
    proof.steps = vec![0];
    proof.horizon = 0;
    let refused = cpu::check(&facts, &proof).expect_err("a refusal");
    assert!(matches!(refused, Refusal::Demand { unit: "ns", .. }), "{refused}");
}
