//! Reads the study's files, and lays them into workspaces that were not ours to trust.
//!
//! * [`file_digest`], [`tree_digest`] and [`copy_tree`] read what the study holds. Links and special
//!   files are faults there: what is registered must be all there is.
//! * [`lay`], [`put`], [`gather`], [`snapshot`], [`read_regular`] and [`remove_tree`] work in a workspace where a command could leave
//!   anything. They go from directory to directory by descriptor and never follow a link, so that
//!   nothing outside the workspace is read, written or removed, whoever is still at work in it.
//!
//! # The digest of a directory
//!
//! SHA-256 over one line for each regular file, the lines in ascending order of their bytes:
//!
//! ```text
//! x|-  path  NUL  sha256  LF
//! ```
//!
//! without the blanks: `x` when the owner may execute the file, else `-`; the path below the
//! directory, with `/`, in UTF-8; a zero byte; the file's SHA-256 in lower-case hexadecimal; a line
//! feed. It is the lines that are sorted and not the paths: all `-` come before all `x`.
//! Directories have no line, and one without files below it is not laid.

mod digest;
mod entry;
mod gather;
mod lines;
mod removal;
mod snapshot;
mod state;
#[cfg(test)]
mod tests;
mod workspace;

use std::io;
use std::path::{Path, PathBuf};

use crate::units::Bytes;

pub use digest::{copy_tree, file_digest, tree_digest};
pub use gather::gather;
pub use snapshot::snapshot;
pub use state::{State, state};
pub use workspace::{clear, lay, put, read_regular, remove_tree};

/// How many directories may stand in each other.
pub const DEPTH_MAX: usize = 64;

/// How many files and directories a directory of the study may hold.
pub const ENTRIES_MAX: usize = 100_000;

/// Returns how much space whoever runs this program may still fill where a folder is.
pub fn free_space(folder: &Path) -> io::Result<Bytes> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(Bytes(found.f_bavail.saturating_mul(found.f_frsize)))
}

/// Tells what is wrong with a file or directory.
#[derive(Debug, thiserror::Error)]
pub enum TreeFault {
    /// Nothing stands there.
    #[error("`{}` does not exist", path.display())]
    Missing {
        /// Where.
        path: PathBuf,
    },
    /// A symbolic link.
    #[error("`{}` is a link: only files and directories can be part of a study", path.display())]
    Link {
        /// Where.
        path: PathBuf,
    },
    /// A pipe, a socket or a device.
    #[error("`{}` is neither a file nor a directory", path.display())]
    Special {
        /// Where.
        path: PathBuf,
    },
    /// Something else where a file was expected.
    #[error("`{}` is not a file", path.display())]
    NotFile {
        /// Where.
        path: PathBuf,
    },
    /// Something else where a directory was expected.
    #[error("`{}` is not a directory", path.display())]
    NotDirectory {
        /// Where.
        path: PathBuf,
    },
    /// A directory that should hold nothing holds something.
    #[error("`{}` is not empty", path.display())]
    NotEmpty {
        /// Where.
        path: PathBuf,
    },
    /// A name that no protocol can write.
    #[error("the name of `{}` is not UTF-8", path.display())]
    NotUtf8 {
        /// Where.
        path: PathBuf,
    },
    /// More than [`ENTRIES_MAX`] files and directories.
    #[error("`{}` holds more than {ENTRIES_MAX} files and directories", path.display())]
    TooMany {
        /// The directory that was to be read.
        path: PathBuf,
    },
    /// Directories deeper than [`DEPTH_MAX`].
    #[error("`{}` stands more than {DEPTH_MAX} directories deep", path.display())]
    TooDeep {
        /// Where.
        path: PathBuf,
    },
    /// A file larger than may be read.
    #[error("`{}` is larger than {bytes_max} bytes", path.display())]
    TooLarge {
        /// Where.
        path: PathBuf,
        /// The limit.
        bytes_max: u64,
    },
    /// A path that could leave the workspace, or is written in a second way.
    #[error("`{}` is not a plain path inside a workspace: no `..`, no `.`, no `/` at the start, no empty name", path.display())]
    NotInside {
        /// As written.
        path: PathBuf,
    },
    /// Something that may not be read or changed.
    #[error("access to `{}` is denied", path.display())]
    Denied {
        /// Where.
        path: PathBuf,
    },
    /// The system refused.
    #[error("`{}` could not be used: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl TreeFault {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "file-missing",
            Self::Link { .. } => "link",
            Self::Special { .. } => "special-file",
            Self::NotFile { .. } => "not-a-file",
            Self::NotDirectory { .. } => "not-a-directory",
            Self::NotEmpty { .. } => "directory-not-empty",
            Self::NotUtf8 { .. } => "name-not-utf-8",
            Self::TooMany { .. } => "too-many-files",
            Self::TooDeep { .. } => "too-deep",
            Self::TooLarge { .. } => "file-too-large",
            Self::NotInside { .. } => "path-not-inside",
            Self::Denied { .. } => "access-denied",
            Self::Io { .. } => "file-fault",
        }
    }
}
