//! The mount point of the BPF file system, in which everything that outlives a command is pinned.

use std::path::Path;

use rustix::fs::statfs;

/// `ip netns exec` and service managers hide the mounts of /sys; the first process sees them.
const MOUNTS: [&str; 2] = ["/sys/fs/bpf", "/proc/1/root/sys/fs/bpf"];
const MAGIC: u64 = 0xcafe_4a11;

/// The first visible mount, or `None`.
pub(crate) fn mount() -> Option<&'static Path> {
    let is_one = |path: &str| statfs(path).is_ok_and(|s| s.f_type as u64 == MAGIC);
    MOUNTS.into_iter().find(|path| is_one(path)).map(Path::new)
}
