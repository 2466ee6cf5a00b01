//! Receive offloads of an interface, switched off while a link reads from it.
//!
//! A link schedules packets as they came over the wire. Interfaces that join several into one
//! (GRO, LRO) are set not to; the former settings are recorded in a file, from which the next link
//! restores them if this one is killed.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use laxity_daemon::directory;

use crate::device::{Device, control};
use crate::error::WireError;
use crate::sys::ethtool;

/// Features that join packets.
const JOINING: &[&str] = &["rx-gro", "rx-lro", "rx-gro-hw", "rx-gro-list", "rx-udp-gro-forwarding"];

/// Features that take VLAN tags out of packets; XDP would not see them.
const TAGS: &[&str] = &["rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"];

/// Features of one interface that are off as long as this lives.
#[derive(Debug)]
pub struct Offload {
    device: Device,
    /// For each 32 features, which were changed and how they were.
    before: Vec<(u32, u32)>,
    record: Option<PathBuf>,
}

impl Offload {
    /// Switches off what joins packets, and with `tags` what takes their tags out. Interfaces
    /// that know nothing of features are left alone.
    ///
    /// # Errors
    /// This is not permitted, or the system refuses.
    pub fn off(device: &Device, tags: bool) -> Result<Offload, WireError> {
        let failed = |e| WireError::io(device.name(), "switching joined packets off", e);
        let socket = control().map_err(failed)?;
        let (fd, name) = (socket.as_fd(), device.name());
        let names = match ethtool::names(fd, name) {
            Ok(names) => names,
            Err(e) if e.raw_os_error() == Some(libc::EOPNOTSUPP) => Vec::new(),
            Err(e) => return Err(failed(e)),
        };
        let now = ethtool::features(fd, name, names.len().div_ceil(32)).map_err(failed)?;
        let mut wanted = vec![0; now.len()];
        for (number, feature) in names.iter().enumerate() {
            let strips_tags = tags && TAGS.contains(&feature.as_str());
            if JOINING.contains(&feature.as_str()) || strips_tags {
                wanted[number / 32] |= 1 << (number % 32);
            }
        }
        let present = now.iter().zip(&wanted).map(|(block, wanted)| {
            let valid = block.available & wanted;
            (valid, block.requested & valid)
        });
        let mut before: Vec<(u32, u32)> = present.collect();
        let record = record_of(device);
        // A link that was killed has left them off; what counts is how they were before it.
        if let Some(earlier) = record.as_deref().and_then(|path| read(path, before.len())) {
            for (block, earlier) in before.iter_mut().zip(earlier) {
                *block = (block.0 | earlier.0, (block.1 & !earlier.0) | earlier.1);
            }
        }
        let mut offload = Offload { device: device.clone(), before, record };
        if offload.before.iter().all(|(_, requested)| *requested == 0) {
            offload.before.clear();
            offload.record = None;
            return Ok(offload);
        }
        offload.write_record();
        let off: Vec<(u32, u32)> = offload.before.iter().map(|(valid, _)| (*valid, 0)).collect();
        ethtool::request(fd, name, &off).map_err(failed)?;
        Ok(offload)
    }

    /// How many features are off that were on.
    pub fn changed(&self) -> u32 {
        self.before.iter().map(|(_, requested)| requested.count_ones()).sum()
    }

    /// Without a place for records (no `/run`) a link that is killed leaves them off for good.
    fn write_record(&self) {
        let Some(path) = &self.record else { return };
        let lines: String = self.before.iter().map(|(v, r)| format!("{v:08x} {r:08x}\n")).collect();
        let write = || -> io::Result<()> {
            let new = path.with_extension("new");
            let mut options = fs::OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            options.open(&new)?.write_all(lines.as_bytes())?;
            fs::rename(new, path)
        };
        let _ = write();
    }
}

impl Drop for Offload {
    fn drop(&mut self) {
        if self.before.is_empty() {
            return;
        }
        // An interface that was removed has nothing to be restored.
        if let Ok(socket) = control() {
            if self.device.is_there() {
                let _ = ethtool::request(socket.as_fd(), self.device.name(), &self.before);
            }
        }
        if let Some(path) = &self.record {
            let _ = fs::remove_file(path);
        }
    }
}

/// The features that a link touches, each with whether it is asked for.
///
/// # Errors
/// The system refuses.
pub fn state(device: &Device) -> Result<Vec<(String, bool)>, WireError> {
    let failed = |e| WireError::io(device.name(), "asking for features", e);
    let socket = control().map_err(failed)?;
    let names = ethtool::names(socket.as_fd(), device.name()).map_err(failed)?;
    let blocks = names.len().div_ceil(32);
    let now = ethtool::features(socket.as_fd(), device.name(), blocks).map_err(failed)?;
    let known = |name: &str| JOINING.contains(&name) || TAGS.contains(&name);
    let state = names.into_iter().enumerate().filter(|(_, name)| known(name));
    Ok(state.map(|(n, name)| (name, now[n / 32].requested >> (n % 32) & 1 == 1)).collect())
}

/// Where the features of an interface are written down while a link has changed them. The numbers
/// of namespaces and of interfaces in them are not used again, so it is for this one alone.
pub fn record_of(device: &Device) -> Option<PathBuf> {
    place(device, "features")
}

/// A file about an interface, in the folder that sockets of other programs are in as well.
pub(crate) fn place(device: &Device, what: &str) -> Option<PathBuf> {
    let namespace = ethtool::namespace(control().ok()?.as_fd()).ok()?;
    let name = format!("{namespace}-{}-{}.{what}", device.index(), device.name());
    directory::create_accessible(Path::new(directory::RUN_DIRECTORY)).ok()?;
    Some(Path::new(directory::RUN_DIRECTORY).join(name))
}

fn read(path: &Path, blocks: usize) -> Option<Vec<(u32, u32)>> {
    let text = fs::read_to_string(path).ok()?;
    let hex = |hex: Option<&str>| u32::from_str_radix(hex?, 16).ok();
    let line = |line: &str| {
        let mut fields = line.split(' ');
        Some((hex(fields.next())?, hex(fields.next())?))
    };
    let lines: Option<Vec<(u32, u32)>> = text.lines().map(line).collect();
    lines.filter(|lines| lines.len() == blocks)
}
