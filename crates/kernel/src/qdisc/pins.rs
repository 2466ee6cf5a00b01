//! What an instance keeps in the BPF file system.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore as _, MapFlags, MapHandle};

use super::{LinkError, io_error};

const ROOT: &str = "/sys/fs/bpf/laxity";

/// The folder of one instance.
#[derive(Clone, Debug)]
pub(super) struct Pins(PathBuf);

impl Pins {
    pub(super) fn new(kind: &str) -> Pins {
        Pins(Path::new(ROOT).join(kind))
    }

    /// Makes the folder, for its owner only.
    pub(super) fn make(&self) -> Result<(), LinkError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        made.map_err(io_error(&self.0))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The only value of a map; `None` without an instance.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, LinkError> {
        let path = self.path(name);
        if !path.try_exists().map_err(io_error(&path))? {
            return Ok(None);
        }
        let broken = |e: libbpf_rs::Error| io_error(&path)(io::Error::other(e.to_string()));
        let map = MapHandle::from_pinned_path(&path).map_err(broken)?;
        map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(broken)
    }

    /// Removes the folder, if there is one. A qdisc in use is not touched.
    pub(super) fn remove(&self) -> Result<(), LinkError> {
        match fs::remove_dir_all(&self.0) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(&self.0)(error)),
            _ => Ok(()),
        }
    }
}
