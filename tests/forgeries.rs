//! Consistent forgeries: history is changed, everything after it is hashed again, and `verify` still
//! names the entry and the rule.
//!
//! The kinds are those that a forger of a study would think of, each at the first, the middle and the
//! last place at which its history lets it stand. What only a head that was published before can show
//! is no kind here: that something true was left out at the end, that a refusal was never said (it
//! changes nothing), that the sealed evidence of a score was another.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; the shared dice print their seed"
)]

mod common;
mod engine_common;
mod forger;
mod histories;
mod kinds;

use std::fmt::Write;
use std::fs;
use std::path::Path;

use common::{Said, prereg};
use forger::Forgery;
use kinds::{KINDS, three};
use prereg::store::{Verification, verify};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::tempdir;

/// Returns how the binary answers an export, which must be by exit 5.
fn answered(path: &Path) -> Value {
    let mut command = prereg(&["verify", "--json"]);
    let said = Said::of(command.arg(path).output().unwrap());
    assert_eq!(said.code, Some(5), "{said:?}");
    said.json()["error"].clone()
}

/// Returns how the library, which the binary asks, answers a record.
fn of_record(path: &Path) -> Value {
    match verify(path) {
        Ok(Verification::Diverged(divergence)) => serde_json::to_value(divergence).unwrap(),
        Ok(_) => panic!("verified"),
        Err(fault) => panic!("{fault}"),
    }
}

/// Writes how a forgery is answered; the same on its export and on a record with tables to match.
fn line(table: &mut String, forgery: &mut Forgery, place: u64) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("export.jsonl");
    fs::write(&path, forgery.bytes()).unwrap();
    let error = answered(&path);
    let record = folder.path().join("record.db");
    forgery.record(&record);
    let of_record = of_record(&record);
    for name in ["code", "entry", "rule", "message"] {
        assert_eq!(error[name], of_record[name], "{error} {of_record}");
    }
    let rule = error["rule"].as_str().unwrap_or("-");
    writeln!(
        table,
        "    at {place}: entry {}, {} {rule}: {}",
        error["entry"],
        error["code"].as_str().unwrap(),
        error["message"].as_str().unwrap()
    )
    .unwrap();
}

#[test]
fn every_consistent_forgery_is_named() {
    let mut table = String::new();
    for kind in KINDS {
        let mut good = (kind.history)();
        let folder = tempdir().unwrap();
        let path = folder.path().join("good");
        fs::write(&path, good.bytes()).unwrap();
        assert!(matches!(verify(&path), Ok(Verification::Verified(_))));
        let record = folder.path().join("good.db");
        good.record(&record);
        assert!(matches!(verify(&record), Ok(Verification::Verified(_))));

        let places = three(kind, &good);
        assert!(!places.is_empty(), "{}: nowhere", kind.name);
        writeln!(table, "{}", kind.name).unwrap();
        for (place, mut forgery) in places {
            line(&mut table, &mut forgery, place);
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("forgeries", table));
}

/// The rows that follow from the entries, changed alone.
#[test]
fn forged_rows_of_a_record_are_named() {
    let mut good = histories::planned();
    let folder = tempdir().unwrap();
    let runs = good
        .clone()
        .entries
        .iter()
        .filter(|entry| entry.body.contains("\"started\""))
        .count();
    let mut table = String::new();
    for run in [1, runs / 2, runs] {
        for sql in [
            "UPDATE runs SET state = 'void', facts = replace(facts, '\"state\":\"scored\"', '\"state\":\"void\"') WHERE run = ?1",
            "DELETE FROM runs WHERE run = ?1",
            "UPDATE lanes SET facts = replace(facts, '}', ',\"voids\":1}') WHERE number = ?1 % 4 AND draft = 0",
        ] {
            let path = folder.path().join("record.db");
            let _ = fs::remove_file(&path);
            good.record(&path);
            let connection = Connection::open(&path).unwrap();
            assert_eq!(connection.execute(sql, [run as i64]).unwrap(), 1, "{sql}");
            drop(connection);
            let answer = answered(&path);
            let what = sql.split(' ').take(2).collect::<Vec<_>>().join(" ");
            writeln!(
                table,
                "run {run}: {what}: entry {} {} {}",
                answer["entry"], answer["code"], answer["message"]
            )
            .unwrap();
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("forged-rows", table));
}

/// What nothing in the record can show, a head that was published before does.
#[test]
fn a_forger_cannot_keep_the_head() {
    let good = histories::planned();
    for kind in KINDS {
        let history = (kind.history)();
        let mut places = three(kind, &history);
        for (_, forgery) in &mut places {
            assert_ne!(forgery.chain(), forgery.head(), "{}", kind.name);
        }
    }
    let mut cut = good.clone();
    cut.entries.truncate(20);
    assert_ne!(cut.chain(), cut.head());
}
