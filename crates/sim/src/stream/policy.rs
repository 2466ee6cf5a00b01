//! Schedulers for streams by their policy's one name.

use laxity_dwcs::baselines::{self, Baseline};
use laxity_dwcs::structure::{
    Buckets, Fastest, Heaps, List, Precedence, Structure, Unsupported, Wheel,
};
use laxity_dwcs::{Meter, Options, Scheduler};
use laxity_scenario::stream::model::StreamPolicyChoice;

/// Takes a scheduler in its own type, so that a simulation of it is monomorphic.
pub trait Visitor<M> {
    /// The result of the visit.
    type Output;
    /// Takes the scheduler.
    fn visit<S: Structure + Send + 'static>(self, scheduler: Scheduler<S, M>) -> Self::Output;
}

/// The options under which a policy runs in a scenario; `None` for a name that is not one.
pub fn options(choice: &StreamPolicyChoice, policy: &str) -> Option<Options> {
    if let Some(options) = choice.options(policy) {
        return Some(*options);
    }
    let baseline = baselines::POLICIES.iter().any(|p| p.name == policy);
    baseline.then(any_order)
}

/// The options of an order that is not a reading of DWCS, as the authors of other orders describe them: a free server never waits.
pub fn any_order() -> Options {
    Options { ahead: None, ..Options::default() }
}

/// The paper's, in the order of DWCS.
const HEAPS: &str = <Heaps as Structure>::NAME;

/// Hands a scheduler without streams to `visitor`; `None` for a name that is not a policy.
///
/// # Errors
/// When no structure implements the order of the options.
pub fn visit<M: Meter, V: Visitor<M>>(
    choice: &StreamPolicyChoice,
    policy: &str,
    meter: M,
    visitor: V,
) -> Option<Result<V::Output, Unsupported>> {
    let options = options(choice, policy)?;
    if let Some(tuning) = choice.tuning(policy) {
        let of = OfStructure { options, meter, visitor };
        return Some(match tuning.structure {
            List::NAME => of.visit::<List>(),
            HEAPS => of.visit::<Heaps>(),
            Buckets::NAME => of.visit::<Buckets>(),
            Wheel::NAME => of.visit::<Wheel>(),
            _ => of.visit::<Fastest>(),
        });
    }
    baselines::visit(policy, OfStructure { options, meter, visitor })
}

struct OfStructure<M, V> {
    options: Options,
    meter: M,
    visitor: V,
}

impl<M: Meter, V: Visitor<M>> OfStructure<M, V> {
    fn visit<S: Structure + Send + 'static>(self) -> Result<V::Output, Unsupported> {
        let scheduler = Scheduler::<S, M>::with_meter(&self.options, self.meter)?;
        Ok(self.visitor.visit(scheduler))
    }
}

impl<M: Meter, V: Visitor<M>> baselines::Visitor for OfStructure<M, V> {
    type Output = Result<V::Output, Unsupported>;

    fn visit<P: Precedence + Send + 'static>(self) -> Self::Output {
        OfStructure::visit::<Baseline<P>>(self)
    }
}
