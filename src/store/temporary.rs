//! A file that is there whole or not at all: made under a name of this process alone, which goes with it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::{Fault, JOURNAL, LOG, Result, SHARED, beside, folder_of};

/// What ends the name of a file that is half made; before it stands the process that makes it.
const TEMPORARY: &str = ".prereg-tmp";
/// What SQLite may leave beside a database.
const BESIDE: [&str; 3] = [LOG, SHARED, JOURNAL];

/// A file that is not whole yet: locked, and under a name of this process.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    /// Begins a file beside the place that it will have.
    pub fn begin(place: &Path) -> Result<Self> {
        sweep(place);
        let path = beside(place, &format!(".{}{TEMPORARY}", std::process::id()));
        let fault = |source| Fault::file(place, source);
        // Made here, so that it is nobody else's, and locked, so that nobody sweeps it.
        let file = File::create_new(&path).map_err(fault)?;
        // Where files have no locks, nobody sweeps either.
        let _ = file.lock();
        if !is_same(&file, &path) {
            let swept =
                "another process took it for one that was left behind; run the same command again";
            return Err(Fault::file(&path, io::Error::other(swept)));
        }
        Ok(Self { path, file })
    }

    /// Returns where it is until it is whole.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives it its place, once all of it is on the disk; refuses one that is taken.
    pub fn take_place(&self, place: &Path) -> Result<()> {
        let fault = |source: io::Error| match source {
            taken if taken.kind() == io::ErrorKind::AlreadyExists => {
                Fault::Exists(place.to_owned())
            }
            other => Fault::file(place, other),
        };
        self.file.sync_all().map_err(fault)?;
        move_to(&self.path, place).map_err(fault)?;
        let folder = File::open(folder_of(place)).map_err(fault)?;
        folder.sync_all().map_err(fault)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Whole, it has its own name now; half made, it is of no use to anybody.
        if is_same(&self.file, &self.path) {
            remove(&self.path);
        }
    }
}

/// Moves a file to a place where nothing stands, also when something came there a moment ago.
fn move_to(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system cannot: a link does not take the place of anything either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        moved => Ok(moved?),
    }
}

/// Returns whether a file still stands at a path.
fn is_same(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |found: std::fs::Metadata| (found.dev(), found.ino());
    let (held, there) = (file.metadata().ok(), path.symlink_metadata().ok());
    held.is_some() && held.map(identity) == there.map(identity)
}

/// Removes a file that was half made, and what SQLite left beside it.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    for suffix in BESIDE {
        let _ = std::fs::remove_file(beside(path, suffix));
    }
}

/// Removes what was left of files for the same place by processes that were killed: nobody holds its lock any more.
///
/// What cannot be removed is only of no use.
fn sweep(place: &Path) {
    let Ok(found) = std::fs::read_dir(folder_of(place)) else {
        return;
    };
    for left in found.flatten() {
        let is_file = left.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !is_temporary(&left.file_name(), place) {
            continue;
        }
        let path = left.path();
        if let Ok(file) = File::open(&path)
            && file.try_lock().is_ok()
        {
            // Locked until it is gone: whoever makes one anew looks whether it still stands.
            remove(&path);
        }
    }
}

/// Returns whether a name is one that a file for a place has until it is whole.
fn is_temporary(name: &OsStr, place: &Path) -> bool {
    let own = place.file_name().unwrap_or_default().as_encoded_bytes();
    let rest = name.as_encoded_bytes().strip_prefix(own);
    let rest = rest.and_then(|rest| rest.strip_prefix(b"."));
    let process = rest.and_then(|rest| rest.strip_suffix(TEMPORARY.as_bytes()));
    process.is_some_and(|process| !process.is_empty() && process.iter().all(u8::is_ascii_digit))
}
