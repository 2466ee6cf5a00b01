//! Privileges that a program drops once it is set up.

use std::collections::BTreeMap;
use std::io;

use rustix::thread::{
    CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use seccompiler::{SeccompAction, SeccompFilter};

pub use rustix::thread::CapabilitySet as Capabilities;

/// Drops all capabilities of this thread but some, for itself and for threads that it starts later, and sets
/// `no_new_privs`. Other existing threads keep theirs.
///
/// # Errors
/// A system call fails, for which there is no known reason.
pub fn retain(retained: Capabilities) -> io::Result<()> {
    set_no_new_privs(true)?;
    let now = capabilities(None)?;
    if now.effective.contains(Capabilities::SETPCAP) {
        for capability in Capabilities::all().difference(retained).iter() {
            // Capabilities that this kernel does not know cannot be held.
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    let _ = clear_ambient_capability_set();
    let sets = CapabilitySets {
        effective: now.effective & retained,
        permitted: now.permitted & retained,
        inheritable: Capabilities::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

/// Drops all capabilities of this thread.
///
/// # Errors
/// As [`retain`].
pub fn drop_all() -> io::Result<()> {
    retain(Capabilities::empty())
}

/// Whether bpf(2) is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bpf {
    /// The program uses BPF while it runs.
    Allowed,
    /// The program does not use BPF.
    Denied,
}

/// Denies system calls that no program of Laxity makes once it runs, for all threads of this process, by a
/// seccomp filter: executing programs, inspecting other processes, mounting, loading modules, changing users,
/// clocks and namespaces. They fail with `EPERM`.
///
/// # Errors
/// The kernel does not support seccomp filters, or the architecture is not supported.
pub fn deny_system_calls(bpf: Bpf) -> io::Result<()> {
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let calls = DENIED_CALLS.iter().chain(DENIED_CALLS_OF_X86).copied();
    let calls = calls.chain((bpf == Bpf::Denied).then_some(libc::SYS_bpf));
    let rules: BTreeMap<i64, Vec<_>> = calls.map(|call| (call, Vec::new())).collect();
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture);
    let program = filter.and_then(seccompiler::BpfProgram::try_from).map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

const DENIED_CALLS: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mknodat,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_personality,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_setfsgid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setgroups,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setreuid,
    libc::SYS_settimeofday,
    libc::SYS_setuid,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// System calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const DENIED_CALLS_OF_X86: &[i64] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_mknod,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_CALLS_OF_X86: &[i64] = &[];
