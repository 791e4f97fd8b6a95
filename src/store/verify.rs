//! Verifies a record or its export: reads only, streams, and stops at the first divergence.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use rusqlite::Connection;

use super::{Fault, Store, guards, must_be_file, rows};
use crate::engine::event::LaneId;
use crate::engine::slice::{Lane, Run, Slice, Standing};
use crate::record::anchor::expected::{self, Backward, Expected};
use crate::record::audit::{Audit, Auditor, Filed};
use crate::record::divergence::{Code, Divergence};
use crate::record::entry::{Entry, Head};
use crate::record::export::{self, Header, HeaderFault};
use crate::units::Digest;

/// What a verification came to.
#[derive(Debug)]
pub enum Verification {
    /// Everything follows.
    Verified(Box<Audit>),
    /// A record that has no entries yet.
    Empty,
    /// Something does not follow.
    Diverged(Divergence),
}

/// Why a verification ended early.
pub(super) enum End {
    Diverged(Divergence),
    Fault(Fault),
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        match fault {
            // A row that cannot be read back is a broken record, not a broken world.
            Fault::Row { row, message } => Self::Diverged(Divergence::new(
                Code::TablesDiffer,
                0,
                format!("{row}: {message}"),
            )),
            Fault::Storage(error) if is_corruption(&error) => {
                Self::Diverged(Divergence::new(Code::NotARecord, 0, error.to_string()))
            }
            other => Self::Fault(other),
        }
    }
}

impl From<Divergence> for End {
    fn from(divergence: Divergence) -> Self {
        Self::Diverged(divergence)
    }
}

fn is_corruption(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, TypeMismatch};
    match error {
        rusqlite::Error::SqliteFailure(failure, _) => matches!(
            failure.code,
            DatabaseCorrupt | NotADatabase | TypeMismatch | rusqlite::ErrorCode::Unknown
        ),
        // A statement of ours does not fit the tables that are there.
        rusqlite::Error::SqlInputError { .. }
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..) => true,
        _ => false,
    }
}

/// Verifies the record or the export at a path.
pub fn verify(path: &Path) -> Result<Verification, Fault> {
    verify_against(path, &mut Expected::default())
}

/// Verifies the record or the export at a path, and holds it to what was published of it.
pub fn verify_against(path: &Path, expected: &mut Expected) -> Result<Verification, Fault> {
    must_be_file(path)?;
    let mut file = File::open(path).map_err(|source| Fault::file(path, source))?;
    let mut magic = [0; 16];
    let read = file
        .read(&mut magic)
        .map_err(|source| Fault::file(path, source))?;
    drop(file);
    let verified = if magic[..read] == *b"SQLite format 3\0" || guards::is_begun(path) {
        record(path, expected)
    } else {
        exported(path, expected, |_| Ok(()), |_| Ok(())).map(Some)
    };
    match verified {
        Ok(Some(audit)) => Ok(Verification::Verified(Box::new(audit))),
        Ok(None) => Ok(Verification::Empty),
        Err(End::Diverged(divergence)) => Ok(Verification::Diverged(divergence)),
        Err(End::Fault(fault)) => Err(fault),
    }
}

/// Verifies a record; returns nothing where it has no entries yet.
fn record(path: &Path, expected: &mut Expected) -> Result<Option<Audit>, End> {
    let store = match Store::read(path) {
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
    let snapshot = store
        .connection
        .unchecked_transaction()
        .map_err(Fault::from)?;
    let mut auditor = Auditor::of_whole();
    let mut files = Files::default();
    let (standing, applied) = rows::standing(&snapshot)?;
    rows::each_entry(&snapshot, |entry| {
        let filed = auditor.check(&entry)?;
        see(expected, &auditor, &filed)?;
        files.count(&snapshot, entry.seq, filed)?;
        // The derived rows may lag behind the entries: they are compared where they stand.
        if entry.seq == applied {
            compare_tables(&snapshot, &standing, auditor.slice())
        } else {
            Ok(())
        }
    })?;
    if auditor.head() == Head::EMPTY && applied == 0 {
        // Whoever made it was refused, or was killed before the first entry.
        compare_tables(&snapshot, &standing, auditor.slice())?;
        files.compare(&snapshot)?;
        expected.end(Head::EMPTY)?;
        return Ok(None);
    }
    let audit = auditor.finish()?;
    if applied == 0 || applied > audit.head.seq {
        return Err(tables_differ(
            "the derived tables stand for an entry that is not there".to_owned(),
        ));
    }
    files.compare(&snapshot)?;
    for backward in expected.backward() {
        let found = rows::entry(&snapshot, backward.head.seq)?;
        compare_backward(*backward, found.map(|entry| entry.digest))?;
    }
    expected.end(audit.head)?;
    Ok(Some(audit))
}

/// Holds an entry that was checked to what was published, and notes what it says of that itself.
fn see(expected: &mut Expected, auditor: &Auditor, filed: &Filed) -> Result<(), Divergence> {
    let stand = auditor.stand();
    expected.see(stand)?;
    match &filed.anchor {
        Some(action) => expected.recorded(stand.head.seq, action),
        None => Ok(()),
    }
}

/// Compares an entry with what a later one says of it.
fn compare_backward(backward: Backward, found: Option<Digest>) -> Result<(), Divergence> {
    match found == Some(backward.head.digest) {
        true => Ok(()),
        false => Err(expected::contradicts(backward)),
    }
}

fn tables_differ(message: String) -> End {
    End::Diverged(Divergence::new(Code::TablesDiffer, 0, message))
}

/// What the tables that find entries again should hold.
#[derive(Default)]
struct Files {
    drafts: BTreeMap<u64, u64>,
    keys: u64,
}

impl Files {
    /// Counts an entry. A key that nobody gave is not kept; one that is kept leads to its entry.
    fn count(&mut self, connection: &Connection, seq: u64, filed: Filed) -> Result<(), Fault> {
        self.drafts.extend(filed.draft.map(|draft| (draft, seq)));
        self.keys += u64::from(rows::key(connection, &filed.key)? == Some(seq));
        Ok(())
    }

    fn compare(&self, connection: &Connection) -> Result<(), End> {
        let differs = |table: &str| {
            Err(tables_differ(format!(
                "the table `{table}` is not what the entries say"
            )))
        };
        if rows::drafts(connection)? != self.drafts {
            return differs("drafts");
        }
        if rows::keys(connection)? != self.keys {
            return differs("keys");
        }
        Ok(())
    }
}

/// Compares the derived tables with what the entries say.
fn compare_tables(connection: &Connection, standing: &Standing, folded: &Slice) -> Result<(), End> {
    let differ = |what: String| tables_differ(format!("{what} is not what the entries say"));
    if *standing != folded.standing {
        return Err(differ("the table `standing`".to_owned()));
    }
    let mut runs = 0;
    rows::each_run(connection, |run: Run| {
        runs += 1;
        if folded.run(run.run) == Some(&run) {
            Ok(())
        } else {
            Err(differ(format!("the row of run {}", run.run)))
        }
    })?;
    if runs != folded.runs.len() {
        return Err(tables_differ(
            "the table `runs` lacks a run that the entries started".to_owned(),
        ));
    }
    let mut lanes = 0;
    rows::each_lane(connection, |id: LaneId, lane: Lane| {
        lanes += 1;
        if folded.lane(id) == Some(&lane) {
            Ok(())
        } else {
            Err(differ(format!("the row of lane {}", id.number)))
        }
    })?;
    if lanes != folded.lanes.len() {
        return Err(tables_differ(
            "the table `lanes` lacks a lane that the entries opened".to_owned(),
        ));
    }
    let mut facts = 0;
    rows::each_fact(connection, |key, fact| {
        facts += 1;
        if folded.fact(&key) == Some(&fact) {
            Ok(())
        } else {
            Err(differ("a row of the table `facts`".to_owned()))
        }
    })?;
    if facts != folded.facts.len() {
        return Err(tables_differ(
            "the table `facts` lacks a row that the entries call for".to_owned(),
        ));
    }
    Ok(())
}

/// Verifies an export; hands its header on, and every entry once it is checked.
pub(super) fn exported(
    path: &Path,
    expected: &mut Expected,
    begin: impl FnOnce(&Header) -> Result<(), Fault>,
    mut each: impl FnMut(&Entry) -> Result<(), Fault>,
) -> Result<Audit, End> {
    let mut lines = Lines::of(path)?;
    let broken =
        |code, entry, message: String| End::Diverged(Divergence::new(code, entry, message));
    let header = match lines.next()? {
        Some(line) => Header::read(&line),
        None => return Err(broken(Code::NotARecord, 0, "the file is empty".to_owned())),
    };
    let header = header.map_err(|fault| match fault {
        HeaderFault::Broken(message) => broken(Code::NotARecord, 0, message),
        HeaderFault::Newer(version) => End::Fault(Fault::Newer {
            path: path.to_owned(),
            found: i64::from(version),
            known: i64::from(export::VERSION),
        }),
    })?;
    begin(&header)?;
    let mut auditor = if header.sealed {
        Auditor::default()
    } else {
        Auditor::of_whole()
    };
    while let Some(line) = lines.next()? {
        let place = auditor.head().seq + 1;
        let entry = export::read_entry(&line)
            .map_err(|message| broken(Code::LineSyntax, place, message))?;
        let filed = auditor.check(&entry)?;
        see(expected, &auditor, &filed)?;
        if header.sealed && entry.opening.is_some() {
            return Err(broken(
                Code::LineSyntax,
                place,
                "the header says that openings are left out, and one stands here".to_owned(),
            ));
        }
        each(&entry)?;
    }
    let audit = auditor.finish()?;
    if (audit.head.seq, audit.head.digest) != (header.entries, header.head) {
        let message = format!(
            "the header counts {} entries, and {} stand here",
            header.entries, audit.head.seq
        );
        return Err(broken(Code::HeadDiffers, 0, message));
    }
    let study = audit
        .rules
        .as_ref()
        .map(|rules| rules.protocol().study.id.as_str());
    if study != Some(header.study.as_str()) {
        return Err(broken(
            Code::HeadDiffers,
            0,
            "the header names another study".to_owned(),
        ));
    }
    look_back(path, expected.backward())?;
    expected.end(audit.head)?;
    Ok(audit)
}

/// Reads an export again for the entries that later ones say were published.
fn look_back(path: &Path, backward: &[Backward]) -> Result<(), End> {
    let mut asked: BTreeMap<u64, Vec<Backward>> = BTreeMap::new();
    for backward in backward {
        asked.entry(backward.head.seq).or_default().push(*backward);
    }
    let Some(last) = asked.keys().next_back().copied() else {
        return Ok(());
    };
    let mut lines = Lines::of(path)?;
    // The header.
    lines.next()?;
    for seq in 1..=last {
        let (line, asked) = (lines.next()?, asked.remove(&seq));
        for backward in asked.into_iter().flatten() {
            let entry = line.as_deref().map(export::read_entry);
            let found = entry.and_then(Result::ok).map(|entry| entry.digest);
            compare_backward(backward, found)?;
        }
    }
    Ok(())
}

/// The lines of a file, each without its end; the last must have one too.
struct Lines<'p> {
    reader: BufReader<File>,
    line: Vec<u8>,
    path: &'p Path,
}

impl<'p> Lines<'p> {
    fn of(path: &'p Path) -> Result<Self, Fault> {
        let file = File::open(path).map_err(|source| Fault::file(path, source))?;
        Ok(Self {
            reader: BufReader::with_capacity(1 << 18, file),
            line: Vec::new(),
            path,
        })
    }

    fn next(&mut self) -> Result<Option<String>, End> {
        self.line.clear();
        let read = self
            .reader
            .read_until(b'\n', &mut self.line)
            .map_err(|source| Fault::file(self.path, source))?;
        if read == 0 {
            return Ok(None);
        }
        let broken = |message: &str| End::Diverged(Divergence::new(Code::LineSyntax, 0, message));
        let line = self
            .line
            .strip_suffix(b"\n")
            .ok_or_else(|| broken("the last line has no end; the file is cut off"))?;
        match std::str::from_utf8(line) {
            Ok(line) => Ok(Some(line.to_owned())),
            Err(_) => Err(broken("a line is not UTF-8")),
        }
    }
}
