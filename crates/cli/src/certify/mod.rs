//! Certificates of admission: `laxity check --certificate` makes one, `laxity certify` checks it.
//!
//! The facts of a certificate are read from the scenario as `laxity check` reads them; this, and the flows'
//! envelopes as counted on the wire, are shared with it. Everything after them is `laxity-certify`, which
//! shares nothing.

mod cpu;
mod link;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::ExitCode;

use laxity_certify::{Facts, NoCertificate, Proof, Refusal, text};
use laxity_scenario::Document;

use crate::args::CertifyArgs;
use crate::failure::Failure;
use crate::{files, kind, output};

/// Largest file that is read as a certificate.
const MOST_BYTES: u64 = 256 << 20;

/// Runs `laxity certify`.
pub fn run(args: &CertifyArgs) -> Result<ExitCode, Failure> {
    let document = Document::read(&args.scenario).map_err(Failure::input)?;
    files::read_scenario(&args.scenario, &document);
    files::read([args.certificate.as_path()]);
    files::plan([("--facts", args.facts.as_ref())])?;
    let shown = args.certificate.display();
    let written = read(&args.certificate)?;
    let facts = facts(&kind::with_blocking(document, args.blocking))?;
    if let Some(path) = &args.facts {
        output::file(path, &text::write_facts(&facts))?;
    }
    let refused = |why: Refusal| Failure::Refused(format!("{shown} is refused: {why}"));
    let blocks = text::read(&written).map_err(refused)?;
    text::compare(&written, &facts).map_err(refused)?;
    let mut lines = Vec::with_capacity(blocks.len());
    for (facts, proof) in &blocks {
        lines.push(check(facts, proof).map_err(refused)?);
    }
    output::print(&(lines.join("\n") + "\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// The text of a certificate; a device or pipe has no length that could be asked for before.
fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let unreadable = |error| Failure::Input(format!("{shown}: {error}"));
    let mut written = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES + 1).read_to_string(&mut written).map_err(unreadable)?;
    if written.len() as u64 > MOST_BYTES {
        return Err(Failure::Input(format!("{shown}: larger than any certificate")));
    }
    Ok(written)
}

/// Checks a block and says what it proves.
fn check(facts: &Facts, proof: &Proof) -> Result<String, Refusal> {
    match (facts, proof) {
        (Facts::Link(facts), Proof::Link(proof)) => {
            laxity_certify::link::check(facts, proof)?;
            Ok(link::says(facts, proof))
        }
        (Facts::Cpu(facts), Proof::Cpu(proof)) => {
            laxity_certify::cpu::check(facts, proof)?;
            Ok(cpu::says(facts, proof))
        }
        (Facts::Cluster(facts), Proof::Cluster(proof)) => {
            laxity_certify::cluster::check(facts, proof)?;
            Ok(cpu::cluster_says(facts, proof))
        }
        (Facts::Link(_) | Facts::Cpu(_) | Facts::Cluster(_), _) => {
            Err(Refusal::Syntax { line: 1, expected: "facts and proof of one kind" })
        }
    }
}

/// What a certificate of a scenario has to be about.
fn facts(document: &Document) -> Result<Vec<Facts>, Failure> {
    match document {
        Document::Link(scenario) => Ok(vec![Facts::Link(link::facts(scenario)?)]),
        Document::Cpu(scenario) => cpu::facts(scenario),
        Document::Stream(_) => Err(Failure::Input(
            "certificates are about links and CPUs, not about streams".to_owned(),
        )),
    }
}

/// Writes the certificate of an admitted scenario.
pub fn issue(path: &Path, document: &Document) -> Result<(), Failure> {
    let none = |why: NoCertificate| Failure::Refused(format!("no certificate: {why}"));
    let mut blocks = Vec::new();
    for facts in facts(document)? {
        let proof = match &facts {
            Facts::Link(facts) => Proof::Link(laxity_certify::link::issue(facts).map_err(none)?),
            Facts::Cpu(facts) => Proof::Cpu(laxity_certify::cpu::issue(facts).map_err(none)?),
            Facts::Cluster(facts) => {
                Proof::Cluster(laxity_certify::cluster::issue(facts).map_err(none)?)
            }
        };
        blocks.push((facts, proof));
    }
    if blocks.is_empty() {
        return Err(none(NoCertificate::Nothing));
    }
    output::file(path, &text::write(&blocks))
}
