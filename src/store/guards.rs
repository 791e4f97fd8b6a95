//! Whose log stands beside a record: what is looked at before it is trusted.
//!
//! SQLite lays the pages of any log that stands beside a file over the file's own. Nothing in a log
//! says which file it belongs to, so the record does: the first commit of every log gives it a new
//! name, and says up to which commit of which log the file goes; every other commit is counted. A log
//! that does not go on where the file ends is another record's, or an older one of this record.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::open::{BUSY, as_it_stands};
use super::{Fault, JOURNAL, LOG, Result, SHARED, beside, rows};
use crate::record::entry::Head;
use crate::units::Digest;

/// How long the header of a log is.
const LOG_HEADER: usize = 32;
/// What a journal of SQLite begins with.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// What commits are counted from: from here on a number takes as many bytes as the next.
const FIRST: i64 = 1 << 40;

/// A file, whatever it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Asks for nothing else: whoever asks for a file's times makes the next write to it dearer.
    #[cfg(target_os = "linux")]
    fn of(path: &Path) -> io::Result<Self> {
        use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::INO)?;
        Ok(Self {
            device: u64::from(found.stx_dev_major) << 32 | u64::from(found.stx_dev_minor),
            inode: found.stx_ino,
        })
    }

    #[cfg(not(target_os = "linux"))]
    fn of(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = std::fs::metadata(path)?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }
}

/// The files that a connection writes, as they were when it was opened.
#[derive(Debug)]
pub(super) struct Place {
    file: (PathBuf, Identity),
    log: (PathBuf, Identity),
    /// SQLite has no locks on the log: a handle of our own loses none.
    handle: File,
}

/// What tells a log from the one before it in the same file.
type LogSalts = [u8; 8];

/// How a log stood before a transaction.
#[derive(Debug)]
pub(super) struct Before {
    salts: Option<LogSalts>,
    changes: u64,
}

impl Place {
    /// Remembers the files of a connection that has read from them.
    pub(super) fn of(record: &Path) -> Result<Self> {
        let known = |path: PathBuf| match Identity::of(&path) {
            Ok(identity) => Ok((path, identity)),
            Err(source) => Err(Fault::file(&path, source)),
        };
        let log = known(beside(record, LOG))?;
        Ok(Self {
            file: known(record.to_owned())?,
            handle: File::open(&log.0).map_err(|source| Fault::file(&log.0, source))?,
            log,
        })
    }

    /// Refuses to go on where somebody moved, deleted or replaced a file: what is written then goes
    /// where nobody looks for it.
    fn must_stand(&self) -> Result<()> {
        for (path, identity) in [&self.file, &self.log] {
            if Identity::of(path).ok() != Some(*identity) {
                return Err(Fault::Moved(path.clone()));
            }
        }
        Ok(())
    }

    /// Looks at the files before a transaction.
    pub(super) fn before(&self, connection: &Connection) -> Result<Before> {
        self.must_stand()?;
        Ok(Before {
            salts: self.salts()?,
            changes: connection.total_changes(),
        })
    }

    /// Marks what a transaction is about to commit; `name` is what a log is called that begins with it.
    pub(super) fn mark(
        &self,
        before: &Before,
        transaction: &Connection,
        name: Digest,
    ) -> Result<()> {
        if transaction.total_changes() == before.changes {
            // Nothing changed, and nothing is to be written.
            return Ok(());
        }
        if before.salts.is_some() {
            count(transaction)
        } else {
            begin(transaction, name, None)
        }
    }

    /// Marks a log that SQLite began anew, from its start, with what was just committed.
    pub(super) fn mark_if_restarted(
        &self,
        before: &Before,
        connection: &Connection,
        name: Digest,
    ) -> Result<()> {
        match (before.salts, self.salts()?) {
            (Some(old), Some(new)) if old != new => begin(connection, name, Some(new)),
            _ => Ok(()),
        }
    }

    fn salts(&self) -> Result<Option<LogSalts>> {
        salts_of(&self.handle).map_err(|source| Fault::file(&self.log.0, source))
    }
}

/// Reads the salts of a log; nothing of an empty one.
fn salts_of(log: &File) -> io::Result<Option<LogSalts>> {
    let mut header = [0; LOG_HEADER];
    match log.read_exact_at(&mut header, 0) {
        Ok(()) => Ok(header[16..24].try_into().ok()),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(source) => Err(source),
    }
}

/// A log, and how many of its commits are meant.
#[derive(Debug, PartialEq, Eq)]
struct Mark {
    log: Digest,
    commits: i64,
}

/// What a record says of its log.
#[derive(Debug)]
struct Marks {
    /// The newest commit.
    newest: Mark,
    /// The newest commit of the log before this one.
    before: Mark,
    /// The salts of the log that has that commit, too; none where it is in the file.
    within: Option<LogSalts>,
}

impl Marks {
    /// Reads what a connection sees; nothing where there are no tables yet.
    fn of(connection: &Connection) -> Result<Option<Self>> {
        if count_tables(connection)? == 0 {
            return Ok(None);
        }
        let mut statement = connection.prepare_cached(
            "SELECT log, commits, follows, followed, salts FROM marks WHERE one = 1",
        )?;
        let mark = |row: &Row<'_>, at: usize| {
            Ok::<_, rusqlite::Error>(Mark {
                log: Digest(row.get(at)?),
                commits: row.get(at + 1)?,
            })
        };
        let found = statement.query_row([], |row| {
            Ok(Self {
                newest: mark(row, 0)?,
                before: mark(row, 2)?,
                within: row.get::<_, Vec<u8>>(4)?.try_into().ok(),
            })
        });
        let missing = || Fault::Row {
            row: "marks".to_owned(),
            message: "it is missing".to_owned(),
        };
        Ok(Some(found.optional()?.ok_or_else(missing)?))
    }

    /// Returns whether what is seen through a log with these salts goes on where the file ends, or the
    /// file has part of that log already.
    fn goes_on_from(&self, file: &Mark, salts: Option<LogSalts>) -> bool {
        let is_same = self.newest.log == file.log && self.newest.commits >= file.commits;
        // The last commit before a name was given may be in the log, in the file, or in both.
        let has_last = self.within.is_some() && self.within == salts;
        let missing = i64::from(has_last && self.before.commits == file.commits + 1);
        let follows = self.before.commits == file.commits + missing;
        is_same || self.before.log == file.log && follows
    }
}

fn count_tables(connection: &Connection) -> Result<i64> {
    let count = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0));
    Ok(count?)
}

/// Writes the first mark of a record.
pub(super) fn first_mark(connection: &Connection, name: Digest) -> Result<()> {
    connection.execute(
        "INSERT INTO marks (one, log, commits, follows, followed, salts) VALUES (1, ?1, ?2, ?3, ?2, x'')",
        params![name.0, FIRST, Digest([0; 32]).0],
    )?;
    Ok(())
}

/// Begins a log. The last commit that was counted under the name before is in the file, or in the log
/// with these salts.
fn begin(connection: &Connection, name: Digest, within: Option<LogSalts>) -> Result<()> {
    let salts = within.as_ref().map_or(&[][..], |salts| salts);
    connection
        .prepare_cached(
            "UPDATE marks SET follows = log, followed = commits, log = ?1, commits = ?2, salts = ?3 WHERE one = 1",
        )?
        .execute(params![name.0, FIRST, salts])?;
    Ok(())
}

/// Counts a commit.
fn count(connection: &Connection) -> Result<()> {
    connection
        .prepare_cached("UPDATE marks SET commits = commits + 1 WHERE one = 1")?
        .execute([])?;
    Ok(())
}

/// Puts all of a log into the file, and empties it; says whether nobody's reading prevented that.
pub(super) fn empty_log(connection: &Connection) -> Result<bool> {
    let is_busy: bool =
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    Ok(!is_busy)
}

/// Refuses to go on through a log that is not its own.
///
/// Before any connection that writes: the last of those to be closed puts the log into the file.
pub(super) fn must_be_own_log(record: &Path) -> Result<()> {
    must_be_files(record)?;
    if is_begun(record) {
        return Ok(());
    }
    let foreign = |suffix| Fault::ForeignLog {
        record: record.to_owned(),
        log: beside(record, suffix),
    };
    if length(record, JOURNAL) > 0 {
        // Whoever writes next would roll it back over the record.
        return Err(foreign(JOURNAL));
    }
    if is_log_empty(record) {
        return Ok(());
    }
    if std::fs::metadata(record).map_or(0, |file| file.len()) == 0 {
        // SQLite would take it away, with all that may be in it.
        return Err(foreign(LOG));
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(record, flags)?;
    connection.busy_timeout(BUSY)?;
    // Held until the file was looked at: until then nothing newer gets into it.
    let snapshot = connection.unchecked_transaction()?;
    let seen = Marks::of(&snapshot);
    let log = beside(record, LOG);
    let salts = File::open(&log)
        .and_then(|log| salts_of(&log))
        .map_err(|source| Fault::file(&log, source))?;
    let Ok(file) = in_file(record) else {
        // Not a record, or of another version: that is said by whoever looks at that.
        return Ok(());
    };
    let is_own = match (file, seen) {
        (Some(file), Ok(Some(seen))) => seen.goes_on_from(&file.newest, salts),
        // Whoever began to make it was killed before anything was recorded.
        (None, Ok(None)) => true,
        (None, Ok(Some(_))) => rows::head(&snapshot).is_ok_and(|head| head == Head::EMPTY),
        (_, Err(Fault::Storage(error))) if is_unavailable(&error) => return Err(error.into()),
        // The pages do not fit together.
        (_, Ok(None) | Err(_)) => false,
    };
    if is_own { Ok(()) } else { Err(foreign(LOG)) }
}

/// Refuses what SQLite would wait for, or write through, in the place of a file beside a record.
fn must_be_files(record: &Path) -> Result<()> {
    for suffix in [LOG, JOURNAL, SHARED] {
        let path = beside(record, suffix);
        if path.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(Fault::NotFile(path));
        }
    }
    Ok(())
}

/// Returns how long a file beside a record is.
fn length(record: &Path, suffix: &str) -> u64 {
    std::fs::metadata(beside(record, suffix)).map_or(0, |file| file.len())
}

/// Refuses a record that does not say which log is its own.
pub(super) fn must_be_marked(connection: &Connection) -> Result<()> {
    Marks::of(connection).map(|_| ())
}

/// Returns whether a cut of the power left a record that was only begun: no tables, no frame of a log,
/// and a journal that whoever writes next rolls back. A record has a journal only while it is begun.
pub(super) fn is_begun(record: &Path) -> bool {
    if length(record, JOURNAL) == 0 || length(record, LOG) > LOG_HEADER as u64 {
        return false;
    }
    match in_file(record) {
        Ok(marks) => marks.is_none(),
        // Part of its first page is there, which is written only once the journal is on the disk.
        Err(Fault::Storage(error)) => {
            !is_unavailable(&error) && is_journal(&beside(record, JOURNAL))
        }
        Err(_) => false,
    }
}

/// Returns whether a file is a journal of SQLite.
fn is_journal(path: &Path) -> bool {
    let mut magic = [0; JOURNAL_MAGIC.len()];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut magic, 0));
    read.is_ok() && magic == JOURNAL_MAGIC
}

/// Returns whether the world, and not what stands in the files, prevents somebody from reading.
fn is_unavailable(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    let code = error.sqlite_error_code();
    code.is_some_and(|code| !matches!(code, DatabaseCorrupt | NotADatabase | Unknown))
}

/// Returns whether nothing stands in a log.
pub(super) fn is_log_empty(record: &Path) -> bool {
    length(record, LOG) == 0
}

/// Reads the marks that the file itself holds, without its log.
///
/// Through SQLite all the same: a file that is closed by hand loses the locks of this process.
fn in_file(record: &Path) -> Result<Option<Marks>> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let file = Connection::open_with_flags(as_it_stands(record), flags)?;
    // Whoever puts a log into a file may have said how long it will be before it is so long.
    file.pragma_update(None, "writable_schema", true)?;
    Marks::of(&file)
}
