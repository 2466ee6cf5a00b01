//! Pinned objects of an instance in the BPF file system.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use libbpf_rs::libbpf_sys::bpf_map_create_opts;
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, MapType};
use rustix::fs::{FlockOperation, flock};

use super::error::io_error;
use super::{KIND_PREFIX, LinkError};
use crate::file_system::mount;

const FOLDER: &str = "laxity";

/// The former state; removed last, so that an interrupted removal can be resumed.
const RECORD: &str = "about";

/// The folder of all instances.
#[derive(Clone, Debug)]
pub(super) struct Folder(PathBuf);

/// Excludes other commands until it is dropped, also when the process is killed.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code)] OwnedFd);

impl Folder {
    pub(super) fn find() -> Result<Folder, LinkError> {
        Ok(Folder(mount().ok_or(LinkError::NoFileSystem)?.join(FOLDER)))
    }

    /// Creates the folder, for its owner only, and locks it against other commands.
    pub(super) fn lock(&self) -> Result<Lock, LinkError> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        made.map_err(io_error(&self.0))?;
        let found = fs::metadata(&self.0).map_err(io_error(&self.0))?;
        let own = rustix::process::geteuid();
        if found.uid() != own.as_raw() && !own.is_root() {
            return Err(LinkError::NotPermitted { what: "change links of another user" });
        }
        if found.uid() != own.as_raw() || found.mode() & 0o077 != 0 {
            return Err(LinkError::Exposed { path: self.0.display().to_string() });
        }
        let file = fs::File::open(&self.0).map_err(io_error(&self.0))?;
        flock(&file, FlockOperation::LockExclusive).map_err(|e| io_error(&self.0)(e.into()))?;
        Ok(Lock(file.into()))
    }

    pub(super) fn pins(&self, kind: &str) -> Pins {
        Pins(self.0.join(kind))
    }

    /// A pinned text, of an object without a folder of its own.
    pub(super) fn text(&self, name: &str) -> Result<Option<Vec<u8>>, LinkError> {
        Pins(self.0.clone()).read(name, 0)
    }

    /// Pins a text.
    pub(super) fn pin_text(&self, name: &str, text: &str) -> Result<(), LinkError> {
        let path = self.0.join(name);
        let size = size_of::<bpf_map_create_opts>() as u64;
        let options = bpf_map_create_opts { sz: size, ..Default::default() };
        let bytes = text.len() as u32 + 1;
        let map = MapHandle::create(MapType::Array, Some("text"), 4, bytes, 1, &options);
        let mut map = map.map_err(broken(&path))?;
        let value = [text.as_bytes(), &[0]].concat();
        map.update(&0u32.to_ne_bytes(), &value, MapFlags::ANY).map_err(broken(&path))?;
        map.pin(&path).map_err(broken(&path))
    }

    /// Removes a pinned text, if there is one.
    pub(super) fn unpin_text(&self, name: &str) -> Result<(), LinkError> {
        let path = self.0.join(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(io_error(&path)),
        }
    }

    /// The names of all instances.
    pub(super) fn kinds(&self) -> Result<Vec<String>, LinkError> {
        self.names(KIND_PREFIX)
    }

    /// The names that begin with a prefix.
    pub(super) fn names(&self, prefix: &str) -> Result<Vec<String>, LinkError> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(io_error(&self.0))?,
        };
        let names = entries.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
        names.sort();
        Ok(names)
    }
}

/// The folder of one instance.
#[derive(Clone, Debug)]
pub(super) struct Pins(PathBuf);

impl Pins {
    /// Makes the folder, for its owner only.
    pub(super) fn make(&self) -> Result<(), LinkError> {
        fs::DirBuilder::new().mode(0o700).create(&self.0).map_err(io_error(&self.0))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn exist(&self) -> Result<bool, LinkError> {
        self.0.try_exists().map_err(io_error(&self.0))
    }

    /// The value of a map at an index; `None` without the map.
    pub(super) fn read(&self, name: &str, at: u32) -> Result<Option<Vec<u8>>, LinkError> {
        let path = self.path(name);
        let map = match MapHandle::from_pinned_path(&path) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::NotFound => return Ok(None),
            map => map.map_err(broken(&path))?,
        };
        map.lookup(&at.to_ne_bytes(), MapFlags::ANY).map_err(broken(&path))
    }

    /// Whether a map's values hold this many bytes and a terminating zero.
    pub(super) fn holds(&self, name: &str, bytes: usize) -> Result<bool, LinkError> {
        let path = self.path(name);
        let map = MapHandle::from_pinned_path(&path).map_err(broken(&path))?;
        Ok(bytes < map.value_size() as usize)
    }

    /// Writes a value, zeros behind it.
    pub(super) fn write(&self, name: &str, at: u32, value: &[u8]) -> Result<(), LinkError> {
        let path = self.path(name);
        let map = MapHandle::from_pinned_path(&path).map_err(broken(&path))?;
        let mut value = value.to_vec();
        value.resize(map.value_size() as usize, 0);
        map.update(&at.to_ne_bytes(), &value, MapFlags::ANY).map_err(broken(&path))
    }

    /// Removes the folder, if there is one. A qdisc in use is not touched.
    pub(super) fn remove(&self) -> Result<(), LinkError> {
        let entries = match fs::read_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(io_error(&self.0))?,
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        paths.sort_by_key(|path| path.ends_with(RECORD));
        for path in &paths {
            fs::remove_file(path).map_err(io_error(path))?;
        }
        fs::remove_dir(&self.0).map_err(io_error(&self.0))
    }
}

fn broken(path: &Path) -> impl FnOnce(libbpf_rs::Error) -> LinkError {
    let path = path.to_path_buf();
    move |error| match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => {
            LinkError::NotPermitted { what: "read what the kernel keeps of the link" }
        }
        _ => io_error(&path)(io::Error::other(error.to_string())),
    }
}
