//! Plain misconfigurations, with what helps.

use std::collections::{BTreeMap, BTreeSet};

use laxity_curve::{CurveError, Rational};
use laxity_link::Wire;
use laxity_results::TcFinding;
use laxity_tc::{Class, ClassOptions, Config, Handle, Qdisc, QdiscOptions, TwoPiece};

use super::service::{Device, nanobits};
use super::tree::direct_packets;
use super::{hfsc, htb};

fn finding(code: &str, at: Handle, text: String, remedy: &str) -> TcFinding {
    TcFinding { code: code.into(), at: at.to_string(), text, remedy: remedy.into() }
}

/// What is known beside the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Rate of the slowest hop behind the device in bit/s.
    pub slower: Option<u64>,
    /// Bytes of packets on the wire of a scenario.
    pub wire: Option<Wire>,
    /// Whether there are deadlines, all guaranteed.
    pub deadlines_met: bool,
}

/// The findings of a configuration, in the order of the tree.
pub fn findings(
    config: &Config,
    device: &Device,
    links: &BTreeMap<Handle, (Rational, Rational)>,
    context: &Context,
) -> Result<Vec<TcFinding>, CurveError> {
    let mut out = Vec::new();
    for q in &config.qdiscs {
        match &q.options {
            QdiscOptions::Hfsc { default } => {
                if let Some((rate, _)) = links.get(&q.handle) {
                    curves_exceed_link(config, q, *rate, context, &mut out)?;
                }
                hfsc_default(config, q, *default, &mut out);
                upper_limits(config, q, &mut out);
            }
            QdiscOptions::Htb { default, direct_packets } => {
                htb_default(config, q, *default, *direct_packets, &mut out);
                if let Some(link) = links.get(&q.handle) {
                    htb_classes(config, q, *link, device, &mut out)?;
                }
            }
            QdiscOptions::Prio { priomap, .. } => first_band(config, q, priomap, &mut out),
            QdiscOptions::Tbf(tbf) => {
                let smallest = tbf.peak.map_or(tbf.burst, |(_, burst)| burst.min(tbf.burst));
                if smallest < device.max_packet.0 {
                    let text = format!(
                        "burst {smallest} B below the largest packet, {} B: such packets are dropped",
                        device.max_packet.0
                    );
                    let remedy = "raise burst and mtu to the largest packet";
                    out.push(finding("burst-too-small", q.handle, text, remedy));
                }
            }
            QdiscOptions::Cbs { idle, send, hicredit, .. } => {
                let port = i128::from(*idle) - i128::from(*send);
                let rate = i128::from(device.rate.0);
                let needed = i128::from(*idle) * i128::from(device.max_packet.0);
                if port != rate || i128::from(*hicredit) * rate < needed {
                    let text = format!(
                        "idleslope - sendslope is {port} bit/s beside a device of {rate} bit/s, hicredit {hicredit} B"
                    );
                    let remedy = "set sendslope to idleslope - rate and hicredit to idleslope/rate × the largest packet";
                    out.push(finding("cbs-credit", q.handle, text, remedy));
                }
            }
            QdiscOptions::Taprio { gates, .. } => {
                let packet = i128::from(device.max_packet.0) * 8_000_000_000;
                let short = gates.iter().find(|(mask, ns)| {
                    *mask != 0 && i128::from(*ns) * i128::from(device.rate.0) < packet
                });
                if let Some((mask, ns)) = short {
                    let text =
                        format!("gate {mask:#x} is open {ns} ns, too short for the largest packet");
                    let remedy = "make the entry longer, or limit the packet by max-sdu";
                    out.push(finding("gate-too-short", q.handle, text, remedy));
                }
            }
            _ => {}
        }
    }
    if let Some(wire) = context.wire {
        sizes(config, wire, &mut out);
    }
    lost_filters(config, &mut out);
    no_shaper(config, device, context.slower, &mut out);
    Ok(out)
}

/// Packets have to count as long as they are on the wire.
fn sizes(config: &Config, wire: Wire, out: &mut Vec<TcFinding>) {
    let Some(root) = config.qdiscs.iter().find(|q| q.parent.is_none()) else { return };
    let mqprio = matches!(root.options, QdiscOptions::Mqprio { .. });
    let counts = |q: &&Qdisc| match mqprio {
        true => matches!(q.options, QdiscOptions::Cbs { .. }),
        false => q.parent.is_none(),
    };
    for q in config.qdiscs.iter().filter(counts) {
        let (overhead, mpu) = q.size_table.map_or((0, 0), |t| (t.overhead, t.mpu));
        let (needed, frame) = (wire.overhead, wire.min_frame);
        if overhead != i64::from(needed) || mpu != u64::from(frame) {
            let text = format!(
                "a packet counts {overhead} B of overhead and at least {mpu} B, on the scenario's wire {needed} B and {frame} B"
            );
            let remedy = "make it with `stab overhead .. mpu .. linklayer ethernet` to match";
            out.push(finding("size-table", q.handle, text, remedy));
        }
    }
}

fn classes<'a>(config: &'a Config, q: &Qdisc) -> impl Iterator<Item = &'a Class> {
    let major = q.handle.major;
    config.classes.iter().filter(move |c| c.handle.major == major)
}

fn curves_exceed_link(
    config: &Config,
    q: &Qdisc,
    rate: Rational,
    context: &Context,
    out: &mut Vec<TcFinding>,
) -> Result<(), CurveError> {
    let leaves = classes(config, q).filter(|c| !c.inner);
    let curves: Vec<TwoPiece> = leaves
        .filter_map(|c| match c.options {
            ClassOptions::Hfsc { rt, .. } => rt,
            _ => None,
        })
        .collect();
    let text = match hfsc::excess(&curves, rate)? {
        // A bounded excess is part of the bounds, and deadlines may allow for it.
        Some(x) if x.signum() == 0 || context.deadlines_met => return Ok(()),
        Some(x) => {
            let bytes = x.over(nanobits(1))?.ceil();
            format!("the rt curves together exceed the link by up to {bytes} B")
        }
        None => {
            let sum: u128 = curves.iter().map(|c| u128::from(c.m2)).sum();
            format!("the rt curves need {sum} bit/s in the long run, the link has {}", rate.floor())
        }
    };
    let remedy = "lower m1 and m2 of rt until their sum is below the link at all times";
    out.push(finding("curves-exceed-link", q.handle, text, remedy));
    Ok(())
}

fn hfsc_default(config: &Config, q: &Qdisc, default: u16, out: &mut Vec<TcFinding>) {
    let handle = q.handle.class(default);
    let leaf = classes(config, q).any(|c| c.handle == handle && !c.inner);
    if default == 0 || !leaf {
        let text = format!(
            "default {default:x} is no leaf class: HFSC drops unclassified packets ({} dropped)",
            q.drops
        );
        let remedy = "add the class, or name a leaf: tc qdisc change ... hfsc default CLASS";
        out.push(finding("default-missing", q.handle, text, remedy));
    }
}

fn htb_default(config: &Config, q: &Qdisc, default: u16, direct: u64, out: &mut Vec<TcFinding>) {
    if direct_packets(config, q, default) || direct > 0 {
        let text = format!(
            "default {default:x}: HTB sends unclassified packets first and unshaped ({direct} so far)"
        );
        let remedy = "name a leaf class: tc qdisc replace ... htb default CLASS";
        out.push(finding("default-missing", q.handle, text, remedy));
    }
}

fn htb_classes(
    config: &Config,
    q: &Qdisc,
    link: (Rational, Rational),
    device: &Device,
    out: &mut Vec<TcFinding>,
) -> Result<(), CurveError> {
    let leaves: Vec<_> = classes(config, q).filter(|c| !c.inner).collect();
    for class in classes(config, q) {
        let ClassOptions::Htb(own) = class.options else { continue };
        let parent = class.parent.and_then(|p| classes(config, q).find(|c| c.handle == p));
        if let Some(ClassOptions::Htb(above)) = parent.map(|p| &p.options)
            && own.ceil > above.ceil
        {
            let text = format!("ceil {} above that of its parent, {}", own.ceil, above.ceil);
            let remedy = "it has no effect: lower it to the parent's";
            out.push(finding("ceil-above-parent", class.handle, text, remedy));
        }
        if class.inner {
            continue;
        }
        let ahead: Vec<_> = leaves
            .iter()
            .filter_map(|c| match c.options {
                ClassOptions::Htb(other)
                    if c.handle != class.handle
                        && other.prio.unwrap_or(0) <= own.prio.unwrap_or(0) =>
                {
                    Some(other)
                }
                _ => None,
            })
            .collect();
        match htb::wait(&own, &ahead, link, device)? {
            Some(theta) => {
                let needed = theta.times(own.rate.into())?.over(nanobits(1))?.ceil();
                let (name, burst) = match own.cburst < own.burst {
                    true => ("cburst", own.cburst),
                    false => ("burst", own.burst),
                };
                if i128::from(burst) < needed {
                    let text = format!(
                        "{name} {burst} B below {needed} B: tokens are lost while it waits, and with them rate"
                    );
                    let remedy = "raise burst and cburst to that";
                    out.push(finding("burst-too-small", class.handle, text, remedy));
                }
            }
            None => {
                let text =
                    "the rates of classes with the same or a smaller prio leave less than its rate"
                        .to_owned();
                let remedy = "lower rates until their sum fits the link";
                out.push(finding("rates-exceed-link", class.handle, text, remedy));
            }
        }
    }
    Ok(())
}

fn upper_limits(config: &Config, q: &Qdisc, out: &mut Vec<TcFinding>) {
    for class in classes(config, q) {
        if let ClassOptions::Hfsc { rt: Some(rt), ul: Some(ul), .. } = class.options
            && (ul.m2 < rt.m2 || ul.m1.max(ul.m2) < rt.m1.max(rt.m2))
        {
            let text = "ul below rt: rt ignores it".to_owned();
            let remedy = "raise ul above rt, or lower rt";
            out.push(finding("ul-below-rt", class.handle, text, remedy));
        }
    }
}

/// A first band without shaper starves the others. Priorities of ordinary packets lead there.
fn first_band(config: &Config, q: &Qdisc, priomap: &[u64], out: &mut Vec<TcFinding>) {
    let handle = q.handle.class(1);
    let shaped = config
        .qdiscs
        .iter()
        .any(|c| c.parent == Some(handle) && matches!(c.options, QdiscOptions::Tbf(_)));
    if !shaped && priomap.contains(&0) {
        let text =
            "band 0 has no shaper and starves the others as long as it has packets".to_owned();
        let remedy = "attach tbf to it, or lead only bounded traffic there";
        out.push(finding("priomap", handle, text, remedy));
    }
}

fn lost_filters(config: &Config, out: &mut Vec<TcFinding>) {
    let mut seen = BTreeSet::new();
    for filter in &config.filters {
        let majors = config.classes.iter().any(|c| c.handle.major == filter.class.major);
        let there = config.classes.iter().any(|c| c.handle == filter.class);
        if majors && !there && seen.insert(filter.class) {
            let text = format!("a {} filter leads to a class that does not exist", filter.kind);
            let remedy = "add the class or remove the filter";
            out.push(finding("filter-without-class", filter.class, text, remedy));
        }
    }
}

/// A slower hop behind a discipline that does not shape to it: the queue is there.
fn no_shaper(config: &Config, device: &Device, slower: Option<u64>, out: &mut Vec<TcFinding>) {
    let (Some(hop), Some(root)) = (slower, config.qdiscs.iter().find(|q| q.parent.is_none()))
    else {
        return;
    };
    let shapes = match &root.options {
        QdiscOptions::Tbf(tbf) => tbf.rate <= hop,
        QdiscOptions::Cake { bandwidth } => bandwidth.is_some_and(|rate| rate <= hop),
        QdiscOptions::Htb { .. } => {
            let top = classes(config, root).filter(|c| c.parent.is_none());
            let ceil = top.filter_map(|c| match c.options {
                ClassOptions::Htb(htb) => Some(u128::from(htb.ceil)),
                _ => None,
            });
            ceil.sum::<u128>() <= u128::from(hop)
        }
        QdiscOptions::Hfsc { .. } => {
            let mut top =
                classes(config, root).filter(|c| c.parent.is_none() && c.handle.minor != 0);
            top.all(
                |c| matches!(c.options, ClassOptions::Hfsc { ul: Some(ul), .. } if ul.m2 <= hop),
            )
        }
        _ => false,
    };
    if hop < device.rate.0 && !shapes {
        let text = format!(
            "{} sends at {} bit/s into a hop of {hop} bit/s: the queue is there, without any order",
            root.options.kind(),
            device.rate.0
        );
        let remedy = "shape the root to the slower hop";
        out.push(finding("no-shaper", root.handle, text, remedy));
    }
}
