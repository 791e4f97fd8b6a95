//! A copy of a workspace that a hostile process has filled, made when nothing of it should be left.
//!
//! It shares nothing with what it was made of: no link leads back, no file has two names. Modes and
//! times are kept, as builds go by them; pipes, sockets, devices and what cannot be read are not copied.

use std::ffi::OsStr;
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{readlinkat, symlinkat};
use sha2::{Digest as _, Sha256};

use super::digest::BUFFER_BYTES;
use super::entry::{Entry, Kind, names};
use super::lines::Lines;
use super::state::BYTES_MAX;
use super::{DEPTH_MAX, ENTRIES_MAX, TreeFault};
use crate::units::Digest;

/// The bits of a mode that are kept: nobody becomes somebody else by a copy.
const MODE: u32 = 0o777;

/// Copies a folder into an existing empty one. Returns the digest of what was copied, as
/// [`super::state`] gives it; none where that is more than is read. Only what cannot be written is a
/// fault.
pub fn snapshot(from: &Path, to: &Path) -> Result<Option<Digest>, TreeFault> {
    let Ok(source) = Entry::at(from).open_directory() else {
        return Ok(None);
    };
    let target = Entry::at(to).open_directory()?;
    let mut copying = Copying {
        lines: Lines::default(),
        left: BYTES_MAX,
        is_whole: true,
        buffer: vec![0; BUFFER_BYTES],
    };
    copying.fill([&source, &target], to, Path::new(""), 0)?;
    Ok(copying.is_whole.then(|| copying.lines.digest()))
}

struct Copying {
    lines: Lines,
    /// How many bytes may still be copied.
    left: u64,
    is_whole: bool,
    buffer: Vec<u8>,
}

impl Copying {
    /// Copies what stands in a folder; `shown` is the path of the copy, `below` that inside of it.
    fn fill(
        &mut self,
        [from, to]: [&OwnedFd; 2],
        shown: &Path,
        below: &Path,
        depth: usize,
    ) -> Result<(), TreeFault> {
        let Ok(found) = names(from, ENTRIES_MAX) else {
            self.lines.add(b's', below, &[]);
            return Ok(());
        };
        for name in found {
            if self.lines.len() >= ENTRIES_MAX || depth >= DEPTH_MAX {
                self.is_whole = false;
                return Ok(());
            }
            let name = Path::new(OsStr::from_bytes(name.to_bytes()));
            let (shown, below) = (shown.join(name), below.join(name));
            let entry = |parent, shown| Entry {
                parent,
                name,
                shown,
            };
            let pair = [entry(from.as_fd(), &below), entry(to.as_fd(), &shown)];
            match pair[0].kind() {
                Ok(Some(Kind::Directory)) => self.directory(pair, depth)?,
                Ok(Some(Kind::Link)) => self.link(pair)?,
                Ok(Some(Kind::File)) => self.file(pair)?,
                _ => self.lines.add(b's', &below, &[]),
            }
        }
        Ok(())
    }

    fn directory(&mut self, [from, to]: [Entry<'_>; 2], depth: usize) -> Result<(), TreeFault> {
        let Ok(source) = from.open_directory() else {
            self.lines.add(b's', from.shown, &[]);
            return Ok(());
        };
        let target = to.create_directory()?;
        self.fill([&source, &target], to.shown, from.shown, depth + 1)?;
        // After what was put there: a folder may be closed to its owner, and is changed by it.
        let source = File::from(source);
        match source.metadata() {
            Ok(found) => dress(&File::from(target), &found).map_err(|error| to.io(error)),
            Err(_) => Ok(()),
        }
    }

    fn link(&mut self, [from, to]: [Entry<'_>; 2]) -> Result<(), TreeFault> {
        let leads = readlinkat(from.parent, from.name, Vec::new()).unwrap_or_default();
        self.lines
            .add(b'l', from.shown, &Digest::of(&[leads.to_bytes()]).0);
        let leads = PathBuf::from(OsStr::from_bytes(leads.to_bytes()));
        symlinkat(leads, to.parent, to.name).map_err(|errno| to.fault(errno))
    }

    fn file(&mut self, [from, to]: [Entry<'_>; 2]) -> Result<(), TreeFault> {
        let opened = from.open_file().and_then(|(file, executable)| {
            let found = file.metadata().map_err(|error| from.io(error))?;
            Ok((file, executable, found))
        });
        let Ok((mut source, executable, found)) = opened else {
            self.lines.add(b's', from.shown, &[]);
            return Ok(());
        };
        let mut target = to.create_file(executable)?;
        let mut hasher = Sha256::new();
        loop {
            match source.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(length) if length as u64 > self.left => {
                    self.is_whole = false;
                    return Ok(());
                }
                Ok(length) => {
                    self.left -= length as u64;
                    hasher.update(&self.buffer[..length]);
                    let written = target.write_all(&self.buffer[..length]);
                    written.map_err(|error| to.io(error))?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.lines.add(b's', from.shown, &[]);
                    return Ok(());
                }
            }
        }
        let kind = if executable { b'x' } else { b'-' };
        self.lines.add(kind, from.shown, &hasher.finalize());
        dress(&target, &found).map_err(|error| to.io(error))
    }
}

/// Gives a copy the mode and the time of what it was made of.
fn dress(copy: &File, of: &Metadata) -> io::Result<()> {
    copy.set_modified(of.modified()?)?;
    copy.set_permissions(Permissions::from_mode(of.permissions().mode() & MODE))
}
