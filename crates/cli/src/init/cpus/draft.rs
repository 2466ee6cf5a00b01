//! The scenario: a reservation for the busiest thread of each program, as far as they are admitted.

use std::fmt::Write as _;
use std::time::Duration;

use laxity_analysis::cpu;
use laxity_core::Span;
use laxity_scenario::Document;
use laxity_scenario::quantity::print_span;

use super::programs::Measured;
use crate::failure::Failure;

/// Budget over the CPU time that was used on average.
const MARGIN: u64 = 2;
/// The least budget, and its steps, in ns.
const STEP_NS: u64 = 100_000;
const LEAST_NS: u64 = 500_000;
/// The largest part of a period that a proposal takes, in percent.
const MOST_PERCENT: u64 = 60;

/// A scenario and what is in it.
pub struct Draft {
    pub text: String,
    pub admitted: usize,
    pub refused: usize,
}

/// The scenario for programs on so many CPUs. One that is not admitted beside those before it stands in a
/// comment.
pub fn draft(measured: &[Measured], cpus: usize, sample: Duration) -> Result<Draft, Failure> {
    let mut draft = Draft { text: head(cpus, sample), admitted: 0, refused: 0 };
    for one in measured {
        let part = reservation(one, sample);
        let with = format!("{}{part}", draft.text);
        if is_admitted(&with)? {
            draft.text = with;
            draft.admitted += 1;
        } else {
            let quoted: String = part.trim().lines().map(|line| format!("# {line}\n")).collect();
            let _ = write!(draft.text, "\n# Does not fit beside those before it:\n{quoted}");
            draft.refused += 1;
        }
    }
    let _ = write!(
        draft.text,
        "\n# All else, so that a simulation has something to hold back.\n[[task]]\nname = \"others\"\ncount = {cpus}\n\
         work = \"cpu-bound\"\n"
    );
    Ok(draft)
}

fn head(cpus: usize, sample: Duration) -> String {
    format!(
        "# Reservations of CPU time for audio, video and games, as `laxity init --cpus` found them running. Each is\n\
         # for the busiest thread of a program, with {MARGIN} times the CPU time that it used over {:.0} s, at least {}.\n\
         # Play, call or look for a while, run it again, and give what stutters more.\n\
         #\n\
         # The commands in comments make the reservations live, after `sudo laxity cpu up`. Numbers of threads change\n\
         # when a program starts again; `laxity cpu run` starts one within a reservation.\n\n\
         [cpu]\ncpus = {cpus}\n\n[policy]\nuse = \"bebs-credit\"\n",
        sample.as_secs_f64().ceil(),
        print_span(Span(LEAST_NS)),
    )
}

fn reservation(one: &Measured, sample: Duration) -> String {
    let Measured { program, tid, thread, used } = one;
    let period_ns = program.kind.period_ms() * 1_000_000;
    let in_period = used.as_nanos() * u128::from(period_ns) / sample.as_nanos().max(1);
    let wanted = (in_period as u64).saturating_mul(MARGIN).max(LEAST_NS);
    let most = period_ns * MOST_PERCENT / 100;
    let budget = wanted.next_multiple_of(STEP_NS).min(most);
    let (budget, period) = (print_span(Span(budget)), print_span(Span(period_ns)));
    let letters = |text: &str| -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        text.chars().map(|c| if plain(c) { c } else { '-' }).collect()
    };
    let name = format!("{}-{tid}", letters(&program.name));
    let used = print_span(Span((in_period as u64).next_multiple_of(10_000)));
    let limit = match wanted > most {
        true => " It may need more than one CPU gives: reserve for its other threads, too.",
        false => "",
    };
    let (kind, why) = (program.kind.text(), &program.why);
    let options = |text: &str| text.replace(' ', "");
    format!(
        "\n# {kind}: {}, process {}, {why}.\n# Its thread {} used {used} of every {period}.{limit}\n\
         #     sudo laxity cpu reserve {tid} --runtime {} --period {}\n\
         [[reservation]]\nname = \"{name}\"\nbudget = \"{budget}\"\nperiod = \"{period}\"\n\n\
         [[task]]\nname = \"{name}\"\nreservation = \"{name}\"\n",
        letters(&program.name),
        program.pid,
        letters(thread),
        options(&budget),
        options(&period),
    )
}

fn is_admitted(text: &str) -> Result<bool, Failure> {
    let internal = |e: &dyn std::fmt::Display| Failure::Internal(format!("the proposal: {e}"));
    let document = Document::parse_with(text, "cpus.toml", &mut |_, _| Err("no files".to_owned()));
    match document.map_err(|e| internal(&e))? {
        Document::Cpu(scenario) => {
            let check = cpu::analyse(&scenario, &scenario.policy.use_).map_err(|e| internal(&e))?;
            Ok(check.admitted)
        }
        _ => Err(internal(&"another kind of scenario")),
    }
}
