//! All runs that the wanted experiments need, each done once, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use laxity_sim::Control;

use super::simulation::{RunResult, Setting, simulate};
use super::variants::{Kind, Variant};
use super::workload::SERVICE;
use crate::Job;

/// Units of time between deadlines, unless a figure has its own.
pub const GAP: u64 = 500;

/// Length of runs, and their number where bursts are random.
#[derive(Clone, Debug)]
pub struct Scale {
    packets: u64,
    seeds: Vec<u64>,
}

impl Scale {
    /// Of a job.
    pub fn of(job: &Job) -> Scale {
        Scale { packets: job.duration.0 / SERVICE.0, seeds: job.seeds.clone() }
    }

    /// Units of time in each run.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// A variant with so many streams: once, or for each seed where one makes a difference.
    pub fn settings(&self, variant: Variant, streams: usize) -> Vec<Setting> {
        let random = matches!(variant.kind, Kind::Fifo(bursts) if bursts.random());
        let seeds = if random { &self.seeds[..] } else { &[0] };
        let setting =
            |seed| Setting { variant, streams, gap: GAP, every: 1, seed, packets: self.packets };
        seeds.iter().map(|seed| setting(*seed)).collect()
    }

    /// Variants by counts of streams.
    pub fn grid(&self, variants: &[Variant], counts: &[usize]) -> Vec<Setting> {
        let each = variants.iter().flat_map(|v| counts.iter().map(move |n| (*v, *n)));
        each.flat_map(|(variant, n)| self.settings(variant, n)).collect()
    }
}

/// Runs that were finished, in no particular order.
#[derive(Debug)]
pub struct Runs {
    scale: Scale,
    done: Vec<RunResult>,
}

/// Each setting once.
pub fn distinct(settings: impl IntoIterator<Item = Setting>) -> Vec<Setting> {
    let mut distinct: Vec<Setting> = Vec::new();
    for setting in settings {
        if !distinct.contains(&setting) {
            distinct.push(setting);
        }
    }
    distinct
}

impl Runs {
    /// Plays all settings. When stopped, those that were finished are there; which, depends on the
    /// machine.
    pub fn of(scale: Scale, settings: &[Setting], control: &Control) -> Runs {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::with_capacity(settings.len()));
        let work = || {
            while let Some(setting) = settings.get(next.fetch_add(1, Ordering::Relaxed)) {
                let Some(result) = simulate(setting, control) else { break };
                done.lock().unwrap_or_else(PoisonError::into_inner).push(result);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..threads.min(settings.len()) {
                scope.spawn(work);
            }
        });
        Runs { scale, done: done.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }

    /// Whether all of these were finished.
    pub fn have(&self, settings: &[Setting]) -> bool {
        settings.iter().all(|s| self.find(s).is_some())
    }

    /// How long and how often.
    pub fn scale(&self) -> &Scale {
        &self.scale
    }

    /// One run.
    pub fn find(&self, setting: &Setting) -> Option<&RunResult> {
        self.done.iter().find(|p| p.setting == *setting)
    }

    /// A number of a variant with so many streams, for each seed.
    pub fn each(
        &self,
        variant: Variant,
        streams: usize,
        number: impl Fn(&RunResult) -> f64,
    ) -> Vec<f64> {
        let settings = self.scale.settings(variant, streams);
        settings.iter().filter_map(|s| self.find(s)).map(number).collect()
    }

    /// The first seed's run of a variant with so many streams.
    pub fn first(&self, variant: Variant, streams: usize) -> Option<&RunResult> {
        self.find(self.scale.settings(variant, streams).first()?)
    }
}
