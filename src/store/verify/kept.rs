//! A record: its entries, what finds them again, and the tables that are derived from them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use rusqlite::Connection;

use super::keys::Keys;
use super::tables::{self, CheckedRows, RawRows, Table};
use super::{Auditor, EachRun, End, HELD, compare_backward, see, show, tables_differ};
use crate::engine::slice::Standing;
use crate::record::anchor::expected::Expected;
use crate::record::audit::{Audit, Filed};
use crate::record::divergence::{Code, Divergence};
use crate::record::entry::{EntryText, GENESIS, Head};
use crate::record::reading::{self, Reading};
use crate::store::abreast::{self, Closed, In};
use crate::store::spill::Spill;
use crate::store::{Fault, Store, frames, guards, rows, schema};
use crate::units::Digest;

/// How many entries or rows are worked on at once.
const BATCH: usize = 128;

/// What is read of a record, in this order; the tables come after the entry that they stand for.
enum Batch {
    Entries(Entries),
    Standing,
    Rows(Table, RawRows),
    EndOf(Table),
    /// The keys that lead to no entry, as far as that shows by itself.
    Keys(bool),
    Broken(Fault),
}

/// Entries that stand together.
#[derive(Default)]
struct Entries {
    /// The digest before them; none before the first.
    before: Option<Digest>,
    /// Their bodies and openings, one after the other.
    text: String,
    entries: Vec<Kept>,
    /// The keys that are said to lead to them, one after the other.
    keys: Vec<u8>,
}

/// An entry; its texts and the key that is said to lead to it are places among those of all.
struct Kept {
    seq: u64,
    digest: Digest,
    body: Range<usize>,
    opening: Option<Range<usize>>,
    key: Option<Range<usize>>,
}

impl Entries {
    fn add(&mut self, entry: EntryText<'_>, keys: &mut Keys<'_>) {
        let mut place = |text: &str| {
            let start = self.text.len();
            self.text.push_str(text);
            start..self.text.len()
        };
        self.entries.push(Kept {
            seq: entry.seq,
            digest: entry.digest,
            body: place(entry.body),
            opening: entry.opening.map(place),
            key: keys.of_entry(entry.seq, &mut self.keys),
        });
    }

    /// Reads every entry as far as that needs no other ones.
    fn read(&self) -> Vec<Reading> {
        let mut previous = self.before.unwrap_or(GENESIS);
        let read = self.entries.iter().map(|kept| {
            let entry = EntryText {
                seq: kept.seq,
                digest: kept.digest,
                body: &self.text[kept.body.clone()],
                opening: kept.opening.clone().map(|opening| &self.text[opening]),
            };
            let read = reading::read(entry, &previous, true);
            previous = read.digest;
            read
        });
        read.collect()
    }
}

/// What came of a batch.
enum Done {
    Entries(Entries, Vec<Reading>),
    Standing,
    Rows(Table, CheckedRows),
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
    if rows::head(&store.connection)? != audit.head {
        return Err(tables_differ(
            "the last entry is not found where it is looked up".to_owned(),
        ));
    }
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
        Batch::Entries(entries) => {
            let read = entries.read();
            Done::Entries(entries, read)
        }
        Batch::Standing => Done::Standing,
        Batch::Rows(table, rows) => Done::Rows(table, rows.check()),
        Batch::EndOf(table) => Done::EndOf(table),
        Batch::Keys(differ) => Done::Keys(differ),
        Batch::Broken(fault) => Done::Broken(Some(fault)),
    }
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
            Done::Entries(
                Entries {
                    text,
                    entries,
                    keys,
                    ..
                },
                read,
            ) => {
                for (read, kept) in read.iter_mut().zip(entries) {
                    let filed = self.auditor.follow(read, &text[kept.body.clone()])?;
                    see(expected, &self.auditor, &filed)?;
                    let key = kept.key.clone().map(|key| &keys[key]);
                    self.files.count(&self.auditor, &filed, key);
                }
            }
            Done::Standing if self.standing != *self.auditor.standing() => {
                let message = "the table `standing` is not what the entries say";
                return Err(tables_differ(message.to_owned()));
            }
            Done::Standing => {}
            Done::Rows(table, rows) => {
                *self.seen.entry(*table).or_default() += rows.compare(&mut self.auditor)?;
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
    fn count(&mut self, auditor: &Auditor, filed: &Filed<'_>, key: Option<&[u8]>) {
        if let (Some((draft, text)), Some(rules)) = (&filed.draft, auditor.rules()) {
            let said = frames::digest(auditor.head().seq, text, rules);
            self.drafts.insert(*draft, said);
        }
        self.keys_differ |= key.is_some_and(|key| key != filed.key.as_bytes());
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
    let mut waiting = Entries::default();
    let read = rows::each_entry(connection, |entry| {
        let EntryText { seq, digest, .. } = entry;
        waiting.add(entry, &mut keys);
        if waiting.entries.len() == BATCH || seq == applied {
            let after = Entries {
                before: Some(digest),
                ..Entries::default()
            };
            gate.hand(Batch::Entries(std::mem::replace(&mut waiting, after)))?;
        }
        // The derived rows may lag behind the entries: they are compared where they stand.
        match seq == applied {
            true => hand_tables(connection, gate),
            false => Ok(()),
        }
    });
    // Whatever ended it, what was read before counts.
    let is_empty = waiting.before.is_none() && waiting.entries.is_empty();
    gate.hand(Batch::Entries(waiting))?;
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
        tables::each(connection, table, BATCH, |rows| {
            Ok::<(), Stop>(gate.hand(Batch::Rows(table, rows))?)
        })?;
        gate.hand(Batch::EndOf(table))?;
    }
    // Rows that an index alone holds, or a page hides, would be decided by.
    guards::must_be_marked(connection)?;
    Ok(schema::must_fit_together(connection)?)
}
