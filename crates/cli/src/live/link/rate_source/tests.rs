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
