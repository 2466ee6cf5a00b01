//! `[policy]` of a CPU scenario.

use laxity_cpu::clusters::{self, Layout};
use laxity_cpu::registry::POLICIES;

use crate::cpu::model::{Cpu, CpuPolicyChoice};
use crate::options;
use crate::problem::Problems;
use crate::read::policies;
use crate::read::walk::Section;

pub(super) fn read(
    section: &Section<'_>,
    cpu: Option<Cpu>,
    out: &mut Problems<'_>,
) -> CpuPolicyChoice {
    let mut choice = CpuPolicyChoice::default();
    (choice.use_, choice.compare) = policies::read(section, &choice.use_, out);
    options::read(section, POLICIES, &mut choice.options, out);
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
