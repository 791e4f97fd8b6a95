//! What is kept of what runs have printed and of their files, held to what the record says of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};

use super::executor;
use crate::engine::artefacts;
use crate::engine::command::{Execution, Stream};
use crate::engine::slice::Run;
use crate::units::{Digest, RunId};

/// How many bytes are read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// How many files are what the record says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Files whose digest is the recorded one.
    pub agree: u64,
    /// Files that hold only the beginning of what was printed, of whose digest nothing can be said; they
    /// are as long as recorded.
    pub cut: u64,
    /// Files that are not there.
    pub absent: u64,
}

/// Why files could not be held to the record.
#[derive(Debug)]
pub enum Unlike {
    /// A file is not what the record says.
    Differs(String),
    /// A file could not be read.
    Unread(io::Error, PathBuf),
}

impl Kept {
    /// Holds the files of a run to what the record says of its execution.
    pub fn check(&mut self, runs: &Path, run: RunId, said: &Execution) -> Result<(), Unlike> {
        let [stdout, stderr, ..] = executor::outputs(runs, run);
        for (path, stream) in [(stdout, &said.stdout), (stderr, &said.stderr)] {
            if let Some(stream) = stream {
                self.look(&path, run, stream)?;
            }
        }
        Ok(())
    }

    /// Holds the artefacts of a run to what the record says of them, where they are retained.
    pub fn check_artefacts(&mut self, runs: &Path, run: &Run) -> Result<(), Unlike> {
        let execution = run.execution.as_ref();
        let said = execution.and_then(|execution| execution.artefacts.as_ref());
        let Some(said) = said.filter(|_| artefacts::are_retained(run)) else {
            return Ok(());
        };
        let folder = super::artefacts::folder(runs, run.run);
        let stored: BTreeMap<Digest, u64> = said
            .files
            .iter()
            .map(|file| (file.digest, file.bytes))
            .collect();
        for (digest, bytes) in stored {
            let whole = Stream {
                bytes,
                kept: bytes,
                tail: 0,
                digest: Some(digest),
            };
            self.look(&folder.join(HEXLOWER.encode(&digest.0)), run.run, &whole)?;
        }
        Ok(())
    }

    fn look(&mut self, path: &Path, run: RunId, said: &Stream) -> Result<(), Unlike> {
        let unread = |error| Unlike::Unread(error, path.to_owned());
        let differs = |how: String| {
            let name = path.display();
            Err(Unlike::Differs(format!("run {run}: `{name}` {how}")))
        };
        match path.symlink_metadata() {
            Ok(found) if found.is_file() => {}
            Ok(_) => return differs("is no file, as the one that was kept there".to_owned()),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
                // Nothing is kept of a stream on which nothing came.
                self.absent += u64::from(said.kept > 0);
                return Ok(());
            }
            Err(error) => return Err(unread(error)),
        }
        let file = open(path).map_err(unread)?;
        let (bytes, digest) = digest_of(file, said.kept).map_err(unread)?;
        if bytes != said.kept {
            let more = if bytes > said.kept { "more than " } else { "" };
            let found = bytes.min(said.kept);
            return differs(format!(
                "has {more}{found} bytes, and the record says that {} were kept",
                said.kept
            ));
        }
        if said.kept < said.bytes {
            self.cut += 1;
            return Ok(());
        }
        match said.digest {
            Some(recorded) if recorded != digest => differs(format!(
                "has the digest {}, and the record says {}",
                digest.short(),
                recorded.short()
            )),
            _ => {
                self.agree += 1;
                Ok(())
            }
        }
    }
}

/// Opens a file that was there; what may stand in its place by now is not followed nor waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags | OFlags::NOCTTY, Mode::empty())?;
    Ok(File::from(file))
}

/// Digests a file, of which no more is read than one byte beyond what is expected.
fn digest_of(file: File, expected: u64) -> io::Result<(u64, Digest)> {
    let mut file = file.take(expected.saturating_add(1));
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut bytes = 0;
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok((bytes, Digest(hasher.finalize().into()))),
            Ok(length) => {
                bytes += length as u64;
                hasher.update(&buffer[..length]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
