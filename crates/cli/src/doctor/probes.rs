//! What a machine has that commands need: a function each.

use serde::Serialize;

use super::machine::Machine;

/// One part of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Name, for `--require` and scripts.
    pub part: &'static str,
    /// Whether it is as commands need it.
    pub present: bool,
    /// What was found.
    pub found: String,
    /// The command or step that brings it; `None` where it is present.
    pub remedy: Option<String>,
}

impl Finding {
    fn new(part: &'static str, present: bool, found: impl Into<String>, remedy: String) -> Finding {
        Finding { part, present, found: found.into(), remedy: (!present).then_some(remedy) }
    }
}

/// Release of the kernel from which on a command runs.
const FOR_LINKS: (u32, u32) = (6, 16);
const FOR_CPUS: (u32, u32) = (6, 18);

/// Capabilities, by their bits in linux/capability.h.
pub const NET_ADMIN: (&str, u32) = ("CAP_NET_ADMIN", 12);
pub const NET_RAW: (&str, u32) = ("CAP_NET_RAW", 13);
pub const SYS_ADMIN: (&str, u32) = ("CAP_SYS_ADMIN", 21);
pub const PERFMON: (&str, u32) = ("CAP_PERFMON", 38);
pub const BPF: (&str, u32) = ("CAP_BPF", 39);

/// All parts, in the order of the report.
pub const ALL: &[fn(&Machine) -> Finding] = &[
    kernel_part,
    btf,
    bpf_qdisc,
    sched_ext,
    bpf_fs,
    packet_sockets,
    xdp_sockets,
    tun,
    ifb,
    cgroup2,
    clock,
    iproute,
];

/// The kernel's part of this build.
pub fn kernel_part(machine: &Machine) -> Finding {
    let found = if machine.kernel_part { "built in" } else { "left out of this build" };
    let remedy = "make build KERNEL=1, or install the Debian package".to_owned();
    Finding::new("kernel-part", machine.kernel_part, found, remedy)
}

const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Types of the running kernel, by which BPF programs find its fields.
pub fn btf(machine: &Machine) -> Finding {
    let found = if machine.has(TYPES) { TYPES } else { "this kernel lacks CONFIG_DEBUG_INFO_BTF" };
    Finding::new("btf", machine.has(TYPES), found, machine.later_kernel())
}

/// Queueing disciplines as BPF programs, since Linux 6.16.
pub fn bpf_qdisc(machine: &Machine) -> Finding {
    if machine.holds(TYPES, b"bpf_struct_ops_Qdisc_ops") {
        return Finding::new("bpf-qdisc", true, "CONFIG_NET_SCH_BPF", String::new());
    }
    let found = match machine.version() < FOR_LINKS {
        true => format!("Linux {}; it takes 6.16 or later", machine.release()),
        false => format!("Linux {} without CONFIG_NET_SCH_BPF", machine.release()),
    };
    Finding::new("bpf-qdisc", false, found, machine.later_kernel())
}

/// CPU schedulers as BPF programs, as of Linux 6.18.
pub fn sched_ext(machine: &Machine) -> Finding {
    let state = machine.text("/sys/kernel/sched_ext/state");
    let scheduler = machine.text("/sys/kernel/sched_ext/root/ops");
    let (present, found) = if !machine.has("/sys/kernel/sched_ext") {
        (false, format!("Linux {} without CONFIG_SCHED_CLASS_EXT", machine.release()))
    } else if machine.version() < FOR_CPUS {
        (false, format!("Linux {}; it takes 6.18 or later", machine.release()))
    } else if !scheduler.is_empty() {
        (true, format!("{state}: {scheduler}"))
    } else {
        (true, state)
    };
    Finding::new("sched-ext", present, found, machine.later_kernel())
}

/// The file system in which BPF objects outlive the command that loads them.
pub fn bpf_fs(machine: &Machine) -> Finding {
    let present = machine.mounted("bpf", Some("/sys/fs/bpf"));
    let found = if present { "/sys/fs/bpf" } else { "nothing mounted at /sys/fs/bpf" };
    Finding::new("bpf-fs", present, found, "sudo mount -t bpf bpf /sys/fs/bpf".to_owned())
}

/// Whether the kernel has sockets of a protocol, by its name in `/proc/net/protocols`.
fn protocol(machine: &Machine, name: &str) -> bool {
    let text = machine.text("/proc/net/protocols");
    text.lines().any(|line| line.split_whitespace().next() == Some(name))
}

/// Packet sockets (packet(7)).
pub fn packet_sockets(machine: &Machine) -> Finding {
    let present = protocol(machine, "PACKET");
    let found = if present { "AF_PACKET" } else { "this kernel lacks CONFIG_PACKET" };
    Finding::new("packet-sockets", present, found, "sudo modprobe af_packet".to_owned())
}

/// XDP sockets.
pub fn xdp_sockets(machine: &Machine) -> Finding {
    let present = protocol(machine, "XDP");
    let found = if present { "AF_XDP" } else { "this kernel lacks CONFIG_XDP_SOCKETS" };
    Finding::new("xdp-sockets", present, found, machine.later_kernel())
}

/// Tunnel devices.
pub fn tun(machine: &Machine) -> Finding {
    let present = machine.has("/dev/net/tun");
    let found = if present { "/dev/net/tun" } else { "there is no /dev/net/tun" };
    Finding::new("tun", present, found, "sudo modprobe tun".to_owned())
}

/// Devices through which what comes in is scheduled.
pub fn ifb(machine: &Machine) -> Finding {
    // Where it is built in, no list of modules may have it, but the kernel's types have its functions.
    let present = machine.module("ifb") || machine.holds(TYPES, b"\0ifb_xmit\0");
    let found = if present { "ifb" } else { "this kernel lacks CONFIG_IFB" };
    Finding::new("ifb", present, found, machine.later_kernel())
}

/// Control groups, whose weights the CPU scheduler follows.
pub fn cgroup2(machine: &Machine) -> Finding {
    let present = machine.mounted("cgroup2", None);
    let found = if present { "mounted" } else { "no control groups of version 2" };
    let remedy = "sudo mount -t cgroup2 none /sys/fs/cgroup".to_owned();
    Finding::new("cgroup2", present, found, remedy)
}

/// Clock sources that are read without asking a device.
const FAST: &[&str] =
    &["tsc", "tsc-early", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];

/// The clock source and the resolution of timers.
pub fn clock(machine: &Machine) -> Finding {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let source = machine.text(&format!("{folder}/current_clocksource"));
    let precise = machine.resolution_ns <= 1000;
    let fast = FAST.contains(&source.as_str());
    let found = format!("{source}, resolution {} ns", machine.resolution_ns);
    let available = machine.text(&format!("{folder}/available_clocksource"));
    let better = available.split_whitespace().find(|name| FAST.contains(name));
    let remedy = match better {
        Some(better) if !fast => format!("echo {better} | sudo tee {folder}/current_clocksource"),
        _ => "boot a kernel with high-resolution timers and a processor clock".to_owned(),
    };
    Finding::new("clock", fast && precise, found, remedy)
}

/// Programs of the guides.
pub fn iproute(machine: &Machine) -> Finding {
    let missing: Vec<&str> = ["ip", "tc"].into_iter().filter(|p| !machine.program(p)).collect();
    let found = match missing.is_empty() {
        true => "ip, tc".to_owned(),
        false => format!("no {}", missing.join(", no ")),
    };
    let remedy = machine.install(["iproute2", "iproute-tc", "iproute2", "iproute2", "iproute2"]);
    Finding::new("iproute2", missing.is_empty(), found, remedy)
}
