//! The status as tables.

use laxity_report::text::{self, Style};
use laxity_report::{Cell, Column, Table, Tone, number};

use super::record::{Flow, Kind, Link, Links};

/// All links.
pub fn links(links: &Links, style: Style) -> String {
    if links.links.is_empty() {
        return "no interface of this network namespace has a link in the kernel; links in user space \
                (`laxity link bridge`, `tun`) say what they do at their --status and --listen, media \
                servers at --control and --metrics\n"
            .to_owned();
    }
    let tables: Vec<String> = links.links.iter().map(|one| link(one, style)).collect();
    tables.join("\n")
}

fn link(link: &Link, style: Style) -> String {
    let columns = vec![
        Column::words("Flow"),
        Column::number("packets sent"),
        Column::number("delay (ms), mean"),
        Column::number("99th percentile"),
        Column::number("longest"),
        Column::number("deadline (ms)"),
        Column::number("late"),
        Column::number("demoted"),
        Column::number("dropped"),
    ];
    let rows = link.flows.iter().map(|(name, flow)| (name.clone(), cells(flow))).collect();
    let caption = format!("{}: {} at {}", link.device, link.policy, number::rate(link.rate_bit_s));
    let mut table = Table::new(caption, columns).group("", rows);
    if link.earlier.packets + link.earlier.dropped > 0 {
        let row = (format!("all, in {} scenarios before", link.changes), cells(&link.earlier));
        table = table.group("", vec![row]);
    }
    text::table(&table.noted(sentences(link).join(" ")), style)
}

fn cells(flow: &Flow) -> Vec<Cell> {
    let ms = |ms: Option<f64>| ms.map_or_else(Cell::none, |ms| Cell::new(number::short(ms)));
    let count = |n: u64| Cell::new(n.to_string());
    let bad = |n: u64| if n > 0 { Cell::toned(n.to_string(), Tone::Bad) } else { count(n) };
    let late = if flow.kind == Kind::BestEffort { Cell::none() } else { bad(flow.missed) };
    vec![
        count(flow.packets),
        ms(flow.mean_ms),
        ms(flow.p99_ms),
        ms(flow.max_ms),
        ms(flow.deadline_ms),
        late,
        count(flow.demoted),
        count(flow.dropped),
    ]
}

/// What else there is to know.
pub fn sentences(link: &Link) -> Vec<String> {
    let mut said = Vec::new();
    if !link.attached {
        said.push(format!(
            "Somebody else has removed the qdisc, so nothing is scheduled: `laxity link down --dev \
             {}` tidies up, `up` begins anew.",
            link.device
        ));
    }
    if link.pending {
        said.push("Another scenario comes into force with the next packet.".to_owned());
    }
    let waiting = link.waiting;
    said.push(format!("{} packets of {} B wait.", waiting.packets, waiting.bytes));
    let stalls = link.stalls;
    if stalls.count > 0 {
        said.push(format!(
            "The link stalled {} times beyond its credit, for {} ms in all, {} ms at most; what real \
             time is late by comes from that.",
            stalls.count,
            number::short(stalls.total_ms),
            number::short(stalls.longest_ms)
        ));
    }
    for (name, flow) in &link.flows {
        let reasons: Vec<String> =
            flow.reasons.iter().map(|(why, n)| format!("{n} {why}")).collect();
        if flow.demoted > 0 {
            let ms = |ms: Option<f64>| ms.map_or_else(|| number::NONE.to_owned(), number::short);
            said.push(format!(
                "{name} demoted: {} packets beyond its envelope, sent as best effort without a deadline \
                 and not in its delays; they took {} ms on average, {} ms at most.",
                flow.demoted,
                ms(flow.demoted_mean_ms),
                ms(flow.demoted_max_ms)
            ));
        }
        if !reasons.is_empty() {
            said.push(format!("{name} dropped: {}.", reasons.join(", ")));
        }
    }
    if link.flows.values().any(|flow| flow.reasons.contains_key("oversize")) {
        said.push(
            "Oversize packets are longer than the scenario says (max_packet of the link, packet \
             of the flow); a router that joins packets needs GRO off on the interface where they \
             come in: ethtool -K DEV gro off."
                .to_owned(),
        );
    }
    if let Some(kind) = &link.replaced {
        said.push(format!("The qdisc {kind} comes back when the link goes down."));
    }
    said
}
