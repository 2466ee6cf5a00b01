//! `tbs`: the Total Bandwidth Server.

use laxity_core::{
    Live, OptionInfo, OptionKind, OptionTable, PolicyInfo, Rate, Reference, Span, Time,
};
use laxity_curve::ShiftedLine;

use super::Assigner;
use super::shifted_line::Recursion;
use crate::live;

/// `D = w/g + max(r, D_prev)`: a line through the origin, as Spuri and Buttazzo give it for tasks.
#[derive(Clone, Debug)]
pub struct TotalBandwidthServer {
    line: Recursion,
}

impl TotalBandwidthServer {
    /// A server of bandwidth `slope`; with zero there are no deadlines.
    pub fn new(slope: Rate) -> TotalBandwidthServer {
        TotalBandwidthServer { line: Recursion::new(&ShiftedLine { slope, shift: Span::ZERO }) }
    }
}

impl Assigner for TotalBandwidthServer {
    const INFO: PolicyInfo = PolicyInfo {
        name: "tbs",
        summary: "EDF with deadlines from one line through the origin (Total Bandwidth Server)",
        source: "RTAS 2002, section 4.1; Spuri and Buttazzo 1996",
        keeps_deadlines: true,
        live: &[live::LINE, Live::UserLink],
        options: &[OptionInfo {
            name: "slope",
            kind: OptionKind::Rate,
            required: true,
            default: "fitted to the residual capacity",
            example: "\"370530 B/s\"",
            summary: "bandwidth of the server",
            reference: Some(Reference {
                default: "fitted to the residual capacity",
                doc: "The server's rate.",
            }),
        }],
        table: OptionTable::Own {
            schema: "tbs",
            doc: "Parameters of the Total Bandwidth Server.",
            key: "Parameters of the policy `tbs`.",
            default: "fitted",
            example: "{ slope = \"370530 B/s\" }",
        },
    };

    #[inline]
    fn assign(&mut self, release: Time, wire: u32) -> Time {
        self.line.next(release, wire)
    }

    fn raise(&mut self, release: Time, _from: u32, wire: u32) -> Time {
        self.line.raise(release, wire)
    }

    fn settle(&mut self, release: Time, _from: u32, wire: u32) {
        self.line.settle(release, wire);
    }

    fn reset(&mut self) {
        self.line.reset();
    }

    fn restart(&mut self, at: Time, in_flight: u32, head: Option<(u32, Time)>) -> Option<Time> {
        if head.is_none() {
            self.line.restart(at, in_flight);
        }
        None
    }
}
