//! One link to an interface: two would send every frame twice.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use crate::device::Device;
use crate::error::WireError;
use crate::offload;

/// An interface that this process has to itself, among links.
#[derive(Debug)]
pub struct Lock {
    file: Option<(File, PathBuf)>,
}

impl Lock {
    /// Takes an interface. A process that is killed gives it back; without a place for the lock
    /// (no `/run`) it is not locked.
    ///
    /// # Errors
    /// Another link has it.
    pub fn take(device: &Device) -> Result<Lock, WireError> {
        let Some(path) = offload::place(device, "lock") else { return Ok(Lock { file: None }) };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let Ok(file) = options.open(&path) else { return Ok(Lock { file: None }) };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::WOULDBLOCK) => {
                Err(WireError::Occupied { device: device.name().to_owned() })
            }
            _ => Ok(Lock { file: Some((file, path)) }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file {
            let _ = fs::remove_file(path);
        }
    }
}
