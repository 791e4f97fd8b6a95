//! Reads one stream of a command: the first bytes to a file, all of it counted and hashed.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// What a pipe holds at most, unless someone enlarged it.
const BUFFER_BYTES: usize = 64 * 1024;

/// What is read at once until there is more: most commands say little or nothing, and need no
/// large buffer cleared for them.
const FIRST_BYTES: usize = 4 * 1024;

/// Tells what came on one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// How many bytes came.
    pub bytes: u64,
    /// How many of them, from the first on, are in the file. There is no file when it is 0.
    pub kept: u64,
    /// The SHA-256 of all that came, kept or not.
    pub digest: [u8; 32],
}

/// Tells why output could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("the output could not be kept in `{}`: {source}", path.display())]
pub struct CaptureFault {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl CaptureFault {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        "output-not-kept"
    }
}

/// One stream while it is read.
pub(super) struct Capture<'a> {
    /// `None` once the stream has ended.
    pipe: Option<PipeReader>,
    path: &'a Path,
    file: Option<File>,
    kept_max: u64,
    kept: u64,
    bytes: u64,
    hasher: Sha256,
    /// Empty until there is much to read.
    buffer: Vec<u8>,
    fault: Option<io::Error>,
}

impl<'a> Capture<'a> {
    pub(super) fn new(pipe: PipeReader, path: &'a Path, kept_max: u64) -> io::Result<Self> {
        // The command can open its own pipe for reading and empty it between the poll and the
        // read, which must not block then.
        rustix::io::ioctl_fionbio(&pipe, true)?;
        Ok(Self {
            pipe: Some(pipe),
            path,
            file: None,
            kept_max,
            kept: 0,
            bytes: 0,
            hasher: Sha256::new(),
            buffer: Vec::new(),
            fault: None,
        })
    }

    /// Returns what to poll, as long as the stream has not ended.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(AsFd::as_fd)
    }

    /// Reads once.
    pub(super) fn read(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut first = [0; FIRST_BYTES];
        let mut large = std::mem::take(&mut self.buffer);
        let buffer = if large.is_empty() {
            first.as_mut_slice()
        } else {
            large.as_mut_slice()
        };
        match rustix::io::read(pipe, &mut *buffer) {
            Ok(0) => self.pipe = None,
            Ok(length) => {
                self.take(&buffer[..length]);
                if length == FIRST_BYTES && large.is_empty() {
                    large.resize(BUFFER_BYTES, 0);
                }
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(errno) => {
                self.fault.get_or_insert(errno.into());
                self.pipe = None;
            }
        }
        self.buffer = large;
    }

    fn take(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.hasher.update(bytes);
        let room = usize::try_from(self.kept_max - self.kept).unwrap_or(usize::MAX);
        let kept = &bytes[..bytes.len().min(room)];
        // After a fault nothing more is kept: the file is the beginning of the stream, without gaps.
        if self.fault.is_none()
            && !kept.is_empty()
            && let Err(fault) = self.keep(kept)
        {
            self.fault = Some(fault);
        }
    }

    /// Appends to the file, and counts what a full disk still took.
    fn keep(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            // Never an existing file, which may be the evidence of another run.
            none => none.insert(
                OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    // What an arm prints may be a secret of whoever runs the study.
                    .mode(0o600)
                    .open(self.path)?,
            ),
        };
        while !bytes.is_empty() {
            match file.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.kept += written as u64;
                    bytes = &bytes[written..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns what came, and why some of it was not kept.
    pub(super) fn finish(self) -> (Captured, Option<CaptureFault>) {
        let Self {
            path,
            kept,
            bytes,
            hasher,
            fault,
            ..
        } = self;
        let fault = fault.map(|source| CaptureFault {
            path: path.to_path_buf(),
            source,
        });
        (
            Captured {
                bytes,
                kept,
                digest: hasher.finalize().into(),
            },
            fault,
        )
    }
}
