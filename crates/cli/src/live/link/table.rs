//! The status as tables.

use laxity_report::text::{self, Style};
use laxity_report::{Cell, Column, Table, Tone, number};

use super::record::{Flow, Kind, Link, Links, MediaServer};

/// All links.
pub fn links(links: &Links, style: Style) -> String {
    let tables = links.links.iter().map(|one| link(one, style));
    let tables: Vec<String> = tables.chain(servers_and_notes(links, style)).collect();
    tables.join("\n")
}

/// Media servers, and notes on links that cannot be shown.
pub fn servers_and_notes(links: &Links, style: Style) -> Vec<String> {
    let mut parts = Vec::new();
    if links.is_empty() && links.kernel_error.is_none() {
        parts.push(
            "no interface of this network namespace has a link, and no link or media server of this \
             user or root is running\n"
                .to_owned(),
        );
    }
    if !links.media_servers.is_empty() {
        parts.push(servers(&links.media_servers, style));
    }
    if !links.unresponsive.is_empty() {
        let ids: Vec<String> = links.unresponsive.iter().map(u32::to_string).collect();
        parts.push(format!(
            "Not shown: these processes do not say what they do; they are stopped, or of another \
             version of laxity: {}\n",
            ids.join(", ")
        ));
    }
    if let Some(why) = &links.kernel_error {
        parts.push(format!("Links in the kernel are not shown: {why}\n"));
    }
    parts
}

fn servers(servers: &[MediaServer], style: Style) -> String {
    let columns = vec![
        Column::text("Server"),
        Column::number("process"),
        Column::number("user"),
        Column::text("policy"),
        Column::number("streams"),
        Column::number("packets sent"),
        Column::number("dropped as late"),
        Column::number("windows violated"),
        Column::text("control"),
        Column::text("metrics"),
    ];
    let rows = servers.iter().map(|server| {
        let cell = |text: Option<String>| text.map_or_else(Cell::none, Cell::new);
        let cells = vec![
            count(server.process.id.into()),
            count(server.process.user.into()),
            Cell::new(server.policy.clone()),
            count(server.streams),
            count(server.sent),
            count(server.expired),
            bad(server.tumbling_violations),
            cell(server.control.as_ref().map(|path| path.display().to_string())),
            cell(server.metrics.map(|address| address.to_string())),
        ];
        (server.scenario.clone(), cells)
    });
    text::table(&Table::new("Media servers", columns).group("", rows.collect()), style)
}

/// The interface of a link, and of which interface it is the ingress direction.
pub fn name(link: &Link) -> String {
    match &link.ingress_of {
        Some(of) => format!("{}, ingress of {of}", link.device),
        None => link.device.clone(),
    }
}

/// The program that runs a link outside the kernel.
pub fn runner(link: &Link) -> String {
    link.process.as_ref().map_or_else(String::new, |process| {
        format!(", by {} (process {})", process.program, process.id)
    })
}

fn link(link: &Link, style: Style) -> String {
    let columns = vec![
        Column::text("Flow"),
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
    let rate = number::rate(link.rate_bit_s);
    let caption = format!("{}: {} at {rate}{}", name(link), link.policy, runner(link));
    let mut table = Table::new(caption, columns).group("", rows);
    if link.previous.packets + link.previous.dropped > 0 {
        let row = (format!("all, in {} scenarios before", link.changes), cells(&link.previous));
        table = table.group("", vec![row]);
    }
    text::table(&table.noted(sentences(link).join(" ")), style)
}

fn cells(flow: &Flow) -> Vec<Cell> {
    let ms = |ms: Option<f64>| ms.map_or_else(Cell::none, |ms| Cell::new(number::short(ms)));
    let late = if flow.kind == Kind::BestEffort { Cell::none() } else { bad(flow.deadline_misses) };
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

fn count(n: u64) -> Cell {
    Cell::new(n.to_string())
}

fn bad(n: u64) -> Cell {
    if n > 0 { Cell::toned(n.to_string(), Tone::Bad) } else { count(n) }
}

/// Notes on a link, in sentences.
pub fn sentences(link: &Link) -> Vec<String> {
    let mut sentences = Vec::new();
    if !link.attached {
        let (removed, device) = match &link.ingress_of {
            Some(of) => ("the qdisc or the filter that redirects to it", of),
            None => ("the qdisc", &link.device),
        };
        sentences.push(format!(
            "Another program has removed {removed}, so nothing is scheduled: `laxity link down --dev \
             {device}` cleans up, `up` restores it."
        ));
    }
    if link.pending {
        sentences.push("Another scenario comes into force with the next packet.".to_owned());
    }
    if let Some(rate) = link.scenario_rate_bit_s {
        sentences.push(format!("The scenario's rate is {}.", number::rate(rate)));
    }
    if !link.shed.is_empty() {
        sentences.push(format!(
            "Best effort since the rate fell, without a deadline: {}.",
            link.shed.join(", ")
        ));
    }
    if link.late_rate_change > 0 {
        sentences.push(format!(
            "{} real-time packets were late because the rate fell after they were accepted; they do \
             not count as late.",
            link.late_rate_change
        ));
    }
    let backlog = link.backlog;
    sentences.push(format!("{} packets of {} B wait.", backlog.packets, backlog.bytes));
    let stalls = link.stalls;
    if stalls.count > 0 {
        let times =
            if stalls.count == 1 { "once".to_owned() } else { format!("{} times", stalls.count) };
        let late = link.flows.iter().any(|(_, flow)| flow.deadline_misses > 0)
            || link.previous.deadline_misses > 0;
        sentences.push(format!(
            "The link stalled {times} beyond its credit, for {} ms in all, {} ms at most{}.",
            number::short(stalls.total_ms),
            number::short(stalls.max_ms),
            if late {
                "; real-time packets may be late because of that"
            } else {
                ", and nothing is late"
            }
        ));
    }
    for (name, flow) in &link.flows {
        let reasons: Vec<String> =
            flow.drop_reasons.iter().map(|(why, n)| format!("{n} {why}")).collect();
        if flow.demoted > 0 {
            let ms = |ms: Option<f64>| ms.map_or_else(|| number::NONE.to_owned(), number::short);
            let why = match link.shed.contains(name) {
                true => "without a reservation",
                false => "beyond its envelope",
            };
            sentences.push(format!(
                "{name} demoted: {} packets {why}, sent as best effort without a deadline and not in \
                 its delays; they took {} ms on average, {} ms at most.",
                flow.demoted,
                ms(flow.demoted_mean_ms),
                ms(flow.demoted_max_ms)
            ));
        }
        if flow.ecn_marks > 0 {
            sentences.push(format!("{name} marked: {} packets, by its AQM.", flow.ecn_marks));
        }
        if !reasons.is_empty() {
            sentences.push(format!("{name} dropped: {}.", reasons.join(", ")));
        }
    }
    if link.flows.values().any(|flow| flow.drop_reasons.contains_key("oversize")) {
        sentences.push(
            "Oversize packets are longer than the scenario allows (max_packet of the link, packet \
             of the flow); a router that joins packets needs GRO off on the interface where they \
             come in: ethtool -K DEV gro off. `link up --ingress` switches it off on its own interface \
             and those below."
                .to_owned(),
        );
    }
    if let Some(kind) = &link.replaced {
        sentences.push(format!("The qdisc {kind} comes back when the link goes down."));
    }
    sentences
}
