//! Removes directories that someone hostile has filled: any depth, any mode, any kind of entry.

use std::collections::VecDeque;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::renameat;
use rustix::io::Errno;

use super::TreeFault;
use super::entry::{Entry, Kind, names};

/// How often a directory is emptied while someone fills it again.
const PASSES_MAX: usize = 8;

/// Removes whatever stands at an entry. Removes links, never what they lead to.
pub(super) fn remove(entry: Entry<'_>) -> Result<(), TreeFault> {
    match entry.kind()? {
        None => Ok(()),
        Some(Kind::Directory) => remove_directory(entry),
        Some(_) => absent_is_fine(entry.unlink()),
    }
}

fn remove_directory(entry: Entry<'_>) -> Result<(), TreeFault> {
    for _ in 0..PASSES_MAX {
        match entry.remove_empty_directory() {
            Ok(true) | Err(TreeFault::Missing { .. }) => return Ok(()),
            Ok(false) => {}
            Err(fault) => return Err(fault),
        }
        let directory = entry.open_directory_to_change()?;
        Emptying {
            root: &directory,
            shown: entry.shown,
            moves: 0,
        }
        .run()?;
    }
    if entry.remove_empty_directory()? {
        return Ok(());
    }
    Err(TreeFault::NotEmpty {
        path: entry.shown.to_path_buf(),
    })
}

/// Empties one directory with two descriptors and no recursion, however deep it is: directories
/// that are not empty are moved up into it, each of them once, and emptied there.
struct Emptying<'a> {
    root: &'a OwnedFd,
    shown: &'a Path,
    moves: u64,
}

impl Emptying<'_> {
    fn run(&mut self) -> Result<(), TreeFault> {
        let (root, shown) = (self.root, self.shown);
        let mut queue = VecDeque::from(self.names(root)?);
        while let Some(name) = queue.pop_front() {
            let entry = entry(root, &name, shown);
            if is_removed(entry)? {
                continue;
            }
            let directory = match entry.open_directory_to_change() {
                Ok(directory) => directory,
                // Someone else is at work here: the next pass sees what there is by then.
                Err(TreeFault::Missing { .. } | TreeFault::Link { .. }) => continue,
                Err(fault) => return Err(fault),
            };
            for inner in self.names(&directory)? {
                if !is_removed(self::entry(&directory, &inner, shown))? {
                    queue.extend(self.move_up(&directory, &inner)?);
                }
            }
            absent_is_fine(entry.remove_empty_directory().map(|_| ()))?;
        }
        Ok(())
    }

    /// Moves a directory into the root and returns its new name. Returns nothing when it is gone.
    fn move_up(&mut self, from: &OwnedFd, name: &CString) -> Result<Option<CString>, TreeFault> {
        let entry = entry(from, name, self.shown);
        // Its entry for the parent changes with the move, which takes the right to write.
        match entry.open_directory_to_change() {
            Ok(_) => {}
            Err(TreeFault::Missing { .. } | TreeFault::Link { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        }
        loop {
            self.moves += 1;
            // Digits and a point: no name with an inner zero byte.
            let free = CString::new(format!(".{}", self.moves)).unwrap_or_default();
            match renameat(from, name, self.root, &free) {
                Ok(()) => return Ok(Some(free)),
                Err(Errno::NOENT) => return Ok(None),
                // Someone has used that name.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => {}
                Err(errno) => return Err(entry.fault(errno)),
            }
        }
    }

    fn names(&self, directory: &OwnedFd) -> Result<Vec<CString>, TreeFault> {
        let entry = Entry {
            parent: directory.as_fd(),
            name: self.shown,
            shown: self.shown,
        };
        names(directory, usize::MAX).map_err(|errno| entry.fault(errno))
    }
}

fn entry<'a>(parent: &'a OwnedFd, name: &'a CString, shown: &'a Path) -> Entry<'a> {
    Entry {
        parent: parent.as_fd(),
        name: Path::new(OsStr::from_bytes(name.to_bytes())),
        shown,
    }
}

/// Removes an entry unless it is a directory that is not empty.
fn is_removed(entry: Entry<'_>) -> Result<bool, TreeFault> {
    match entry.kind()? {
        None => Ok(true),
        Some(Kind::Directory) => match entry.remove_empty_directory() {
            Err(TreeFault::Missing { .. }) => Ok(true),
            removed => removed,
        },
        Some(_) => absent_is_fine(entry.unlink()).map(|()| true),
    }
}

fn absent_is_fine(removed: Result<(), TreeFault>) -> Result<(), TreeFault> {
    match removed {
        Err(TreeFault::Missing { .. }) => Ok(()),
        removed => removed,
    }
}
