//! CPU scenarios: defaults, every key, and printing them all.

use laxity_core::{OptionValue, PolicyOptions as _};
use laxity_core::{Span, Time};
use laxity_cpu::registry::{Options, POLICIES};
use laxity_cpu::{CpuSet, Nice, Reservation};
use laxity_scenario::cpu::CpuScenario;
use laxity_scenario::cpu::locks::{LockProtocol, Locks, Section};
use laxity_scenario::cpu::model::*;
use laxity_scenario::{Document, DocumentKind};

const LEAST: &str = include_str!("../corpus/cpus-least.toml");
const FULL: &str = include_str!("../corpus/cpus-full.toml");

fn good(text: &str) -> CpuScenario {
    CpuScenario::parse(text, "folder/desktop.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

fn at(n: u64) -> Time {
    Time::ZERO + ms(n)
}

// Fails when a default changes.
#[test]
fn defaults() {
    let s = good(LEAST);
    assert_eq!((s.name.as_str(), s.path.to_str()), ("desktop", Some("folder/desktop.toml")));
    assert_eq!(s.cpu, Cpu { cpus: 1, cluster: 1, steal: true, balance: ms(1000) });
    assert!(s.cpu.layout().unwrap().is_none());
    assert_eq!((s.policy.use_.as_str(), s.policy.compare.len()), ("bebs", 0));
    assert_eq!(s.policy.options, Options::default());
    let class = TaskClass {
        name: "compile".into(),
        count: 1,
        nice: Nice::default(),
        server: TaskServer::BestEffort,
        affinity: CpuSet::ALL,
        work: Work::CpuBound,
        sections: Vec::new(),
        join: Time::ZERO,
        phase: Span::ZERO,
        leave: None,
        changes: Vec::new(),
    };
    assert_eq!(s.tasks, [class]);
    assert_eq!(s.locks, Locks { protocol: LockProtocol::Inherit, names: Vec::new() });
}

// Fails when an option of a policy that can be set is not read, or into another's field.
#[test]
fn every_policy_option_is_read() {
    let s = good(FULL);
    assert_eq!(s.policy.compare.len(), 12);
    let value = |policy, option| s.policy.options.get(policy, option).unwrap().to_string();
    let bebs: Vec<String> = POLICIES[0].options.iter().map(|o| value("bebs", o.name)).collect();
    let wanted = [
        "switch",
        "20 ms",
        "250",
        "1 ms",
        "100 ms",
        "average",
        "100",
        "unblocked",
        "stretch-and-wait",
        "100",
    ];
    assert_eq!(bebs, wanted);
    // All that the file names, and nothing else, is not the default.
    let own = Options::default();
    let each = || POLICIES.iter().flat_map(|p| p.options.iter().map(|o| (p.name, o.name)));
    let differ = each().filter(|(p, o)| s.policy.options.get(p, o) != own.get(p, o)).count();
    assert_eq!(differ, 10 + 4 + 1 + 1 + 2 + 1 + 3 + 1 + 2 + 2 + 1 + 2);
    assert_eq!(s.policy.options.get("sched-deadline", "reclaim"), Some(OptionValue::Bool(false)));
    // Every option alone: read, and printed so that it reads back.
    for policy in POLICIES {
        for option in policy.options {
            let printed = good(FULL).to_toml();
            assert!(printed.contains(option.name), "{} {}: {printed}", policy.name, option.name);
        }
    }
}

// Fails when a key is read into another field, or dropped.
#[test]
fn every_key_is_read() {
    let s = good(FULL);
    let [switch, release, migration] = [6, 4, 20].map(|us| Span(us * 1000));
    assert_eq!(s.overheads, Overheads { switch, release, migration });
    let sound = Reservation::new(ms(1), ms(5)).within(ms(3));
    let show = Reservation::new(ms(10), ms(40));
    assert_eq!(s.reservations[0].reserved, Reserved { reservation: sound, hard: true });
    assert_eq!(s.reservations[1].reserved, Reserved { reservation: show, hard: false });

    let [audio, controller, player, frames, scenes, editor, page, server, script, compile] =
        &s.tasks[..]
    else {
        panic!()
    };
    assert_eq!((audio.name.as_str(), &audio.server), ("sound \"a\"", &TaskServer::Shared(0)));
    // Without `work`: the whole budget, by the deadline.
    let work = Work::Periodic {
        period: ms(5),
        cost: Cost::Fixed(ms(1)),
        deadline: ms(3),
        late: Late::Grid,
    };
    assert_eq!(audio.work, work);

    let own = |reservation| TaskServer::Own(Reserved { reservation, hard: true });
    assert_eq!(controller.server, own(Reservation::new(ms(2), ms(20)).within(ms(10))));
    assert_eq!((controller.join, controller.phase), (at(1000), ms(3)));
    assert_eq!(controller.leave, Some(at(9000)));
    let changes = [
        (2000, None, own(Reservation::new(ms(3), ms(20)))),
        (3000, Nice::new(-20), TaskServer::BestEffort),
        (4000, None, TaskServer::Shared(1)),
    ];
    let changes =
        changes.map(|(t, nice, server)| TaskChange { at: at(t), nice, server: Some(server) });
    assert_eq!(controller.changes, changes);
    assert_eq!(
        (s.locks.protocol, &s.locks.names[..]),
        (LockProtocol::None, &["bus \"b\"", "log"].map(str::to_owned)[..])
    );
    let section = |lock, at, hold| Section { lock, at: Span(at), hold: Span(hold) };
    let (bus, log) = (section(0, 200_000, 700_000), section(1, 400_000, 100_000));
    assert_eq!(controller.sections, [bus, log]);
    assert_eq!(page.sections, [section(1, 2_000_000, 1_000_000), section(0, 0, 5_000_000)]);

    let cost = |class: &TaskClass| match &class.work {
        Work::Periodic { cost, late, deadline, .. } => (*cost, *late, *deadline),
        other => panic!("{other:?}"),
    };
    assert_eq!((player.count, &player.server), (2, &TaskServer::Shared(1)));
    let gop = Cost::Gop { mean: ms(12), deviation: ms(1) };
    assert_eq!(cost(player), (gop, Late::Skip, ms(40)));
    let correlated =
        Cost::Correlated { mean: ms(12), deviation: ms(4), correlation: Share(875_000) };
    assert_eq!(cost(frames), (correlated, Late::Rephase, Span(33_300_000)));
    let levels = Cost::Scenes { mean: ms(12), deviation: ms(4), frames: 50 };
    assert_eq!(cost(scenes), (levels, Late::Grid, ms(80)));
    assert_eq!(scenes.nice, Nice::new(-5).unwrap());

    let burst = Cost::Normal { mean: ms(2), deviation: Span(500_000) };
    assert_eq!(editor.work, Work::Interactive { burst, think: Gap::Exponential(ms(200)) });
    let think = Gap::Uniform { least: Span::ZERO, most: ms(1000) };
    assert_eq!(page.work, Work::Interactive { burst: Cost::Fixed(ms(5)), think });
    assert_eq!((page.count, &page.server), (3, &TaskServer::Group("browser".into())));
    assert_eq!(page.changes[0].nice, Nice::new(19));
    assert_eq!(server.work, Work::Poller { poll: Gap::Exponential(ms(10)) });
    let steps = vec![Step::Run(ms(5)), Step::Until(ms(26)), Step::Sleep(ms(1000))];
    assert_eq!(script.work, Work::Script { steps, repeat: true });
    assert_eq!((compile.nice.get(), &compile.work), (19, &Work::CpuBound));

    let recording = RecordedTasks {
        path: "folder/captures/sched.txt".into(),
        sleeps: RecordedSleeps::Wakers,
        only: vec!["firefox".into(), "pipe \"w\"".into()],
        join: at(2000),
    };
    assert_eq!(s.recordings, [recording]);

    let names: Vec<String> = s.each().map(|(name, _)| name).collect();
    assert_eq!((names.len(), names[2].as_str(), names[7].as_str()), (13, "player-1", "page-1"));
}

// Fails when the keys of [cpu] do not give the layout of policies.
#[test]
fn cpus_are_divided_into_clusters() {
    let several = "[cpu]\ncpus = 6\ncluster = 4\nsteal = false\nbalance = \"0 s\"\n\
                   [[task]]\nname = \"a\"\nwork = \"cpu-bound\"\naffinity = \" 0, 4-5\"\n";
    let s = good(several);
    let sizes: Vec<u32> =
        s.cpu.layout().unwrap().unwrap().clusters().iter().map(|c| c.len()).collect();
    assert_eq!(sizes, [4, 2]);
    let options = s.cpu.options();
    assert!(!options.steal && options.balance == Span::ZERO && options.reservations);
    let cpus: Vec<u32> = s.tasks[0].affinity.iter().map(|c| c.0).collect();
    assert_eq!(cpus, [0, 4, 5]);
    let printed = s.to_toml();
    assert_eq!(good(&printed), s, "{printed}");
}

// Fails when the printer forgets a key (tried: `phase`) or prints it in a way that reads differently.
#[test]
fn printed_scenarios_round_trip() {
    for text in [LEAST, FULL] {
        let scenario = good(text);
        let printed = scenario.to_toml();
        assert_eq!(good(&printed), scenario, "{printed}");
    }
}

// Fails when a file is read as another kind than that of its section.
#[test]
fn sections_determine_the_kind() {
    let kind = |text: &str| Document::parse(text, "f.toml").map(|d| d.kind());
    assert_eq!(kind(LEAST).unwrap(), DocumentKind::Cpu);
    let lost = kind("[[task]]\nname = \"a\"\nwork = \"cpu-bound\"\n").unwrap_err();
    assert_eq!(lost.problems()[0].what, "`cpu` is missing");
    let recorded = kind("[cpu]\n[[recording]]\nfile = \"a.txt\"\n");
    assert_eq!(recorded.unwrap(), DocumentKind::Cpu);
}
