//! The file beside a record that keeps what was published of it: whoever puts back an older record,
//! and not this file too, cannot go on with it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{Fault, Result, Store, beside, folder_of, location, must_be_file, rows};
use crate::engine::command::Action;
use crate::record::anchor::expected::{self, Origin};
use crate::record::anchor::line::{self, Line, Published};
use crate::record::entry::{self, Head};

/// What its name ends with.
const SUFFIX: &str = ".anchors";
/// The most bytes of it that are looked at before a write: the newest lines stand last.
const LOOK_MAX: u64 = 64 * 1024;

/// Returns the path of the file that keeps what was published of a record.
pub fn anchors_of(record: &Path) -> PathBuf {
    beside(record, SUFFIX)
}

/// Returns the newest lines that are kept beside a record.
pub fn published_beside(record: &Path) -> Result<Vec<Published>> {
    newest(&anchors_of(record))
}

/// Refuses to write to a record that is not what was published last.
pub(super) fn must_extend(record: &Path, connection: Option<&Connection>) -> Result<()> {
    let path = anchors_of(record);
    location::must_have_one_name(&path)?;
    let known = newest(&path)?;
    if known.is_empty() {
        return Ok(());
    }
    let head = connection.map_or(Ok(Head::EMPTY), rows::head)?;
    let origin = Origin::Beside(path.display().to_string());
    for published in known {
        let named = published.head;
        if named.seq > head.seq {
            return Err(Fault::Published(expected::behind(
                named.seq, head.seq, &origin,
            )));
        }
        let found = connection.map_or(Ok(None), |connection| rows::entry(connection, named.seq))?;
        if found.map(|entry| entry.digest) != Some(named.digest) {
            return Err(Fault::Published(expected::differs(named.seq, &origin)));
        }
    }
    Ok(())
}

/// Returns the lines with the greatest number among the newest ones.
///
/// The digest of an entry binds all entries before it, so no others need to be looked at.
fn newest(path: &Path) -> Result<Vec<Published>> {
    let text = match must_be_file(path) {
        Ok(_) => tail(path).map_err(|source| Fault::file(path, source))?,
        Err(Fault::NotFound(_)) => return Ok(Vec::new()),
        Err(fault) => return Err(fault),
    };
    let mut newest: Vec<Published> = Vec::new();
    // A line that a crash cut off was never acknowledged.
    for line in text
        .split_inclusive('\n')
        .filter(|line| line.ends_with('\n'))
    {
        for line in line::lines_in(line).unwrap_or_default() {
            let Line::Head(published) = line else {
                continue;
            };
            let greatest = newest.first().map_or(0, |known| known.head.seq);
            if published.head.seq > greatest {
                newest.clear();
            }
            if published.head.seq >= greatest {
                newest.push(published);
            }
        }
    }
    Ok(newest)
}

/// Reads the last lines of a file.
fn tail(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOOK_MAX)))?;
    let mut bytes = Vec::new();
    file.take(LOOK_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Store {
    /// Returns the head once it is on the disk, so that nothing is published that a power cut undoes.
    pub fn durable_head(&self) -> Result<Head> {
        let head = self.head()?;
        if super::guards::is_log_empty(&self.path) {
            return Ok(head);
        }
        super::Flush::of(&self.path)?.flush()?;
        Ok(head)
    }

    /// Returns what was asked for under a key before.
    pub fn answered(&self, key: &str) -> Result<Option<Action>> {
        let Some(seq) = rows::key(&self.connection, key)? else {
            return Ok(None);
        };
        let broken = |message| Fault::Row {
            row: format!("entry {seq}"),
            message,
        };
        let found = rows::entry(&self.connection, seq)?;
        let body = found.map(|entry| entry::read_body(&entry.body).map_err(broken));
        Ok(body.transpose()?.map(|body| body.command.action))
    }

    /// Returns the head of an entry, if there is one of that number.
    pub fn head_at(&self, seq: u64) -> Result<Option<Head>> {
        let found = rows::entry(&self.connection, seq)?;
        Ok(found.map(|entry| Head {
            seq,
            digest: entry.digest,
        }))
    }

    /// Returns the newest entry of whose head something holds.
    pub fn newest_head(&self, is_it: impl Fn(Head) -> bool) -> Result<Option<Head>> {
        let newest = self.head()?;
        for seq in (1..=newest.seq).rev() {
            if let Some(head) = self.head_at(seq)?.filter(|head| is_it(*head)) {
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    /// Keeps a published line beside the record; returns once it is on the disk.
    pub fn keep_published(&self, published: &Published) -> Result<()> {
        let path = anchors_of(&self.path);
        location::must_have_one_name(&path)?;
        append_line(&path, &published.to_string()).map_err(|source| Fault::file(&path, source))
    }
}

/// Appends a line to a file, unless it stands there.
fn append_line(path: &Path, line: &str) -> std::io::Result<()> {
    let is_new = !path.exists();
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .append(true)
        .open(path)?;
    // Two who append wait for each other.
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let whole = text.strip_suffix('\n').unwrap_or("");
    if !whole.lines().any(|known| known == line) {
        file.write_all(format!("{end}{line}\n").as_bytes())?;
    }
    file.sync_all()?;
    if is_new {
        File::open(folder_of(path))?.sync_all()?;
    }
    Ok(())
}
