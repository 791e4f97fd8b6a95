//! Files in a workspace that a hostile process has written to, and may still be writing to.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use super::TreeFault;
use super::digest::{BUFFER_BYTES, copy_file, walk};
use super::entry::{Entry, Kind};
use super::removal::remove;

/// Lays a file or a directory at the relative path `to` of a workspace, and returns its digest.
///
/// Whatever stands there is removed first; a parent that is not a real directory is replaced by
/// one. A `to` with a slash at its end takes a directory only. Refuses a `to` that is absolute or
/// has an empty name, `.` or `..`, and a `from` that [`super::tree_digest`] or
/// [`super::file_digest`] refuses. After a fault what stands there is incomplete.
pub fn lay(from: &Path, workspace: &Path, to: &str) -> Result<[u8; 32], TreeFault> {
    let (parents, name) = components(to.strip_suffix('/').unwrap_or(to))?;
    let source = Entry::at(from);
    let is_directory = match source.kind()? {
        Some(Kind::Directory) => true,
        None => {
            return Err(TreeFault::Missing {
                path: from.to_path_buf(),
            });
        }
        _ if to.ends_with('/') => {
            return Err(TreeFault::NotDirectory {
                path: from.to_path_buf(),
            });
        }
        _ => false,
    };
    // The source is opened before anything is removed.
    if is_directory {
        let directory = source.open_directory()?;
        let place = Place::prepare(workspace, &parents, name)?;
        let created = place.entry().create_directory()?;
        return walk(from, &directory, Some((&place.shown, &created)));
    }
    let (mut file, executable) = source.open_file()?;
    let place = Place::prepare(workspace, &parents, name)?;
    let mut created = place.entry().create_file(executable)?;
    let mut buffer = vec![0; BUFFER_BYTES];
    copy_file(
        (&source, &mut file),
        (&place.entry(), &mut created),
        &mut buffer,
    )
}

/// Removes whatever stands at the relative path `to` of a workspace, and makes the way to it.
pub fn clear(workspace: &Path, to: &str) -> Result<(), TreeFault> {
    let (parents, name) = components(to.strip_suffix('/').unwrap_or(to))?;
    Place::prepare(workspace, &parents, name).map(drop)
}

/// Returns the bytes of a regular file that a hostile process may have written; nothing if absent.
///
/// Refuses links anywhere below the workspace, everything but regular files, and files larger than
/// `bytes_max`. Never waits for anybody. A hard link is a file like any other.
pub fn read_regular(
    workspace: &Path,
    relative: &str,
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, TreeFault> {
    let (parents, name) = components(relative)?;
    let root = Entry::at(workspace).open_directory()?;
    let (parent, mut shown) = match descend(root, workspace, &parents) {
        Err(TreeFault::Missing { .. }) => return Ok(None),
        found => found?,
    };
    shown.push(name);
    let entry = Entry {
        parent: parent.as_fd(),
        name: Path::new(name),
        shown: &shown,
    };
    let (file, _) = match entry.open_file() {
        Err(TreeFault::Missing { .. }) => return Ok(None),
        opened => opened?,
    };
    let mut bytes = Vec::new();
    // The size it claims proves nothing, so one byte more than allowed is asked for.
    let asked = bytes_max.saturating_add(1);
    file.take(asked)
        .read_to_end(&mut bytes)
        .map_err(|error| entry.io(error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(TreeFault::TooLarge {
            path: shown,
            bytes_max,
        });
    }
    Ok(Some(bytes))
}

/// Puts a regular file of these bytes at the relative path `to`, whole or not at all, in the place of
/// the file, link or special file that stands there; what stood there is not written to.
///
/// Refuses a directory there, and links and what is missing on the way to it.
pub fn put(folder: &Path, to: &str, bytes: &[u8]) -> Result<(), TreeFault> {
    let (parents, name) = components(to)?;
    let root = Entry::at(folder).open_directory()?;
    let (parent, shown) = descend(root, folder, &parents)?;
    let entry = |name, shown| Entry {
        parent: parent.as_fd(),
        name,
        shown,
    };
    let fresh = PathBuf::from(format!(".{name}.{}.tmp", std::process::id()));
    let (place, fresh_place) = (shown.join(name), shown.join(&fresh));
    let fresh = entry(&fresh, &fresh_place);
    match fresh.unlink() {
        Ok(()) | Err(TreeFault::Missing { .. }) => {}
        Err(fault) => return Err(fault),
    }
    let mut file = fresh.create_file(false)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    let put = written
        .map_err(|error| fresh.io(error))
        .and_then(|()| fresh.replace(&entry(Path::new(name), &place)));
    if put.is_err() {
        // Of no use to anybody; the fault is what is told.
        let _ = fresh.unlink();
    }
    put
}

/// Goes from an open directory down to another, through directories only; returns it with its path.
fn descend(from: OwnedFd, shown: &Path, names: &[&str]) -> Result<(OwnedFd, PathBuf), TreeFault> {
    let (mut parent, mut shown) = (from, shown.to_path_buf());
    for name in names {
        shown.push(name);
        let entry = Entry {
            parent: parent.as_fd(),
            name: Path::new(name),
            shown: &shown,
        };
        parent = entry.open_directory()?;
    }
    Ok((parent, shown))
}

/// Removes a directory and all it holds, however deep and whatever its modes. Absent is fine.
///
/// Refuses a path that is not a directory. Its parents may be links, nothing below is followed.
pub fn remove_tree(path: &Path) -> Result<(), TreeFault> {
    let entry = Entry::at(path);
    match entry.kind()? {
        None => Ok(()),
        Some(Kind::Directory) => remove(entry),
        Some(Kind::Link) => Err(TreeFault::Link {
            path: path.to_path_buf(),
        }),
        Some(_) => Err(TreeFault::NotDirectory {
            path: path.to_path_buf(),
        }),
    }
}

/// A free name in a real directory of a workspace.
struct Place<'a> {
    parent: OwnedFd,
    name: &'a Path,
    shown: PathBuf,
}

impl<'a> Place<'a> {
    /// Makes the way to a name and removes what stands there.
    fn prepare(workspace: &Path, parents: &[&str], name: &'a str) -> Result<Self, TreeFault> {
        let mut parent = Entry::at(workspace).open_directory_to_change()?;
        let mut shown = workspace.to_path_buf();
        for component in parents {
            shown.push(component);
            let name = Path::new(component);
            parent = enter(Entry {
                parent: parent.as_fd(),
                name,
                shown: &shown,
            })?;
        }
        shown.push(name);
        let place = Self {
            parent,
            name: Path::new(name),
            shown,
        };
        remove(place.entry())?;
        Ok(place)
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            parent: self.parent.as_fd(),
            name: self.name,
            shown: &self.shown,
        }
    }
}

/// Opens the directory at an entry; puts one there if there is none.
fn enter(entry: Entry<'_>) -> Result<OwnedFd, TreeFault> {
    match entry.kind()? {
        Some(Kind::Directory) => entry.open_directory_to_change(),
        Some(_) => entry.unlink().and_then(|()| entry.create_directory()),
        None => entry.create_directory(),
    }
}

/// Splits a relative path into its parents and its name.
fn components(path: &str) -> Result<(Vec<&str>, &str), TreeFault> {
    let mut names: Vec<&str> = path.split('/').collect();
    let is_plain = |name: &&str| !matches!(*name, "" | "." | "..") && !name.contains('\0');
    match names.pop() {
        Some(last) if names.iter().chain([&last]).all(is_plain) => Ok((names, last)),
        _ => Err(TreeFault::NotInside {
            path: PathBuf::from(path),
        }),
    }
}
