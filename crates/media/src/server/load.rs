//! Whether streams that come or change while a server runs fit on its link: the admission test of
//! `laxity check`.

use std::fmt;

use laxity_core::{Bytes, Rate, Span};
use laxity_dwcs::admission::{Demand, Utilisation, suggest};

use super::config::{Source, StreamConfig};
use super::handle::Handle;
use crate::rtp;

/// The longest header that a media format puts before a piece of a frame.
const PREFIX: usize = 4;

/// The load of a stream that joins or changes, alone and with the running ones.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    alone: Demand,
    all: Utilisation,
}

impl Load {
    /// Whether the link could keep the stream's windows with nothing else to send.
    pub fn fits_alone(&self) -> bool {
        Utilisation::of(&[self.alone]).fits()
    }

    /// Whether it fits beside the streams that run.
    pub fn fits(&self) -> bool {
        self.all.fits()
    }
}

/// The fault and its remedy; `None` if the load fits.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |load: Utilisation| load.millionths() as f64 / 1e4;
        if !self.fits_alone() {
            let load = percent(Utilisation::of(&[self.alone]));
            write!(
                f,
                "it alone needs {load:.1}% of the link after all losses that it tolerates; "
            )?;
            return match suggest(&[self.alone], 0).and_then(|s| s.gap) {
                Some(gap) => write!(f, "with a gap of {} ns or more it would fit", gap.0),
                None => write!(f, "no gap would make it fit"),
            };
        }
        if !self.fits() {
            let load = percent(self.all);
            write!(
                f,
                "the streams now need {load:.1}% of the link after all losses that they tolerate; \
                 windows will be violated"
            )?;
        }
        Ok(())
    }
}

impl Handle {
    /// The load of the server with this stream in place of the one of the same name, if there is
    /// one. `None` where the server has no rate.
    pub fn load_with(&self, config: &StreamConfig) -> Option<Load> {
        let (rate, overhead) = self.shared().rate?;
        let alone = demand(config, rate, overhead);
        let others = self.list();
        let others = others.iter().filter(|other| other.name != config.name);
        let mut all: Vec<Demand> = others.map(|other| demand(other, rate, overhead)).collect();
        all.push(alone);
        Some(Load { alone, all: Utilisation::of(&all) })
    }
}

fn demand(config: &StreamConfig, rate: Rate, overhead: u64) -> Demand {
    let wire = Bytes((datagram(config) as u64).saturating_add(overhead));
    let service = rate.time_for(wire).unwrap_or(Span(u64::MAX));
    Demand { attributes: config.attributes, service, count: 1 }
}

/// The largest UDP payload that its source makes.
fn datagram(config: &StreamConfig) -> usize {
    let frame = match &config.source {
        Source::Constant { bytes } => return *bytes,
        Source::Frames { sizes, .. } => sizes.iter().copied().max().unwrap_or(0),
        Source::Media { media, .. } => media.longest() + PREFIX,
        Source::Inlet | Source::Shared => return config.largest,
    };
    config.largest.min(frame.saturating_add(rtp::HEADER))
}
