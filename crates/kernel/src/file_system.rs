//! Where the BPF file system is, in which all that outlives a command is pinned.

use std::path::Path;

use rustix::fs::statfs;

/// `ip netns exec` and service managers hide the mounts of /sys; the first process sees them.
const MOUNTS: [&str; 2] = ["/sys/fs/bpf", "/proc/1/root/sys/fs/bpf"];
const MAGIC: u64 = 0xcafe_4a11;

/// The first mount of it that can be seen; `None` where there is none.
pub(crate) fn mount() -> Option<&'static Path> {
    let is_one = |path: &str| statfs(path).is_ok_and(|s| s.f_type as u64 == MAGIC);
    MOUNTS.into_iter().find(|path| is_one(path)).map(Path::new)
}
