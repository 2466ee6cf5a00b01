//! Directories that several programs share.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// The directory of sockets, locks and records of running programs.
pub const RUN_DIRECTORY: &str = "/run/laxity";

/// All users may enter; each file has permissions of its own.
const MODE: u32 = 0o755;

/// Creates a directory if it does not exist, with mode 0755 whatever the umask.
///
/// # Errors
/// The directory cannot be created.
pub fn create(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(MODE).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(MODE))
}

/// Creates a directory, or makes one of this user that only its owner can enter accessible to all. Another
/// program may have created [`RUN_DIRECTORY`] so; only its owner could then reach a socket in it, whatever
/// the group of the socket.
///
/// # Errors
/// As [`create`].
pub fn create_accessible(path: &Path) -> io::Result<()> {
    create(path)?;
    let data = fs::metadata(path)?;
    let own = data.uid() == rustix::process::geteuid().as_raw();
    if own && data.mode() & 0o077 == 0 {
        fs::set_permissions(path, Permissions::from_mode(MODE))?;
    }
    Ok(())
}

/// Whether the mode of a directory denies access to a file in it to a class that the mode of the file allows.
pub fn denies_access(directory: &Path, mode: u32) -> bool {
    let search = fs::metadata(directory).map_or(0, |data| data.mode());
    [0o010, 0o001].into_iter().any(|class| mode & (class * 6) != 0 && search & class == 0)
}
