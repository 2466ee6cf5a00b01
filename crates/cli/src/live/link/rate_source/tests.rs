use super::*;

fn source(words: &[&str]) -> RateSource {
    RateSource::with_words(words[0].into(), words.iter().map(|w| (*w).to_owned()).collect())
}

fn until(source: &mut RateSource, done: impl Fn(&RateSource, &RateUpdate) -> bool) -> RateUpdate {
    let began = Instant::now();
    loop {
        let update = source.next(Duration::from_millis(50));
        if done(source, &update) {
            return update;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{source:?}");
    }
}

fn runs(pid: &str) -> bool {
    // A zombie has ended.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

// Fails when lines are lost or joined, garbage counts as a rate, or an endless line fills the memory.
#[test]
fn rates_of_a_program_are_read() {
    let script =
        "echo 100; echo garbage; head -c 100000 /dev/zero; echo; echo 5000 20000; sleep 99";
    let mut source = source(&["sh", "-c", script]);
    let update = until(&mut source, |_, update| update.rate == Some(Rate(5_000_000)));
    assert!(!update.fall_back);
    assert_eq!((source.garbage(), source.starts), (2, 1));
}

// Fails when a program that ends, or one that does not exist, is not started again, or at once.
#[test]
fn programs_that_end_are_restarted() {
    for words in [&["echo", "700"][..], &["/no/such/program"]] {
        let mut source = source(words);
        let began = Instant::now();
        until(&mut source, |source, _| source.starts == 2);
        assert!(began.elapsed() >= Duration::from_millis(900), "{words:?}");
    }
}

// Fails when the program, or one that it started, runs on after its source is gone.
#[test]
fn programs_end_with_their_source() {
    let file = std::env::temp_dir().join(format!("laxity-rate-source-{}", std::process::id()));
    let script = format!("sleep 99 & echo $! >{0}; echo $$ >>{0}; echo 1; wait", file.display());
    let mut source = source(&["sh", "-c", &script]);
    until(&mut source, |_, update| update.rate.is_some());
    let text = std::fs::read_to_string(&file).unwrap();
    let pids: Vec<&str> = text.lines().collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| runs(pid)), "{text}");
    drop(source);
    let began = Instant::now();
    while pids.iter().any(|pid| runs(pid)) {
        assert!(began.elapsed() < Duration::from_secs(10), "{text}");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::fs::remove_file(file).unwrap();
}

// Fails when a program that prints without pause is read for ever, tried without `MAX_LINES`, or the
// rate that it prints last is not the newest.
#[test]
fn a_flood_of_lines_delays_nothing_else() {
    let script = "while :; do echo 100; echo x; done & exec yes '5000 20000'";
    let mut source = source(&["sh", "-c", script]);
    let began = Instant::now();
    for _ in 0..50 {
        source.next(Duration::from_millis(20));
    }
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let update = until(&mut source, |_, update| update.down.is_some());
    assert_eq!(update.down, Some(Rate(20_000_000)));
    assert_eq!(source.starts, 1);
}

// Fails when an endless line is kept, or counts as a rate.
#[test]
fn a_line_without_end_is_dropped() {
    let memory = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|l| l.starts_with("VmRSS")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let before = memory();
    let script = "head -c 100000000 /dev/zero | tr '\\0' 5; echo; echo 700";
    let mut source = source(&["sh", "-c", script]);
    let update = until(&mut source, |_, update| update.rate.is_some());
    assert_eq!(update, RateUpdate { rate: Some(Rate(700_000)), down: None, fall_back: false });
    assert_eq!(source.garbage(), 1);
    assert!(memory() < before + 50_000, "{} kB after {before} kB", memory());
}

// Fails when a program that dies at once, or prints garbage alone, is restarted without back-off, or a
// line of it counts as a rate.
#[test]
fn programs_without_a_rate_are_no_source() {
    for script in ["exit 3", "echo 1e18; echo inf; echo NaN; printf '\\377\\0\\n'", "kill -9 $$"] {
        let mut source = source(&["sh", "-c", script]);
        let began = Instant::now();
        while began.elapsed() < Duration::from_millis(2500) {
            let update = source.next(Duration::from_millis(50));
            assert_eq!(update, RateUpdate::default(), "{script}");
        }
        // At 0 and 1 s; the third comes after 2 s more.
        assert_eq!(source.starts, 2, "{script}");
        let garbage = if script.contains("inf") { 8 } else { 0 };
        assert_eq!(source.garbage(), garbage, "{script}");
    }
}
