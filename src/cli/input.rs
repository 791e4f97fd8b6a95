//! Files that a command is given, or the standard input: read whole, and every slip of theirs told.

use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::reply::{Defects, Failure};
use super::study::{folder_of, name_of};
use crate::engine::scoring::EVIDENCE_MAX;
use crate::folder::DiskFolder;
use crate::protocol::canonical;
use crate::protocol::defect::{Code, Defect, Place};
use crate::protocol::folder::Folder;
use crate::protocol::frame::{self, Task};
use crate::units::Digest;

/// The most bytes that are read of a list of tasks.
const LIST_MAX: usize = 64 * 1024 * 1024;

/// Reads one piece of evidence as it is.
pub(super) fn text(path: &Path) -> Result<String, Failure> {
    text_of(path, read(path, EVIDENCE_MAX)?)
}

/// Returns the digest of a file.
pub(super) fn digest(path: &Path) -> Result<Digest, Failure> {
    let found = DiskFolder::at(&folder_of(path)).digest(&name_of(path));
    found.map_err(|fault| {
        defect(
            path,
            "",
            Defect::new(fault.code, Place::File, fault.message),
        )
    })
}

/// Reads one JSON value.
pub(super) fn json(path: &Path) -> Result<Value, Failure> {
    let text = text(path)?;
    canonical::read(text.as_bytes()).map_err(|fault| {
        let place = Place::Span(fault.offset..fault.offset + 1);
        defects(
            path,
            &text,
            vec![Defect::new(Code::Syntax, place, fault.message)],
        )
    })
}

/// Reads tasks, one JSON object a line.
pub(super) fn tasks(path: &Path) -> Result<Vec<Task>, Failure> {
    let bytes = read(path, LIST_MAX)?;
    frame::read(&bytes).map_err(|faults| {
        let text = String::from_utf8_lossy(&bytes);
        let told = faults.into_iter().map(|fault| {
            let place = Place::Span(fault.offset..fault.offset + 1);
            Defect::new(Code::Frame, place, fault.message)
        });
        defects(path, &text, told.collect())
    })
}

/// Makes the failure of one defect in a file.
pub(super) fn defect(path: &Path, text: &str, defect: Defect) -> Failure {
    defects(path, text, vec![defect])
}

fn defects(path: &Path, text: &str, defects: Vec<Defect>) -> Failure {
    Failure::Defects(Defects {
        file: path.display().to_string(),
        text: text.to_owned(),
        folder: folder_of(path),
        defects,
        undone: "recorded",
    })
}

fn read(path: &Path, max: usize) -> Result<Vec<u8>, Failure> {
    bytes(path, max).map_err(|slip| defect(path, "", slip))
}

/// Reads a regular file, or with `-` the standard input; refuses more bytes than may be read.
pub(super) fn bytes(path: &Path, max: usize) -> Result<Vec<u8>, Defect> {
    if is_standard_input(path) {
        return standard_input(max);
    }
    let folder = DiskFolder::at(&folder_of(path));
    let read = folder.read(&name_of(path), max);
    read.map_err(|fault| Defect::new(fault.code, Place::File, fault.message))
}

/// Returns whether a path means the standard input.
pub(super) fn is_standard_input(path: &Path) -> bool {
    path == Path::new("-")
}

fn standard_input(max: usize) -> Result<Vec<u8>, Defect> {
    let slip = |code, message| Defect::new(code, Place::File, message);
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock().take(max as u64 + 1);
    input
        .read_to_end(&mut bytes)
        .map_err(|error| slip(Code::Unreadable, format!("it cannot be read: {error}")))?;
    if bytes.len() > max {
        let message = format!("the standard input has more than {max} bytes; split it");
        return Err(slip(Code::TooLarge, message));
    }
    Ok(bytes)
}

/// Reads bytes as text.
pub(super) fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let place = Place::Span(at..at + 1);
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        defect(
            path,
            &text,
            Defect::new(Code::Encoding, place, "the text is not UTF-8"),
        )
    })
}
