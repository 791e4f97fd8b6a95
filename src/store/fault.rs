//! How the world can break under a record: disk, locks, foreign files.

use std::path::{Path, PathBuf};

use crate::record::divergence::Divergence;

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
    #[error("`{}` needs a newer prereg: it has version {found}, and this one knows version {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that is known.
        known: i64,
    },
    /// The record is not what was published of it: nothing may be added to it.
    #[error("{0}; put back the record that it was published from")]
    Published(Divergence),
    /// The file was written before there was a release.
    #[error("`{}` has version {found}, which was never released; only the prereg that made it reads it", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// The log beside a record is not its own.
    #[error("`{}` is not the log of `{}`, but another record's or an older one; put the right one in its place, or move it away to read the record as it was closed last", log.display(), record.display())]
    ForeignLog {
        /// The record.
        record: PathBuf,
        /// The log.
        log: PathBuf,
    },
    /// A file of the record is not where it was opened.
    #[error("`{}` was moved, deleted or replaced while it was open; nothing more is written to it", .0.display())]
    Moved(PathBuf),
    /// The record is not on a disk of this machine.
    #[error("`{}` is on {kind}, where writers cannot be kept apart; keep the record on a local disk (`--db`)", path.display())]
    NetworkFileSystem {
        /// The record.
        path: PathBuf,
        /// What its file system is called.
        kind: &'static str,
    },
    /// A record, or a file beside it, is written through a link.
    #[error("`{}` is a link, and nothing of a record is written through one; the file itself is `{}`", path.display(), file.display())]
    SymbolicLink {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        file: PathBuf,
    },
    /// The record can be reached by other names, whose writers would not see this one.
    #[error("`{}` has {names} names (hard links), and writers under different ones cannot be kept apart; copy it to a file of its own, or remove the other names", path.display())]
    SeveralNames {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        names: u64,
    },
    /// A file would be written over.
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
    /// A commit failed, and did not happen.
    #[error(
        "the last commit failed ({0}), and nothing of it is on the record; run the same command again"
    )]
    NotCommitted(rusqlite::Error),
    /// There is no space left.
    #[error(
        "no space is left for the record; what was to be written last is not on it: make room, and run the same command again"
    )]
    DiskFull,
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
    /// What was read could not be written where it was to go; the record has no part in that.
    #[error("what was read cannot be written: {0}")]
    Output(std::io::Error),
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {0}")]
    Random(std::io::Error),
    /// The system starts no more threads.
    #[error("the system starts no more threads: {0}")]
    Threads(std::io::Error),
    /// The database said no.
    #[error("the record cannot be used: {0}")]
    Storage(rusqlite::Error),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull,
            _ => Self::Storage(error),
        }
    }
}

impl Fault {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "record-not-found",
            Self::NotFile(_) => "not-file",
            Self::NotARecord(_) => "not-a-record",
            Self::Newer { .. } => "record-newer",
            Self::Published(divergence) => divergence.code.text(),
            Self::Older { .. } => "record-older",
            Self::ForeignLog { .. } => "foreign-log",
            Self::Moved(_) => "record-moved",
            Self::NetworkFileSystem { .. } => "network-file-system",
            Self::SymbolicLink { .. } => "record-link",
            Self::SeveralNames { .. } => "several-names",
            Self::Exists(_) => "file-exists",
            Self::SealedExport(_) => "sealed-export",
            Self::Row { .. } => "row-unreadable",
            Self::NotCommitted(_) => "not-committed",
            Self::DiskFull => "disk-full",
            Self::InDoubt(_) | Self::NotFlushed { .. } => "commit-in-doubt",
            Self::Lock { .. } => "record-lock",
            Self::File { .. } => "file",
            Self::Output(_) => "output",
            Self::Random(_) => "no-random-bytes",
            Self::Threads(_) => "no-threads",
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
