//! Packets into flows, by what a scenario's `match` can say.

use std::collections::HashMap;

use laxity_core::FlowId;
use laxity_link::classify::{Classifier, Key};
use laxity_scenario::link::model::{Match, Prefix};
use laxity_scenario::names;
use laxity_traffic::classify::rule;

use super::sample::Sample;

/// Criteria that distinguish flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grouping {
    /// The code point.
    #[default]
    Dscp,
    /// Addresses, protocol and ports, and the code point.
    Flow,
    /// Protocol and the server's port, and the code point.
    Port,
}

/// Maximum number of best-effort classes distinguished by ports or addresses.
const MOST_CLASSES: usize = 8;
/// The most real-time flows that are.
const MOST_REALTIME: usize = 64;

/// The fields of a [`Match`] that groups differ in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Fields {
    dscp: Option<u8>,
    protocol: Option<u8>,
    ends: Option<(std::net::IpAddr, std::net::IpAddr)>,
    sport: Option<u16>,
    dport: Option<u16>,
}

/// A flow to be: its packets are those of some units of the sample.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Unique.
    pub name: String,
    /// Nothing for flows of a CSV trace.
    pub matches: Option<Match>,
    pub units: Vec<usize>,
    /// The code point that all packets have, where there is one.
    pub dscp: Option<u8>,
    pub realtime: bool,
}

/// The groups of a sample, real-time first, in the order of the rules; and the units that belong
/// to none. `realtime` decides by code point and name.
///
/// The units of a group are those that its rule matches when all rules are tried in order, so the
/// scenario will pick the same packets.
pub(super) fn groups(
    sample: &Sample,
    by: Grouping,
    realtime: &dyn Fn(Option<u8>, &str) -> bool,
) -> (Vec<Group>, Vec<usize>) {
    if sample.named {
        return (named(sample, realtime), Vec::new());
    }
    let mut counted: Vec<(Fields, u64)> = Vec::new();
    let mut known: HashMap<Fields, usize> = HashMap::new();
    for unit in &sample.units {
        let Some(fields) = fields(&unit.key, by) else { continue };
        let bytes: u64 = unit.packets.iter().map(|(_, b)| b.0).sum();
        let place = *known.entry(fields).or_insert_with(|| {
            counted.push((fields, 0));
            counted.len() - 1
        });
        counted[place].1 += bytes;
    }
    // Rules with more conditions first, else the others would take their packets.
    counted.sort_by_key(|(f, bytes)| (std::cmp::Reverse(conditions(f)), std::cmp::Reverse(*bytes)));
    let mut groups: Vec<Group> = Vec::new();
    let mut used_names: HashMap<String, u32> = HashMap::new();
    for (fields, _) in counted {
        let name = unique(name(&fields, by), &mut used_names);
        let realtime = realtime(fields.dscp, &name);
        let matches = Some(matches(&fields));
        groups.push(Group { name, matches, units: Vec::new(), dscp: fields.dscp, realtime });
    }
    limit(&mut groups, by);
    groups.sort_by_key(|g| !g.realtime);
    let left = assign(sample, &mut groups);
    groups.retain(|g| !g.units.is_empty());
    (groups, left)
}

/// Takes the units that each group's rule picks; answers those that no rule picks.
fn assign(sample: &Sample, groups: &mut [Group]) -> Vec<usize> {
    let none = FlowId(groups.len() as u32);
    let rules = groups.iter().zip((0..).map(FlowId));
    let rules = rules.filter_map(|(g, id)| Some((rule(g.matches.as_ref()?), id))).collect();
    let classifier = Classifier::new(rules, none);
    let mut left = Vec::new();
    for (i, unit) in sample.units.iter().enumerate() {
        match groups.get_mut(classifier.classify(&unit.key).index()) {
            Some(group) => group.units.push(i),
            None => left.push(i),
        }
    }
    left
}

/// The flows of a CSV trace as they are.
fn named(sample: &Sample, realtime: &dyn Fn(Option<u8>, &str) -> bool) -> Vec<Group> {
    let group = |(i, unit): (usize, &super::sample::Unit)| {
        let prefix = unit.name.split(['-', '_', ' ', '.']).next().unwrap_or_default();
        let dscp = names::dscp(prefix);
        let realtime = realtime(dscp, &unit.name);
        Group { name: unit.name.clone(), matches: None, units: vec![i], dscp, realtime }
    };
    let mut groups: Vec<_> = sample.units.iter().enumerate().map(group).collect();
    groups.sort_by_key(|g| !g.realtime);
    groups
}

fn fields(key: &Key, by: Grouping) -> Option<Fields> {
    let (dscp, protocol) = (key.dscp, key.protocol);
    match by {
        Grouping::Dscp => Some(Fields { dscp: Some(dscp?), ..Fields::default() }),
        Grouping::Flow => {
            let ends = Some((key.src?, key.dst?));
            let (sport, dport) = (key.sport, key.dport);
            Some(Fields { dscp, protocol: Some(protocol?), ends, sport, dport })
        }
        Grouping::Port => {
            // Servers listen on the smaller port, as a rule; of equal ones it is either.
            let (sport, dport) = match (key.sport, key.dport) {
                (Some(s), Some(d)) if s < d => (Some(s), None),
                (_, d) => (None, d),
            };
            Some(Fields { dscp, protocol: Some(protocol?), ends: None, sport, dport })
        }
    }
}

fn conditions(f: &Fields) -> usize {
    [f.ends.is_some(), f.sport.is_some(), f.dport.is_some()].iter().filter(|x| **x).count()
}

fn matches(f: &Fields) -> Match {
    let whole = |address: std::net::IpAddr| Prefix {
        address,
        bits: if address.is_ipv4() { 32 } else { 128 },
    };
    Match {
        dscp: f.dscp,
        protocol: f.protocol,
        src: f.ends.map(|(src, _)| whole(src)),
        dst: f.ends.map(|(_, dst)| whole(dst)),
        sport: f.sport.map(|p| (p, p)),
        dport: f.dport.map(|p| (p, p)),
        ..Match::default()
    }
}

/// Such as `af41`, `ef-udp-5004` or `tcp-80`.
fn name(f: &Fields, by: Grouping) -> String {
    let code = f.dscp.map(|d| match names::dscp_name(d) {
        Some(name) => name.to_lowercase(),
        None => format!("dscp{d}"),
    });
    let default = by != Grouping::Dscp && f.dscp == Some(0);
    let port = match (f.sport, f.dport) {
        (Some(s), Some(d)) => Some(s.min(d)),
        (s, d) => s.or(d),
    };
    let parts = [
        code.filter(|_| !default),
        f.protocol.map(names::protocol_name),
        port.map(|p| p.to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("-")
}

fn unique(name: String, used_names: &mut HashMap<String, u32>) -> String {
    let count = used_names.entry(name.clone()).or_default();
    *count += 1;
    // Names end in a port or protocol, so a number after a dot cannot meet another name.
    if *count == 1 { name } else { format!("{name}.{count}") }
}

/// The smaller flows stay unnamed: a scenario of thousands of flows is unreadable.
fn limit(groups: &mut Vec<Group>, by: Grouping) {
    if by == Grouping::Dscp {
        return;
    }
    let (mut realtime, mut classes) = (0, 0);
    groups.retain(|g| {
        let (count, most) = match g.realtime {
            true => (&mut realtime, MOST_REALTIME),
            false => (&mut classes, MOST_CLASSES),
        };
        *count += 1;
        *count <= most
    });
}
