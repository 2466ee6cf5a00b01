//! The tree of a link's configuration.

use alloc::{boxed::Box, vec, vec::Vec};

use laxity_core::{Rate, Weight};
use laxity_curve::service::{AnchoredCurve, ServiceCurve};
use laxity_curve::{Curve, CurveError, Piece, Rational};

use super::family::Family;
use super::{Fsc, Limit, Node};
use crate::config::{FscOrder, Group, LinkConfig, LinkConfigError, RealtimeFlow, Sharing};
use crate::edf::tournament::Tournament;
use crate::fair::longest::Longest;
use crate::fair::shares::Shares;

/// Of the rate of a group, the least part that children without curves share, whatever the curves
/// of the others ask for.
const LEAST_PART: u64 = 100;

impl Fsc {
    /// The tree of best effort.
    ///
    /// # Errors
    /// A class in a group that does not exist, groups that contain each other or are nested too
    /// deep, or a curve beyond the range of its arithmetic.
    pub(crate) fn new(config: &LinkConfig, order: FscOrder) -> Result<Fsc, LinkConfigError> {
        let (classes, groups) = (config.best_effort.len(), &config.groups[..]);
        let parents = parents(config)?;
        let curves = curves(config, &parents)?;
        let root = classes + groups.len();
        let anchored = |curve: &ServiceCurve| AnchoredCurve::new(curve);
        let mut nodes = Vec::with_capacity(root + 1);
        for (index, curve) in curves.iter().enumerate() {
            let limit = sharing(config, index).and_then(|s| s.limit.as_ref());
            let limit = limit.map(anchored).transpose()?;
            nodes.push(Node {
                parent: parents[index] - classes,
                place: 0,
                curve: anchored(curve)?,
                work: 0,
                start: 0,
                active: false,
                candidate: None,
                hidden: false,
                limit: limit.map(|curve| Limit { curve, work: 0, until: 0 }),
            });
        }
        let families = (classes..=root).map(|node| {
            let mut children: Vec<usize> = (0..root).filter(|n| parents[*n] == node).collect();
            // In the order of the classes, whatever group they are in.
            children.sort_by_key(|child| (first_class(*child, classes, &parents), *child));
            for (place, child) in children.iter().enumerate() {
                nodes[*child].place = place;
            }
            Family::new(node, children.into_boxed_slice())
        });
        let families = families.collect();
        let rates = curves[..classes].iter().map(ServiceCurve::rate).collect::<Vec<_>>();
        Ok(Fsc {
            order,
            families,
            hidden: Vec::with_capacity(classes),
            held: Tournament::new(root),
            limited: nodes.iter().any(|node| node.limit.is_some()),
            nodes: nodes.into_boxed_slice(),
            root,
            stale: false,
            shares: Shares::new(&weights(&rates), false),
            backlog: Longest::new(classes),
        })
    }
}

/// The curve, limit and group of a class or group.
pub(super) fn sharing(config: &LinkConfig, node: usize) -> Option<&Sharing> {
    let classes = config.best_effort.len();
    match node.checked_sub(classes) {
        None => config.best_effort.get(node).map(|class| &class.sharing),
        Some(group) => config.groups.get(group).map(|group| &group.sharing),
    }
}

/// The inner node above each class and group.
pub(super) fn parents(config: &LinkConfig) -> Result<Vec<usize>, LinkConfigError> {
    let classes = config.best_effort.len();
    let root = classes + config.groups.len();
    let mut parents = Vec::with_capacity(root);
    for node in 0..root {
        let group = sharing(config, node).and_then(|s| s.group);
        if let Some(group) = group.filter(|group| *group >= config.groups.len()) {
            return Err(LinkConfigError::UnknownGroup { group });
        }
        parents.push(group.map_or(root, |group| classes + group));
    }
    for node in 0..root {
        let (mut above, mut depth) = (parents[node], 0);
        while above != root {
            depth += 1;
            let group = above - classes;
            if depth > Group::MAX_DEPTH {
                let cyclic = (classes..root).find(|group| is_above(*group, *group, &parents, root));
                return Err(match cyclic {
                    Some(node) => LinkConfigError::GroupCycle { group: node - classes },
                    None => LinkConfigError::GroupDepth { group },
                });
            }
            above = parents[above];
        }
    }
    Ok(parents)
}

/// Whether an inner node is above another one, within as many steps as there are nodes.
fn is_above(upper: usize, lower: usize, parents: &[usize], root: usize) -> bool {
    let mut above = parents[lower];
    for _ in 0..parents.len() {
        if above == upper || above == root {
            break;
        }
        above = parents[above];
    }
    above == upper
}

/// The first class below a node.
fn first_class(node: usize, classes: usize, parents: &[usize]) -> usize {
    let root = parents.len();
    let below = |class: &usize| *class == node || is_above(node, *class, parents, root);
    (0..classes).find(below).unwrap_or(classes)
}

/// What a class has under Fair Service Curve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassShare {
    /// Its curve, or the line of its weight.
    pub curve: ServiceCurve,
    /// Its part of best effort in the long run while all classes wait and no limit holds.
    pub part: Rational,
}

/// The shares of all classes, and the long-term rates that best effort gets while real time uses all
/// of its envelopes and that the curves directly below the link ask for.
///
/// # Errors
/// As for a policy with this configuration, and numbers beyond 128 bits.
pub fn class_shares(config: &LinkConfig) -> Result<(Vec<ClassShare>, Rate, Rate), LinkConfigError> {
    let parents = parents(config)?;
    let curves = curves(config, &parents)?;
    let below = |above: usize| {
        let children = curves.iter().zip(&parents).filter(move |(_, parent)| **parent == above);
        children.fold(0u64, |sum, (curve, _)| sum.saturating_add(curve.rate().0))
    };
    let root = parents.len();
    let share = |class: usize| {
        let (mut part, mut node) = (Rational::ONE, class);
        while node != root {
            let rate = Rational::new(curves[node].rate().0.into(), below(parents[node]).into())?;
            (part, node) = (part.times(rate)?, parents[node]);
        }
        Ok::<_, CurveError>(ClassShare { curve: curves[class].clone(), part })
    };
    let shares = (0..config.best_effort.len()).map(share).collect::<Result<_, _>>()?;
    Ok((shares, Rate(best_effort_rate(config)), Rate(below(root))))
}

/// What best effort gets in the long run while real time uses all of its envelopes, at least a
/// hundredth of the link.
fn best_effort_rate(config: &LinkConfig) -> u64 {
    let rate = |flow: &RealtimeFlow| match &flow.service {
        Some(service) if !service.policed => service.curve.rate(),
        _ => config.wire.envelope(&flow.envelope).map_or(config.rate, |e| e.rate()),
    };
    let reserved = config.realtime.iter().map(rate).fold(0u64, |sum, r| sum.saturating_add(r.0));
    remainder(config.rate.0, reserved)
}

fn remainder(rate: u64, used: u64) -> u64 {
    rate.saturating_sub(used).max(rate / LEAST_PART).max(1)
}

/// The curve of each class and group: its own, or the line of its weight. The children without
/// curves share the rate of their group, or of best effort, that the curves of the others leave.
pub(super) fn curves(
    config: &LinkConfig,
    parents: &[usize],
) -> Result<Vec<ServiceCurve>, CurveError> {
    let (classes, root) = (config.best_effort.len(), parents.len());
    let weight = |node: usize| match node.checked_sub(classes) {
        None => config.best_effort[node].weight,
        Some(group) => config.groups[group].weight,
    };
    let curve = |node: usize| sharing(config, node).and_then(|s| s.curve.clone());
    let mut curves: Vec<Option<ServiceCurve>> = vec![None; root];
    let mut open = vec![(root, best_effort_rate(config))];
    while let Some((above, rate)) = open.pop() {
        let children = || (0..root).filter(|node| parents[*node] == above);
        let own = children().filter_map(curve).fold(0u64, |sum, c| sum.saturating_add(c.rate().0));
        let rest = remainder(rate, own);
        let shared = children().filter(|node| curve(*node).is_none());
        let sum = shared.map(|node| u64::from(weight(node).0.max(1))).sum::<u64>();
        for node in children() {
            let own = match curve(node) {
                Some(curve) => curve,
                None => line(rest, weight(node), sum)?,
            };
            if node >= classes {
                open.push((node, own.rate().0));
            }
            curves[node] = Some(own);
        }
    }
    // Every node is below the root, so none is without a curve.
    Ok(curves.into_iter().flatten().collect())
}

/// The part `weight / sum` of a rate, as a line; exact, or a whole number of bit/s where the
/// fraction is too long.
fn line(rate: u64, weight: Weight, sum: u64) -> Result<ServiceCurve, CurveError> {
    let part = i128::from(rate) * i128::from(weight.0.max(1));
    let exact = Rational::new(part, i128::from(sum))?;
    let through_zero = |slope: Rational| {
        let piece = Piece { start: Rational::ZERO, slope, intercept: Rational::ZERO };
        ServiceCurve::new(Curve::affine(vec![piece])?)
    };
    let curve = through_zero(exact)?;
    match curve.inverse() {
        Ok(_) => Ok(curve),
        Err(_) => through_zero(Rational::whole(exact.floor().max(1))),
    }
}

/// Long-term rates as weights, for the comparison of backlogs.
fn weights(rates: &[Rate]) -> Box<[Weight]> {
    let most = rates.iter().map(|r| r.0).max().unwrap_or(1).max(u32::MAX.into());
    let weight = |rate: &Rate| {
        let part = u128::from(rate.0) * u128::from(u32::MAX) / u128::from(most);
        Weight(u32::try_from(part).unwrap_or(u32::MAX).max(1))
    };
    rates.iter().map(weight).collect()
}
