//! What a scenario of CPUs may hold: every table, every key.

use laxity_cpu::CpuSet;

use super::model::MAX_TASKS;
use super::{options, policies};
use crate::keys::{Forms, Key, Kind, Plain, Table};
use crate::shape::{optional, required};

/// The whole file.
pub static SCENARIO: Table = Table {
    name: "cpu-scenario",
    doc: "CPUs, the tasks that share them, what is reserved for tasks, and the policies.",
    keys: &[
        required("cpu", Kind::Table(&CPU), "{ cpus = 1 }", "What computes; may be empty."),
        optional(
            "policy",
            Kind::Table(&POLICY),
            "every default below",
            "{ use = \"bebs\" }",
            "How tasks are scheduled.",
        ),
        optional(
            "reservation",
            Kind::Tables(&NAMED_RESERVATION),
            "none",
            "[{ name = \"sound\", budget = \"1 ms\", period = \"5 ms\" }]",
            "Reservations that tasks refer to by name. Tasks that name the same one share it.",
        ),
        optional(
            "task",
            Kind::Tables(&TASK),
            "none; a task or a recording is needed",
            "[{ name = \"compile\", work = \"cpu-bound\" }]",
            "Classes of like tasks.",
        ),
        optional(
            "recording",
            Kind::Tables(&RECORDING),
            "none",
            "[{ file = \"sched.txt\" }]",
            "Files whose threads are tasks too.",
        ),
    ],
};

/// `[[recording]]`
pub static RECORDING: Table = Table {
    name: "recording",
    doc: "The threads of a recorded schedule, as `perf sched script` or `trace-cmd report` print \
          it, or of a workload of rt-app in JSON: they do again what they did.",
    keys: &[
        required("file", Kind::Path, "\"sched.txt\"", "Relative to this file's folder."),
        optional(
            "sleeps",
            Kind::Choice(&["lengths", "instants", "wakers"]),
            "\"lengths\"",
            "\"wakers\"",
            "What a recorded sleep is. `lengths`: as long as it was. `instants`: it ends when it \
             did, unless the thread is still busy. `wakers`: it ends when the thread that ended it \
             gets as far again. No matter for rt-app, which says what its threads wait for.",
        ),
        optional(
            "only",
            Kind::Texts,
            "all threads",
            "[\"firefox\", \"pipewire\"]",
            "Only threads whose names begin with one of these.",
        ),
        optional("join", Kind::Time, "\"0 s\"", "\"2 s\"", "When the recording begins."),
    ],
};

/// `[cpu]`
pub static CPU: Table = Table {
    name: "cpu",
    doc: "The machine. Switching from task to task takes no time.",
    keys: &[
        optional("cpus", Kind::Whole(1, CpuSet::MOST), "1", "4", "How many CPUs."),
        optional(
            "cluster",
            Kind::Whole(1, CpuSet::MOST),
            "1",
            "2",
            "How many of them share one queue, as many as share a cache, say. Every task belongs \
             to one such cluster, which admits its reservation.",
        ),
        optional(
            "steal",
            Kind::Bool,
            "true",
            "false",
            "Whether a CPU without work runs best-effort tasks of other clusters that have none.",
        ),
        optional(
            "balance",
            Kind::Time,
            "\"1 s\"",
            "\"100 ms\"",
            "How often best-effort tasks move to clusters where they get more; \"0 s\" for never.",
        ),
    ],
};

const fn of_policy(name: &'static str, table: &'static Table, example: &'static str) -> Key {
    let doc = "Options of the policy of this name.";
    optional(name, Kind::Table(table), "every default below", example, doc)
}

/// `[policy]`
pub static POLICY: Table = Table {
    name: "cpu-policy",
    doc: "Which policies run, and their options. Options of a policy hold where it runs below \
          `posix` or `sched-deadline`, too. Names with a dot stand in quotes.",
    keys: &[
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
        of_policy("bebs", &options::BEBS, "{ sample = \"job\" }"),
        of_policy("bebs-credit", &options::BEBS_CREDIT, "{ ahead = \"200 ms\" }"),
        of_policy("edf", &options::EDF, "{ least-best-effort = 100 }"),
        of_policy("cbs", &options::CBS, "{ period = \"20 ms\" }"),
        of_policy("iris", &options::IRIS, "{ period = \"20 ms\" }"),
        of_policy("iris-naive", &options::IRIS_NAIVE, "{ period = \"100 ms\" }"),
        of_policy("berate", &options::BERATE, "{ base = \"now\" }"),
        of_policy("best", &options::BEST, "{ clock = \"100-hz\" }"),
        of_policy("linux-2.4", &options::LINUX_2_4, "{ goodness = \"counter\" }"),
        of_policy("eevdf", &options::EEVDF, "{ slice = \"2.8 ms\" }"),
        of_policy("posix", &options::POSIX, "{ below = \"eevdf\" }"),
        of_policy("sched-deadline", &options::SCHED_DEADLINE, "{ reclaim = false }"),
    ],
};

const BUDGET: Key = required("budget", Kind::Time, "\"1 ms\"", "CPU time in every period.");
const PERIOD: Key = required("period", Kind::Time, "\"5 ms\"", "From start to start.");
const DEADLINE: Key = optional(
    "deadline",
    Kind::Time,
    "the period",
    "\"3 ms\"",
    "From the start of a period to the latest instant at which its budget has been given.",
);
const KIND: Key = optional(
    "kind",
    Kind::Choice(&["hard", "soft"]),
    "\"hard\"",
    "\"soft\"",
    "`hard`: guaranteed, and held to the budget. `soft`: a server of fixed budget and period that \
     may also use idle time; policies without servers take it for best effort.",
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
    doc: "The name of a [[reservation]], or one for each task of the class alone.",
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
    "What the task asks for; without any it gets what is left, by its nice value.",
);

const NICE: Key = optional(
    "nice",
    Kind::Nice,
    "0",
    "10",
    "The wish for more (-20) or less (19) of the CPU than others.",
);

/// `[[task]]`
pub static TASK: Table = Table {
    name: "task",
    doc: "A class of like tasks.",
    keys: &[
        required("name", Kind::Text, "\"compile\"", "Unique over all classes."),
        optional(
            "count",
            Kind::Whole(1, MAX_TASKS),
            "1",
            "4",
            "How many such tasks; several are numbered from 1, `compile-1` and so on.",
        ),
        optional(
            "work",
            Kind::Forms(&WORK),
            "a job of the whole budget in each period; needed without a reservation",
            "\"cpu-bound\"",
            "What it does.",
        ),
        RESERVED,
        NICE,
        optional(
            "group",
            Kind::Text,
            "none: a server of its own",
            "\"browser\"",
            "Best-effort tasks of one group share one server, as the threads of a process may, \
             under policies that have servers; others treat each by itself.",
        ),
        optional(
            "affinity",
            Kind::Cpus,
            "all CPUs",
            "\"0-1\"",
            "The CPUs on which it may run; all of at least one cluster must be among them.",
        ),
        optional("join", Kind::Time, "\"0 s\"", "\"2 s\"", "When it appears."),
        optional(
            "phase",
            Kind::Time,
            "\"0 s\"",
            "\"1 ms\"",
            "From then to its first wake-up, or from when its reservation is in force.",
        ),
        optional("leave", Kind::Time, "never", "\"10 s\"", "When it is gone, at the latest."),
        optional(
            "change",
            Kind::Tables(&CHANGE),
            "none",
            "[{ at = \"5 s\", nice = 10 }]",
            "What it asks for later on.",
        ),
    ],
};

/// `change` of `[[task]]`
pub static CHANGE: Table = Table {
    name: "task change",
    doc: "Another nice value or reservation from an instant on; what is not named stays.",
    keys: &[
        required("at", Kind::Time, "\"5 s\"", "When; later than the change before it."),
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
    doc: "What a task does. \"cpu-bound\" computes for ever.",
    plain: Plain::Names(&["cpu-bound"]),
    tables: &[
        Table {
            name: "interactive",
            doc: "Thinks for a while, then computes a little, over and over.",
            keys: &[
                required(
                    "burst",
                    Kind::Forms(&COST),
                    "\"2 ms\"",
                    "Computation after each wake-up; its response time is measured.",
                ),
                required("think", Kind::Forms(&GAP), "{ exponential = \"200 ms\" }", "Sleep."),
            ],
        },
        Table {
            name: "periodic",
            doc: "One job in each period: frames of a player, samples of a controller.",
            keys: &[
                required("period", Kind::Time, "\"40 ms\"", "From release to release."),
                required(
                    "cost",
                    Kind::Forms(&COST),
                    "{ normal = [\"12 ms\", \"2 ms\"] }",
                    "Computation of a job.",
                ),
                optional(
                    "deadline",
                    Kind::Time,
                    "the period",
                    "\"30 ms\"",
                    "From a release to the latest end of its job; may be longer than the period.",
                ),
                optional(
                    "late",
                    Kind::Choice(&["rephase", "skip", "grid"]),
                    "\"rephase\"; with a hard reservation \"grid\"",
                    "\"skip\"",
                    "What a job that ends after the next release does to it. `rephase`: the next \
                     is released when the late one ends, and later ones move too. `skip`: the \
                     next keeps to its grid, releases passed are left out. `grid`: jobs queue.",
                ),
            ],
        },
        Table {
            name: "poller",
            doc: "Computes for ever and looks for an event all the time.",
            keys: &[required(
                "poll",
                Kind::Forms(&GAP),
                "\"10 ms\"",
                "From seeing one event to the next; how long events wait is measured as latency.",
            )],
        },
        Table {
            name: "script",
            doc: "Plays steps.",
            keys: &[
                required(
                    "steps",
                    Kind::Steps,
                    "[\"run 5 ms\", \"sleep 20 ms\"]",
                    "`run` computes, `sleep` sleeps for so long, `until` sleeps until so long \
                     after the first wake-up, not at all if that has passed.",
                ),
                optional(
                    "repeat",
                    Kind::Bool,
                    "false",
                    "true",
                    "Begin again at the end; the task leaves there if not.",
                ),
            ],
        },
    ],
};

/// How long jobs compute
pub static COST: Forms = Forms {
    name: "cost",
    article: "a",
    doc: "How long a job computes, at least 1 us: drawn ones are kept above.",
    plain: Plain::Time,
    tables: &[
        Table {
            name: "uniform cost",
            doc: "Each time between the two as likely.",
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
            doc: "Normally distributed, each correlated with the last: autoregressive.",
            keys: &[
                required(
                    "correlated",
                    Kind::TimePair,
                    "[\"12 ms\", \"4 ms\"]",
                    "Mean and standard deviation.",
                ),
                required("correlation", Kind::Percent, "\"90 %\"", "Of one job with the next."),
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
                required("frames", Kind::Whole(1, 1_000_000), "50", "Jobs to each level."),
            ],
        },
    ],
};

/// How long something lasts
pub static GAP: Forms = Forms {
    name: "duration",
    article: "a",
    doc: "How long something lasts.",
    plain: Plain::Time,
    tables: &[
        Table {
            name: "uniform duration",
            doc: "Each length between the two as likely.",
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
