//! Writes sample pages from made-up data into a directory: to inspect their layout.
//!
//! `cargo run -p laxity-report --example sample -- DIR`
use laxity_report::curves::{Annotation, Curve, LinePlot};
use laxity_report::plot::{Point, Unit};
use laxity_report::*;
use laxity_results::*;
use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "../tests/data/mod.rs"]
mod data;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: sample DIR")?;
    let dir = Path::new(&dir);
    fs::create_dir_all(dir)?;
    let (result, details) = data::simulation(&data::POLICIES, 360);
    let (check, residual) = (data::check(true), data::residual());
    let meta = data::meta();
    let page = simulation_page(&result, &details, Some(&check), Some(&residual), &meta);
    fs::write(dir.join("simulate.html"), page.html())?;
    for (name, svg) in page.svgs() {
        fs::write(dir.join(name), svg)?;
    }
    let page = reproduction_page(&[data::reproduction()], &[], &meta);
    fs::write(dir.join("reproduce.html"), page.html())?;
    let page = check_page("home-access", &data::check(false), None, &meta);
    fs::write(dir.join("check.html"), page.html())?;
    fs::write(dir.join("construction.svg"), construction().svg())?;
    let style = text::Style { colour: true, width: 110 };
    print!("{}", text::check(&check, &meta.deadlines, style));
    print!("\n{}", text::simulation(&result, Some("exact"), style));
    print!("\n{}", text::reproduction(&[data::reproduction()], style));
    let six = ["background", "tbs", "shifted-line", "two-segment", "best-effort-first", "exact"];
    let (more, more_details) = data::simulation(&six, 360);
    let page = simulation_page(&more, &more_details, Some(&check), None, &meta);
    fs::write(dir.join("six.html"), page.html())?;
    let runs = SimulationRuns {
        runs: (1..4).map(|seed| SimulationResult { seed: Some(seed), ..result.clone() }).collect(),
        summary: Default::default(),
    };
    fs::write(dir.join("runs.html"), simulation_page(&runs, &details, None, None, &meta).html())?;
    Ok(())
}

fn construction() -> Figure {
    let axis = |label: &str, end: f64| (label.to_string(), Unit::Plain, 0.0, end);
    let e: Vec<Point> =
        vec![(0.0, 0.0), (1.5, 0.0), (3.0, 2.0), (5.0, 2.0), (6.5, 4.5), (8.0, 4.5), (10.0, 8.0)];
    let effective = Curve::new("E(t)", e, 0);
    let demand = LinePlot {
        title: "A packet joins the demand".into(),
        desc: "The demand curve moves right by the gap of deadlines and up by the packet.".into(),
        x: axis("t", 10.0),
        y: axis("work", 8.0),
        curves: vec![
            effective.clone().shade(),
            Curve::steps("demand before", &[(3.0, 1.0), (5.0, 0.8)], 10.0, 1),
            Curve::steps("demand after", &[(4.2, 1.2), (6.2, 1.0), (8.2, 0.8)], 10.0, 2),
        ],
        annotations: vec![
            Annotation::Foot("deadline".into(), (4.2, 1.2)),
            Annotation::Arrow("w".into(), (2.4, 3.4), (4.1, 1.3)),
        ],
        numbers: false,
    };
    let line = LinePlot {
        title: "A shifted line".into(),
        desc: "A shifted line, everywhere below the effective residual capacity.".into(),
        curves: vec![effective, Curve::new("γ (t − δ)", vec![(2.0, 0.0), (10.0, 5.5)], 1)],
        annotations: vec![Annotation::Foot("δ".into(), (2.0, 0.0))],
        ..demand.clone()
    };
    LinePlot::figure("construction", "How a deadline is found", &[demand, line], 2)
        .captioned("Constructed after Chakraborty, Gries and Thiele, 2002, sections 3 and 4.")
}
