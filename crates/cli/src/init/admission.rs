//! Whether the presets fit onto the line, and what would where they do not.

use laxity_core::{Rate, Span};
use laxity_curve::Envelope;
use laxity_scenario::link::model::Scenario;

use super::answers::Answers;
use super::draft::{Draft, draft};
use super::error::{InitError, Misfit};
use super::presets::Direction;

/// Largest rate and deadline that are suggested.
const MOST_RATE: Rate = Rate(1_000_000_000_000);
const MOST_MILLIS: u64 = 10_000;

/// The scenario of a direction, which is admitted.
///
/// # Errors
/// [`InitError::DoesNotFit`] for the first preset that is not admitted beside those before it.
pub fn admitted(answers: &Answers, direction: Direction) -> Result<Draft, InitError> {
    let draft = draft(answers, direction)?;
    if holds(&draft.scenario) {
        return Ok(draft);
    }
    Err(InitError::DoesNotFit(Box::new(misfit(answers, direction, &draft.scenario))))
}

/// Whether `laxity check` admits a scenario.
fn holds(scenario: &Scenario) -> bool {
    let setup = scenario.setup();
    let flows = setup.flow_specs();
    flows.is_ok_and(|flows| {
        laxity_curve::check(&setup.link_spec(), &flows).is_ok_and(|verdict| verdict.admitted)
    })
}

/// The first preset that does not fit, with changes; called with a scenario that is not admitted.
fn misfit(answers: &Answers, direction: Direction, all: &Scenario) -> Misfit {
    // Flows of the scenario are the presets of the answers, in their order.
    let mut fitting: Vec<usize> = Vec::new();
    let mut first = None;
    for k in 0..all.realtime.len() {
        fitting.push(k);
        if !holds(&only(all, &fitting)) {
            fitting.pop();
            first.get_or_insert((k, fitting.clone()));
        }
    }
    // A set whose parts all fit fits itself, so there is a first one.
    let (k, before) = first.unwrap_or((0, Vec::new()));
    let names = |flows: &[usize]| flows.iter().map(|k| answers.with[*k].0.name).collect();
    let mut part = before.clone();
    part.push(k);
    let part = only(all, &part);
    let last = part.realtime.len() - 1;

    let millis = least(1..=MOST_MILLIS, |millis| {
        let mut longer = part.clone();
        longer.realtime[last].deadline = Span::from_millis(millis);
        holds(&longer)
    });
    Misfit {
        direction,
        preset: answers.with[k].0.name,
        beside: names(&before),
        with: names(&fitting),
        rate: rate(answers, direction, &part),
        deadline: millis.map(Span::from_millis),
        jitter: jitter(answers, direction, &part),
    }
}

/// A scenario with some of its real-time flows.
fn only(scenario: &Scenario, flows: &[usize]) -> Scenario {
    let mut part = scenario.clone();
    part.realtime = flows.iter().map(|k| scenario.realtime[*k].clone()).collect();
    part
}

/// The least value of a range for which a condition holds that holds for all larger ones.
fn least(range: std::ops::RangeInclusive<u64>, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = range.into_inner();
    if !holds(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

/// Least rate of the line with which a scenario is admitted, rounded up to three digits.
fn rate(answers: &Answers, direction: Direction, part: &Scenario) -> Option<Rate> {
    let admits = |line: u64| {
        let mut faster = part.clone();
        faster.link.rate = answers.line.rate(Rate(line), answers.share);
        holds(&faster)
    };
    let least = least(answers.rate(direction).0..=MOST_RATE.0, admits)?;
    let unit = 10u64.pow(least.checked_ilog10().unwrap_or(0).saturating_sub(2));
    Some(Rate(least.div_ceil(unit) * unit)).filter(|rate| admits(rate.0))
}

/// Largest jitter with which a scenario is admitted, where a smaller one is enough.
fn jitter(answers: &Answers, direction: Direction, part: &Scenario) -> Option<Span> {
    let most = answers.jitter(direction).0 / Span::from_millis(1).0;
    let admits = |millis: u64| {
        let mut calmer = part.clone();
        for flow in &mut calmer.realtime {
            let Some((preset, _)) = answers.with.iter().find(|(p, _)| p.name == flow.name) else {
                return false;
            };
            let packet = answers.max_packet();
            let buckets = preset.buckets(direction, packet, Span::from_millis(millis));
            let envelope = Envelope::buckets(&buckets, packet)
                .and_then(|envelope| envelope.with_min_packet(preset.min_packet));
            match envelope {
                Ok(envelope) => flow.envelope = envelope,
                Err(_) => return false,
            }
        }
        holds(&calmer)
    };
    if most == 0 {
        return None;
    }
    // Searched by what is taken away, because less is easier.
    let taken = least(0..=most, |taken| admits(most - taken))?;
    Some(Span::from_millis(most - taken))
}
