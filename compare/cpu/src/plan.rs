//! Runs: tests in groups, a machine for each group and scheduler.

/// The scheduler of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schedulers {
    /// All, each with real-time tasks declared by its own means.
    All,
    /// Those with undeclared tasks: schedulers without a way to declare would only repeat EEVDF.
    Undeclared,
    /// Schedulers that no other test shows already.
    Laxity,
    /// As [`Schedulers::Undeclared`], and the kernel's class for BPF schedulers without a policy.
    Cost,
}

/// A test.
#[derive(Clone, Debug)]
pub struct Test {
    /// In results.
    pub name: &'static str,
    /// A heading.
    pub title: &'static str,
    /// Calls of functions `test_NAME` of `tests/*.sh`, one for each seed.
    pub calls: Vec<String>,
    /// Its scheduler.
    pub schedulers: Schedulers,
    /// The metric that is drawn.
    pub drawn: &'static str,
}

/// Tests that one machine does after the other.
#[derive(Clone, Debug)]
pub struct Group {
    /// Of its folders.
    pub name: &'static str,
    /// Their scheduler.
    pub schedulers: &'static [&'static str],
    /// The tests.
    pub tests: Vec<Test>,
}

/// The schedulers, in the order of tables.
pub const SCHEDULERS: [&str; 10] = [
    "eevdf",
    "fifo",
    "deadline",
    BARE,
    "scx_flash",
    "scx_bpfland",
    "scx_lavd",
    "laxity-bebs",
    "laxity-bebs-credit",
    "laxity-berate",
];

/// No policy: `tools/kernel/bpf/bare.bpf.c`. Only its overhead is meaningful, not its schedule.
const BARE: &str = "scx_bare";

/// Those of the short rows: tests of the live CPU run every policy in the machine.
const SHORT: [&str; 3] = ["eevdf", "fifo", "laxity-bebs-credit"];

/// Whether a scheduler is one of this repository.
pub fn is_laxity(scheduler: &str) -> bool {
    scheduler.starts_with("laxity-")
}

/// Runs of the frame program in experiments 1 to 3, each of so many frames.
const SEEDS: u64 = 5;
const FRAMES: u64 = 100;

fn test(
    (name, title): (&'static str, &'static str),
    call: impl Into<String>,
    schedulers: Schedulers,
    drawn: &'static str,
) -> Test {
    Test { name, title, calls: vec![call.into()], schedulers, drawn }
}

fn seeds(heading: (&'static str, &'static str), function: &str, drawn: &'static str) -> Test {
    let calls = (1..=SEEDS).map(|seed| format!("{function}:{seed}:{FRAMES}")).collect();
    Test { calls, ..test(heading, "", Schedulers::Undeclared, drawn) }
}

/// Everything.
pub fn full() -> Vec<Group> {
    use Schedulers::{All, Cost, Laxity, Undeclared};
    let missed = "srtsim-1 missed";
    let berate = vec![
        seeds(
            ("berate-1", "BeRate, experiment 1: 25 frames a second that need half of the CPU"),
            "berate1",
            missed,
        ),
        seeds(
            ("berate-2", "BeRate, experiment 2: twice 25 frames a second, a quarter each"),
            "berate2",
            missed,
        ),
        seeds(
            ("berate-3", "BeRate, experiment 3: 25 and 33 frames a second, a quarter each"),
            "berate3",
            missed,
        ),
        test(
            ("berate-4", "BeRate, experiment 4: 25 frames a second, a quarter, beside three"),
            "berate4:1:150",
            Undeclared,
            missed,
        ),
        test(
            ("berate-5", "BeRate, experiment 5: 33 frames a second, two thirds, beside nice +10"),
            "berate5:1:165",
            Undeclared,
            missed,
        ),
        test(
            ("berate-6", "BeRate, experiment 6: 25 and 50 frames a second, half each: overload"),
            "berate6:1:150",
            Undeclared,
            missed,
        ),
    ];
    let polled = "poll mean";
    let awaited = "await mean";
    let bebs = vec![
        test(
            (
                "bebs-fig4",
                "BEBS, figure 4: soft tasks that need 90 % of their share, beside five hard ones",
            ),
            "fig4:200:90",
            All,
            "25-fps missed",
        ),
        test(
            ("bebs-fig4-80", "BEBS, figure 4, 80 % of their share"),
            "fig4:200:80",
            All,
            "25-fps missed",
        ),
        test(
            ("bebs-fig6a-2", "BEBS, figure 6(a): a polling task beside two that compute"),
            "poll:2:0:6000",
            Undeclared,
            polled,
        ),
        test(
            ("bebs-fig6a-8", "BEBS, figure 6(a), beside eight"),
            "poll:8:0:10000",
            Undeclared,
            polled,
        ),
        test(
            ("bebs-fig6b-5", "BEBS, figure 6(b): an interactive task beside five that compute"),
            "await:5:0:6000",
            Undeclared,
            awaited,
        ),
        test(
            ("bebs-fig7a-0", "BEBS, figure 7(a): a polling task beside one that computes"),
            "poll:1:0:6000",
            Undeclared,
            polled,
        ),
        test(
            ("bebs-fig7a-2", "BEBS, figure 7(a), and two hard tasks"),
            "poll:1:2:6000",
            All,
            polled,
        ),
        test(
            ("bebs-fig7a-4", "BEBS, figure 7(a), and four hard tasks"),
            "poll:1:4:6000",
            All,
            polled,
        ),
        test(
            (
                "bebs-fig7b-2",
                "BEBS, figure 7(b): an interactive task, one that computes, two hard ones",
            ),
            "await:1:2:6000",
            All,
            awaited,
        ),
        test(("bebs-fig7b-4", "BEBS, figure 7(b), four hard ones"), "await:1:4:6000", All, awaited),
        test(
            ("bebs-fig9", "BEBS, figure 9: greedy, hard and soft tasks together"),
            "fig9",
            All,
            "soft missed",
        ),
    ];
    let more = vec![
        test(
            (
                "interactive",
                "100 us of work after 4 ms of sleep, beside a periodic 60 % and three that compute",
            ),
            "interactive:4000",
            All,
            "respond mean",
        ),
        test(
            ("audio", "Audio: a fifth of the CPU in periods of 2.7 ms, beside three that compute"),
            "audio:2500",
            All,
            "audio missed",
        ),
        test(
            ("audio-undeclared", "Audio that is not declared to the scheduler"),
            "audio_untold:2500",
            Laxity,
            "audio missed",
        ),
        test(
            ("cyclictest", "cyclictest beside a compilation"),
            "cyclictest:4000",
            All,
            "cyclictest p99",
        ),
        test(
            ("cyclictest-undeclared", "cyclictest that is not declared to the scheduler"),
            "cyclictest_untold:4000",
            Laxity,
            "cyclictest p99",
        ),
        test(
            ("schbench", "schbench beside a compilation"),
            "schbench:6",
            Undeclared,
            "schbench-wakeup p99",
        ),
        test(
            ("hackbench-1", "hackbench, one group (BEBS, figure 5)"),
            "fig5:1:100",
            Cost,
            "hackbench time",
        ),
        test(("hackbench-5", "hackbench, five groups"), "fig5:5:40", Cost, "hackbench time"),
        test(("hackbench-10", "hackbench, ten groups"), "fig5:10:20", Cost, "hackbench time"),
        test(
            ("video", "Video decoded by ffmpeg, beside three that compute"),
            "video:6",
            All,
            "video missed",
        ),
        test(
            ("video-undeclared", "Video that is not declared to the scheduler"),
            "video_untold:6",
            Laxity,
            "video missed",
        ),
    ];
    // On a processor that is twice as fast (compare-cpu.sh), since budgets are times and cost is not.
    let cost = vec![test(
        ("switch", "A byte to another process and back"),
        "cost:60000",
        Cost,
        "pass instructions a switch",
    )];
    vec![
        Group { name: "cost", schedulers: &SCHEDULERS, tests: cost },
        Group { name: "berate", schedulers: &SCHEDULERS, tests: berate },
        Group { name: "bebs", schedulers: &SCHEDULERS, tests: bebs },
        Group { name: "more", schedulers: &SCHEDULERS, tests: more },
        Group { name: "film", schedulers: &["eevdf", "laxity-berate"], tests: film() },
    ]
}

/// The cost of a film at each quality level: a player that scales pictures itself, and one that hands
/// them to a server that does.
pub fn film() -> Vec<Test> {
    const LEVELS: [(&str, &str); 7] = [
        ("berate-fig1-lanczos", "BeRate, figure 1: a film, scaled with lanczos"),
        ("berate-fig1-spline", "BeRate, figure 1, with spline"),
        ("berate-fig1-bicubic", "BeRate, figure 1, with bicubic"),
        ("berate-fig1-area", "BeRate, figure 1, with area"),
        ("berate-fig1-bilinear", "BeRate, figure 1, with bilinear"),
        ("berate-fig1-fast_bilinear", "BeRate, figure 1, with fast_bilinear"),
        ("berate-fig1-neighbor", "BeRate, figure 1, with neighbor"),
    ];
    let level = |heading: (&'static str, _)| {
        let how = heading.0.trim_start_matches("berate-fig1-");
        test(heading, format!("film:{how}"), Schedulers::All, "alone load")
    };
    LEVELS.into_iter().map(level).collect()
}

/// A short row of each kind.
pub fn short() -> Vec<Group> {
    use Schedulers::{All, Undeclared};
    let tests = vec![
        test(("berate-1", "BeRate, experiment 1"), "berate1:1:50", Undeclared, "srtsim-1 missed"),
        test(
            ("bebs-fig7b-4", "BEBS, figure 7(b), four hard tasks"),
            "await:1:4:1000",
            All,
            "await mean",
        ),
        test(
            ("interactive", "100 us of work beside a periodic 60 %"),
            "interactive:1000",
            All,
            "respond mean",
        ),
        test(("audio", "Audio beside three that compute"), "audio:300", All, "audio missed"),
        test(
            ("switch-short", "A byte to another process and back"),
            "pass:500",
            Undeclared,
            "pass instructions a switch",
        ),
        test(
            ("cyclictest", "cyclictest beside a compilation"),
            "cyclictest:300",
            All,
            "cyclictest p99",
        ),
        test(("hackbench", "hackbench, one group"), "fig5:1:5", Undeclared, "hackbench time"),
        test(("video", "Video decoded by ffmpeg"), "video:2", All, "video missed"),
    ];
    vec![Group { name: "short", schedulers: &SHORT, tests }]
}

impl Group {
    /// The tests of a scheduler.
    pub fn of<'a>(&'a self, scheduler: &'a str) -> impl Iterator<Item = &'a Test> {
        self.tests.iter().filter(move |t| match t.schedulers {
            Schedulers::All => scheduler != BARE,
            Schedulers::Undeclared => !["fifo", "deadline", BARE].contains(&scheduler),
            Schedulers::Cost => !["fifo", "deadline"].contains(&scheduler),
            Schedulers::Laxity => is_laxity(scheduler),
        })
    }
}
