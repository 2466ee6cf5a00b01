//! Tables of a server's and a receiver's measurements.

use laxity_media::receiver::Report;
use laxity_media::server::{Counts, Snapshot, StreamSnapshot};
use laxity_report::text::{self, Style};
use laxity_report::{Cell, Column, Table, Tone, number};
use laxity_scenario::stream::StreamScenario;

/// Counts of a server, by class of streams.
pub fn served(scenario: &StreamScenario, snapshot: &Snapshot, style: Style) -> String {
    let columns = vec![
        Column::text("Streams"),
        Column::number("how many"),
        Column::number("packets sent"),
        Column::number("dropped as late"),
        Column::number("not sent for other reasons"),
        Column::number("windows violated"),
        Column::number("longest run of late"),
    ];
    let mut rest: Vec<&StreamSnapshot> = snapshot.streams.iter().collect();
    let mut rows = Vec::new();
    for class in &scenario.streams {
        let (of_class, others) = rest.into_iter().partition(|s| belongs(s, &class.name));
        rest = others;
        rows.extend(row(&class.name, &of_class));
    }
    rows.extend(row("added while it ran", &rest));
    let timing = &snapshot.timing;
    let late = |per_mille| {
        let error = timing.send_lateness.quantile(per_mille);
        error.map_or_else(|| number::NONE.to_owned(), |ns| number::short(ns as f64 / 1e3))
    };
    let busy: u64 = snapshot.threads.iter().map(|(_, ns)| ns).sum();
    let note = format!(
        "Sent: given to the kernel. A packet went to its system call {} us after it could go in \
         the middle case, {} us at the 99th percentile. {} packets left in {} system calls; all \
         threads together took {} s of processor time. Other reasons: a full ring or socket, a \
         packet too large or refused by the kernel, the end of the stream; --json lists each.",
        late(500),
        late(990),
        snapshot.total().sent,
        timing.calls,
        number::short(busy as f64 / 1e9),
    );
    let caption = "What the server did";
    text::table(&Table::new(caption, columns).group("", rows).noted(note), style)
}

/// Streams of a class have its name, and a number when they are several.
fn belongs(stream: &StreamSnapshot, class: &str) -> bool {
    match stream.config.name.strip_prefix(class) {
        Some("") => true,
        Some(more) => more
            .strip_prefix('-')
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit())),
        None => false,
    }
}

fn row(name: &str, streams: &[&StreamSnapshot]) -> Option<(String, Vec<Cell>)> {
    if streams.is_empty() {
        return None;
    }
    let mut counts = Counts::default();
    streams.iter().for_each(|s| counts.merge(&s.row.counts));
    let refused: u64 = streams.iter().map(|s| s.overflows + s.oversize).sum();
    let other = counts.popped() - counts.sent - counts.expired + refused;
    let violated: u64 = streams.iter().map(|s| s.row.measures.tumbling).sum();
    let longest = streams.iter().map(|s| s.row.measures.longest_run).max().unwrap_or(0);
    let count = |n: u64| Cell::new(n.to_string());
    let bad = |n: u64| if n > 0 { Cell::toned(n.to_string(), Tone::Bad) } else { count(n) };
    let cells = vec![
        count(streams.len() as u64),
        count(counts.sent),
        count(counts.expired),
        count(other),
        bad(violated),
        count(longest),
    ];
    Some((name.to_owned(), cells))
}

/// Measurements of a receiver, by source.
pub fn received(report: &Report, style: Style) -> String {
    let columns = vec![
        Column::text("Source (SSRC)"),
        Column::number("received"),
        Column::number("lost"),
        Column::number("windows violated"),
        Column::number("longest run lost"),
        Column::number("jitter (ms)"),
        Column::number("delay (ms), mean"),
        Column::number("99th percentile"),
    ];
    let rows = report.sources.iter().map(|source| {
        let ms = |v: Option<f64>| v.map_or_else(Cell::none, |v| Cell::new(number::short(v)));
        let delay = &source.delay;
        let cells = vec![
            Cell::new(source.received.to_string()),
            Cell::new(source.lost.to_string()),
            Cell::new(source.windows.tumbling_violations.to_string()),
            Cell::new(source.windows.max_consecutive_losses.to_string()),
            ms(Some(source.jitter_ns as f64 / 1e6)),
            ms(delay.mean().map(|ns| ns / 1e6)),
            ms(delay.quantile(990).map(|ns| ns as f64 / 1e6)),
        ];
        (format!("{:#010x}", source.ssrc), cells)
    });
    let mut note = format!(
        "Windows: back to back, of the tolerance given. Delay: where packets carry their time of \
         sending, or sender reports give it. {} datagrams were not RTP; {} packets came faster \
         than they could be read.",
        report.not_rtp, report.receive_overflows
    );
    for (count, what) in [
        (report.on_probation, "of sources that never sent two in sequence"),
        (report.over_source_limit, "of more sources than --max-sources lets one address have"),
        (report.wrong_address, "under the number of a source, from another address"),
    ] {
        if count > 0 {
            note += &format!(" Not measured: {count} packets {what}.");
        }
    }
    let rows = rows.collect();
    text::table(&Table::new("What was received", columns).group("", rows).noted(note), style)
}
