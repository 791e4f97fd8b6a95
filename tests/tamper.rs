//! Whatever is changed in a record or an export, `verify` says so.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and prints the seed of its dice"
)]

mod common;
mod forger;

use std::fs;
use std::path::{Path, PathBuf};

use common::{Dice, Recipe, Study};
use forger::Forgery;
use prereg::engine::command::{Action, Cause, Command, Evidence};
use prereg::engine::event::{Event, LaneId, Place};
use prereg::record::divergence::Code;
use prereg::record::entry::Answer;
use prereg::store::{Store, Verification, verify};
use prereg::units::RunId;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

/// Returns a study that is complete, with reruns left out to keep it small.
fn finished() -> Study {
    let study = Recipe {
        controls: true,
        ..Recipe::default()
    }
    .lay();
    study.complete();
    study
}

fn export_of(study: &Study) -> Vec<u8> {
    study.data(&["export", "--to", "export.jsonl"]);
    fs::read(study.base.join("export.jsonl")).unwrap()
}

/// A place for changed copies.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn put(&self, bytes: &[u8]) -> PathBuf {
        let path = self.folder.path().join("changed");
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns how a file diverges, which it must.
    fn divergence(&self, bytes: &[u8], what: &str) -> Code {
        match verify(&self.put(bytes)) {
            Ok(Verification::Diverged(divergence)) => divergence.code,
            Ok(Verification::Verified(_) | Verification::Empty) => panic!("{what}: verified"),
            Err(fault) => panic!("{what}: {fault}"),
        }
    }

    /// Returns what the binary says of a file.
    fn said(&self, bytes: &[u8]) -> common::Said {
        let path = self.put(bytes);
        let mut command = common::prereg(&["verify", "--json"]);
        common::Said::of(command.arg(path).output().unwrap())
    }
}

/// Returns places spread over a file, the first and the last byte among them.
fn places(dice: &mut Dice, length: usize, count: usize) -> Vec<usize> {
    let stride = length / count;
    let spread = (0..count).map(|place| place * stride + dice.below(stride as u64) as usize);
    let mut places: Vec<usize> = spread.collect();
    places.extend([0, length - 1]);
    places
}

#[test]
fn a_flipped_bit_anywhere_in_an_export_is_found() {
    let mut dice = Dice::new("export flips");
    let study = finished();
    let whole = export_of(&study);
    let bench = Bench::new();
    let newlines = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    let mut places: Vec<usize> = newlines.map(|(place, _)| place).collect();
    places.extend(self::places(&mut dice, whole.len(), 200));
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap();
    places.extend((0..first_line).step_by(5));
    for (number, place) in places.iter().enumerate() {
        let mut changed = whole.clone();
        changed[*place] ^= 1 << dice.below(8);
        let what = format!("byte {place} of {}", whole.len());
        bench.divergence(&changed, &what);
        if number % 40 == 0 {
            assert_eq!(bench.said(&changed).code, Some(5), "{what}");
        }
    }
    println!(
        "export flips: {} places in {} bytes",
        places.len(),
        whole.len()
    );
    assert_eq!(bench.said(&whole).code, Some(0));
}

fn lines(whole: &[u8]) -> Vec<&[u8]> {
    whole.split_inclusive(|byte| *byte == b'\n').collect()
}

#[test]
fn a_line_that_is_deleted_doubled_or_moved_is_found() {
    let study = finished();
    let whole = export_of(&study);
    let lines = lines(&whole);
    let bench = Bench::new();
    let last = lines.len() - 1;
    for (number, line) in lines.iter().enumerate() {
        let what = format!("line {number} of {}", lines.len());
        let mut deleted = lines.clone();
        deleted.remove(number);
        let expected = match number {
            0 => Code::NotARecord,
            _ if number == last => Code::HeadDiffers,
            _ => Code::Sequence,
        };
        assert_eq!(
            bench.divergence(&deleted.concat(), &what),
            expected,
            "{what} deleted"
        );

        let mut doubled = lines.clone();
        doubled.insert(number, line);
        let expected = if number == 0 {
            Code::LineSyntax
        } else {
            Code::Sequence
        };
        assert_eq!(
            bench.divergence(&doubled.concat(), &what),
            expected,
            "{what} doubled"
        );

        if number < last {
            let mut swapped = lines.clone();
            swapped.swap(number, number + 1);
            let expected = if number == 0 {
                Code::NotARecord
            } else {
                Code::Sequence
            };
            assert_eq!(
                bench.divergence(&swapped.concat(), &what),
                expected,
                "{what} swapped"
            );

            let expected = if number == 0 {
                Code::NotARecord
            } else {
                Code::HeadDiffers
            };
            let cut = lines[..=number].concat();
            assert_eq!(bench.divergence(&cut, &what), expected, "cut after {what}");
        }
        let short = [lines[..number].concat(), line[..line.len() / 2].to_vec()].concat();
        bench.divergence(&short, &what);
    }
    assert_eq!(bench.divergence(b"", "empty"), Code::NotARecord);
    assert_eq!(
        bench.divergence(&[&whole[..], b"\n"].concat(), "a blank line"),
        Code::LineSyntax
    );
}

/// Returns a study that is driven by hand, and the task and arm of its first slot.
fn by_hand(recipe: &Recipe) -> (Study, String, String) {
    let study = recipe.lay();
    study.register();
    let first = next(&study, "t0", "a");
    let fresh = recipe.lay();
    fresh.register();
    (fresh, first.0, first.1)
}

/// Returns the task and arm that may start, by asking for one that perhaps may not.
fn next(study: &Study, task: &str, arm: &str) -> (String, String) {
    let said = study.prereg(&["start", task, arm, "--json"]);
    let json = said.json();
    let found = if said.code == Some(0) {
        json.clone()
    } else {
        json["error"]["facts"]["next"].clone()
    };
    let text = |name: &str| {
        found[name]
            .as_str()
            .unwrap_or_else(|| panic!("{json}"))
            .to_owned()
    };
    (text("task"), text("arm"))
}

fn other(arm: &str) -> &'static str {
    if arm == "a" { "b" } else { "a" }
}

fn started(run: u64, task: &str, arm: &str, lane: u64, position: u64) -> Event {
    Event::Started {
        run: RunId(run),
        task: task.to_owned(),
        arm: arm.to_owned(),
        executed: prereg::engine::command::Executed::Elsewhere(None),
        place: Some(Place {
            lane: LaneId {
                draft: 0,
                number: lane,
            },
            position,
            block: lane,
            repeat: 1,
            turn: position % 2 + 1,
            attempt: 1,
            stage: 0,
            voids: 0,
            by_counts: false,
        }),
        skipped: 0,
        seed: None,
    }
}

/// Asserts how a consistent forgery is found: by the binary, at its entry, with its rule.
fn assert_found(forgery: &mut Forgery, code: &str, entry: u64, rule: Option<&str>) {
    let said = Bench::new().said(&forgery.bytes());
    assert_eq!(said.code, Some(5), "{said:?}");
    let error = said.json()["error"].clone();
    assert_eq!(
        (&error["code"], &error["entry"], &error["rule"]),
        (&json!(code), &json!(entry), &json!(rule)),
        "{error}"
    );
}

fn hand_recipe() -> Recipe {
    Recipe {
        tasks: 3,
        repeats: 1,
        ..Recipe::default()
    }
}

#[test]
fn a_forged_start_out_of_order_is_found() {
    let (study, task, arm) = by_hand(&hand_recipe());
    let said = study.prereg(&["start", &task, other(&arm)]);
    assert_eq!(said.code, Some(4), "{said:?}");
    let mut forgery = Forgery::of(&export_of(&study));
    forgery.rule(3, vec![started(1, &task, other(&arm), 0, 1)]);
    assert_found(&mut forgery, "ruling-differs", 3, Some("/allocation"));
}

#[test]
fn a_forged_start_over_the_cap_is_found() {
    let (study, task, first) = by_hand(&hand_recipe());
    study.data(&["start", &task, &first]);
    let (second, arm) = next(&study, &task, other(&first));
    study.data(&["start", &second, &arm]);
    let (third, arm) = next(&study, &task, other(&first));
    assert!(third != task && third != second);
    let said = study.prereg(&["start", &third, &arm, "--json"]);
    assert_eq!(said.error_code(), "cap-reached");
    let mut forgery = Forgery::of(&export_of(&study));
    let last = forgery.last();
    forgery.rule(last, vec![started(3, &third, &arm, 2, 4)]);
    assert_found(
        &mut forgery,
        "ruling-differs",
        last,
        Some("/allocation/runs_max"),
    );
}

/// Returns a study with one scored run and a second score that was refused.
fn twice_scored() -> Study {
    let (study, task, arm) = by_hand(&hand_recipe());
    study.data(&["start", &task, &arm]);
    study.data(&["finish", "1", "--exit", "0", "--wall", "2s"]);
    study.write("good", r#"{"correct": true, "bytes": 1}"#);
    study.write("bad", r#"{"correct": false, "bytes": 1}"#);
    study.data(&["score", "1", "--report", "bad"]);
    let again = study.prereg(&["score", "1", "--report", "good", "--json"]);
    assert_eq!(again.error_code(), "already-closed");
    study
}

fn scored(run: u64, passed: bool) -> Event {
    let outcomes = [("passed", passed), ("false_claim", false)];
    Event::Scored {
        run: RunId(run),
        exposed: None,
        outcomes: Some(
            outcomes
                .map(|(id, value)| (id.to_owned(), json!(value)))
                .into(),
        ),
    }
}

fn slot_ended() -> Event {
    Event::SlotEnded {
        lane: LaneId {
            draft: 0,
            number: 0,
        },
        next: Some(1),
        again: None,
    }
}

#[test]
fn forged_scores_are_found() {
    let study = twice_scored();
    let whole = export_of(&study);
    assert_eq!(
        Bench::new().said(&Forgery::of(&whole).bytes()).code,
        Some(0)
    );
    let forge = || Forgery::of(&whole);

    // A second score, granted.
    let mut forgery = forge();
    forgery.rule(6, vec![scored(1, true)]);
    assert_found(&mut forgery, "ruling-differs", 6, None);

    // The better report in the place of the first, with the old outcome, then with the new one.
    let mut forgery = forge();
    let mut command = forgery.command(6);
    command.at = forgery.command(5).at;
    forgery.say(
        5,
        &command,
        Answer::Granted(vec![scored(1, false), slot_ended()]),
    );
    forgery.entries.truncate(5);
    assert_found(&mut forgery, "ruling-differs", 5, Some("/outcomes"));
    forgery.say(
        5,
        &command,
        Answer::Granted(vec![scored(1, true), slot_ended()]),
    );
    // Nothing shows that one, but a head that was published before.
    assert_eq!(Bench::new().said(&forgery.bytes()).code, Some(0));

    // An outcome that its evidence does not give.
    let mut forgery = forge();
    forgery.rule(5, vec![scored(1, true), slot_ended()]);
    assert_found(&mut forgery, "ruling-differs", 5, Some("/outcomes"));

    // A score that is called unjudged, with and without a cause.
    let mut forgery = forge();
    let unjudged = Event::Unjudged {
        run: RunId(1),
        cause: Cause::NoReport,
    };
    let waits = Event::SlotWaits {
        lane: LaneId {
            draft: 0,
            number: 0,
        },
    };
    forgery.rule(5, vec![unjudged, waits]);
    assert_found(&mut forgery, "ruling-differs", 5, Some("/outcomes"));
    forgery.edit(5, |body| {
        body["ruling"]["granted"][0]
            .as_object_mut()
            .unwrap()
            .remove("cause");
    });
    assert_found(&mut forgery, "body-form", 5, None);

    // A score of a run that never started.
    let mut forgery = forge();
    let command = Command {
        action: Action::Score {
            run: RunId(9),
            diff: None,
            evidence: Some(Evidence::default()),
        },
        ..forgery.command(6)
    };
    forgery.say(6, &command, Answer::Granted(vec![scored(9, true)]));
    assert_found(&mut forgery, "ruling-differs", 6, None);

    // A refusal that never was, a time that goes back, a first entry that opens nothing.
    let mut forgery = forge();
    forgery.edit(6, |body| {
        body["ruling"]["refused"]["code"] = json!("not-ended")
    });
    assert_found(&mut forgery, "body-form", 6, None);
    let mut forgery = forge();
    forgery.edit(4, |body| body["command"]["at"] = json!(1));
    assert_found(&mut forgery, "time-decreases", 4, None);
    // A clock that lay behind, and is ahead; one of which nothing is said, in other words.
    for (clock, code) in [
        (json!({ "behind": 5_000_000 }), "clock-differs"),
        (json!({ "behind": 0 }), "body-form"),
        (json!({}), "body-form"),
    ] {
        let mut forgery = forge();
        forgery.edit(4, |body| body["command"]["clock"] = clock);
        assert_found(&mut forgery, code, 4, None);
    }
    let mut forgery = forge();
    forgery.entries.remove(0);
    assert_found(&mut forgery, "first-entry", 1, None);
}

#[test]
fn forged_openings_are_found() {
    let study = twice_scored();
    let whole = export_of(&study);
    let mut forgery = Forgery::of(&whole);
    let opening = forgery.entries[4].opening.as_mut().unwrap();
    *opening = opening.replace("\"outcomes.passed\":false", "\"outcomes.passed\":true");
    assert_found(&mut forgery, "commitment", 5, None);

    // An opening that is left out of an export that leaves nothing out.
    let mut forgery = Forgery::of(&whole);
    forgery.entries[4].opening = None;
    assert_found(&mut forgery, "commitment", 5, None);

    // An opening of an entry that seals nothing.
    let mut forgery = Forgery::of(&whole);
    forgery.entries[2].opening = forgery.entries[4].opening.clone();
    assert_found(&mut forgery, "commitment", 3, None);
}

/// Copies a record and changes it by hand; returns how it diverges.
fn edited(study: &Study, sql: &str) -> Code {
    let bench = Bench::new();
    let path = bench.put(&fs::read(study.record()).unwrap());
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("DROP TRIGGER entries_are_not_edited; DROP TRIGGER entries_are_not_deleted;")
        .unwrap();
    let before = connection.total_changes();
    connection.execute_batch(sql).unwrap();
    assert!(
        connection.total_changes() > before,
        "nothing was edited: {sql}"
    );
    drop(connection);
    match verify(&path) {
        Ok(Verification::Diverged(divergence)) => divergence.code,
        Ok(Verification::Verified(_) | Verification::Empty) => panic!("{sql}: verified"),
        Err(fault) => panic!("{sql}: {fault}"),
    }
}

#[test]
fn an_edited_row_is_found() {
    let study = finished();
    let derived = [
        "UPDATE runs SET facts = replace(facts, '\"scored\"', '\"unjudged\"') WHERE run = 3",
        "UPDATE runs SET facts = replace(facts, 'false', 'true') WHERE run = 3",
        "UPDATE runs SET facts = 'nonsense' WHERE run = 3",
        "UPDATE runs SET state = 'live' WHERE run = 3",
        "UPDATE runs SET task = 't9' WHERE run = 3",
        "UPDATE runs SET arm = 'c' WHERE run = 3",
        "UPDATE runs SET role = 'control' WHERE run = 3 AND role = 'slot' OR run = 9",
        "UPDATE runs SET stopped_in = 1 WHERE run = 3",
        "DELETE FROM runs WHERE run = 3",
        "INSERT INTO runs SELECT 99, role, task, arm, state, stopped_in, facts FROM runs WHERE run = 3",
        "UPDATE lanes SET facts = replace(facts, 'null', '0')",
        "UPDATE lanes SET ready = 0",
        "UPDATE lanes SET stage = 1",
        "DELETE FROM lanes WHERE number = 0",
        "INSERT INTO lanes SELECT draft, 99, stage, ready, facts FROM lanes WHERE number = 0",
        "UPDATE standing SET facts = replace(facts, '\"slots_ended\":8', '\"slots_ended\":7')",
        "UPDATE standing SET applied = applied - 1",
        "UPDATE standing SET applied = applied + 1",
        "UPDATE standing SET applied = 0",
        "DELETE FROM standing",
        "INSERT INTO facts VALUES ('[\"drawn\",0]', '{\"place\":\"t1\"}')",
        "INSERT INTO facts VALUES ('mine', 'nonsense')",
        "INSERT INTO keys VALUES ('mine', 5)",
        "INSERT INTO keys SELECT body ->> '$.command.key', 4 FROM entries WHERE seq = 5",
        "UPDATE drafts SET seq = 2",
        "DELETE FROM drafts",
        "INSERT INTO drafts SELECT 2, seq, text, registration, extent FROM drafts",
        "UPDATE drafts SET text = text || ' '",
        "UPDATE drafts SET registration = registration || ' '",
        "UPDATE drafts SET extent = replace(extent, '\"pilot\":0', '\"pilot\":1')",
        "UPDATE tasks SET fields = replace(fields, '{', '{ ')",
        "UPDATE tasks SET place = -place WHERE place = 1",
        "UPDATE tasks SET place = NULL WHERE place = 1",
        "UPDATE tasks SET confirmatory = 2 WHERE place = 1",
        "UPDATE tasks SET confirmatory = NULL WHERE place = 1",
        "UPDATE tasks SET draft = 2 WHERE place = 1",
        "UPDATE tasks SET id = 'other' WHERE place = 1",
        "DELETE FROM tasks WHERE place = 1",
        "INSERT INTO tasks VALUES (1, 'more', '{\"id\":\"more\"}', NULL, 7)",
        "UPDATE facts SET key = replace(key, ':', ': ')",
    ];
    for sql in derived {
        assert_eq!(edited(&study, sql), Code::TablesDiffer, "{sql}");
    }
    let entries = [
        (
            "UPDATE entries SET body = replace(body, '\"user:operator\"', '\"me\"') WHERE seq = 5",
            Code::Digest,
        ),
        (
            "UPDATE entries SET digest = zeroblob(32) WHERE seq = 5",
            Code::Digest,
        ),
        (
            "UPDATE entries SET digest = zeroblob(31) WHERE seq = 5",
            Code::NotARecord,
        ),
        ("DELETE FROM entries WHERE seq = 5", Code::Sequence),
        ("UPDATE entries SET seq = 99 WHERE seq = 5", Code::Sequence),
        ("UPDATE entries SET opening = NULL", Code::Commitment),
        (
            "UPDATE entries SET opening = replace(opening, 'true', 'false')",
            Code::Commitment,
        ),
        ("DELETE FROM entries", Code::NotARecord),
    ];
    for (sql, code) in entries {
        assert_eq!(edited(&study, sql), code, "{sql}");
    }
    // The last entry alone is what a published head is for; the tables still show it.
    let last = "DELETE FROM entries WHERE seq = (SELECT max(seq) FROM entries)";
    assert_eq!(edited(&study, last), Code::TablesDiffer);
    for gone in [
        "runs", "lanes", "standing", "keys", "drafts", "tasks", "facts", "entries",
    ] {
        let bench = Bench::new();
        let path = bench.put(&fs::read(study.record()).unwrap());
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!("DROP TABLE {gone}"))
            .unwrap();
        drop(connection);
        assert!(
            matches!(verify(&path), Ok(Verification::Diverged(_))),
            "without {gone}"
        );
    }
}

#[test]
fn a_table_that_lacks_a_column_is_found() {
    // The second statement counts as a change of rows.
    let sql = "ALTER TABLE lanes RENAME COLUMN facts TO fact; UPDATE lanes SET fact = fact;";
    assert_eq!(edited(&finished(), sql), Code::NotARecord);
}

#[test]
fn what_stands_in_the_place_of_a_table_is_not_asked() {
    let study = finished();
    for sql in [
        // A view that never ends.
        "ALTER TABLE runs RENAME TO hidden; CREATE VIEW runs AS WITH RECURSIVE n(run) AS (SELECT 1 UNION ALL \
         SELECT run + 1 FROM n) SELECT n.run, role, task, arm, state, stopped_in, facts FROM n, hidden",
        "CREATE TRIGGER later AFTER INSERT ON entries BEGIN DELETE FROM facts; END",
    ] {
        let bench = Bench::new();
        let path = bench.put(&fs::read(study.record()).unwrap());
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let Ok(Verification::Diverged(divergence)) = verify(&path) else {
            panic!("{sql}: not found");
        };
        assert_eq!(divergence.code, Code::TablesDiffer, "{sql}");
        let refused = Store::open(&path, || prereg::units::Time(0)).map(|_| ());
        assert_eq!(refused.unwrap_err().code(), "row-unreadable", "{sql}");
    }
}

/// Copies a record, runs statements on it, and others while one of its indexes is hidden from SQLite; returns the copy.
fn with_hidden_index(
    bench: &Bench,
    study: &Study,
    before: &str,
    index: &str,
    after: &str,
) -> PathBuf {
    let path = bench.put(&fs::read(study.record()).unwrap());
    let open = || Connection::open(&path).unwrap();
    open().execute_batch(before).unwrap();
    let (table, root, sql): (String, i64, String) = open()
        .query_row(
            "SELECT tbl_name, rootpage, sql FROM sqlite_schema WHERE name = ?1",
            [index],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .unwrap();
    let hidden = open();
    hidden
        .execute_batch(&format!(
            "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = '{index}'; PRAGMA writable_schema = RESET; {after}; \
             PRAGMA writable_schema = 1",
        ))
        .unwrap();
    hidden
        .execute(
            "INSERT INTO sqlite_schema VALUES ('index', ?1, ?2, ?3, ?4)",
            (index, table, root, sql),
        )
        .unwrap();
    path
}

fn assert_tables_differ(path: &Path, says: &str) {
    let Ok(Verification::Diverged(divergence)) = verify(path) else {
        panic!("not found");
    };
    assert_eq!(divergence.code, Code::TablesDiffer);
    assert!(divergence.message.contains(says), "{divergence}");
}

#[test]
fn rows_that_an_index_alone_holds_are_found() {
    let study = finished();
    let bench = Bench::new();
    // An index of somebody else's making that has all that is asked for, and is preferred to the table.
    let path = with_hidden_index(
        &bench,
        &study,
        "CREATE TABLE kept AS SELECT run, facts FROM runs; \
         UPDATE runs SET facts = replace(facts, '\"scored\"', '\"unjudged\"'); \
         CREATE INDEX evil ON runs (run, facts); ANALYZE; UPDATE sqlite_stat1 SET stat = '1000000 1 1 sz=1'",
        "evil",
        "UPDATE runs SET facts = (SELECT facts FROM kept WHERE kept.run = runs.run); DROP TABLE kept",
    );
    assert_tables_differ(&path, "CREATE INDEX evil");
    let refused = Store::read(&path).map(|_| ());
    assert_eq!(refused.unwrap_err().code(), "row-unreadable");

    // An index of the record itself that leads elsewhere.
    let path = with_hidden_index(
        &bench,
        &study,
        "UPDATE runs SET task = 'no ' || task WHERE role = 'control'",
        "controls_of_a_task",
        "UPDATE runs SET task = substr(task, 4) WHERE role = 'control'",
    );
    assert_tables_differ(&path, "the pages of `runs`");
}

#[test]
fn rows_that_are_found_otherwise_than_they_are_read_are_found() {
    let study = finished();
    let bench = Bench::new();
    let mut whole = fs::read(study.record()).unwrap();
    let connection = Connection::open(study.record()).unwrap();
    let root = connection.query_row(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'facts'",
        [],
        |row| row.get::<_, u32>(0),
    );
    drop(connection);
    // The places of the first two rows in their page: who reads all of them finds the same ones.
    let page = (root.unwrap() as usize - 1) * 4096;
    assert_eq!(whole[page], 0x0a, "a leaf");
    assert!(whole[page + 4] >= 2, "two rows");
    let cells = &mut whole[page + 8..page + 12];
    cells.rotate_left(2);
    assert_eq!(
        bench.divergence(&whole, "rows out of order"),
        Code::TablesDiffer
    );
}

#[test]
fn a_name_that_stands_twice_in_a_row_means_the_same_to_everybody() {
    let study = finished();
    let slots = study.prereg(&["export", "--csv", "slots"]).out;
    assert!(slots.contains("scored"), "{slots}");
    let connection = Connection::open(study.record()).unwrap();
    let forged = connection.execute(
        "UPDATE runs SET facts = replace(facts, '\"passed\":', '\"passed\":null,\"passed\":')",
        [],
    );
    assert!(forged.unwrap() > 0);
    drop(connection);
    study.verify();
    assert_eq!(study.prereg(&["export", "--csv", "slots"]).out, slots);
}

#[test]
fn a_record_that_somebody_let_sqlite_look_over_is_still_one() {
    let study = finished();
    let connection = Connection::open(study.record()).unwrap();
    connection
        .execute_batch("ANALYZE; VACUUM; REINDEX")
        .unwrap();
    drop(connection);
    study.verify();
}

#[test]
fn the_guards_of_the_tables_hold() {
    let study = finished();
    let connection = Connection::open(study.record()).unwrap();
    for sql in [
        "UPDATE entries SET body = ''",
        "DELETE FROM entries WHERE seq = 3",
    ] {
        assert!(connection.execute_batch(sql).is_err(), "{sql}");
    }
    drop(connection);
    study.verify();
}

fn exported(path: &Path) -> Option<Vec<u8>> {
    let mut whole = Vec::new();
    let mut store = Store::read(path).ok()?;
    store.export(&mut whole, false).ok()?;
    Some(whole)
}

#[test]
fn a_flipped_bit_in_a_record_is_found_or_changes_nothing() {
    let mut dice = Dice::new("record flips");
    let study = finished();
    let whole = fs::read(study.record()).unwrap();
    let export = export_of(&study);
    let mut found = 0;
    let mut places = places(&mut dice, whole.len(), 200);
    places.extend(0..100);
    for place in &places {
        let mut changed = whole.clone();
        changed[*place] ^= 1 << dice.below(8);
        let bench = Bench::new();
        let path = bench.put(&changed);
        match verify(&path) {
            Ok(Verification::Diverged(_)) => found += 1,
            Ok(Verification::Verified(_) | Verification::Empty) => {
                assert_eq!(exported(&path).as_ref(), Some(&export), "byte {place}");
            }
            // The number of the tables' version is nobody's to check but the one who knows it.
            Err(fault) if ["record-newer", "record-older"].contains(&fault.code()) => {
                assert!((60..64).contains(place), "byte {place}: {fault}");
            }
            Err(fault) => panic!("byte {place}: {fault}"),
        }
    }
    println!(
        "record flips: {found} of {} found, the others changed nothing",
        places.len()
    );
}

#[test]
fn nothing_sealed_is_in_an_export_before_the_end() {
    let study = Recipe {
        seal: true,
        ..hand_recipe()
    }
    .lay();
    study.register();
    let (task, arm) = next(&study, "t0", "a");
    if study.entries().len() == 3 && study.entries()[2]["ruling"]["granted"].is_null() {
        study.data(&["start", &task, &arm]);
    }
    study.data(&["finish", "1", "--exit", "7"]);
    study.write(
        "report",
        r#"{"correct": true, "bytes": 31337, "note": "canary-6b1f"}"#,
    );
    study.data(&["score", "1", "--report", "report"]);
    study.verify();

    let sealed = study.data(&["export", "--to", "sealed.jsonl"]);
    assert_eq!(sealed["sealed"], true);
    let text = fs::read_to_string(study.base.join("sealed.jsonl")).unwrap();
    let secrets = [
        "canary-6b1f",
        "31337",
        "\"exit\"",
        "\"opening\"",
        "\"outcomes.passed\":true",
        "\"outcomes.passed\":false",
    ];
    for secret in secrets {
        assert!(!text.contains(secret), "{secret}");
    }
    let said = study.prereg(&["verify", "sealed.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.contains("1 scores are sealed") || said.out.contains("1 score is sealed"),
        "{said:?}"
    );
    assert_eq!(study.data(&["verify", "sealed.jsonl"])["withheld"], 1);
    // A sealed export with an opening in it says something of itself that is not so.
    let opened = study.entries().len();
    for told in [
        study.prereg(&["show", "1"]),
        study.prereg(&["status"]),
        study.prereg(&["show", "1", "--json"]),
        study.prereg(&["status", "--json"]),
    ] {
        assert_eq!(told.code, Some(0));
        assert!(
            !told.out.contains("canary-6b1f") && !told.out.contains("\"passed\":true"),
            "{told:?}"
        );
        assert!(
            !told.out.contains("exit 7") && !told.out.contains("\"exit\":7"),
            "{told:?}"
        );
    }
    assert_eq!(study.entries().len(), opened, "looking is not recorded");

    let unsealed = study.data(&["export", "--to", "unsealed.jsonl", "--unblind"]);
    assert_eq!(unsealed["sealed"], false);
    let text = fs::read_to_string(study.base.join("unsealed.jsonl")).unwrap();
    assert!(text.contains("canary-6b1f") && text.contains("\"exit\":7"));
    assert!(text.lines().last().unwrap().contains("\"unblind\""));
    study.verify();
    assert_eq!(study.data(&["verify", "unsealed.jsonl"])["withheld"], 0);
    assert_eq!(study.data(&["status"])["standing"]["unblinded"], 1);
    // Whoever looked once has to say so again.
    assert_eq!(
        study.data(&["export", "--to", "again.jsonl"])["sealed"],
        true
    );

    // What is sealed cannot be changed either.
    let whole = fs::read(study.base.join("sealed.jsonl")).unwrap();
    let bench = Bench::new();
    let mut dice = Dice::new("sealed flips");
    for place in places(&mut dice, whole.len(), 60) {
        let mut changed = whole.clone();
        changed[place] ^= 1 << dice.below(8);
        bench.divergence(&changed, &format!("byte {place}"));
    }
}

#[test]
fn what_is_no_record_is_said_to_be_none() {
    let bench = Bench::new();
    for bytes in [
        &b""[..],
        b"SQLite format 3\0",
        b"\0",
        b"{}\n",
        b"\xff\xfe\n",
        b"SQLite format 3\0 and nothing else that a database has",
    ] {
        let code = bench.divergence(bytes, "nonsense");
        assert!(
            matches!(code, Code::NotARecord | Code::LineSyntax),
            "{code:?}"
        );
    }
    // Somebody else's database is refused, and left as it was.
    let path = bench.folder.path().join("other.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
        .unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    assert!(matches!(verify(&path), Ok(Verification::Diverged(_))));
    let study = Recipe::default().lay();
    let said = study.prereg(&[
        "register",
        "study.toml",
        "--db",
        path.to_str().unwrap(),
        "--json",
    ]);
    assert_eq!(
        (said.code, said.error_code()),
        (Some(1), "not-a-record".to_owned())
    );
    assert!(
        fs::read(&path).unwrap() == before,
        "a foreign database was changed"
    );
    let said = study.prereg(&["verify", "none", "--json"]);
    assert_eq!(
        (said.code, said.error_code()),
        (Some(1), "record-not-found".to_owned())
    );
    let said = study.prereg(&["verify", ".", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
}
