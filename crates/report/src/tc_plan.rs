//! A scenario as a tree of the kernel's disciplines.

use laxity_results::{TcFlow, TcPlan, TcPlanClass};

use crate::number::{fixed, rate, span};
use crate::page::Assessment;
use crate::table::{Cell, Column, Table, Tone};
use crate::tc::reasons_table;
use crate::text::{Style, push, statement};

/// The output of `laxity link plan`.
pub fn tc_plan(plan: &TcPlan, style: Style) -> String {
    let assumed = format!(
        "{} for {} at {}, packets of at most {} B on the wire, timers late by {}.",
        plan.target,
        plan.device,
        rate(plan.link_rate_bit_s),
        plan.max_packet_bytes,
        span(plan.timer_lateness_ns),
    );
    let (assessment, label) = match plan.guaranteed {
        true => (Assessment::Good, "Guaranteed."),
        false => (Assessment::Bad, "Not guaranteed."),
    };
    let mut out = statement(assessment, label, &assumed, style);
    for f in &plan.findings {
        let line = format!("{} at {}: {}; {}.", f.code, f.at, f.text, f.remedy);
        out.push_str(&statement(Assessment::Bad, "-", &line, style));
    }
    out.push('\n');
    push(&mut out, &flow_table(plan), style);
    push(&mut out, &best_effort_table(plan), style);
    push(&mut out, &reason_table(plan), style);
    out.push_str("Lost beside a link of Laxity\n");
    for loss in &plan.losses {
        out.push_str(&statement(
            Assessment::Neutral,
            "-",
            &format!("{}: {}.", loss.code, loss.text),
            style,
        ));
    }
    out.push_str("\nCommands\n");
    for command in &plan.commands {
        out.push_str("  ");
        out.push_str(command);
        out.push('\n');
    }
    out
}

fn delay(ns: Option<u64>) -> Cell {
    ns.map_or_else(Cell::none, |ns| Cell::new(span(ns)))
}

fn flow_table(plan: &TcPlan) -> Table {
    let columns = vec![
        Column::text("Flow"),
        Column::text("class"),
        Column::number("deadline"),
        Column::number("delay"),
        Column::number("laxity, at least"),
    ];
    let row = |f: &TcFlow| {
        let tone = if f.met { Tone::Plain } else { Tone::Bad };
        let bound = f.delay_ns.map_or_else(|| "none".to_owned(), span);
        let laxity = match (f.laxity_admits, f.laxity_min_deadline_ns) {
            (_, Some(ns)) => delay(Some(ns)),
            (true, None) => delay(Some(f.deadline_ns)),
            (false, None) => Cell::none(),
        };
        let deadline = Cell::new(span(f.deadline_ns));
        (f.flow.clone(), vec![Cell::new(&f.class), deadline, Cell::toned(bound, tone), laxity])
    };
    Table::new("Real time", columns).group("", plan.flows.iter().map(row).collect())
}

fn best_effort_table(plan: &TcPlan) -> Table {
    let columns = vec![
        Column::text("Class"),
        Column::text("in the tree"),
        Column::number("delay"),
        Column::number("laxity, at most"),
        Column::number("alone"),
        Column::number("simulated: tree, mean"),
        Column::number("largest"),
        Column::number("laxity, mean"),
        Column::number("largest"),
    ];
    let ms =
        |v: Option<f64>| v.map_or_else(Cell::none, |ms| Cell::new(format!("{} ms", fixed(ms, 3))));
    let row = |c: &TcPlanClass| {
        let cells = vec![
            Cell::new(&c.class),
            delay(c.delay_ns),
            delay(c.laxity_delay_ns),
            delay(c.laxity_alone_delay_ns),
            ms(c.tree_mean_ms),
            ms(c.tree_max_ms),
            ms(c.laxity_mean_ms),
            ms(c.laxity_max_ms),
        ];
        (c.name.clone(), cells)
    };
    Table::new("Best effort: bounds, and delays simulated on the same packets", columns)
        .group("", plan.best_effort.iter().map(row).collect())
}

fn reason_table(plan: &TcPlan) -> Table {
    let reasons = plan.best_effort.iter().map(|c| (&c.name, c.reason.as_ref()));
    reasons_table("No bound", "no bound in the tree because", reasons)
}

#[cfg(test)]
mod tests {
    use laxity_results::{TcFlow, TcLoss, TcPlan, TcPlanClass};

    use crate::text::{Style, tc_plan};

    // Fails when a command, a loss or a missing bound is left out.
    #[test]
    fn commands_losses_and_missing_bounds_are_printed() {
        let plan = TcPlan {
            scenario: "s".into(),
            target: "hfsc".into(),
            device: "eth0".into(),
            guaranteed: true,
            link_rate_bit_s: 10_000_000,
            max_packet_bytes: 1514,
            timer_lateness_ns: 0,
            shaped: false,
            flows: vec![TcFlow {
                flow: "voice".into(),
                class: "1:10".into(),
                deadline_ns: 10_000_000,
                delay_ns: Some(9_000_000),
                met: true,
                laxity_admits: true,
                laxity_min_deadline_ns: Some(2_000_000),
            }],
            best_effort: vec![TcPlanClass {
                name: "web".into(),
                class: "1:11".into(),
                delay_ns: None,
                reason: Some("a share".into()),
                laxity_delay_ns: Some(20_000_000),
                laxity_alone_delay_ns: None,
                tree_mean_ms: Some(2.5),
                tree_max_ms: Some(31.25),
                laxity_mean_ms: Some(1.5),
                laxity_max_ms: Some(7.25),
            }],
            losses: vec![TcLoss { code: "policing".into(), text: "none".into() }],
            findings: Vec::new(),
            commands: vec!["tc qdisc add dev eth0 root".into()],
        };
        let text = tc_plan(&plan, Style::PLAIN);
        for part in [
            "Guaranteed. hfsc for eth0",
            "9 ms",
            "7.250 ms",
            "a share",
            "- policing: none.",
            "  tc qdisc add",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
