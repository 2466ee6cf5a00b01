//! Links on `laxity top`: each flow's rate, its delays against its bound, drops and
//! why.

use std::fmt::Write as _;

use laxity_report::escape::terminal;
use laxity_report::number;
use laxity_report::text::Style;

use super::record::{Flow, Kind, Link, Links};
use super::table;
use crate::live::top::{BOLD, RED, line};

/// Cells between no delay and the bound.
const CELLS: u32 = 20;
const HEADINGS: &str = "packets/s    kbit/s      mean       99%   longest     bound";

/// All links; rates since `before`, a look so many seconds ago.
pub fn screen(now: &Links, before: Option<(&Links, f64)>, style: Style) -> String {
    let mut text = String::new();
    for (i, link) in now.links.iter().enumerate() {
        let earlier = before.and_then(|(links, seconds)| {
            let is_same = |l: &&Link| l.device == link.device && l.process == link.process;
            let same = links.links.iter().find(is_same);
            // Each scenario has counts of its own.
            Some((same.filter(|l| l.changes == link.changes)?, seconds))
        });
        if i > 0 {
            text.push('\n');
        }
        one(&mut text, link, earlier, style);
    }
    for part in table::servers_and_notes(now, style) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&part);
    }
    text
}

fn one(text: &mut String, link: &Link, before: Option<(&Link, f64)>, style: Style) {
    let longest = link.flows.keys().map(|name| name.chars().count()).max().unwrap_or(0).max(4);
    let title = format!(
        "{}: {} at {}{}, {} scenarios before",
        table::name(link),
        link.policy,
        number::rate(link.rate_bit_s),
        table::runner(link),
        link.changes
    );
    // Other processes may announce anything.
    line(text, &terminal(&title), BOLD, style);
    let _ = writeln!(text, "{:<longest$}  {HEADINGS}  0 to the bound", "flow");
    for (name, flow) in &link.flows {
        let earlier = before.and_then(|(l, seconds)| Some((l.flows.get(name)?, seconds)));
        let row = format!("{name:<longest$}  {}", row(flow, earlier));
        let late = flow.deadline_misses > 0;
        line(text, terminal(&row).trim_end(), if late { RED } else { "" }, style);
    }
    for sentence in table::sentences(link) {
        let _ = writeln!(text, "  {}", terminal(&sentence));
    }
}

fn row(flow: &Flow, before: Option<(&Flow, f64)>) -> String {
    let rate = |of: &dyn Fn(&Flow) -> u64, per: f64| match before {
        Some((before, seconds)) if seconds > 0.0 => {
            number::fixed(of(flow).saturating_sub(of(before)) as f64 / seconds / per, 0)
        }
        _ => number::NONE.to_owned(),
    };
    let (packets, bits) = (rate(&|f| f.packets, 1.0), rate(&|f| f.bytes, 125.0));
    let ms = |ms: Option<f64>| {
        ms.map_or_else(|| number::NONE.to_owned(), |ms| format!("{} ms", number::short(ms)))
    };
    format!(
        "{packets:>9} {bits:>9} {:>9} {:>9} {:>9} {:>9}  {}",
        ms(flow.mean_ms),
        ms(flow.p99_ms),
        ms(flow.max_ms),
        ms(flow.deadline_ms),
        gauge(flow)
    )
}

/// Dark up to the 99th percentile, light up to the longest delay, and beyond the bound what was
/// late.
fn gauge(flow: &Flow) -> String {
    let Some(bound) = flow.deadline_ms.filter(|ms| flow.kind == Kind::Realtime && *ms > 0.0) else {
        return String::new();
    };
    let cells = |ms: Option<f64>| {
        let part = ms.unwrap_or(0.0) / bound * f64::from(CELLS);
        part.ceil().clamp(0.0, f64::from(CELLS)) as usize
    };
    let (dark, light) = (cells(flow.p99_ms), cells(flow.max_ms));
    let light = light.max(dark);
    let empty = CELLS as usize - light;
    let bar =
        ["\u{2588}".repeat(dark), "\u{2591}".repeat(light - dark), " ".repeat(empty)].concat();
    match flow.deadline_misses {
        0 => format!("{bar}|"),
        late => format!("{bar}| {late} late"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{MediaServer, Process};
    use super::*;
    use crate::live::recorded;

    const BEFORE: &str = include_str!("recorded/before.json");
    const AFTER: &str = include_str!("recorded/after.json");

    fn compare(name: &str, text: &str) {
        recorded::compare("src/live/link/recorded", name, text);
    }

    /// Statistics that were recorded in the virtual machine, half a second apart.
    ///
    /// Fails when rates, bars or reasons are shown otherwise: tried with rates in bytes, with the
    /// bar's ends exchanged, and with the sentence about drops left out.
    #[test]
    fn recorded_statistics_are_shown() {
        let before: Links = serde_json::from_str(BEFORE).expect("a recording");
        let after: Links = serde_json::from_str(AFTER).expect("a recording");
        compare("first.txt", &screen(&before, None, Style::PLAIN));
        compare("then.txt", &screen(&after, Some((&before, 0.5)), Style::PLAIN));
        compare("colour.txt", &screen(&after, None, Style { colour: true, width: 0 }));
        compare("status.txt", &table::links(&after, Style::PLAIN));
        assert!(screen(&Links::default(), None, Style::PLAIN).starts_with("no interface"));
    }

    /// Fails when delays of demoted packets are shown as those of the flow, or not at all.
    #[test]
    fn demoted_packets_are_reported() {
        let mut links: Links = serde_json::from_str(AFTER).expect("a recording");
        let voice = links.links[0].flows.get_mut("voice").expect("a flow");
        (voice.demoted, voice.demoted_mean_ms) = (12, Some(30.5));
        voice.demoted_max_ms = Some(79.8);
        let text = table::links(&links, Style::PLAIN);
        assert!(
            text.contains("voice demoted: 12 packets") && text.contains("79.8 ms at most"),
            "{text}"
        );
        assert!(!text.contains("video demoted"), "{text}");
    }

    /// Fails when packets are said to be late after a stall that made none late, or not said to be so: tried with the
    /// condition the other way round.
    #[test]
    fn stalls_are_reported_with_their_effect() {
        let mut links: Links = serde_json::from_str(AFTER).expect("a recording");
        let link = &mut links.links[0];
        (link.stalls.count, link.stalls.total_ms, link.stalls.max_ms) = (2, 1.5, 1.0);
        link.previous.deadline_misses = 0;
        link.flows.values_mut().for_each(|flow| flow.deadline_misses = 0);
        let on_time = table::links(&links, Style::PLAIN);
        links.links[0].flows.get_mut("voice").expect("a flow").deadline_misses = 1;
        let late = table::links(&links, Style::PLAIN);
        let stalled = "The link stalled 2 times beyond its credit, for 1.5 ms in all, 1 ms at most";
        let says = |text: &str, effect: &str| text.contains(&format!("{stalled}{effect}"));
        assert!(says(&on_time, ", and nothing is late."), "{on_time}");
        assert!(says(&late, "; real-time packets may be late because of that."), "{late}");
    }

    /// Fails when what other processes run is not shown, or passes for the kernel's.
    #[test]
    fn links_and_servers_of_processes_are_shown() {
        let mut links: Links = serde_json::from_str(AFTER).expect("a recording");
        let process = |program: &str| Process { id: 4711, user: 1000, program: program.to_owned() };
        links.links[0].process = Some(process("link bridge"));
        links.media_servers.push(MediaServer {
            process: process("stream serve"),
            scenario: "concert".to_owned(),
            policy: "dwcs".to_owned(),
            streams: 119,
            sent: 1_234_567,
            expired: 89,
            tumbling_violations: 3,
            control: Some("/tmp/concert.sock".into()),
            metrics: None,
        });
        links.unresponsive.push(815);
        for text in [screen(&links, None, Style::PLAIN), table::links(&links, Style::PLAIN)] {
            for expected in
                ["by link bridge (process 4711)", "concert", "1234567", "concert.sock", "815"]
            {
                assert!(text.contains(expected), "no {expected} in {text}");
            }
        }
    }
}
