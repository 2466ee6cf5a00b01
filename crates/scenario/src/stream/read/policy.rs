//! `[policy]` of a stream scenario.

use crate::options;
use crate::read::walk::Section;
use crate::read::{Context, policies};
use crate::stream::model::StreamPolicyChoice;
use crate::stream::policies::POLICIES;

pub(super) fn read(section: &Section<'_>, cx: &mut Context<'_, '_>) -> StreamPolicyChoice {
    let mut choice = StreamPolicyChoice::default();
    (choice.use_, choice.compare) = policies::read(section, &choice.use_, cx.out);
    options::read(section, POLICIES, &mut choice, cx.out);
    choice
}
