//! `[policy]`

use laxity_link::registry;

use crate::link::model::{
    Blocking, FairQueue, FscOrder, Guarantee, PolicyChoice, Release, Restart,
};
use crate::link::sharing::FSC;
use crate::options;
use crate::read::walk::Section;
use crate::read::{Context, policies};

pub(super) fn read(section: &Section<'_>, cx: &mut Context<'_, '_>) -> Option<PolicyChoice> {
    let mut choice = PolicyChoice::default();
    (choice.use_, choice.compare) = policies::read(section, &choice.use_, cx.out);
    if let Some(i) = section.choice("fair_queue", cx.out) {
        let fsc = FairQueue::Fsc(FscOrder::default());
        choice.fair_queue = [FairQueue::Wfq, FairQueue::Scfq, FairQueue::Wf2qPlus, fsc][i];
    }
    if let Some(i) = section.choice("fair_order", cx.out) {
        match &mut choice.fair_queue {
            FairQueue::Fsc(order) => *order = [FscOrder::Finish, FscOrder::Start][i],
            _ => {
                let what = "`fair_order` has no effect under this `fair_queue`";
                let remedy = format!("write fair_queue = \"{FSC}\", or remove it");
                section.wrong("fair_order", cx.out, what, remedy);
            }
        }
    }
    if let Some(i) = section.choice("blocking", cx.out) {
        choice.blocking = [Blocking::Paper, Blocking::Exact][i];
    }
    if let Some(i) = section.choice("guarantee", cx.out) {
        choice.guarantee = [Guarantee::Realtime, Guarantee::All][i];
    }
    if let Some(i) = section.choice("release", cx.out) {
        choice.release = [Release::Arrival, Release::HeadOfLine][i];
    }
    if let Some(i) = section.choice("restart", cx.out) {
        choice.options.restart = [Restart::Sooner, Restart::Idle][i];
    }
    options::read(section, registry::POLICIES, &mut choice.options, cx.out);
    Some(choice)
}
