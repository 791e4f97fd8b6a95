//! The file that keeps the beginning and the end of a stream.
//!
//! What does not fit any more overwrites the second half in a circle, so that a flood takes neither
//! memory nor more of the disk than it may; at the end that half is put in order.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// A file with what is kept of a stream.
pub(super) struct Keep<'a> {
    path: &'a Path,
    /// Made when there is something to keep.
    file: Option<File>,
    max: u64,
    kept: u64,
    /// Where the oldest byte of the second half is, once something was overwritten.
    oldest: Option<u64>,
}

impl<'a> Keep<'a> {
    pub(super) fn new(path: &'a Path, max: u64) -> Self {
        Self {
            path,
            file: None,
            max,
            kept: 0,
            oldest: None,
        }
    }

    /// Returns how many bytes are kept, and how many of those are from the end.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.kept, self.oldest.map_or(0, |_| self.tail_max()))
    }

    fn tail_max(&self) -> u64 {
        self.max / 2
    }

    fn head_max(&self) -> u64 {
        self.max - self.tail_max()
    }

    /// Keeps what comes next, and counts what a full disk still took.
    pub(super) fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let is_full = self.kept == self.max;
            if is_full && self.tail_max() == 0 {
                return Ok(());
            }
            let (at, room) = if is_full {
                let at = self.head_max() + self.oldest.unwrap_or(0);
                (at, self.max - at)
            } else {
                (self.kept, self.max - self.kept)
            };
            let room = usize::try_from(room).unwrap_or(usize::MAX);
            let part = &bytes[..bytes.len().min(room)];
            let written = match self.file()?.write_at(part, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if is_full {
                let next = at + written as u64 - self.head_max();
                self.oldest = Some(next % self.tail_max());
            } else {
                self.kept += written as u64;
            }
            bytes = &bytes[written..];
        }
        Ok(())
    }

    fn file(&mut self) -> io::Result<&File> {
        Ok(match &mut self.file {
            Some(file) => file,
            // Never an existing file, which may be the evidence of another run.
            none => none.insert(create(self.path)?),
        })
    }

    /// Gives up the end, of which not all could be kept: what is left has no gap that nobody knows of.
    pub(super) fn keep_beginning(&mut self) {
        if let (Some(file), Some(_)) = (&self.file, self.oldest.take()) {
            self.kept = self.head_max();
            // One that cannot be cut is longer than is said of it, which whoever looks finds out.
            let _ = file.set_len(self.kept);
        }
    }

    /// Puts the second half in order.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        let (Some(file), Some(oldest @ 1..)) = (&self.file, self.oldest) else {
            return Ok(());
        };
        let aside = self.path.with_added_extension("tmp");
        let mut ordered = create(&aside)?;
        let head = self.head_max();
        let mut copy = |from: u64, length: u64| {
            let part = At { file, at: from };
            io::copy(&mut part.take(length), &mut ordered)
        };
        copy(0, head)?;
        copy(head + oldest, self.tail_max() - oldest)?;
        copy(head, oldest)?;
        std::fs::rename(aside, self.path)
    }
}

/// Makes a file that nobody else may read: what an arm prints may be a secret of whoever runs the study.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

/// Reads a file from a place on.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
