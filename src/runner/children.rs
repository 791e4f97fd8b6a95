//! Who is being executed: one small file a worker, overwritten in place.
//!
//! This is no evidence and not part of the record. It lets the session after one that was killed
//! end what is still alive, if it can be proved to be ours, before it goes on.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::process::{Orphan, ProcessIdentity, end_orphan};

/// The length of what is written: shorter texts are padded, so that nothing old remains behind.
const LENGTH: usize = 256;
/// How the files are called.
const PREFIX: &str = "worker-";

/// Where a worker notes whom it executes.
#[derive(Debug)]
pub struct Note {
    path: PathBuf,
    file: File,
}

impl Note {
    /// Opens a worker's note.
    pub fn open(folder: &Path, worker: usize) -> io::Result<Self> {
        let path = folder.join(format!("{PREFIX}{worker}"));
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)?;
        Ok(Self { path, file })
    }

    /// Notes who is being executed.
    pub fn write(&self, identity: &ProcessIdentity) -> io::Result<()> {
        let mut text = serde_json::to_vec(identity)?;
        text.resize(LENGTH, b' ');
        self.file.write_all_at(&text, 0)
    }

    /// Removes the note: nobody is being executed any more.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(self.path)
    }
}

/// Ends everything that an earlier session noted and that is provably still it.
///
/// Returns what became of each.
pub fn end_orphans(folder: &Path) -> io::Result<Vec<Orphan>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // A note that was never written names nobody.
        if let Ok(identity) = serde_json::from_slice::<ProcessIdentity>(&fs::read(entry.path())?) {
            found.push(end_orphan(&identity));
        }
        fs::remove_file(entry.path())?;
    }
    Ok(found)
}
