//! The answer of `laxity check`, in a sentence and a table.

use crate::number::{count, fixed, signed, span};
use crate::page::{Assessment, Block, Meta};
use crate::table::{Cell, Column, Table, Tone};
use laxity_results::{CheckResult, FlowCheck, IdleRealtime};

use super::service::{best_effort_table, later_sentence, service_table, shares_table};

/// The verdict: (whether admitted, label, sentence).
pub fn verdict_statement(check: &CheckResult) -> (bool, &'static str, String) {
    let (flows, reserve) = match check.flows.len() {
        1 => ("the one real-time flow".to_string(), "it reserves"),
        n => (format!("all {n} real-time flows"), "they reserve"),
    };
    let within = check.binding_interval_ns.map(span);
    let slack = check.slack_bytes;
    let percent = fixed(check.utilisation * 100.0, 1);
    if check.admitted {
        let worst = match (within, slack) {
            (Some(t), Some(s)) => format!(
                " In the worst interval, {t} long, {} B of the link's capacity remain.",
                signed(s)
            ),
            _ => String::new(),
        };
        let text = format!(
            "The link keeps every deadline of {flows}, whatever conforming traffic arrives; {reserve} \
             {percent}% of it in the long run.{worst}{}",
            check
                .idle_realtime
                .as_ref()
                .map(|s| format!(" {}", silence_sentence(s)))
                .unwrap_or_default()
        );
        return (true, "Admitted.", text);
    }
    let why = match (within, slack) {
        (Some(t), Some(s)) if s < 0 => format!(
            "In an interval of {t} the flows may demand {} B more than the link can send.",
            count(s.unsigned_abs())
        ),
        (Some(t), _) => format!("The flows may demand more than the link can send within {t}."),
        _ if check.utilisation > 1.0 => {
            format!("The flows reserve {percent}% of the link, more than there is.")
        }
        _ => "The flows may demand more than the link can send in time.".to_string(),
    };
    let later = later_sentence(check).map_or(String::new(), |later| format!(" {later}"));
    let text =
        format!("{why} A deadline can be missed, though a given run may not show it.{later}");
    (false, "Not admitted.", text)
}

/// Which best-effort packets wait while real time is silent.
pub fn silence_sentence(silence: &IdleRealtime) -> String {
    let waits = match silence.idle_timeout_ns {
        Some(ns) => format!("or for {} of silence (`idle-timeout`)", span(ns)),
        None => "as long as real time is silent (`idle-timeout` is 0)".into(),
    };
    format!(
        "Under `always-check` best-effort packets of more than {} B on the wire wait for the gap \
         after a real-time packet, {waits}.",
        count(silence.max_immediate_bytes)
    )
}

/// Demand of each flow with a deadline, and its limits.
pub fn check_table(check: &CheckResult, deadlines: &[(String, u64)]) -> Table {
    let known = |name: &str| deadlines.iter().find(|(n, _)| n == name).map(|(_, d)| *d);
    let flows = || check.flows.iter().filter(|(_, f)| f.service.is_none());
    let any = flows().any(|(name, _)| known(name).is_some());
    let mut columns = vec![Column::text("Flow"), Column::number("demand")];
    if any {
        columns.push(Column::number("deadline"));
    }
    columns.extend(["smallest deadline", "largest rate", "largest burst"].map(Column::number));
    let rows = flows()
        .map(|(name, f)| {
            let mut cells = vec![Cell::new(format!("{} B", count(f.demand_bytes)))];
            let deadline = known(name);
            if any {
                cells.push(deadline.map_or_else(Cell::none, |d| Cell::new(span(d))));
            }
            let most = if f.conservative { "\u{2264} " } else { "" };
            cells.push(match (f.min_deadline_ns, deadline) {
                (None, _) => Cell::toned("none", Tone::Bad),
                (Some(least), Some(d)) if least > d => {
                    Cell::toned(format!("\u{2717} {most}{}", ceil_span(least)), Tone::Bad)
                }
                (Some(least), _) => Cell::new(format!("{most}{}", ceil_span(least))),
            });
            let limit = |q: &Option<String>, ends: bool| match q {
                Some(q) if ends || f.conservative => Cell::new(format!("\u{2265} {q}")),
                Some(q) => Cell::new(q.as_str()),
                None => Cell::toned("none", Tone::Bad),
            };
            cells.push(limit(&f.max_rate, f.rate_is_peak));
            cells.push(limit(&f.max_burst, f.burst_is_limit));
            (name.clone(), cells)
        })
        .collect::<Vec<_>>();
    let within =
        check.binding_interval_ns.map_or(String::new(), |t| format!(" within {}", span(t)));
    let mut note = format!(
        "Demand: what the flow may send{within}. Smallest deadline, largest rate and burst: the limits \
         up to which the answer stays yes, for this flow alone, all else unchanged."
    );
    let any = |of: fn(&FlowCheck) -> bool| flows().any(|(_, f)| of(f));
    if any(|f| f.rate_is_peak || f.burst_is_limit) {
        note += " \u{2265}: the answer is still yes where the search ends, for a rate at the flow's \
                 peak, for a burst at 1 GB.";
    }
    if any(|f| f.conservative) {
        note += " \u{2264} smallest deadline: the flow could go further, since the periodic flows \
                 have too many steps to follow and upper bounds stand for the rest.";
    }
    Table::new("Real-time flows", columns).group("", rows).noted(note)
}

/// A limit rounded up, so that the printed value is admitted too.
pub(super) fn ceil_span(ns: u64) -> String {
    let unit = match ns {
        1_000_000_000.. => 1_000_000,
        1_000_000.. => 1_000,
        _ => 1,
    };
    span(ns.div_ceil(unit).saturating_mul(unit))
}

/// Statement, facts and table.
pub(crate) fn blocks(check: &CheckResult, deadlines: &[(String, u64)], meta: &Meta) -> Vec<Block> {
    let (admitted, label, text) = verdict_statement(check);
    let assessment = if admitted { Assessment::Good } else { Assessment::Bad };
    let mut facts = link_facts(meta);
    facts.push((
        "Reserved in the long run".into(),
        format!("{}%", fixed(check.utilisation * 100.0, 1)),
    ));
    if let Some(t) = check.binding_interval_ns {
        facts.push(("Binding interval".into(), span(t)));
    }
    if let Some(s) = check.slack_bytes {
        facts.push(("Left in it".into(), format!("{} B", signed(s))));
    }
    let mut out = vec![Block::Statement(assessment, label.into(), text), Block::Facts(facts)];
    let tables = [
        check_table(check, deadlines),
        service_table(check),
        shares_table(check),
        best_effort_table(check),
    ];
    out.extend(tables.into_iter().filter(|table| !table.is_empty()).map(Block::Table));
    out
}

/// Facts about the link that a page begins with.
pub(crate) fn link_facts(meta: &Meta) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(rate) = meta.link_rate {
        facts.push(("Link".into(), crate::number::rate(rate)));
    }
    if let Some(packet) = meta.max_packet {
        facts.push(("Largest best-effort packet".into(), format!("{} B", count(packet))));
    }
    facts
}
