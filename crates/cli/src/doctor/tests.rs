//! Each probe on machines that are folders of files.

use std::path::{Path, PathBuf};

use super::machine::Machine;
use super::probes::*;
use super::*;

/// A folder with files, removed at the end.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &str)]) -> Files {
        let root =
            std::env::temp_dir().join(format!("laxity-doctor-{}-{name}", std::process::id()));
        let all = Files(root);
        files.iter().for_each(|(path, text)| all.add(path, text));
        all
    }

    fn add(&self, path: &str, text: &str) {
        let path = self.0.join(path.trim_start_matches('/'));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    fn machine(&self) -> Machine {
        Machine::below(Path::new(&self.0))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const RELEASE: &str = "/proc/sys/kernel/osrelease";
const BTF_FILE: &str = "/sys/kernel/btf/vmlinux";
const CLOCK: &str = "/sys/devices/system/clocksource/clocksource0";

/// A machine that has everything.
fn complete(name: &str) -> Files {
    Files::new(
        name,
        &[
            (RELEASE, "6.18.4-cloud-amd64\n"),
            ("/etc/os-release", "PRETTY_NAME=\"Debian 13\"\nID=debian\nVERSION_CODENAME=trixie\n"),
            (BTF_FILE, "..bpf_struct_ops_Qdisc_ops\0.."),
            ("/sys/kernel/sched_ext/state", "disabled\n"),
            (
                "/proc/mounts",
                "none /sys/fs/bpf bpf rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n",
            ),
            ("/proc/net/protocols", "protocol size sockets\nXDP 960 0\nPACKET 1472 1\n"),
            ("/dev/net/tun", ""),
            ("/lib/modules/6.18.4-cloud-amd64/modules.dep", "kernel/drivers/net/ifb.ko.xz: \n"),
            (&format!("{CLOCK}/current_clocksource"), "tsc\n"),
            (&format!("{CLOCK}/available_clocksource"), "tsc hpet acpi_pm \n"),
            ("/proc/self/status", "Name: laxity\nCapEff:\t000001ffffffffff\n"),
            ("/usr/sbin/tc", ""),
            ("/usr/bin/ip", ""),
            ("/usr/bin/apt-get", ""),
            ("/sys/class/net/lo/mtu", "65536"),
            ("/sys/class/net/bonding_masters", "bond0"),
            ("/sys/class/net/eth0/mtu", "1500\n"),
            ("/sys/class/net/eth0/speed", "1000\n"),
            ("/sys/class/net/eth0/operstate", "up\n"),
            ("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0"),
            ("/sys/class/net/eth0/queues/tx-0/xps_cpus", "0"),
        ],
    )
}

fn report(files: &Files) -> Report {
    Report::of(&files.machine(), |_| vec!["rx-gro".to_owned()])
}

fn runs(report: &Report, command: &str) -> Runs {
    report.commands.iter().find(|v| v.command == command).expect("a command").runs
}

/// Fails when a probe overlooks what is there, or a command needs a part that no probe has: tried with another name of
/// `bpf-fs`.
#[test]
fn a_complete_machine_runs_all_commands() {
    let files = complete("complete");
    let report = report(&files);
    let missing: Vec<_> = report.parts.iter().filter(|part| !part.present).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(report.commands.iter().all(|v| v.runs == Runs::Yes && v.better_with.is_empty()));
    assert!(!report.text(Style::PLAIN).contains("What brings"));
    // With nothing each part is missing, and each is needed by some command.
    let nothing = Files::new("nothing", &[(RELEASE, "6.1.0")]);
    let nothing = self::report(&nothing);
    for part in nothing.parts.iter().filter(|part| part.part != "kernel-part") {
        assert!(!part.present && part.remedy.is_some(), "{part:?}");
        let needed =
            |v: &Verdict| v.lacks.contains(&part.part) || v.better_with.contains(&part.part);
        assert!(nothing.commands.iter().any(needed), "no command needs {}", part.part);
    }
    assert_eq!(runs(&nothing, "simulate"), Runs::Yes);
    assert_eq!(runs(&nothing, "link bridge"), Runs::No);
}

/// Fails when a part is found although its file, mount or module is not there: each line takes one away.
#[test]
fn each_probe_notices_what_is_missing() {
    let without = |path: &str, text: Option<&str>, probe: fn(&Machine) -> Finding| {
        let files = complete("missing");
        match text {
            Some(text) => files.add(path, text),
            None => std::fs::remove_file(files.0.join(&path[1..])).expect("it was there"),
        }
        let finding = probe(&files.machine());
        assert!(!finding.present, "{finding:?}");
        format!("{} | {}", finding.found, finding.remedy.expect("a remedy"))
    };
    let later = "sudo apt-get install -t trixie-backports linux-image-";
    assert!(without(BTF_FILE, None, btf).contains(later));
    assert!(without(BTF_FILE, None, bpf_qdisc).contains("CONFIG_NET_SCH_BPF"));
    assert!(without(BTF_FILE, Some("bpf_struct_ops_tcp"), bpf_qdisc).contains(later));
    assert!(without(RELEASE, Some("6.17.1"), sched_ext).contains("6.18 or later"));
    assert!(
        without("/proc/mounts", Some("bpf /elsewhere bpf rw 0 0"), bpf_fs).contains("mount -t bpf")
    );
    assert!(
        without("/proc/mounts", Some("cgroup /sys/fs/cgroup cgroup rw"), cgroup2)
            .contains("cgroup2")
    );
    let protocols = "/proc/net/protocols";
    assert!(without(protocols, Some("XDP 1"), packet_sockets).contains("CONFIG_PACKET"));
    assert!(without(protocols, Some("PACKET 1"), xdp_sockets).contains("CONFIG_XDP_SOCKETS"));
    assert!(without("/dev/net/tun", None, tun).contains("modprobe tun"));
    let modules = "/lib/modules/6.18.4-cloud-amd64/modules.dep";
    assert!(without(modules, Some("kernel/drivers/net/myifb.ko:"), ifb).contains("CONFIG_IFB"));
    let built_in = complete("built-in");
    built_in.add(modules, "");
    built_in.add(BTF_FILE, "..\0ifb_xmit\0..");
    assert!(ifb(&built_in.machine()).present);
    assert!(
        without("/usr/sbin/tc", None, iproute).contains("no tc | sudo apt-get install iproute2")
    );
}

/// Fails when the remedy is a kernel that is too old: backports of Debian 12.
#[test]
fn remedies_bring_a_kernel_that_suffices() {
    let files = complete("remedy");
    let release = |id: &str, name: &str| {
        let text = format!("ID=debian\nVERSION_ID=\"{id}\"\nVERSION_CODENAME={name}\n");
        files.add("/etc/os-release", &text);
        files.machine().later_kernel()
    };
    assert!(release("12", "bookworm").starts_with("upgrade to Debian 13, then sudo apt-get"));
    assert!(release("13", "trixie").starts_with("sudo apt-get install -t trixie-backports "));
    files.add("/etc/os-release", "ID=arch\n");
    std::fs::remove_file(files.0.join("usr/bin/apt-get")).expect("it was there");
    files.add("/usr/bin/pacman", "");
    assert_eq!(files.machine().later_kernel(), "sudo pacman -S linux");
}

/// Fails when links need the version of CPUs, or a release with two digits is read by one.
#[test]
fn releases_are_compared_as_numbers() {
    let files = complete("release");
    files.add(RELEASE, "6.9.12-amd64");
    assert_eq!(files.machine().version(), (6, 9));
    files.add(BTF_FILE, "");
    assert!(bpf_qdisc(&files.machine()).found.contains("6.16 or later"));
    files.add(RELEASE, "7.0");
    assert!(sched_ext(&files.machine()).present);
}

/// Fails when a slow clock passes, or the remedy names a source that the machine does not have.
#[test]
fn slow_clocks_are_named_with_a_better_one() {
    let files = complete("clock");
    files.add(&format!("{CLOCK}/current_clocksource"), "hpet\n");
    let finding = clock(&files.machine());
    assert!(!finding.present && finding.remedy.unwrap().starts_with("echo tsc | sudo tee /sys/"));
    files.add(&format!("{CLOCK}/available_clocksource"), "hpet acpi_pm\n");
    assert!(clock(&files.machine()).remedy.unwrap().starts_with("boot a kernel"));
    let mut coarse = files.machine();
    files.add(&format!("{CLOCK}/current_clocksource"), "tsc");
    assert!(clock(&coarse).present);
    coarse.resolution_ns = 4_000_000;
    assert!(!clock(&coarse).present);
}

/// Fails when a running scheduler of others is not named, or a build without the kernel's part could run links.
#[test]
fn other_schedulers_and_builds_are_named() {
    let files = complete("others");
    files.add("/sys/kernel/sched_ext/state", "enabled\n");
    files.add("/sys/kernel/sched_ext/root/ops", "scx_bare\n");
    assert_eq!(sched_ext(&files.machine()).found, "enabled: scx_bare");
    let mut machine = files.machine();
    machine.kernel_part = false;
    let report = Report::of(&machine, |_| Vec::new());
    assert_eq!(runs(&report, "link up"), Runs::No);
    assert_eq!(runs(&report, "link tun"), Runs::Yes);
}

/// Fails when a missing capability is taken for a missing part, or another bit is read: CAP_NET_ADMIN alone is bit 12.
#[test]
fn privileges_are_told_from_parts() {
    let files = complete("privileges");
    files.add("/proc/self/status", "CapEff:\t0000000000001000\n");
    let report = report(&files);
    assert_eq!(runs(&report, "link up"), Runs::AsRoot);
    let up = report.commands.iter().find(|v| v.command == "link up").unwrap();
    assert_eq!(up.capabilities, ["CAP_BPF", "CAP_PERFMON"]);
    assert!(report.text(Style::PLAIN).contains("as root"));
}

/// Fails when loopback or a file is taken for an interface, or XDP is promised with several queues or jumbo frames.
#[test]
fn interfaces_are_described() {
    let files = complete("interfaces");
    for queue in ["rx-0", "rx-1"] {
        files.add(&format!("/sys/class/net/eth1/queues/{queue}/rps_cpus"), "0");
    }
    files.add("/sys/class/net/eth1/mtu", "1500");
    files.add("/sys/class/net/eth2/queues/rx-0/rps_cpus", "0");
    files.add("/sys/class/net/eth2/mtu", "9000");
    files.add("/sys/class/net/eth2/speed", "-1");
    let found = interfaces(&files.machine(), |_| vec!["rx-gro".to_owned()]);
    let names: Vec<_> = found.iter().map(|i| (i.name.as_str(), i.xdp, i.speed_mbit_s)).collect();
    assert_eq!(names, [("eth0", true, Some(1000)), ("eth1", false, None), ("eth2", false, None)]);
    assert_eq!(found[0].offloads, ["rx-gro"]);
    assert_eq!(found[0].state, "up");
}
