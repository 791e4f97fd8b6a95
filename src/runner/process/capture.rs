//! Reads one stream of a command: its beginning and its end to a file, all of it counted and hashed.

use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::keep::Keep;

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
    /// How many of them are in the file: the first, then the last. There is no file when it is 0.
    pub kept: u64,
    /// How many of those are the last that came, after a gap.
    pub tail: u64,
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
    keep: Keep<'a>,
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
            keep: Keep::new(path, kept_max),
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
        // After a fault nothing more is kept.
        if self.fault.is_none()
            && let Err(fault) = self.keep.put(bytes)
        {
            self.fault = Some(fault);
        }
    }

    /// Returns what came, and why some of it was not kept.
    pub(super) fn finish(self) -> (Captured, Option<CaptureFault>) {
        let Self {
            path,
            mut keep,
            bytes,
            hasher,
            mut fault,
            ..
        } = self;
        if fault.is_none() {
            fault = keep.settle().err();
        }
        if fault.is_some() {
            keep.keep_beginning();
        }
        let (kept, tail) = keep.counts();
        let captured = Captured {
            bytes,
            kept,
            tail,
            digest: hasher.finalize().into(),
        };
        let fault = fault.map(|source| CaptureFault {
            path: path.to_path_buf(),
            source,
        });
        (captured, fault)
    }
}
