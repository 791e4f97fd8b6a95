//! Opens connections: what a file must be, how it is written, and the tables of one that has none.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::write::Salts;
use super::{Fault, Result, guards, rows, schema};
use crate::record::entry::Head;

/// What the file's header says: "preg".
const APPLICATION_ID: i64 = 0x7072_6567;
/// The version of the tables.
const VERSION: i64 = 3;
/// How long a connection waits for another's transaction, beyond the lock.
pub(super) const BUSY: Duration = Duration::from_secs(60);

/// When what is committed is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Durability {
    /// With the commit.
    Commit,
    /// Once it has been flushed.
    Flush,
}

impl Durability {
    /// Returns what SQLite calls it.
    pub(super) fn synchronous(self) -> &'static str {
        match self {
            Self::Commit => "FULL",
            Self::Flush => "NORMAL",
        }
    }
}

/// Opens a connection that only reads, by a path or, with the flag for it, a URI.
pub(super) fn connect_to_read(path: &Path, name: &Path, more: OpenFlags) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(name, flags)?;
    connection.busy_timeout(BUSY)?;
    recognise(&connection, path)?;
    Ok(connection)
}

/// Opens a connection that writes.
pub(super) fn connect_to_write(path: &Path, more: OpenFlags) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(64);
    // A plan that does not go by the values that are bound: else some would be made anew each time.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(connection)
}

/// Opens another connection to a record that is being written.
pub(super) fn open_to_write(path: &Path, durability: Durability) -> Result<Connection> {
    let connection = connect_to_write(path, OpenFlags::empty())?;
    set_up(&connection, durability)?;
    recognise(&connection, path)?;
    Ok(connection)
}

/// Sets how a connection writes.
fn set_up(connection: &Connection, durability: Durability) -> Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", durability.synchronous())?;
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    Ok(())
}

/// Returns whether SQLite could not put its index beside the file, as on a read-only medium.
pub(super) fn is_beyond_writing(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}

/// Returns the URI that opens a file which nobody changes while it is read.
pub(super) fn as_it_stands(path: &Path) -> PathBuf {
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

/// Sets up a connection that writes, and the tables of a file that has none.
pub(super) fn prepare(connection: &Connection, path: &Path, salts: &mut Salts) -> Result<()> {
    let empty: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(|error| foreign(error, path))?;
    if empty > 0 {
        // Before anything is set: somebody else's database is left as it is.
        recognise(connection, path)?;
    }
    set_up(connection, Durability::Commit)?;
    if empty == 0 {
        let made = connection.unchecked_transaction()?;
        made.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}; {}",
            schema::TEXT
        ))?;
        guards::first_mark(&made, salts.next())?;
        made.commit()?;
        recognise(connection, path)?;
    }
    if rows::head(connection)? == Head::EMPTY {
        // A log is known by what the file says, so the file says it before there is any entry.
        guards::empty_log(connection)?;
    }
    Ok(())
}

/// Refuses a file that is not a record, or is of a newer version.
pub(super) fn recognise(connection: &Connection, path: &Path) -> Result<()> {
    // One look: whoever is making the record sets both in one transaction.
    let look = connection.unchecked_transaction()?;
    let pragma =
        |name: &str| look.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let application = pragma("application_id").map_err(|error| foreign(error, path))?;
    let version = pragma("user_version")?;
    let tables = look.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
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
    if version < VERSION {
        return Err(Fault::Older {
            path: path.to_owned(),
            found: version,
        });
    }
    schema::must_be_own(&look, path)
}

fn foreign(error: rusqlite::Error, path: &Path) -> Fault {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => Fault::NotARecord(path.to_owned()),
        _ => error.into(),
    }
}
