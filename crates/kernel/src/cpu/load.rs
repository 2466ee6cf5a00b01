//! Loads the BPF object: the scheduler, which is attached and pinned, or its control programs over the
//! pinned maps.

use std::hash::{DefaultHasher, Hasher as _};

use libbpf_rs::{MapCore as _, MapFlags, MapHandle, Object, OpenObject, ProgramInput};

use super::libbpf_log::with_libbpf_log;
use super::{CpuError, Overheads, Policy, places, system};
use crate::layout::cpu::{lx_machine, lx_recording, lx_setup};
use crate::object;

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/laxity_cpu.bpf.o.zlib"));

/// Names of the scheduler's map: without run hooks and with them
/// (`bpf/include/laxity/cpu_run.h`).
const SCHEDULERS: [&str; 2] = [system::NAME, "laxity_run_hooks"];

/// The scheduler's map for this machine.
fn scheduler() -> &'static str {
    SCHEDULERS[usize::from(system::needs_run_hooks())]
}

/// The program that locates the affinity mask in the kernel's task structure.
const LOCATE: &str = "laxity_locate";
/// Maps with an entry for each CPU.
const PER_CPU_MAPS: [&str; 3] = ["cpus", "timers", PLACES];
/// The map of the places of CPUs.
const PLACES: &str = "places";
/// The map of weights by control group, which the control programs do not use. It is not created for
/// them: while the kernel frees it, a CPU that goes offline may wait for ever.
const CGROUP_MAP: &str = "groups";

/// The name under which a map is pinned; the BPF file system allows no dots.
fn pin_name(map: &str) -> Option<&str> {
    match map {
        "cpus" | "timers" | "tasks" | "refs" | "pool" | "reservations" | "events" => Some(map),
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

/// A pin whose name identifies this object, so that a version with other layouts finds no pin of its own.
fn object_pin() -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(OBJECT);
    format!("of-{:016x}", hasher.finish())
}

/// Writes the policy and the number of CPUs into the object before it is loaded.
fn configure(
    open: &mut OpenObject,
    policy: &Policy,
    cpus: u32,
    recorded_until: u64,
) -> Result<(), CpuError> {
    let mut setup = [0; lx_setup::SIZEOF];
    lx_setup::RULES.set(&mut setup, &policy.rules()?.image());
    lx_setup::BEST_EFFORT_BW_MIN.set_u64(&mut setup, policy.best_effort_min().0);
    let Overheads { switch, release, .. } = policy.overheads();
    lx_setup::SWITCH_OVERHEAD.set_u64(&mut setup, switch.0);
    lx_setup::RELEASE_OVERHEAD.set_u64(&mut setup, release.0);
    lx_setup::POLICY.set_u32(&mut setup, policy.number);
    let mut machine = [0; lx_machine::SIZEOF];
    lx_machine::CPUS.set_u32(&mut machine, cpus);
    lx_machine::HAS_RUN_HOOKS.set_u32(&mut machine, system::needs_run_hooks().into());
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if PER_CPU_MAPS.contains(&name.as_str()) {
            map.set_max_entries(cpus).map_err(kernel_error)?;
        } else if name == ".data.setup" {
            fill(map.initial_value_mut(), &setup)?;
        } else if name == ".rodata.machine" {
            fill(map.initial_value_mut(), &machine)?;
        } else if name == ".data.recording" {
            let mut recording = [0; lx_recording::SIZEOF];
            lx_recording::UNTIL.set_u64(&mut recording, recorded_until);
            fill(map.initial_value_mut(), &recording)?;
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
    with_libbpf_log(|| object::open(OBJECT))
}

/// Loads, attaches and pins the scheduler. It records its decisions until the time `recorded_until`; zero
/// for none.
pub(super) fn start(policy: &Policy, recorded_until: u64) -> Result<Object, CpuError> {
    let mut open = open()?;
    let scheduler = scheduler();
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if SCHEDULERS.contains(&name.as_str()) && name != scheduler {
            map.set_autocreate(false).map_err(kernel_error)?;
        }
    }
    configure(&mut open, policy, system::cpus()?, recorded_until)?;
    let mut object = with_libbpf_log(|| open.load())?;
    run(&object, LOCATE, &mut [0; 8])?;
    write_places(&object)?;
    system::make_pins()?;
    let pinned = pin(&mut object);
    if pinned.is_err() {
        system::remove_pins()?;
    }
    pinned.map(|()| object)
}

/// Writes which CPUs share a core, a cache and a node.
fn write_places(object: &Object) -> Result<(), CpuError> {
    let gone = CpuError::State("the object lacks a map");
    let map = object.maps().find(|map| map.name() == PLACES).ok_or(gone)?;
    for (cpu, place) in (0u32..).zip(places(&system::locations()?)) {
        map.update(&cpu.to_ne_bytes(), &place, MapFlags::ANY).map_err(kernel_error)?;
    }
    Ok(())
}

fn pin(object: &mut Object) -> Result<(), CpuError> {
    let mut scheduler = None;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if name == self::scheduler() {
            scheduler = Some(map);
        } else if let Some(name) = pin_name(&name) {
            map.pin(system::pin(name)).map_err(kernel_error)?;
            if name == "setup" {
                let mut handle = MapHandle::try_from(&*map).map_err(kernel_error)?;
                handle.pin(system::pin(&object_pin())).map_err(kernel_error)?;
            }
        }
    }
    let gone = || CpuError::State("the object holds no scheduler");
    // Attached last, so that an interrupted process leaves the kernel's scheduler running.
    let mut scheduler = scheduler.ok_or_else(gone)?;
    let mut link = with_libbpf_log(|| scheduler.attach_struct_ops())?;
    link.pin(system::pin("scheduler")).map_err(kernel_error)
}

/// Loads the named control programs over the maps of the running scheduler. Others are not loaded, since
/// the kernel verifies each program again.
pub(super) fn load_control_programs(programs: &[&str]) -> Result<Object, CpuError> {
    if !system::pin(&object_pin()).exists() {
        // Another process may stop it concurrently.
        let is_pinned = system::is_pinned()?;
        return Err(if is_pinned { CpuError::OtherVersion } else { CpuError::NotRunning });
    }
    let gone = |error: libbpf_rs::Error| match error.kind() {
        libbpf_rs::ErrorKind::NotFound => CpuError::NotRunning,
        _ => kernel_error(error),
    };
    let mut open = open()?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if SCHEDULERS.contains(&name.as_str()) || name == CGROUP_MAP {
            map.set_autocreate(false).map_err(kernel_error)?;
        } else if let Some(name) = pin_name(&name) {
            map.reuse_pinned_map(system::pin(name)).map_err(gone)?;
        }
    }
    for mut program in open.progs_mut() {
        let wanted = programs.iter().any(|name| program.name() == *name);
        program.set_autoload(wanted);
    }
    with_libbpf_log(|| open.load())
}

/// Loads the programs without attaching them, and returns the number of instructions that the verifier
/// processed for each, on a machine with several CPUs.
pub(super) fn verify(policy: &Policy) -> Result<Vec<(String, u32)>, CpuError> {
    use std::os::fd::AsFd as _;
    let mut open = open()?;
    configure(&mut open, policy, 2, 0)?;
    let object = with_libbpf_log(|| open.load())?;
    let infos: Vec<_> = libbpf_rs::query::ProgInfoIter::default().collect();
    let mut costs = Vec::new();
    for program in object.progs() {
        let id = libbpf_rs::Program::id_from_fd(program.as_fd()).map_err(kernel_error)?;
        let cost = infos.iter().find(|i| i.id == id).map_or(0, |i| i.verified_insns);
        costs.push((program.name().to_string_lossy().into_owned(), cost));
    }
    Ok(costs)
}

/// Runs a control program.
pub(super) fn run(object: &Object, name: &str, context: &mut [u8]) -> Result<(), CpuError> {
    let program = object.progs_mut().find(|p| p.name() == name);
    let program = program.ok_or(CpuError::State("the object lacks a program"))?;
    let input = ProgramInput { context_in: Some(context), ..ProgramInput::default() };
    program.test_run(input).map(|_| ()).map_err(kernel_error)
}

/// The error for a failed call of libbpf.
pub(super) fn kernel_error(error: libbpf_rs::Error) -> CpuError {
    let why = format!("{error:#}");
    match error.kind() {
        // The verifier also returns EACCES when it rejects a program; it does not return EPERM.
        libbpf_rs::ErrorKind::PermissionDenied
            if why.contains("(os error 1)") || !rustix::process::geteuid().is_root() =>
        {
            CpuError::NotPermitted { what: "load BPF programs" }
        }
        libbpf_rs::ErrorKind::NotFound => CpuError::NoKernel,
        _ => CpuError::Kernel { what: "accept the programs", why },
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Fails when root without a capability reads that the kernel rejects the programs.
    #[test]
    fn each_error_names_its_remedy() {
        let of = |number| libbpf_rs::Error::from(io::Error::from_raw_os_error(number));
        let message = |error| kernel_error(error).to_string();
        assert!(message(of(1)).contains("CAP_BPF"));
        assert!(message(of(2)).contains("CONFIG_SCHED_CLASS_EXT"));
        assert!(message(of(22)).starts_with("the kernel does not accept the programs: "));
    }
}
