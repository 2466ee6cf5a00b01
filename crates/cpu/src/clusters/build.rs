//! Policies by name on several CPUs.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::{Clusters, Layout, Options};
use crate::registry::{self, GLOBAL_EDF, UnknownPolicy};
use crate::{Policy, bebs};

/// Why a policy cannot be built for a layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// No policy has this name.
    Unknown(UnknownPolicy),
    /// The policy supports one CPU only, and a cluster has more.
    OneCpu {
        /// The policy.
        policy: String,
        /// The first such cluster.
        cluster: u32,
        /// Its number of CPUs.
        cpus: u32,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Unknown(unknown) => unknown.fmt(f),
            BuildError::OneCpu { policy, cluster, cpus } => write!(
                f,
                "`{policy}` decides for one CPU, and cluster {cluster} has {cpus}: make clusters of \
                 one CPU, or use one of {}",
                GLOBAL_EDF.join(" ")
            ),
        }
    }
}

impl core::error::Error for BuildError {}

impl From<UnknownPolicy> for BuildError {
    fn from(unknown: UnknownPolicy) -> BuildError {
        BuildError::Unknown(unknown)
    }
}

type Boxed = Box<dyn Policy + Send>;

/// A policy by name for each cluster. On clusters of one CPU that can be any policy of the
/// [`registry`].
///
/// # Errors
/// When there is none of this name, or it does not support the size of a cluster.
pub fn build(
    name: &str,
    policy: &registry::Options,
    layout: &Layout,
    options: Options,
) -> Result<Clusters<Boxed>, BuildError> {
    let info = registry::find(name).ok_or_else(|| UnknownPolicy(name.into()))?;
    let shared = layout.clusters().iter().position(|set| set.len() > 1);
    if let Some(cluster) = shared.filter(|_| !GLOBAL_EDF.contains(&name)) {
        let (policy, cpus) = (name.into(), layout.clusters()[cluster].len());
        return Err(BuildError::OneCpu { policy, cluster: cluster as u32, cpus });
    }
    let options = Options { reservations: options.reservations && info.keeps_deadlines, ..options };
    Ok(Clusters::new(layout, options, |cpus| {
        let global = match cpus {
            1 => None,
            _ => registry::global(name, policy, cpus),
        };
        // Both exist: the name is one of the registry, and larger clusters were refused above.
        global
            .or_else(|| registry::build(name, policy).ok())
            .unwrap_or_else(|| Box::new(bebs::new(&policy.bebs)))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::POLICIES;
    use alloc::string::ToString;

    #[test]
    fn every_policy_supports_partitioned_layouts_and_some_support_global_edf() {
        let partitioned = Layout::partitioned(4).expect("four");
        let pairs = Layout::clustered(4, 2).expect("four");
        let (policy, options) = (registry::Options::default(), Options::default());
        for p in POLICIES {
            assert!(build(p.name, &policy, &partitioned, options).is_ok(), "{}", p.name);
            let shared = build(p.name, &policy, &pairs, options);
            assert_eq!(shared.is_ok(), GLOBAL_EDF.contains(&p.name), "{}", p.name);
        }
        let error = build("linux-2.4", &policy, &pairs, options).err().expect("it cannot");
        assert!(
            error.to_string().starts_with("`linux-2.4` decides for one CPU, and cluster 0 has 2")
        );
        assert!(build("cfs", &policy, &pairs, options).is_err());
        assert!(GLOBAL_EDF.iter().all(|name| registry::find(name).is_some()));
    }
}
