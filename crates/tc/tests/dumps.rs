//! Dumps of three versions of iproute2: each is read, or refused with a remedy.

use std::fs;
use std::path::{Path, PathBuf};

use laxity_tc::{ClassOptions, Config, Handle, Problem, QdiscOptions, Reader, TcError, TwoPiece};

fn dumps(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps").join(format!("iproute2-{version}"))
}

/// Reads the dumps `NAME.SECTION.FORM` that exist.
fn read(version: &str, name: &str, forms: &[&str]) -> Result<Config, TcError> {
    let mut reader = Reader::default();
    for section in ["qdisc", "class", "filter"] {
        for form in forms {
            let file = format!("{name}.{section}.{form}");
            if let Ok(text) = fs::read_to_string(dumps(version).join(&file)) {
                reader.text(&file, &text)?;
            }
        }
    }
    reader.finish()
}

fn names(version: &str) -> Vec<String> {
    let entries = fs::read_dir(dumps(version)).expect("dumps");
    let files = entries.map(|e| e.expect("an entry").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<_> =
        files.filter_map(|f| Some(f.split_once(".qdisc")?.0.to_owned())).collect();
    names.sort();
    names.dedup();
    names.retain(|n| n != "all-devices");
    names
}

fn handle(text: &str) -> Handle {
    Handle::parse(text).expect("a handle")
}

// Fails when the text of any version has an option that `keys.rs` lacks.
#[test]
fn text_of_each_version_is_read() {
    for version in ["6.1", "6.15", "7.1"] {
        let names = names(version);
        assert!(names.len() >= 20, "{version}: {names:?}");
        for name in names {
            let config = read(version, &name, &["txt"]);
            let config = config.unwrap_or_else(|e| panic!("{version} {name}: {e}"));
            assert!(config.qdiscs[0].parent.is_none(), "{version} {name}");
        }
    }
}

// Fails when JSON is believed that lacks an option, or broken JSON is repaired by guessing.
#[test]
fn json_is_read_or_refused_with_the_command_that_helps() {
    for version in ["6.1", "6.15", "7.1"] {
        for name in names(version) {
            let result = read(version, &name, &["json"]);
            let old = version != "7.1";
            let refused = match name.as_str() {
                "hfsc" | "bad-hfsc-over" => old,
                "qfq" => version == "6.15",
                "drr" => version != "6.1",
                "tbf" => true,
                _ => false,
            };
            match result {
                Ok(_) => assert!(!refused, "{version} {name} should be refused"),
                Err(error) => {
                    assert!(refused, "{version} {name}: {error}");
                    let text = error.to_string();
                    assert!(text.contains("tc -s -d"), "{version} {name}: {text}");
                }
            }
        }
    }
}

// Fails when a unit is confused: bytes/s with bit/s, us with ns, or 1024 with 1000.
#[test]
fn both_forms_have_the_same_values() {
    for name in names("7.1") {
        let text = read("7.1", &name, &["txt"]).expect("text");
        let Ok(json) = read("7.1", &name, &["json"]) else { continue };
        let options = |c: &Config| {
            let mut all: Vec<_> = c
                .qdiscs
                .iter()
                .map(|q| match &q.options {
                    // A counter moves between the two dumps.
                    QdiscOptions::Htb { default, .. } => {
                        QdiscOptions::Htb { default: *default, direct_packets: 0 }
                    }
                    other => other.clone(),
                })
                .collect();
            all.sort_by_key(|o| format!("{o:?}"));
            all
        };
        assert_eq!(options(&text), options(&json), "{name}");
        for class in json.classes.iter().filter(|c| c.options != ClassOptions::Plain) {
            let other = text.classes.iter().find(|c| c.handle == class.handle).expect("a class");
            assert_eq!(class.options, other.options, "{name} {}", class.handle);
            assert_eq!(class.parent, other.parent, "{name} {}", class.handle);
        }
        let filters = |c: &Config| c.filters.iter().map(|f| f.class).collect::<Vec<_>>();
        assert_eq!(filters(&text), filters(&json), "{name}");
    }
}

// Fails when JSON and text of one device are not joined, or the text overrides exact values.
#[test]
fn text_adds_what_json_lacks() {
    let tbf = read("7.1", "tbf", &["json", "txt"]).expect("both");
    let QdiscOptions::Tbf(tbf) = &tbf.qdiscs[0].options else { panic!("no tbf") };
    assert_eq!((tbf.rate, tbf.burst), (10_000_000, 10_240));
    assert_eq!(tbf.peak, Some((12_000_000, 1539)));
    let drr = read("7.1", "drr", &["json", "txt"]).expect("both");
    let quanta: Vec<_> = drr.classes.iter().map(|c| c.options.clone()).collect();
    assert!(quanta.contains(&ClassOptions::Drr { quantum: 3000 }), "{quanta:?}");
}

// Fails when `sc` is not both curves, when `default` is read as decimal, or filters lose their class.
#[test]
fn hfsc_in_full() {
    let config = read("7.1", "hfsc", &["json"]).expect("good JSON");
    assert_eq!(config.qdiscs[0].options, QdiscOptions::Hfsc { default: 0x30 });
    let class = config.classes.iter().find(|c| c.handle == handle("1:40")).expect("1:40");
    let curve = Some(TwoPiece { m1: 0, d: 8_000_000, m2: 1_000_000 });
    assert_eq!(class.options, ClassOptions::Hfsc { rt: curve, ls: curve, ul: None });
    assert_eq!(class.parent, Some(handle("1:1")));
    let to: Vec<_> = config.filters.iter().map(|f| f.class.to_string()).collect();
    assert_eq!(to, ["1:10", "1:20", "1:40"]);
}

// Fails when an unknown option is skipped, or its place is lost.
#[test]
fn unknown_options_are_errors_with_place_and_remedy() {
    let mut reader = Reader::default();
    let error = reader.text("x", "qdisc pfifo 1: root limit 3p\nqdisc htb 2: root speed 3\n");
    let error = error.expect_err("unknown");
    assert_eq!((error.place.line, error.place.input.as_str()), (2, "x"));
    assert!(matches!(&error.problem, Problem::UnknownKey { key, .. } if key == "speed"));
    let json = r#"[{"kind":"htb","handle":"1:","root":true,"options":{"speed":3}}]"#;
    let error = Reader::default().text("y", json).expect_err("unknown");
    assert!(error.to_string().starts_with("y:1: qdisc htb 1: has the unknown option `speed`"));
    let error = Reader::default().text("z", "[link]\nrate = 3\n").expect_err("a scenario");
    assert_eq!(error.problem, Problem::NotTc("[link]".to_owned()));
}

// Fails when dumps of two devices are taken for one.
#[test]
fn several_devices_are_refused() {
    let text = fs::read_to_string(dumps("7.1").join("all-devices.qdisc.txt")).expect("a dump");
    let mut reader = Reader::default();
    reader.text("all", &text).expect("each record reads");
    let error = reader.finish().expect_err("several devices");
    assert_eq!(error.problem, Problem::Repeated("dev".to_owned()));
}

// Fails when disciplines that are no tree are accepted: the analysis would follow them for ever.
#[test]
fn disciplines_form_a_tree() {
    for (text, part) in [
        ("qdisc drr 1: root\nqdisc drr 2: root\n", "two disciplines at the root"),
        ("qdisc drr 1: root\nqdisc drr 1: parent 1:1\n", "two disciplines with one handle"),
    ] {
        let mut reader = Reader::default();
        reader.text("tree", text).expect("each line reads");
        let error = reader.finish().expect_err("no tree").to_string();
        assert!(error.contains(part), "{error}");
    }
}

const SIZE_TABLE: &str =
    "qdisc tbf 1: root refcnt 2 rate 10Mbit burst 10Kb/1 mpu 0b lat 30ms linklayer ethernet 
 linklayer ethernet overhead 24 mpu 84 mtu 2047 tsize 2048 
 Sent 0 bytes 0 pkt (dropped 3, overlimits 0 requeues 0) 
qdisc mqprio 2: parent 1:1 tc 1 map 0
             queues:(0:0) 
class mqprio 2:4 parent none 
";

const SIZE_TABLE_JSON: &str = r#"[{"kind":"tbf","handle":"1:","root":true,"refcnt":2,"options":{"rate":1250000,
"burst":10240,"mpu":0,"lat":30000,"linklayer":"ethernet"},"stab":{"linklayer":"ethernet","overhead":24,"mpu":84,
"mtu":2047,"tsize":2048}}]"#;

// Fails when the size table of a discipline is lost in a form, or taken for its options; or when a queue without
// traffic class is refused.
#[test]
fn size_tables_are_read() {
    for text in [SIZE_TABLE, SIZE_TABLE_JSON] {
        let mut reader = Reader::default();
        reader.text("dump", text).expect("a dump");
        let config = reader.finish().expect("a dump");
        let table = config.qdiscs[0].size_table.expect("a size table");
        assert_eq!((table.overhead, table.mpu, table.cells), (24, 84, false));
        let QdiscOptions::Tbf(tbf) = &config.qdiscs[0].options else { panic!("no tbf") };
        assert_eq!((tbf.overhead, tbf.mpu), (0, 0));
        assert!(config.classes.iter().all(|c| c.parent.is_none()));
    }
    let mut reader = Reader::default();
    reader.text("dump", SIZE_TABLE).expect("a dump");
    assert_eq!(reader.finish().expect("a dump").qdiscs[0].drops, 3);
}
