//! `[policy]` of a CPU scenario.

use laxity_core::OptionKind;
use laxity_cpu::clusters::{self, Layout};
use laxity_cpu::registry::{Options, POLICIES};
use laxity_cpu::{OptionFault, Value};

use crate::cpu::model::{Cpu, CpuPolicyChoice};
use crate::problem::Problems;
use crate::quantity::print_span;
use crate::read::policies;
use crate::read::values;
use crate::read::walk::Section;

pub(super) fn read(
    section: &Section<'_>,
    cpu: Option<Cpu>,
    out: &mut Problems<'_>,
) -> CpuPolicyChoice {
    let mut choice = CpuPolicyChoice::default();
    (choice.use_, choice.compare) = policies::read(section, &choice.use_, out);
    for policy in POLICIES.iter().filter(|p| section.known(p.name)) {
        if let Some(section) = section.table(policy.name, out) {
            options(&section, policy.name, &mut choice.options, out);
        }
    }
    if let Some(Ok(Some(layout))) = cpu.map(|cpu| cpu.layout()) {
        can_run(section, &choice, &layout, out);
    }
    choice
}

/// Whether every policy can run on CPUs divided so.
fn can_run(
    section: &Section<'_>,
    choice: &CpuPolicyChoice,
    layout: &Layout,
    out: &mut Problems<'_>,
) {
    let compared = choice.compare.iter().map(|name| ("compare", name));
    for (key, name) in std::iter::once(("use", &choice.use_)).chain(compared) {
        let built = clusters::build(name, &choice.options, layout, clusters::Options::default());
        if let Err(error) = built {
            let text = error.to_string();
            let (what, remedy) = text.split_once(": ").unwrap_or((&text, ""));
            section.wrong(key, out, what, remedy);
        }
    }
}

fn options(section: &Section<'_>, policy: &str, options: &mut Options, out: &mut Problems<'_>) {
    let infos = laxity_cpu::registry::find(policy).map_or(&[][..], |p| p.options);
    for option in infos {
        let value = match option.kind {
            OptionKind::Bool => section.boolean(option.name, out).map(Value::Bool),
            OptionKind::Time => section.time(option.name, out).map(Value::Time),
            OptionKind::Integer => values::whole(section, option.name, out).map(Value::Integer),
            OptionKind::Choice(names) => {
                let place = section.choice(option.name, out);
                place.and_then(|i| names.get(i)).map(|name| Value::Choice(name))
            }
            // No policy has an option of a rate.
            OptionKind::Rate | OptionKind::RatePair => None,
        };
        let Some(value) = value else { continue };
        if let Err(fault) = options.set(policy, option.name, value) {
            let remedy = match fault {
                OptionFault::Range { least, most } => {
                    format!("give from {} to {}", written(least), written(most))
                }
                other => other.to_string(),
            };
            let what = format!("{} is out of range", written(value));
            section.wrong(option.name, out, what, remedy);
        }
    }
    if let Err(fault) = options.check(policy) {
        let key = if section.has("least") { "least" } else { "most" };
        section.wrong(key, out, fault.to_string(), "lower `least`, or raise `most`");
    }
}

/// A value as a scenario has it, without quotes.
fn written(value: Value) -> String {
    match value {
        Value::Time(span) => print_span(span),
        other => other.to_string(),
    }
}
