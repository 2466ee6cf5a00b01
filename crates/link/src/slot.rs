//! The slot of best effort: a deadline before its packet is chosen.
//!
//! Committing the next packet when its predecessor starts costs a packet of a sparse flow up to a
//! whole packet, and all real time that goes before that packet's deadline. Where flow queues or an
//! AQM choose, the aggregate instead owns one **slot** `(r_n, P_n, D_n)`, and its packet is chosen
//! at each decision:
//!
//! 1. The slot opens when its predecessor was used and best effort waits, or with the first arrival.
//!    `r_n = max(r_{n-1}, arrival of the candidate)` (`hol`: now), `P_n = W_{n-1}`, the bytes sent so
//!    far, and `D_n = max over i <= n of [ r_i + Einv(P_n + w - P_i) ]` with the candidate's size `w`.
//! 2. At a decision the candidate is chosen again. A larger one **raises** `D_n` to what it would
//!    have had, a smaller one keeps it; `r_n` and `P_n` stay.
//! 3. If `D_n` is at most the first real-time deadline, the candidate passes its AQM. If it is
//!    dropped, the next candidate is **asked for again**, as in step 2. If it starts, `W_n = P_n +`
//!    its size.
//! 4. Without a candidate the slot closes, and `W_n = P_n`. The history is forgotten as ever: when
//!    nothing waits and the wire is idle, or as [`assign`](crate::assign) permits.
//! 5. Packets that are pushed out change nothing but the candidate.
//!
//! Labels rise, and never fall: later slots are no earlier than `D_n`, though less was sent than
//! `D_n` counted.
//!
//! # Why no real-time packet is late
//!
//! Real time sees nothing of best effort but the start and size of its transmissions. Let a packet
//! due at `T` be late, and `t0` be the last instant before without pending work labelled `<= T`, or
//! the last start of a packet with a later label. A slot served in `(t0, T]` with a label `<= T` was
//! occupied without a gap since `r_n`, and its label has never fallen; with `r_n < t0` it would have
//! been pending work labelled `<= T` at `t0`. So `r_n >= t0`. Of the slots served in `(t0, T]` with
//! labels `<= T` let `i` be the first and `n` the last. The sizes sent in `i` to `n` sum to
//! `W_n - P_i <= E(D_n - r_i) <= E(T - t0)`, which is what Theorem 2 needs. ∎ Machine-checked:
//! `proofs/link/Slot.v`.
//!
//! Each half of "raise, never lower" is necessary, and so are the second question and the history
//! that survives a drop; `alternatives` in the tests has a link for each on which a packet is late
//! without it. Under `guarantee = "all"` the slot ends by its deadline, not each packet by the
//! deadline that it would have had alone.

#[cfg(test)]
mod alternatives;
#[cfg(test)]
mod driver;
#[cfg(test)]
mod exhaustive;

use laxity_core::Time;

use crate::pipeline::{Discipline, Labels};

/// The slot, while best effort waits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slot {
    open: Option<Open>,
    #[cfg(test)]
    pub(crate) variant: Variant,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    /// `r_n`.
    release: Time,
    /// Size of the largest candidate so far, with which `D_n` was computed.
    largest: u32,
    /// `D_n`.
    deadline: Time,
    #[cfg(test)]
    newest: u32,
}

/// Rules that differ from the slot's in one point and are unsafe, to show that tests find them.
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Variant {
    #[default]
    Safe,
    /// A larger candidate keeps the deadline.
    KeepsWhenLarger,
    /// After a drop the next candidate goes without another question.
    Unasked,
    /// A drop of the last best-effort packet resets the history.
    ResetsOnDrop,
    /// A smaller candidate lowers the deadline.
    LowersWhenSmaller,
}

impl Slot {
    /// Whether best effort has a slot.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Size and deadline that the slot counts with.
    pub(crate) fn pending(&self) -> Option<(u32, Time)> {
        self.open.map(|slot| (slot.largest, slot.deadline))
    }

    /// Opens the slot with a candidate of `wire` bytes.
    #[inline]
    pub(crate) fn open<D: Discipline>(
        &mut self,
        now: Time,
        (arrival, wire): (Time, u32),
        labels: &mut Labels<D>,
    ) {
        debug_assert!(self.open.is_none(), "the predecessor was neither used nor closed");
        let release = labels.release(now, arrival);
        let deadline = labels.discipline.assign(release, wire);
        self.open = Some(Open {
            release,
            largest: wire,
            deadline,
            #[cfg(test)]
            newest: wire,
        });
    }

    /// The deadline with a candidate of `wire` bytes.
    #[inline]
    pub(crate) fn offer<D: Discipline>(&mut self, wire: u32, labels: &mut Labels<D>) -> Time {
        let Some(slot) = &mut self.open else { return Time::MAX };
        #[cfg(test)]
        if self.variant == Variant::LowersWhenSmaller && wire < slot.newest {
            labels.discipline.settle(slot.release, slot.newest, 0);
            slot.deadline = labels.discipline.assign(slot.release, wire);
            (slot.largest, slot.newest) = (wire, wire);
            return slot.deadline;
        }
        #[cfg(test)]
        {
            slot.newest = wire;
        }
        if wire > slot.largest {
            let raised = labels.discipline.raise(slot.release, slot.largest, wire);
            slot.largest = wire;
            #[cfg(test)]
            if self.variant == Variant::KeepsWhenLarger {
                return slot.deadline;
            }
            slot.deadline = slot.deadline.max(raised);
        }
        slot.deadline
    }

    /// A candidate of `wire` bytes starts.
    #[inline]
    pub(crate) fn used<D: Discipline>(&mut self, wire: u32, labels: &mut Labels<D>) {
        let Some(slot) = self.open.take() else { return };
        debug_assert!(wire <= slot.largest, "a packet started that was not offered");
        if wire < slot.largest {
            labels.discipline.settle(slot.release, slot.largest, wire);
        }
    }

    /// No candidate is left.
    pub(crate) fn close<D: Discipline>(&mut self, labels: &mut Labels<D>) {
        let Some(slot) = self.open.take() else { return };
        labels.discipline.settle(slot.release, slot.largest, 0);
        #[cfg(test)]
        if self.variant == Variant::ResetsOnDrop {
            labels.discipline.reset();
        }
    }

    /// The deadlines have restarted: the slot counts as released at `release`.
    pub(crate) fn shorten(&mut self, release: Time, deadline: Time) {
        if let Some(slot) = &mut self.open {
            (slot.release, slot.deadline) = (release, deadline);
        }
    }

    /// Everything is assigned again, as released at `release`.
    pub(crate) fn relabel<D: Discipline>(&mut self, release: Time, labels: &mut Labels<D>) {
        if let Some(slot) = &mut self.open {
            slot.release = release;
            slot.deadline = labels.discipline.assign(release, slot.largest);
        }
    }
}
