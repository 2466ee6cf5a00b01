//! The tables and keys of a CPU scenario.

use laxity_cpu::CpuSet;

use super::locks::LockProtocol;
use super::model::{MAX_TASKS, RecordedSleeps};
use super::policies;
use crate::keys::{Forms, Key, Kind, Plain, Table};
use crate::keys::{optional, required};
use crate::options::policy_section;

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "cpu-scenario",
    doc: "CPUs, the tasks that share them, reservations, and the policies.",
    keys: &[
        required("cpu", Kind::Table(&CPU), "{ cpus = 1 }", "The CPUs; may be empty."),
        optional(
            "policy",
            Kind::Table(&POLICY),
            "every default below",
            "{ use = \"bebs\" }",
            "How tasks are scheduled.",
        ),
        optional(
            "overheads",
            Kind::Table(&OVERHEADS),
            "none",
            "{ switch = \"6 us\" }",
            "What scheduling itself costs.",
        ),
        optional(
            "locks",
            Kind::Table(&LOCKS),
            "the default below",
            "{ protocol = \"none\" }",
            "How tasks wait for locks.",
        ),
        optional(
            "reservation",
            Kind::Tables(&NAMED_RESERVATION),
            "none",
            "[{ name = \"sound\", budget = \"1 ms\", period = \"5 ms\" }]",
            "Reservations that tasks name. Tasks that name the same one share it.",
        ),
        optional(
            "task",
            Kind::Tables(&TASK),
            "none; a task or a recording is needed",
            "[{ name = \"compile\", work = \"cpu-bound\" }]",
            "Classes of identical tasks.",
        ),
        optional(
            "recording",
            Kind::Tables(&RECORDING),
            "none",
            "[{ file = \"sched.txt\" }]",
            "Files with recorded threads, which become tasks.",
        ),
    ],
};

/// `[[recording]]`
pub static RECORDING: Table = Table {
    name: "recording",
    doc: "The threads of a recorded schedule, as `perf sched script` or `trace-cmd report` print \
          it, or of an rt-app workload in JSON, replayed.",
    keys: &[
        required("file", Kind::Path, "\"sched.txt\"", "Relative to this file's folder."),
        optional(
            "sleeps",
            Kind::Choice(&RecordedSleeps::NAMES),
            "\"lengths\"",
            "\"wakers\"",
            "The end of a recorded sleep. `lengths`: after its recorded length. `instants`: at \
             its recorded instant, unless the thread is still busy. `wakers`: when the thread \
             that ended it reaches the same point again. Without effect for rt-app, which \
             specifies what its threads wait for.",
        ),
        optional(
            "only",
            Kind::Texts,
            "all threads",
            "[\"firefox\", \"pipewire\"]",
            "Only threads whose names begin with one of these.",
        ),
        optional("join", Kind::Time, "\"0 s\"", "\"2 s\"", "Start of the recording."),
    ],
};

/// `[cpu]`
pub static CPU: Table = Table {
    name: "cpu",
    doc: "The machine. Context switches take no time but what `overheads` says.",
    keys: &[
        optional("cpus", Kind::Whole(1, CpuSet::MOST), "1", "4", "Number of CPUs."),
        optional(
            "cluster",
            Kind::Whole(1, CpuSet::MOST),
            "1",
            "2",
            "Number of CPUs that share one queue, such as those that share a cache. Every task \
             belongs to one such cluster, which admits its reservation.",
        ),
        optional(
            "steal",
            Kind::Bool,
            "true",
            "false",
            "Whether an idle CPU runs best-effort tasks of other clusters, if they have no idle \
             CPU.",
        ),
        optional(
            "balance",
            Kind::Time,
            "\"1 s\"",
            "\"100 ms\"",
            "Interval between migrations of best-effort tasks to clusters where they get more; \
             \"0 s\" for never.",
        ),
    ],
};

/// `[overheads]`
pub static OVERHEADS: Table = Table {
    name: "cpu-overheads",
    doc: "What scheduling itself costs, measured on the machine. Admission adds to each job of a reservation \
          two switches (to the job, and back to the task that it preempted), a release, and a migration where \
          CPUs share a queue. A simulation adds as much to the work after each wake-up.",
    keys: &[
        optional("switch", Kind::Time, "\"0 s\"", "\"6 us\"", "A switch between two tasks."),
        optional(
            "release",
            Kind::Time,
            "\"0 s\"",
            "\"4 us\"",
            "A timer or wake-up that releases a job.",
        ),
        optional(
            "migration",
            Kind::Time,
            "\"0 s\"",
            "\"20 us\"",
            "What a job loses that continues on another CPU, such as the content of caches. Without effect \
             where each CPU has its own queue.",
        ),
    ],
};

/// `[locks]`
pub static LOCKS: Table = Table {
    name: "locks",
    doc: "How tasks wait for the locks that their jobs take, each in order of arrival.",
    keys: &[optional(
        "protocol",
        Kind::Choice(&LockProtocol::NAMES),
        "\"inherit\"",
        "\"none\"",
        "What a task does that meets a held lock. `inherit`: bandwidth inheritance; when the policy picks the \
         waiting task, the holder executes on the waiting task's server. `none`: it sleeps, and the holder has \
         its own server alone.",
    )],
};

/// `[policy]`
pub static POLICY: Table = Table {
    name: "cpu-policy",
    doc: "Which policies run, and their options. Options of a policy also apply where it runs \
          below `posix` or `sched-deadline`. Quote names with a dot.",
    keys: POLICY_KEYS,
};

policy_section! {
    POLICY_KEYS: policies::POLICIES, &[
        optional(
            "use",
            Kind::Policy(&policies::NAMES),
            "\"bebs\"",
            "\"bebs-credit\"",
            "The policy of the CPU.",
        ),
        optional(
            "compare",
            Kind::Policies(&policies::NAMES),
            "none",
            "[\"eevdf\", \"linux-2.6\"]",
            "Further policies that a simulation runs beside it, on the same tasks.",
        ),
    ]
}

const BUDGET: Key = required("budget", Kind::Time, "\"1 ms\"", "CPU time in every period.");
const PERIOD: Key = required("period", Kind::Time, "\"5 ms\"", "Length of a period.");
const DEADLINE: Key = optional(
    "deadline",
    Kind::Time,
    "the period",
    "\"3 ms\"",
    "Relative deadline: from the start of a period to the instant by which its budget is provided.",
);
const KIND: Key = optional(
    "kind",
    Kind::Choice(&["hard", "soft"]),
    "\"hard\"",
    "\"soft\"",
    "`hard`: guaranteed, and limited to the budget. `soft`: a server of fixed budget and period \
     that \
     may also use idle time; policies without servers treat it as best effort.",
);

/// `[[reservation]]`
pub static NAMED_RESERVATION: Table = Table {
    name: "reservation",
    doc: "A budget of CPU time in every period, for the tasks that name it.",
    keys: &[
        required("name", Kind::Text, "\"sound\"", "Unique over all reservations."),
        BUDGET,
        PERIOD,
        DEADLINE,
        KIND,
    ],
};

/// `reservation` of `[[task]]`
pub static RESERVATION: Forms = Forms {
    name: "task reservation",
    article: "a",
    doc: "The name of a [[reservation]], or a separate one for each task of the class.",
    plain: Plain::Text,
    tables: &[Table {
        name: "reservation of its own",
        doc: "A budget of CPU time in every period, for one task.",
        keys: &[BUDGET, PERIOD, DEADLINE, KIND],
    }],
};

const RESERVED: Key = optional(
    "reservation",
    Kind::Forms(&RESERVATION),
    "none: best effort",
    "{ budget = \"1 ms\", period = \"5 ms\" }",
    "The task's reservation; without one it shares the remaining bandwidth by its nice value.",
);

const NICE: Key =
    optional("nice", Kind::Nice, "0", "10", "Nice value: weight from most (-20) to least (19).");

/// `[[task]]`
pub static TASK: Table = Table {
    name: "task",
    doc: "A class of identical tasks.",
    keys: &[
        required("name", Kind::Text, "\"compile\"", "Unique over all classes."),
        optional(
            "count",
            Kind::Whole(1, MAX_TASKS),
            "1",
            "4",
            "Number of tasks; several are numbered from 1, `compile-1` and so on.",
        ),
        optional(
            "work",
            Kind::Forms(&WORK),
            "a job of the whole budget in each period; needed without a reservation",
            "\"cpu-bound\"",
            "Task model.",
        ),
        optional(
            "lock",
            Kind::Tables(&LOCK),
            "none",
            "[{ name = \"bus\", at = \"1 ms\", hold = \"2 ms\" }]",
            "Locks that each job takes; for periodic and interactive work on one CPU, with jobs of one length or \
             uniformly distributed.",
        ),
        RESERVED,
        NICE,
        optional(
            "group",
            Kind::Text,
            "none: a server of its own",
            "\"browser\"",
            "Best-effort tasks of one group share one server, as the threads of a process may. \
             Policies without servers ignore it.",
        ),
        optional(
            "affinity",
            Kind::Cpus,
            "all CPUs",
            "\"0-1\"",
            "The CPUs on which it may run, which must include a whole cluster.",
        ),
        optional("join", Kind::Time, "\"0 s\"", "\"2 s\"", "Arrival of the task."),
        optional(
            "phase",
            Kind::Time,
            "\"0 s\"",
            "\"1 ms\"",
            "From `join`, or from when its reservation is in force, to its first wake-up.",
        ),
        optional("leave", Kind::Time, "never", "\"10 s\"", "Departure of the task, at the latest."),
        optional(
            "change",
            Kind::Tables(&CHANGE),
            "none",
            "[{ at = \"5 s\", nice = 10 }]",
            "Later changes of its nice value or reservation.",
        ),
    ],
};

/// `lock` of `[[task]]`
pub static LOCK: Table = Table {
    name: "task lock",
    doc: "A part of each job that holds a lock. Two of a task nest or follow each other; all tasks nest locks in \
          one order.",
    keys: &[
        required("name", Kind::Text, "\"bus\"", "The lock; another task must take it too."),
        required(
            "at",
            Kind::Time,
            "\"1 ms\"",
            "Execution time of the job before it takes the lock.",
        ),
        required("hold", Kind::Time, "\"2 ms\"", "Execution time of the job with the lock."),
    ],
};

/// `change` of `[[task]]`
pub static CHANGE: Table = Table {
    name: "task change",
    doc: "Another nice value or reservation from an instant on; an absent one stays.",
    keys: &[
        required("at", Kind::Time, "\"5 s\"", "Instant of the change, after the previous one."),
        NICE,
        optional(
            "reservation",
            Kind::Forms(&RESERVATION),
            "as before",
            "\"none\"",
            "Another reservation, or \"none\".",
        ),
    ],
};

/// `work` of `[[task]]`
pub static WORK: Forms = Forms {
    name: "work",
    article: "a kind of",
    doc: "The task model. \"cpu-bound\" never sleeps.",
    plain: Plain::Names(&["cpu-bound"]),
    tables: &[
        Table {
            name: "interactive",
            doc: "Alternates between sleeping and running.",
            keys: &[
                required(
                    "burst",
                    Kind::Forms(&COST),
                    "\"2 ms\"",
                    "Execution time after each wake-up; its response time is measured.",
                ),
                required("think", Kind::Forms(&GAP), "{ exponential = \"200 ms\" }", "Sleep time."),
            ],
        },
        Table {
            name: "periodic",
            doc: "One job in each period: frames of a player, samples of a controller.",
            keys: &[
                required("period", Kind::Time, "\"40 ms\"", "Time between releases."),
                required(
                    "cost",
                    Kind::Forms(&COST),
                    "{ normal = [\"12 ms\", \"2 ms\"] }",
                    "Execution time of a job.",
                ),
                optional(
                    "deadline",
                    Kind::Time,
                    "the period",
                    "\"30 ms\"",
                    "Relative deadline, from a release to the latest end of its job; may be \
                     longer than the period.",
                ),
                optional(
                    "late",
                    Kind::Choice(&["rephase", "skip", "grid"]),
                    "\"rephase\"; with a hard reservation \"grid\"",
                    "\"skip\"",
                    "Effect of a job that ends after the next release. `rephase`: the next is \
                     released when the late one ends, and later releases shift too. `skip`: \
                     releases stay on their grid, passed ones are omitted. `grid`: jobs queue.",
                ),
            ],
        },
        Table {
            name: "poller",
            doc: "Never sleeps and polls for events.",
            keys: &[required(
                "poll",
                Kind::Forms(&GAP),
                "\"10 ms\"",
                "From the detection of one event to the next event; the time until its detection \
                 is measured as latency.",
            )],
        },
        Table {
            name: "script",
            doc: "Executes steps.",
            keys: &[
                required(
                    "steps",
                    Kind::Steps,
                    "[\"run 5 ms\", \"sleep 20 ms\"]",
                    "`run` executes and `sleep` sleeps for a time; `until` sleeps until a time \
                     after the first wake-up, not at all if that has passed.",
                ),
                optional(
                    "repeat",
                    Kind::Bool,
                    "false",
                    "true",
                    "Repeat from the start; otherwise the task leaves at the end.",
                ),
            ],
        },
    ],
};

/// Execution time of jobs
pub static COST: Forms = Forms {
    name: "cost",
    article: "a",
    doc: "Execution time of a job; random ones are at least 1 us.",
    plain: Plain::Time,
    tables: &[
        Table {
            name: "uniform cost",
            doc: "Uniformly distributed.",
            keys: &[required(
                "uniform",
                Kind::TimePair,
                "[\"1 ms\", \"5 ms\"]",
                "Least and most, both included.",
            )],
        },
        Table {
            name: "normal cost",
            doc: "Independent and normally distributed.",
            keys: &[required(
                "normal",
                Kind::TimePair,
                "[\"12 ms\", \"2 ms\"]",
                "Mean and standard deviation.",
            )],
        },
        Table {
            name: "groups of pictures",
            doc: "Groups of twelve pictures, I BB P BB P BB P BB, of 2 : 1.2 : 0.8 times the mean.",
            keys: &[required(
                "gop",
                Kind::TimePair,
                "[\"12 ms\", \"1 ms\"]",
                "Mean over a group; standard deviation of a picture of that length, others in \
                 proportion.",
            )],
        },
        Table {
            name: "correlated cost",
            doc: "Normally distributed and autoregressive: each correlated with the last.",
            keys: &[
                required(
                    "correlated",
                    Kind::TimePair,
                    "[\"12 ms\", \"4 ms\"]",
                    "Mean and standard deviation.",
                ),
                required("correlation", Kind::Percent, "\"90 %\"", "Between consecutive jobs."),
            ],
        },
        Table {
            name: "scenes",
            doc: "Normally distributed levels, each held for some jobs.",
            keys: &[
                required(
                    "scenes",
                    Kind::TimePair,
                    "[\"12 ms\", \"4 ms\"]",
                    "Mean and standard deviation of the levels.",
                ),
                required("frames", Kind::Whole(1, 1_000_000), "50", "Jobs at each level."),
            ],
        },
    ],
};

/// A duration
pub static GAP: Forms = Forms {
    name: "duration",
    article: "a",
    doc: "A duration.",
    plain: Plain::Time,
    tables: &[
        Table {
            name: "uniform duration",
            doc: "Uniformly distributed.",
            keys: &[required(
                "uniform",
                Kind::TimePair,
                "[\"100 ms\", \"300 ms\"]",
                "Least and most, both included.",
            )],
        },
        Table {
            name: "exponential duration",
            doc: "Exponentially distributed.",
            keys: &[required("exponential", Kind::Time, "\"200 ms\"", "The mean.")],
        },
    ],
};
