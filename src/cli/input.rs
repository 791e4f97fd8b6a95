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
    utf8(path, read(path, EVIDENCE_MAX)?)
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

/// Reads a regular file, or with `-` the standard input.
fn read(path: &Path, max: usize) -> Result<Vec<u8>, Failure> {
    if path == Path::new("-") {
        return standard_input(path, max);
    }
    let folder = DiskFolder::at(&folder_of(path));
    folder.read(&name_of(path), max).map_err(|fault| {
        defect(
            path,
            "",
            Defect::new(fault.code, Place::File, fault.message),
        )
    })
}

fn standard_input(path: &Path, max: usize) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock().take(max as u64 + 1);
    input
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::file(path, &error))?;
    if bytes.len() > max {
        let message = format!("the standard input has more than {max} bytes; split it");
        let slip = Defect::new(Code::TooLarge, Place::File, message);
        return Err(defect(path, "", slip));
    }
    Ok(bytes)
}

fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, Failure> {
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
