//! Flows with service curves: their curves within the range of the programs.

use laxity_core::NANOBITS_PER_BYTE;
use laxity_curve::service::{LinkFlow, ServiceSpec};
use laxity_link::config::LinkConfig;

use super::{PlanError, TERM};
use crate::layout::link::{self, lx_curve_line, lx_served_flow};

/// Lines of the inverse of a service curve, `LX_CURVE_LINES`: its slopes above 0, and its jumps.
pub const MOST_CURVE_LINES: usize = link::LX_CURVE_LINES as usize;
/// Starts of a flow within the last corner of its curve, `LX_CURVE_STARTS`.
pub const MOST_CURVE_STARTS: u64 = link::LX_CURVE_STARTS;

/// The curves of all flows that have one, `struct lx_served_flow` up to the starts.
///
/// # Errors
/// A curve beyond the range of the programs.
pub(super) fn of_link(link: &LinkConfig, names: &[&str]) -> Result<Vec<Vec<u8>>, PlanError> {
    let mut images = Vec::new();
    for (place, flow) in link.realtime.iter().enumerate() {
        if let LinkFlow::Service(spec) = flow.link_flow(link.wire)? {
            let name =
                names.get(place).map_or_else(|| place.to_string(), |name| (*name).to_owned());
            images.push(served_flow(&spec, &name)?);
        }
    }
    Ok(images)
}

/// The curve of the flow `name` as the programs take it: the beginning of a `struct lx_served_flow`.
///
/// # Errors
/// [`PlanError::TooMany`] and [`PlanError::OutOfRange`] for a curve beyond the programs, or one without
/// an inverse.
pub fn served_flow(spec: &ServiceSpec, name: &str) -> Result<Vec<u8>, PlanError> {
    let inverse = spec.curve.inverse()?;
    let lines = inverse.lines();
    if lines.len() > MOST_CURVE_LINES {
        return Err(PlanError::TooMany {
            what: "slopes and jumps of `service_curve`",
            of: Some(name.into()),
            found: lines.len(),
            most: MOST_CURVE_LINES,
        });
    }
    // Each start is followed by a packet.
    let corner = lines.last().map_or(0, |last| last.above);
    if corner / spec.min_packet.0.max(1) >= MOST_CURVE_STARTS {
        let least = corner / MOST_CURVE_STARTS + 1;
        return Err(PlanError::OutOfRange {
            what: format!(
                "the service curve of {name}, with {corner} B below its last corner and packets of \
                 {} B",
                spec.min_packet.0
            ),
            remedy: format!(
                "raise `min_packet`, to {least} B on the wire, or bring the corner nearer"
            ),
        });
    }
    let mut image = vec![0; lx_served_flow::LAST_AT.at];
    let places = lx_served_flow::LINE.elements(&mut image, lx_curve_line::SIZEOF);
    for (k, (line, place)) in lines.iter().zip(places).enumerate() {
        // Beyond the last corner a start is at most a packet behind.
        let end =
            lines.get(k + 1).map_or(line.above.saturating_add(spec.max_packet.0), |l| l.above);
        let per_byte = i128::from(line.gap) * NANOBITS_PER_BYTE;
        if per_byte.saturating_mul(end.into()) >= TERM || line.offset.abs() >= TERM {
            return Err(PlanError::OutOfRange {
                what: format!("the service curve of {name}"),
                remedy: "give it slopes of whole bit/s, and less than 144 MB below its last corner"
                    .into(),
            });
        }
        lx_curve_line::ABOVE.set_u64(place, line.above);
        lx_curve_line::RISE.set_u64(place, line.rise.get());
        lx_curve_line::PER_BYTE.set_u64(place, per_byte as u64);
        lx_curve_line::OFFSET.set(place, &(line.offset as i64).to_ne_bytes());
        lx_curve_line::HORIZON.set_u64(place, link::LX_RANGE / line.rise.get());
    }
    lx_served_flow::NR_LINES.set_u32(&mut image, lines.len() as u32);
    let smallest = u32::try_from(spec.min_packet.0).unwrap_or(u32::MAX);
    lx_served_flow::SMALLEST.set_u32(&mut image, smallest);
    Ok(image)
}
