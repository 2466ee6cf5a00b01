//! Tables on a terminal.

mod data;

use laxity_report::reproduction_page;
use laxity_report::text::{self, Style};
use laxity_report::*;
use laxity_results::TcpResult;

fn table() -> Table {
    let columns = vec![Column::text("Flow"), Column::text("background"), Column::number("exact")];
    let cell = |v: &str, p: &str| Cell::new(v).with_secondary(format!("/ {p}"));
    Table::new("Mean delay in ms", columns)
        .group(
            "Real-time (deadline)",
            vec![("voice".into(), vec![cell("0.53", "100%"), cell("0.62", "117%")])],
        )
        .group(
            "Best effort",
            vec![(
                "\u{30d5}\u{30a1}\u{30a4}\u{30eb}".into(),
                vec![cell("2.50", "100%"), Cell { tone: Tone::Best, ..cell("1.73", "69%") }],
            )],
        )
}

// Fails when widths are counted in characters: wide names then shift their row.
#[test]
fn columns_align_with_wide_names() {
    let out = text::table(&table(), Style::PLAIN);
    let column = |line: &str| {
        let at = line.find('%').map_or(0, |i| i + 1);
        unicode_width::UnicodeWidthStr::width(&line[..at])
    };
    let rows: Vec<&str> = out.lines().filter(|l| l.contains('%')).collect();
    assert_eq!(rows.len(), 2);
    assert_eq!(column(rows[0]), column(rows[1]), "{out}");
    assert_eq!(out.lines().next(), Some("Mean delay in ms"));
    assert!(out.lines().all(|l| l == l.trim_end()));
    assert_eq!(rows[1].split_whitespace().last(), Some("69%"));
}

// Fails when colour is written although it is off, or a name brings its own.
#[test]
fn text_is_coloured_on_request_only() {
    assert!(!text::table(&table(), Style::PLAIN).contains('\u{1b}'));
    let colour = Style { colour: true, width: 80 };
    assert!(text::table(&table(), colour).contains("\u{1b}[1;32m1.73"));
    let (mut result, _) = data::simulation(&["\u{1b}[2Jx"], 1);
    result.scenario = "\u{1b}]0;title\u{7}".into();
    assert!(!text::simulation(&result, None, Style::PLAIN).contains('\u{1b}'));
}

// Fails when the last column does not wrap, or is lost where there is no room.
#[test]
fn long_reasons_wrap() {
    for width in [100, 110, 140] {
        let out = text::reproduction(&[data::reproduction()], Style { colour: false, width });
        for line in out.lines() {
            assert!(line.chars().count() <= width, "{line}");
        }
        assert!(out.contains("differs"));
        let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
        // The number that stands in two experiments counts once.
        let outcome = "Of 10 numbers and claims of the paper (11 rows) 9 are reproduced";
        assert!(words.contains(outcome), "{words}");
        assert!(out.contains("shorter one"), "{out}");
    }
}

// Fails when a quick run is not marked above each table, in its caption and in the outcome; when a
// second reading is no column; or when live measurements are not labelled.
#[test]
fn quick_runs_readings_and_live_schedulers_are_labelled() {
    use laxity_results::{ReadingResult, ReproductionVerdict as V};
    let wide = Style { colour: false, width: 400 };
    let mut paper = data::reproduction();
    assert!(!text::reproduction(&[paper.clone()], wide).to_lowercase().contains("quick"));
    paper.quick = true;
    paper.duration = "60 s".into();
    let row = &mut paper.experiments[0].rows[0];
    let (name, verdict) = ("kept".to_owned(), V::Differs);
    row.readings = vec![ReadingResult { name, measured: 7.25, spread: 0.0, verdict }];
    (row.live, row.live_verdict) = (Some(4.5), Some(V::Reproduced));
    row.live_scheduler = Some("laxity-bebs".into());
    let out = text::reproduction(&[paper.clone()], wide);
    assert_eq!(out.matches("quick run").count(), 2 * paper.experiments.len(), "{out}");
    assert!(out.contains("Made with `--quick`: runs of low-delay are of 60 s"), "{out}");
    assert!(out.contains("kept") && out.contains("7.25 \u{2717}"), "{out}");
    assert!(out.contains("4.50 \u{2713} laxity-bebs"), "{out}");
    let page = reproduction_page(&[paper], &[], &data::meta()).html();
    assert!(page.matches("quick run").count() > 2, "{page}");
}

#[test]
fn the_verdict_is_a_sentence() {
    let yes = text::check(&data::check(true), &[], Style::PLAIN);
    assert!(yes.starts_with("Admitted. The link keeps every deadline of all 3 real-time flows"));
    let no = text::check(&data::check(false), &[("voice".into(), 5_000_000)], Style::PLAIN);
    assert!(no.starts_with("Not admitted. In an interval of 5 ms the flows may demand 389 B more"));
    assert!(no.contains("\u{2717} 5.311 ms"));
}

#[test]
fn percentages_are_relative_to_the_first_policy() {
    let (result, _) = data::simulation(&["background", "exact"], 2);
    let out = text::simulation(&result, Some("exact"), Style::PLAIN);
    let row = out.lines().find(|l| l.starts_with("  ftp")).expect("ftp has a row");
    assert!(row.contains("/ 100%  ") && !row.ends_with("100%"), "{row}");
    assert!(out.contains("Percentages are relative to background."));
    assert!(!out.contains("green"), "colour words without colour");
}

// Fails when drops and marks change places or policies, when a class with an AQM that did nothing
// is left out, or when the table appears without any AQM.
#[test]
fn aqm_drops_and_marks_have_a_table() {
    let (mut result, _) = data::simulation(&["background", "exact"], 2);
    let title = "AQM: packets dropped / marked by policy";
    assert!(!text::simulation(&result, None, Style::PLAIN).contains(title));
    for (policy, drops, marks) in [("background", 1234, 5), ("exact", 0, 0)] {
        let ftp = &mut result.policies[policy].flows["ftp"];
        (ftp.aqm_drops, ftp.ecn_marks) = (Some(drops), Some(marks));
    }
    let out = text::simulation(&result, None, Style::PLAIN);
    let table = &out[out.find(title).expect("it has a title")..];
    let row = table.lines().find(|l| l.starts_with("  ftp")).expect("ftp has a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["ftp", "1234", "/", "5", "0", "/", "0"], "{row}");
    let table = table.split("\n\n").next().unwrap();
    assert!(!table.contains("http"), "classes without AQM are left out: {table}");
}

// Fails when goodput and completion change places or policies, when a class without completions has a
// time, or when the table appears without TCP sources.
#[test]
fn tcp_sources_have_a_table() {
    let (mut result, _) = data::simulation(&["background", "exact"], 2);
    let title = "TCP: goodput in Mbit/s, mean completion in ms";
    assert!(!text::simulation(&result, None, Style::PLAIN).contains(title));
    for (policy, goodput, completion) in [("background", 1.234, None), ("exact", 3.0, Some(512.4))]
    {
        result.policies[policy].flows["ftp"].tcp = Some(TcpResult {
            goodput_mbit_s: goodput,
            completed: u64::from(completion.is_some()),
            completion_mean_ms: completion,
            completion_max_ms: completion,
        });
    }
    let out = text::simulation(&result, None, Style::PLAIN);
    let table = &out[out.find(title).expect("it has a title")..];
    let row = table.lines().find(|l| l.starts_with("  ftp")).expect("ftp has a row");
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(cells, ["ftp", "1.23", "3.00", "/", "512"], "{row}");
    let table = table.split("\n\n").next().unwrap();
    assert!(!table.contains("http"), "classes without TCP sources are left out: {table}");
}

// Fails when the number of packets under one policy stands for all although TCP sources send another
// number under each, or when the note appears without such a difference.
#[test]
fn packets_that_depend_on_the_policy_have_a_range() {
    let (mut result, _) = data::simulation(&["background", "exact", "slack"], 2);
    let note = "depend on the policy";
    let packets = |out: &str| -> String {
        let table = &out[out.find("Packets missed / dropped").expect("it has a title")..];
        let row = table.lines().find(|l| l.starts_with("  ftp")).expect("ftp has a row");
        row.split_whitespace().nth(1).expect("packets").to_owned()
    };
    for (policy, packets) in [("background", 150), ("exact", 150), ("slack", 150)] {
        result.policies[policy].flows["ftp"].packets = packets;
    }
    let out = text::simulation(&result, None, Style::PLAIN);
    assert_eq!((packets(&out).as_str(), out.contains(note)), ("150", false), "{out}");
    result.policies["background"].flows["ftp"].packets = 170;
    result.policies["exact"].flows["ftp"].packets = 140;
    let out = text::simulation(&result, None, Style::PLAIN);
    assert_eq!((packets(&out).as_str(), out.contains(note)), ("140\u{2013}170", true), "{out}");
}
