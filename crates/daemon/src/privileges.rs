//! Privileges that are given back once a program is set up.

use std::collections::BTreeMap;
use std::io;

use rustix::thread::{
    CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};
use seccompiler::{SeccompAction, SeccompFilter};

pub use rustix::thread::CapabilitySet as Capabilities;

/// Gives back all capabilities of this thread but some, for itself and for threads that it starts
/// from now on, and the way to new ones. Threads that run already keep theirs.
///
/// # Errors
/// The system refuses, which it has no reason to.
pub fn keep(kept: Capabilities) -> io::Result<()> {
    set_no_new_privs(true)?;
    let now = capabilities(None)?;
    if now.effective.contains(Capabilities::SETPCAP) {
        for capability in Capabilities::all().difference(kept).iter() {
            // One that this kernel does not know, nobody has.
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    let _ = clear_ambient_capability_set();
    let sets = CapabilitySets {
        effective: now.effective & kept,
        permitted: now.permitted & kept,
        inheritable: Capabilities::empty(),
    };
    Ok(set_capabilities(None, sets)?)
}

/// Gives back all capabilities of this thread.
///
/// # Errors
/// As [`keep`].
pub fn drop_all() -> io::Result<()> {
    keep(Capabilities::empty())
}

/// Whether a program uses BPF while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bpf {
    /// It does.
    Used,
    /// It does not.
    Refused,
}

/// Refuses, for all threads of this process, system calls that no program of Laxity makes once it
/// runs: starting other programs, looking into other processes, mounting, loading modules,
/// changing users, clocks and name spaces. They fail with `EPERM`.
///
/// # Errors
/// The kernel has no such filters, or the machine is of a kind for which none can be written.
pub fn refuse_system_calls(bpf: Bpf) -> io::Result<()> {
    let architecture = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let calls = CALLS.iter().chain(ON_X86).copied();
    let calls = calls.chain((bpf == Bpf::Refused).then_some(libc::SYS_bpf));
    let rules: BTreeMap<i64, Vec<_>> = calls.map(|call| (call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture);
    let program = filter.and_then(seccompiler::BpfProgram::try_from).map_err(io::Error::other)?;
    seccompiler::apply_filter_all_threads(&program).map_err(io::Error::other)
}

const CALLS: &[i64] = &[
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

/// Where there are such.
#[cfg(target_arch = "x86_64")]
const ON_X86: &[i64] = &[
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_mknod,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const ON_X86: &[i64] = &[];
