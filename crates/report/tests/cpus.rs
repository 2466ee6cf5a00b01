//! Pages and tables of CPU scenarios.

mod data;

use data::cpus::{check, simulation, task};
use laxity_report::text::{self, Style};
use laxity_report::*;
use laxity_results::*;

const POLICIES: [&str; 3] = ["linux-2.6", "bebs", "bebs-credit"];

fn page(result: &CpuSimulationResult, details: &[CpuPolicyDetail]) -> Page {
    cpu_simulation_page(CpuOutcome::One(result), details, None, &Meta::default())
}

// Fails when a figure of the page is lost, or has a panel too few.
#[test]
fn the_page_shows_every_task_and_policy() {
    let (result, mut details) = simulation(&POLICIES, 1);
    details[1].tasks[0].slices.pop();
    let svgs = page(&result, &details).svgs();
    let names: Vec<&str> = svgs.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(
        names,
        ["gantt.svg", "progress.svg", "progress-difference.svg", "response.svg", "tardiness.svg"]
    );
    // The document itself is one. Differences are to the first policy;
    // compiling has no jobs; only video is late.
    for ((name, svg), panels) in svgs.iter().zip([3, 3, 2, 2, 1]) {
        let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{name}: {e}"));
        let found = document.descendants().filter(|n| n.attribute("role") == Some("img")).count();
        assert_eq!(found, panels + 1, "{name}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}");
    }
    assert!(svgs[3].1.contains("deadline 40 ms"));
}

// Fails when the schedule is not drawn where it happened: every slice of the window is a bar
// (tried: without the first of each task).
#[test]
fn every_slice_of_the_window_is_a_bar() {
    let (mut result, mut details) = simulation(&["bebs"], 1);
    result.duration_ns = 100_000_000;
    for task in &mut details[0].tasks {
        task.slices.retain(|s| s.from < 100_000_000);
        task.jobs.retain(|j| j.release < 100_000_000);
    }
    let slices: usize = details[0].tasks.iter().map(|t| t.slices.len()).sum();
    let (_, svg) = page(&result, &details).svgs().remove(0);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let bars = document.descendants().filter(|n| n.tag_name().name() == "rect");
    let bars = bars.filter(|n| n.attribute("class").is_some_and(|c| c.starts_with('f'))).count();
    assert_eq!(bars, slices);
    // On several CPUs each stands in the row of its CPU too.
    result.cpus = 2;
    let (_, svg) = page(&result, &details).svgs().remove(0);
    assert!(svg.contains(">CPU 1<"));
}

// Fails when a missed deadline passes for none: on page and terminal, by sign and by text.
#[test]
fn deadline_misses_are_highlighted() {
    let (mut result, details) = simulation(&POLICIES, 1);
    let rendered = |result: &CpuSimulationResult| {
        text::cpu_simulation(CpuOutcome::One(result), Some("bebs-credit"), Style::PLAIN)
    };
    let good = rendered(&result);
    assert!(good.contains("Every deadline met."), "{good}");
    assert!(good.contains("25 under linux-2.6, 25 under bebs"), "{good}");
    result.policies["bebs-credit"].tasks["video"].deadline_misses = 1;
    let soft = rendered(&result);
    assert!(soft.contains("1 deadline missed, none of a hard task."), "{soft}");
    result.policies["bebs-credit"].tasks["sound"].deadline_misses = 1;
    let bad = rendered(&result);
    assert!(
        bad.contains("1 deadline of hard tasks missed.") && bad.contains("\u{2717} 1"),
        "{bad}"
    );
    let html = page(&result, &details).html();
    assert!(html.contains("statement bad"));
    result.policies["bebs-credit"].tasks["sound"].refused = Some("too much".into());
    result.policies["bebs-credit"].tasks["sound"].cpu_ms = 0.0;
    let refused = rendered(&result);
    assert!(refused.contains("Refused. Under bebs-credit 1 task was refused"), "{refused}");
    assert!(refused.contains("\u{2717} refused") && refused.contains("too much"), "{refused}");
}

// Fails when results do not name the options of a policy: tried with names of options
// alone.
#[test]
fn options_are_printed_with_each_result() {
    let (result, details) = simulation(&POLICIES, 1);
    let out = text::cpu_simulation(CpuOutcome::One(&result), None, Style::PLAIN);
    assert_eq!(out.matches("sample job").count(), POLICIES.len(), "{out}");
    assert!(page(&result, &details).html().contains("sample job"));
}

// Fails when several seeds are shown as one.
#[test]
fn several_seeds_are_summed_and_spread() {
    let runs = CpuSimulationRuns {
        runs: [1, 2, 3].map(|seed| simulation(&POLICIES, seed).0).into(),
        summary: Default::default(),
    };
    let out = text::cpu_simulation(CpuOutcome::Runs(&runs), None, Style::PLAIN);
    assert!(out.contains("summed over all seeds") && out.contains("over 3 seeds"), "{out}");
    assert!(out.contains("75 of 75") || out.contains("\u{2717} 75"), "{out}");
    assert!(out.contains("2.00 \u{b1} 1.00"), "{out}");
    let (_, details) = simulation(&POLICIES, 1);
    let html =
        cpu_simulation_page(CpuOutcome::Runs(&runs), &details, None, &Meta::default()).html();
    assert!(html.contains("Of 3 seeds, seed 1 is shown."));
}

// Fails when the answers read alike, or a refusal does not state the excess (tried: what it needs
// instead) and a reservation that fits.
#[test]
fn verdicts_differ() {
    let rendered = |check: &CpuCheckResult| text::cpu_check(check, Style::PLAIN);
    let promised = rendered(&check(true));
    assert!(promised.starts_with("Admitted, and promised."), "{promised}");
    let obstacles = vec!["With transition = \"stretch\" hard jobs can be late".to_owned()];
    let fits = rendered(&CpuCheckResult { guaranteed: false, obstacles, ..check(true) });
    assert!(fits.starts_with("Admitted without a promise."), "{fits}");
    assert!(fits.contains("- With transition"), "{fits}");
    let refused = rendered(&check(false));
    assert!(refused.starts_with("Not admitted."), "{refused}");
    let why = "- late requests 60 ms in every 100 ms within 80 ms at 5 s. It needs 60.000% of the \
               CPU beside what is reserved, 5.000% more than the 55.000% that are free. What would \
               fit: 54.999 ms in the same period, or 60 ms in every 109.091 ms.";
    assert!(refused.contains(why), "{refused}");
    assert!(refused.contains("\u{2717} no"), "{refused}");
    let nothing = CpuCheckResult { requests: vec![], ..check(true) };
    assert!(rendered(&nothing).starts_with("Nothing is reserved."));
    let unknown = CpuCheckResult { best_effort_share: None, ..check(true) };
    assert!(rendered(&unknown).contains("has no reservations"));
    let locks = |interference_ns| {
        let (task, kind, execution_ns) = ("sound".into(), TaskKind::Hard, 2_000_000);
        let by_lock_ns = [("bus".to_owned(), 4_000_000)].into_iter().collect();
        let wait = CpuLockWait { task, kind, execution_ns, interference_ns, by_lock_ns };
        rendered(&CpuCheckResult { locks: vec![wait], ..check(true) })
    };
    let bounded = "- sound executes up to 2 ms for a job, and others up to 4 ms on its budget while it waits for \
                   locks (bus 4 ms): it needs 6 ms.";
    assert!(locks(Some(4_000_000)).contains(bounded));
    assert!(locks(None).contains("its waits for locks have no bound."));
    let page = cpu_check_page("desktop", &check(false), &Meta::default()).html();
    assert!(page.contains("statement bad") && page.contains("109.091"));
}

// Fails when names are written unescaped.
#[test]
fn names_are_escaped() {
    let evil = "</title><script>alert(\"1\")</script>&'\u{0}\u{1b}[2J";
    let (mut result, mut details) = simulation(&[evil, "bebs"], 1);
    for (policy, detail) in result.policies.values_mut().zip(&mut details) {
        let tasks = std::mem::take(&mut policy.tasks);
        policy.tasks = tasks.into_iter().map(|(n, t)| (format!("{evil}{n}"), t)).collect();
        detail.tasks.iter_mut().for_each(|t| t.task = format!("{evil}{}", t.task));
    }
    let page = page(&result, &details);
    let html = page.html();
    assert!(html.matches("<script").count() == 1 && !html.contains(['\u{0}', '\u{1b}']));
    for (name, svg) in page.svgs() {
        roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
    let out = text::cpu_simulation(CpuOutcome::One(&result), None, Style::PLAIN);
    assert!(!out.contains('\u{1b}'));
}

// Fails when a huge, missing or contradictory number is cast, divided or drawn without a guard.
#[test]
fn extreme_numbers_give_pages() {
    for v in [0.0, -1.0, 1e300, f64::INFINITY, f64::NAN] {
        for n in [0, 1, u64::MAX] {
            let t = CpuTaskResult {
                share: v,
                cpu_ms: v,
                switches: n,
                jobs: n,
                deadline_misses: n,
                mean_response_ms: Some(v),
                max_response_ms: Some(v),
                max_tardiness_ms: Some(v),
                max_wait_ms: v,
                ..task(TaskKind::Hard)
            };
            let policy = CpuPolicyResult {
                options: Default::default(),
                utilisation: v,
                switches: n,
                migrations: Some(n),
                tasks: [("a".to_string(), t)].into(),
            };
            let result = CpuSimulationResult {
                scenario: String::new(),
                seed: None,
                duration_ns: n,
                cpus: n as u32,
                policies: [("bebs".to_string(), policy)].into(),
            };
            let tasks = vec![CpuTaskDetail {
                task: "a".into(),
                deadline_ns: Some(n),
                response: vec![(0, n), (n, n), (u64::MAX, 1)],
                tardiness: vec![(n, n)],
                slices: vec![
                    CpuSlice { cpu: n as u32, from: 0, to: n },
                    CpuSlice { cpu: 0, from: n, to: 0 },
                ],
                jobs: vec![CpuJob { release: n, deadline: Some(0), end: 0 }],
            }];
            let details = [CpuPolicyDetail { policy: "bebs".into(), tasks, left_out: n }];
            let page = page(&result, &details);
            assert!(!page.html().contains("NaN"));
            for (name, svg) in page.svgs() {
                roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
                assert!(!svg.contains("NaN"), "{name}");
            }
            let style = Style { colour: true, width: 1 };
            text::cpu_simulation(CpuOutcome::One(&result), None, style);
        }
    }
}

// Fails when the size of a page follows the length of a run.
#[test]
fn long_runs_give_bounded_pages() {
    let (mut result, mut details) = simulation(&["bebs"], 1);
    result.duration_ns = 1_000_000_000_000;
    for task in &mut details[0].tasks {
        let step = 2_000_000;
        task.slices = (0..200_000u64)
            .map(|k| CpuSlice { cpu: 0, from: k * step, to: k * step + step / 2 })
            .collect();
        task.jobs = (0..200_000u64)
            .map(|k| CpuJob { release: k * step, deadline: Some(k * step + 1), end: k * step + 2 })
            .collect();
    }
    assert!(page(&result, &details).html().len() < 1_500_000);
}

#[test]
fn empty_results_give_pages() {
    let runs = CpuSimulationRuns { runs: vec![], summary: Default::default() };
    let meta = Meta::default();
    let html = cpu_simulation_page(CpuOutcome::Runs(&runs), &[], None, &meta).html();
    assert!(html.contains("Nothing was run."));
    let (mut result, _) = simulation(&["bebs"], 1);
    result.policies["bebs"].tasks.clear();
    page(&result, &[]).html();
}
