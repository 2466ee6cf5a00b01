//! The programs: loaded with a plan, registered under a name.

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{MapCore as _, MapFlags, Object, ObjectBuilder, OpenObject};

use super::pins::Pins;
use super::{LinkError, io_error};
use crate::plan::Plan;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/laxity.bpf.o"));

/// For which interface a copy is made.
pub(super) struct Own<'a> {
    pub(super) kind: &'a str,
    pub(super) net: u32,
    pub(super) ifindex: u32,
    pub(super) handle: u32,
}

/// A loaded copy.
pub struct Programs {
    object: Object,
}

impl Programs {
    pub(super) fn load(plan: &Plan, own: &Own<'_>, about: &str) -> Result<Programs, LinkError> {
        let mut open = ObjectBuilder::default().open_memory(OBJECT).map_err(refused)?;
        prepare(&mut open, plan, own, about)?;
        let object = open.load().map_err(refused)?;
        for map in object.maps().filter(|m| m.name() == "about") {
            let mut text = about.as_bytes().to_vec();
            text.resize(map.value_size() as usize, 0);
            map.update(&0u32.to_ne_bytes(), &text, MapFlags::ANY).map_err(refused)?;
        }
        Ok(Programs { object })
    }

    /// Makes the qdisc known to the kernel for as long as its pins or a qdisc of its kind live.
    pub(super) fn register(&mut self, pins: &Pins) -> Result<(), LinkError> {
        pins.make()?;
        for mut map in self.object.maps_mut() {
            let name = match map.name().to_str() {
                Some("about") => "about",
                Some(".data.counts") => "counts",
                Some("laxity") => {
                    let mut link = map.attach_struct_ops().map_err(refused)?;
                    link.pin(pins.path("qdisc")).map_err(refused)?;
                    continue;
                }
                _ => continue,
            };
            let path = pins.path(name);
            map.pin(&path).map_err(|e| io_error(&path)(std::io::Error::other(e.to_string())))?;
        }
        Ok(())
    }
}

fn prepare(
    open: &mut OpenObject,
    plan: &Plan,
    own: &Own<'_>,
    about: &str,
) -> Result<(), LinkError> {
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "slots" => map.set_max_entries(plan.slots.max(1)).map_err(refused)?,
            "about" => map.set_value_size(about.len().max(8) as u32).map_err(refused)?,
            ".data.config" => fill(map.initial_value_mut(), &plan.config, "config")?,
            ".data.rules" => fill(map.initial_value_mut(), &plan.rules, "rules")?,
            ".rodata.own" => {
                let words = [plan.rule.number(), own.net, own.ifindex, own.handle];
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
                fill(map.initial_value_mut(), &bytes, "own")?;
            }
            "laxity" => {
                // The name comes first in Qdisc_ops.
                let ops = map.initial_value_mut().unwrap_or_default();
                let place = ops.get_mut(..16).filter(|_| own.kind.len() < 16);
                let place = place.ok_or_else(|| LinkError::Kernel {
                    what: "take so long a name",
                    why: own.kind.into(),
                })?;
                place.fill(0);
                place[..own.kind.len()].copy_from_slice(own.kind.as_bytes());
            }
            _ => {}
        }
    }
    Ok(())
}

fn fill(value: Option<&mut [u8]>, bytes: &[u8], what: &'static str) -> Result<(), LinkError> {
    match value {
        Some(value) if value.len() == bytes.len() => {
            value.copy_from_slice(bytes);
            Ok(())
        }
        value => Err(LinkError::Kernel {
            what: "take parameters of this length",
            why: format!("{what}: {} B for {} B", bytes.len(), value.map_or(0, |v| v.len())),
        }),
    }
}

fn refused(error: libbpf_rs::Error) -> LinkError {
    match error.kind() {
        // The verifier says the same of a program that it refuses.
        libbpf_rs::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
            LinkError::NotPermitted { what: "load BPF programs" }
        }
        libbpf_rs::ErrorKind::NotFound => LinkError::NoKernel,
        _ => LinkError::Kernel { what: "take the programs", why: format!("{error:#}") },
    }
}

/// Loads the programs for a plan, without an interface, and says how many instructions the
/// verifier processed for each.
///
/// # Errors
/// When they do not load.
pub fn verify(plan: &Plan) -> Result<Vec<(String, u32)>, LinkError> {
    let own = Own { kind: "laxity_verify", net: 0, ifindex: 0, handle: 0 };
    let programs = Programs::load(plan, &own, "")?;
    let mut ids = Vec::new();
    for program in programs.object.progs() {
        use std::os::fd::AsFd as _;
        let id = libbpf_rs::Program::id_from_fd(program.as_fd()).map_err(refused)?;
        ids.push((program.name().to_string_lossy().into_owned(), id));
    }
    let infos: Vec<_> = ProgInfoIter::default().collect();
    let cost = |id: u32| infos.iter().find(|i| i.id == id).map_or(0, |i| i.verified_insns);
    Ok(ids.into_iter().map(|(name, id)| (name, cost(id))).collect())
}

/// Nanoseconds and runs of each loaded program of ours, counted while `kernel.bpf_stats_enabled`
/// is 1.
pub fn profile() -> Vec<(String, u64, u64)> {
    let ours = |name: &str| name.starts_with("laxity_");
    ProgInfoIter::default()
        .map(|i| (i.name.to_string_lossy().into_owned(), i.run_time_ns, i.run_cnt))
        .filter(|(name, ..)| ours(name))
        .collect()
}
