//! The only room that speaks SQL: one file a study, one transaction a batch of commands.
//!
//! A write takes the record's lock (so that waiting is fair), begins immediately, loads what the
//! commands need, decides, appends, folds and commits. It is acknowledged once it is on the disk:
//! by the commit itself, or in a session by a flush that does not hold the lock (`flush`). The rows
//! that follow from the entries are saved in the same transaction, or in a session every so many
//! runs (`derived`). No entry is changed afterwards.
//!
//! - `write`: the one write path; `lock`, `flush`, `group`: how it waits for others and for the disk;
//! - `rows`: rows loaded and saved; `derived`: those that follow from entries, saved or not yet;
//! - `frames`: the protocol and the tasks of a draft;
//! - `anchors`: what was published of a record, kept beside it;
//! - `open`: connections; `schema`: what tables a record has; `location`: where it may stand; `guards`: whether the
//!   log beside it is its own;
//! - `doubt`: what became of a commit that failed; `pace`: whether the wall clock was set;
//! - `transfer`, `import`, `verify`: the record as one file, a record again, everything derived again;
//! - `temporary`: files that are there whole or not at all;
//! - `spill`: rows put away while everything is derived again;
//! - `said`: what was done by hand; `tables`: slots and runs as rows of text, of which some are read while others
//!   are written (`pipe`);
//! - `abreast`: batches that several threads work on, and that stay in order.

mod abreast;
mod anchors;
mod derived;
mod doubt;
mod fault;
mod flush;
mod frames;
mod group;
mod guards;
mod import;
mod location;
mod lock;
mod open;
mod pace;
mod pipe;
mod rows;
mod said;
mod schema;
mod spill;
mod tables;
mod temporary;
#[cfg(test)]
mod tests;
mod transfer;
mod verify;
mod write;

pub use anchors::{anchors_of, published_beside};
pub use fault::Fault;
pub use flush::Flush;
pub use group::{GroupCommit, Lead};
pub use import::{Import, import};
pub use temporary::Temporary;
pub use transfer::Exported;
pub use verify::{EachRun, End, Verification, verify, verify_against};
pub use write::{Request, Response, Writer};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags, Transaction};

use crate::engine::blocks::{self, Block, Flag};
use crate::engine::rules::Rules;
use crate::engine::slice::{Run, Slice, Standing};
use crate::engine::start::{self, Peek};
use crate::protocol::frame::Task;
use crate::record::entry::{self, Head};
use crate::report::tally::Tally;
use crate::units::{Digest, RunId, Time};
use derived::Derived;
use guards::Place;
use lock::Lock;
use open::Durability;
use pace::Pace;
use write::Salts;

type Result<T> = std::result::Result<T, Fault>;

/// What SQLite appends to the name of a record for its log.
const LOG: &str = "-wal";
/// What SQLite appends to it for what is to be rolled back while a record is begun.
const JOURNAL: &str = "-journal";
/// What it appends to it for what those who have it open share.
const SHARED: &str = "-shm";
/// The shortest page of a database, in bytes.
const PAGE_MIN: u64 = 512;

/// An open record.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// What a writer holds on to; none where the record is only read.
    held: Option<Hold>,
    durability: Durability,
    clock: fn() -> Time,
    pace: Pace,
    salts: Salts,
    /// How many rows of a kind may have changed before derived rows are saved.
    lag_max: usize,
    cache: Cache,
}

/// What a writer holds on to.
#[derive(Debug)]
struct Hold {
    lock: Lock,
    place: Place,
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
        match Self::may_open(path) {
            Err(Fault::NotFound(_)) => anchors::must_extend(path, None)?,
            checked => checked?,
        }
        Self::connect(path, OpenFlags::SQLITE_OPEN_CREATE, clock)
    }

    /// Opens a record that exists, to write.
    pub fn open(path: &Path, clock: fn() -> Time) -> Result<Self> {
        Self::may_open(path)?;
        Self::connect(path, OpenFlags::empty(), clock)
    }

    /// Refuses a file that is no record, before anything is written to it.
    fn may_open(path: &Path) -> Result<()> {
        match must_be_file(path)? {
            // Nothing may have been published of a record that is only made now.
            0 => anchors::must_extend(path, None),
            bytes => may_be_record(path, bytes),
        }
    }

    fn connect(path: &Path, more: OpenFlags, clock: fn() -> Time) -> Result<Self> {
        location::must_be_local(path)?;
        location::must_have_one_name(path)?;
        let lock = Lock::of(path)?;
        let held = lock.hold()?;
        let mut salts = Salts::new()?;
        guards::must_be_own_log(path)?;
        let connection = open::connect_to_write(path, more)?;
        open::prepare(&connection, path, &mut salts)?;
        anchors::must_extend(path, Some(&connection))?;
        let place = Place::of(path)?;
        drop(held);
        Ok(Self {
            connection,
            path: path.to_owned(),
            held: Some(Hold { lock, place }),
            durability: Durability::Commit,
            clock,
            pace: Pace::default(),
            salts,
            lag_max: 0,
            cache: Cache::default(),
        })
    }

    /// Opens a record to read; nothing is written.
    pub fn read(path: &Path) -> Result<Self> {
        let path = &location::followed(path);
        may_be_record(path, must_be_file(path)?)?;
        if guards::is_begun(path) {
            return Err(Fault::NotFound(path.to_owned()));
        }
        guards::must_be_own_log(path)?;
        let connection = match open::connect_to_read(path, path, OpenFlags::empty()) {
            Err(Fault::Storage(error))
                if open::is_beyond_writing(&error) && guards::is_log_empty(path) =>
            {
                open::connect_to_read(path, &open::as_it_stands(path), OpenFlags::SQLITE_OPEN_URI)
            }
            connected => connected,
        };
        Ok(Self {
            connection: connection?,
            path: path.to_owned(),
            held: None,
            durability: Durability::Commit,
            clock: || Time(0),
            pace: Pace::default(),
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
        let standing = derived(&snapshot, &mut self.cache)?.slice.standing.clone();
        current_rules(&snapshot, &mut self.cache.rules, &standing)
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

    /// Says what became of the slots of the registered plan so far; none where no protocol stands on the
    /// record.
    pub fn tally(&mut self) -> Result<Option<Tally>> {
        self.ask(Tally::of)
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
        frames::newest_text(&self.connection)
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
        _ => Derived::read(transaction, &mut cache.rules)?,
    };
    Ok(cache.derived.insert(derived))
}

/// Returns the path of a file that stands beside a record.
fn beside(record: &Path, suffix: &str) -> PathBuf {
    let mut name = record.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Returns the folder that a file stands in.
fn folder_of(file: &Path) -> &Path {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Returns the rules of the draft that a standing has opened last, read again only when it changed.
fn current_rules(
    connection: &Connection,
    cached: &mut Option<Arc<Rules>>,
    standing: &Standing,
) -> Result<Option<Arc<Rules>>> {
    if cached.as_ref().map(|rules| rules.digest()) == standing.opened {
        return Ok(cached.clone());
    }
    let Some(opened) = standing.opened else {
        return Ok(None);
    };
    let broken = |message: &str| Fault::Row {
        row: format!("draft {}", standing.draft),
        message: message.to_owned(),
    };
    let draft = frames::draft(connection, standing.draft)?;
    let draft = draft.ok_or_else(|| broken("it is missing"))?;
    let rules = if Rules::needs_names(&draft.registration) {
        held_rules(connection, draft.seq)?
    } else {
        Rules::of_rows(draft.registration, draft.extent)
    };
    if rules.digest() != opened {
        return Err(broken("it is not what was opened"));
    }
    *cached = Some(Arc::new(rules));
    Ok(cached.clone())
}

/// Returns the rules of the draft that an entry opened, with every task in memory.
fn held_rules(connection: &Connection, seq: u64) -> Result<Rules> {
    let broken = |message| Fault::Row {
        row: format!("entry {seq}"),
        message,
    };
    let found = rows::entry(connection, seq)?.ok_or_else(|| broken("it is missing".to_owned()))?;
    let (registration, tasks) = entry::read_opened(&found.body).map_err(broken)?;
    Rules::of_record(registration, tasks).map_err(broken)
}
