//! A record: its entries, what finds them again, and the tables that are derived from them.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, Rows};

use super::abreast::{self, Closed, In};
use super::tables::{self, Checked, Raw, Table};
use super::{Auditor, EachRun, End, HELD, compare_backward, see, show, tables_differ};
use crate::engine::slice::Standing;
use crate::record::anchor::expected::Expected;
use crate::record::audit::{Audit, Filed};
use crate::record::divergence::{Code, Divergence};
use crate::record::entry::{Entry, GENESIS, Head};
use crate::record::reading::{self, Reading};
use crate::store::spill::Spill;
use crate::store::{Fault, Store, frames, rows};
use crate::units::Digest;

/// How many entries or rows are worked on at once.
const BATCH: usize = 128;

/// What is read of a record, in this order; the tables come after the entry that they stand for.
enum Batch {
    Entries(Digest, Vec<Kept>),
    Standing,
    Rows(Vec<Raw>),
    EndOf(Table),
    /// The keys that lead to no entry, as far as that shows by itself.
    Keys(bool),
    Broken(Fault),
}

/// An entry, and the keys that are said to lead to it.
struct Kept {
    entry: Entry,
    keys: Vec<Vec<u8>>,
}

/// What came of a batch.
enum Done {
    Entries(Vec<(Reading, Kept)>),
    Standing,
    /// Rows, and what is wrong with the one after them, if something is.
    Rows(Vec<Checked>, Option<Fault>),
    EndOf(Table),
    Keys(bool),
    Broken(Option<Fault>),
}

/// Verifies a record; returns nothing where it has no entries yet.
pub(super) fn record(
    path: &Path,
    expected: &mut Expected,
    each_run: Option<EachRun<'_>>,
) -> Result<Option<Audit>, End> {
    let mut store = match Store::read(path) {
        Ok(store) => store,
        // Whoever began to make it was killed before there was anything in it.
        Err(Fault::NotFound(_)) => {
            expected.end(Head::EMPTY)?;
            return Ok(None);
        }
        Err(Fault::NotARecord(_)) => {
            let message = "the file is a database, but not a record of prereg";
            return Err(Divergence::new(Code::NotARecord, 0, message).into());
        }
        Err(other) => return Err(other.into()),
    };
    // One snapshot of everything, beside whoever writes.
    let begun = store.connection.execute_batch("BEGIN");
    begun.map_err(Fault::from)?;
    let (standing, applied) = rows::standing(&store.connection)?;
    let mut comparison = Comparison {
        auditor: Auditor::new(Spill::default(), HELD),
        files: Files::default(),
        standing,
        seen: BTreeMap::new(),
    };
    let connection = &mut store.connection;
    abreast::in_order(
        move |gate| read_all(connection, applied, gate),
        work,
        |done| comparison.take(done, expected),
    )?;
    let Comparison {
        mut auditor, files, ..
    } = comparison;
    if auditor.head() == Head::EMPTY && applied == 0 {
        // Whoever made it was refused, or was killed before the first entry.
        files.compare(&store.connection)?;
        expected.end(Head::EMPTY)?;
        return Ok(None);
    }
    show(&mut auditor, expected, each_run)?;
    let audit = auditor.finish()?;
    if applied == 0 || applied > audit.head.seq {
        return Err(tables_differ(
            "the derived tables stand for an entry that is not there".to_owned(),
        ));
    }
    files.compare(&store.connection)?;
    for backward in expected.backward() {
        let found = rows::entry(&store.connection, backward.head.seq)?;
        compare_backward(*backward, found.map(|entry| entry.digest))?;
    }
    expected.end(audit.head)?;
    Ok(Some(audit))
}

/// Works on a batch as far as that needs no other ones.
fn work(batch: Batch) -> Done {
    match batch {
        Batch::Entries(mut previous, entries) => {
            let entries = entries.into_iter().map(|kept| {
                let read = reading::read(kept.entry.text(), &previous, true);
                previous = read.digest;
                (read, kept)
            });
            Done::Entries(entries.collect())
        }
        Batch::Standing => Done::Standing,
        Batch::Rows(rows) => check(rows),
        Batch::EndOf(table) => Done::EndOf(table),
        Batch::Keys(differ) => Done::Keys(differ),
        Batch::Broken(fault) => Done::Broken(Some(fault)),
    }
}

/// Checks rows up to the first that is wrong.
fn check(rows: Vec<Raw>) -> Done {
    let mut checked = Vec::with_capacity(rows.len());
    for row in rows {
        match row.check() {
            Ok(row) => checked.push(row),
            Err(fault) => return Done::Rows(checked, Some(fault)),
        }
    }
    Done::Rows(checked, None)
}

/// A record beside what its entries say.
struct Comparison {
    auditor: Auditor,
    files: Files,
    /// The standing as it was saved.
    standing: Standing,
    /// How many rows of each table were compared.
    seen: BTreeMap<Table, usize>,
}

impl Comparison {
    /// Compares what was read; gives it back.
    fn take(&mut self, mut done: Done, expected: &mut Expected) -> Result<Done, End> {
        match &mut done {
            Done::Entries(entries) => {
                for (read, Kept { entry, keys }) in entries {
                    let filed = self.auditor.follow(read, &entry.body)?;
                    see(expected, &self.auditor, &filed)?;
                    self.files.count(&self.auditor, &filed, keys);
                }
            }
            Done::Standing if self.standing != *self.auditor.standing() => {
                let message = "the table `standing` is not what the entries say";
                return Err(tables_differ(message.to_owned()));
            }
            Done::Standing => {}
            Done::Rows(rows, wrong) => {
                for row in rows {
                    *self.seen.entry(row.table()).or_default() += 1;
                    row.compare(&mut self.auditor)?;
                }
                if let Some(fault) = wrong.take() {
                    return Err(fault.into());
                }
            }
            Done::EndOf(table) => {
                let seen = self.seen.get(table).copied().unwrap_or_default();
                tables::compare_count(*table, seen, &self.auditor)?;
            }
            Done::Keys(differ) => self.files.keys_differ |= *differ,
            Done::Broken(fault) => {
                if let Some(fault) = fault.take() {
                    return Err(fault.into());
                }
            }
        }
        Ok(done)
    }
}

/// What the tables that find entries again should hold.
#[derive(Default)]
struct Files {
    /// What the rows of each draft should say.
    drafts: BTreeMap<u64, Digest>,
    keys_differ: bool,
}

impl Files {
    /// Counts an entry. A key that nobody gave is not kept; one that is kept leads to its entry.
    fn count(&mut self, auditor: &Auditor, filed: &Filed, keys: &[Vec<u8>]) {
        if let (Some((draft, text)), Some(rules)) = (&filed.draft, auditor.rules()) {
            let said = frames::digest(auditor.head().seq, text, rules);
            self.drafts.insert(*draft, said);
        }
        self.keys_differ |= keys.iter().any(|key| key != filed.key.as_bytes());
    }

    fn compare(&self, connection: &Connection) -> Result<(), End> {
        let differs = |table: &str| {
            Err(tables_differ(format!(
                "the table `{table}` is not what the entries say"
            )))
        };
        if frames::digests(connection)? != self.drafts {
            return Err(tables_differ(
                "the tables `drafts` and `tasks` are not what the entries say".to_owned(),
            ));
        }
        if self.keys_differ {
            return differs("keys");
        }
        Ok(())
    }
}

/// Why reading ends.
enum Stop {
    Closed,
    Fault(Fault),
}

impl From<Closed> for Stop {
    fn from(Closed: Closed) -> Self {
        Self::Closed
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Self {
        Self::Fault(error.into())
    }
}

type Gate = In<Batch, Done>;

/// Hands in everything that a record holds.
fn read_all(connection: &Connection, applied: u64, gate: &Gate) -> Result<(), Closed> {
    match read(connection, applied, gate) {
        Ok(()) => Ok(()),
        Err(Stop::Closed) => Err(Closed),
        Err(Stop::Fault(fault)) => gate.hand(Batch::Broken(fault)),
    }
}

fn read(connection: &Connection, applied: u64, gate: &Gate) -> Result<(), Stop> {
    let mut keys = connection.prepare("SELECT seq, key FROM keys ORDER BY seq")?;
    let mut keys = Keys::of(keys.query([])?);
    let mut waiting = Vec::new();
    let mut before = GENESIS;
    let read = rows::each_entry(connection, |entry| {
        let Entry { seq, digest, .. } = entry;
        let keys = keys.of_entry(seq);
        waiting.push(Kept { entry, keys });
        if waiting.len() == BATCH || seq == applied {
            gate.hand(Batch::Entries(before, std::mem::take(&mut waiting)))?;
            before = digest;
        }
        // The derived rows may lag behind the entries: they are compared where they stand.
        match seq == applied {
            true => hand_tables(connection, gate),
            false => Ok(()),
        }
    });
    // Whatever ended it, what was read before counts.
    let is_empty = before == GENESIS && waiting.is_empty();
    gate.hand(Batch::Entries(before, waiting))?;
    read?;
    if is_empty && applied == 0 {
        hand_tables(connection, gate)?;
    }
    let differ = keys.rest()?;
    Ok(gate.hand(Batch::Keys(differ))?)
}

/// Hands in the tables that are derived from the entries.
fn hand_tables(connection: &Connection, gate: &Gate) -> Result<(), Stop> {
    gate.hand(Batch::Standing)?;
    for table in Table::ALL {
        let mut waiting = Vec::new();
        tables::each(connection, table, |row| {
            waiting.push(row);
            match waiting.len() {
                BATCH => Ok(gate.hand(Batch::Rows(std::mem::take(&mut waiting)))?),
                _ => Ok::<(), Stop>(()),
            }
        })?;
        gate.hand(Batch::Rows(waiting))?;
        gate.hand(Batch::EndOf(table))?;
    }
    Ok(())
}

/// The keys that are kept, by the entry that each is said to lead to.
struct Keys<'s> {
    rows: Rows<'s>,
    /// The next one.
    next: Option<(i64, Vec<u8>)>,
    /// Whether one leads to no entry.
    differ: bool,
    /// What is wrong with the table; it is said once all entries were read.
    fault: Option<rusqlite::Error>,
}

impl<'s> Keys<'s> {
    fn of(rows: Rows<'s>) -> Self {
        let mut keys = Self {
            rows,
            next: None,
            differ: false,
            fault: None,
        };
        keys.go_on();
        keys
    }

    fn go_on(&mut self) {
        self.next = self.read().unwrap_or_else(|error| {
            self.fault = Some(error);
            None
        });
    }

    fn read(&mut self) -> rusqlite::Result<Option<(i64, Vec<u8>)>> {
        let Some(row) = self.rows.next()? else {
            return Ok(None);
        };
        let key = row.get_ref(1)?.as_bytes()?;
        Ok(Some((row.get(0)?, key.to_owned())))
    }

    /// Returns the keys that lead to an entry; entries are asked for in order.
    fn of_entry(&mut self, seq: u64) -> Vec<Vec<u8>> {
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        while let Some((leads_to, key)) = self.next.take_if(|(leads_to, _)| *leads_to <= seq) {
            match leads_to == seq {
                true => found.push(key),
                false => self.differ = true,
            }
            self.go_on();
        }
        found
    }

    /// Returns whether some key leads to no entry.
    fn rest(self) -> rusqlite::Result<bool> {
        match self.fault {
            Some(error) => Err(error),
            None => Ok(self.differ || self.next.is_some()),
        }
    }
}
