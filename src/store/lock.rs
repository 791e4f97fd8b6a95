//! The lock beside a record: writers queue up for it instead of waking up to look.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use super::fault::Fault;
use super::location;

/// The file whose lock a writer holds; never the record itself, whose own locks a second handle
/// would lose.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(super) struct Held<'a> {
    file: &'a File,
}

impl Lock {
    /// Opens the lock of a record.
    pub(super) fn of(record: &Path) -> Result<Self, Fault> {
        let path = super::beside(record, "-lock");
        location::must_have_one_name(&path)?;
        match super::must_be_file(&path) {
            Ok(_) | Err(Fault::NotFound(_)) => {}
            Err(fault) => return Err(fault),
        }
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path);
        match file {
            Ok(file) => Ok(Self { file, path }),
            Err(source) => Err(Fault::Lock { path, source }),
        }
    }

    /// Waits for the lock.
    pub(super) fn hold(&self) -> Result<Held<'_>, Fault> {
        match self.file.lock() {
            Ok(()) => Ok(Held { file: &self.file }),
            Err(source) => Err(Fault::Lock {
                path: self.path.clone(),
                source,
            }),
        }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Closing the file would release it too; a failure here changes nothing.
        let _ = self.file.unlock();
    }
}
