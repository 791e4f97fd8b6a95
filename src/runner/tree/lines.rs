//! The lines by which what stands in a folder is digested.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use crate::units::Digest;

/// Lines, one an entry: what it is, its path, a zero byte, its digest, a line feed.
#[derive(Debug, Default)]
pub(super) struct Lines(Vec<Vec<u8>>);

impl Lines {
    /// Adds the line of an entry.
    pub(super) fn add(&mut self, kind: u8, path: &Path, digest: &[u8]) {
        let mut line = vec![kind];
        line.extend(path.as_os_str().as_bytes());
        line.push(0);
        line.extend(digest);
        line.push(b'\n');
        self.0.push(line);
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the digest of the lines, sorted by their bytes.
    pub(super) fn digest(mut self) -> Digest {
        self.0.sort_unstable();
        let mut hasher = Sha256::new();
        for line in &self.0 {
            hasher.update(line);
        }
        Digest(hasher.finalize().into())
    }
}
