//! Sweeps: the same bytes in any order, nothing lost by interruptions, faults with their places.

use std::path::{Path, PathBuf};

use laxity_sweep::{Dataset, Sweep, SweepError};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::RowAccessor as _;

const LINK: &str = r#"
[link]
rate = "10 Mbit/s"
[[realtime]]
name = "voice"
deadline = "5 ms"
envelope = { burst = "300 B", rate = "150 kB/s" }
source = { period = "20 ms", length = "100 B", jitter = "3 ms" }
[[best_effort]]
name = "web"
envelope = { burst = "30 kB", rate = "300 kB/s" }
source = { on = ["5 ms", "20 ms"], off = ["5 ms", "50 ms"], length = "1500 B" }
"#;

const GRID: &str = r#"
scenario = "link.toml"
policies = ["exact", "background"]
seeds = [1, 5]
seeds_per_part = 2
duration = "200 ms"
[vary]
"link.rate" = ["8 Mbit/s", "10 Mbit/s"]
"realtime.voice.deadline" = ["5 ms", "9 ms", "20 ms"]
"#;

fn sweep(grid: &str) -> Result<Sweep, SweepError> {
    Sweep::parse(grid, "folder/sweep.toml", |path| {
        assert_eq!(path, Path::new("folder/link.toml"));
        Ok(LINK.to_owned())
    })
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("laxity-sweep-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

// Fails when a point, a seed or a policy is left out or run twice, or a part has the values of another.
#[test]
fn parts_cover_the_grid() {
    let sweep = sweep(GRID).expect("a sweep");
    assert_eq!((sweep.parts(), sweep.simulations()), (2 * 3 * 3, 2 * 3 * 5 * 2));
    let mut seen = Vec::new();
    for part in 0..sweep.parts() {
        let bytes = sweep.run(part).expect("runs");
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).expect("a Parquet file");
        for row in reader.get_row_iter(None).expect("rows") {
            let row = row.expect("a row");
            let names: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
            let at = |name: &str| names.iter().position(|n| *n == name).expect("a column");
            let text = |name| row.get_string(at(name)).expect("a text").clone();
            let rate = text("link.rate");
            let flow = text("flow");
            if flow == "voice" {
                let deadline = row.get_double(at("deadline_ms")).expect("a deadline");
                assert_eq!(format!("{deadline} ms"), text("realtime.voice.deadline"));
                assert_eq!(row.get_ulong(at("packets")).expect("packets"), 10);
            }
            let seed = row.get_ulong(at("seed")).expect("a seed");
            seen.push((rate, text("realtime.voice.deadline"), text("policy"), flow, seed));
        }
    }
    assert_eq!(seen.len() as u64, sweep.simulations() * 2);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len() as u64, sweep.simulations() * 2);
}

// Fails when a part depends on what ran before it, or a resumed dataset differs from one made at once.
#[test]
fn interrupted_sweeps_go_on() {
    let sweep = sweep(GRID).expect("a sweep");
    let folder = folder("resume");
    let dataset = Dataset::open(&folder, &sweep).expect("a dataset");
    for part in (0..sweep.parts()).rev().filter(|part| part % 3 == 1) {
        dataset.write(part, &sweep.run(part).expect("runs")).expect("written");
    }
    let dataset = Dataset::open(&folder, &sweep).expect("the same dataset");
    let missing = dataset.missing(&sweep);
    assert_eq!(missing.len(), 12);
    for part in missing {
        dataset.write(part, &sweep.run(part).expect("runs")).expect("written");
    }
    assert!(dataset.missing(&sweep).is_empty());
    for part in 0..sweep.parts() {
        let kept = std::fs::read(dataset.path(part)).expect("read");
        assert_eq!(kept, sweep.run(part).expect("runs"), "part {part}");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

// Fails when results of two sweeps are mixed, or a folder with other files is taken.
#[test]
fn datasets_belong_to_one_sweep() {
    let first = sweep(GRID).expect("a sweep");
    let folder = folder("other");
    Dataset::open(&folder, &first).expect("a dataset");
    for change in
        [("200 ms", "300 ms"), ("[1, 5]", "[1, 6]"), ("20 ms\"]", "21 ms\"]"), ("\"exact\", ", "")]
    {
        let other = sweep(&GRID.replacen(change.0, change.1, 1)).expect("a sweep");
        assert_ne!(other.fingerprint(), first.fingerprint(), "{change:?}");
        assert!(matches!(Dataset::open(&folder, &other), Err(SweepError::Other { .. })));
    }
    std::fs::remove_file(folder.join("_sweep")).expect("removed");
    std::fs::write(folder.join("thesis.txt"), "mine").expect("written");
    assert!(matches!(Dataset::open(&folder, &first), Err(SweepError::Other { .. })));
    std::fs::remove_dir_all(&folder).expect("removed");
}

// Fails when a start that was killed between making and naming a file blocks the next one, its files stay for
// good, or one that another process writes now is removed.
#[test]
fn killed_starts_go_on() {
    let sweep = sweep(GRID).expect("a sweep");
    let folder = folder("killed");
    std::fs::create_dir_all(&folder).expect("a folder");
    let names = ["._sweep.4000000-0", ".part-03.parquet.4000000-1", "._sweep.4000001-0"];
    let files = names.map(|name| {
        std::fs::write(folder.join(name), "ha").expect("written");
        std::fs::File::options().write(true).open(folder.join(name)).expect("open")
    });
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    files[..2].iter().for_each(|file| file.set_modified(old).expect("set"));
    Dataset::open(&folder, &sweep).expect("a dataset");
    Dataset::open(&folder, &sweep).expect("the same dataset");
    let entries = std::fs::read_dir(&folder).expect("a folder");
    let mut left: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    left.sort();
    assert_eq!(left, ["._sweep.4000001-0", "_sweep"]);
    std::fs::remove_dir_all(&folder).expect("removed");
}

// Fails when two processes that begin at once both take the folder for sweeps of their own.
#[test]
fn first_starts_exclude_each_other() {
    for round in 0..50 {
        let folder = folder(&format!("race-{round}"));
        let opened = std::thread::scope(|scope| {
            let starts = ["200 ms", "300 ms"].map(|duration| {
                let sweep = sweep(&GRID.replace("200 ms", duration)).expect("a sweep");
                let folder = &folder;
                scope.spawn(move || Dataset::open(folder, &sweep).is_ok())
            });
            starts.map(|start| start.join().expect("no panic"))
        });
        assert!(!(opened[0] && opened[1]), "both began");
        let _ = std::fs::remove_dir_all(&folder);
    }
}

// Fails when a dataset goes on after a file that the scenario names has another content, or the scenario another
// name, which results hold; or a sweep that is sent on is another.
#[test]
fn results_depend_on_named_files() {
    let folder = folder("files");
    std::fs::create_dir_all(&folder).expect("a folder");
    let source = "source = { period = \"20 ms\", length = \"100 B\", jitter = \"3 ms\" }";
    let scenario = LINK.replace(source, "source = { trace = \"a.csv\" }");
    let grid = "scenario = \"link.toml\"\nduration = \"100 ms\"\n[vary]\n\
                \"realtime.voice.source.trace\" = [\"a.csv\", \"b.csv\"]\n";
    let trace = |name: &str, bytes: u32| {
        let text = format!("time_ns,bytes,flow\n1000000,{bytes},voice\n");
        std::fs::write(folder.join(name), text).expect("written");
    };
    let parse =
        |grid: &str| Sweep::parse(grid, folder.join("sweep.toml"), |_| Ok(scenario.clone()));
    trace("a.csv", 100);
    let error = parse(grid).expect_err("b.csv is missing").to_string();
    assert!(error.contains("b.csv"), "{error}");
    trace("b.csv", 100);
    let sweep = parse(grid).expect("a sweep");
    assert!(sweep.run(0).is_ok() && sweep.run(1).is_ok());
    assert_eq!(parse(grid).expect("the same").fingerprint(), sweep.fingerprint());
    let path = folder.join("sweep.toml");
    let sent = Sweep::parsed(grid, path, scenario.clone(), sweep.files().to_owned());
    assert_eq!(sent.expect("a sweep"), sweep);
    trace("b.csv", 101);
    assert_ne!(parse(grid).expect("a sweep").fingerprint(), sweep.fingerprint());
    trace("b.csv", 100);
    let renamed = parse(&grid.replace("link.toml", "other.toml")).expect("a sweep");
    assert_ne!(renamed.fingerprint(), sweep.fingerprint());
    std::fs::remove_dir_all(&folder).expect("removed");
}

// Fails when a fault has no line, or is found only after hours of simulations.
#[test]
fn faults_have_places() {
    for (from, to, wanted) in [
        ("seeds_per_part", "seed_per_part", "sweep.toml:5: unknown key `seed_per_part`"),
        ("[1, 5]", "[5, 1]", "sweep.toml:4: `seeds`"),
        ("200 ms", "200", "sweep.toml:6: \"200\" is not a time"),
        ("\"link.rate\"", "\"link.speed\"", "link.speed: the scenario has no `speed`"),
        ("\"9 ms\"", "\"5 ms\"", "twice"),
        ("\"8 Mbit/s\"", "\"8 mbps\"", "did you mean"),
        (
            "\"10 Mbit/s\"]",
            "\"10 mbps\"]",
            "with link.rate = \"10 mbps\", realtime.voice.deadline = \"5 ms\": ",
        ),
        (
            "\"20 ms\"]",
            "\"20 mss\"]",
            "with link.rate = \"8 Mbit/s\", realtime.voice.deadline = \"20 mss\": ",
        ),
        ("exact", "exakt", "no policy is called `exakt`"),
        ("[1, 5]", "[1, 99999999]", "more than 100000000 simulations"),
        ("scenario", "# scenario", "no `scenario`"),
        ("= \"200 ms\"", "= ", "sweep.toml:6:"),
    ] {
        let error = sweep(&GRID.replacen(from, to, 1)).expect_err(wanted);
        assert!(error.to_string().contains(wanted), "{wanted}: {error}");
    }
}
