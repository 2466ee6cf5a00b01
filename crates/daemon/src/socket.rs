//! Listening sockets in the file system, with their permissions.

use std::fs;
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _, chown,
};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::directory;

/// The file of a socket. Dropping it removes the file, unless another file has replaced it.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|identity| identity == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let data = fs::symlink_metadata(path)?;
    Ok((data.dev(), data.ino()))
}

/// Listens at a path. Replaces a stale socket, and creates the directory if it does not exist.
///
/// # Errors
/// The path is in use or cannot be created, or its group cannot be changed.
pub fn listen(
    path: &Path,
    mode: u32,
    group: Option<u32>,
) -> io::Result<(UnixListener, SocketFile)> {
    // Checks the length of the path: the temporary path below may be shorter.
    SocketAddr::from_pathname(path)?;
    let parent = directory_of(path);
    if parent == Path::new(directory::RUN_DIRECTORY) {
        directory::create_accessible(parent)?;
    } else {
        directory::create(parent)?;
    }
    check_unused(path)?;
    // The socket is not reachable before it has its group and mode.
    let private = create_private(parent)?;
    let result = bind(&private.join("s"), mode, group).and_then(|listener| {
        fs::rename(private.join("s"), path)?;
        let file = SocketFile { path: path.to_owned(), identity: identity(path)? };
        Ok((listener, file))
    });
    let _ = fs::remove_dir_all(&private);
    result
}

/// The directory of a socket.
pub fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a directory that only this user may enter. Its name is short, since the length of a socket's
/// path is limited.
fn create_private(parent: &Path) -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!(".lx{}-{number}", std::process::id()));
        match fs::DirBuilder::new().mode(0o700).create(&path) {
            // Left by a killed process with the same PID.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|()| path),
        }
    }
}

fn bind(path: &Path, mode: u32, group: Option<u32>) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    if group.is_some() {
        chown(path, None, group)?;
    }
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    Ok(listener)
}

fn check_unused(path: &Path) -> io::Result<()> {
    let Ok(data) = fs::symlink_metadata(path) else { return Ok(()) };
    if !data.file_type().is_socket() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file is not a socket"));
    }
    match UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "a server listens there already")),
    }
}
