//! A commit that failed is in doubt: it may have happened all the same. What is so is found out.

use std::path::Path;

use rusqlite::{Connection, ErrorCode};

use super::open::{Durability, open_to_write};
use super::{Fault, Result, guards, rows};
use crate::record::entry::Head;

/// Finds out what became of a commit that failed, through a connection of its own that takes the
/// place of the old one; returns where it happened, and is on the disk by now.
///
/// Nobody else writes meanwhile: the caller holds the record's lock.
pub(super) fn resolve(
    connection: &mut Connection,
    record: &Path,
    durability: Durability,
    error: rusqlite::Error,
    written: Head,
) -> Result<()> {
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        // Its last page was not written, so nobody can take it for whole.
        return Err(error.into());
    }
    match look(connection, record, durability, written) {
        Ok(Some(true)) => Ok(()),
        Ok(Some(false)) => Err(Fault::NotCommitted(error)),
        // Somebody reads, or the disk still fails.
        Ok(None) | Err(_) => Err(Fault::InDoubt(error)),
    }
}

/// Returns whether an entry is on the record; nothing where that could still change.
///
/// The file, not the log, is asked: once the log is put into it and emptied, what stands there is on
/// the disk, and what does not cannot come back.
fn look(
    connection: &mut Connection,
    record: &Path,
    durability: Durability,
    written: Head,
) -> Result<Option<bool>> {
    // Opened before the other is closed: the last one to be closed takes the log away.
    let fresh = open_to_write(record, durability)?;
    let is_settled = guards::empty_log(&fresh)?;
    let found = rows::entry(&fresh, written.seq)?;
    *connection = fresh;
    // Where nothing was appended, no more than derived rows were to be saved.
    let is_there =
        written == Head::EMPTY || found.is_some_and(|found| found.digest == written.digest);
    Ok(is_settled.then_some(is_there))
}
