//! Copies of the files of a workspace that patterns name, whatever a hostile process has put there.
//!
//! Directories are gone through by descriptor; nothing is followed or waited for, and no more is read
//! than may be kept, whatever a file claims to hold.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};

use super::digest::BUFFER_BYTES;
use super::entry::{Entry, Kind, names};
use super::{DEPTH_MAX, ENTRIES_MAX, TreeFault};
use crate::engine::artefacts::{Artefact, Artefacts, BYTES_MAX, FILES_MAX, LeftOut, PATH_MAX};
use crate::protocol::model::Retain;
use crate::protocol::pattern::Pattern;
use crate::units::Digest;

/// What a file is called until its digest is known.
const UNNAMED: &str = "unnamed";

/// Copies the files below a workspace that one of some patterns names into an existing folder, each
/// called by its digest; without a folder they are only digested.
///
/// Only what cannot be written is a fault.
pub fn gather(
    workspace: &Path,
    patterns: &[Pattern],
    retain: Retain,
    to: Option<&Path>,
) -> Result<Artefacts, TreeFault> {
    let store = to.map(|to| Ok((to, Entry::at(to).open_directory()?)));
    let mut gathering = Gathering {
        patterns,
        store: store.transpose()?,
        found: Artefacts {
            retain,
            files: Vec::new(),
            left_out: Default::default(),
        },
        looks: ENTRIES_MAX,
        bytes: BYTES_MAX,
        buffer: vec![0; BUFFER_BYTES],
    };
    if let Ok(root) = Entry::at(workspace).open_directory() {
        gathering.directory(&root, "", 1)?;
    }
    Ok(gathering.found)
}

struct Gathering<'a> {
    patterns: &'a [Pattern],
    store: Option<(&'a Path, OwnedFd)>,
    found: Artefacts,
    /// How many more entries are looked at.
    looks: usize,
    /// How many more bytes may be kept.
    bytes: u64,
    buffer: Vec<u8>,
}

impl Gathering<'_> {
    fn directory(
        &mut self,
        directory: &OwnedFd,
        below: &str,
        depth: usize,
    ) -> Result<(), TreeFault> {
        let Ok(mut found) = names(directory, self.looks) else {
            self.found.leave_out(LeftOut::Unreadable);
            return Ok(());
        };
        found.sort_unstable();
        for name in found {
            if self.looks == 0 {
                self.found.leave_out(LeftOut::TooMany);
                return Ok(());
            }
            self.looks -= 1;
            let name = Path::new(OsStr::from_bytes(name.to_bytes()));
            let Some(text) = name.to_str() else {
                self.found.leave_out(LeftOut::Name);
                continue;
            };
            let path = format!("{below}{text}");
            let entry = Entry {
                parent: directory.as_fd(),
                name,
                shown: name,
            };
            if let Ok(Some(Kind::Directory)) = entry.kind() {
                match entry.open_directory() {
                    Ok(inner) if depth < DEPTH_MAX => {
                        self.directory(&inner, &format!("{path}/"), depth + 1)?;
                    }
                    Ok(_) => self.found.leave_out(LeftOut::TooMany),
                    Err(_) => self.found.leave_out(LeftOut::Unreadable),
                }
            } else if self.patterns.iter().any(|pattern| pattern.matches(&path)) {
                self.file(&entry, path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, entry: &Entry<'_>, path: String) -> Result<(), TreeFault> {
        let kept = match self.open(entry, &path) {
            Ok(file) => self.keep(file)?,
            Err(why) => Err(why),
        };
        match kept {
            Ok((bytes, digest)) => {
                self.bytes -= bytes;
                self.found.files.push(Artefact {
                    path,
                    bytes,
                    digest,
                });
            }
            Err(why) => self.found.leave_out(why),
        }
        Ok(())
    }

    /// Opens a file that may be kept, or says why it may not.
    fn open(&self, entry: &Entry<'_>, path: &str) -> Result<File, LeftOut> {
        if path.len() > PATH_MAX {
            return Err(LeftOut::Name);
        }
        if self.found.files.len() >= FILES_MAX {
            return Err(LeftOut::TooMany);
        }
        let (file, _) = entry.open_file().map_err(|fault| match fault {
            TreeFault::Link { .. } => LeftOut::Link,
            TreeFault::Special { .. } => LeftOut::Special,
            _ => LeftOut::Unreadable,
        })?;
        let found = file.metadata().map_err(|_| LeftOut::Unreadable)?;
        match (found.nlink(), found.len() > self.bytes) {
            (_, true) => Err(LeftOut::TooLarge),
            // What has another name could stand anywhere; what has none is gone already.
            (1, _) => Ok(file),
            _ => Err(LeftOut::HardLink),
        }
    }

    /// Reads a file to its end and stores what it holds; says why it is not kept, if it is not.
    fn keep(&mut self, mut file: File) -> Result<Result<(u64, Digest), LeftOut>, TreeFault> {
        let store = self.store.as_ref();
        let mut stored = store.map(Stored::begin).transpose()?;
        let mut hasher = Sha256::new();
        let mut bytes = 0;
        let read = loop {
            match file.read(&mut self.buffer) {
                Ok(0) => break Ok(()),
                // It grows while it is read, or claims less than it holds.
                Ok(length) if length as u64 > self.bytes - bytes => break Err(LeftOut::TooLarge),
                Ok(length) => {
                    bytes += length as u64;
                    hasher.update(&self.buffer[..length]);
                    if let Some(stored) = &mut stored {
                        stored.write(&self.buffer[..length])?;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break Err(LeftOut::Unreadable),
            }
        };
        let digest = Digest(hasher.finalize().into());
        if let Some(stored) = stored {
            stored.end(read.is_ok().then_some(digest))?;
        }
        Ok(read.map(|()| (bytes, digest)))
    }
}

/// A file that is being stored.
struct Stored<'a> {
    folder: &'a OwnedFd,
    shown: &'a Path,
    file: File,
}

impl<'a> Stored<'a> {
    fn begin((shown, folder): &'a (&'a Path, OwnedFd)) -> Result<Self, TreeFault> {
        let entry = |name| Entry {
            parent: folder.as_fd(),
            name: Path::new(name),
            shown,
        };
        let file = entry(UNNAMED).create_file(false)?;
        Ok(Self {
            folder,
            shown,
            file,
        })
    }

    fn entry<'n>(&'n self, name: &'n str) -> Entry<'n> {
        Entry {
            parent: self.folder.as_fd(),
            name: Path::new(name),
            shown: self.shown,
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TreeFault> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| self.entry(UNNAMED).io(error))
    }

    /// Calls the file by its digest, or removes it.
    fn end(self, digest: Option<Digest>) -> Result<(), TreeFault> {
        let unnamed = self.entry(UNNAMED);
        match digest {
            Some(digest) => unnamed.replace(&self.entry(&HEXLOWER.encode(&digest.0))),
            None => unnamed.unlink(),
        }
    }
}
