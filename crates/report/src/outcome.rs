//! Results of one seed or several, whatever the kind of scenario.

use crate::cells;
use indexmap::IndexMap;
use laxity_results::Spread;

/// A run: policies, and under each its items (flows, classes or tasks), in the order of the file.
pub(crate) trait Run {
    /// A policy's results.
    type Policy: 'static;
    /// The results of an item.
    type Item: 'static;

    fn policies(&self) -> &IndexMap<String, Self::Policy>;

    fn items(policy: &Self::Policy) -> &IndexMap<String, Self::Item>;
}

/// The runs of an outcome, and figures over them.
pub(crate) trait Runs<'a>: Copy {
    /// One of them.
    type Run: Run + 'a;

    /// All runs; none when the outcome of several seeds is empty.
    fn runs(&self) -> &'a [Self::Run];

    /// The run that plots are drawn from.
    fn first(&self) -> Option<&'a Self::Run> {
        self.runs().first()
    }

    fn is_many(&self) -> bool {
        self.runs().len() > 1
    }

    /// Names of the policies.
    fn policies(&self) -> Vec<&'a str> {
        self.first().map_or(Vec::new(), |run| run.policies().keys().map(String::as_str).collect())
    }

    /// Names of the items of the first policy.
    fn items(&self) -> Vec<&'a str> {
        let policy = self.first().and_then(|run| run.policies().values().next());
        policy.map_or(Vec::new(), |p| Self::Run::items(p).keys().map(String::as_str).collect())
    }

    /// One item under one policy in each run.
    fn each(
        &self,
        policy: &'a str,
        item: &'a str,
    ) -> impl Iterator<Item = &'a <Self::Run as Run>::Item> {
        let of = move |run: &'a Self::Run| Self::Run::items(run.policies().get(policy)?).get(item);
        self.runs().iter().filter_map(of)
    }

    /// A count of an item summed over the runs.
    fn sum(
        &self,
        policy: &'a str,
        item: &'a str,
        of: impl Fn(&<Self::Run as Run>::Item) -> u64,
    ) -> u64 {
        self.each(policy, item).map(of).fold(0, u64::saturating_add)
    }

    /// A count summed over runs and items.
    fn total(&self, policy: &'a str, of: impl Fn(&<Self::Run as Run>::Item) -> u64) -> u64 {
        let items = self.items().into_iter();
        items.map(|item| self.sum(policy, item, &of)).fold(0, u64::saturating_add)
    }

    /// A figure of an item over the runs that have it: mean, least and greatest.
    fn spread(
        &self,
        policy: &'a str,
        item: &'a str,
        of: impl Fn(&<Self::Run as Run>::Item) -> Option<f64>,
    ) -> Option<Spread> {
        cells::spread(self.each(policy, item).filter_map(of))
    }
}
