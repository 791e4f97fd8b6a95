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
use std::path::{Path, PathBuf};

use common::{Said, prereg};
use forger::Forgery;
use kinds::{KINDS, three};
use prereg::record::entry::Answer;
use prereg::store::{Verification, verify};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::tempdir;

/// Returns how the binary answers a file, held to a published head or to nothing.
fn said(path: &Path, anchor: Option<&Path>) -> Said {
    let mut command = prereg(&["verify", "--json"]);
    command.arg(path);
    if let Some(anchor) = anchor {
        command.arg("--anchor").arg(anchor);
    }
    Said::of(command.output().unwrap())
}

/// Returns how the binary answers a file, which must be by exit 5.
fn answered(path: &Path, anchor: Option<&Path>) -> Value {
    let said = said(path, anchor);
    assert_eq!(said.code, Some(5), "{said:?}");
    said.json()["error"].clone()
}

/// Writes the line by which the head of a good record was published when it had so many entries.
fn published(folder: &Path, good: &Forgery, entries: u64) -> PathBuf {
    let path = folder.join(format!("head-{entries}"));
    let digest = good.entries[entries as usize - 1].digest;
    let line = format!("prereg-head/1 {} {entries} {digest}\n", good.study);
    fs::write(&path, line).unwrap();
    path
}

/// Returns how the library, which the binary asks, answers a record.
fn of_record(path: &Path) -> Value {
    match verify(path) {
        Ok(Verification::Diverged(divergence)) => serde_json::to_value(divergence).unwrap(),
        Ok(_) => panic!("verified"),
        Err(fault) => panic!("{fault}"),
    }
}

/// Writes how a forgery is answered; the same on its export and on a record with tables to match, and
/// whether a head was published before the place or after it.
fn line(table: &mut String, good: &Forgery, forgery: &mut Forgery, place: u64) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("export.jsonl");
    fs::write(&path, forgery.bytes()).unwrap();
    let error = answered(&path, None);
    for entries in [place - 1, good.last()].into_iter().filter(|seq| *seq > 0) {
        let anchor = published(folder.path(), good, entries);
        let anchored = answered(&path, Some(&anchor));
        // The anchor speaks of what was published, and a rule of what comes before it.
        let entry = |error: &Value| error["entry"].as_u64().unwrap();
        let by_anchor =
            ["anchor-differs", "behind-anchor"].contains(&anchored["code"].as_str().unwrap());
        let is_first = by_anchor && entries >= place && entry(&anchored) <= entry(&error);
        assert!(anchored == error || is_first, "{anchored} {error}");
    }
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
            line(&mut table, &good, &mut forgery, place);
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
            let answer = answered(&path, None);
            let anchor = published(folder.path(), &good, good.last());
            assert_eq!(answered(&path, Some(&anchor)), answer, "with an anchor");
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

/// What breaks no rule: the tail is cut off, a refusal was never said, somebody else has said something.
fn silent(good: &Forgery) -> Vec<(&'static str, u64, Forgery)> {
    let mut found = Vec::new();
    let three = |all: Vec<u64>| [all[0], all[all.len() / 2], all[all.len() - 1]];
    let last = good.last();
    for place in three((2..=last).collect()) {
        let mut cut = good.clone();
        cut.entries.truncate(place as usize - 1);
        found.push(("cut", place, cut));
        let mut other = good.clone();
        let (mut command, answer) = good.said(place);
        command.key = format!("{}-again", command.key);
        other.say(place, &command, answer);
        found.push(("said by another operation", place, other));
    }
    let is_refused = |seq: &u64| matches!(good.said(*seq).1, Answer::Refused(_));
    for place in three((1..=last).filter(is_refused).collect()) {
        let mut kept = good.clone();
        kept.remove(place);
        found.push(("refusal left out", place, kept));
    }
    found
}

/// What is made again and breaks no rule is found by a head that was published after it, and counted
/// after one that was published before it.
#[test]
fn what_is_hashed_again_is_found_before_an_anchor_and_counted_after_it() {
    let good = histories::planned();
    let folder = tempdir().unwrap();
    for (what, place, mut forged) in silent(&good) {
        let head = forged.chain();
        let export = folder.path().join("export.jsonl");
        fs::write(&export, forged.bytes()).unwrap();
        let record = folder.path().join("record.db");
        let _ = fs::remove_file(&record);
        forged.record(&record);
        for path in [&export, &record] {
            let told = said(path, None);
            assert_eq!(told.code, Some(0), "{what} at {place}: {told:?}");
            assert_eq!(told.json()["after_anchor"], Value::Null);

            let after = published(folder.path(), &good, good.last());
            let error = answered(path, Some(&after));
            let codes = ["anchor-differs", "behind-anchor"];
            let code = error["code"].as_str().unwrap();
            assert!(codes.contains(&code), "{what} at {place}: {error}");

            let at = published(folder.path(), &good, place);
            let error = answered(path, Some(&at));
            let code = if head.seq < place {
                "behind-anchor"
            } else {
                "anchor-differs"
            };
            assert_eq!(error["code"], code, "{what} at {place}: {error}");

            let before = published(folder.path(), &good, place - 1);
            let told = said(path, Some(&before));
            assert_eq!(told.code, Some(0), "{what} at {place}: {told:?}");
            assert_eq!(told.json()["anchored"], place - 1);
            assert_eq!(told.json()["after_anchor"], head.seq - (place - 1));
        }
    }
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
