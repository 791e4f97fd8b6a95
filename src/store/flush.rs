//! Flushing outside the transaction: a session's workers wait for the disk side by side.
//!
//! SQLite's FULL flushes the log inside every commit, while the record is locked. A session lets
//! SQLite commit without (NORMAL) and each worker flushes the same log itself, before it acts on
//! what it committed. What is acknowledged is as durable, with one flush a commit as before; but the
//! next commit need not wait for the disk. The log is one file in order, so a flush covers all
//! commits before it, also those that others have not flushed yet.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::fault::Fault;
use super::{LOG, beside};

/// Flushes the log of a record.
#[derive(Debug)]
pub struct Flush {
    log: File,
    path: PathBuf,
}

impl Flush {
    /// Opens the log of a record that is being written.
    ///
    /// The log is not the record's file nor its index: SQLite's locks are not on it, so a handle of
    /// our own loses none.
    pub(super) fn of(record: &Path) -> Result<Self, Fault> {
        let path = beside(record, LOG);
        let log = File::open(&path).map_err(|source| Fault::file(&path, source))?;
        Ok(Self { log, path })
    }

    /// Returns once everything that was committed before is on the disk.
    pub fn flush(&self) -> Result<(), Fault> {
        self.log.sync_data().map_err(|source| Fault::NotFlushed {
            path: self.path.clone(),
            source,
        })
    }
}
