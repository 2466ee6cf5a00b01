//! `[policy]`

use crate::link::model::{
    Blocking, FairQueue, Guarantee, PolicyChoice, Release, Restart, ShiftedLine, TwoSegment,
};
use crate::problem::Problems;
use crate::quantity::print_rate;
use crate::read::walk::{self, Section};
use crate::read::{Context, policies};

pub(super) fn read(section: &Section<'_>, cx: &mut Context<'_, '_>) -> Option<PolicyChoice> {
    let mut choice = PolicyChoice::default();
    (choice.use_, choice.compare) = policies::read(section, &choice.use_, cx.out);
    if let Some(i) = section.choice("fair_queue", cx.out) {
        choice.fair_queue = [FairQueue::Wfq, FairQueue::Scfq, FairQueue::Wf2qPlus][i];
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
        choice.restart = [Restart::Sooner, Restart::Idle][i];
    }
    if let Some(slack) = section.table("slack", cx.out) {
        choice.always_check = slack.boolean("always-check", cx.out).unwrap_or(false);
        if let Some(silence) = slack.time("release-idle", cx.out) {
            choice.release_idle = silence;
        }
        choice.pass_refused = slack.boolean("pass-refused", cx.out).unwrap_or(false);
    }
    if let Some(tbs) = section.table("tbs", cx.out) {
        choice.tbs = tbs.positive_rate("slope", cx.out);
    }
    if let Some(line) = section.table("shifted-line", cx.out) {
        let slope = line.positive_rate("slope", cx.out);
        let shift = line.time("shift", cx.out);
        choice.shifted_line = slope.zip(shift).map(|(slope, shift)| ShiftedLine { slope, shift });
    }
    if let Some(lines) = section.table("two-segment", cx.out) {
        choice.two_segment = two_segment(&lines, cx.out);
    }
    Some(choice)
}

fn two_segment(section: &Section<'_>, out: &mut Problems<'_>) -> Option<TwoSegment> {
    let slopes = section.pair("slopes", out, walk::rate);
    let corner = section.positive_time("corner", out);
    let ((first, second), corner) = slopes.zip(corner)?;
    if first.0 == 0 || first > second {
        let what = match first.0 {
            0 => "the first slope is zero".into(),
            _ => format!("{} is steeper than {}", print_rate(first), print_rate(second)),
        };
        section.wrong("slopes", out, what, "give two positive slopes, the smaller one first");
        return None;
    }
    Some(TwoSegment { first, second, corner })
}
