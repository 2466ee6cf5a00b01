//! The answer of `laxity check` for streams, in sentences and a table.

use crate::number::{count, fixed, span};
use crate::page::Assessment;
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::StreamCheckResult;

/// The verdict: (mood, label, sentence).
pub fn stream_verdict(check: &StreamCheckResult) -> (Assessment, &'static str, String) {
    let streams: u64 = check.classes.values().map(|c| c.streams).sum();
    let streams = match streams {
        1 => "the one stream".to_owned(),
        n => format!("the {} streams", count(n)),
    };
    let needs = format!(
        "To stay within their tolerances {streams} need {}% of the server.",
        fixed(check.utilisation * 100.0, 2)
    );
    let policy = &check.policy;
    match (check.admitted, check.guaranteed) {
        (true, true) => {
            let text = format!(
                "{needs} Under {policy} every stream loses at most x of every y packets, counted \
                 back to back from its first; in windows that begin anywhere it may lose more."
            );
            (Assessment::Good, "Admitted, and promised.", text)
        }
        (true, false) => {
            let text = format!(
                "{needs} That fits, but {policy} does not promise for this set of streams that \
                 no window loses more than it tolerates; a simulation shows its losses."
            );
            (Assessment::Neutral, "Admitted without a promise.", text)
        }
        (false, _) => {
            let text = format!(
                "{needs} No policy can keep all tolerances; the policy decides which streams lose more."
            );
            (Assessment::Bad, "Not admitted.", text)
        }
    }
}

/// Obstacles to a promise and conditions of it, a sentence each.
pub fn stream_reasons(check: &StreamCheckResult) -> Vec<String> {
    let capital = |text: &String| {
        let mut chars = text.chars();
        let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
        format!("{first}{}.", chars.as_str())
    };
    let mut reasons: Vec<String> = check.obstacles.iter().map(capital).collect();
    if check.guaranteed && !check.intermittent.is_empty() {
        reasons.push(format!(
            "The promise is for streams that always have a packet when the deadline before has \
             passed. The sources of {} may pause; a packet that comes late counts again from its \
             arrival, and the windows around it are not promised.",
            check.intermittent.join(", ")
        ));
    }
    reasons
}

/// Demand of each class, and its limits.
pub fn stream_check_table(check: &StreamCheckResult) -> Table {
    let columns = vec![
        Column::text("Class (x/y)"),
        Column::number("streams"),
        Column::number("gap"),
        Column::number("packet time"),
        Column::number("share"),
        Column::number("streams that fit"),
        Column::number("shortest gap"),
    ];
    let rows = check.classes.iter().map(|(name, c)| {
        let gap = |gap: Option<u64>| gap.map_or_else(Cell::none, |gap| Cell::new(span(gap)));
        let fits = match c.max_streams < c.streams {
            true => Cell::toned(format!("\u{2717} {}", count(c.max_streams)), Tone::Bad),
            false => Cell::new(count(c.max_streams)),
        };
        let shortest = match (c.gap_ns, c.min_gap_ns) {
            (Some(_), None) => Cell::toned("none", Tone::Bad),
            (Some(own), Some(least)) if least > own => {
                Cell::toned(format!("\u{2717} {}", ceil(least)), Tone::Bad)
            }
            (_, least) => least.map_or_else(Cell::none, |gap| Cell::new(ceil(gap))),
        };
        let cells = vec![
            Cell::new(count(c.streams)),
            gap(c.gap_ns),
            Cell::new(span(c.service_ns)),
            Cell::new(format!("{}%", fixed(c.utilisation * 100.0, 2))),
            fits,
            shortest,
        ];
        (format!("{name} ({})", c.tolerance), cells)
    });
    Table::new("Classes", columns).group("", rows.collect()).noted(
        "Share: (1 - x/y) of a packet's time each gap, for all streams of the class. Streams that \
         fit, shortest gap: how far this class could go, all else unchanged; where all streams \
         have one gap, it is that of all.",
    )
}

/// Rounded up to a thousandth of its unit, so that the printed value fits.
fn ceil(ns: u64) -> String {
    let unit = match ns {
        1_000_000_000.. => 1_000_000,
        1_000_000.. => 1_000,
        _ => 1,
    };
    span(ns.div_ceil(unit).saturating_mul(unit))
}
