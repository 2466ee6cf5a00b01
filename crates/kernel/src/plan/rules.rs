//! Classification rules.

use std::net::IpAddr;

use laxity_scenario::model::{Match, Prefix, Scenario};

use super::PlanError;
use crate::struct_writer::StructWriter;

/// `LX_RULES`.
const MOST_RULES: usize = 128;
const CODE_POINTS: usize = 64;

/// `enum lx_field`.
mod field {
    pub(super) const DSCP: u32 = 1;
    pub(super) const PROTOCOL: u32 = 1 << 1;
    pub(super) const SOURCE: u32 = 1 << 2;
    pub(super) const DESTINATION: u32 = 1 << 3;
    pub(super) const SPORT: u32 = 1 << 4;
    pub(super) const DPORT: u32 = 1 << 5;
    pub(super) const MARK: u32 = 1 << 6;
    pub(super) const PRIORITY: u32 = 1 << 7;
    pub(super) const IPV6: u32 = 1 << 8;
}

/// `struct lx_rules`.
pub(super) fn encode(scenario: &Scenario) -> Result<StructWriter, PlanError> {
    let realtime = scenario.realtime.iter().map(|f| &f.matches);
    let best_effort = scenario.best_effort.iter().map(|c| &c.matches);
    let mut rules: Vec<(u32, &Match)> = Vec::new();
    for (flow, rule) in realtime.chain(best_effort).enumerate() {
        if let Some(rule) = rule {
            rules.push((flow as u32, rule));
        }
    }
    if rules.len() > MOST_RULES {
        let (found, most) = (rules.len(), MOST_RULES);
        return Err(PlanError::TooMany { what: "flows with `match`", of: None, found, most });
    }
    let fields: u32 = rules.iter().fold(0, |all, (_, rule)| all | fields(rule));
    let other = scenario.other().0;
    let mut by_code_point = [other as u16; CODE_POINTS];
    // A table lookup, if the rules match on code points alone.
    let plain = rules.iter().all(|(_, rule)| self::fields(rule) == field::DSCP);
    if plain {
        for (flow, rule) in rules.iter().rev() {
            if let Some(place) = rule.dscp.and_then(|d| by_code_point.get_mut(usize::from(d))) {
                *place = *flow as u16;
            }
        }
    }
    let listed = if plain { &[] } else { &rules[..] };
    let mut writer = StructWriter::default();
    writer.array(MOST_RULES, 96, listed, |i, (flow, rule)| write(i, *flow, rule));
    by_code_point.iter().for_each(|flow| {
        writer.u16(*flow);
    });
    writer.u32(listed.len() as u32).u32(fields).u32(other).u32(0);
    Ok(writer)
}

fn fields(rule: &Match) -> u32 {
    let ask = |asked: bool, field: u32| if asked { field } else { 0 };
    let six = |p: &Option<Prefix>| p.is_some_and(|p| p.address.is_ipv6());
    ask(rule.dscp.is_some(), field::DSCP)
        | ask(rule.protocol.is_some(), field::PROTOCOL)
        | ask(rule.src.is_some(), field::SOURCE)
        | ask(rule.dst.is_some(), field::DESTINATION)
        | ask(rule.sport.is_some(), field::SPORT)
        | ask(rule.dport.is_some(), field::DPORT)
        | ask(rule.mark.is_some(), field::MARK)
        | ask(rule.priority.is_some(), field::PRIORITY)
        | ask(six(&rule.src) || six(&rule.dst), field::IPV6)
}

/// `struct lx_rule`.
fn write(writer: &mut StructWriter, flow: u32, rule: &Match) {
    for prefix in [&rule.src, &rule.dst] {
        let (address, mask) = prefix.as_ref().map_or(([0; 16], [0; 16]), masked);
        writer.bytes(&address).bytes(&mask);
    }
    let both = |range: Option<(u16, u16)>| range.unwrap_or((0, u16::MAX));
    let (sport, dport) = (both(rule.sport), both(rule.dport));
    writer.u32(fields(rule)).u32(flow);
    writer.u32(rule.mark.unwrap_or(0)).u32(rule.priority.unwrap_or(0));
    writer.u16(sport.0).u16(sport.1).u16(dport.0).u16(dport.1);
    writer.bytes(&[rule.dscp.unwrap_or(0), rule.protocol.unwrap_or(0), 0, 0, 0, 0, 0, 0]);
}

/// The bits of a prefix that count, and which they are, as they lie in a packet.
fn masked(prefix: &Prefix) -> ([u8; 16], [u8; 16]) {
    let mut address = [0; 16];
    match prefix.address {
        IpAddr::V4(a) => address[..4].copy_from_slice(&a.octets()),
        IpAddr::V6(a) => address = a.octets(),
    }
    let ones = u128::MAX.checked_shl(128 - u32::from(prefix.bits).min(128)).unwrap_or(0);
    let mask = ones.to_be_bytes();
    (std::array::from_fn(|i| address[i] & mask[i]), mask)
}
