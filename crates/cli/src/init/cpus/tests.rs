use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::draft::draft;
use super::programs::{Kind, find, measure};
use super::*;

/// A `/proc` of made-up processes, removed in the end.
struct Proc(PathBuf);

impl Proc {
    fn new(name: &str) -> Proc {
        let path = std::env::temp_dir().join(format!("laxity-proc-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("self")).unwrap();
        fs::write(path.join("uptime"), "1 1\n").unwrap();
        Proc(path)
    }

    fn process(
        &self,
        pid: u32,
        comm: &str,
        line: &str,
        device: Option<&str>,
        threads: &[(u32, &str, u64)],
    ) {
        let folder = self.0.join(pid.to_string());
        fs::create_dir_all(folder.join("fd")).unwrap();
        fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
        fs::write(folder.join("cmdline"), line.replace(' ', "\0")).unwrap();
        if let Some(device) = device {
            symlink(device, folder.join("fd/7")).unwrap();
        }
        for (tid, thread, ns) in threads {
            let folder = folder.join("task").join(tid.to_string());
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), format!("{thread}\n")).unwrap();
            fs::write(folder.join("schedstat"), format!("{ns} 5 9\n")).unwrap();
        }
    }
}

impl Drop for Proc {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn desktop(proc: &Proc) {
    let game = "/games/steam/steamapps/common/Racer/racer -fullscreen";
    proc.process(40, "racer", game, None, &[(40, "racer", 0), (41, "render \"x\"", 0)]);
    proc.process(30, "mpv", "mpv film.mkv", None, &[(30, "mpv", 0), (31, "vo", 0)]);
    proc.process(20, "strange", "strange", Some("/dev/snd/pcmC0D0p"), &[(20, "strange", 0)]);
    proc.process(10, "bash", "bash", Some("/dev/pts/3"), &[(10, "bash", 0)]);
    proc.process(50, "explorer.exe", "explorer.exe", None, &[(50, "explorer.exe", 0)]);
}

/// Fails when a program is missed that is known, is a game by its folder or plays sound, or another is taken
/// for one.
#[test]
fn programs_are_found_in_three_ways() {
    let proc = Proc::new("found");
    desktop(&proc);
    let found = find(&proc.0);
    let kinds: Vec<(Kind, u32)> = found.iter().map(|p| (p.kind, p.pid)).collect();
    assert_eq!(kinds, [(Kind::Audio, 20), (Kind::Video, 30), (Kind::Game, 40)]);
    assert!(found[0].why.contains("pcmC0D0p"), "{:?}", found[0]);
    assert!(find(Path::new("/no/such/folder")).is_empty());
}

/// Fails when the busiest thread is not the one that is reserved for, a budget is not that of its use, the
/// scenario is not admitted or not valid whatever threads are called, or one that does not fit is proposed.
#[test]
fn the_proposal_is_admitted() {
    let proc = Proc::new("draft");
    desktop(&proc);
    let measured = measure(&proc.0, find(&proc.0), Duration::ZERO);
    // All have used nothing so far: the first thread of each.
    assert_eq!(measured.iter().map(|m| m.tid).collect::<Vec<_>>(), [20, 30, 40]);
    let with = |percent: [u32; 3]| {
        let mut measured = measured.clone();
        for (one, percent) in measured.iter_mut().zip(percent) {
            one.used = Duration::from_secs(1) * percent / 100;
        }
        measured
    };
    let second = Duration::from_secs(1);
    let fits = draft(&with([2, 10, 20]), 2, second).expect("a draft");
    assert_eq!((fits.admitted, fits.refused), (3, 0));
    // 20 ms of a second are 0.2 ms of 10: the least budget. 10 % of 16 ms, twice, is 3.2 ms.
    for line in
        ["budget = \"500 us\"", "budget = \"3200 us\"", "reserve 20 --runtime 500us --period 10ms"]
    {
        assert!(fits.text.contains(line), "{line}: {}", fits.text);
    }
    let full = draft(&with([50, 50, 50]), 1, second).expect("a draft");
    assert_eq!((full.admitted, full.refused), (1, 2));
    assert!(
        full.text.contains("# Does not fit") && full.text.contains("more than one CPU"),
        "{}",
        full.text
    );
}
