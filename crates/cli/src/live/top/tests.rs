//! The table of parts and the terminal's view, from recorded statistics.

use std::time::Instant;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::{App, Sort};
use super::parts::{PartKind, Parts};
use super::{Sample, view};
use crate::live::cpu::status::tests::sample as cpus;
use crate::live::link::record::{Link, Links, MediaServer, Process};
use crate::live::recorded;

const BEFORE: &str = include_str!("../link/recorded/before.json");
const AFTER: &str = include_str!("../link/recorded/after.json");

fn process(id: u32, program: &str) -> Process {
    Process { id, user: 1000, program: program.to_owned() }
}

/// A machine with every kind of part: a link of the kernel, a bridge, a tunnel, a media server and CPUs.
fn machine(links: &str) -> Sample {
    let mut links: Links = serde_json::from_str(links).expect("a recording");
    let own = links.links[0].clone();
    let of = |device: &str, id: u32, program: &str| Link {
        device: device.into(),
        process: Some(process(id, program)),
        ..own.clone()
    };
    links.links.extend([of("far", 4711, "link bridge"), of("tun0", 4712, "link tun")]);
    links.media_servers.push(MediaServer {
        process: process(4713, "stream serve"),
        scenario: "concert".to_owned(),
        policy: "dwcs".to_owned(),
        streams: 119,
        sent: 1_234_567,
        expired: 89,
        tumbling_violations: 3,
        control: None,
        metrics: None,
    });
    links.unresponsive.push(815);
    Sample { links: Some(links), cpus: Ok(cpus()), at: Instant::now() }
}

fn app() -> App {
    let mut app = App::new();
    app.update(Parts::of(&machine(BEFORE)), 0.0);
    app.update(Parts::of(&machine(AFTER)), 0.5);
    app
}

fn press(app: &mut App, keys: &[KeyCode]) {
    for key in keys {
        app.key(KeyEvent::new(*key, KeyModifiers::NONE));
    }
}

fn drawn(app: &App, (wide, high): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(wide, high)).expect("a terminal");
    terminal.draw(|frame| view::draw(frame, app, false)).expect("a picture");
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..wide).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..high).map(|y| format!("{}\n", line(y).trim_end())).collect()
}

fn compare(name: &str, text: &str) {
    recorded::compare("src/live/top/recorded", name, text);
}

/// Fails when a kind of part is left out, a rate is not of the last interval, or the sparkline has another
/// scale than the bound.
#[test]
fn every_part_is_in_the_table() {
    compare("table.txt", &drawn(&app(), (160, 30)));
    compare("narrow.txt", &drawn(&app(), (80, 12)));
}

/// Fails when the chosen part is shown without its reasons for drops, or with another part's delays.
#[test]
fn a_part_alone_shows_its_facts() {
    let mut app = app();
    let http = app.rows().iter().position(|s| s.part.name == "http").expect("a flow");
    press(&mut app, &vec![KeyCode::Down; http]);
    press(&mut app, &[KeyCode::Enter]);
    compare("alone.txt", &drawn(&app, (90, 28)));
}

/// Fails when keys of the filter act, the filter hides what has all of its words, or a pause takes samples.
#[test]
fn keys_sort_filter_choose_and_pause() {
    let mut app = app();
    let all = app.rows().len();
    press(&mut app, &[KeyCode::Char('/')]);
    press(&mut app, &"flow p".chars().map(KeyCode::Char).collect::<Vec<_>>());
    assert!(!app.paused && app.typing);
    press(&mut app, &[KeyCode::Backspace, KeyCode::Enter]);
    let rows = app.rows();
    assert!(rows.len() < all && rows.iter().all(|s| s.part.kind == PartKind::Flow), "{rows:?}");
    press(&mut app, &[KeyCode::Char('s')]);
    assert_eq!(app.sort, Sort::Bound);
    let used: Vec<f64> = app.rows().iter().map(|s| s.used().unwrap_or(-1.0)).collect();
    assert!(used.iter().rev().is_sorted() && used[0] > 0.0, "{used:?}");
    press(&mut app, &[KeyCode::End, KeyCode::Char('p')]);
    assert_eq!(app.chosen, app.rows().len() - 1);
    let before = format!("{:?}", app.rows());
    app.update(Parts::of(&machine(BEFORE)), 1.0);
    assert_eq!(format!("{:?}", app.rows()), before);
    press(&mut app, &[KeyCode::Esc]);
    assert_eq!(app.rows().len(), all);
    press(&mut app, &[KeyCode::Char('q')]);
    assert!(app.done);
}

/// Fails when the place of the choice is kept instead of the part, where others come or go.
#[test]
fn the_chosen_part_stays_chosen() {
    let mut app = app();
    press(&mut app, &[KeyCode::End]);
    let chosen = |app: &App| app.rows()[app.chosen].part.name.clone();
    let name = chosen(&app);
    let mut fewer = machine(AFTER);
    if let Some(links) = &mut fewer.links {
        links.links.truncate(1);
    }
    app.update(Parts::of(&fewer), 1.0);
    assert_eq!(chosen(&app), name);
}

/// Fails when a key of the JSON is renamed or left out: docs/reference/running.md has all of them.
#[test]
fn the_json_has_the_documented_keys() {
    let data = serde_json::to_value(Parts::of(&machine(AFTER))).expect("JSON");
    assert_eq!(data["version"], 1);
    assert_eq!(data["notes"][0], "these processes do not answer: 815");
    let parts = data["parts"].as_array().expect("a list");
    let kinds = ["link", "flow", "media_server", "cpu", "reservation", "task"];
    for kind in kinds {
        assert!(parts.iter().any(|part| part["kind"] == kind), "no {kind}");
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/running.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let keys = parts.iter().flat_map(|part| part.as_object().expect("an object").keys());
    for key in keys {
        assert!(page.contains(&format!("| `{key}` |")), "{key} is not documented");
    }
}

/// Fails when text that other programs give reaches the terminal as control codes.
#[test]
fn names_are_escaped() {
    let mut sample = machine(AFTER);
    if let Some(links) = &mut sample.links {
        links.links[0].device = "\u{1b}[2Jeth".into();
        links.kernel_error = Some("\u{1b}[31m".into());
    }
    let mut app = App::new();
    app.update(Parts::of(&sample), 0.0);
    assert!(!drawn(&app, (120, 30)).contains('\u{1b}'));
}
