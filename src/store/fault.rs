//! How the world can break under a record: disk, locks, foreign files.

use std::path::{Path, PathBuf};

/// The record could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// There is no such file.
    #[error("there is no record at `{}`; `prereg register` or `prereg run` makes one", .0.display())]
    NotFound(PathBuf),
    /// What stands there is no regular file, and never opened: it might keep whoever reads it waiting.
    #[error("`{}` is not a regular file; name the file itself", .0.display())]
    NotFile(PathBuf),
    /// The file is something else.
    #[error("`{}` is not a record of prereg", .0.display())]
    NotARecord(PathBuf),
    /// The file was written by a newer version.
    #[error("`{}` has version {found}, and this program knows version {known}; use a newer one", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// An import would write over something.
    #[error("`{}` exists; name a new file with --to", .0.display())]
    Exists(PathBuf),
    /// An import lacks what the record needs.
    #[error("`{}` leaves sealed values out, and a record needs them; export it again once the study has ended, or with --unblind, which is recorded", .0.display())]
    SealedExport(PathBuf),
    /// A row cannot be read back.
    #[error("the record's row `{row}` cannot be read: {message}; `prereg verify` says more")]
    Row {
        /// Which row.
        row: String,
        /// Why.
        message: String,
    },
    /// A commit failed, and whether it happened is not known.
    #[error(
        "the last commit is in doubt ({0}); run the same command again: what happened is kept, and nothing happens twice"
    )]
    InDoubt(rusqlite::Error),
    /// A flush failed, and whether what was committed is on the disk is not known.
    #[error("`{}` could not be flushed to the disk ({source}); run the same command again: what happened is kept, and nothing happens twice", path.display())]
    NotFlushed {
        /// The log.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The record's lock could not be taken.
    #[error("the record's lock `{}` cannot be taken: {source}", path.display())]
    Lock {
        /// The lock's file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file beside the record could not be read or written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(std::io::Error),
    /// The database said no.
    #[error("the record cannot be used: {0}")]
    Storage(#[from] rusqlite::Error),
}

impl Fault {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "record-not-found",
            Self::NotFile(_) => "not-file",
            Self::NotARecord(_) => "not-a-record",
            Self::Newer { .. } => "record-newer",
            Self::Exists(_) => "file-exists",
            Self::SealedExport(_) => "sealed-export",
            Self::Row { .. } => "row-unreadable",
            Self::InDoubt(_) | Self::NotFlushed { .. } => "commit-in-doubt",
            Self::Lock { .. } => "record-lock",
            Self::File { .. } => "file",
            Self::Random(_) => "no-random-bytes",
            Self::Storage(_) => "storage",
        }
    }

    /// Makes the fault of a file beside the record.
    pub fn file(path: &Path, source: std::io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
