//! All CPU policies by name. A new policy is a file and an entry in the list below.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

use laxity_core::PolicyInfo;

use crate::layered::Layered;
use crate::options::Field;
use crate::servers::Servers;
use crate::{
    Policy, bebs, bebs_credit, berate, best, cbs, dwcs, edf, eevdf, iris, iris_naive, linux_2_4,
    linux_2_6, posix, quantum::Clock, sched_deadline,
};

/// The policy of a name.
pub fn find(name: &str) -> Option<&'static PolicyInfo> {
    POLICIES.iter().find(|p| p.name == name)
}

/// The options of all policies; the default is the default of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Of `bebs`.
    pub bebs: bebs::Options,
    /// Of `bebs-credit`.
    pub bebs_credit: bebs_credit::Options,
    /// Of `edf`.
    pub edf: cbs::Options,
    /// Of `cbs`.
    pub cbs: cbs::Options,
    /// Of `iris`.
    pub iris: cbs::Options,
    /// Of `iris-naive`.
    pub iris_naive: cbs::Options,
    /// Of `berate`.
    pub berate: berate::Options,
    /// Of `best`.
    pub best: Clock,
    /// Of `linux-2.4`.
    pub linux_2_4: linux_2_4::Options,
    /// Of `eevdf`.
    pub eevdf: eevdf::Options,
    /// The policy below `posix`.
    pub below_posix: Below,
    /// The policy below `sched-deadline`.
    pub below_sched_deadline: Below,
    /// Whether `sched-deadline` reclaims bandwidth.
    pub reclaim: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            bebs: bebs::Options::default(),
            bebs_credit: bebs_credit::Options::default(),
            edf: cbs::Options::default(),
            cbs: cbs::Options::default(),
            iris: cbs::Options::default(),
            iris_naive: cbs::Options::default(),
            berate: berate::Options::default(),
            best: Clock::default(),
            linux_2_4: linux_2_4::Options::default(),
            eevdf: eevdf::Options::default(),
            below_posix: Below::Linux26,
            below_sched_deadline: Below::Eevdf,
            reclaim: true,
        }
    }
}

/// A time-share policy below another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Below {
    /// `linux-2.4`
    Linux24,
    /// `linux-2.6`
    Linux26,
    /// `eevdf`
    Eevdf,
    /// `berate`
    BeRate,
    /// `best`
    Best,
}

/// No policy has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy(pub String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no CPU policy is called `{}`; there are", self.0)?;
        for p in POLICIES {
            write!(f, " {}", p.name)?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownPolicy {}

/// Receives a policy in its own type, so that a simulation of it is monomorphic.
pub trait Visitor {
    /// The result of the visit.
    type Output;
    /// Visits the policy.
    fn visit<P: Policy + Send + 'static>(self, policy: P) -> Self::Output;
}

struct Boxed;

impl Visitor for Boxed {
    type Output = Box<dyn Policy + Send>;
    fn visit<P: Policy + Send + 'static>(self, policy: P) -> Self::Output {
        Box::new(policy)
    }
}

/// Builds a policy by name.
///
/// # Errors
/// When there is none of this name.
pub fn build(name: &str, options: &Options) -> Result<Box<dyn Policy + Send>, UnknownPolicy> {
    visit(name, options, Boxed)
}

/// The one list of policies: of each its description, how it is built for one CPU and handed to the
/// visitor, where its options are kept, and how it is built for several CPUs that share one queue,
/// if it supports that.
macro_rules! policies {
    (
        |$options:ident, $visitor:ident|
        $(
            $info:expr => $build:expr
            $(, option |$own:ident, $name:ident| $field:expr)?
            $(, global |$cpus:ident| $global:expr)?;
        )+
    ) => {
        /// All policies.
        pub const POLICIES: &[PolicyInfo] = &[$($info),+];

        /// Policies that support one queue for several CPUs.
        pub(crate) const GLOBAL_EDF: &[&str] = &[$($({
            const _: &str = stringify!($global);
            $info.name
        },)?)+];

        /// Builds a policy by name and hands it to `visitor`.
        ///
        /// # Errors
        /// When there is none of this name.
        pub fn visit<V: Visitor>(
            name: &str,
            $options: &Options,
            $visitor: V,
        ) -> Result<V::Output, UnknownPolicy> {
            $(if name == const { $info.name } {
                return Ok($build);
            })+
            Err(UnknownPolicy(name.to_string()))
        }

        impl Options {
            /// Where an option of a policy is kept.
            pub(crate) fn field(&mut self, policy: &str, option: &str) -> Option<Field<'_>> {
                $($(if policy == const { $info.name } {
                    let ($own, $name) = (self, option);
                    return $field;
                })?)+
                None
            }
        }

        /// A policy by name for several CPUs that share one queue; `None` for one that does not
        /// support that.
        pub(crate) fn global(
            name: &str,
            $options: &Options,
            cpus: u32,
        ) -> Option<Box<dyn Policy + Send>> {
            $($(if name == const { $info.name } {
                let $cpus = cpus;
                return Some(Box::new($global));
            })?)+
            None
        }
    };
}

policies! {
    |options, v|
    bebs::INFO => v.visit(bebs::new(&options.bebs)),
        option |o, option| o.bebs.field(option),
        global |cpus| shared(&bebs::new(&options.bebs), cpus);
    bebs_credit::INFO => v.visit(bebs_credit::new(&options.bebs_credit)),
        option |o, option| o.bebs_credit.field(option),
        global |cpus| shared(&bebs_credit::new(&options.bebs_credit), cpus);
    edf::INFO => v.visit(edf::new(&options.edf)),
        option |o, option| o.edf.field(option),
        global |cpus| edf::global(&options.edf, cpus);
    cbs::INFO => v.visit(cbs::new(&options.cbs)),
        option |o, option| o.cbs.field(option),
        global |cpus| shared(&cbs::new(&options.cbs), cpus);
    iris::INFO => v.visit(iris::new(&options.iris)),
        option |o, option| o.iris.field(option),
        global |cpus| shared(&iris::new(&options.iris), cpus);
    iris_naive::INFO => v.visit(iris_naive::new(&options.iris_naive)),
        option |o, option| o.iris_naive.field(option),
        global |cpus| shared(&iris_naive::new(&options.iris_naive), cpus);
    berate::INFO => v.visit(berate::BeRate::new(&options.berate)),
        option |o, option| o.berate.field(option),
        global |cpus| berate::BeRate::global(&options.berate, cpus);
    best::INFO => v.visit(best::Best::new(options.best)),
        option |o, option| o.best.field(option);
    linux_2_4::INFO => v.visit(linux_2_4::Linux24::new(&options.linux_2_4)),
        option |o, option| o.linux_2_4.field(option);
    linux_2_6::INFO => v.visit(linux_2_6::Linux26::new());
    eevdf::INFO => v.visit(eevdf::Eevdf::new(&options.eevdf)),
        option |o, option| o.eevdf.field(option);
    posix::INFO => {
        v.visit(Layered::new(posix::FixedPriority::new(), options.below(options.below_posix)))
    }, option |o, option| o.below_posix.field(option);
    sched_deadline::INFO => {
        let above = sched_deadline::SchedDeadline::new(options.reclaim);
        v.visit(Layered::new(above, options.below(options.below_sched_deadline)))
    }, option |o, option| match option {
        "reclaim" => Some(Field::Bool(&mut o.reclaim)),
        _ => o.below_sched_deadline.field(option),
    };
    dwcs::INFO => {
        v.visit(Layered::new(dwcs::Dwcs::new(), eevdf::Eevdf::new(&options.eevdf)))
    };
}

/// The same servers for several CPUs.
fn shared(one: &Servers, cpus: u32) -> Servers {
    Servers::global(*one.rules(), cpus)
}

impl Options {
    fn below(&self, below: Below) -> Box<dyn Policy + Send> {
        match below {
            Below::Linux24 => Box::new(linux_2_4::Linux24::new(&self.linux_2_4)),
            Below::Linux26 => Box::new(linux_2_6::Linux26::new()),
            Below::Eevdf => Box::new(eevdf::Eevdf::new(&self.eevdf)),
            Below::BeRate => Box::new(berate::BeRate::new(&self.berate)),
            Below::Best => Box::new(best::Best::new(self.best)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_can_be_built_by_its_name() {
        for p in POLICIES {
            assert!(build(p.name, &Options::default()).is_ok(), "{}", p.name);
            assert_eq!(POLICIES.iter().filter(|q| q.name == p.name).count(), 1);
        }
        let unknown = build("cfs", &Options::default()).err().expect("there is no such policy");
        assert!(unknown.to_string().starts_with("no CPU policy is called `cfs`; there are bebs"));
    }
}
