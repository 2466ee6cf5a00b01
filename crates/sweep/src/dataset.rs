//! The folder of a sweep's results: a file a part, and what sweep they belong to.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Sweep, SweepError};

/// Holds the fingerprint. Readers of datasets pass over names that begin so.
const OWNER: &str = "_sweep";
/// How old a temporary file is that nobody writes any more.
const LEFTOVER: Duration = Duration::from_secs(3600);

/// Numbers the temporary files of this process, whose threads may write at a time.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// A dataset on disk. Each file is whole: it is written under another name first.
#[derive(Clone, Debug)]
pub struct Dataset {
    folder: PathBuf,
    /// The digits of the greatest number, so that names sort by number.
    digits: usize,
}

impl Dataset {
    /// The folder, made if need be, with what is there already of the same sweep.
    ///
    /// # Errors
    /// It cannot be written, or holds another sweep.
    pub fn open(folder: &Path, sweep: &Sweep) -> Result<Dataset, SweepError> {
        let owner = folder.join(OWNER);
        let file = |path: &Path, error| SweepError::File { path: path.to_owned(), error };
        fs::create_dir_all(folder).map_err(|error| file(folder, error))?;
        let fingerprint = sweep.fingerprint();
        remove_leftovers(folder).map_err(|error| file(folder, error))?;
        let known = match fs::read_to_string(&owner) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                for entry in fs::read_dir(folder).map_err(|error| file(folder, error))? {
                    let name = entry.map_err(|error| file(folder, error))?.file_name();
                    // Of a start that was interrupted, or goes on beside this one.
                    if !is_temporary(&name) && name != OWNER {
                        return Err(SweepError::Other { path: folder.to_owned() });
                    }
                }
                write_first(&owner, format!("{fingerprint}\n").as_bytes())?;
                fs::read_to_string(&owner)
            }
            known => known,
        };
        if known.map_err(|error| file(&owner, error))?.trim() != fingerprint {
            return Err(SweepError::Other { path: folder.to_owned() });
        }
        let digits = sweep.parts().max(1).ilog10() as usize + 1;
        Ok(Dataset { folder: folder.to_owned(), digits })
    }

    /// The file of a part.
    pub fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("part-{number:0width$}.parquet", width = self.digits))
    }

    /// The parts that are not there yet, in order.
    pub fn missing(&self, sweep: &Sweep) -> Vec<u64> {
        (0..sweep.parts()).filter(|number| !self.path(*number).exists()).collect()
    }

    /// Adds a part.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, number: u64, bytes: &[u8]) -> Result<(), SweepError> {
        write(&self.path(number), bytes)
    }
}

/// Writes a file whole, or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), SweepError> {
    let failed = |error| SweepError::File { path: path.to_owned(), error };
    let temporary = write_temporary(path, bytes).map_err(failed)?;
    fs::rename(&temporary, path).map_err(failed)
}

/// The same, unless the file is there: another process may have been first.
fn write_first(path: &Path, bytes: &[u8]) -> Result<(), SweepError> {
    let failed = |error| SweepError::File { path: path.to_owned(), error };
    let temporary = write_temporary(path, bytes).map_err(failed)?;
    match fs::hard_link(&temporary, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // A file system without links.
            fs::rename(&temporary, path).map_err(failed)
        }
        _ => fs::remove_file(&temporary).map_err(failed),
    }
}

fn write_temporary(path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{number}", std::process::id()));
    let temporary = path.with_file_name(name);
    let mut file = fs::File::create(&temporary)?;
    file.write_all(bytes).and_then(|()| file.sync_all())?;
    Ok(temporary)
}

/// Whether a name is one of [`write_temporary`].
fn is_temporary(name: &OsStr) -> bool {
    let of = |name: &str| {
        let (file, number) = name.strip_prefix('.')?.rsplit_once('.')?;
        let of_part = file.starts_with("part-") && file.ends_with(".parquet");
        let numbered =
            !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        Some(numbered && (of_part || file == OWNER))
    };
    name.to_str().and_then(of).unwrap_or(false)
}

/// Removes what processes that were killed left half written. A newer file may be one that is being written.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !is_temporary(&entry.file_name()) {
            continue;
        }
        // Another process may have renamed it since.
        let Ok(modified) = entry.metadata().and_then(|metadata| metadata.modified()) else {
            continue;
        };
        if modified.elapsed().is_ok_and(|age| age > LEFTOVER) {
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}
