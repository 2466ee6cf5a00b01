//! The folder of a sweep's results: a file a part, and what sweep they belong to.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::{Sweep, SweepError};

/// Holds the fingerprint. Readers of datasets pass over names that begin so.
const OWNER: &str = "_sweep";

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
        match fs::read_to_string(&owner) {
            Ok(known) if known.trim() == fingerprint => {}
            Ok(_) => return Err(SweepError::Other { path: folder.to_owned() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut entries = fs::read_dir(folder).map_err(|error| file(folder, error))?;
                if entries.next().is_some() {
                    return Err(SweepError::Other { path: folder.to_owned() });
                }
                write(&owner, format!("{fingerprint}\n").as_bytes())?;
            }
            Err(error) => return Err(file(&owner, error)),
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
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let mut hidden = std::ffi::OsString::from(".");
    hidden.push(name);
    let temporary = path.with_file_name(hidden);
    let mut file = fs::File::create(&temporary).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&temporary, path).map_err(failed)
}
