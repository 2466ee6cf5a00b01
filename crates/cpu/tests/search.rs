//! Exhaustive search of small systems: no hard job is late, no task waits longer than documented, and
//! every assertion of `servers::promises` holds.

#[path = "search/fold.rs"]
mod fold;
#[path = "search/world.rs"]
mod world;

use laxity_core::Span;
use laxity_cpu::layered::Layered;
use laxity_cpu::servers::{Adaptation, Rules, Servers, Sizing};
use laxity_cpu::{Attributes, Nice, Reservation, bebs, bebs_credit, berate, cbs, edf, iris};
use world::{TICK, Task, World};

const fn ticks(n: u64) -> Span {
    Span(n * TICK)
}

fn nice(n: i8) -> Attributes {
    Attributes::best_effort(Nice::new(n).expect("a nice value"))
}

/// In hundredths of ticks of each `period` ticks.
fn reserved(hundredths: u64, period: u64) -> Attributes {
    Attributes::hard(Reservation::new(Span(hundredths * TICK / 100), ticks(period)))
}

/// The same for a soft reservation.
fn soft(hundredths: u64, period: u64) -> Attributes {
    Attributes::soft(Reservation::new(Span(hundredths * TICK / 100), ticks(period)))
}

/// A small system, and the limits of its search.
struct System {
    name: &'static str,
    events: u32,
    /// The duration in ticks.
    ticks: u64,
    tasks: Vec<Task>,
}

/// Each system has a hard task whose jobs use its whole reservation.
fn systems() -> Vec<System> {
    let victim = || Task::hard(reserved(300, 7));
    let changes = vec![reserved(50, 5), reserved(150, 5), reserved(250, 5), nice(0)];
    let chain = vec![reserved(100, 5), reserved(20, 5), reserved(150, 5), reserved(250, 5)];
    vec![
        System {
            name: "all kinds of changes",
            events: 3,
            ticks: 12,
            tasks: vec![
                victim(),
                Task::changing(changes),
                Task::changing(vec![nice(19), nice(0), nice(15)]),
            ],
        },
        System {
            name: "best effort and a reservation",
            events: 3,
            ticks: 12,
            tasks: vec![
                victim(),
                Task::changing(vec![nice(18), nice(-20), nice(15)]),
                Task::changing(vec![nice(0), nice(19), reserved(150, 5)]),
            ],
        },
        System {
            name: "a reservation that changes again and again",
            events: 5,
            ticks: 12,
            tasks: vec![victim(), Task::computing(chain), Task::computing(vec![nice(0)])],
        },
        System {
            name: "a soft reservation that changes, also its kind",
            events: 3,
            ticks: 12,
            tasks: vec![
                victim(),
                Task::changing(vec![soft(50, 5), soft(250, 5), reserved(150, 5), nice(0)]),
                Task::changing(vec![nice(0), nice(15)]),
            ],
        },
        System {
            name: "a soft reservation that changes again and again",
            events: 4,
            ticks: 12,
            tasks: vec![
                victim(),
                Task::computing(vec![soft(100, 5), soft(20, 5), soft(150, 5), soft(250, 5)]),
                Task::computing(vec![nice(0)]),
            ],
        },
        System {
            name: "weights that change again and again",
            events: 4,
            ticks: 12,
            tasks: vec![
                victim(),
                Task::computing(vec![nice(18)]),
                Task::asleep(nice(18)),
                Task::sleeping(vec![nice(19), nice(-20), nice(15)]),
            ],
        },
        System {
            name: "a weight that rises twice beside a newcomer",
            events: 4,
            ticks: 12,
            tasks: vec![
                victim(),
                Task::computing(vec![nice(10)]),
                Task::asleep(nice(10)),
                Task::sleeping(vec![nice(19), nice(10), nice(-20)]),
                Task::joining(vec![nice(-20)]),
            ],
        },
        System {
            name: "a weight that rises, falls and rises beside a light newcomer",
            events: 5,
            ticks: 7,
            tasks: vec![
                victim(),
                Task::computing(vec![nice(0)]),
                Task::sleeping(vec![nice(0), nice(-20)]),
                Task::arriving(nice(19)),
            ],
        },
    ]
}

fn short(adaptation: Adaptation) -> Adaptation {
    Adaptation {
        initial_average: ticks(1),
        min_budget: Span(TICK / 2),
        max_budget: ticks(2),
        ..adaptation
    }
}

fn bebs_rules() -> Rules {
    let plain = bebs::Options::default();
    let adaptation = short(plain.adaptation);
    *bebs::new(&bebs::Options { adaptation, ..plain }).rules()
}

fn credit_rules() -> Rules {
    let plain = bebs_credit::Options::default();
    let adaptation = short(plain.adaptation);
    *bebs_credit::new(&bebs_credit::Options { adaptation, ahead: ticks(3), ..plain }).rules()
}

/// With turns of tasks that compute, and wake-ups that do not preempt.
fn sliced_rules() -> Rules {
    let mut rules = credit_rules();
    if let Sizing::Adaptive(how) = &mut rules.sizing {
        how.initial_average = Span(TICK / 4);
    }
    Rules { slice: Some(Span(TICK / 2)), wakeup_granularity: ticks(5), ..rules }
}

fn equal() -> cbs::Options {
    cbs::Options { period: ticks(4), ..cbs::Options::default() }
}

/// So many more things happen, where there is time for it.
fn more_events() -> u32 {
    let more = std::env::var("LAXITY_SEARCH_MORE");
    more.map_or(0, |more| more.parse().expect("LAXITY_SEARCH_MORE is a number"))
}

fn explore<P>(name: &str, policy: impl Fn() -> P)
where
    P: laxity_cpu::Policy + Clone + std::hash::Hash,
{
    explore_on(1, name, policy);
}

fn explore_on<P>(cpus: u32, name: &str, policy: impl Fn() -> P)
where
    P: laxity_cpu::Policy + Clone + std::hash::Hash,
{
    let mut refused = 0;
    for system in systems() {
        let events = system.events + more_events();
        // Two CPUs have more decisions, and fewer simultaneous changes of shares.
        let events = if cpus > 1 { events - 1 } else { events };
        let seen = World::new(policy(), cpus, &system.tasks).explore(events, system.ticks);
        if world::has_failed() {
            return;
        }
        println!("{name} on {cpus}, {}: {seen:?}", system.name);
        assert!(seen.states > 1000 && seen.jobs > 100, "{seen:?}");
        refused += seen.refused;
    }
    assert!(refused > 0 || cpus > 1);
}

#[test]
fn bebs_keeps_every_promise() {
    explore("bebs", || Servers::new(bebs_rules()));
}

#[test]
fn bebs_credit_keeps_every_promise() {
    explore("bebs-credit", || Servers::new(credit_rules()));
}

/// Fails when the deadline of a slice is earlier than its period ends, tried, and when protection holds
/// beside reservations, tried.
#[test]
fn slices_keep_every_promise() {
    explore("bebs-credit with slices", || Servers::new(sliced_rules()));
}

#[test]
fn cbs_keeps_every_promise() {
    explore("cbs", || cbs::new(&equal()));
}

#[test]
fn iris_keeps_every_promise() {
    explore("iris", || iris::new(&equal()));
}

#[test]
fn edf_keeps_every_promise() {
    explore("edf", || edf::new(&equal()));
}

#[test]
fn reservations_above_berate_keep_every_promise() {
    let options = berate::Options::default();
    let upper = *edf::new(&equal()).upper().rules();
    explore("berate", || Layered::new(Servers::new(upper), berate::BeRate::new(&options)));
}

/// A higher class begins and ceases to wait at every instant, and takes nothing: decisions that put reservations
/// first make no hard job late, then or later, in any order of decisions with and without.
///
/// Fails when best effort keeps what it is behind (`pick_reserved` without `reset_lag`), and when reservations
/// precede only until the higher class has gone (`handle_pick` without `passed_over`, which then never ends).
#[test]
fn precedence_of_reservations_keeps_every_promise() {
    let system = [
        Task::hard(reserved(300, 7)),
        Task::sleeping(vec![reserved(600, 60)]),
        Task::computing(vec![nice(0)]),
    ];
    for (name, rules) in
        [("bebs", bebs_rules()), ("bebs-credit", credit_rules()), ("slices", sliced_rules())]
    {
        let world = World::new(Servers::new(rules), 1, &system).with_higher_class();
        let seen = world.explore(5 + more_events(), 16);
        if world::has_failed() {
            return;
        }
        println!("{name} below a higher class: {seen:?}");
        assert!(seen.states > 1000 && seen.jobs > 100, "{seen:?}");
    }
}

#[test]
fn two_cpus_that_share_a_queue_keep_every_promise() {
    explore_on(2, "bebs", || Servers::global(bebs_rules(), 2));
    explore_on(2, "bebs-credit", || Servers::global(credit_rules(), 2));
    explore_on(2, "edf", || edf::global(&equal(), 2));
}
