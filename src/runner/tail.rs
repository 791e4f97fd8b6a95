//! The end of what a run has printed, from the beginning of a line on.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Reads the end of a file: all of it where it has at most so many bytes, else what follows the first
/// line feed among its last ones, or all of those where there is none.
///
/// `tail` says how many bytes at its end follow one another, where something is left out before them:
/// nothing is shown across that gap.
pub fn read(path: &Path, tail: Option<u64>, max: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let length = file.metadata()?.len();
    let shown = tail.unwrap_or(length).min(length).min(max);
    let mut last = vec![0; usize::try_from(shown).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut last, length - shown)?;
    if shown < length
        && let Some(at) = last.iter().position(|byte| *byte == b'\n')
    {
        last.drain(..=at);
    }
    Ok(last)
}

/// Opens a file; what may stand in its place by now is not followed nor waited for.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags)
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}
