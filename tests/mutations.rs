//! A whole study changed at every entry, cut at every place, and flipped byte by byte: `verify` finds
//! it, or nothing was changed that the record says.
//!
//! `tamper.rs` asks the binary about a study that was run; this asks the library, which the binary asks.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and prints the seed of its dice"
)]

mod common;
mod engine_common;
mod forger;
mod histories;

use std::fs;
use std::path::{Path, PathBuf};

use common::Dice;
use forger::Forgery;
use prereg::record::divergence::Code;
use prereg::record::entry::{Entry, Head};
use prereg::store::{Store, Verification, verify};
use rusqlite::{Connection, params};
use tempfile::TempDir;

/// How many flips are made in every run of the tests, and how many before a release.
const FLIPS: usize = 600;
const ALL_FLIPS: usize = 20_000;

/// A good study, as an export and as a record, and a place for changed copies.
struct Bench {
    folder: TempDir,
    good: Forgery,
    export: Vec<u8>,
    record: Vec<u8>,
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let mut good = histories::planned();
        let path = folder.path().join("good.db");
        good.record(&path);
        let bench = Self {
            export: good.bytes(),
            record: fs::read(&path).unwrap(),
            good,
            folder,
        };
        assert_eq!(bench.verified(&bench.export), Ok(bench.good.head()));
        assert_eq!(bench.verified(&bench.record), Ok(bench.good.head()));
        bench
    }

    fn put(&self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("changed");
        for beside in ["changed-wal", "changed-shm"] {
            let _ = fs::remove_file(self.folder.path().join(beside));
        }
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the head of a file that verifies, or how and where it diverges.
    fn verified(&self, bytes: &[u8]) -> Result<Head, (Code, u64)> {
        self.verified_at(&self.put(bytes))
    }

    fn verified_at(&self, path: &Path) -> Result<Head, (Code, u64)> {
        match verify(path) {
            Ok(Verification::Verified(audit)) => Ok(audit.head),
            Ok(Verification::Empty) => Ok(Head::EMPTY),
            Ok(Verification::Diverged(divergence)) => Err((divergence.code, divergence.entry)),
            Err(fault) => panic!("{fault}"),
        }
    }

    /// Returns how a record diverges whose entries were changed by hand.
    fn edited(&self, edit: impl FnOnce(&Connection)) -> Result<Head, (Code, u64)> {
        let path = self.put(&self.record);
        let connection = Connection::open(&path).unwrap();
        let guards = ["entries_are_not_edited", "entries_are_not_deleted"];
        for guard in guards {
            connection
                .execute_batch(&format!("DROP TRIGGER {guard}"))
                .unwrap();
        }
        edit(&connection);
        drop(connection);
        self.verified_at(&path)
    }
}

fn export(path: &Path) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    let mut store = Store::read(path).ok()?;
    store.export(&mut whole, false).ok()?;
    Some(whole)
}

/// Moves every entry from one on by some places, by way of numbers that are free.
fn shift(connection: &Connection, from: u64, by: i64) {
    let (from, far) = (from as i64, 1_000_000);
    let away = "UPDATE entries SET seq = seq + ?1 WHERE seq >= ?2";
    connection.execute(away, [far, from]).unwrap();
    let back = "UPDATE entries SET seq = seq - ?1 WHERE seq >= ?2";
    connection.execute(back, [far - by, from + far]).unwrap();
}

fn write(connection: &Connection, entry: &Entry, seq: u64) {
    let sql = "INSERT OR REPLACE INTO entries (seq, digest, body, opening) VALUES (?1, ?2, ?3, ?4)";
    let row = params![
        seq as i64,
        entry.digest.0.as_slice(),
        entry.body,
        entry.opening
    ];
    connection.execute(sql, row).unwrap();
}

#[test]
fn every_entry_of_a_record_that_is_deleted_doubled_swapped_or_edited_is_found() {
    let bench = Bench::new();
    let entries = &bench.good.entries;
    let last = bench.good.last();
    for entry in entries {
        let seq = entry.seq;
        // Left out, with a gap and without; at the end only the derived tables show it.
        let delete = |connection: &Connection| {
            let sql = "DELETE FROM entries WHERE seq = ?1";
            assert_eq!(connection.execute(sql, [seq as i64]).unwrap(), 1);
        };
        let expected = match seq {
            _ if seq == last => (Code::TablesDiffer, 0),
            _ => (Code::Sequence, seq),
        };
        assert_eq!(bench.edited(delete), Err(expected), "{seq} deleted");
        let close = |connection: &Connection| {
            delete(connection);
            shift(connection, seq + 1, -1);
        };
        let expected = match seq {
            _ if seq == last => (Code::TablesDiffer, 0),
            _ => (Code::Digest, seq),
        };
        assert_eq!(
            bench.edited(close),
            Err(expected),
            "{seq} deleted and closed"
        );

        let double = |connection: &Connection| {
            shift(connection, seq, 1);
            write(connection, entry, seq);
        };
        assert_eq!(
            bench.edited(double),
            Err((Code::Digest, seq + 1)),
            "{seq} doubled"
        );

        if let Some(next) = entries.get(seq as usize) {
            let swap = |connection: &Connection| {
                write(connection, next, seq);
                write(connection, entry, seq + 1);
            };
            assert_eq!(
                bench.edited(swap),
                Err((Code::Digest, seq)),
                "{seq} swapped"
            );
        }

        let edit = |connection: &Connection| {
            let sql =
                "UPDATE entries SET body = replace(body, '\"at\":', '\"at\":1') WHERE seq = ?1";
            connection.execute(sql, [seq as i64]).unwrap();
        };
        assert_eq!(bench.edited(edit), Err((Code::Digest, seq)), "{seq} edited");
    }
}

#[test]
fn every_entry_that_is_edited_in_an_export_is_found() {
    let bench = Bench::new();
    for seq in 1..=bench.good.last() {
        let mut lines: Vec<Vec<u8>> = bench
            .export
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let line = String::from_utf8(lines[seq as usize].clone()).unwrap();
        let edited = line.replacen("\"user:tester\"", "\"user:taster\"", 1);
        assert_ne!(line, edited);
        lines[seq as usize] = edited.into_bytes();
        assert_eq!(
            bench.verified(&lines.concat()),
            Err((Code::Digest, seq)),
            "{seq}"
        );
    }
}

#[test]
fn every_truncation_is_found() {
    let bench = Bench::new();
    let ends = bench.export.iter().enumerate();
    let ends = ends.filter(|(_, byte)| **byte == b'\n');
    let mut places: Vec<usize> = ends.flat_map(|(end, _)| [end, end + 1, end + 2]).collect();
    places.retain(|place| *place < bench.export.len());
    for place in places {
        let found = bench.verified(&bench.export[..place]);
        assert!(found.is_err(), "export cut at {place}");
    }
    // A cut of a record's entries, and of its file, page by page.
    for seq in 0..bench.good.last() {
        let found = bench.edited(|connection| {
            let sql = "DELETE FROM entries WHERE seq > ?1";
            connection.execute(sql, [seq as i64]).unwrap();
        });
        let expected = match seq {
            0 => (Code::NotARecord, 0),
            _ => (Code::TablesDiffer, 0),
        };
        assert_eq!(found, Err(expected), "record cut after {seq}");
    }
    for place in (0..bench.record.len()).step_by(4_096).skip(1) {
        let found = bench.verified(&bench.record[..place]);
        assert!(found.is_err(), "file cut at {place}");
    }
}

/// What is hashed again from some entry on holds together; a head that was published shows it.
#[test]
fn a_suffix_that_is_hashed_again_has_another_head() {
    let bench = Bench::new();
    for seq in 1..=bench.good.last() {
        let mut forgery = bench.good.clone();
        forgery.edit(seq, |body| body["command"]["key"] = "another".into());
        let head = bench.verified(&forgery.bytes()).unwrap();
        assert_eq!(head.seq, forgery.head().seq);
        assert_ne!(head.digest, forgery.head().digest, "{seq}");
        // Up to there nothing changed.
        let before = seq as usize - 1;
        assert_eq!(forgery.entries[..before], bench.good.entries[..before]);
    }
}

/// Flips bits of the export and of the record in turn.
fn flip(count: usize) {
    let mut dice = Dice::new("flips");
    let bench = Bench::new();
    let (mut found, mut same) = (0, 0);
    for number in 0..count {
        let whole = if number % 2 == 0 {
            &bench.export
        } else {
            &bench.record
        };
        let place = dice.below(whole.len() as u64) as usize;
        let mut changed = whole.clone();
        changed[place] ^= 1 << dice.below(8);
        let path = bench.put(&changed);
        match verify(&path) {
            Ok(Verification::Diverged(_)) => found += 1,
            Ok(_) => {
                assert!(number % 2 == 1, "export, byte {place}");
                assert_eq!(export(&path).as_ref(), Some(&bench.export), "byte {place}");
                same += 1;
            }
            // Somebody else's version is nobody's to check.
            Err(fault) => assert!(
                number % 2 == 1 && fault.code() == "record-newer" && (60..64).contains(&place),
                "byte {place}: {fault}"
            ),
        }
    }
    println!("{count} flips: {found} found, {same} changed nothing that is said");
}

#[test]
fn a_flipped_bit_is_found_or_changes_nothing() {
    flip(FLIPS);
}

#[test]
#[ignore = "takes minutes; run before a release"]
fn twenty_thousand_flipped_bits_are_found_or_change_nothing() {
    flip(ALL_FLIPS);
}
