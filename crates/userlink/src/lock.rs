//! One link to an interface: two would send every frame twice.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

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
    /// Locks an interface. The lock of a killed process is released; without a place for the lock
    /// (no `/run`) it is not locked.
    ///
    /// # Errors
    /// Another link has it.
    pub fn acquire(device: &Device) -> Result<Lock, WireError> {
        let Some(path) = offload::place(device, "lock") else { return Ok(Lock { file: None }) };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        loop {
            let Ok(file) = options.open(&path) else { return Ok(Lock { file: None }) };
            if let Err(rustix::io::Errno::WOULDBLOCK) =
                flock(&file, FlockOperation::NonBlockingLockExclusive)
            {
                return Err(WireError::Occupied { device: device.name().to_owned() });
            }
            // The process that had it may have removed the file since it was opened, and then a lock on it
            // keeps nobody away.
            if is_at(&file, &path) {
                return Ok(Lock { file: Some((file, path)) });
            }
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(there)) = (file.metadata(), fs::metadata(path)) else { return false };
    (ours.dev(), ours.ino()) == (there.dev(), there.ino())
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;
    use std::sync::atomic::{AtomicU32, Ordering};

    use laxity_daemon::directory;

    use super::*;

    /// The reservations of CPU time have their socket beside the locks, for a group to reach. Fails
    /// when a link makes that folder for its owner alone, or leaves it so.
    #[test]
    fn others_pass_through_the_folder() {
        let device = Device::find("lo").expect("every machine has one");
        let close = || fs::set_permissions(directory::RUN_DIRECTORY, Permissions::from_mode(0o700));
        if offload::place(&device, "test").is_none() || close().is_err() {
            let why = "there is no place for locks; root has one";
            assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{why}");
            eprintln!("skipped: {why}");
            return;
        }
        offload::place(&device, "test").expect("a place");
        let mode = fs::metadata(directory::RUN_DIRECTORY).expect("a folder").mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    /// Fails when two have an interface at once: tried without looking whether the file is still
    /// there.
    #[test]
    fn an_interface_is_locked_once() {
        let device = Device::find("lo").expect("every machine has one");
        if Lock::acquire(&device).is_ok_and(|lock| lock.file.is_none()) {
            let why = "there is no place for locks; root has one";
            assert_ne!(std::env::var("LAXITY_REQUIRE_ALL").as_deref(), Ok("1"), "{why}");
            eprintln!("skipped: {why}");
            return;
        }
        let (holders, acquired) = (AtomicU32::new(0), AtomicU32::new(0));
        let try_it = || {
            for _ in 0..5_000 {
                let Ok(lock) = Lock::acquire(&device) else { continue };
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "two have it");
                acquired.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
                holders.fetch_sub(1, Ordering::SeqCst);
                drop(lock);
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(try_it)));
        assert!(acquired.into_inner() > 0);
    }
}
