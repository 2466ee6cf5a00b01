//! The rules of a policy as `struct lxc_policy_params` of `bpf/include/laxity/servers_state.h`.

use std::fmt;

use laxity_core::Span;
use laxity_cpu::berate::{self, Base, LoadOf};
use laxity_cpu::quantum::Clock;
#[cfg(feature = "kernel")]
use laxity_cpu::registry::Options;
use laxity_cpu::servers::{Basis, Exhaustion, Load, Rules, Sample, Sizing, Slack, Transition};

use crate::layout::Field;
use crate::layout::cpu::lxc_policy_params as params;

/// Rules that the kernel runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuRules(How);

#[derive(Clone, Debug, PartialEq, Eq)]
enum How {
    Servers(Rules),
    BeRate(berate::Options),
}

/// The unit of quanta.
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
    /// When the kernel does not support an option, named in the error.
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
    /// When the kernel does not support an option, named in the error.
    pub fn berate(options: &berate::Options) -> Result<CpuRules, NotInKernel> {
        if options.base != Base::OldDeadline {
            return Err(NotInKernel("a deadline that counts from now after a quantum"));
        }
        if options.clock == Clock::Hz800 {
            return Err(NotInKernel("a quantum that is no multiple of 10 ms"));
        }
        Ok(CpuRules(How::BeRate(*options)))
    }

    /// As `struct lxc_policy_params`.
    pub fn image(&self) -> Vec<u8> {
        let unlimited = |span: Option<Span>| span.map_or(u64::MAX, |s| s.0);
        let mut image = vec![0; params::SIZEOF];
        let mut long = |field: Field, value: u64| field.set_u64(&mut image, value);
        let rules = match &self.0 {
            How::Servers(rules) => rules,
            How::BeRate(options) => {
                let limits = options.limits;
                long(params::MAX_PERIOD, unlimited(limits.map(|l| l.max_period)));
                long(params::MAX_AHEAD, unlimited(limits.map(|l| l.ahead)));
                long(params::QUANTUM, QUANTUM.0);
                long(params::SLICE, u64::MAX);
                if options.load == LoadOf::Live {
                    long(params::INACTIVE_AFTER, unlimited(limits.map(|l| l.lapse)));
                }
                return image;
            }
        };
        let Sizing::Adaptive(how) = &rules.sizing else { return Vec::new() };
        let least = how.min_budget.0.max(1);
        long(params::INITIAL_BUDGET, how.initial_average.0);
        long(params::MIN_BUDGET, least);
        long(params::MAX_BUDGET, how.max_budget.0.max(least));
        long(params::MARGIN_PERMILLE, how.margin.into());
        long(params::DRIFT_PERMILLE, how.hysteresis.into());
        long(params::MAX_PERIOD, unlimited(rules.max_period));
        long(params::MAX_AHEAD, unlimited(rules.ahead));
        long(params::SLICE, unlimited(rules.slice));
        long(params::WAKEUP_GRANULARITY, rules.wakeup_granularity.0);
        long(params::INACTIVE_AFTER, rules.lapse.0);
        for (field, is) in [
            (params::RECHARGE, rules.exhaustion == Exhaustion::Recharge),
            (params::ADVANCE_ON_IDLE, rules.slack == Slack::OriginalDeadline),
            (params::SAMPLE_PER_JOB, how.sample == Sample::Job),
            (params::EXCLUDE_SLEEPERS, rules.load == Load::Unblocked),
        ] {
            field.set_u32(&mut image, is.into());
        }
        image
    }
}

/// Reads the options of all policies of servers from a `struct lxc_policy_params`.
#[cfg(feature = "kernel")]
pub(super) fn read(image: &[u8], options: &mut Options) {
    let span = |field: Field| Span(field.u64(image));
    let limited = |field: Field| match field.u64(image) {
        u64::MAX => Span::ZERO,
        limit => Span(limit),
    };
    if params::QUANTUM.u64(image) > 0 {
        let live = params::INACTIVE_AFTER.u64(image) > 0;
        options.berate.load = if live { LoadOf::Live } else { LoadOf::Runnable };
        return;
    }
    for how in [&mut options.bebs.adaptation, &mut options.bebs_credit.adaptation] {
        how.initial_average = span(params::INITIAL_BUDGET);
        how.min_budget = span(params::MIN_BUDGET);
        how.max_budget = span(params::MAX_BUDGET);
        how.margin = params::MARGIN_PERMILLE.u64(image).try_into().unwrap_or(u32::MAX);
        how.hysteresis = params::DRIFT_PERMILLE.u64(image).try_into().unwrap_or(u32::MAX);
        how.sample =
            if params::SAMPLE_PER_JOB.u32(image) > 0 { Sample::Job } else { Sample::State };
    }
    options.bebs_credit.ahead = limited(params::MAX_AHEAD);
    options.bebs_credit.slice = limited(params::SLICE);
    options.bebs_credit.wakeup_granularity = span(params::WAKEUP_GRANULARITY);
}
