//! Digests of files and directories, and copies that are digested while they are made.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::entry::{Entry, Kind, names};
use super::{DEPTH_MAX, ENTRIES_MAX, TreeFault};

/// Returns the SHA-256 of a regular file. Refuses links and special files.
pub fn file_digest(path: &Path) -> Result<[u8; 32], TreeFault> {
    let from = Entry::at(path);
    let (mut file, _) = from.open_file()?;
    pump(&mut file, &mut vec![0; BUFFER_BYTES], |_| Ok(())).map_err(|error| from.io(error))
}

/// Returns the digest of a directory, as the module describes it.
///
/// Refuses links, special files, names that are not UTF-8, and directories beyond [`DEPTH_MAX`] or
/// [`ENTRIES_MAX`]. The path itself may not be a link either, but its parents may.
pub fn tree_digest(path: &Path) -> Result<[u8; 32], TreeFault> {
    let directory = Entry::at(path).open_directory()?;
    walk(path, &directory, None)
}

/// Copies a directory into an existing empty one and returns the digest of what was copied.
///
/// Refuses what [`tree_digest`] refuses. Files become 0644 or, executable, 0755; directories 0755.
/// After a fault the copy is incomplete.
pub fn copy_tree(from: &Path, to: &Path) -> Result<[u8; 32], TreeFault> {
    let source = Entry::at(from).open_directory()?;
    let to_entry = Entry::at(to);
    let target = to_entry.open_directory()?;
    if !names(&target, 0)
        .map_err(|errno| to_entry.fault(errno))?
        .is_empty()
    {
        return Err(TreeFault::NotEmpty {
            path: to.to_path_buf(),
        });
    }
    walk(from, &source, Some((to, &target)))
}

/// Digests an open directory and, when there is a target, copies it there.
pub(super) fn walk(
    root: &Path,
    from: &OwnedFd,
    to: Option<(&Path, &OwnedFd)>,
) -> Result<[u8; 32], TreeFault> {
    let mut walk = Walk {
        root,
        entries: 0,
        lines: Vec::new(),
        buffer: vec![0; BUFFER_BYTES],
    };
    let to = to.map(|(path, directory)| Target {
        path: path.to_path_buf(),
        directory,
    });
    walk.directory(root, from, to.as_ref(), "", 1)?;
    Ok(walk.digest())
}

/// Copies an open file into a new one and returns the digest of what was copied.
pub(super) fn copy_file(
    from: (&Entry<'_>, &mut File),
    to: (&Entry<'_>, &mut File),
    buffer: &mut [u8],
) -> Result<[u8; 32], TreeFault> {
    let mut write_fault = None;
    let digest = pump(from.1, buffer, |bytes| {
        to.1.write_all(bytes).map_err(|error| {
            // Kept apart, so that the fault names the file that could not be written.
            write_fault = Some(error);
            io::ErrorKind::Other.into()
        })
    });
    match write_fault {
        Some(fault) => Err(to.0.io(fault)),
        None => digest.map_err(|error| from.0.io(error)),
    }
}

/// Enough for a file to be few reads.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// Hashes a file to its end and hands every piece on.
fn pump(
    file: &mut File,
    buffer: &mut [u8],
    mut sink: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(hasher.finalize().into()),
            Ok(length) => {
                hasher.update(&buffer[..length]);
                sink(&buffer[..length])?;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

struct Walk<'a> {
    root: &'a Path,
    entries: usize,
    lines: Vec<Vec<u8>>,
    buffer: Vec<u8>,
}

/// A directory that is copied into.
struct Target<'a> {
    path: PathBuf,
    directory: &'a OwnedFd,
}

impl Walk<'_> {
    /// Visits a directory. `below` is its path below the root, with a slash at the end.
    fn directory(
        &mut self,
        path: &Path,
        directory: &OwnedFd,
        target: Option<&Target<'_>>,
        below: &str,
        depth: usize,
    ) -> Result<(), TreeFault> {
        let here = Entry {
            parent: directory.as_fd(),
            name: path,
            shown: path,
        };
        let left = ENTRIES_MAX - self.entries;
        let found = names(directory, left).map_err(|errno| here.fault(errno))?;
        if found.len() > left {
            return Err(TreeFault::TooMany {
                path: self.root.to_path_buf(),
            });
        }
        self.entries += found.len();
        for name in found {
            let name = Path::new(OsStr::from_bytes(name.to_bytes()));
            let shown = path.join(name);
            let Some(text) = name.to_str() else {
                return Err(TreeFault::NotUtf8 { path: shown });
            };
            let entry = Entry {
                parent: directory.as_fd(),
                name,
                shown: &shown,
            };
            let below = format!("{below}{text}");
            match entry.kind()? {
                Some(Kind::Directory) => self.subdirectory(entry, target, below, depth)?,
                _ => self.file(entry, target, &below)?,
            }
        }
        Ok(())
    }

    fn subdirectory(
        &mut self,
        entry: Entry<'_>,
        target: Option<&Target<'_>>,
        below: String,
        depth: usize,
    ) -> Result<(), TreeFault> {
        if depth >= DEPTH_MAX {
            return Err(TreeFault::TooDeep {
                path: entry.shown.to_path_buf(),
            });
        }
        let directory = entry.open_directory()?;
        let below = below + "/";
        let Some(target) = target else {
            return self.directory(entry.shown, &directory, None, &below, depth + 1);
        };
        let path = target.path.join(entry.name);
        let parent = target.directory.as_fd();
        let to = Entry {
            parent,
            name: entry.name,
            shown: &path,
        };
        let created = to.create_directory()?;
        let target = Target {
            path: path.clone(),
            directory: &created,
        };
        let files = self.lines.len();
        self.directory(entry.shown, &directory, Some(&target), &below, depth + 1)?;
        if self.lines.len() == files {
            // No line of the digest tells of it: nothing that is not registered is laid.
            to.remove_empty_directory()?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        entry: Entry<'_>,
        target: Option<&Target<'_>>,
        below: &str,
    ) -> Result<(), TreeFault> {
        let (mut file, executable) = entry.open_file()?;
        let digest = match target {
            None => {
                pump(&mut file, &mut self.buffer, |_| Ok(())).map_err(|error| entry.io(error))?
            }
            Some(target) => {
                let path = target.path.join(entry.name);
                let parent = target.directory.as_fd();
                let to = Entry {
                    parent,
                    name: entry.name,
                    shown: &path,
                };
                let mut created = to.create_file(executable)?;
                copy_file((&entry, &mut file), (&to, &mut created), &mut self.buffer)?
            }
        };
        self.lines.push(line(executable, below, &digest));
        Ok(())
    }

    fn digest(mut self) -> [u8; 32] {
        self.lines.sort_unstable();
        let mut hasher = Sha256::new();
        self.lines.iter().for_each(|line| hasher.update(line));
        hasher.finalize().into()
    }
}

fn line(executable: bool, path: &str, digest: &[u8; 32]) -> Vec<u8> {
    let flag = if executable { "x" } else { "-" };
    [flag, path, "\0", &HEXLOWER.encode(digest), "\n"]
        .concat()
        .into_bytes()
}
