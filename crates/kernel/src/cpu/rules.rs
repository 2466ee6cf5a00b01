//! The rules of a policy as `struct lx_rules` of `bpf/include/laxity/servers.h`.

use std::fmt;

use laxity_core::Span;
use laxity_cpu::servers::{Basis, Exhaustion, Load, Rules, Sample, Sizing, Slack, Transition};

use crate::image::Image;

/// Rules that the kernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuRules {
    rules: Rules,
    longest: Option<Span>,
}

/// A rule that the kernel does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotInKernel(&'static str);

impl fmt::Display for NotInKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} runs in the simulator only", self.0)
    }
}

impl std::error::Error for NotInKernel {}

impl CpuRules {
    /// Takes rules over. No best-effort period becomes longer than `longest`: budgets are cut
    /// where the share would ask for more.
    ///
    /// # Errors
    /// Names what the kernel does not run.
    pub fn new(rules: &Rules, longest: Option<Span>) -> Result<CpuRules, NotInKernel> {
        let Sizing::Adaptive(how) = &rules.sizing else {
            return Err(NotInKernel("the same period for all"));
        };
        if rules.slack == Slack::NewDeadline {
            return Err(NotInKernel("slack under a new deadline"));
        }
        if rules.transition != Transition::ZeroLag {
            return Err(NotInKernel("a transition other than at zero-lag times"));
        }
        if how.sample == Sample::Switch {
            return Err(NotInKernel("a sample at every switch"));
        }
        if how.basis != Basis::Budget {
            return Err(NotInKernel("a period from the average"));
        }
        Ok(CpuRules { rules: *rules, longest })
    }

    /// As the header has them.
    pub fn image(&self) -> Vec<u8> {
        let Sizing::Adaptive(how) = &self.rules.sizing else { return Vec::new() };
        let least = how.least.0.max(1);
        let unlimited = |span: Option<Span>| span.map_or(u64::MAX, |s| s.0);
        let mut image = Image::default();
        image
            .u64(how.first.0)
            .u64(least)
            .u64(how.most.0.max(least))
            .u64(how.margin.into())
            .u64(how.lazy.into())
            .u64(unlimited(self.longest))
            .u64(unlimited(self.rules.ahead))
            .u32((self.rules.exhaustion == Exhaustion::Recharge).into())
            .u32((self.rules.slack == Slack::OriginalDeadline).into())
            .u32((how.sample == Sample::Job).into())
            .u32((self.rules.load == Load::Unblocked).into());
        image.into_bytes()
    }
}
