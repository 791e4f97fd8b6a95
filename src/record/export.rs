//! The whole record as one file of lines: a header, then the exact entries.
//!
//! Every line is a JSON object in one spelling; a reader compares the line with what it would have
//! written, so that no byte is left unchecked. The header has its own digest, and counts.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::entry::{self, Entry, EntryText, Head};
use crate::protocol::canonical;
use crate::units::Digest;

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;
/// What the header calls the format.
const FORMAT: &str = "prereg-export";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// How many entries follow.
    pub entries: u64,
    /// The format's name.
    pub format: String,
    /// The digest of the last entry.
    pub head: Digest,
    /// Whether openings of sealed values are left out.
    pub sealed: bool,
    /// The study's id.
    pub study: String,
    /// The format's version.
    pub version: u32,
}

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    digest: Digest,
    #[serde(flatten)]
    header: Header,
}

/// What is wrong with a first line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderFault {
    /// It is not a header.
    Broken(String),
    /// It is intact, and names a version that this program cannot read.
    Newer(u32),
}

impl Header {
    /// Makes the header of an export.
    pub fn new(study: &str, head: Head, sealed: bool) -> Self {
        Self {
            entries: head.seq,
            format: FORMAT.to_owned(),
            head: head.digest,
            sealed,
            study: study.to_owned(),
            version: VERSION,
        }
    }

    fn digest(&self) -> Digest {
        canonical::digest(self)
    }

    /// Returns the line, without its end.
    pub fn line(&self) -> String {
        let line = HeaderLine {
            digest: self.digest(),
            header: self.clone(),
        };
        canonical::text(&line)
    }

    /// Reads a first line.
    pub fn read(line: &str) -> Result<Self, HeaderFault> {
        let broken = |message: String| HeaderFault::Broken(message);
        let value: serde_json::Value =
            canonical::read(line.as_bytes()).map_err(|fault| broken(fault.message))?;
        let mut rest = value.clone();
        let digest = rest
            .as_object_mut()
            .and_then(|object| object.remove("digest"));
        let intact =
            digest == Some(serde_json::to_value(canonical::digest(&rest)).unwrap_or_default());
        if !intact || rest["format"] != FORMAT || canonical::text(&value) != line {
            return Err(broken(
                "the first line is not the header of an export".to_owned(),
            ));
        }
        match rest["version"].as_u64() {
            Some(version) if version > u64::from(VERSION) => Err(HeaderFault::Newer(
                u32::try_from(version).unwrap_or(u32::MAX),
            )),
            _ => serde_json::from_value(rest).map_err(|error| broken(error.to_string())),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EntryLine<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    digest: Digest,
    #[serde(borrow, default)]
    opening: Option<&'a RawValue>,
    seq: u64,
}

/// What stands before the body of an entry, in its line.
pub const BODY: &str = "{\"body\":";

/// Writes an entry's line, with its end; its opening is left out while outcomes are sealed.
pub fn write_entry(out: &mut impl Write, entry: EntryText<'_>, sealed: bool) -> io::Result<()> {
    write_line(out, entry, sealed)?;
    out.write_all(b"\n")
}

fn write_line(out: &mut impl Write, entry: EntryText<'_>, sealed: bool) -> io::Result<()> {
    out.write_all(BODY.as_bytes())?;
    out.write_all(entry.body.as_bytes())?;
    write!(out, ",\"digest\":\"{}\"", entry.digest)?;
    if let (Some(opening), false) = (entry.opening, sealed) {
        out.write_all(b",\"opening\":")?;
        out.write_all(opening.as_bytes())?;
    }
    write!(out, ",\"seq\":{}}}", entry.seq)
}

/// Reads an entry's line, without its end.
pub fn read_entry(line: &str) -> Result<Entry, String> {
    read_line(line).map(EntryText::to_entry)
}

/// Finds the parts of an entry in its line, without its end.
pub fn read_line(line: &str) -> Result<EntryText<'_>, String> {
    let read: EntryLine<'_> = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let entry = EntryText {
        seq: read.seq,
        digest: read.digest,
        body: read.body.get(),
        opening: read.opening.map(RawValue::get),
    };
    match is_spelled(line, entry) {
        true => Ok(entry),
        false => Err("the line is not spelled as entries are".to_owned()),
    }
}

/// Returns whether a line is what is written of an entry, but for its end.
fn is_spelled(line: &str, entry: EntryText<'_>) -> bool {
    let mut rest = Some(line.as_bytes());
    let written = write_line(&mut Compared(&mut rest), entry, false);
    written.is_ok() && rest == Some(b"")
}

/// Takes what is written off the beginning of some bytes; nothing is left once something differs.
struct Compared<'c, 'l>(&'c mut Option<&'l [u8]>);

impl Write for Compared<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        *self.0 = self.0.and_then(|line| line.strip_prefix(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Finds the parts of an entry in its line as [`read_line`] does, if its body and its opening are
/// JSON: where it finds none, or these are no JSON, that says what is wrong.
pub fn split_line(line: &str) -> Option<EntryText<'_>> {
    let rest = line.strip_prefix(BODY)?.strip_suffix('}')?;
    let digits = rest.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (rest, seq) = rest.split_at_checked(rest.len() - digits)?;
    let seq = seq.parse().ok().filter(|_| !seq.starts_with('0'))?;
    let rest = rest.strip_suffix(",\"seq\":")?;
    let text = |(body, digest), opening| EntryText {
        seq,
        digest,
        body,
        opening,
    };
    if let Some(rest) = rest.strip_suffix('"') {
        return Some(text(split_digest(rest)?, None));
    }
    // From the end: what is sealed is mostly shorter than the body.
    let mut before = rest;
    loop {
        before = entry::rsplit(before, OPENING)?.0;
        if let Some(split) = split_digest(before) {
            let opening = &rest[before.len() + OPENING.len()..];
            return Some(text(split, Some(opening)));
        }
    }
}

/// What stands between a digest and an opening.
const OPENING: &str = "\",\"opening\":";

/// Takes the digest off the end of what stands before its quotation mark; returns the body and the digest.
fn split_digest(rest: &str) -> Option<(&str, Digest)> {
    let (rest, digest) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    let body = rest.strip_suffix(",\"digest\":\"")?;
    Some((body, digest.parse().ok()?))
}
