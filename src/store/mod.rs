//! The only room that speaks SQL: one file a study, one transaction a batch of commands.
//!
//! A write takes the record's lock (so that waiting is fair), begins immediately, loads what the
//! commands need, decides, appends, folds and commits. It is acknowledged once it is on the disk:
//! by the commit itself, or in a session by a flush that does not hold the lock (`flush`). The rows
//! that follow from the entries are saved in the same transaction, or in a session every so many
//! runs (`derived`). No entry is changed afterwards.
//!
//! - `write`: the one write path; `lock`, `flush`: how it waits for others and for the disk;
//! - `rows`: rows loaded and saved; `derived`: those that follow from entries, saved or not yet;
//! - `transfer`, `import`, `verify`: the record as one file, a record again, everything derived again;
//! - `said`: what was done by hand; `tables`: slots and runs as rows of text.

mod derived;
mod fault;
mod flush;
mod import;
mod lock;
mod rows;
mod said;
mod tables;
#[cfg(test)]
mod tests;
mod transfer;
mod verify;
mod write;

pub use fault::Fault;
pub use flush::Flush;
pub use import::{Import, import};
pub use transfer::Exported;
pub use verify::{Verification, verify};
pub use write::{Request, Response, Writer};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction};

use crate::engine::blocks::{self, Block, Flag};
use crate::engine::rules::Rules;
use crate::engine::slice::{Row, Run, Slice, Standing};
use crate::engine::start::{self, Peek};
use crate::protocol::frame::Task;
use crate::record::entry::{self, Head};
use crate::units::{Digest, RunId, Time};
use derived::Derived;
use lock::Lock;
use write::Salts;

type Result<T> = std::result::Result<T, Fault>;

/// What the file's header says: "preg".
const APPLICATION_ID: i64 = 0x7072_6567;
/// The version of the tables.
const VERSION: i64 = 1;
/// What SQLite appends to the name of a record for its log.
const LOG: &str = "-wal";
/// The shortest page of a database, in bytes.
const PAGE_MIN: u64 = 512;
/// How long a connection waits for another's transaction, beyond the lock.
const BUSY: Duration = Duration::from_secs(60);

/// An open record.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    lock: Option<Lock>,
    clock: fn() -> Time,
    salts: Salts,
    /// How many runs may have changed before derived rows are saved.
    lag_max: usize,
    cache: Cache,
}

/// What was read last, good as long as nobody else writes.
#[derive(Debug, Default)]
struct Cache {
    derived: Option<Derived>,
    rules: Option<Arc<Rules>>,
}

impl Store {
    /// Opens a record to write, and makes one where there is none.
    ///
    /// An empty file is one that somebody began to make.
    pub fn create(path: &Path, clock: fn() -> Time) -> Result<Self> {
        match must_be_file(path).and_then(|bytes| may_be_record(path, bytes)) {
            Ok(()) | Err(Fault::NotFound(_)) => {}
            Err(fault) => return Err(fault),
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        Self::connect(path, flags, clock)
    }

    /// Opens a record that exists, to write.
    pub fn open(path: &Path, clock: fn() -> Time) -> Result<Self> {
        may_be_record(path, must_be_file(path)?)?;
        Self::connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE, clock)
    }

    fn connect(path: &Path, flags: OpenFlags, clock: fn() -> Time) -> Result<Self> {
        let lock = Lock::of(path)?;
        let held = lock.hold()?;
        let connection =
            Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(64);
        prepare(&connection, path)?;
        drop(held);
        Ok(Self {
            connection,
            path: path.to_owned(),
            lock: Some(lock),
            clock,
            salts: Salts::new()?,
            lag_max: 0,
            cache: Cache::default(),
        })
    }

    /// Opens a record to read; nothing is written.
    pub fn read(path: &Path) -> Result<Self> {
        may_be_record(path, must_be_file(path)?)?;
        let connection = match connect_to_read(path, path, OpenFlags::empty()) {
            Err(Fault::Storage(error)) if is_beyond_writing(&error) && is_closed(path) => {
                connect_to_read(path, &as_it_stands(path), OpenFlags::SQLITE_OPEN_URI)
            }
            connected => connected,
        };
        Ok(Self {
            connection: connection?,
            path: path.to_owned(),
            lock: None,
            clock: || Time(0),
            salts: Salts::new()?,
            lag_max: 0,
            cache: Cache::default(),
        })
    }

    /// Returns where the record stands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the newest entry's number and digest.
    pub fn head(&self) -> Result<Head> {
        rows::head(&self.connection)
    }

    /// Returns the digest of the first entry, which no other record has.
    pub fn first_digest(&self) -> Result<Option<Digest>> {
        Ok(rows::entry(&self.connection, 1)?.map(|entry| entry.digest))
    }

    /// Returns whether an operation was answered under this key.
    pub fn is_answered(&self, key: &str) -> Result<bool> {
        Ok(rows::key(&self.connection, key)?.is_some())
    }

    /// Returns the standing.
    pub fn standing(&mut self) -> Result<Standing> {
        let snapshot = self.connection.unchecked_transaction()?;
        Ok(derived(&snapshot, &mut self.cache)?.slice.standing.clone())
    }

    /// Returns the rules of the protocol that was opened last.
    pub fn rules(&mut self) -> Result<Option<Arc<Rules>>> {
        let snapshot = self.connection.unchecked_transaction()?;
        let opened = derived(&snapshot, &mut self.cache)?.slice.standing.opened;
        current_rules(&snapshot, &mut self.cache.rules, opened)
    }

    /// Returns a task of the frame as it stands.
    pub fn task(&mut self, id: &str) -> Result<Option<Task>> {
        let found = self.ask(|rules, slice| rules.task_in(slice, id).map(Cow::into_owned))?;
        Ok(found.flatten())
    }

    /// Says what may start next in the registered plan, at a time.
    pub fn peek(&mut self, now: Time) -> Result<Peek> {
        let next =
            self.ask(|rules, slice| start::peek(rules, slice, now.max(slice.standing.at)))?;
        Ok(next.unwrap_or(Peek::Wait))
    }

    /// Returns how far every block of the registered plan has come, in order.
    pub fn blocks(&mut self) -> Result<Vec<Block>> {
        Ok(self.ask(blocks::all)?.unwrap_or_default())
    }

    /// Returns how many blocks of the registered plan are complete, and how many there are.
    pub fn blocks_complete(&mut self) -> Result<(u64, u64)> {
        Ok(self.ask(blocks::complete)?.unwrap_or_default())
    }

    /// Returns what is said of a run by its block; nothing of a run that is in none.
    pub fn block_of(&mut self, run: &Run) -> Result<Option<Flag>> {
        let flag = self.ask(|rules, slice| blocks::of_run(rules, slice, run))?;
        Ok(flag.flatten())
    }

    /// Asks a question about the rules and the slice; none where no protocol stands on the record.
    fn ask<T>(&mut self, question: impl Fn(&Rules, &Slice) -> T) -> Result<Option<T>> {
        let Some(rules) = self.rules()? else {
            return Ok(None);
        };
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        let answer = derived.ask(&snapshot, |slice| question(&rules, slice))?;
        Ok(Some(answer))
    }

    /// Returns the text of the protocol that was opened last.
    pub fn protocol_text(&self) -> Result<Option<String>> {
        let Some((row, body)) = opened_body(&self.connection)? else {
            return Ok(None);
        };
        let broken = |message| Fault::Row { row, message };
        Ok(Some(entry::read_opened_text(&body).map_err(broken)?))
    }

    /// Returns a run.
    pub fn run(&mut self, run: RunId) -> Result<Option<Run>> {
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        derived.run(&snapshot, run)
    }

    /// Returns the runs that are live or ended and not closed, in order.
    pub fn open_runs(&mut self) -> Result<Vec<Run>> {
        let standing = self.standing()?;
        let open: BTreeSet<RunId> = standing.live.into_keys().chain(standing.ended).collect();
        open.into_iter()
            .filter_map(|run| self.run(run).transpose())
            .collect()
    }

    /// Hands every row from which slots are counted to a function: windows, lanes, and then the runs
    /// in order; returns the standing that they belong to.
    pub fn each_row(&mut self, each: impl FnMut(Row)) -> Result<Standing> {
        let snapshot = self.connection.unchecked_transaction()?;
        let derived = derived(&snapshot, &mut self.cache)?;
        derived::each_row(&snapshot, derived, each)?;
        Ok(derived.slice.standing.clone())
    }
}

/// Returns the length of the regular file at a path; it is only looked at, since closing it would lose
/// the locks that this process has on it.
fn must_be_file(path: &Path) -> Result<u64> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => Ok(found.len()),
        Ok(_) => Err(Fault::NotFile(path.to_owned())),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => {
            Err(Fault::NotFound(path.to_owned()))
        }
        Err(source) => Err(Fault::file(path, source)),
    }
}

/// Refuses a file that is too short to be a database, which SQLite would take for an empty one.
fn may_be_record(path: &Path, bytes: u64) -> Result<()> {
    if (1..PAGE_MIN).contains(&bytes) {
        return Err(Fault::NotARecord(path.to_owned()));
    }
    Ok(())
}

/// Returns the derived rows as of the newest entry.
///
/// In a transaction, so that somebody else's rows are not saved between two looks.
fn derived<'c>(transaction: &Transaction<'_>, cache: &'c mut Cache) -> Result<&'c mut Derived> {
    let head = rows::head(transaction)?;
    let derived = match cache.derived.take() {
        Some(derived) if derived.head == head => derived,
        _ => Derived::read(transaction)?,
    };
    Ok(cache.derived.insert(derived))
}

/// Opens a connection that only reads, by a path or, with the flag for it, a URI.
fn connect_to_read(path: &Path, name: &Path, more: OpenFlags) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(BUSY)?;
    recognise(&connection, path)?;
    Ok(connection)
}

/// Returns whether SQLite could not put its index beside the file, as on a read-only medium.
fn is_beyond_writing(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

/// Returns whether all of a record is in its file, and nothing in a log beside it.
fn is_closed(path: &Path) -> bool {
    std::fs::metadata(beside(path, LOG)).map_or(true, |log| log.len() == 0)
}

/// Returns the path of a file that stands beside a record.
fn beside(record: &Path, suffix: &str) -> PathBuf {
    let mut name = record.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the URI that opens a file which nobody changes while it is read.
fn as_it_stands(path: &Path) -> PathBuf {
    let mut uri = b"file:".to_vec();
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").into_bytes()),
            _ => uri.push(*byte),
        }
    }
    uri.extend(b"?immutable=1");
    PathBuf::from(OsString::from_vec(uri))
}

/// Returns the rules of the protocol that was opened last, read again only when it changed.
fn current_rules(
    connection: &Connection,
    cached: &mut Option<Arc<Rules>>,
    opened: Option<Digest>,
) -> Result<Option<Arc<Rules>>> {
    if cached.as_ref().map(|rules| rules.digest()) == opened {
        return Ok(cached.clone());
    }
    let Some((row, body)) = opened_body(connection)? else {
        return Ok(None);
    };
    let broken = |message| Fault::Row {
        row: row.clone(),
        message,
    };
    let (registration, tasks) = entry::read_opened(&body).map_err(broken)?;
    *cached = Some(Arc::new(
        Rules::of_record(registration, tasks).map_err(broken)?,
    ));
    Ok(cached.clone())
}

/// Returns the body of the entry that opened the newest draft, and what it is called.
fn opened_body(connection: &Connection) -> Result<Option<(String, String)>> {
    let Some(seq) = rows::last_draft(connection)? else {
        return Ok(None);
    };
    let found = rows::entry(connection, seq)?;
    Ok(found.map(|found| (format!("entry {seq}"), found.body)))
}

/// Sets up a connection that writes, and the tables of a file that has none.
fn prepare(connection: &Connection, path: &Path) -> Result<()> {
    let empty: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| foreign(error, path))?;
    if empty > 0 {
        // Before anything is set: somebody else's database is left as it is.
        recognise(connection, path)?;
    }
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    if empty == 0 {
        connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; {} COMMIT;",
            include_str!("schema.sql")
        ))?;
    }
    recognise(connection, path)
}

/// Refuses a file that is not a record, or is of a newer version.
fn recognise(connection: &Connection, path: &Path) -> Result<()> {
    let pragma = |name: &str| {
        connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
    };
    let application = pragma("application_id").map_err(|error| foreign(error, path))?;
    let version = pragma("user_version")?;
    let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    })?;
    if application == 0 && tables == 0 {
        // Whoever began to make it was killed before there was anything in it.
        return Err(Fault::NotFound(path.to_owned()));
    }
    if application != APPLICATION_ID {
        return Err(Fault::NotARecord(path.to_owned()));
    }
    if version > VERSION {
        return Err(Fault::Newer {
            path: path.to_owned(),
            found: version,
            known: VERSION,
        });
    }
    Ok(())
}

fn foreign(error: rusqlite::Error, path: &Path) -> Fault {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => Fault::NotARecord(path.to_owned()),
        _ => Fault::Storage(error),
    }
}
