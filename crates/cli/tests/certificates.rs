//! Certificates of shipped scenarios, and their agreement with the admission tests.

#[path = "../../certify/examples/certificates/facts.rs"]
mod facts;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use facts::Random;
use laxity_certify::{
    CpuFacts, Envelope, Line, LinkFacts, NoCertificate, Promise, cluster, cpu, link,
};
use laxity_core::{Bytes, Rate, Span, Time};
use laxity_cpu::clusters::{self, Layout};
use laxity_cpu::{Attributes, Policy as _, Share, TaskId, registry, reserved_bandwidth};
use laxity_curve::service::{LinkFlow, ServiceCurve, ServiceSpec, check_flows, residual};
use laxity_curve::{Blocking, Bucket, Curve, FlowSpec, LinkSpec, Rational, Residual};

fn laxity(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_laxity")).args(arguments).output().expect("runs")
}

fn scenarios() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = std::fs::read_dir(root.join("scenarios")).expect("a folder");
    let mut all: Vec<PathBuf> = folder.map(|file| file.expect("a file").path()).collect();
    all.push(root.join("experiments/low-delay/access-link.toml"));
    all.sort();
    all
}

// Fails when a shipped scenario that is admitted has no certificate, `certify` refuses one, or takes that of
// another scenario: tried without `text::compare`.
#[test]
fn shipped_scenarios_are_certified() {
    let folder = std::env::temp_dir().join(format!("laxity-certificates-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut certified: Vec<(String, String)> = Vec::new();
    let mut without = Vec::new();
    for path in scenarios() {
        let scenario = path.to_str().expect("a name");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let file = folder.join(format!("{}-{name}", certified.len()));
        let file = file.to_str().expect("a name");
        if !laxity(&["check", scenario, "--certificate", file]).status.success() {
            without.push(name);
            continue;
        }
        let answer = laxity(&["certify", file, scenario]);
        assert!(answer.status.success(), "{scenario}: {}", String::from_utf8_lossy(&answer.stderr));
        assert!(answer.stdout.starts_with(b"Certified: "));
        for (other, _) in &certified {
            let other_text = std::fs::read_to_string(other).expect("a scenario");
            let same = other_text == std::fs::read_to_string(scenario).expect("a scenario");
            if !same && !name.contains("access-link") && !name.contains("greedy") {
                assert_eq!(
                    laxity(&["certify", file, other]).status.code(),
                    Some(1),
                    "{file} {other}"
                );
            }
        }
        certified.push((scenario.to_owned(), name));
    }
    // Streams, locks, several CPUs.
    assert_eq!(without, ["dwcs-paper", "locks", "media-server", "recorded"]);
    let refused = laxity(&["certify", "Cargo.toml", &certified[0].0]);
    assert_eq!(refused.status.code(), Some(1));
    let _ = std::fs::remove_dir_all(&folder);
}

// Fails when a certificate is written, or accepted, for a policy or an option under which deadlines are missed
// although everything is admitted: tried without the questions of the policy, for links and for CPUs.
#[test]
fn what_keeps_no_deadlines_is_not_certified() {
    let folder = std::env::temp_dir().join(format!("laxity-uncertified-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_str().expect("a name").to_owned()
    };
    let file = folder.join("certificate");
    let file = file.to_str().expect("a name");
    let reserved = |policy: &str, kind: &str, cost: &str| {
        format!(
            "[cpu]\n[policy]\n{policy}\n[[task]]\nname = \"t\"\n\
             work = {{ period = \"10 ms\", cost = \"{cost}\" }}\n\
             reservation = {{ budget = \"2 ms\", period = \"10 ms\"{kind} }}\n"
        )
    };
    let access = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/access-link.toml");
    let access = std::fs::read_to_string(access).expect("a scenario");
    let uses = |policy: &str| access.replacen("\"exact\"", &format!("\"{policy}\""), 1);
    let (link, cpu) = (uses("exact"), reserved("use = \"bebs\"", "", "2 ms"));
    let soft = ", kind = \"soft\"";
    for (good, bad, why) in [
        (&link, uses("fifo"), "fifo keeps no deadlines"),
        (&link, uses("best-effort-first"), "best-effort-first keeps no deadlines"),
        (&link, uses("algorithm-3-printed"), "algorithm-3-printed keeps no deadlines"),
        (&link, uses("proportional-share"), "proportional-share is no EDF"),
        (&cpu, reserved("bebs = { transition = \"stretch\" }", "", "2 ms"), "transition = "),
        (&cpu, reserved("bebs = { transition = \"neither\" }", "", "2 ms"), "transition = "),
        (&cpu, reserved("bebs = { period-basis = \"average\" }", "", "2 ms"), "period-basis = "),
        (&cpu, reserved("use = \"sched-deadline\"", "", "2 ms"), "sched-deadline keeps budgets"),
        (&cpu, reserved("use = \"sched-deadline\"", soft, "2 ms"), "sched-deadline keeps no"),
        (&cpu, reserved("use = \"bebs\"", "", "3 ms"), "t has jobs of 3 ms, beyond its budget"),
    ] {
        let (good, bad) = (write("good.toml", good), write("bad.toml", &bad));
        let answer = laxity(&["check", &good, "--certificate", file]);
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        for arguments in [&["certify", file, &bad][..], &["check", &bad, "--certificate", file]] {
            assert!(laxity(&["check", &bad]).status.success(), "{why}: admitted");
            let answer = laxity(arguments);
            let said = String::from_utf8_lossy(&answer.stderr);
            assert_eq!(answer.status.code(), Some(1), "{why}: {arguments:?}: {said}");
            assert!(said.contains("no certificate: ") && said.contains(why), "{why}: {said}");
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}

// Fails when a certificate of one CPU passes for another, as without the number in the facts, or that of a cluster for
// clusters of another size: tried without `cpus`. The last cluster of three CPUs has one.
#[test]
fn each_of_several_cpus_has_its_certificate() {
    let folder = std::env::temp_dir().join(format!("laxity-cpus-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = |name: &str| folder.join(name).to_str().expect("a name").to_owned();
    let scenario = |cpu: &str| {
        let task = |name: &str, budget: &str| {
            format!(
                "[[task]]\nname = \"{name}\"\nwork = {{ period = \"10 ms\", cost = \"{budget}\" }}\n\
                 reservation = {{ budget = \"{budget}\", period = \"10 ms\", deadline = \"9 ms\" }}\n"
            )
        };
        format!("[cpu]\n{cpu}\n{}{}", task("a", "6 ms"), task("b", "5 ms"))
    };
    let (two, written, other) = (path("two.toml"), path("two.cert"), path("other.cert"));
    std::fs::write(&two, scenario("cpus = 2")).expect("a file");
    let answer = laxity(&["check", &two, "--certificate", &written]);
    assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    let answer = laxity(&["certify", &written, &two]);
    let said = String::from_utf8_lossy(&answer.stdout).into_owned();
    let of = |cpu: u32| format!("1 reservation in force from 0 ms on fit CPU {cpu}; short");
    assert!(answer.status.success() && said.contains(&of(0)) && said.contains(&of(1)), "{said}");
    let text = std::fs::read_to_string(&written).expect("a certificate");
    for (from, to) in [("cpu 0\n", "cpu 1\n"), ("cpu 1\n", "cpu\n"), ("cpu 1\n", "cpu 1 1\n")] {
        assert!(text.contains(from), "{text}");
        std::fs::write(&other, text.replacen(from, to, 1)).expect("a file");
        assert_eq!(laxity(&["certify", &other, &two]).status.code(), Some(1), "{to}");
    }
    let shared = path("shared.toml");
    let certified = |cpu: &str, expected: &[&str]| {
        std::fs::write(&shared, scenario(cpu)).expect("a file");
        let answer = laxity(&["check", &shared, "--certificate", &other]);
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        let answer = laxity(&["certify", &other, &shared]);
        let said = String::from_utf8_lossy(&answer.stdout).into_owned();
        assert!(answer.status.success() && expected.iter().all(|e| said.contains(e)), "{said}");
    };
    certified(
        "cpus = 3\ncluster = 2",
        &["1 reservation in force from 0 ms on fit cluster 0, 2 CPUs", "fit CPU 2; short"],
    );
    certified(
        "cpus = 2\ncluster = 2",
        &["2 reservations in force from 0 ms on fit 2 CPUs that share a queue: 122.2 %", "66.7 %"],
    );
    for cpu in ["cpus = 3\ncluster = 3", "cpus = 4\ncluster = 2", "cpus = 2"] {
        std::fs::write(&shared, scenario(cpu)).expect("a file");
        assert_eq!(laxity(&["certify", &other, &shared]).status.code(), Some(1), "{cpu}");
    }
    let _ = std::fs::remove_dir_all(&folder);
}

// Fails when a file without a length is read without a limit.
#[cfg(target_os = "linux")]
#[test]
fn endless_files_are_no_certificates() {
    let access = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/access-link.toml");
    let answer = laxity(&["certify", "/dev/zero", access.to_str().expect("a name")]);
    assert_eq!(answer.status.code(), Some(2));
    let said = String::from_utf8_lossy(&answer.stderr);
    assert!(said.contains("/dev/zero: larger than any certificate"), "{said}");
}

fn buckets(buckets: &[(u64, u64)], packet: u64) -> laxity_curve::Envelope {
    let bucket = |(burst, rate): &(u64, u64)| Bucket { burst: Bytes(*burst), rate: Rate(*rate) };
    let buckets: Vec<Bucket> = buckets.iter().map(bucket).collect();
    laxity_curve::Envelope::buckets(&buckets, Bytes(packet)).expect("an envelope")
}

/// `None` where a slope of a curve is no fraction that `check` takes.
fn spec(facts: &LinkFacts) -> Option<(LinkSpec, Vec<LinkFlow>)> {
    let link = LinkSpec {
        rate: Rate(facts.rate),
        best_effort_packet: Bytes(facts.best_effort),
        downstream_backlog: Bytes(facts.backlog),
        blocking: if facts.paper { Blocking::Paper } else { Blocking::Exact },
    };
    let flow = |flow: &laxity_certify::Flow| match &flow.promise {
        Promise::Deadline { deadline, envelope } => {
            let envelope = match envelope {
                Envelope::Buckets(of) => buckets(of, flow.packet),
                Envelope::Periodic { size, period, jitter } => {
                    laxity_curve::Envelope::periodic(Span(*period), Bytes(*size), Span(*jitter))
                        .expect("an envelope")
                }
            };
            Some(LinkFlow::Deadline(FlowSpec { envelope, deadline: Span(*deadline) }))
        }
        Promise::Service(service) => {
            let piece = |p: &laxity_certify::Piece| laxity_curve::Piece {
                start: Rational::new(p.from.0, p.from.1).expect("a time"),
                slope: Rational::new(p.rise, p.over).expect("a slope"),
                intercept: Rational::new(p.level, p.over).expect("a level"),
            };
            let curve = Curve::affine(service.pieces.iter().map(piece).collect()).expect("a curve");
            let curve = ServiceCurve::new(curve).expect("a service curve");
            let spec = ServiceSpec::new(curve, Bytes(service.smallest), Bytes(flow.packet)).ok()?;
            Some(LinkFlow::Service(match service.buckets.is_empty() {
                true => spec,
                false => spec.with_envelope(buckets(&service.buckets, flow.packet)),
            }))
        }
    };
    Some((link, facts.flows.iter().map(flow).collect::<Option<_>>()?))
}

/// What certificates and `check` decided.
#[derive(Debug, Default)]
struct Tally {
    admitted: u32,
    refused: u32,
    ahead: u32,
    without: u32,
}

impl Tally {
    /// The certificate, if there is one; asserts that `check` decides likewise.
    fn agreed<P>(
        &mut self,
        issued: Result<P, NoCertificate>,
        admitted: bool,
        facts: &impl std::fmt::Debug,
    ) -> Option<P> {
        let (count, as_check) = match &issued {
            Ok(_) => (&mut self.admitted, admitted),
            Err(NoCertificate::NotAdmitted) => (&mut self.refused, !admitted),
            Err(NoCertificate::ServedAhead { .. }) => (&mut self.ahead, admitted),
            Err(_) => (&mut self.without, true),
        };
        assert!(as_check, "{facts:?}");
        *count += 1;
        issued.ok()
    }
}

/// The values of a certified curve and of `check`'s, in nanobits, at both ends of each line up to a tick.
fn values(rate: i128, curve: &[Line], until: i128, of_check: &Curve) -> Vec<(i128, i128)> {
    let ends = curve.iter().enumerate().flat_map(|(i, line)| {
        let end = curve.get(i + 1).map_or(line.at + 1000, |next| next.at - 1);
        [(line, line.at), (line, end)]
    });
    ends.filter(|(_, t)| *t <= until)
        .map(|(line, t)| {
            let own = (line.rise * t + line.level).div_euclid(rate);
            let at = Rational::new(t, rate).expect("a time");
            (own, of_check.value(at).expect("a value").floor())
        })
        .collect()
}

// Fails when certificates and `check` decide differently, or the certified curve is below that of `check`, or
// above it by more than the steps of ticks. Tried with certificates that forget the backlog.
#[test]
fn certificates_agree_with_the_admission_of_links() {
    let mut random = Random(21);
    let mut tally = Tally::default();
    while tally.admitted < 1500 {
        let facts = random.link(5);
        let (link, flows) = spec(&facts).expect("buckets and periods");
        let flows: Vec<FlowSpec> = flows
            .into_iter()
            .filter_map(|flow| match flow {
                LinkFlow::Deadline(flow) => Some(flow),
                LinkFlow::Service(_) => None,
            })
            .collect();
        let verdict = laxity_curve::check(&link, &flows).expect("a verdict");
        let issued = link::issue(&facts);
        let Some(proof) = tally.agreed(issued, verdict.admitted, &facts) else { continue };
        let rate = i128::from(facts.rate);
        // Ticks are finer than a nanosecond, but fractions of them are finer still.
        let near = |a: i128, b: i128| (a - b).abs() <= 200;
        assert!(
            near(verdict.slack, proof.residual / rate),
            "{} {}",
            verdict.slack,
            proof.residual / rate
        );
        if flows.iter().any(|flow| flow.envelope.lines().is_none()) {
            continue;
        }
        let residual = Residual::new(&link, &flows).expect("a residual");
        for (own, of_check) in values(rate, &proof.curve, i128::MAX, residual.effective()) {
            assert!(near(of_check, own) && of_check <= own, "{of_check} {own}");
        }
    }
    assert!(tally.refused > 300 && tally.ahead == 0 && tally.without < 200, "{tally:?}");
}

// Fails when certificates of service curves and `check` decide differently, or the certified curve is below that of
// `check`, or above it by more than the steps of ticks; with slopes that are rounded up it may be below. Tried with
// certificates whose curve leaves out packets of flows that were served ahead.
#[test]
fn certificates_agree_with_the_admission_of_service_curves() {
    let mut random = Random(23);
    let (mut tally, mut exact) = (Tally::default(), 0);
    while tally.admitted < 1000 {
        let facts = random.served_link(5);
        let Some((link, flows)) = spec(&facts) else { continue };
        let verdict = check_flows(&link, &flows).expect("a verdict");
        let issued = link::issue(&facts);
        let Some(proof) = tally.agreed(issued, verdict.admitted, &facts) else { continue };
        let rate = i128::from(facts.rate);
        // A slope that is no whole number of bit/s was rounded up, so demand comes a little earlier.
        let whole = |flow: &laxity_certify::Flow| match &flow.promise {
            Promise::Service(service) => service.pieces.iter().all(|piece| piece.over == 1),
            Promise::Deadline { .. } => true,
        };
        let whole = facts.flows.iter().all(whole);
        // A flow's packet may block where nothing else is due, which the theorems do not say.
        assert!(proof.residual / rate <= verdict.slack + 200, "{facts:?}");
        // Fractions may exceed 128 bits where whole numbers of ticks do not.
        let Ok(residual) = residual(&link, &flows) else { continue };
        exact += usize::from(whole);
        let until = residual.horizon().map_or(i128::MAX, |ns| ns * rate / 2);
        for (own, of_check) in values(rate, &proof.curve, until, residual.effective()) {
            let above = own - of_check;
            assert!(above <= 200 && (!whole || above >= 0), "{of_check} {own} {facts:?}");
        }
    }
    let enough = exact > 200 && tally.refused > 150 && tally.without < 100;
    assert!(enough, "{exact} exact, {tally:?}");
}

fn reservation(r: &laxity_certify::Reservation) -> laxity_cpu::Reservation {
    laxity_cpu::Reservation::new(Span(r.budget), Span(r.period)).within(Span(r.deadline))
}

// Fails when certificates and the policies' admission decide differently. Tried with certificates that give
// short deadlines a share greater by a thousandth.
#[test]
fn certificates_agree_with_the_admission_of_cpus() {
    let mut random = Random(22);
    let (mut admitted, mut refused, mut without) = (0, 0, 0);
    while admitted < 2000 {
        let facts: CpuFacts = random.cpu();
        let all: Vec<laxity_cpu::Reservation> =
            facts.reservations.iter().map(reservation).collect();
        let needs = i128::from(reserved_bandwidth(&all).0);
        let limit = i128::from(Share::ONE.0) - i128::from(facts.best_effort);
        // Policies round each share up.
        let rounding = 64;
        match cpu::issue(&facts) {
            Ok(proof) => {
                assert!(needs <= limit + rounding, "{facts:?}");
                let fluid = all.iter().filter(|r| !r.is_constrained());
                let fluid: i128 = fluid.map(|r| i128::from(Share::up(r.budget, r.period).0)).sum();
                let short = proof.short * i128::from(facts.unit) / proof.parts;
                assert!((needs - fluid - short).abs() <= rounding, "{facts:?}");
                admitted += 1;
            }
            Err(NoCertificate::NotAdmitted) => {
                assert!(needs > limit - rounding, "{needs} {limit} {facts:?}");
                refused += 1;
            }
            Err(_) => without += 1,
        }
    }
    assert!(refused > 200 && without < 200, "{refused} refused, {without} without certificate");
}

// Fails when certificates and the admission of a policy on CPUs that share a queue decide differently. Tried with
// certificates that leave out what best effort keeps.
#[test]
fn certificates_agree_with_the_admission_of_clusters() {
    let mut random = Random(24);
    let (mut admitted, mut refused) = (0, 0);
    while admitted < 1000 {
        let mut facts = random.cluster();
        facts.best_effort = Share::per_mille(50).0;
        let layout = Layout::global(facts.cpus).expect("a layout");
        let options = (registry::Options::default(), clusters::Options::default());
        let mut policy = clusters::build("bebs", &options.0, &layout, options.1).expect("a policy");
        let mut task = (0..).map(TaskId);
        let mut joins = |r| {
            let hard = Attributes::hard(reservation(r));
            policy.join(Time::ZERO, task.next().expect("a number"), &hard).is_ok()
        };
        let all = facts.reservations.iter().all(&mut joins);
        let issued = cluster::issue(&facts);
        // What policies admit has a certificate. They round each density up, so one that they refuse has what is left
        // at most by that.
        let cpus = i128::from(facts.cpus);
        let free = |p: &laxity_certify::ClusterProof| {
            let keeps = i128::from(facts.best_effort) * (p.parts / i128::from(facts.unit));
            (cpus * (p.parts - keeps) - p.sum - (cpus - 1) * p.largest, 64 * p.parts / (1 << 40))
        };
        match (all, issued.as_ref().ok().map(free)) {
            (true, Some((left, _))) if left >= 0 => admitted += 1,
            (false, None) => refused += 1,
            (false, Some((left, rounding))) if (0..=rounding).contains(&left) => refused += 1,
            (_, found) => panic!("{all} {found:?} {facts:?}"),
        }
    }
    assert!(refused > 200, "{refused} refused");
}
