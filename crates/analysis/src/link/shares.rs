//! Shares of best effort under Fair Service Curve.

use laxity_curve::{CurveError, Rational};
use laxity_link::assign::{Assigner as _, BestEffortFirst, Fifo};
use laxity_link::config::{FairQueue, LinkConfig, LinkConfigError, Sharing};
use laxity_link::{fair, proportional_share};
use laxity_results::{ShareCheck, SharesCheck};
use laxity_scenario::link::model::Scenario;

use super::residual::corners;

/// The parts of all classes, where curves decide.
pub(super) fn parts(setup: &LinkConfig) -> Result<Option<Vec<Rational>>, CurveError> {
    let shares = class_shares(setup)?;
    Ok(shares.map(|(classes, ..)| classes.into_iter().map(|class| class.part).collect()))
}

/// The shares, unless the policy or the order ignores curves.
pub(super) fn shares(
    scenario: &Scenario,
    policy: &str,
    setup: &LinkConfig,
) -> Result<Option<SharesCheck>, CurveError> {
    let ignores = [Fifo::INFO.name, BestEffortFirst::INFO.name, proportional_share::INFO.name];
    if ignores.contains(&policy) {
        return Ok(None);
    }
    let Some((classes, rate, asked)) = class_shares(setup)? else { return Ok(None) };
    let row = |(index, class): (usize, &fair::ClassShare)| ShareCheck {
        part: class.part.numerator() as f64 / class.part.denominator() as f64,
        curve: corners(class.curve.curve()),
        limit_bit_s: limit(setup, &setup.best_effort[index].sharing),
    };
    let names = scenario.best_effort.iter().map(|class| class.name.clone());
    Ok(Some(SharesCheck {
        rate_bit_s: rate.0,
        asked_bit_s: asked.0,
        classes: names.zip(classes.iter().enumerate().map(row)).collect(),
    }))
}

type Shares = (Vec<fair::ClassShare>, laxity_core::Rate, laxity_core::Rate);

/// `None` where curves do not decide. Groups that form no tree have no shares; building
/// the policy returns the error.
fn class_shares(setup: &LinkConfig) -> Result<Option<Shares>, CurveError> {
    if !matches!(setup.fair_queue, FairQueue::Fsc(_)) {
        return Ok(None);
    }
    match fair::class_shares(setup) {
        Ok(shares) => Ok(Some(shares)),
        Err(LinkConfigError::Curve(error)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The least long-term rate of the limits of a class and its groups, which form a tree.
fn limit(setup: &LinkConfig, class: &Sharing) -> Option<u64> {
    let above = |sharing: &&Sharing| Some(&setup.groups.get(sharing.group?)?.sharing);
    let path = std::iter::successors(Some(class), above);
    path.filter_map(|sharing| Some(sharing.limit.as_ref()?.rate().0)).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::analyse;

    const FILE: &str = "[link]\nrate = \"10 Mbit/s\"\n[policy]\nfair_queue = \"fsc\"\n\
        [[realtime]]\nname = \"voice\"\ndeadline = \"20 ms\"\n\
        envelope = { burst = \"1 kB\", rate = \"250 kB/s\" }\n\
        [[group]]\nname = \"office\"\nweight = 3\n\
        upper_limit = { rate = \"500 kB/s\", latency = \"0 ms\" }\n\
        [[best_effort]]\nname = \"telnet\"\n\
        service_curve = { m1 = \"1 MB/s\", d = \"2 ms\", m2 = \"100 kB/s\" }\n\
        [[best_effort]]\nname = \"web\"\ngroup = \"office\"\nweight = 2\n\
        upper_limit = { rate = \"600 kB/s\", latency = \"0 ms\" }\n\
        [[best_effort]]\nname = \"mail\"\ngroup = \"office\"\n";

    fn of(text: &str, policy: &str) -> Option<SharesCheck> {
        let scenario = Scenario::parse(text, "link.toml").unwrap_or_else(|e| panic!("{e}"));
        analyse(&scenario, policy).unwrap_or_else(|e| panic!("{e}")).shares
    }

    // Fails when real time is not subtracted, weights share what curves take, a part leaves its group
    // out, or the limit of a group binds none of its classes.
    #[test]
    fn parts_limits_and_rates_are_those_of_the_tree() {
        let shares = of(FILE, "exact").unwrap();
        // 10 Mbit/s less 2 of voice; telnet asks for 0.8, and the rest is of weights.
        assert_eq!((shares.rate_bit_s, shares.asked_bit_s), (8_000_000, 8_000_000));
        let part = |name: &str| (shares.classes[name].part * 1000.0).round();
        assert_eq!(part("telnet"), 100.0);
        assert_eq!((part("web"), part("mail"), part("other")), (450.0, 225.0, 225.0));
        let limit = |name: &str| shares.classes[name].limit_bit_s;
        assert_eq!(
            (limit("web"), limit("mail"), limit("other")),
            (Some(4_000_000), Some(4_000_000), None)
        );
        let curve = &shares.classes["telnet"].curve;
        assert_eq!((curve[0].2, curve[1].0, curve[1].2), (1e6, 2_000_000, 1e5));
    }

    // Fails when curves that ask for more than there is leave weights nothing.
    #[test]
    fn weights_keep_a_hundredth_beside_greedy_curves() {
        let shares = of(&FILE.replace("m2 = \"100 kB/s\"", "m2 = \"2 MB/s\""), "exact").unwrap();
        assert_eq!((shares.rate_bit_s, shares.asked_bit_s), (8_000_000, 16_080_000));
    }

    #[test]
    fn other_orders_have_no_curves() {
        for policy in ["fifo", "best-effort-first", "proportional-share"] {
            assert_eq!(of(FILE, policy), None, "{policy}");
        }
        let weights = "[link]\nrate = \"10 Mbit/s\"\n[[best_effort]]\nname = \"web\"\n";
        assert_eq!(of(weights, "exact"), None);
    }
}
