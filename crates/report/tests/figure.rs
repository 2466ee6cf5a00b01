//! Small figures, byte by byte.

use laxity_report::plot::{Axis, Hue, Ink, Mark, Plot, Unit};
use laxity_report::{Figure, Key};

const PANEL: &str = "<svg class=\"lx\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 120\" \
width=\"200\" height=\"120\" role=\"img\" aria-labelledby=\"p-t\" aria-describedby=\"p-d\">\
<title id=\"p-t\">a &lt; b</title><desc id=\"p-d\">Two lines.</desc>";

fn plot() -> Plot {
    let x = Axis::linear("time", Unit::Time, 0.0, 4e6);
    let y = Axis::linear("delay", Unit::Time, 0.0, 2e6);
    Plot::new("a < b", x, y)
        .sized(200.0, 120.0)
        .described("Two lines.")
        .with(Mark::Line {
            points: vec![(0.0, 0.0), (1e6, 0.0), (1e6, 1e6), (4e6, 1e9)],
            ink: Ink::new(Hue::Series(1)),
        })
        .with(Mark::Horizontal { y: 1.5e6, label: "deadline 1.5 ms".into(), ink: Ink::limit() })
}

// Fails when anything about the look of a plot changes: inspect it, then store the new one.
#[test]
fn the_figure_matches_its_snapshot() {
    let svg = plot().svg("p");
    assert!(svg.starts_with(PANEL), "{svg}");
    assert_eq!(svg, include_str!("data/panel.svg").trim_end());
}

#[test]
fn lines_are_clipped_at_the_frame() {
    let svg = plot().svg("p");
    let path = svg.split("<path class=\"s1 k\"").nth(1).and_then(|s| s.split(" d=\"").nth(1));
    let path = path.and_then(|s| s.split('"').next()).unwrap_or_default();
    for number in path.split(|c: char| !(c.is_ascii_digit() || c == '.')).filter(|s| !s.is_empty())
    {
        let v: f64 = number.parse().unwrap_or(f64::NAN);
        assert!((0.0..=200.0).contains(&v), "{path}");
    }
}

#[test]
fn a_figure_without_panels_is_a_valid_document() {
    let figure = Figure::new("", "", 0).keyed(vec![Key::line("x", Ink::series(0))]);
    assert!(roxmltree::Document::parse(&figure.svg()).is_ok());
    assert_eq!(figure.file_name(), "x.svg");
}

// Fails when a name that is too long is cut at its end, where names that begin alike differ.
#[test]
fn shortened_names_stay_distinct() {
    let names = ["bebs-credit/experiment-1-srtsim-1/missed-at-load-90", "same/missed-at-load-100"];
    let x = Axis::linear("late", Unit::Plain, 0.0, 1.0);
    let svg = Plot::new("", x, Axis::names(names)).sized(200.0, 120.0).svg("p");
    let shown: Vec<&str> = svg.split('<').filter(|t| t.contains('\u{2026}')).collect();
    assert_eq!(shown.len(), 2, "{svg}");
    assert!(shown[0].contains(">b") && shown[0].ends_with("-90"), "{shown:?}");
    assert!(shown[1].contains(">s") && shown[1].ends_with("100"), "{shown:?}");
}
