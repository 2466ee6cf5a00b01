use super::*;

fn check(text: &str) -> CpuCheckResult {
    let scenario = CpuScenario::parse(text, "test.toml").unwrap();
    analyse(&scenario, &scenario.policy.use_).unwrap()
}

/// Two reservations that overlap for a second, and one with a short deadline later.
fn crowded(budget: &str, period: &str) -> CpuCheckResult {
    check(&format!(
        "[cpu]\n[[task]]\nname = \"camera\"\nleave = \"2 s\"\n\
         reservation = {{ budget = \"40 ms\", period = \"100 ms\" }}\n\
         [[task]]\nname = \"more\"\njoin = \"1 s\"\nleave = \"2.5 s\"\n\
         reservation = {{ budget = \"{budget}\", period = \"{period}\" }}\n\
         [[task]]\nname = \"short\"\njoin = \"3 s\"\n\
         reservation = {{ budget = \"2 ms\", period = \"10 ms\", deadline = \"3 ms\" }}\n\
         [[task]]\nname = \"bulk\"\nwork = \"cpu-bound\"\n"
    ))
}

// Fails when a suggestion does not fit, or a reservation that has ended still counts (tried:
// leaving forgotten).
#[test]
fn suggested_reservations_fit() {
    let refused = crowded("60 ms", "100 ms");
    let admitted: Vec<bool> = refused.requests.iter().map(|r| r.admitted).collect();
    assert!(!refused.admitted && !refused.guaranteed && admitted == [true, false, true]);
    let more = &refused.requests[1];
    assert_eq!(more.max_budget_ns, Some(55_000_000));
    let period = more.min_period_ns.unwrap();
    for (budget, period, fits) in [
        (55_000_000, 100_000_000, true),
        (55_000_001, 100_000_000, false),
        (60_000_000, period, true),
        (60_000_000, period - 1, false),
    ] {
        let check = crowded(&format!("{budget} ns"), &format!("{period} ns"));
        assert_eq!(check.admitted, fits, "{budget} in {period}");
    }
}

// Fails when a deadline shorter than its period does not count.
#[test]
fn short_deadlines_need_more_than_their_utilisation() {
    let check = crowded("20 ms", "100 ms");
    // 60 % from 1 s to 2 s, and 2 ms within 3 ms later.
    assert!(check.utilisation < 0.601 && (check.demand - 2.0 / 3.0).abs() < 1e-6, "{check:?}");
    assert!(check.best_effort_share.is_some_and(|left| (left - 1.0 / 3.0).abs() < 1e-6));
}

// Fails when a policy or a reading that does not keep deadlines promises them, or when work that
// does not fit its reservation passes for kept (tried: without looking at the work).
#[test]
fn promises_are_kept() {
    let obstacles = |policy: &str, work: &str| {
        let check = check(&format!(
            "[cpu]\n[policy]\n{policy}\n[[task]]\nname = \"t\"\n{work}\n\
             reservation = {{ budget = \"2 ms\", period = \"10 ms\" }}\n"
        ));
        assert!(check.admitted, "{policy} {work}");
        assert_eq!(check.guaranteed, check.obstacles.is_empty(), "{policy} {work}");
        check.obstacles
    };
    let obstacle = |policy: &str, work: &str, text: &str| {
        let all = obstacles(policy, work);
        assert!(all.iter().any(|o| o.contains(text)), "{policy} {work}: {all:?}");
    };
    for policy in ["eevdf", "linux-2.6", "berate"] {
        let used = format!("use = \"{policy}\"");
        obstacle(&used, "", &format!("{policy} has no reservations"));
    }
    obstacle("use = \"posix\"", "", "neither admits hard tasks");
    obstacle("use = \"sched-deadline\"", "", "sched-deadline keeps budgets");
    obstacle("bebs = { transition = \"stretch\" }", "", "With transition = \"stretch\"");
    obstacle("bebs = { period-basis = \"average\" }", "", "With period-basis = \"average\"");
    let long = "work = { period = \"10 ms\", cost = \"3 ms\" }";
    obstacle("", long, "t has jobs of 3 ms, beyond its budget of 2 ms");
    let often = "work = { period = \"5 ms\", cost = \"1 ms\" }";
    obstacle("", often, "t has a job every 5 ms and a budget every 10 ms");
    let soon = "work = { period = \"10 ms\", cost = \"1 ms\", deadline = \"5 ms\" }";
    obstacle("", soon, "t wants jobs done within 5 ms");
    let drawn = "work = { period = \"10 ms\", cost = { normal = [\"1 ms\", \"0.1 ms\"] } }";
    obstacle("", drawn, "draws its jobs without a limit");
    let later = "change = [{ at = \"1 s\", reservation = \"none\" }]";
    obstacle("", later, "t has no hard reservation from 1000 ms on");
    for (policy, work) in [("use = \"bebs\"", ""), ("", "count = 2")] {
        assert!(obstacles(policy, work).is_empty(), "{policy} {work}");
    }
}

// Fails when a scenario with unreadable files is judged without them.
#[test]
fn missing_recordings_are_errors() {
    let text = "[cpu]\n[[recording]]\nfile = \"nowhere.txt\"\n";
    let scenario = CpuScenario::parse(text, "test.toml").unwrap();
    let error = analyse(&scenario, &scenario.policy.use_).unwrap_err();
    assert!(error.to_string().contains("nowhere.txt"), "{error}");
}

/// The instants in ms and the names and budgets in ms of the reservations in force.
fn in_force(text: &str) -> Vec<(u64, Vec<(String, u64)>)> {
    let scenario = CpuScenario::parse(text, "test.toml").unwrap();
    let sets = admitted_sets(&scenario, &scenario.policy.use_).unwrap();
    let ms = |ns: u64| ns / 1_000_000;
    let named = |set: AdmittedSet| {
        let all = set.reservations.into_iter().map(|(name, r)| (name, ms(r.budget.0)));
        (ms(set.from.0), all.collect())
    };
    sets.into_iter().map(named).collect()
}

// Fails when sets of one CPU have reservations of another (tried without the look at the cluster).
#[test]
fn each_cpu_has_its_own_sets() {
    let text = "[cpu]\ncpus = 2\n\
        [[task]]\nname = \"a\"\nleave = \"2 s\"\nreservation = { budget = \"6 ms\", period = \"10 ms\" }\n\
        [[task]]\nname = \"b\"\nreservation = { budget = \"5 ms\", period = \"10 ms\" }\n\
        [[task]]\nname = \"c\"\njoin = \"1 s\"\nreservation = { budget = \"4 ms\", period = \"10 ms\" }\n";
    let scenario = CpuScenario::parse(text, "test.toml").unwrap();
    let sets = admitted_sets(&scenario, &scenario.policy.use_).unwrap();
    let all: Vec<(u32, u64, String)> = sets
        .iter()
        .map(|set| {
            let names: Vec<&str> = set.reservations.iter().map(|(name, _)| &**name).collect();
            (set.cluster, set.from.0 / 1_000_000, names.join(" "))
        })
        .collect();
    let set = |cluster, from, names: &str| (cluster, from, names.to_owned());
    // The third goes where less is reserved; nothing is left on the first CPU after two seconds.
    assert_eq!(all, [set(0, 0, "a"), set(1, 0, "b"), set(1, 1000, "b c")]);
}

// Fails when a shared reservation ends with the task that brought it in (tried), or never.
#[test]
fn a_shared_reservation_ends_with_its_last_task() {
    let sets = in_force(
        "[cpu]\n[[reservation]]\nname = \"g\"\nbudget = \"4 ms\"\nperiod = \"10 ms\"\n\
         [[task]]\nname = \"first\"\nleave = \"1 s\"\nwork = \"cpu-bound\"\nreservation = \"g\"\n\
         [[task]]\nname = \"second\"\nleave = \"2 s\"\nwork = \"cpu-bound\"\nreservation = \"g\"\n\
         [[task]]\nname = \"other\"\njoin = \"1.5 s\"\n\
         reservation = { budget = \"2 ms\", period = \"10 ms\" }\n\
         [[task]]\nname = \"last\"\njoin = \"3 s\"\n\
         reservation = { budget = \"1 ms\", period = \"10 ms\" }\n",
    );
    assert_eq!(
        sets,
        [
            (0, vec![("first".to_owned(), 4)]),
            (1500, vec![("first".to_owned(), 4), ("other".to_owned(), 2)]),
            (2000, vec![("other".to_owned(), 2)]),
            (3000, vec![("other".to_owned(), 2), ("last".to_owned(), 1)]),
        ]
    );
}

// Fails when a reservation counts from the instant of the request on, although it comes into force later: tried.
#[test]
fn a_reservation_counts_from_when_it_is_in_force() {
    let text = "[cpu]\n[[task]]\nname = \"a\"\nleave = \"1 s\"\n\
         reservation = { budget = \"40 ms\", period = \"100 ms\", deadline = \"50 ms\" }\n\
         [[task]]\nname = \"c\"\njoin = \"0.5 s\"\n\
         reservation = { budget = \"10 ms\", period = \"100 ms\" }\n\
         [[task]]\nname = \"bulk\"\nwork = \"cpu-bound\"\n";
    let from = check(text).requests[1].from_ns.expect("later than asked");
    assert!(from > 500_000_000);
    assert_eq!(
        in_force(text),
        [
            (0, vec![("a".to_owned(), 40)]),
            (from / 1_000_000, vec![("a".to_owned(), 40), ("c".to_owned(), 10)]),
            (1000, vec![("c".to_owned(), 10)]),
        ]
    );
    // A reservation that ends before it is in force is in no set.
    let gone = text.replace("join = \"0.5 s\"\n", "join = \"0.5 s\"\nleave = \"0.51 s\"\n");
    assert_eq!(in_force(&gone), [(0, vec![("a".to_owned(), 40)])]);
}

// Fails when overheads do not count (tried without `with_overheads`, in the verdict and in the admitted sets), or a
// suggestion includes them (tried without `subtract_overhead`).
#[test]
fn overheads_count_in_admission() {
    let with = |overheads: &str, budget: &str| {
        check(&format!(
            "[cpu]\n[overheads]\n{overheads}\n[[task]]\nname = \"a\"\n\
             reservation = {{ budget = \"5 ms\", period = \"10 ms\" }}\n[[task]]\nname = \"b\"\n\
             reservation = {{ budget = \"{budget}\", period = \"10 ms\" }}\n"
        ))
    };
    let without = with("", "4.5 ms");
    assert!(without.admitted && without.guaranteed && without.overheads.is_none());
    // Two switches and a release; CPUs that share no queue migrate no job.
    let terms = "switch = \"6 us\"\nrelease = \"4 us\"\nmigration = \"20 us\"";
    let refused = with(terms, "4.5 ms");
    let overheads = refused.overheads.expect("terms");
    assert_eq!((overheads.per_job_ns, overheads.migration_ns), (16_000, 0));
    let b = &refused.requests[1];
    assert_eq!((b.admitted, b.budget_ns, b.max_budget_ns), (false, 4_500_000, Some(4_468_000)));
    let fits = with(terms, "4.468 ms");
    assert!(fits.admitted && fits.guaranteed && !with(terms, "4.468001 ms").admitted);
    assert!((fits.demand - 0.95).abs() < 1e-6 && (fits.utilisation - 0.95).abs() < 1e-9);
    // What a policy admits has them.
    let overheads = format!("[overheads]\n{terms}");
    let task = "[[task]]\nname = \"a\"\nreservation = { budget = \"5 ms\", period = \"10 ms\" }\n";
    let scenario = CpuScenario::parse(&format!("[cpu]\n{overheads}\n{task}"), "test.toml");
    let sets = admitted_sets(&scenario.expect("a scenario"), "bebs").expect("sets");
    assert_eq!(sets[0].reservations[0].1.budget, Span(5_016_000));
}

/// A task and its locks.
type Locking<'a> = (&'a str, &'a [(&'a str, u64, u64)]);

/// A hard task `high` and best-effort ones, with jobs of 20 ms; a lock has its name, begin and length in ms.
fn locking(head: &str, budget: u64, tasks: &[Locking<'_>]) -> CpuCheckResult {
    let mut text = format!("[cpu]\n{head}\n");
    for (name, locks) in tasks {
        let hard = format!("reservation = {{ budget = \"{budget} ms\", period = \"100 ms\" }}\n");
        let reserved = if *name == "high" { hard.as_str() } else { "" };
        let lock = |(lock, at, hold): &(&str, u64, u64)| {
            format!("{{ name = \"{lock}\", at = \"{at} ms\", hold = \"{hold} ms\" }}")
        };
        let locks: Vec<String> = locks.iter().map(lock).collect();
        text.push_str(&format!(
            "[[task]]\nname = \"{name}\"\n{reserved}work = {{ period = \"100 ms\", cost = \"20 ms\" }}\nlock = [{}]\n",
            locks.join(", ")
        ));
    }
    check(&text)
}

// Numbers by hand: while it waits for a, `middle` holds it for 3 ms and waits for b for the 5 + 2 ms of the two low
// tasks, and `lower` holds it for 2 ms; its section of b adds 1 + 5 + 2 ms.
//
// Fails when the waits of a nested section are left out (tried), the waiting task counts among those that hold b in
// them (tried: without the filter of `longest`), or its own holder does (tried: `wait` without its subtraction).
#[test]
fn interference_counts_one_section_of_each_other_task() {
    let tasks: [Locking<'_>; 4] = [
        ("high", &[("a", 0, 1), ("b", 4, 9)]),
        ("middle", &[("a", 5, 3), ("b", 6, 1)]),
        ("low", &[("b", 0, 5), ("b", 6, 4)]),
        ("lower", &[("b", 0, 2), ("a", 4, 2), ("a", 7, 1)]),
    ];
    let enough = locking("", 40, &tasks);
    let [wait] = &enough.locks[..] else { panic!("{enough:?}") };
    assert_eq!((wait.task.as_str(), wait.execution_ns), ("high", 20_000_000));
    assert_eq!((wait.by_lock_ns["a"], wait.by_lock_ns["b"]), (12_000_000, 8_000_000));
    assert_eq!(wait.interference_ns, Some(20_000_000));
    assert!(enough.guaranteed, "{:?}", enough.obstacles);
    let short = locking("", 39, &tasks);
    assert!(short.admitted && !short.guaranteed);
    let why = "high has jobs of 20 ms, in which others execute up to 20 ms for locks, beyond its budget of 39 ms; with \
               40 ms it covers both";
    assert_eq!(short.obstacles, [why]);
    // Tasks of one class wait for each other.
    let class = check(
        "[cpu]\n[[task]]\nname = \"all\"\ncount = 3\nreservation = { budget = \"6 ms\", period = \"100 ms\" }\n\
         work = { period = \"100 ms\", cost = \"2 ms\" }\nlock = [{ name = \"a\", at = \"0 ms\", hold = \"2 ms\" }]\n",
    );
    assert_eq!((class.locks.len(), class.locks[0].interference_ns), (1, Some(4_000_000)));
    assert!(class.guaranteed);
}

// Fails when waits without inheritance pass for bounded (tried without the obstacle), or policies without reservations
// are said to bound them (tried without `counts`).
#[test]
fn waits_without_inheritance_have_no_bound() {
    let none = "[locks]\nprotocol = \"none\"";
    let tasks: [Locking<'_>; 3] = [
        ("high", &[("a", 0, 1)]),
        ("middle", &[("a", 5, 3), ("b", 6, 1)]),
        ("low", &[("b", 0, 5)]),
    ];
    let check = locking(none, 90, &tasks);
    assert!(check.admitted && !check.guaranteed);
    assert_eq!((check.locks[0].interference_ns, check.locks[0].by_lock_ns.len()), (None, 0));
    let why = "high can wait without bound for a lock that middle holds, which has no reservation; with protocol = \
               \"inherit\" its wait is bounded";
    assert_eq!(check.obstacles, [why]);
    let eevdf = locking(&format!("{none}\n[policy]\nuse = \"eevdf\""), 90, &tasks);
    assert!(eevdf.locks.is_empty() && eevdf.obstacles.len() == 1, "{:?}", eevdf.obstacles);
}
