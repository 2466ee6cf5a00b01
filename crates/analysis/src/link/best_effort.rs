//! Bounds of best-effort delay.

use laxity_core::{Bytes, Span};
use laxity_curve::service::{LinkFlow, share_of, strict_service};
use laxity_curve::{Blocking, Curve, CurveError, Guarantee, LinkSpec, Rational, Residual};
use laxity_link::assign::{Assigner as _, Exact};
use laxity_link::config::{FairQueue, LinkConfig, Release};
use laxity_link::{proportional_share, registry};
use laxity_results::BestEffortCheck;
use laxity_scenario::link::model::Scenario;

use super::{always_checks, residual::corners, shares, whole};

/// Bounds of the classes with envelopes, for an admitted set.
pub(super) fn bounds(
    scenario: &Scenario,
    policy: &str,
    (link, flows): (&LinkSpec, &[LinkFlow]),
    residual: &Residual,
) -> Result<Vec<(String, BestEffortCheck)>, CurveError> {
    let setup = scenario.setup();
    let spare = residual.admission().infimum_from()?;
    let strict = match divides(scenario, policy, &setup) {
        true => strict_service(link, flows)?,
        false => None,
    };
    let alone = serves_by_effective_residual(policy, &setup).then(|| residual.effective());
    let total: u64 = scenario.best_effort.iter().map(|c| u64::from(c.weight.0)).sum();
    let lag = lag(&setup);
    let mut out = Vec::new();
    let parts = shares::parts(&setup)?;
    for (index, class) in scenario.best_effort.iter().enumerate() {
        let Some(envelope) = &class.envelope else { continue };
        let arrivals = setup.wire.envelope(envelope)?.curve()?;
        let share = match &parts {
            Some(parts) => parts[index],
            None => Rational::new(class.weight.0.into(), total.into())?,
        };
        let delay = |service: &Curve| -> Result<Option<u64>, CurveError> {
            let delay = arrivals.delay(service)?.map(whole);
            Ok(delay.filter(|ns| *ns <= LONGEST.0))
        };
        let own = share_of(&spare, share, Bytes(0))?;
        let shared = match &strict {
            Some(strict) => delay(&share_of(strict, share, lag)?)?,
            None => None,
        };
        let check = BestEffortCheck {
            alone_delay_ns: alone.map(delay).transpose()?.flatten(),
            shared_delay_ns: shared,
            flow_delay_ns: delay(&own)?,
            flow_curve: corners(&own),
        };
        out.push((class.name.clone(), check));
    }
    Ok(out)
}

/// Bounds beyond an hour are as good as none.
const LONGEST: Span = Span(3_600_000_000_000);

/// Whether classes divide by weight whatever best effort gets, as soon as some of it waits. Flow
/// queues and AQM choose packets only when they leave, and drop some.
fn divides(scenario: &Scenario, policy: &str, setup: &LinkConfig) -> bool {
    let keeps = registry::find(policy).is_some_and(|p| p.keeps_deadlines);
    let fair = policy != proportional_share::INFO.name;
    keeps && fair && !always_checks(scenario, policy) && !is_managed(setup)
}

/// Whether packets are chosen at each decision, by flow queues, AQM or curves of classes.
fn is_managed(setup: &LinkConfig) -> bool {
    setup.best_effort.iter().any(|class| class.is_managed())
        || matches!(setup.fair_queue, FairQueue::Fsc(_))
}

/// Whether a packet's deadline follows from its arrival and the whole residual, and is kept.
fn serves_by_effective_residual(policy: &str, setup: &LinkConfig) -> bool {
    let kept = (setup.guarantee, setup.blocking) == (Guarantee::All, Blocking::Exact);
    kept && policy == Exact::INFO.name && setup.release == Release::Arrival && !is_managed(setup)
}

/// By how much work of the aggregate a fair queue may be behind the fluid server.
fn lag(setup: &LinkConfig) -> Bytes {
    let packet = setup.wire.of_bytes(setup.max_packet);
    match setup.fair_queue {
        FairQueue::Wfq | FairQueue::Wf2qPlus => packet,
        // Curves have no bound of this form; `divides` leaves them out.
        FairQueue::Scfq | FairQueue::Fsc(_) => {
            let others = setup.best_effort.len().saturating_sub(1) as u64;
            Bytes(packet.0.saturating_mul(others))
        }
    }
}
