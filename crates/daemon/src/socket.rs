//! The socket in the file system: who may connect.

use std::fs;
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _, chown,
};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::folder;

/// The file of a socket. Dropping it removes the file, unless somebody has put another in its place.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    file: (u64, u64),
}

impl Drop for Place {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let data = fs::symlink_metadata(path)?;
    Ok((data.dev(), data.ino()))
}

/// Listens at a path, which must be free or a socket at which nobody listens any more. Makes its
/// folder where there is none.
///
/// # Errors
/// The path is taken or cannot be made, or the group cannot be given to it.
pub fn listen(path: &Path, mode: u32, group: Option<u32>) -> io::Result<(UnixListener, Place)> {
    // Where it is made its path may be shorter than where clients look for it.
    SocketAddr::from_pathname(path)?;
    let parent = folder_of(path);
    if parent == Path::new(folder::RUN) {
        folder::open_to_all(parent)?;
    } else {
        folder::make(parent)?;
    }
    is_free(path)?;
    // Nobody reaches it before it has its group and mode.
    let hidden = hidden(parent)?;
    let made = make(&hidden.join("s"), mode, group).and_then(|listener| {
        fs::rename(hidden.join("s"), path)?;
        let place = Place { path: path.to_owned(), file: identity(path)? };
        Ok((listener, place))
    });
    let _ = fs::remove_dir_all(&hidden);
    made
}

/// The folder that a socket is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A new folder that nobody else may enter. Its name is short: paths of sockets are.
fn hidden(parent: &Path) -> io::Result<PathBuf> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let hidden = parent.join(format!(".lx{}-{number}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&hidden) {
            // Left by another process of this number, which was killed.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| hidden),
        }
    }
}

fn make(path: &Path, mode: u32, group: Option<u32>) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    if group.is_some() {
        chown(path, None, group)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

fn is_free(path: &Path) -> io::Result<()> {
    let Ok(data) = fs::symlink_metadata(path) else { return Ok(()) };
    if !data.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "a file that is no socket"));
    }
    match UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "a server listens there already")),
    }
}
