//! One name in one open directory: what stands there, opened without following or waiting.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::TreeFault;

/// The owner may do everything.
const OWNER_ALL: Mode = Mode::RWXU;

/// A name in an open directory, and the path that faults call it by.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) parent: BorrowedFd<'a>,
    pub(super) name: &'a Path,
    pub(super) shown: &'a Path,
}

/// What stands at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
    Link,
    Special,
}

impl<'a> Entry<'a> {
    /// Returns the entry of a whole path. Links in its parents are followed.
    pub(super) fn at(path: &'a Path) -> Self {
        Self {
            parent: CWD,
            name: path,
            shown: path,
        }
    }

    /// Returns what stands there, or nothing.
    pub(super) fn kind(&self) -> Result<Option<Kind>, TreeFault> {
        match statat(self.parent, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(kind_of(FileType::from_raw_mode(stat.st_mode)))),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(self.fault(errno)),
        }
    }

    /// Opens the regular file that stands there, and tells whether its owner may execute it.
    ///
    /// It is looked at before it is opened, because opening a device can do things, and after,
    /// because it can be another one by then.
    pub(super) fn open_file(&self) -> Result<(File, bool), TreeFault> {
        match self.kind()? {
            Some(Kind::File) => {}
            Some(Kind::Directory) => return Err(TreeFault::NotFile { path: self.path() }),
            Some(Kind::Link) => return Err(TreeFault::Link { path: self.path() }),
            Some(Kind::Special) => return Err(TreeFault::Special { path: self.path() }),
            None => return Err(TreeFault::Missing { path: self.path() }),
        }
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.open(OFlags::RDONLY | flags, Mode::empty())?;
        let stat = fstat(&file).map_err(|errno| self.fault(errno))?;
        match kind_of(FileType::from_raw_mode(stat.st_mode)) {
            Kind::File => {}
            _ => return Err(TreeFault::Special { path: self.path() }),
        }
        let executable = Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR);
        Ok((File::from(file), executable))
    }

    /// Opens the directory that stands there.
    pub(super) fn open_directory(&self) -> Result<OwnedFd, TreeFault> {
        match self.kind()? {
            Some(Kind::Directory) => {}
            Some(Kind::Link) => return Err(TreeFault::Link { path: self.path() }),
            Some(_) => return Err(TreeFault::NotDirectory { path: self.path() }),
            None => return Err(TreeFault::Missing { path: self.path() }),
        }
        self.open(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    }

    /// Opens the directory that stands there and makes it its owner's to change.
    pub(super) fn open_directory_to_change(&self) -> Result<OwnedFd, TreeFault> {
        let directory = match self.open_directory() {
            Err(TreeFault::Denied { .. }) => {
                self.make_readable()?;
                self.open_directory()?
            }
            opened => opened?,
        };
        let stat = fstat(&directory).map_err(|errno| self.fault(errno))?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        if !mode.contains(OWNER_ALL) {
            fchmod(&directory, mode | OWNER_ALL).map_err(|errno| self.fault(errno))?;
        }
        Ok(directory)
    }

    /// Lets the owner open a directory, without following a link that has just taken its place.
    #[cfg(target_os = "linux")]
    fn make_readable(&self) -> Result<(), TreeFault> {
        use std::os::fd::AsRawFd;

        // A descriptor of the place alone needs no permission. It has no fchmod, but a name.
        let place = self.open(OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        let path = format!("/proc/self/fd/{}", place.as_raw_fd());
        rustix::fs::chmod(path, OWNER_ALL).map_err(|errno| self.fault(errno))
    }

    #[cfg(not(target_os = "linux"))]
    fn make_readable(&self) -> Result<(), TreeFault> {
        rustix::fs::chmodat(self.parent, self.name, OWNER_ALL, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| self.fault(errno))
    }

    /// Creates the file, which must not exist, with exactly this mode.
    pub(super) fn create_file(&self, executable: bool) -> Result<File, TreeFault> {
        let mode = Mode::from_raw_mode(if executable { 0o755 } else { 0o644 });
        let file = self.open(OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)?;
        // Whatever the umask: a workspace is the same for everybody.
        fchmod(&file, mode).map_err(|errno| self.fault(errno))?;
        Ok(File::from(file))
    }

    /// Creates the directory, which must not exist, and opens it.
    pub(super) fn create_directory(&self) -> Result<OwnedFd, TreeFault> {
        let mode = Mode::from_raw_mode(0o755);
        rustix::fs::mkdirat(self.parent, self.name, mode).map_err(|errno| self.fault(errno))?;
        let directory = self.open_directory()?;
        fchmod(&directory, mode).map_err(|errno| self.fault(errno))?;
        Ok(directory)
    }

    /// Moves what stands here to another entry, in the place of any file, link or pipe there.
    pub(super) fn replace(&self, other: &Entry<'_>) -> Result<(), TreeFault> {
        renameat(self.parent, self.name, other.parent, other.name)
            .map_err(|errno| other.fault(errno))
    }

    /// Removes what is no directory.
    pub(super) fn unlink(&self) -> Result<(), TreeFault> {
        unlinkat(self.parent, self.name, AtFlags::empty()).map_err(|errno| self.fault(errno))
    }

    /// Removes a directory if it is empty, and tells whether it was.
    pub(super) fn remove_empty_directory(&self) -> Result<bool, TreeFault> {
        match unlinkat(self.parent, self.name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(false),
            Err(errno) => Err(self.fault(errno)),
        }
    }

    fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, TreeFault> {
        openat(
            self.parent,
            self.name,
            flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
            mode,
        )
        .map_err(|errno| self.fault(errno))
    }

    fn path(&self) -> PathBuf {
        self.shown.to_path_buf()
    }

    /// Says what a refusal of the system means here.
    pub(super) fn fault(&self, errno: Errno) -> TreeFault {
        let path = self.path();
        match errno {
            Errno::NOENT => TreeFault::Missing { path },
            Errno::LOOP => TreeFault::Link { path },
            Errno::NOTDIR => TreeFault::NotDirectory { path },
            Errno::ISDIR => TreeFault::NotFile { path },
            Errno::ACCESS | Errno::PERM => TreeFault::Denied { path },
            errno => TreeFault::Io {
                path,
                source: errno.into(),
            },
        }
    }

    /// Says what a refusal of the standard library means here.
    pub(super) fn io(&self, source: io::Error) -> TreeFault {
        TreeFault::Io {
            path: self.path(),
            source,
        }
    }
}

fn kind_of(file_type: FileType) -> Kind {
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

/// Returns the names in an open directory, in no order.
pub(super) fn names(directory: &OwnedFd, names_max: usize) -> Result<Vec<CString>, Errno> {
    let is_own = |name: &CStr| name == c"." || name == c"..";
    let mut names = Vec::new();
    for entry in Dir::read_from(directory.as_fd())? {
        let entry = entry?;
        if !is_own(entry.file_name()) {
            names.push(entry.file_name().to_owned());
        }
        if names.len() > names_max {
            break;
        }
    }
    Ok(names)
}
