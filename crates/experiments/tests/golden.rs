//! Files that must come out the same, byte for byte, on every machine.
//!
//! `LAXITY_BLESS=1 cargo test -p laxity-experiments --test golden` writes them again; look at the
//! difference before you keep it.

mod agreed;

use std::sync::Arc;

use agreed::{assert_same, root};
use laxity_core::Span;
use laxity_experiments::{Order, diagrams, low_delay, plan};
use laxity_sim::Control;
use laxity_sim::link::{Traffic, simulate, simulate_all};

// The output of `laxity reproduce PAPER --quick --json`. Fails when a generator draws one more
// number, or when half the range becomes the range; both were tried.
#[test]
fn quick_reproductions_match_the_golden_files() {
    let order = Order { quick: true, ..Order::default() };
    for paper in ["low-delay", "service-curves"] {
        let outcome = plan(paper, &order).unwrap()[0].run(&Control::default()).unwrap();
        let text = serde_json::to_string_pretty(&outcome.reproduction).unwrap() + "\n";
        let golden = format!("crates/experiments/tests/golden/{paper}-quick.json");
        assert_same(&root().join(golden), &text);
    }
}

// Fails when results come in the order in which they were done; tried by
// sorting neighbours the wrong way round.
#[test]
fn results_do_not_depend_on_the_thread_count() {
    let scenario = low_delay::scenario().unwrap();
    let traffic =
        Traffic::Generated { duration: Span::from_millis(3_000), replayed: Arc::new(Vec::new()) };
    let policies = ["exact", "slack", "two-segment", "fifo"].map(str::to_owned);
    let control = Control::default();
    let together = simulate_all(&scenario, &policies, &[1, 2], &traffic, &control).unwrap();
    let mut alone = Vec::new();
    for seed in [1, 2] {
        for policy in &policies {
            let run = simulate(&scenario, policy, seed, &traffic, None, &control);
            alone.push(run.unwrap());
        }
    }
    assert_eq!(together.len(), alone.len());
    for (a, b) in together.iter().zip(&alone) {
        assert_eq!((&a.policy, a.seed), (&b.policy, b.seed));
        assert_eq!(a.result(&scenario), b.result(&scenario));
    }
}

// Fails when an assigner or a curve changes without its picture in the documentation: tried with an
// `algorithm-3` that forgets the previous deadline.
#[test]
fn documented_figures_match_the_code() {
    let folder = root().join("docs/figures");
    let figures = diagrams::all().unwrap();
    assert_eq!(figures.len(), 5);
    for (name, svg) in &figures {
        assert_same(&folder.join(name), svg);
    }
    let place = "docs/explanation/low-delay.md";
    let page = std::fs::read_to_string(root().join(place)).unwrap();
    for (name, _) in &figures {
        assert!(page.contains(&format!("(../figures/{name})")), "{place} lacks {name}");
    }
}
