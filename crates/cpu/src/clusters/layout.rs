//! The division of CPUs into clusters that share a deadline queue.

use alloc::vec::Vec;
use core::fmt;

use crate::{CpuId, CpuSet};

/// The CPUs of a machine, divided into clusters, usually by shared cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    clusters: Vec<CpuSet>,
    cpus: u32,
}

/// Why a layout is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutError {
    /// No CPU at all.
    NoCpus,
    /// More than [`CpuSet::MOST`].
    TooMany {
        /// CPUs asked for.
        cpus: u32,
    },
    /// A cluster without CPUs.
    Empty {
        /// The cluster, counted from zero.
        cluster: u32,
    },
    /// A CPU in two clusters.
    Twice {
        /// The CPU.
        cpu: CpuId,
    },
    /// A CPU is in no cluster, though one with a greater number is.
    Missing {
        /// The CPU.
        cpu: CpuId,
    },
}

impl Layout {
    /// A queue for each CPU.
    ///
    /// # Errors
    /// For no CPUs, or too many.
    pub fn partitioned(cpus: u32) -> Result<Layout, LayoutError> {
        Layout::clustered(cpus, 1)
    }

    /// One queue for all CPUs.
    ///
    /// # Errors
    /// For no CPUs, or too many.
    pub fn global(cpus: u32) -> Result<Layout, LayoutError> {
        Layout::clustered(cpus, cpus)
    }

    /// A queue for each `size` CPUs, counted from the first; the last cluster may be smaller.
    ///
    /// # Errors
    /// For no CPUs, too many, or clusters of none.
    pub fn clustered(cpus: u32, size: u32) -> Result<Layout, LayoutError> {
        match (cpus, size) {
            (0, _) => Err(LayoutError::NoCpus),
            (_, 0) => Err(LayoutError::Empty { cluster: 0 }),
            _ if cpus > CpuSet::MOST => Err(LayoutError::TooMany { cpus }),
            _ => Layout::of(
                (0..cpus.div_ceil(size))
                    .map(|k| CpuSet::range(k * size, size.min(cpus - k * size)))
                    .collect(),
            ),
        }
    }

    /// These clusters, which must contain each CPU from zero on exactly once.
    ///
    /// # Errors
    /// If they do not.
    pub fn of(clusters: Vec<CpuSet>) -> Result<Layout, LayoutError> {
        let mut all = CpuSet::NONE;
        for (k, cluster) in clusters.iter().enumerate() {
            if cluster.is_empty() {
                return Err(LayoutError::Empty { cluster: k as u32 });
            }
            if let Some(cpu) = all.and(*cluster).first() {
                return Err(LayoutError::Twice { cpu });
            }
            all = all.or(*cluster);
        }
        let cpus = all.len();
        match CpuSet::range(0, cpus).without(all).first() {
            Some(cpu) => Err(LayoutError::Missing { cpu }),
            None if cpus == 0 => Err(LayoutError::NoCpus),
            None => Ok(Layout { clusters, cpus }),
        }
    }

    /// The number of CPUs.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    /// The CPUs of each cluster.
    pub fn clusters(&self) -> &[CpuSet] {
        &self.clusters
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::NoCpus => write!(f, "no CPUs: give one at least"),
            LayoutError::TooMany { cpus } => {
                write!(f, "{cpus} CPUs: at most {} can be scheduled", CpuSet::MOST)
            }
            LayoutError::Empty { cluster } => {
                write!(f, "cluster {cluster} has no CPUs: give it one or leave it out")
            }
            LayoutError::Twice { cpu } => {
                write!(f, "CPU {} is in two clusters: leave it in one", cpu.0)
            }
            LayoutError::Missing { cpu } => {
                write!(f, "CPU {} is in no cluster: put it in one", cpu.0)
            }
        }
    }
}

impl core::error::Error for LayoutError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cpu_is_in_one_cluster() {
        let sizes = |layout: Layout| layout.clusters().iter().map(|c| c.len()).collect::<Vec<_>>();
        assert_eq!(sizes(Layout::partitioned(3).expect("three")), [1, 1, 1]);
        assert_eq!(sizes(Layout::clustered(7, 4).expect("seven")), [4, 3]);
        assert_eq!(sizes(Layout::global(128).expect("all")), [128]);
        let (low, high) = (CpuSet::range(0, 2), CpuSet::range(1, 2));
        assert_eq!(Layout::of(alloc::vec![low, high]), Err(LayoutError::Twice { cpu: CpuId(1) }));
        assert_eq!(Layout::of(alloc::vec![high]), Err(LayoutError::Missing { cpu: CpuId(0) }));
        assert_eq!(Layout::partitioned(129), Err(LayoutError::TooMany { cpus: 129 }));
        assert_eq!(Layout::clustered(2, 0), Err(LayoutError::Empty { cluster: 0 }));
        assert_eq!(Layout::of(Vec::new()), Err(LayoutError::NoCpus));
    }
}
