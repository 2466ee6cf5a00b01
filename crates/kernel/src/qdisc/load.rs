//! Loads the BPF programs with a plan and registers the qdisc.

use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{MapCore as _, MapFlags, Object, OpenObject};

use super::LinkError;
use super::error::io_error;
use super::pins::Pins;
use super::record::Record;
use crate::layout::link::{LX_PLANS, lx_own, lx_served_flow, lxl_plan_change};
use crate::object;
use crate::plan::{MOST_BEST_EFFORT_SLOTS, MOST_SHAPED_SLOTS, Plan, QueueMemory, Rule};

const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/laxity.bpf.o.zlib"));

/// The program that sets CE.
const MARK: &str = "laxity_mark";

/// Level of the verifier's log: counts, and of a program that it refuses the reason
/// (`BPF_LOG_STATS`). Left out, libbpf would load a refused program again at a level at which each
/// instruction is a line.
const VERIFIER_LOG_STATS: u32 = 4;

/// Texts and plans are kept for as many changes, `LX_PLANS`.
pub(super) const CHANGES: u32 = LX_PLANS as u32;
/// A scenario may be so long, or twice as long as the first one.
const TEXT: usize = 64 << 10;

/// The interface that a copy of the programs serves.
pub(super) struct Own<'a> {
    pub(super) kind: &'a str,
    pub(super) net: u32,
    pub(super) ifindex: u32,
    pub(super) handle: u32,
    /// Secret of the hashes of flows: nobody can choose packets that share the queue of another flow.
    pub(super) hash_key: [u8; 16],
    /// Secret of the notes on packets (`mark.h`).
    pub(super) note_secret: [u8; 8],
}

/// Capacities of a copy of the programs, so that later plans fit as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) rule: Rule,
    pub(super) slots: u32,
    pub(super) queues: QueueMemory,
    /// The service curves, which plans have in common: the programs hold one set.
    pub(super) served: Vec<Vec<u8>>,
}

impl Room {
    /// For a plan and later ones.
    pub(super) fn of(plan: &Plan, policy: &str) -> Room {
        let realtime = u64::from(plan.realtime_slots).max(2 * MOST_SHAPED_SLOTS);
        let slots = (MOST_BEST_EFFORT_SLOTS + realtime) as u32;
        // Curves of such policies have several pieces but under few flows.
        let rule = match (plan.rule, Rule::of(policy)) {
            (Rule::Line, Some(Rule::History)) => Rule::History,
            (rule, _) => rule,
        };
        Room { rule, slots, queues: plan.queues, served: plan.served.clone() }
    }

    /// The capacity that is insufficient for a plan, if any.
    pub(super) fn lacks(&self, plan: &Plan) -> Option<&'static str> {
        match (self.rule, plan.rule) {
            (Rule::History, Rule::Line) => {}
            (runs, asked) if runs == asked => {}
            _ => return Some("its programs do not hold this policy"),
        }
        if plan.queues != self.queues {
            return Some("its programs have memory for other flow queues");
        }
        if plan.served != self.served {
            return Some("its programs hold other service curves");
        }
        // Best effort that waits is taken along, however much it is.
        if MOST_BEST_EFFORT_SLOTS + u64::from(plan.realtime_slots) > u64::from(self.slots) {
            return Some("more packets may wait in this scenario than it has room for");
        }
        None
    }
}

/// `struct lxl_plan_change`: a plan, and the new numbers of the old flows; none if the flows stay as
/// they are and only the rate differs.
pub(super) fn change(plan: &Plan, to: Option<&[u16]>) -> Vec<u8> {
    let mut bytes = vec![0; lxl_plan_change::SIZEOF];
    lxl_plan_change::CONFIG.set(&mut bytes, &plan.config);
    lxl_plan_change::RULES.set(&mut bytes, &plan.rules);
    lxl_plan_change::SHED.set_u64(&mut bytes, plan.shed);
    lxl_plan_change::RATE_ONLY.set_u64(&mut bytes, to.is_none().into());
    let numbers: Vec<u8> = to.unwrap_or_default().iter().flat_map(|n| n.to_ne_bytes()).collect();
    bytes[lxl_plan_change::TO.at..][..numbers.len()].copy_from_slice(&numbers);
    bytes
}

/// A loaded copy.
pub struct Programs {
    object: Object,
}

impl Programs {
    pub(super) fn load(
        plan: &Plan,
        own: &Own<'_>,
        room: &Room,
        record: &Record,
    ) -> Result<Programs, LinkError> {
        let text = record.to_text();
        let mut open = object::open(OBJECT).map_err(refused)?;
        for mut program in open.progs_mut() {
            program.set_log_level(VERIFIER_LOG_STATS);
            if program.name() == MARK {
                program.set_autoload(room.queues.managed);
            }
        }
        prepare(&mut open, own, room, text.len())?;
        // A kernel without BPF qdiscs fails in many ways, none of which names the reason.
        let object =
            open.load().map_err(|error| supported().err().unwrap_or_else(|| refused(error)))?;
        for map in object.maps() {
            let entries = match map.name().to_str() {
                Some("about") => vec![text.clone().into_bytes()],
                Some("changes") => {
                    let change = change(plan, Some(&[]));
                    same_length("a plan", change.len(), map.value_size() as usize)?;
                    vec![change]
                }
                Some("served_flows") => {
                    let bytes = lx_served_flow::SIZEOF;
                    same_length("a service curve", bytes, map.value_size() as usize)?;
                    room.served.clone()
                }
                _ => continue,
            };
            for (key, mut value) in (0u32..).zip(entries) {
                value.resize(map.value_size() as usize, 0);
                map.update(&key.to_ne_bytes(), &value, MapFlags::ANY).map_err(refused)?;
            }
        }
        Ok(Programs { object })
    }

    /// Makes the qdisc known to the kernel for as long as its pins or a qdisc of its kind live.
    pub(super) fn register(&mut self, pins: &Pins) -> Result<(), LinkError> {
        pins.make()?;
        for mut map in self.object.maps_mut() {
            let name = match map.name().to_str() {
                Some(name @ ("about" | "changes")) => name.to_owned(),
                Some(".data.counts") => "counts".to_owned(),
                Some(".data.earlier") => "earlier".to_owned(),
                Some(".data.stalls") => "stalls".to_owned(),
                Some(".data.state") => "state".to_owned(),
                Some(".data.wanted") => "wanted".to_owned(),
                Some("laxity") => {
                    let mut link = map.attach_struct_ops().map_err(refused)?;
                    link.pin(pins.path("qdisc")).map_err(refused)?;
                    continue;
                }
                _ => continue,
            };
            let path = pins.path(&name);
            map.pin(&path).map_err(|e| io_error(&path)(std::io::Error::other(e.to_string())))?;
        }
        Ok(())
    }

    /// Sets CE on packets of an interface whose queues owe marks, for as long as its pin lives.
    pub(super) fn mark(&mut self, pins: &Pins, ifindex: u32) -> Result<(), LinkError> {
        let programs = self.object.progs_mut().filter(|program| program.name() == MARK);
        for program in programs.filter(|program| program.autoload()) {
            // As bpf_program__attach_tcx, which libbpf-rs lacks: the kernel takes the kind of link
            // from the program, and reads the interface where cgroups have their descriptor.
            let mut link = program.attach_cgroup(ifindex as i32).map_err(refused)?;
            link.pin(pins.path("mark")).map_err(refused)?;
        }
        Ok(())
    }
}

fn prepare(
    open: &mut OpenObject,
    own: &Own<'_>,
    room: &Room,
    text: usize,
) -> Result<(), LinkError> {
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match name.as_str() {
            "slots" => map.set_max_entries(room.slots.max(1)).map_err(refused)?,
            "flow_queues" => {
                map.set_max_entries(room.queues.flow_queues.max(1)).map_err(refused)?;
            }
            "flow_orders" => {
                map.set_max_entries(room.queues.flow_orders.max(1)).map_err(refused)?;
            }
            "host_counts" => {
                map.set_max_entries(room.queues.host_tables.max(1)).map_err(refused)?;
            }
            "served_flows" => {
                map.set_max_entries(room.served.len().max(1) as u32).map_err(refused)?;
            }
            "about" => {
                map.set_max_entries(CHANGES).map_err(refused)?;
                map.set_value_size(TEXT.max(2 * text) as u32).map_err(refused)?;
            }
            ".rodata.own" => {
                let rule = room.rule.number();
                let mut bytes = [0; lx_own::SIZEOF];
                lx_own::POLICY.set_u32(&mut bytes, rule);
                lx_own::NET.set_u32(&mut bytes, own.net);
                lx_own::IFINDEX.set_u32(&mut bytes, own.ifindex);
                lx_own::HANDLE.set_u32(&mut bytes, own.handle);
                lx_own::SLOTS.set_u32(&mut bytes, room.slots);
                lx_own::MANAGED.set_u32(&mut bytes, room.queues.managed.into());
                lx_own::HASH_KEY.set(&mut bytes, &own.hash_key);
                lx_own::NOTE_SECRET.set(&mut bytes, &own.note_secret);
                lx_own::SERVED.set_u32(&mut bytes, room.served.len() as u32);
                let value = map.initial_value_mut().unwrap_or_default();
                same_length("what it is for", bytes.len(), value.len())?;
                value.copy_from_slice(&bytes);
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

fn same_length(what: &'static str, bytes: usize, place: usize) -> Result<(), LinkError> {
    if bytes == place {
        return Ok(());
    }
    let why = format!("{what}: {bytes} B for {place} B");
    Err(LinkError::Kernel { what: "take parameters of this length", why })
}

/// Whether the kernel has the features that the programs need.
pub(super) fn supported() -> Result<(), LinkError> {
    const TYPES: &str = "/sys/kernel/btf/vmlinux";
    const RELEASE: &str = "/proc/sys/kernel/osrelease";
    let release = || std::fs::read_to_string(RELEASE).unwrap_or_else(|_| "(which?)".into());
    let no_kernel = |lacks| LinkError::NoKernel { release: release().trim().into(), lacks };
    let types = std::fs::read(TYPES)
        .map_err(|_| no_kernel("its own type information (CONFIG_DEBUG_INFO_BTF)"))?;
    let name = b"bpf_struct_ops_Qdisc_ops\0";
    if types.windows(name.len()).any(|w| w == name) {
        return Ok(());
    }
    Err(no_kernel("CONFIG_NET_SCH_BPF"))
}

fn refused(error: libbpf_rs::Error) -> LinkError {
    match error.kind() {
        // The verifier says the same of a program that it refuses.
        libbpf_rs::ErrorKind::PermissionDenied if !rustix::process::geteuid().is_root() => {
            LinkError::NotPermitted { what: "load BPF programs" }
        }
        _ => LinkError::Kernel { what: "take the programs", why: format!("{error:#}") },
    }
}

/// Loads the programs for a plan, without an interface, and says how many instructions the
/// verifier processed for each.
///
/// # Errors
/// When they do not load.
pub fn verify(plan: &Plan) -> Result<Vec<(String, u32)>, LinkError> {
    let own = Own {
        kind: "laxity_verify",
        net: 0,
        ifindex: 0,
        handle: 0,
        hash_key: [0; 16],
        note_secret: [0; 8],
    };
    let room = Room {
        rule: plan.rule,
        slots: plan.slots,
        queues: plan.queues,
        served: plan.served.clone(),
    };
    let programs = Programs::load(plan, &own, &room, &Record::default())?;
    let mut ids = Vec::new();
    for program in programs.object.progs().filter(|program| program.autoload()) {
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
