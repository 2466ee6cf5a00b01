//! Guarantees of the kernel's queueing disciplines.

use laxity_results::{TcCheck, TcClass, TcFlow};

use crate::number::{rate, span};
use crate::page::Assessment;
use crate::table::{Cell, Column, Table, Tone};
use crate::text::{Style, push, statement};

/// The output of `laxity check --tc`.
pub fn tc_check(check: &TcCheck, style: Style) -> String {
    let (assessment, label, text) = verdict(check);
    let mut out = statement(assessment, label, &text, style);
    for f in &check.findings {
        let line = format!("{} at {}: {}; {}.", f.code, f.at, f.text, f.remedy);
        out.push_str(&statement(Assessment::Bad, "-", &line, style));
    }
    out.push('\n');
    push(&mut out, &class_table(check), style);
    push(&mut out, &reason_table(check), style);
    push(&mut out, &rule_table(check), style);
    push(&mut out, &flow_table(check), style);
    out.pop();
    out
}

fn verdict(check: &TcCheck) -> (Assessment, &'static str, String) {
    let device = check.device.as_deref().unwrap_or("The device");
    let assumed = format!(
        "{device} is assumed to take {}, packets of at most {} B as queued, timers late by {}.",
        rate(check.link_rate_bit_s),
        check.max_packet_bytes,
        span(check.timer_lateness_ns),
    );
    let rounded = match check.rounded_input {
        true => " Values come from text, where tc rounds to three or four digits.",
        false => "",
    };
    let missed = check.flows.iter().filter(|f| !f.met).count();
    let (assessment, label, fact) = match (check.guaranteed, missed) {
        (true, _) if check.flows.is_empty() => {
            (Assessment::Neutral, "No fault found.", String::new())
        }
        (true, _) => (Assessment::Good, "Guaranteed.", "Every flow keeps its deadline. ".into()),
        (false, 0) => (Assessment::Bad, "Misconfigured.", String::new()),
        (false, n) => {
            (Assessment::Bad, "Not guaranteed.", format!("{n} of {} flows. ", check.flows.len()))
        }
    };
    (assessment, label, format!("{fact}{assumed}{rounded}"))
}

fn optional(value: Option<u64>, text: fn(u64) -> String) -> Cell {
    value.map_or_else(Cell::none, |v| Cell::new(text(v)))
}

fn class_table(check: &TcCheck) -> Table {
    let columns = vec![
        Column::text("Class"),
        Column::text("discipline"),
        Column::number("rate"),
        Column::number("after"),
        Column::number("delay"),
    ];
    let row = |c: &TcClass| {
        let cells = vec![
            Cell::new(&c.discipline),
            optional(c.rate_bit_s, rate),
            optional(c.latency_ns, span),
            optional(c.delay_ns, span),
        ];
        (c.class.clone(), cells)
    };
    Table::new("Guaranteed to each class", columns)
        .group("", check.classes.iter().map(row).collect())
}

fn reason_table(check: &TcCheck) -> Table {
    let reasons = check.classes.iter().map(|c| (&c.class, c.reason.as_ref()));
    reasons_table("Not guaranteed", "no guarantee because", reasons)
}

/// The classes that have a reason, and it.
pub(crate) fn reasons_table<'a>(
    title: &str,
    because: &'static str,
    classes: impl Iterator<Item = (&'a String, Option<&'a String>)>,
) -> Table {
    let columns = vec![Column::text("Class"), Column::text(because)];
    let rows = classes.filter_map(|(name, reason)| Some((name.clone(), vec![Cell::new(reason?)])));
    Table::new(title, columns).group("", rows.collect())
}

fn rule_table(check: &TcCheck) -> Table {
    let columns =
        vec![Column::text("Discipline"), Column::text("service curve"), Column::text("source")];
    let mut rows: Vec<(String, Vec<Cell>)> = Vec::new();
    for c in &check.classes {
        if let (Some(rule), Some(source)) = (&c.rule, &c.source) {
            let row = (c.discipline.clone(), vec![Cell::new(rule), Cell::new(source)]);
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    Table::new("Rules", columns).group("", rows)
}

fn flow_table(check: &TcCheck) -> Table {
    let columns = vec![
        Column::text("Flow"),
        Column::text("class"),
        Column::number("deadline"),
        Column::number("delay"),
        Column::number("laxity, at least"),
    ];
    let row = |f: &TcFlow| {
        let tone = if f.met { Tone::Plain } else { Tone::Bad };
        let delay = f.delay_ns.map_or_else(|| "none".to_owned(), span);
        let laxity = match (f.laxity_admits, f.laxity_min_deadline_ns) {
            (_, Some(ns)) => Cell::new(span(ns)),
            (true, None) => Cell::new(span(f.deadline_ns)),
            (false, None) => Cell::none(),
        };
        let cells = vec![
            Cell::new(&f.class),
            Cell::new(span(f.deadline_ns)),
            Cell::toned(delay, tone),
            laxity,
        ];
        (f.flow.clone(), cells)
    };
    Table::new("Flows", columns).group("", check.flows.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use laxity_results::{TcCheck, TcClass, TcFinding, TcFlow};

    use crate::text::{Style, tc_check};

    // Fails when a missing guarantee looks like one, or a finding loses place or remedy.
    #[test]
    fn reasons_and_findings_are_printed() {
        let class = |name: &str, delay_ns: Option<u64>, reason: Option<&str>| TcClass {
            class: name.into(),
            discipline: "htb".into(),
            rate_bit_s: delay_ns.map(|_| 1_000_000),
            latency_ns: delay_ns,
            delay_ns,
            rule: delay_ns.map(|_| "C t".into()),
            source: delay_ns.map(|_| "FIFO".into()),
            reason: reason.map(Into::into),
        };
        let check = TcCheck {
            device: Some("eth0".into()),
            guaranteed: false,
            link_rate_bit_s: 10_000_000,
            max_packet_bytes: 1514,
            timer_lateness_ns: 0,
            rounded_input: true,
            classes: vec![class("1:1", Some(5_000_000), None), class("1:2", None, Some("because"))],
            flows: vec![TcFlow {
                flow: "voice".into(),
                class: "1:2".into(),
                deadline_ns: 10_000_000,
                delay_ns: None,
                met: false,
                laxity_admits: true,
                laxity_min_deadline_ns: Some(2_000_000),
            }],
            findings: vec![TcFinding {
                code: "priomap".into(),
                at: "1:1".into(),
                text: "starves".into(),
                remedy: "attach tbf".into(),
            }],
        };
        let text = tc_check(&check, Style::PLAIN);
        assert!(text.starts_with("Not guaranteed. 1 of 1 flows. eth0"), "{text}");
        assert!(text.contains("- priomap at 1:1: starves; attach tbf."), "{text}");
        assert!(text.contains("1:2    because"), "{text}");
        assert!(text.contains("digits"), "{text}");
    }
}
