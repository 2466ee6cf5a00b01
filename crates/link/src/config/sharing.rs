//! The link-sharing tree of best effort under Fair Service Curve.

use laxity_core::Weight;
use laxity_curve::service::ServiceCurve;

/// What a class or group has in the link-sharing tree of [`FairQueue::Fsc`](super::FairQueue::Fsc).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Its service curve over virtual time, in place of a weight.
    pub curve: Option<ServiceCurve>,
    /// Upper limit `U` on its service in real time: a packet of it starts only once `U`, begun when
    /// it became backlogged, has reached what was sent before. It makes the link idle if nothing
    /// else waits.
    pub limit: Option<ServiceCurve>,
    /// The group that it is in, by its index; none stands directly below the link.
    pub group: Option<usize>,
}

/// An inner node of the link-sharing tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Share among its neighbours without curves.
    pub weight: Weight,
    /// Its curve, limit and group.
    pub sharing: Sharing,
}

impl Group {
    /// The most groups that a class may be in, one inside the other.
    pub const MAX_DEPTH: usize = 8;
}

/// The rule by which [`FairQueue::Fsc`](super::FairQueue::Fsc) chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FscOrder {
    /// The class whose curve reaches the end of its packet first: `finish`.
    #[default]
    Finish,
    /// The class whose curve reaches the begin of its packet first, as HFSC shares a link: `start`.
    Start,
}
