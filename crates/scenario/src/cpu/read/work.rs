//! `work` of a task.

use laxity_core::Span;

use crate::cpu::model::{Cost, Gap, LEAST_COST, Late, Reserved, Step, Work};
use crate::keys::{Kind, nearest};
use crate::problem::Problems;
use crate::quantity::print_span;
use crate::read::values;
use crate::read::walk::{self, Section, shown};

/// A job of the whole budget in each period.
pub(super) fn whole_budgets(reserved: Reserved) -> Work {
    let laxity_cpu::Reservation { budget, period, deadline } = reserved.reservation;
    Work::Periodic { period, cost: Cost::Fixed(budget), deadline, late: late(Some(reserved)) }
}

/// Default of `late`. Jobs of hard reservations are never late, and where
/// they are all the same, as after an overrun, a guarantee is for a fixed grid.
fn late(reserved: Option<Reserved>) -> Late {
    if reserved.is_some_and(|r| r.hard) { Late::Grid } else { Late::Rephase }
}

/// Reads the work of a task. Its forms stand in the table of keys in this order.
pub(super) fn read(
    task: &Section<'_>,
    reserved: Option<Reserved>,
    out: &mut Problems<'_>,
) -> Option<Work> {
    let (key, value) = task.get("work")?;
    if let Some(text) = value.get_ref().as_str() {
        let Kind::Forms(forms) = key.kind else { return None };
        if text == "cpu-bound" {
            return Some(Work::CpuBound);
        }
        let what = format!("unknown work \"{}\"", shown(text));
        let remedy = match nearest(text, ["cpu-bound"]) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => forms.usage(),
        };
        task.wrong("work", out, what, remedy);
        return None;
    }
    let (form, section) = task.form("work", out)?;
    match form {
        0 => {
            let burst = cost(&section, "burst", out);
            let think = gap(&section, "think", out);
            Some(Work::Interactive { burst: burst?, think: think? })
        }
        1 => periodic(&section, reserved, out),
        2 => {
            let poll = gap(&section, "poll", out)?;
            if matches!(poll, Gap::Fixed(Span::ZERO) | Gap::Uniform { most: Span::ZERO, .. }) {
                let remedy = "give it more than zero, like poll = \"10 ms\"";
                section.wrong("poll", out, "infinitely many events occur at one instant", remedy);
                return None;
            }
            Some(Work::Poller { poll })
        }
        _ => script(&section, out),
    }
}

fn periodic(
    section: &Section<'_>,
    reserved: Option<Reserved>,
    out: &mut Problems<'_>,
) -> Option<Work> {
    let period = section.positive_time("period", out);
    let cost = cost(section, "cost", out);
    let deadline = match section.has("deadline") {
        true => section.positive_time("deadline", out),
        false => period,
    };
    let late = match section.choice("late", out) {
        Some(i) => [Late::Rephase, Late::Skip, Late::Grid][i],
        None => late(reserved),
    };
    Some(Work::Periodic { period: period?, cost: cost?, deadline: deadline?, late })
}

fn script(section: &Section<'_>, out: &mut Problems<'_>) -> Option<Work> {
    let steps = values::steps(section, "steps", out)?;
    let repeat = section.boolean("repeat", out).unwrap_or(false);
    let lasts = |step: &Step| !matches!(step, Step::Run(Span::ZERO) | Step::Sleep(Span::ZERO));
    let goes_on = |step: &Step| lasts(step) && !matches!(step, Step::Until(_));
    if repeat && !steps.iter().any(goes_on) {
        let what = "the steps take no time from the second repetition on";
        let remedy = "let one of them `run` or `sleep` for more than zero, or remove `repeat`";
        section.wrong("steps", out, what, remedy);
        return None;
    }
    Some(Work::Script { steps, repeat })
}

/// Computation of a job: a time, or a distribution of times.
fn cost(section: &Section<'_>, name: &str, out: &mut Problems<'_>) -> Option<Cost> {
    let (_, value) = section.get(name)?;
    if !value.get_ref().is_table() {
        let cost = section.positive_time(name, out)?;
        return enough(section, name, cost, out).then_some(Cost::Fixed(cost));
    }
    let (form, inner) = section.form(name, out)?;
    if form == 0 {
        let (least, most) = values::range(&inner, "uniform", out)?;
        return enough(&inner, "uniform", most, out).then_some(Cost::Uniform { least, most });
    }
    let name = ["normal", "gop", "correlated", "scenes"][form - 1];
    let pair = inner.pair(name, out, walk::time);
    let correlation = match form {
        3 => values::percent(&inner, "correlation", out),
        _ => None,
    };
    let frames = match form {
        4 => values::whole(&inner, "frames", out),
        _ => None,
    };
    let (mean, deviation) = pair?;
    if !enough(&inner, name, mean, out) {
        return None;
    }
    Some(match form {
        1 => Cost::Normal { mean, deviation },
        2 => Cost::Gop { mean, deviation },
        3 => Cost::Correlated { mean, deviation, correlation: correlation? },
        _ => Cost::Scenes { mean, deviation, frames: frames? },
    })
}

fn enough(section: &Section<'_>, name: &str, cost: Span, out: &mut Problems<'_>) -> bool {
    if cost < LEAST_COST {
        let what = format!("a job of {} is too short", print_span(cost));
        let remedy = format!("give at least {}", print_span(LEAST_COST));
        section.wrong(name, out, what, remedy);
    }
    cost >= LEAST_COST
}

/// A duration: a time, or a distribution of times.
fn gap(section: &Section<'_>, name: &str, out: &mut Problems<'_>) -> Option<Gap> {
    let (_, value) = section.get(name)?;
    if !value.get_ref().is_table() {
        return section.time(name, out).map(Gap::Fixed);
    }
    let (form, inner) = section.form(name, out)?;
    if form == 0 {
        let (least, most) = values::range(&inner, "uniform", out)?;
        return Some(Gap::Uniform { least, most });
    }
    inner.positive_time("exponential", out).map(Gap::Exponential)
}
