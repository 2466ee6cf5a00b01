//! The kernel's state of sched_ext, and where the scheduler is pinned.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::error::io;
use super::{Cores, CpuError, CpuLocation, Quota};
use crate::file_system::mount;

const SCHED_EXT: &str = "/sys/kernel/sched_ext";
const FOLDER: &str = "laxity_cpu";
/// The scheduler's name, whatever its policy.
pub(super) const NAME: &str = "laxity";

/// Which sched_ext scheduler the kernel runs; `None` for its own.
pub(super) fn running() -> Result<Option<String>, CpuError> {
    let state = Path::new(SCHED_EXT).join("state");
    let state = fs::read_to_string(state).map_err(|_| CpuError::NoKernel)?;
    if state.trim() == "disabled" {
        return Ok(None);
    }
    let name = fs::read_to_string(Path::new(SCHED_EXT).join("root/ops")).unwrap_or_default();
    Ok(Some(name.trim().to_owned()))
}

/// Whether a scheduler's name is that of this one.
pub(super) fn is_ours(name: &str) -> bool {
    // A version of the kernel may add to it.
    name.starts_with(NAME)
}

/// CPUs of the machine that there may ever be, counted from zero.
pub(super) fn cpus() -> Result<u32, CpuError> {
    let path = Path::new("/sys/devices/system/cpu/possible");
    let text = fs::read_to_string(path).map_err(io(path))?;
    let last = text.trim().rsplit(['-', ',']).next().and_then(|n| n.parse::<u32>().ok());
    last.map(|n| n + 1).ok_or(CpuError::State("the kernel does not say which CPUs there are"))
}

/// CPUs that there are now.
pub(super) fn online() -> Result<Vec<u32>, CpuError> {
    let path = Path::new("/sys/devices/system/cpu/online");
    Ok(parse_list(fs::read_to_string(path).map_err(io(path))?.trim()))
}

/// CPUs on which a task may run. The kernel's list holds such that are not there, too.
pub(super) fn allowed(pid: u32) -> Result<Vec<u32>, CpuError> {
    let text = fs::read(format!("/proc/{pid}/status")).map_err(|_| CpuError::NoTask { pid })?;
    // A task may have any bytes for a name.
    let text = String::from_utf8_lossy(&text);
    let list = text.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
    let listed = list.map(|l| parse_list(l.trim())).unwrap_or_default();
    let online = online()?;
    Ok(listed.into_iter().filter(|cpu| online.contains(cpu)).collect())
}

/// The folder of a CPU in sysfs.
fn cpu_folder(cpu: u32) -> PathBuf {
    PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}"))
}

/// A list of CPUs in sysfs; empty if there is none.
fn cpu_list(path: &Path) -> Vec<u32> {
    fs::read_to_string(path).map(|text| parse_list(text.trim())).unwrap_or_default()
}

/// The CPUs of the core of a CPU; none while it is offline.
fn siblings(cpu: u32) -> Vec<u32> {
    cpu_list(&cpu_folder(cpu).join("topology/thread_siblings_list"))
}

/// The CPUs of each core.
pub(super) fn cores() -> Cores {
    Cores::new(online().unwrap_or_default().into_iter().map(siblings))
}

/// The CPUs that share the last cache of a CPU, or its package if the caches are not known; none while it
/// is offline.
fn cache_sharers(cpu: u32) -> Vec<u32> {
    let folder = cpu_folder(cpu);
    let entries = fs::read_dir(folder.join("cache")).into_iter().flatten().flatten();
    let caches = entries.filter_map(|entry| {
        let level = fs::read_to_string(entry.path().join("level")).ok()?;
        Some((level.trim().parse::<u32>().ok()?, cpu_list(&entry.path().join("shared_cpu_list"))))
    });
    let last = caches.max_by_key(|(level, _)| *level).map(|(_, cpus)| cpus);
    last.unwrap_or_else(|| cpu_list(&folder.join("topology/package_cpus_list")))
}

/// The NUMA node of a CPU; the kernel keeps it while the CPU is offline.
fn node(cpu: u32) -> Option<u32> {
    let entries = fs::read_dir(cpu_folder(cpu)).ok()?.flatten();
    let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.find_map(|name| name.strip_prefix("node")?.parse().ok())
}

/// Where each CPU is that there may ever be. One that is offline has core and cache to itself.
pub(super) fn locations() -> Result<Vec<CpuLocation>, CpuError> {
    let first = |cpus: Vec<u32>, cpu| cpus.into_iter().min().unwrap_or(cpu);
    let location = |cpu| CpuLocation {
        core: first(siblings(cpu), cpu),
        cache: first(cache_sharers(cpu), cpu),
        node: node(cpu).unwrap_or(0),
    };
    Ok((0..cpus()?).map(location).collect())
}

/// Where the hierarchy of control groups is mounted.
const CGROUPS: &str = "/sys/fs/cgroup";
/// Groups that are searched for limits; a machine with more has tools for them.
const MAX_CGROUPS: usize = 10_000;

fn quota_of_group(group: &str) -> Option<Quota> {
    let text = fs::read_to_string(format!("{CGROUPS}{group}/cpu.max")).ok()?;
    Quota::parse(group, &text)
}

/// The tightest `cpu.max` of the control groups that a task is in; `None` without any.
pub fn quota(pid: u32) -> Option<Quota> {
    let text = fs::read(format!("/proc/{pid}/cgroup")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let mut group = text.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mut tightest: Option<Quota> = None;
    while let Some((parent, _)) = group.rsplit_once('/').filter(|_| group.len() > 1) {
        let own = quota_of_group(group);
        tightest = match (tightest, own) {
            (Some(a), Some(b)) => Some(a.tighter(b)),
            (a, b) => a.or(b),
        };
        group = parent;
    }
    tightest
}

/// Every `cpu.max` of a control group with tasks, by path.
pub fn quotas() -> Vec<Quota> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    let mut seen = 0;
    while let Some(group) = folders.pop().filter(|_| seen < MAX_CGROUPS) {
        seen += 1;
        let events = fs::read_to_string(format!("{CGROUPS}{group}/cgroup.events"));
        if events.is_ok_and(|events| events.contains("populated 1")) {
            found.extend(quota_of_group(&group));
        }
        let children = fs::read_dir(format!("{CGROUPS}{group}")).into_iter().flatten().flatten();
        let children = children.filter(|entry| entry.file_type().is_ok_and(|t| t.is_dir()));
        folders.extend(children.map(|c| format!("{group}/{}", c.file_name().to_string_lossy())));
    }
    found.sort_by(|a, b| a.group.cmp(&b.group));
    found
}

/// Whether to load the `running` and `stopping` hooks, since inferred run state is unreliable on this kernel:
/// from 7.0 on a task waited for 50 ms now and then, and 7.2 and 7.3 accounted too little execution.
/// `LAXITY_CPU_RUN_HOOKS=1` loads them on any kernel.
pub(super) fn needs_run_hooks() -> bool {
    let asked = std::env::var_os("LAXITY_CPU_RUN_HOOKS").is_some_and(|asked| asked == "1");
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    asked || infers_unreliably(&release)
}

fn infers_unreliably(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>());
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (7, 0),
        _ => true,
    }
}

/// Distinguishes the running scheduler from earlier ones; `None` if none runs.
pub(super) fn identity() -> Option<u64> {
    let ours = running().ok()?.is_some_and(|name| is_ours(&name));
    let pin = fs::metadata(pin("scheduler")).ok()?;
    ours.then(|| pin.ino())
}

/// `0-3,8` as the kernel writes lists.
fn parse_list(text: &str) -> Vec<u32> {
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) {
            cpus.extend(first..=last.min(first.saturating_add(65_535)));
        }
    }
    cpus
}

/// The folder of pins, where such a folder may be.
fn folder() -> PathBuf {
    mount().unwrap_or(Path::new("/sys/fs/bpf")).join(FOLDER)
}

/// The file of a pin.
pub(super) fn pin(name: &str) -> PathBuf {
    folder().join(name)
}

/// Whether there are pins.
pub(super) fn is_pinned() -> Result<bool, CpuError> {
    let path = pin("scheduler");
    let there = path.try_exists().map_err(io(&path))?;
    if !there && mount().is_none() && running()?.is_some_and(|name| is_ours(&name)) {
        return Err(CpuError::NoFileSystem);
    }
    Ok(there)
}

pub(super) fn make_pins() -> Result<(), CpuError> {
    let path = mount().ok_or(CpuError::NoFileSystem)?.join(FOLDER);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(io(&path))
}

pub(super) fn remove_pins() -> Result<(), CpuError> {
    let path = folder();
    // The link first, so that the scheduler ends even if other pins stay.
    let _ = fs::remove_file(pin("scheduler"));
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(&path)(error)),
        _ => Ok(()),
    }
}

/// The time of the scheduler, in ns.
pub(super) fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// The time after this duration.
pub(super) fn after(length: std::time::Duration) -> u64 {
    now().saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
}

/// One command at a time may change the scheduler; others wait.
pub(super) fn lock() -> Result<fs::File, CpuError> {
    let path = Path::new("/run/laxity-cpu.lock");
    let file = lock_file(path)?;
    flock(&file, FlockOperation::LockExclusive).map_err(|e| io(path)(e.into()))?;
    Ok(file)
}

/// At most one process may record: an event fetched by one is lost to others.
pub(super) fn lock_recording() -> Result<fs::File, CpuError> {
    let path = Path::new("/run/laxity-cpu-record.lock");
    let file = lock_file(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(Errno::WOULDBLOCK) => {
            Err(CpuError::State("somebody records already; try again when that has ended"))
        }
        Err(error) => Err(io(path)(error.into())),
    }
}

fn lock_file(path: &Path) -> Result<fs::File, CpuError> {
    let mut options = fs::OpenOptions::new();
    options.create(true).write(true).truncate(false);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_need_run_hooks_are_known() {
        for (release, bad) in [
            ("6.18.15+deb13-cloud-amd64", false),
            ("6.19.14", false),
            ("7.0.13-arch1-1", true),
            ("7.1.0-rc1", true),
            ("10.2.1", true),
            ("unknown", true),
        ] {
            assert_eq!(infers_unreliably(release), bad, "{release}");
        }
    }

    #[test]
    fn lists_are_read_back() {
        assert_eq!(parse_list("0-2,5"), [0, 1, 2, 5]);
        assert!(parse_list("").is_empty());
    }
}
