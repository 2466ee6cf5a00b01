//! Tiny links with all that conforming flows can do on them.

use laxity_link::config::LinkConfig;

use super::{
    Arrival, BYTE_PER_NS, admitted, backlogs, config, conforming, flow, leaky, merge, periodic,
    tighten, tspec,
};

const HALF: u64 = BYTE_PER_NS / 2;
const QUARTER: u64 = BYTE_PER_NS / 4;
const EIGHTH: u64 = BYTE_PER_NS / 8;

/// A link, and what each flow and best effort may send.
pub struct Scope {
    pub name: &'static str,
    pub config: LinkConfig,
    /// Time added to each deadline after all have been made as short as possible.
    pub room: &'static [u64],
    pub horizon: u64,
    pub packets: usize,
    pub best_effort: usize,
}

pub fn scopes() -> Vec<Scope> {
    let bucket = || flow(leaky(2, 3, QUARTER), 40);
    let spec = || flow(tspec(2, HALF, 4, QUARTER), 40);
    let clock = || flow(periodic(5, 2, 3), 40);
    let sparse = || flow(leaky(1, 1, EIGHTH), 40);
    let large = || flow(leaky(3, 3, EIGHTH), 40);
    let scope = |name, realtime: Vec<_>, room, packets, best_effort| {
        let horizon = if realtime.len() == 1 { 8 } else { 6 };
        let config = config(BYTE_PER_NS, 3, realtime);
        Scope { name, config, room, horizon, packets, best_effort }
    };
    vec![
        scope("bucket, tight", vec![bucket()], &[0], 4, 2),
        scope("bucket", vec![bucket()], &[3], 3, 3),
        scope("tspec, tight", vec![spec()], &[0], 4, 2),
        scope("tspec", vec![spec()], &[2], 5, 2),
        scope("periodic", vec![clock()], &[2], 4, 3),
        scope("periodic and sparse", vec![clock(), sparse()], &[0, 0], 3, 2),
        scope("sparse and large", vec![sparse(), large()], &[0, 5], 2, 2),
        scope("large and bucket", vec![large(), bucket()], &[1, 2], 2, 2),
    ]
}

impl Scope {
    /// The config with these options and the shortest deadlines that they admit.
    pub fn with(&self, change: impl Fn(&mut LinkConfig)) -> LinkConfig {
        let mut config = self.config.clone();
        change(&mut config);
        assert!(tighten(&mut config), "{}: not admitted", self.name);
        for (flow, more) in config.realtime.iter_mut().zip(self.room) {
            flow.deadline.0 += more;
        }
        assert!(admitted(&config));
        config
    }

    /// Shows `visit` every conforming trace; returns how many there are.
    pub fn traces(
        &self,
        config: &LinkConfig,
        sizes: &[u32],
        mut visit: impl FnMut(&[Arrival]),
    ) -> usize {
        let flows: Vec<Vec<Vec<Arrival>>> = (0..)
            .zip(&config.realtime)
            .map(|(k, f)| conforming(&f.envelope, self.horizon, self.packets, k))
            .collect();
        let nothing = vec![vec![]];
        let second = flows.get(1).unwrap_or(&nothing);
        let best = backlogs(sizes, self.horizon / 2 + 1, self.best_effort, flows.len() as u32);
        let mut trace = vec![];
        for a in &flows[0] {
            for b in second {
                for c in &best {
                    merge(&[a, b, c], &mut trace);
                    visit(&trace);
                }
            }
        }
        flows[0].len() * second.len() * best.len()
    }
}
