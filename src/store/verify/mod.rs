//! Verifies a record or its export: reads only, streams, and stops at the first divergence.
//!
//! One thread reads, two check of every entry what can be checked by itself, and one decides again
//! and folds, in order (`store::abreast`). What is not under way lies on the disk meanwhile (`spill`).
//!
//! - `exported`: an export; `kept`: a record; `keys`, `tables`: what is derived in a
//!   record, row by row.

mod exported;
mod kept;
mod keys;
mod tables;

use std::fs::File;
use std::io::Read;
use std::path::Path;

pub(super) use exported::exported;

use super::spill::Spill;
use super::{Fault, guards, must_be_file};
use crate::engine::slice::Run;
use crate::record::anchor::expected::{self, Backward, Expected};
use crate::record::audit::{self, Audit, Filed};
use crate::record::divergence::{Code, Divergence};
use crate::record::shelf::Shelf as _;
use crate::units::{Digest, RunId};

/// An audit whose rows may lie on the disk.
type Auditor = audit::Auditor<Spill>;

/// How many rows an audit holds at least before it puts some away.
const HELD: usize = 512;

/// What a verification came to.
#[derive(Debug)]
pub enum Verification {
    /// Everything follows.
    Verified(Box<Audit>),
    /// A record that has no entries yet.
    Empty,
    /// Something does not follow.
    Diverged(Divergence),
}

/// Why a verification ended early.
#[derive(Debug)]
pub enum End {
    /// Something does not follow.
    Diverged(Divergence),
    /// The world broke.
    Fault(Fault),
}

/// Who looks at every run once all entries are checked: at the digest of the first entry, the study's id
/// and the run.
pub type EachRun<'e> = &'e mut dyn FnMut(Option<Digest>, &str, &Run) -> Result<(), End>;

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        match fault {
            // A row that cannot be read back is a broken record, not a broken world.
            Fault::Row { row, message } => Self::Diverged(Divergence::new(
                Code::TablesDiffer,
                0,
                format!("{row}: {message}"),
            )),
            Fault::Storage(error) if is_corruption(&error) => {
                Self::Diverged(Divergence::new(Code::NotARecord, 0, error.to_string()))
            }
            other => Self::Fault(other),
        }
    }
}

impl From<Divergence> for End {
    fn from(divergence: Divergence) -> Self {
        Self::Diverged(divergence)
    }
}

impl From<audit::End<Fault>> for End {
    fn from(end: audit::End<Fault>) -> Self {
        match end {
            audit::End::Diverged(divergence) => Self::Diverged(divergence),
            audit::End::Fault(fault) => Self::Fault(fault),
        }
    }
}

fn is_corruption(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, TypeMismatch};
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            DatabaseCorrupt | NotADatabase | TypeMismatch | rusqlite::ErrorCode::Unknown
        ),
        // A statement of ours does not fit the tables that are there.
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}

/// Verifies the record or the export at a path.
pub fn verify(path: &Path) -> Result<Verification, Fault> {
    verify_against(path, &mut Expected::default(), None)
}

/// Verifies the record or the export at a path, and holds it to what was published of it.
pub fn verify_against(
    path: &Path,
    expected: &mut Expected,
    each_run: Option<EachRun<'_>>,
) -> Result<Verification, Fault> {
    must_be_file(path)?;
    let mut file = File::open(path).map_err(|source| Fault::file(path, source))?;
    let mut magic = [0; 16];
    let read = file
        .read(&mut magic)
        .map_err(|source| Fault::file(path, source))?;
    drop(file);
    let verified = if magic[..read] == *b"SQLite format 3\0" || guards::is_begun(path) {
        kept::record(path, expected, each_run)
    } else {
        exported::checked(path, expected, each_run).map(Some)
    };
    match verified {
        Ok(Some(audit)) => Ok(Verification::Verified(Box::new(audit))),
        Ok(None) => Ok(Verification::Empty),
        Err(End::Diverged(divergence)) => Ok(Verification::Diverged(divergence)),
        Err(End::Fault(fault)) => Err(fault),
    }
}

/// Holds an entry that was checked to what was published, and notes what it says of that itself.
fn see(expected: &mut Expected, auditor: &Auditor, filed: &Filed) -> Result<(), Divergence> {
    let stand = auditor.stand();
    expected.see(stand)?;
    match &filed.anchor {
        Some(action) => expected.recorded(stand.head.seq, action),
        None => Ok(()),
    }
}

/// Shows every run, and holds it to its receipt where that is asked.
fn show(
    auditor: &mut Auditor,
    expected: &Expected,
    each_run: Option<EachRun<'_>>,
) -> Result<(), End> {
    let Some(each) = each_run else { return Ok(()) };
    let (first, study) = (auditor.first(), auditor.stand().study.to_owned());
    for run in 1..=auditor.standing().runs {
        let Some(bytes) = auditor.run(RunId(run))? else {
            continue;
        };
        let run = serde_json::from_slice(&bytes);
        let run = run.map_err(|error| Spill::broken(error.to_string()))?;
        let asked = expected.holds_to_receipts();
        if let Some(lack) = asked.then(|| auditor.lacks(&run)).transpose()?.flatten() {
            return Err(lack.into());
        }
        each(first, &study, &run)?;
    }
    Ok(())
}

/// Compares an entry with what a later one says of it.
fn compare_backward(backward: Backward, found: Option<Digest>) -> Result<(), Divergence> {
    match found == Some(backward.head.digest) {
        true => Ok(()),
        false => Err(expected::contradicts(backward)),
    }
}

fn tables_differ(message: String) -> End {
    End::Diverged(Divergence::new(Code::TablesDiffer, 0, message))
}
