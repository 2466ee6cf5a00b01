//! Classification rules.

use std::net::IpAddr;

use laxity_scenario::link::model::{Match, Prefix, Scenario};

use super::PlanError;
use crate::layout::link::{self, lxl_match_rule, lxl_match_rules};

const MOST_RULES: usize = link::LX_MAX_RULES as usize;
const CODE_POINTS: usize = 64;

/// `struct lxl_match_rules`.
pub(super) fn image(scenario: &Scenario) -> Result<Vec<u8>, PlanError> {
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
    let plain = rules.iter().all(|(_, rule)| self::fields(rule) == link::LX_DSCP as u32);
    if plain {
        for (flow, rule) in rules.iter().rev() {
            if let Some(place) = rule.dscp.and_then(|d| by_code_point.get_mut(usize::from(d))) {
                *place = *flow as u16;
            }
        }
    }
    let listed = if plain { &[] } else { &rules[..] };
    let mut image = vec![0; lxl_match_rules::SIZEOF];
    let places = lxl_match_rules::RULE.elements(&mut image, lxl_match_rule::SIZEOF);
    for ((flow, rule), place) in listed.iter().zip(places) {
        write(place, *flow, rule);
    }
    let by_code_point = by_code_point.map(u16::to_ne_bytes);
    lxl_match_rules::BY_DSCP.set(&mut image, by_code_point.as_flattened());
    lxl_match_rules::NR_RULES.set_u32(&mut image, listed.len() as u32);
    lxl_match_rules::FIELDS.set_u32(&mut image, fields);
    lxl_match_rules::DEFAULT_FLOW.set_u32(&mut image, other);
    Ok(image)
}

fn fields(rule: &Match) -> u32 {
    let ask = |asked: bool, field: u64| if asked { field as u32 } else { 0 };
    let six = |p: &Option<Prefix>| p.is_some_and(|p| p.address.is_ipv6());
    ask(rule.dscp.is_some(), link::LX_DSCP)
        | ask(rule.protocol.is_some(), link::LX_PROTOCOL)
        | ask(rule.src.is_some(), link::LX_SOURCE)
        | ask(rule.dst.is_some(), link::LX_DESTINATION)
        | ask(rule.sport.is_some(), link::LX_SPORT)
        | ask(rule.dport.is_some(), link::LX_DPORT)
        | ask(rule.mark.is_some(), link::LX_MARK)
        | ask(rule.priority.is_some(), link::LX_PRIORITY)
        | ask(six(&rule.src) || six(&rule.dst), link::LX_IPV6)
}

/// Writes a `struct lxl_match_rule`.
fn write(place: &mut [u8], flow: u32, rule: &Match) {
    for (prefix, address, mask) in [
        (&rule.src, lxl_match_rule::SOURCE, lxl_match_rule::SOURCE_MASK),
        (&rule.dst, lxl_match_rule::DESTINATION, lxl_match_rule::DESTINATION_MASK),
    ] {
        let (bits, which) = prefix.as_ref().map_or(([0; 16], [0; 16]), masked);
        address.set(place, &bits);
        mask.set(place, &which);
    }
    lxl_match_rule::FIELDS.set_u32(place, fields(rule));
    lxl_match_rule::FLOW.set_u32(place, flow);
    lxl_match_rule::MARK.set_u32(place, rule.mark.unwrap_or(0));
    lxl_match_rule::PRIORITY.set_u32(place, rule.priority.unwrap_or(0));
    for (range, ports) in [(rule.sport, lxl_match_rule::SPORT), (rule.dport, lxl_match_rule::DPORT)]
    {
        let (first, last) = range.unwrap_or((0, u16::MAX));
        ports.set(place, [first, last].map(u16::to_ne_bytes).as_flattened());
    }
    lxl_match_rule::DSCP.set(place, &[rule.dscp.unwrap_or(0)]);
    lxl_match_rule::PROTOCOL.set(place, &[rule.protocol.unwrap_or(0)]);
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
