//! Service in a verdict: service curves of real-time flows, bounds of best effort.

use crate::figure::{Figure, Key};
use crate::number::{self, count, fixed, span};
use crate::plot::{Axis, Ink, Mark, Plot, Point, Unit};
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::{BestEffortCheck, CheckResult, FlowCheck, ServiceCheck, ShareCheck};

use super::residual::two_digits;
use super::verdict::ceil_span;

/// The most curves in one figure.
const DRAWN: usize = 12;

fn served(check: &CheckResult) -> impl Iterator<Item = (&str, &FlowCheck, &ServiceCheck)> {
    check.flows.iter().filter_map(|(name, f)| Some((name.as_str(), f, f.service.as_ref()?)))
}

/// Demand and bounds of flows with service curves, and for a refused set how much later each would
/// have to begin.
pub fn service_table(check: &CheckResult) -> Table {
    let bounded = served(check).any(|(_, _, s)| s.delay_bound_ns.is_some());
    let mut columns = vec![Column::text("Flow"), Column::number("demand")];
    if bounded {
        columns.extend(["largest delay", "largest backlog"].map(Column::number));
    }
    if !check.admitted {
        columns.push(Column::number("begin later by"));
    }
    let row = |(name, f, s): (&str, &FlowCheck, &ServiceCheck)| {
        let mut cells = vec![Cell::new(format!("{} B", count(f.demand_bytes)))];
        if bounded {
            let cell = |text: Option<String>| text.map_or_else(Cell::none, Cell::new);
            cells.push(cell(s.delay_bound_ns.map(ceil_span)));
            cells.push(cell(s.backlog_bound_bytes.map(|b| format!("{} B", count(b)))));
        }
        if !check.admitted {
            let most = if f.conservative { "\u{2264} " } else { "" };
            cells.push(match s.min_later_ns {
                Some(ns) => Cell::new(format!("{most}{}", ceil_span(ns))),
                None => Cell::toned("none", Tone::Bad),
            });
        }
        (name.to_owned(), cells)
    };
    let rows: Vec<_> = served(check).map(row).collect();
    let within =
        check.binding_interval_ns.map_or(String::new(), |t| format!(" within {}", span(t)));
    let mut note = format!("Demand: whole packets that the curve makes due{within}.");
    if bounded {
        note += " Largest delay and backlog: of packets that conform to the flow's envelope.";
    }
    if !check.admitted {
        note += " Begin later by: the least `later` with which the answer is yes, for this curve \
                 alone, all else unchanged.";
    }
    Table::new("Service curves", columns).group("", rows).noted(note)
}

/// Bounds of best-effort delay.
pub fn best_effort_table(check: &CheckResult) -> Table {
    type Bound = fn(&BestEffortCheck) -> Option<u64>;
    let bounds: [(&str, Bound, &str); 3] = [
        ("alone", |c| c.alone_delay_ns, "Alone: while no other class sends."),
        (
            "beside others",
            |c| c.shared_delay_ns,
            "Beside others: whatever the other classes send, by the weights.",
        ),
        (
            "as a flow",
            |c| c.flow_delay_ns,
            "As a flow: whatever they send, if the class is a real-time flow whose service curve is \
             its share of what is left (flow_curve of --json).",
        ),
    ];
    let known = |bound: Bound| check.best_effort.values().any(|c| bound(c).is_some());
    let bounds: Vec<_> = bounds.into_iter().filter(|(_, bound, _)| known(*bound)).collect();
    let mut columns = vec![Column::text("Class")];
    columns.extend(bounds.iter().map(|(title, _, _)| Column::number(*title)));
    let row = |(name, class): (&String, &BestEffortCheck)| {
        let cell = |ns: Option<u64>| ns.map_or_else(Cell::none, |ns| Cell::new(ceil_span(ns)));
        let cells = bounds.iter().map(|(_, bound, _)| cell(bound(class)));
        (name.clone(), cells.collect())
    };
    let rows: Vec<_> = check.best_effort.iter().filter(|_| !bounds.is_empty()).map(row).collect();
    let mut note =
        "Bounds hold for packets that conform to the envelope of their class; it is not \
                    enforced."
            .to_owned();
    for (_, _, meaning) in &bounds {
        note += &format!(" {meaning}");
    }
    Table::new("Largest delay of best effort", columns).group("", rows).noted(note)
}

/// Shares of best effort under Fair Service Curve.
pub fn shares_table(check: &CheckResult) -> Table {
    let Some(shares) = &check.shares else { return Table::new("", Vec::new()) };
    let limited = shares.classes.values().any(|class| class.limit_bit_s.is_some());
    let mut columns = vec![
        Column::text("Class"),
        Column::number("share"),
        Column::number("curve at first"),
        Column::number("in the long run"),
    ];
    columns.extend(limited.then(|| Column::number("upper limit")));
    let bytes_per_s = |rate: f64| number::rate((rate * 8.0).round() as u64);
    let row = |(name, class): (&String, &ShareCheck)| {
        let slope = |corner: Option<&(u64, f64, f64)>| {
            corner.map_or_else(Cell::none, |corner| Cell::new(bytes_per_s(corner.2)))
        };
        let mut cells = vec![
            Cell::new(format!("{}%", fixed(class.part * 100.0, 1))),
            slope(class.curve.first()),
            slope(class.curve.last()),
        ];
        if limited {
            let limit = class.limit_bit_s;
            cells.push(limit.map_or_else(Cell::none, |rate| Cell::new(number::rate(rate))));
        }
        (name.clone(), cells)
    };
    let rows: Vec<_> = shares.classes.iter().map(row).collect();
    let (rate, asked) = (number::rate(shares.rate_bit_s), number::rate(shares.asked_bit_s));
    let mut note = format!(
        "Share: of best effort in the long run while all classes wait. The curves ask for {asked}; \
         beside real time that uses its envelopes best effort gets {rate}"
    );
    note += match shares.asked_bit_s > shares.rate_bit_s {
        true => ", so that each gets less than its curve, all by the same part.",
        false => ", enough for all of them.",
    };
    if limited {
        note += " An upper limit holds in real time, whatever the share.";
    }
    Table::new("Shares of best effort", columns).group("", rows).noted(note)
}

/// What `later = "auto"` would do.
pub fn later_sentence(check: &CheckResult) -> Option<String> {
    let auto = check.later_auto.as_ref()?;
    let all = match served(check).count() {
        1 => "the service curve",
        _ => "all service curves",
    };
    let later = span(auto.later_ns);
    Some(match auto.admitted {
        true => format!(
            "With `later = \"auto\"` in {all}, here {later}, they are admitted: small packets are \
             then due no sooner than the largest packet has passed."
        ),
        false => format!("`later = \"auto\"` in {all}, here {later}, is not enough."),
    })
}

/// The service curves of a scenario.
pub(crate) fn service_figure(check: &CheckResult) -> Option<Figure> {
    let corners = served(check).flat_map(|(_, _, s)| s.curve.iter().map(|c| c.0));
    let last = corners.max()?;
    let end = two_digits(last as f64 * 1.5 + 1e6);
    let (mut legend, mut marks, mut high) = (Vec::new(), Vec::new(), 1.0f64);
    for (n, (name, _, s)) in served(check).take(DRAWN).enumerate() {
        let ink = Ink { marker: None, width: 2.0, ..Ink::series(n) };
        let points = polyline(&s.curve, end);
        high = points.iter().map(|p| p.1).fold(high, f64::max);
        legend.push(Key::line(name, ink));
        marks.push(Mark::Line { points, ink });
    }
    let x = Axis::linear("time since the flow has packets", Unit::Time, 0.0, end);
    let y = Axis::linear("service", Unit::Bytes, 0.0, high * 1.04);
    let mut plot = Plot::new(format!("First {}", span(end as u64)), x, y).sized(440.0, 280.0);
    let names: Vec<&str> = served(check).take(DRAWN).map(|(name, _, _)| name).collect();
    plot.desc = format!("Service curves: {}.", names.join(", "));
    plot.marks = marks;
    let more = served(check).count().saturating_sub(DRAWN);
    let mut caption = "A flow that has packets gets at least its curve, counted from where its \
                       backlog begins; a packet is due when the curve reaches its last byte."
        .to_owned();
    if more > 0 {
        caption += &format!(" {more} more curves are not drawn.");
    }
    let figure = Figure::new("service-curves", "Service curves of real-time flows", 1);
    Some(figure.keyed(legend).with(vec![plot]).captioned(caption))
}

/// Corners as a polyline up to `end`; a jump is two points of one time.
fn polyline(corners: &[(u64, f64, f64)], end: f64) -> Vec<Point> {
    let mut points = Vec::with_capacity(corners.len() * 2);
    for (i, (t, bytes, slope)) in corners.iter().enumerate() {
        let from = *t as f64;
        let to = corners.get(i + 1).map_or(end, |next| next.0 as f64);
        points.push((from, *bytes));
        points.push((to, bytes + slope * (to - from) / 1e9));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a jump is drawn as a slope, or the last piece ends at its corner.
    #[test]
    fn corners_are_drawn_up_to_the_end() {
        let corners = [(0, 0.0, 0.0), (1_000_000, 100.0, 1e6)];
        let line = polyline(&corners, 2e6);
        assert_eq!(line, [(0.0, 0.0), (1e6, 0.0), (1e6, 100.0), (2e6, 1100.0)]);
    }
}
