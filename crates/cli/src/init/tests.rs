//! Answers, questions, and that what is written is admitted.

use laxity_analysis::link::analyse;
use laxity_core::{Bytes, Rate, Span};
use laxity_scenario::link::model::{Aqm, QueueBy, Scenario};

use super::admission::admitted;
use super::answers::{Answers, Machine, Terminal, answers};
use super::args::InitArgs;
use super::error::InitError;
use super::line::Line;
use super::presets::{Direction, PRESETS};

fn args() -> InitArgs {
    InitArgs {
        up: None,
        down: None,
        line: None,
        wan: None,
        with: None,
        deadline: Vec::new(),
        share: "95%".into(),
        jitter: "155 ms".into(),
        output: ".".into(),
        force: false,
        cpus: false,
        sample: "3s".into(),
    }
}

fn given() -> InitArgs {
    InitArgs {
        up: Some("20mbit".into()),
        down: Some("100 Mbit/s".into()),
        line: Some("ethernet".into()),
        wan: Some("eth0".into()),
        with: Some("game,voice".into()),
        ..args()
    }
}

const ETHERNET: &dyn Fn(&str) -> Option<String> = &|_| Some("1\n".into());

fn read(args: &InitArgs) -> Result<Answers, InitError> {
    answers(args, &Machine { default_route: None, link_type: ETHERNET }, None)
}

/// Answers a session with the lines of `input`; also what was asked.
fn session(
    args: &InitArgs,
    route: Option<&str>,
    input: &str,
) -> (Result<Answers, InitError>, String) {
    let (mut input, mut output) = (input.as_bytes(), Vec::new());
    let machine = Machine { default_route: route.map(Into::into), link_type: ETHERNET };
    let terminal = Terminal { input: &mut input, output: &mut output };
    let answers = answers(args, &machine, Some(terminal));
    (answers, String::from_utf8(output).unwrap())
}

fn names(answers: &Answers) -> Vec<&'static str> {
    answers.with.iter().map(|(preset, _)| preset.name).collect()
}

// Fails when an empty answer is not the default, a wrong answer ends the session or is taken, or an
// option is asked for although it is given.
#[test]
fn a_session_asks_until_every_answer_can_be_used() {
    let input = "fast\n20mbit\n0.1gbit\nfibre\n\n\nvoice, meet\n";
    let (answers, asked) = session(&args(), Some("wan0"), input);
    let answers = answers.unwrap();
    assert_eq!((answers.up, answers.down), (Rate(20_000_000), Rate(100_000_000)));
    assert_eq!((answers.line.name().as_str(), answers.wan.as_str()), ("conservative", "wan0"));
    assert_eq!((names(&answers), answers.share), (vec!["voice", "meet"], 95));
    assert_eq!((answers.jitter, answers.header), (Span::from_millis(155), Bytes(14)));
    assert_eq!(asked.matches("Upstream rate").count(), 2, "{asked}");
    assert!(asked.contains("--line `fibre`") && asked.contains("[wan0]"), "{asked}");

    let (answers, asked) = session(&InitArgs { with: None, ..given() }, None, "none\n");
    assert_eq!(names(&answers.unwrap()), Vec::<&str>::new());
    assert!(asked.starts_with("Traffic") && asked.matches(": ").count() == 2, "{asked}");
}

// Fails when the end of the input is an endless loop, or the option that would help is not named.
#[test]
fn the_end_of_the_input_names_the_option() {
    for (input, option) in [("", "--up"), ("1mbit\n", "--down"), ("1mbit\n2mbit\n\n", "--wan")] {
        let (answers, _) = session(&args(), None, input);
        assert_eq!(answers.unwrap_err(), InitError::Ended { option });
    }
}

// Fails when something missing is guessed: tried with `conservative` for a missing --line.
#[test]
fn without_a_terminal_missing_options_are_named() {
    let missing = |args: &InitArgs| match read(args) {
        Err(InitError::Missing(options)) => options,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing(&args()), ["--up", "--down", "--line", "--wan", "--with"]);
    assert_eq!(missing(&InitArgs { line: None, ..given() }), ["--line"]);
    assert_eq!(missing(&InitArgs { wan: None, ..given() }), ["--wan"]);
    let route = Machine { default_route: Some("ppp0".into()), link_type: &|_| Some("512".into()) };
    let found = answers(&InitArgs { wan: None, ..given() }, &route, None).unwrap();
    assert_eq!((found.wan.as_str(), found.header), ("ppp0", Bytes(0)));
}

// Fails when a value out of range is accepted, or the error names another option.
#[test]
fn wrong_values_name_their_option() {
    let set = |change: &dyn Fn(&mut InitArgs)| {
        let mut args = given();
        change(&mut args);
        match read(&args) {
            Err(InitError::Value { option, reason, .. }) => {
                assert!(!reason.is_empty());
                option
            }
            other => panic!("{other:?}"),
        }
    };
    for wrong in ["", "20", "63kbit", "2Tbit/s", "-1mbit", "20mbps", "1e9bit", "mbit"] {
        assert_eq!(set(&|args| args.up = Some(wrong.into())), "--up", "{wrong}");
        assert_eq!(set(&|args| args.down = Some(wrong.into())), "--down", "{wrong}");
    }
    for wrong in ["0%", "101%", "95.5%", "", "%", "+95%"] {
        assert_eq!(set(&|args| args.share = wrong.into()), "--share", "{wrong}");
    }
    for wrong in ["11 s", "155", "-1 ms"] {
        assert_eq!(set(&|args| args.jitter = wrong.into()), "--jitter", "{wrong}");
    }
    for wrong in ["voice", "voice=0ms", "meet=10ms", "voice=20"] {
        assert_eq!(set(&|args| args.deadline = vec![wrong.into()]), "--deadline", "{wrong}");
    }
    assert_eq!(set(&|args| args.with = Some("voice,chess".into())), "--with");
    assert_eq!(set(&|args| args.with = Some("none,voice".into())), "--with");
    assert_eq!(set(&|args| args.with = Some(",".into())), "--with");
    assert_eq!(set(&|args| args.line = Some("dsl".into())), "--line");
    assert_eq!(set(&|args| args.wan = Some("../x".into())), "--wan");
}

/// Whether `laxity check` admits a scenario.
fn check(scenario: &Scenario) -> bool {
    analyse(scenario, &scenario.policy.use_).unwrap().admitted
}

/// Pseudo-random numbers (xorshift64*), the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Evenly distributed in its number of digits from 64 kbit/s to 10 Gbit/s.
    fn rate(&mut self) -> Rate {
        let decade = 10u64.pow((self.next() % 6) as u32);
        Rate((64_000 + self.next() % 576_000) * decade).min(Rate(10_000_000_000))
    }
}

/// Every kind of line, VLANs and both kinds of interface, beside every subset of presets, at random
/// rates: the scenario reads back and is admitted, or a preset is named and each change that is offered
/// makes the rest fit.
///
/// Fails when a preset exceeds what the link can hold, or a suggestion is not enough: tried with a
/// rate rounded down, and with a preset that does not fit kept among those that do.
#[test]
fn scenarios_are_admitted_or_refused_with_what_would_fit() {
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let (mut written, mut refused) = (0, 0);
    for (i, kind) in Line::kinds().enumerate() {
        for subset in (0..4u32 << PRESETS.len()).map(|n| n % (1 << PRESETS.len())) {
            let modifier = [kind.to_owned(), format!("{kind} ether-vlan")];
            let with = PRESETS.iter().enumerate().filter(|(k, _)| subset & 1 << k != 0);
            let answers = Answers {
                up: numbers.rate(),
                down: numbers.rate(),
                line: Line::parse(&modifier[subset as usize % 2]).unwrap(),
                wan: "eth0".into(),
                header: Bytes(14 * (i as u64 / 2 % 2)),
                with: with.map(|(_, preset)| (preset, preset.deadline)).collect(),
                share: 95,
                jitter: Span::from_millis(155 * (numbers.next() % 2)),
            };
            for direction in Direction::BOTH {
                match admitted(&answers, direction) {
                    Ok(draft) => {
                        written += 1;
                        assert!(check(&draft.scenario), "{answers:?} {direction:?}");
                        let path = draft.scenario.path.clone();
                        let again = Scenario::parse(&draft.scenario.to_toml(), path).unwrap();
                        assert_eq!(again, draft.scenario);
                        assert_runs_live(&draft.scenario);
                        let classes = &draft.scenario.best_effort;
                        assert!(classes.iter().all(|c| {
                            let by = c.flows.map(|flows| flows.by);
                            by == Some(QueueBy::HostAndFlow) && matches!(c.aqm, Aqm::Codel { .. })
                        }));
                    }
                    Err(InitError::DoesNotFit(misfit)) => {
                        refused += 1;
                        assert_eq!(misfit.direction, direction);
                        holds_after(&answers, &misfit);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
    assert!(written > 2000 && refused > 1000, "{written} written, {refused} refused");
}

/// The kernel takes the rate, the flows and the limits of a scenario; its flow queues and AQM are
/// tested where the kernel's part is.
#[track_caller]
fn assert_runs_live(scenario: &Scenario) {
    let mut plain = scenario.clone();
    for class in &mut plain.best_effort {
        (class.flows, class.aqm) = (None, Aqm::None);
    }
    if let Err(error) = laxity_kernel::plan::Plan::new(&plain) {
        panic!("{error}: {}", scenario.to_toml());
    }
}

/// Each change of a misfit leads to an admitted scenario.
fn holds_after(answers: &Answers, misfit: &super::error::Misfit) {
    let direction = misfit.direction;
    let fits = |change: &dyn Fn(&mut Answers)| {
        let mut changed = answers.clone();
        change(&mut changed);
        let fits = admitted(&changed, direction).is_ok_and(|draft| check(&draft.scenario));
        assert!(fits, "{answers:?} {misfit:?}");
    };
    let keep = |changed: &mut Answers, names: &[&str]| {
        changed.with.retain(|(preset, _)| names.contains(&preset.name));
    };
    let part = [&misfit.beside[..], &[misfit.preset]].concat();
    fits(&|changed| keep(changed, &misfit.with));
    if let Some(rate) = misfit.rate {
        assert!(rate > answers.rate(direction));
        fits(&|changed| {
            keep(changed, &part);
            (changed.up, changed.down) = (rate, rate);
        });
    }
    if let Some(deadline) = misfit.deadline {
        fits(&|changed| {
            keep(changed, &part);
            let place = changed.with.iter_mut().find(|(preset, _)| preset.name == misfit.preset);
            place.unwrap().1 = deadline;
        });
    }
    if let Some(jitter) = misfit.jitter {
        assert!(jitter < answers.jitter);
        fits(&|changed| {
            keep(changed, &part);
            changed.jitter = jitter;
        });
    }
}

// Fails when downstream envelopes leave the jitter out: tried with a jitter of zero there.
#[test]
fn downstream_envelopes_admit_the_jitter() {
    let answers = read(&given()).unwrap();
    let [up, down] = Direction::BOTH.map(|d| admitted(&answers, d).unwrap().scenario);
    for (up, down) in up.realtime.iter().zip(&down.realtime) {
        assert_eq!(up.name, down.name);
        let preset = PRESETS.iter().find(|p| p.name == up.name).unwrap();
        let late = |rate: Rate| (rate.0 * 155 / 1000).div_ceil(8);
        assert_eq!(up.envelope.burst(), Bytes(1514));
        assert_eq!(down.envelope.burst(), Bytes(1514 + late(preset.down.rate)));
    }
}

// Fails when the message does not name the preset, those beside it and the changes that would do.
#[test]
fn a_misfit_says_what_would_fit() {
    let narrow =
        InitArgs { up: Some("4mbit".into()), with: Some("voice,meeting".into()), ..given() };
    let answers = read(&narrow).unwrap();
    let error = admitted(&answers, Direction::Up).unwrap_err().to_string();
    for part in ["`meeting`", "up beside voice", "--with voice;", "--deadline meeting=", "--up '"] {
        assert!(error.contains(part), "`{part}` is not in {error}");
    }
    assert!(!error.contains("--jitter"), "{error}");
}
