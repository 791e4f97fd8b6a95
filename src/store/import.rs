//! A record again from its export: verified while it is read, and there only when it is whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};

use super::derived::{self, Derived};
use super::verify::{self, End};
use super::write::Salts;
use super::write::is_made_up;
use super::{
    Fault, JOURNAL, LOG, Result, Temporary, beside, current_rules, must_be_file, open, rows,
};
use crate::engine::rules::Rules;
use crate::engine::slice::{Slice, Standing};
use crate::record::anchor::expected::Expected;
use crate::record::divergence::Divergence;
use crate::record::entry::{self, Answer, Entry, Head};
use crate::record::export::Header;

/// After how many changed rows of a kind they are saved.
const LAG_MAX: usize = 512;

/// What an import came to.
#[derive(Debug)]
pub enum Import {
    /// The record stands.
    Done {
        /// Where.
        record: PathBuf,
        /// Its newest entry.
        head: Head,
        /// The study's id.
        study: String,
    },
    /// The export does not follow from itself.
    Diverged(Divergence),
}

/// Makes a record from an export: at the path that is named, or called as its study in a folder.
///
/// Nothing stands there before all of it has been verified and is on the disk.
pub fn import(export: &Path, to: Option<&Path>, folder: &Path) -> Result<Import> {
    must_be_file(export)?;
    to.map_or(Ok(()), must_be_free)?;
    let place = to.map_or_else(|| folder.join("import"), Path::to_owned);
    let mut made = Made::begin(&place)?;
    let mut study = String::new();
    let verified = verify::exported(
        export,
        &mut Expected::default(),
        |header: &Header| {
            study.clone_from(&header.study);
            match header.sealed {
                true => Err(Fault::SealedExport(export.to_owned())),
                false => Ok(()),
            }
        },
        |entry| made.add(entry),
    );
    let head = match verified {
        Ok(audit) => audit.head,
        Err(End::Diverged(divergence)) => return Ok(Import::Diverged(divergence)),
        Err(End::Fault(fault)) => return Err(fault),
    };
    // Only what was verified names a file.
    let record = to.map_or_else(|| folder.join(format!("{study}.prereg.db")), Path::to_owned);
    made.finish(&record)?;
    Ok(Import::Done {
        record,
        head,
        study,
    })
}

/// Refuses a place where something stands, or where a log or journal of a record that was there still does.
fn must_be_free(record: &Path) -> Result<()> {
    let (log, journal) = (beside(record, LOG), beside(record, JOURNAL));
    match [record, &log, &journal]
        .into_iter()
        .find(|path| path.symlink_metadata().is_ok())
    {
        Some(path) => Err(Fault::Exists(path.to_owned())),
        None => Ok(()),
    }
}

/// A record under a name of this process alone.
struct Made {
    connection: Connection,
    derived: Derived,
    rules: Option<Arc<Rules>>,
    /// Closed after the connection, whose own locks on the file that would lose.
    file: Temporary,
}

impl Made {
    fn begin(place: &Path) -> Result<Self> {
        let file = Temporary::begin(place)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(file.path(), flags)?;
        open::prepare(&connection, file.path(), &mut Salts::new()?)?;
        // Nobody reads it before it is whole: what breaks is thrown away.
        connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
        connection.pragma_update(None, "synchronous", "OFF")?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Self {
            connection,
            derived: Derived {
                head: Head::EMPTY,
                slice: Slice::of(Standing::default()),
            },
            rules: None,
            file,
        })
    }

    /// Adds an entry that was checked.
    fn add(&mut self, entry: &Entry) -> Result<()> {
        let connection = &self.connection;
        let broken = |message| Fault::Row {
            row: format!("entry {}", entry.seq),
            message,
        };
        rows::append(connection, entry)?;
        let (command, ruling) = entry::unseal(entry).map_err(broken)?;
        // The entries do not tell which keys were given; those that nobody could repeat are not kept.
        if !is_made_up(&command.key) && rows::key(connection, &command.key)?.is_none() {
            rows::save_key(connection, &command.key, entry.seq)?;
        }
        if let Answer::Granted(events) = &ruling {
            derived::save_draft(connection, entry.seq, &command.action, events)?;
        }
        let standing = &self.derived.slice.standing;
        let rules = current_rules(connection, &mut self.rules, standing)?;
        self.derived
            .follow(connection, rules.as_deref(), &command, &ruling)?;
        self.derived.head = Head {
            seq: entry.seq,
            digest: entry.digest,
        };
        if self.derived.lag() >= LAG_MAX {
            self.derived.save(connection)?;
        }
        Ok(())
    }

    /// Gives the record its name, once all of it is on the disk.
    fn finish(self, record: &Path) -> Result<()> {
        let Self {
            file,
            connection,
            mut derived,
            ..
        } = self;
        derived.save(&connection)?;
        connection.execute_batch("COMMIT")?;
        connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        connection.close().map_err(|(_, error)| error)?;
        must_be_free(record)?;
        file.take_place(record)
    }
}
