//! A scenario at another rate, with some real-time flows as best effort.

use laxity_core::{Rate, Weight};

use super::model::{Aqm, BestEffortClass, Link, RealtimeFlow, Scenario, Sharing};

impl Scenario {
    /// The scenario at another rate, where the real-time flows at the places `shed` are best effort:
    /// classes of weight 1 before those of the file. Where `max_classes` allows no more, the least
    /// important of them share the class `other` with unmatched packets.
    ///
    /// Real-time flows that stay precede shed ones, so `match` has to be applied in the order of the
    /// original where matches overlap.
    pub fn at_rate(&self, rate: Rate, shed: &[usize], max_classes: usize) -> Scenario {
        let importance = |place: &usize| self.realtime.get(*place).map_or(0, |f| f.importance);
        let mut own = shed.to_vec();
        own.sort_by_key(|place| std::cmp::Reverse(importance(place)));
        own.truncate(max_classes.saturating_sub(self.best_effort.len()));
        let flows = || self.realtime.iter().enumerate();
        let class = |flow: &RealtimeFlow| BestEffortClass {
            name: flow.name.clone(),
            weight: Weight::ONE,
            envelope: Some(flow.envelope.clone()),
            buffer: flow.buffer,
            flows: None,
            aqm: Aqm::None,
            sharing: Sharing::default(),
            source: flow.source.clone(),
            matches: flow.matches.clone(),
        };
        let classes = flows().filter(|(place, _)| own.contains(place)).map(|(_, f)| class(f));
        let mut changed = self.clone();
        changed.realtime =
            flows().filter(|(place, _)| !shed.contains(place)).map(|(_, f)| f.clone()).collect();
        changed.set_link(Link { rate, ..self.link.clone() });
        changed.best_effort = classes.chain(self.best_effort.iter().cloned()).collect();
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Fails when a shed flow keeps its reservation, takes the place of `other`, or the less important
    // one has the last free class.
    #[test]
    fn shed_flows_are_classes_before_others() {
        let flow = |name: &str, importance: u32| {
            format!(
                "[[realtime]]\nname = \"{name}\"\ndeadline = \"50 ms\"\n\
                 importance = {importance}\nmatch = {{ mark = 1 }}\n\
                 envelope = {{ burst = \"400 B\", rate = \"1 kB/s\" }}\n"
            )
        };
        let text = format!(
            "[link]\nrate = \"10 Mbit/s\"\n{}{}{}[[best_effort]]\nname = \"web\"\n",
            flow("a", 1),
            flow("b", 2),
            flow("c", 3)
        );
        let scenario = Scenario::parse(&text, "link.toml").unwrap();
        let names = |max| {
            let changed = scenario.at_rate(Rate(1_000_000), &[0, 1], max);
            assert_eq!(changed.link.rate, Rate(1_000_000));
            assert_eq!(Scenario::parse(&changed.to_toml(), "link.toml").unwrap(), changed);
            changed.flow_names().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(names(16), ["c", "a", "b", "web", "other"]);
        assert_eq!(names(3), ["c", "b", "web", "other"]);
        assert_eq!(names(2), ["c", "web", "other"]);
        assert_eq!(scenario.at_rate(scenario.link.rate, &[], 16), scenario);
    }
}
