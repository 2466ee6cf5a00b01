//! Folders that several programs use.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Where sockets, locks and records of running programs are.
pub const RUN: &str = "/run/laxity";

/// Everybody may pass through; who may use a file in there is said by that file.
const MODE: u32 = 0o755;

/// Makes a folder that is not there, with mode 0755 whatever the umask.
///
/// # Errors
/// It cannot be made.
pub fn make(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(MODE).create(path)?;
    fs::set_permissions(path, Permissions::from_mode(MODE))
}

/// The same of [`RUN`], which other programs of the same user may have made and closed to all
/// others: a socket in there could then be reached by its owner alone, whatever its group.
///
/// # Errors
/// As [`make`].
pub fn open_to_all(path: &Path) -> io::Result<()> {
    make(path)?;
    let data = fs::metadata(path)?;
    let own = data.uid() == rustix::process::geteuid().as_raw();
    if own && data.mode() & 0o077 == 0 {
        fs::set_permissions(path, Permissions::from_mode(MODE))?;
    }
    Ok(())
}

/// Whether a file of some mode in a folder is kept by the folder from those whom its mode lets in.
pub fn hides(folder: &Path, mode: u32) -> bool {
    let passes = fs::metadata(folder).map_or(0, |data| data.mode());
    [0o010, 0o001].into_iter().any(|class| mode & (class * 6) != 0 && passes & class == 0)
}
