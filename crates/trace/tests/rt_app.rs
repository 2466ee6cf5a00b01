//! Workloads of rt-app: supported, ignored and refused keys.

mod support;

use laxity_trace::fuzz;
use laxity_trace::rt_app::{RtPolicy, RtStep, read};

const FILE: &str = r#"{
    /* Comments are allowed. */
    "tasks" : {
        "hard" : {
            "policy" : "SCHED_DEADLINE", "dl-runtime" : 3000, "dl-period" : 20000,
            "cpus" : [0, 2],
            "delay" : 500,
            "loop" : 2,
            "phases" : {
                "light" : {
                    "loop" : 2,
                    "run" : 1000,
                    "timer" : { "ref" : "unique", "period" : 20000 }
                },
                "heavy" : {
                    "run0" : 2000, "lock" : "m", "run1" : 1000, "unlock" : "m",
                    "timer" : { "ref" : "unique", "period" : 20000, "mode" : "absolute" }
                }
            }
        },
        "waiter" : { "instance" : 3, "sem_wait" : "s", "run" : 10, "suspend" : "" },
        "poster" : {
            "priority" : -5,
            "run" : 100, "sem_post" : "s", "sleep" : 900, "run" : 100, "resume" : "waiter",
        }
    },
    "global" : { "duration" : 2, "calibration" : "CPU0" }
}"#;

#[test]
fn a_workload_is_read() {
    let app = read(FILE).expect("sound");
    assert_eq!(app.duration_ns, Some(2_000_000_000));
    let names: Vec<&str> = app.threads.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["hard", "waiter", "poster"]);
    let timer = |relative| RtStep::Timer { timer: 0, period_ns: 20_000_000, relative };
    let light = [RtStep::Run(1_000_000), timer(true)];
    let heavy = [RtStep::Run(2_000_000), RtStep::Run(1_000_000), timer(false)];
    let round = [&light[..], &light, &heavy].concat();
    let hard = &app.threads[0];
    assert_eq!(hard.steps, [round.clone(), round].concat());
    assert_eq!((hard.repeat, hard.delay_ns, &hard.cpus[..]), (false, 500_000, &[0, 2][..]));
    let (runtime_ns, period_ns) = (3_000_000, 20_000_000);
    assert_eq!(hard.policy, RtPolicy::Deadline { runtime_ns, period_ns, deadline_ns: period_ns });
    let waiter = &app.threads[1];
    assert_eq!(waiter.steps, [RtStep::Await, RtStep::Run(10_000), RtStep::Await]);
    assert_eq!((waiter.instances, waiter.repeat), (3, true));
    let poster = &app.threads[2];
    assert_eq!(poster.policy, RtPolicy::Other { nice: -5 });
    let (run, wake) = (RtStep::Run(100_000), RtStep::Wake(1));
    assert_eq!(poster.steps, [run, wake, RtStep::Sleep(900_000), run, wake]);
    assert_eq!(
        app.ignored,
        [
            "line 27: global.calibration",
            "line 16: tasks.hard.phases.heavy.lock",
            "line 16: tasks.hard.phases.heavy.unlock",
        ]
    );
}

#[test]
fn a_phase_may_loop_for_ever() {
    let app =
        read(r#"{"tasks": {"a": {"phases": {"p": {"loop": -1, "run": 5}}}}}"#).expect("sound");
    assert!(app.threads[0].repeat && app.duration_ns.is_none());
}

/// Line, key and remedy are named.
#[test]
fn unsupported_workloads_are_named() {
    let task = |body: &str| format!("{{\"tasks\" : {{\n\"a\" : {{\n{body}\n}} }} }}");
    for (text, expected) in [
        (task(r#""run" : 1, "barrier" : "x""#), "line 3: tasks.a.barrier: barriers are not played"),
        (task(r#""mem" : 1000"#), "line 3: tasks.a.mem: work in bytes"),
        (task(r#""memrun" : {}"#), "line 3: tasks.a.memrun: work in bytes"),
        (task(r#""wait" : { "ref" : "c" }"#), "line 3: tasks.a.wait: condition variables"),
        (task(r#""fork" : "b""#), "line 3: tasks.a.fork: threads cannot make others"),
        (task(r#""resume" : "b""#), "there is no thread \"b\""),
        (task(r#""run" : 1, "sem_post" : "s""#), "no earlier thread waits for semaphore \"s\""),
        (task(r#""run" : "fast""#), "line 3: tasks.a.run: a text where a whole number is due"),
        (task(r#""run" : 1.5"#), "a number that is not whole"),
        (task(r#""run" : -1"#), "-1 is not within 0 to"),
        (task(r#""walk" : 1"#), "tasks.a.walk: is no event that is played; those are runtime run"),
        (task(r#""run" : 1, "loop" : 9999999"#), "9999999 loops of 1 steps are more than 1048576"),
        (task(r#""timer" : { "ref" : "t" }"#), "a timer needs a `period`"),
        (task(r#""timer" : { "period" : 1, "mode" : "x" }"#), "neither relative nor absolute"),
        (task(r#""policy" : "SCHED_MAGIC", "run" : 1"#), "\"SCHED_MAGIC\" is no policy"),
        (task(r#""policy" : "SCHED_DEADLINE", "run" : 1"#), "needs 0 < dl-runtime"),
        (task(r#""cpus" : 3, "run" : 1"#), "give a list of CPUs"),
        (task(r#""phases" : {}, "run" : 1"#), "an event beside `phases`"),
        (task(r#""phases" : {"p": {"loop": -1, "run": 1}, "q": {"run": 1}}"#), "loops for ever"),
        (task(""), "neither computes nor sleeps"),
        ("{}".into(), "line 1: no object `tasks`"),
        ("{\"tasks\" : {}}".into(), "no threads"),
        ("{\n\"tasks\" : }".into(), "line 2: a value is missing"),
        ("{\n\n\"tasks\" : { \"a ".into(), "line 3: a text that does not end on its line"),
        ("{ /* ".into(), "a comment that does not end"),
        ("[".repeat(1000), "nested too deeply"),
    ] {
        let message = read(&text).expect_err(&text).to_string();
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn mutated_workloads_cause_no_panic() {
    let (mut sound, mut refused) = (0, 0);
    support::mutate(FILE.as_bytes(), 20_000, |bytes| match fuzz::workload(bytes) {
        true => sound += 1,
        false => refused += 1,
    });
    assert!(sound > 500 && refused > 1000, "{sound} {refused}");
}
