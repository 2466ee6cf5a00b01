//! The rules of a policy as `struct lx_rules` of `bpf/include/laxity/servers.h`.

use std::fmt;

use laxity_core::Span;
use laxity_cpu::berate::{self, Base, LoadOf};
use laxity_cpu::quantum::Clock;
use laxity_cpu::servers::{Basis, Exhaustion, Load, Rules, Sample, Sizing, Slack, Transition};

use crate::struct_writer::StructWriter;

/// Rules that the kernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuRules(How);

#[derive(Clone, Debug, PartialEq, Eq)]
enum How {
    Servers(Rules),
    BeRate(berate::Options),
}

/// What all quanta are multiples of.
const QUANTUM: Span = Span::from_millis(10);

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
    /// Takes rules over.
    ///
    /// # Errors
    /// Names what the kernel does not run.
    pub fn new(rules: &Rules) -> Result<CpuRules, NotInKernel> {
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
        Ok(CpuRules(How::Servers(*rules)))
    }

    /// Takes BeRate over, below servers for reservations.
    ///
    /// # Errors
    /// Names what the kernel does not run.
    pub fn berate(options: &berate::Options) -> Result<CpuRules, NotInKernel> {
        if options.base != Base::OldDeadline {
            return Err(NotInKernel("a deadline that counts from now after a quantum"));
        }
        if options.clock == Clock::Hz800 {
            return Err(NotInKernel("a quantum that is no multiple of 10 ms"));
        }
        Ok(CpuRules(How::BeRate(*options)))
    }

    /// As the header has them.
    pub fn image(&self) -> Vec<u8> {
        let unlimited = |span: Option<Span>| span.map_or(u64::MAX, |s| s.0);
        let mut image = StructWriter::default();
        let rules = match &self.0 {
            How::Servers(rules) => rules,
            How::BeRate(options) => {
                let limits = options.limits;
                let lapse = match options.load {
                    LoadOf::Live => unlimited(limits.map(|l| l.lapse)),
                    LoadOf::Runnable => 0,
                };
                image.array(5, 8, [0u64; 5], |image, x| {
                    image.u64(x);
                });
                image
                    .u64(unlimited(limits.map(|l| l.longest)))
                    .u64(unlimited(limits.map(|l| l.ahead)))
                    .u64(QUANTUM.0)
                    .u64(lapse)
                    .u64(0)
                    .u64(0);
                return image.into_bytes();
            }
        };
        let Sizing::Adaptive(how) = &rules.sizing else { return Vec::new() };
        let least = how.least.0.max(1);
        image
            .u64(how.first.0)
            .u64(least)
            .u64(how.most.0.max(least))
            .u64(how.margin.into())
            .u64(how.lazy.into())
            .u64(unlimited(rules.longest))
            .u64(unlimited(rules.ahead))
            .u64(0)
            .u64(rules.lapse.0)
            .u32((rules.exhaustion == Exhaustion::Recharge).into())
            .u32((rules.slack == Slack::OriginalDeadline).into())
            .u32((how.sample == Sample::Job).into())
            .u32((rules.load == Load::Unblocked).into());
        image.into_bytes()
    }
}
