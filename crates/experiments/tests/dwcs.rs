//! The experiments of DWCS: the same bytes everywhere, the paper's numbers at full length.
//!
//! `LAXITY_BLESS=1 cargo test -p laxity-experiments --test dwcs` writes the files again; look at the
//! difference before you keep it.

mod agreed;

use agreed::{assert_same, root};
use laxity_experiments::dwcs::simulation::{Counts, Setting, simulate};
use laxity_experiments::dwcs::variants::{DEFAULT, PACED, PAPER, Variant};
use laxity_experiments::{Order, Outcome, plan};
use laxity_results::ReproductionVerdict;
use laxity_sim::Control;

/// The simulated experiments; the others are timed and vary from run to run.
const PLAYED: [&str; 7] = ["fig2a", "fig2b", "fig3", "fig4a", "fig4b", "fig7", "fig8"];
const TIMED: [&str; 3] = ["fig5a", "fig5b", "fig6"];

fn run(only: &[&str], control: &Control) -> Outcome {
    let only = only.iter().map(|s| (*s).to_owned()).collect();
    let jobs = plan("dwcs", &Order { only, seeds: None, quick: true }).unwrap();
    jobs[0].run(control).unwrap()
}

/// Numbers and drawings of a short run. Fails when a rule, a count or a generator of bursts
/// changes, or when a drawing changes without its copy in the documentation: tried with windows
/// that roll in `PAPER`, and with one draw more for bursts.
#[test]
fn quick_reproductions_match_the_golden_files() {
    let control = Control::default();
    let outcome = run(&PLAYED, &control);
    let text = serde_json::to_string_pretty(&outcome.reproduction).unwrap() + "\n";
    assert_same(&root().join("crates/experiments/tests/golden/dwcs-quick.json"), &text);

    let page = std::fs::read_to_string(root().join("docs/explanation/dwcs.md")).unwrap();
    let mut shown = 0;
    for (_, figure) in &outcome.figures {
        let name = figure.file_name();
        if page.contains(&format!("(../figures/{name})")) {
            assert_same(&root().join("docs/figures").join(&name), &figure.svg());
            shown += 1;
        }
    }
    let images = page.matches("](../figures/").count();
    assert!(shown == images && shown >= 5, "{shown} of {images} images are drawn by this test");

    // Progress reaches its end.
    let jobs = plan("dwcs", &Order { quick: true, ..Order::default() }).unwrap();
    assert_eq!(u128::from(control.reached()), jobs[0].work());
}

fn counts(variant: Variant, streams: usize) -> Counts {
    let setting = Setting { variant, streams, gap: 500, every: 1, seed: 0, packets: 5_000_000 };
    simulate(&setting, &Control::default()).unwrap().total()
}

/// The counts of docs/explanation/dwcs.md over 5 million packets. Fails when a rule or an order changes:
/// tried with late packets dropped in `PAPER`.
#[test]
fn runs_have_the_length_of_the_paper() {
    let printed = counts(PAPER, 504);
    assert_eq!((printed.violated, printed.windows > 45_000), (7231, true));
    assert_eq!(counts(DEFAULT, 504).violated, 0);
    let [edf, _, _, dbp] = PACED;
    assert_eq!((counts(edf, 504).violated, counts(dbp, 504).violated), (296, 0));
}

/// Fails when a timed experiment lacks a row of the sheet; tried. Times are not checked.
#[test]
fn timed_experiments_have_their_rows() {
    let reproduction = run(&TIMED, &Control::default()).reproduction;
    assert_eq!(reproduction.experiments.len(), TIMED.len());
    for experiment in &reproduction.experiments {
        let measured = !experiment.reading.starts_with("Not measured");
        assert_eq!(measured, !experiment.rows.is_empty(), "{}", experiment.id);
        for row in &experiment.rows {
            assert!(row.measured.is_finite() && row.measured > 0.0, "{row:?}");
            assert!(row.verdict != ReproductionVerdict::Differs || !row.why.is_empty());
        }
    }
}

/// Fails when runs that were not finished count, or a timed experiment runs although stopped; both
/// were tried.
#[test]
fn a_stopped_job_reports_only_what_was_finished() {
    let control = Control::default();
    control.stop();
    let outcome = run(&[], &control);
    assert!(outcome.reproduction.experiments.is_empty() && outcome.figures.is_empty());
}
