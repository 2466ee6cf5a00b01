//! Files that commands write: never an input, whole or not at all, one writer at a time.
//!
//! A file is written beside its place, as `.NAME.laxity`, and moved there when it is complete. Until
//! then what was there stays, also when the disk is full or the process ends. The file beside it is
//! locked, so a second writer is refused; one that a killed process left is used again.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use laxity_scenario::Document;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::failure::Failure;
use crate::kind;

/// Symbolic links followed at most, as the kernel does.
const MOST_LINKS: u32 = 40;
/// Bytes of a file's name that the name beside it repeats; both stay within 255.
const MOST_NAME: usize = 200;

/// Files that this process reads: what it is and which.
static INPUTS: Mutex<Vec<(PathBuf, Identity)>> = Mutex::new(Vec::new());
/// Files that are being written, beside their places.
static INCOMPLETE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    fn of(path: &Path) -> Option<Identity> {
        fs::metadata(path).ok().map(|m| Identity { device: m.dev(), inode: m.ino() })
    }
}

/// From now on no output may be one of these files.
pub fn read<'a>(paths: impl IntoIterator<Item = &'a Path>) {
    let Ok(mut inputs) = INPUTS.lock() else { return };
    for path in paths {
        inputs.extend(Identity::of(path).map(|is| (path.to_owned(), is)));
    }
}

/// From now on no output may be a scenario or a file that it names.
pub fn read_scenario(path: &Path, document: &Document) {
    read([path]);
    read(kind::of(document).inputs());
}

/// Refuses, before any work, outputs that are inputs or each other. Each has its option.
pub fn plan<'a>(
    outputs: impl IntoIterator<Item = (&'a str, Option<&'a PathBuf>)>,
) -> Result<(), Failure> {
    let mut seen: Vec<(&str, &Path, PathBuf)> = Vec::new();
    for (option, path) in outputs {
        let Some(path) = path else { continue };
        refuse_input(&format!("{option} {}", path.display()), path)?;
        if is_special(path) {
            continue;
        }
        // One that cannot be written fails when it is, with the results printed before.
        let place = place(path).unwrap_or_else(|_| path.clone());
        if let Some((other, ..)) = seen.iter().find(|(.., p)| *p == place) {
            return Err(Failure::Input(format!(
                "{option} {}: {other} is the same file; give two names",
                path.display()
            )));
        }
        seen.push((option, path, place));
    }
    Ok(())
}

fn refuse_input(what: &str, path: &Path) -> Result<(), Failure> {
    let Some(is) = Identity::of(path) else { return Ok(()) };
    let Ok(inputs) = INPUTS.lock() else { return Ok(()) };
    match inputs.iter().find(|(_, input)| *input == is) {
        Some((input, _)) => Err(Failure::Input(format!(
            "{what}: this is {}, which would be overwritten; name another file",
            if input == path {
                "an input".to_owned()
            } else {
                format!("the input {}", input.display())
            }
        ))),
        None => Ok(()),
    }
}

/// Removes incomplete files; for a process that ends at once.
pub fn abandon() {
    if let Ok(incomplete) = INCOMPLETE.lock() {
        for path in incomplete.iter() {
            let _ = fs::remove_file(path);
        }
    }
}

/// A file that comes to its place with [`complete`](Pending::complete), and otherwise not at all.
#[derive(Debug)]
pub struct Pending {
    path: PathBuf,
    /// Its place and where it is until then; none for devices and pipes.
    move_: Option<(PathBuf, PathBuf)>,
    /// Keeps the lock.
    _lock: File,
}

impl Pending {
    /// Begins a file: what it is written to, and what completes it.
    ///
    /// # Errors
    /// It is an input, another process writes it, or it cannot be written.
    pub fn create(path: &Path) -> Result<(File, Pending), Failure> {
        refuse_input(&path.display().to_string(), path)?;
        let io = |e: io::Error| failed(path, &e);
        if is_special(path) {
            let file = File::create(path).map_err(io)?;
            let lock = file.try_clone().map_err(io)?;
            return Ok((file, Pending { path: path.to_owned(), move_: None, _lock: lock }));
        }
        let place = place(path).map_err(io)?;
        // A file that may not be written is not replaced either.
        let before = match OpenOptions::new().write(true).open(&place) {
            Ok(file) => Some(file.metadata().map_err(io)?.permissions()),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(io(e)),
        };
        let temporary = temporary_path(&place);
        let file = lock(&temporary).map_err(io)?.ok_or_else(|| {
            Failure::Input(format!(
                "{}: another process writes it; wait for its end, or name another file",
                path.display()
            ))
        })?;
        if let Ok(mut incomplete) = INCOMPLETE.lock() {
            incomplete.push(temporary.clone());
        }
        let lock = file.try_clone().map_err(io);
        let pending =
            |lock| Pending { path: path.to_owned(), move_: Some((temporary, place)), _lock: lock };
        let pending = lock.map(pending)?;
        if let Some(permissions) = before {
            file.set_permissions(permissions).map_err(io)?;
        }
        file.set_len(0).map_err(io)?;
        Ok((file, pending))
    }

    /// Moves the file to its place.
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn complete(mut self) -> Result<(), Failure> {
        let Some((temporary, place)) = self.move_.take() else { return Ok(()) };
        let moved = fs::rename(&temporary, &place);
        if moved.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        forget(&temporary);
        moved.map_err(|e| failed(&self.path, &e))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some((temporary, _)) = self.move_.take() {
            let _ = fs::remove_file(&temporary);
            forget(&temporary);
        }
    }
}

fn forget(temporary: &Path) {
    if let Ok(mut incomplete) = INCOMPLETE.lock() {
        incomplete.retain(|path| path != temporary);
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::write(&path.display().to_string(), error)
}

/// A device, a pipe, or a file of this process in /proc: written in place.
fn is_special(path: &Path) -> bool {
    path.starts_with("/dev")
        || path.starts_with("/proc")
        || fs::metadata(path).is_ok_and(|m| !m.is_file() && !m.is_dir())
}

/// The final path of a file, with symbolic links resolved so that they stay.
fn place(path: &Path) -> io::Result<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&at) {
            Ok(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            Err(_) => {
                let name = at.file_name().ok_or(ErrorKind::IsADirectory)?;
                let parent = at.parent().filter(|p| !p.as_os_str().is_empty());
                return Ok(fs::canonicalize(parent.unwrap_or(Path::new(".")))?.join(name));
            }
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The path of an incomplete file.
fn temporary_path(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().as_bytes();
    let name = [b".", &name[..name.len().min(MOST_NAME)], b".laxity"].concat();
    place.with_file_name(OsString::from_vec(name))
}

/// Opens a file for this process alone; `None` when another has it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    loop {
        let file = options.open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(None),
            Err(e) => return Err(e.into()),
        }
        // Another may have moved it to its place since it was opened; that is its file then.
        let is = file.metadata().map(|m| Identity { device: m.dev(), inode: m.ino() })?;
        if Identity::of(path) == Some(is) {
            return Ok(Some(file));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("laxity-files-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        folder
    }

    /// Fails when a file is torn by a write that failed, or a half is left beside it.
    #[test]
    fn uncommitted_output_changes_nothing() {
        let folder = folder("torn");
        let path = folder.join("out.csv");
        fs::write(&path, "before").expect("written");
        let (mut file, pending) = Pending::create(&path).expect("begins");
        file.write_all(b"half").expect("written");
        drop(pending);
        assert_eq!(fs::read(&path).expect("is there"), b"before");
        let (mut file, pending) = Pending::create(&path).expect("begins");
        file.write_all(b"whole").expect("written");
        assert_eq!(fs::read(&path).expect("is there"), b"before");
        pending.complete().expect("moved");
        assert_eq!(fs::read(&path).expect("is there"), b"whole");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        fs::remove_dir_all(&folder).expect("removed");
    }

    /// Fails when two writers of one file interleave, or when what a killed one left keeps the next
    /// one away.
    #[test]
    fn one_writer_at_a_time() {
        let folder = folder("lock");
        let path = folder.join("out.csv");
        fs::write(folder.join(".out.csv.laxity"), "left by a process that was killed")
            .expect("written");
        let (file, pending) = Pending::create(&path).expect("begins");
        let second = Pending::create(&path).expect_err("is refused");
        assert!(second.text().contains("another process writes it"), "{second:?}");
        drop(file);
        pending.complete().expect("moved");
        assert_eq!(fs::read(&path).expect("is there"), b"");
        Pending::create(&path).expect("is free again");
        fs::remove_dir_all(&folder).expect("removed");
    }

    /// Fails when a symbolic link is replaced by a file, permissions are lost, or an input is found by
    /// its name only.
    #[test]
    fn links_permissions_and_inputs_are_kept() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = folder("links");
        let (path, link) = (folder.join("real.csv"), folder.join("link.csv"));
        fs::write(&path, "input").expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
        symlink("real.csv", &link).expect("linked");
        let (mut file, pending) = Pending::create(&link).expect("begins");
        file.write_all(b"new").expect("written");
        pending.complete().expect("moved");
        assert!(fs::symlink_metadata(&link).expect("is there").is_symlink());
        assert_eq!(fs::read(&path).expect("is there"), b"new");
        assert_eq!(fs::metadata(&path).expect("is there").mode() & 0o777, 0o640);
        let hard = folder.join("hard.csv");
        fs::hard_link(&path, &hard).expect("linked");
        read([path.as_path()]);
        for output in [&path, &link, &hard] {
            let refused = Pending::create(output).expect_err("is refused");
            assert!(refused.text().contains("input"), "{refused:?}");
            assert!(plan([("--report", Some(output))]).is_err());
        }
        fs::remove_dir_all(&folder).expect("removed");
    }
}
