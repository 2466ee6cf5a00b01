//! The programs: loaded with a policy and pinned, or opened over the pins to ask them something.

use std::hash::{DefaultHasher, Hasher as _};

use libbpf_rs::{MapCore as _, MapHandle, Object, ObjectBuilder, OpenObject, ProgramInput};

use super::words::heard;
use super::{CpuError, Policy, system};
use crate::struct_writer::StructWriter;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/laxity_cpu.bpf.o"));

/// The scheduler itself, among the maps: where the kernel need not say who starts and who stops, and
/// where it does (`bpf/scx/here.h`).
const SCHEDULERS: [&str; 2] = [system::NAME, "laxity_told"];

/// That of this machine.
fn scheduler() -> &'static str {
    SCHEDULERS[usize::from(system::tells())]
}

/// Finds out where the kernel keeps which CPUs tasks may use.
const LOCATE: &str = "laxity_locate";
/// Maps with an entry for each CPU.
const BY_CPU: [&str; 2] = ["cpus", "alarms"];
/// A map of weights, by control group, that no program needs to answer. One made for nothing is not
/// only wasted: while the kernel frees it, a CPU that goes may wait for ever.
const GROUPS: &str = "groups";

/// The name under which a map is pinned, which may have no dots.
fn pinned_as(map: &str) -> Option<&str> {
    match map {
        "cpus" | "alarms" | "tasks" | "refs" | "pool" | "reservations" | "events" => Some(map),
        ".data.setup" => Some("setup"),
        ".rodata.machine" => Some("machine"),
        ".data.ended" => Some("ended"),
        ".data.totals" => Some("totals"),
        ".data.recording" => Some("recording"),
        ".data.sweep" => Some("sweep"),
        ".bss.members" => Some("members"),
        _ => None,
    }
}

/// A pin that only programs over the same tables look for: others could not tell what lies where.
fn mark() -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(OBJECT);
    format!("of-{:016x}", hasher.finish())
}

/// Where bits of the policy go before anything is loaded.
fn prepare(
    open: &mut OpenObject,
    policy: &Policy,
    cpus: u32,
    recorded_until: u64,
) -> Result<(), CpuError> {
    let mut setup = StructWriter::default();
    setup.bytes(&policy.rules()?.image()).u64(policy.kept().0).u64(0).u32(policy.number()).u32(0);
    let setup = setup.into_bytes();
    let mut machine = StructWriter::default();
    machine.u32(cpus).u32(system::tells().into());
    let machine = machine.into_bytes();
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if BY_CPU.contains(&name.as_str()) {
            map.set_max_entries(cpus).map_err(refused)?;
        } else if name == ".data.setup" {
            fill(map.initial_value_mut(), &setup)?;
        } else if name == ".rodata.machine" {
            fill(map.initial_value_mut(), &machine)?;
        } else if name == ".data.recording" {
            let mut recording = StructWriter::default();
            recording.u64(recorded_until).u64(0);
            fill(map.initial_value_mut(), &recording.into_bytes())?;
        }
    }
    Ok(())
}

fn fill(place: Option<&mut [u8]>, bytes: &[u8]) -> Result<(), CpuError> {
    match place {
        Some(place) if place.len() == bytes.len() => place.copy_from_slice(bytes),
        place => {
            let there = place.map_or(0, |p| p.len());
            let why = format!("{} B for {there} B", bytes.len());
            return Err(CpuError::Kernel { what: "take parameters of this length", why });
        }
    }
    Ok(())
}

fn open() -> Result<OpenObject, CpuError> {
    heard(|| ObjectBuilder::default().open_memory(OBJECT))
}

/// Loads the scheduler, gives it the CPUs, and pins it. What it does up to a time is recorded, zero
/// for nothing.
pub(super) fn start(policy: &Policy, recorded_until: u64) -> Result<Object, CpuError> {
    let mut open = open()?;
    let scheduler = scheduler();
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if SCHEDULERS.contains(&name.as_str()) && name != scheduler {
            map.set_autocreate(false).map_err(refused)?;
        }
    }
    prepare(&mut open, policy, system::cpus()?, recorded_until)?;
    let mut object = heard(|| open.load())?;
    run(&object, LOCATE, &mut [0; 8])?;
    system::make_pins()?;
    let pinned = pin(&mut object);
    if pinned.is_err() {
        system::remove_pins()?;
    }
    pinned.map(|()| object)
}

fn pin(object: &mut Object) -> Result<(), CpuError> {
    let mut scheduler = None;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == self::scheduler() {
            scheduler = Some(map);
        } else if let Some(name) = pinned_as(&name) {
            map.pin(system::pin(name)).map_err(refused)?;
            if name == "setup" {
                let mut again = MapHandle::try_from(&*map).map_err(refused)?;
                again.pin(system::pin(&mark())).map_err(refused)?;
            }
        }
    }
    let gone = || CpuError::State("the object holds no scheduler");
    // Last, so that a process that is interrupted before leaves the kernel's scheduler in charge.
    let mut scheduler = scheduler.ok_or_else(gone)?;
    let mut link = heard(|| scheduler.attach_struct_ops())?;
    link.pin(system::pin("scheduler")).map_err(refused)
}

/// Programs that answer requests, over the maps of the running scheduler. Only those that are
/// named, as the kernel verifies them again each time.
pub(super) fn attend(programs: &[&str]) -> Result<Object, CpuError> {
    if !system::pin(&mark()).exists() {
        // Somebody else may take it down at this moment.
        return Err(if system::is_pinned()? { CpuError::Other } else { CpuError::Down });
    }
    let gone = |error: libbpf_rs::Error| match error.kind() {
        libbpf_rs::ErrorKind::NotFound => CpuError::Down,
        _ => refused(error),
    };
    let mut open = open()?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if SCHEDULERS.contains(&name.as_str()) || name == GROUPS {
            map.set_autocreate(false).map_err(refused)?;
        } else if let Some(name) = pinned_as(&name) {
            map.reuse_pinned_map(system::pin(name)).map_err(gone)?;
        }
    }
    for mut program in open.progs_mut() {
        let wanted = programs.iter().any(|name| program.name() == *name);
        program.set_autoload(wanted);
    }
    heard(|| open.load())
}

/// Loads the programs without starting anything, and says how many instructions the verifier
/// processed for each, on a machine with several CPUs.
pub(super) fn verify(policy: &Policy) -> Result<Vec<(String, u32)>, CpuError> {
    use std::os::fd::AsFd as _;
    let mut open = open()?;
    prepare(&mut open, policy, 2, 0)?;
    let object = heard(|| open.load())?;
    let infos: Vec<_> = libbpf_rs::query::ProgInfoIter::default().collect();
    let mut costs = Vec::new();
    for program in object.progs() {
        let id = libbpf_rs::Program::id_from_fd(program.as_fd()).map_err(refused)?;
        let cost = infos.iter().find(|i| i.id == id).map_or(0, |i| i.verified_insns);
        costs.push((program.name().to_string_lossy().into_owned(), cost));
    }
    Ok(costs)
}

/// Runs one of the programs that answer.
pub(super) fn run(object: &Object, name: &str, context: &mut [u8]) -> Result<(), CpuError> {
    let program = object.progs_mut().find(|p| p.name() == name);
    let program = program.ok_or(CpuError::State("the object lacks a program"))?;
    let input = ProgramInput { context_in: Some(context), ..ProgramInput::default() };
    program.test_run(input).map(|_| ()).map_err(refused)
}

pub(super) fn refused(error: libbpf_rs::Error) -> CpuError {
    let why = format!("{error:#}");
    match error.kind() {
        // EACCES is what the verifier says of a program that it refuses, too; EPERM it does not.
        libbpf_rs::ErrorKind::PermissionDenied
            if why.contains("(os error 1)") || !rustix::process::geteuid().is_root() =>
        {
            CpuError::NotPermitted { what: "load BPF programs" }
        }
        libbpf_rs::ErrorKind::NotFound => CpuError::NoKernel,
        _ => CpuError::Kernel { what: "take the programs", why },
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Fails when root without a capability is told that the kernel does not take the programs.
    #[test]
    fn each_refusal_has_its_remedy() {
        let of = |number| libbpf_rs::Error::from(io::Error::from_raw_os_error(number));
        let said = |error| refused(error).to_string();
        assert!(said(of(1)).contains("CAP_BPF"));
        assert!(said(of(2)).contains("CONFIG_SCHED_CLASS_EXT"));
        assert!(said(of(22)).starts_with("the kernel does not take the programs: "));
    }
}
