//! What the checker may ask of the world: the files beside the protocol, by relative path.

use crate::units::Digest;

use super::defect::Code;

/// The folder that a protocol file stands in.
///
/// The protocol room reads no files; whoever calls it lends it a folder: the real one, or one that
/// a test made up.
pub trait Folder {
    /// Returns a file's bytes, at most `max` of them; refuses larger and special files.
    fn read(&self, path: &str, max: usize) -> Result<Vec<u8>, FolderFault>;

    /// Returns the digest of a file, or of a directory's sorted list of files.
    fn digest(&self, path: &str) -> Result<Digest, FolderFault>;

    /// Returns whether a file may be executed by its owner; refuses what is not a regular file.
    fn executable(&self, path: &str) -> Result<bool, FolderFault>;
}

/// Why something in the folder could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFault {
    /// `not-found`, `not-file`, `unreadable`, `too-large` or `path`.
    pub code: Code,
    /// One plain sentence.
    pub message: String,
}
