//! Schedulers for streams by their policy's one name.

use laxity_scenario::streams::model::StreamPolicyChoice;
use laxity_stream::rivals::{self, Rival};
use laxity_stream::structure::{Heaps, Precedence, Structure, Unsupported, Wheel};
use laxity_stream::{Meter, Options, Order, Scheduler};

/// Takes a scheduler in its own type, so that a simulation of it is monomorphic.
pub trait Visitor<M> {
    /// What comes of it.
    type Output;
    /// Takes the scheduler.
    fn visit<S: Structure + Send>(self, scheduler: Scheduler<S, M>) -> Self::Output;
}

/// The options under which a policy runs in a scenario; `None` for a name that is not one.
pub fn options(choice: &StreamPolicyChoice, policy: &str) -> Option<Options> {
    if let Some(options) = choice.options(policy) {
        return Some(*options);
    }
    let rival = rivals::POLICIES.iter().any(|p| p.name == policy);
    // As their authors describe them: a free server never waits.
    rival.then(|| Options { ahead: None, ..Options::default() })
}

/// Hands a scheduler without streams to `visitor`; `None` for a name that is not a policy.
///
/// # Errors
/// When no structure keeps the order that the options ask for.
pub fn visit<M: Meter, V: Visitor<M>>(
    choice: &StreamPolicyChoice,
    policy: &str,
    meter: M,
    visitor: V,
) -> Option<Result<V::Output, Unsupported>> {
    let options = options(choice, policy)?;
    if choice.options(policy).is_some() {
        // The fastest for each order.
        return Some(match options.order {
            Order::DeadlineFirst => {
                Scheduler::<Wheel, M>::with_meter(&options, meter).map(|s| visitor.visit(s))
            }
            Order::ToleranceFirst => {
                Scheduler::<Heaps, M>::with_meter(&options, meter).map(|s| visitor.visit(s))
            }
        });
    }
    rivals::visit(policy, OfRival { options, meter, visitor })
}

struct OfRival<M, V> {
    options: Options,
    meter: M,
    visitor: V,
}

impl<M: Meter, V: Visitor<M>> rivals::Visitor for OfRival<M, V> {
    type Output = Result<V::Output, Unsupported>;

    fn visit<P: Precedence + Send + 'static>(self) -> Self::Output {
        let scheduler = Scheduler::<Rival<P>, M>::with_meter(&self.options, self.meter)?;
        Ok(self.visitor.visit(scheduler))
    }
}
