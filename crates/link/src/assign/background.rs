//! `background`: best effort only while no real-time packet waits.

use laxity_core::{Live, OptionTable, PolicyInfo, Time};

use crate::live;

use super::Assigner;

/// The paper's reference: best effort has no deadline, so any real-time packet goes first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Background;

impl Assigner for Background {
    const INFO: PolicyInfo = PolicyInfo {
        name: "background",
        summary: "EDF for real-time packets, best effort while none of them waits",
        source: "RTAS 2002, section 3 (the reference of its tables)",
        keeps_deadlines: true,
        live: &[live::BACKGROUND, Live::UserLink],
        options: &[],
        table: OptionTable::None,
    };

    #[inline]
    fn assign(&mut self, _release: Time, _wire: u32) -> Time {
        Time::MAX
    }

    fn reset(&mut self) {}

    const AFTER_REALTIME: bool = true;
}
