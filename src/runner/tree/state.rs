//! What stands in a workspace, whatever a command has left there: nothing is refused or followed.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};

use super::lines::Lines;
use super::{DEPTH_MAX, ENTRIES_MAX};
use crate::units::{Digest, Time};

/// The most bytes that are read of a folder.
pub(super) const BYTES_MAX: u64 = 1 << 30;
/// What a file of holes may claim to hold and still be read.
const HOLES_MAX: u64 = 1 << 24;

/// What stands in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The digest of all of it; none where there is more than is read, or a file that claims so.
    pub digest: Option<Digest>,
    /// When the first of what was changed after a time was changed last.
    pub first_write: Option<Time>,
    /// When something was changed last, after that time.
    pub last_write: Option<Time>,
}

/// Returns what stands in a folder; writes count that came after `since`.
///
/// The digest is over one line an entry, sorted by its bytes: `-` or `x` and a file's digest, `l` and
/// the digest of where a link leads, `s` for what is neither, each with the path below the folder. What
/// cannot be read counts as special.
pub fn state(folder: &Path, since: Time) -> State {
    let mut found = Found {
        since,
        lines: Lines::default(),
        state: State::default(),
        left: BYTES_MAX,
        is_whole: true,
    };
    found.walk(folder, &PathBuf::new(), 0);
    found.state.digest = found.is_whole.then(|| found.lines.digest());
    found.state
}

struct Found {
    since: Time,
    lines: Lines,
    state: State,
    /// How many bytes may still be read.
    left: u64,
    is_whole: bool,
}

impl Found {
    fn walk(&mut self, root: &Path, below: &Path, depth: usize) {
        let Ok(entries) = fs::read_dir(root.join(below)) else {
            return self.lines.add(b's', below, &[]);
        };
        for entry in entries.flatten() {
            if self.lines.len() >= ENTRIES_MAX || depth >= DEPTH_MAX {
                self.is_whole = false;
                return;
            }
            let name = below.join(entry.file_name());
            match entry.metadata() {
                Ok(found) => self.entry(root, &name, &found, depth),
                Err(_) => self.lines.add(b's', &name, &[]),
            }
        }
    }

    fn entry(&mut self, root: &Path, name: &Path, found: &Metadata, depth: usize) {
        let path = root.join(name);
        if found.is_dir() {
            return self.walk(root, name, depth + 1);
        }
        self.note_write(found);
        if found.is_symlink() {
            let leads = fs::read_link(&path).unwrap_or_default();
            let digest = Digest::of(&[leads.as_os_str().as_bytes()]);
            return self.lines.add(b'l', name, &digest.0);
        }
        let kind = match found.permissions().mode() & 0o100 {
            0 => b'-',
            _ => b'x',
        };
        if !found.is_file() {
            return self.lines.add(b's', name, &[]);
        }
        let is_hollow = found.len() > HOLES_MAX && found.blocks() * 512 < found.len() / 2;
        let digest = match is_hollow || found.len() > self.left {
            true => Err(io::ErrorKind::FileTooLarge.into()),
            false => digest_of(&path, &mut self.left),
        };
        match digest {
            Ok(digest) => self.lines.add(kind, name, &digest.0),
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => self.is_whole = false,
            Err(_) => self.lines.add(b's', name, &[]),
        }
    }

    /// Takes the time that the system keeps and nobody can set: that of the last change of the entry.
    fn note_write(&mut self, found: &Metadata) {
        let micros = found.ctime().checked_mul(1_000_000);
        let Some(at) = micros.map(|micros| Time(micros + found.ctime_nsec() / 1000)) else {
            return;
        };
        if at >= self.since {
            let State {
                first_write,
                last_write,
                ..
            } = &mut self.state;
            *first_write = Some(first_write.map_or(at, |first| first.min(at)));
            *last_write = Some(last_write.map_or(at, |last| last.max(at)));
        }
    }
}

/// Digests a regular file as it stands there; never waits for anybody.
fn digest_of(path: &Path, left: &mut u64) -> io::Result<Digest> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Digest(hasher.finalize().into())),
            // It grows while it is read, or claims less than it holds.
            length if length as u64 > *left => return Err(io::ErrorKind::FileTooLarge.into()),
            length => {
                *left -= length as u64;
                hasher.update(&buffer[..length]);
            }
        }
    }
}
