//! `[policy]` of a stream scenario.

use std::num::NonZeroU32;

use laxity_core::Span;
use laxity_stream::{Check, Options, Order, RuleA, RuleC, ZeroTie};

use crate::problem::Problems;
use crate::read::values::{self, Or};
use crate::read::walk::Section;
use crate::read::{Context, policies};
use crate::stream::model::{StreamPolicyChoice, Tuning};
use crate::stream::policies::{DWCS, STRUCTURES, keeps};

pub(super) fn read(section: &Section<'_>, cx: &mut Context<'_, '_>) -> StreamPolicyChoice {
    let mut choice = StreamPolicyChoice::default();
    (choice.use_, choice.compare) = policies::read(section, &choice.use_, cx.out);
    for (variant, tuning) in DWCS.iter().zip(&mut choice.tuning) {
        if let Some(section) = section.table(variant.info.name, cx.out) {
            tune(&section, &mut tuning.options, cx.out);
            structure(&section, tuning, cx.out);
        }
    }
    choice
}

fn structure(section: &Section<'_>, tuning: &mut Tuning, out: &mut Problems<'_>) {
    let Some(i) = section.choice("structure", out) else { return };
    tuning.structure = STRUCTURES[i];
    if let Err(error) = keeps(tuning.structure, &tuning.options) {
        let what = format!("`{}` cannot keep this order", error.structure);
        section.wrong("structure", out, what, error.remedy);
    }
}

/// Time limit of a governed decision: about that of one with a million streams.
pub(crate) const DEFAULT_BUDGET: Span = Span(1_000);
/// A governed scheduler checks deadlines at least this often.
pub(crate) const DEFAULT_CHECK_MOST: NonZeroU32 = NonZeroU32::new(256).unwrap();

fn check(section: &Section<'_>, options: &mut Options, out: &mut Problems<'_>) {
    let budget = section.positive_time("budget", out);
    let most = values::whole(section, "check-most", out).and_then(NonZeroU32::new);
    let check = values::whole_or(section, "check", out);
    match check {
        Some(Or::Value(n)) => {
            options.check = NonZeroU32::new(n).map_or(options.check, Check::Every);
        }
        Some(Or::Name(_)) => {
            let budget = budget.unwrap_or(DEFAULT_BUDGET);
            options.check = Check::Adaptive { budget, most: most.unwrap_or(DEFAULT_CHECK_MOST) };
            return;
        }
        None if section.has("check") => return,
        None => {}
    }
    for key in ["budget", "check-most"].into_iter().filter(|k| section.has(k)) {
        let what = format!("`{key}` means something only with check = \"adaptive\"");
        section.wrong(key, out, what, "remove it, or write check = \"adaptive\"");
    }
}

fn tune(section: &Section<'_>, options: &mut Options, out: &mut Problems<'_>) {
    if let Some(i) = section.choice("order", out) {
        options.order = [Order::DeadlineFirst, Order::ToleranceFirst][i];
    }
    if let Some(i) = section.choice("rule-a", out) {
        options.rule_a = [RuleA::Rolling, RuleA::Printed][i];
    }
    if let Some(i) = section.choice("rule-c", out) {
        options.rule_c = [RuleC::Tag, RuleC::Reset, RuleC::Widen][i];
    }
    check(section, options, out);
    options.settle = section.boolean("settle", out).unwrap_or(options.settle);
    if let Some(ahead) = values::whole_or(section, "ahead", out) {
        options.ahead = match ahead {
            Or::Value(n) => NonZeroU32::new(n),
            Or::Name(_) => None,
        };
    }
    options.align = section.boolean("align", out).unwrap_or(options.align);
    if let Some(i) = section.choice("zero-tie", out) {
        options.zero_tie = [ZeroTie::Deadline, ZeroTie::FirstCome][i];
    }
}
