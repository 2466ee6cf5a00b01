//! The documentation's figures, drawn from the curves and assigners themselves.
//!
//! They show the constructions of Figures 1, 2, 3 and 6 of Chakraborty, Gries and Thiele (RTAS 2002)
//! on a small link with curves of distinct shapes, and Figure 8 unchanged.
//! `LAXITY_BLESS=1 cargo test -p laxity-experiments --test golden` writes them.

mod algorithm_3;
mod approximations;
mod demand;
mod tspec;

use laxity_analysis::points::polyline;
use laxity_core::{Bytes, Rate, Span, Time};
use laxity_curve::{
    Blocking, Bucket, CurveError, Envelope, FlowSpec, LinkSpec, Residual, TwoSegment,
};
use laxity_link::assign::Assigner;
use laxity_report::Figure;
use laxity_report::curves::Curve;
use laxity_report::plot::{Dash, Hue, Ink, Point, Unit};

use crate::{ExperimentError, low_delay};

/// Every figure as file name and SVG text.
///
/// # Errors
/// Never for the constants of this module; a figure that cannot be drawn is a fault of this crate.
pub fn all() -> Result<Vec<(String, String)>, ExperimentError> {
    let mut figures = vec![
        demand::figure()?,
        approximations::figure()?,
        algorithm_3::figure()?,
        tspec::figure()?,
    ];
    figures.extend(low_delay::fig8_drawing()?);
    Ok(figures.iter().map(|f| (f.file_name(), f.svg())).collect())
}

const MS: f64 = 1e6;

/// A best-effort packet: released after so many ns, with so many bytes.
type Offered = (u64, u32);

/// The link of the sketches: 1000 B/ms, a control flow with a deadline of 2 ms and a burst of 3850 B,
/// and a video flow with one of 8 ms. The effective residual has two flats and grows steeper at 20
/// ms, when the burst of the control flow is used up.
fn link() -> Result<Residual, CurveError> {
    let link = LinkSpec {
        rate: Rate(8_000_000),
        best_effort_packet: Bytes(500),
        downstream_backlog: Bytes(0),
        blocking: Blocking::Exact,
    };
    let per_ms = |bytes: u64| Rate(bytes * 8000);
    let control = Envelope::tspec(Bytes(250), per_ms(250), Bytes(3850), per_ms(50))?;
    let bucket = Bucket { burst: Bytes(4000), rate: per_ms(150) };
    let video = Envelope::buckets(&[bucket], Bytes(500))?;
    let flow = |envelope, ms| FlowSpec { envelope, deadline: Span::from_millis(ms) };
    Residual::new(&link, &[flow(control, 2), flow(video, 8)])
}

/// The deadlines that an assigner gives.
fn deadlines(assigner: &mut impl Assigner, packets: &[Offered]) -> Vec<u64> {
    packets.iter().map(|(release, bytes)| assigner.assign(Time(*release), *bytes).0).collect()
}

/// The demand curve after the last packet (section 3.1): within `D_n - r_i`, packets `i` to `n`.
/// As steps: where, and by how many bytes.
fn demand(packets: &[Offered], deadlines: &[u64]) -> Vec<Point> {
    let last = deadlines.last().copied().unwrap_or(0);
    packets.iter().rev().map(|(r, w)| (last.saturating_sub(*r) as f64, f64::from(*w))).collect()
}

/// The effective residual, as in all sketches.
fn effective(residual: &Residual, end: f64) -> Curve {
    let points = polyline(residual.effective(), end);
    Curve::new("E(t)", points, 0).inked(Ink::new(Hue::Ink).wide(2.0)).shade()
}

/// A main curve of the panel.
fn strong(curve: Curve, n: usize) -> Curve {
    curve.inked(Ink::new(Hue::Series(n)).wide(2.2))
}

/// A curve as it was before the packet.
fn ghost(name: &str, curve: Curve) -> Curve {
    let ink = Ink::new(Hue::Muted).dashed(Dash::Short);
    Curve { name: name.into(), ..curve }.inked(ink)
}

fn time(end: f64) -> (String, Unit, f64, f64) {
    ("length of interval".into(), Unit::Time, 0.0, end)
}

fn work(least: f64, end: f64) -> (String, Unit, f64, f64) {
    ("work".into(), Unit::Bytes, least, end)
}

/// Two segments at `t` ns, in bytes.
fn value(line: &TwoSegment, t: f64) -> f64 {
    let corner = line.corner.0 as f64;
    let (first, second) = (line.first.0 as f64 / 8e9, line.second.0 as f64 / 8e9);
    first * t.min(corner) + second * (t - corner).max(0.0)
}

/// Captions name the source of a construction.
fn captioned(figure: Figure, text: &str, source: &str) -> Figure {
    figure.captioned(format!("{text} After Chakraborty, Gries and Thiele, RTAS 2002, {source}."))
}
