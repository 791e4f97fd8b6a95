//! What leaves a record, and comes back: imports, tables, statements; the seal on all of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says its seed"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use common::{Recipe, Said, Study, prereg};
use prereg::record::entry::{read_body, read_opening};
use prereg::record::export::read_entry;
use prereg::units::Digest;
use serde_json::{Value, json};

/// A study of which everything can be exported: reruns, an arm that fails, hostile texts.
fn study(seal: bool) -> Study {
    let fails_once = "test -e \"$LOG\" && printf b > out; echo x >> \"$LOG\"; printf '{\"done\": true}' > claim.json";
    let recipe = Recipe {
        arms: ["printf a > out".to_owned(), fails_once.to_owned()],
        seal,
        runs_max: 1,
        ..Recipe::default()
    };
    let study = recipe.lay();
    let protocol = fs::read_to_string(study.base.join("study.toml")).unwrap();
    let protocol = protocol
        .replace("alpha = 0.05\n", "alpha = 0.05\ncluster = \"family\"\n")
        .replace(
            "[analysis]\n",
            "[[outcomes]]\nid = \"size_of_output\"\nkind = \"number\"\nvalue = \"report.bytes\"\nbetter = \"lower\"\n\
             [[outcomes]]\nid = \"task\"\nkind = \"money\"\nvalue = \"double(report.bytes) * 1.5\"\nbetter = \"lower\"\n\
             [[outcomes]]\nid = \"claims\"\nkind = \"binary\"\nvalue = \"claim.done\"\nbetter = \"lower\"\nmissing = 0\n\
             [analysis]\n",
        );
    study.write("study.toml", &protocol);
    study.write(
        "tasks.jsonl",
        "{\"id\": \"t0\", \"family\": \"=HYPERLINK(1)\"}\n{\"id\": \"t1\", \"family\": \"a,\\\"b\\\"\"}\n",
    );
    study
}

/// Exports something into a file, and returns the file.
fn exported(study: &Study, name: &str, more: &[&str]) -> PathBuf {
    let mut arguments = vec!["export", "study.prereg.db", "--to", name];
    arguments.extend(more);
    study.data(&arguments);
    study.base.join(name)
}

/// Reads a table: each row by the names of its columns.
fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn import(study: &Study, arguments: &[&str]) -> Said {
    let mut all = vec!["import"];
    all.extend(arguments);
    all.push("--json");
    study.prereg(&all)
}

#[test]
fn a_record_comes_back_entry_for_entry_and_goes_on() {
    let study = study(false);
    study.register();
    study.data(&["deviate", "--note", "before anything", "--key", "mine"]);
    assert_eq!(study.prereg(&["start", "t9", "a", "--json"]).code, Some(4));
    study.complete();
    let export = exported(&study, "all.jsonl", &[]);
    let said = import(&study, &["all.jsonl", "--to", "copy.prereg.db"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let head = study.data(&["status", "study.prereg.db"])["head"].clone();
    assert_eq!(said.json()["head"], head);
    study.data(&["verify", "copy.prereg.db"]);
    study.data(&["export", "copy.prereg.db", "--to", "again.jsonl"]);
    let again = study.base.join("again.jsonl");
    assert_eq!(fs::read(export).unwrap(), fs::read(again).unwrap());
    for verb in ["status", "export --csv runs", "export --csv slots"] {
        let words = |record| verb.split(' ').chain([record]).collect::<Vec<_>>();
        let told = |record| study.prereg(&words(record)).out.replace("copy.", "study.");
        assert_eq!(told("copy.prereg.db"), told("study.prereg.db"), "{verb}");
    }
    // What was answered under a key is answered so again; what is new is appended.
    let mine = [
        "deviate",
        "--note",
        "before anything",
        "--key",
        "mine",
        "--db",
        "copy.prereg.db",
    ];
    assert_eq!(study.data(&mine)["repeated"], true);
    let other = ["deviate", "--note", "after", "--db", "copy.prereg.db"];
    assert_eq!(
        study.data(&other)["entry"],
        head["seq"].as_u64().unwrap() + 1
    );
    study.data(&["verify", "copy.prereg.db"]);
}

#[test]
fn standard_output_that_takes_nothing_is_no_fault_of_the_record() {
    let study = study(false);
    study.complete();
    for export in [&["export"] as &[&str], &["export", "--csv", "slots"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let said = Said::of(study.command(export).stdout(writer).output().unwrap());
        assert_eq!((said.code, &*said.err), (Some(0), ""), "{export:?}");
        let full = fs::File::create("/dev/full").unwrap();
        let said = Said::of(study.command(export).stdout(full).output().unwrap());
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.starts_with("fault[output]: "), "{said:?}");
    }
}

#[test]
fn a_study_in_the_middle_comes_back_and_is_completed() {
    let study = study(true);
    study.register();
    study.data(&["start", "t0", "a"]);
    let export = exported(&study, "middle.jsonl", &["--unblind"]);
    let folder = study.base.join("elsewhere");
    fs::create_dir(&folder).unwrap();
    let mut command = prereg(&["import", export.to_str().unwrap()]);
    let said = Said::of(command.current_dir(&folder).output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(names(&folder), ["study.prereg.db"], "called as its study");
    let record = folder.join("study.prereg.db");
    let record = record.to_str().unwrap();
    study.data(&["finish", "1", "--exit", "0", "--db", record]);
    study.data(&["verify", record]);
}

#[test]
fn an_import_takes_away_what_killed_ones_have_left() {
    let study = study(false);
    study.register();
    exported(&study, "all.jsonl", &[]);
    let left = |name: &str| {
        let path = study.base.join(name);
        fs::write(&path, "half made").unwrap();
        path
    };
    let dead = [
        "copy.db.41.prereg-tmp",
        "copy.db.41.prereg-tmp-wal",
        "copy.db.42.prereg-tmp",
    ]
    .map(left);
    let others = [
        "copy.db.x.prereg-tmp",
        "copy.db.43.prereg-tmp.old",
        "other.db.44.prereg-tmp",
        "copy.db.46.tmp",
    ]
    .map(left);
    let live = left("copy.db.45.prereg-tmp");
    let held = fs::File::open(&live).unwrap();
    held.lock().unwrap();
    assert_eq!(
        import(&study, &["all.jsonl", "--to", "copy.db"]).code,
        Some(0)
    );
    assert!(!dead.iter().any(|path| path.exists()), "{dead:?}");
    assert!(live.exists(), "somebody is at work on it");
    assert!(others.iter().all(|path| path.exists()), "{others:?}");
    study.data(&["verify", "copy.db"]);
    study.data(&["start", "t0", "a", "--db", "copy.db"]);

    let dead = ["out.jsonl.41.prereg-tmp", "slots.csv.42.prereg-tmp"].map(left);
    exported(&study, "out.jsonl", &[]);
    exported(&study, "slots.csv", &["--csv", "slots"]);
    assert!(!dead.iter().any(|path| path.exists()), "{dead:?}");
    assert!(live.exists());
}

#[test]
fn what_cannot_be_imported_leaves_nothing() {
    let study = study(true);
    study.register();
    study.data(&["start", "t0", "a"]);
    study.data(&["finish", "1", "--exit", "3"]);
    exported(&study, "sealed.jsonl", &[]);
    let whole = exported(&study, "whole.jsonl", &["--unblind"]);
    let text = fs::read_to_string(&whole).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.len() - 1;
    let mut forged: Vec<(String, String)> = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let without = text.replace(&format!("{line}\n"), "");
        forged.push((format!("without line {place}"), without));
        let doubled = text.replace(line, &format!("{line}\n{line}"));
        forged.push((format!("line {place} twice"), doubled));
    }
    forged.push(("cut off".to_owned(), text[..text.len() - 9].to_owned()));
    forged.push((
        "salt".to_owned(),
        text.replace("\"salt\":\"", "\"salt\":\"0"),
    ));
    forged.push(("exit".to_owned(), text.replace("\"exit\":3", "\"exit\":0")));
    forged.push(("late".to_owned(), format!("{text}{}\n", lines[last])));
    let before = names(&study.base);
    for (what, text) in forged {
        study.write("forged.jsonl", &text);
        let said = import(&study, &["forged.jsonl", "--to", "copy.prereg.db"]);
        assert_eq!(said.code, Some(5), "{what}: {said:?}");
        fs::remove_file(study.base.join("forged.jsonl")).unwrap();
        assert_eq!(names(&study.base), before, "{what}");
    }
    for (arguments, code, error) in [
        (&["sealed.jsonl"][..], 4, "sealed-export"),
        (&["whole.jsonl"], 2, "file-exists"),
        (&["whole.jsonl", "--to", "judge.sh"], 2, "file-exists"),
        (&["whole.jsonl", "--to", "no/such/folder.db"], 1, "file"),
        (
            &["study.prereg.db", "--to", "copy.prereg.db"],
            5,
            "line-syntax",
        ),
        (&["judge.sh", "--to", "copy.prereg.db"], 5, "not-a-record"),
        (
            &["none.jsonl", "--to", "copy.prereg.db"],
            1,
            "record-not-found",
        ),
        (&[".", "--to", "copy.prereg.db"], 1, "not-file"),
    ] {
        let said = import(&study, arguments);
        assert_eq!(said.code, Some(code), "{arguments:?}: {said:?}");
        assert_eq!(said.error_code(), error, "{arguments:?}");
        assert_eq!(names(&study.base), before, "{arguments:?}");
    }
}

#[test]
fn a_record_does_not_come_beside_the_log_of_another() {
    let study = study(false);
    study.register();
    exported(&study, "all.jsonl", &[]);
    study.write("copy.prereg.db-wal", "what was written to another record");
    let said = import(&study, &["all.jsonl", "--to", "copy.prereg.db"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "file-exists")
    );
    assert!(!study.base.join("copy.prereg.db").exists());
}

#[test]
fn slots_have_a_row_each_whatever_became_of_them() {
    let study = study(false);
    let registered_none = study.prereg(&["export", "study.prereg.db", "--csv", "slots"]);
    assert_eq!(registered_none.code, Some(1), "there is no record yet");
    study.register();
    let rows = table(&exported(&study, "none.csv", &["--csv", "slots"]));
    assert_eq!(rows.len(), 8);
    assert!(
        rows.iter()
            .all(|row| row["status"] == "missing" && row["reason"] == "not-started")
    );
    study.complete();
    let path = exported(&study, "slots.csv", &["--csv", "slots"]);
    let text = fs::read_to_string(&path).unwrap();
    let header = text.lines().next().unwrap();
    assert_eq!(
        header,
        "task,cluster,arm,repeat,position,status,reason,resolved,claimed,false_claim,cost_usd,\
         input_tokens,output_tokens,duration_s,started_at,ended_at,passed,size_of_output,\
         outcomes.task,claims"
    );
    assert!(!text.contains('\r') && text.ends_with('\n'));
    let rows = table(&path);
    let tally = study.data(&["status", "study.prereg.db"])["tally"].clone();
    let of = |key: &str, value: &str| rows.iter().filter(|row| row[key] == value).count();
    assert_eq!(json!(of("status", "scored")), tally["scored"]);
    assert_eq!(rows.len(), 8);
    for (arm, counted) in [
        ("a", &tally["outcomes"][0]["arms"][0]),
        ("b", &tally["outcomes"][0]["arms"][1]),
    ] {
        let resolved = rows
            .iter()
            .filter(|row| row["arm"] == arm && row["resolved"] == "1");
        assert_eq!(json!(resolved.count()), counted["count"], "{arm}");
    }
    for row in &rows {
        assert_eq!(row["resolved"], row["passed"]);
        assert_eq!(row["claimed"], row["claims"]);
        assert!(row["repeat"] == "1" || row["repeat"] == "2");
        let family = if row["task"] == "t0" {
            "'=HYPERLINK(1)"
        } else {
            "a,\"b\""
        };
        assert_eq!(row["cluster"], family);
        let bytes: u32 = row["size_of_output"].parse().unwrap();
        assert_eq!(row["outcomes.task"], if bytes == 0 { "0" } else { "1.5" });
        let duration = row["duration_s"].split_once('.').unwrap();
        assert!(duration.0 == "0" && duration.1.len() <= 6, "{duration:?}");
        let time = &row["started_at"];
        assert!(
            time.len() == 27 && time.ends_with('Z') && time < &row["ended_at"],
            "{time}"
        );
        assert_eq!(
            [&row["cost_usd"], &row["input_tokens"], &row["reason"]],
            ["", "", ""]
        );
    }
    let order: Vec<&str> = rows.iter().map(|row| row["position"].as_str()).collect();
    assert_eq!(order, ["1", "1", "1", "1", "2", "2", "2", "2"]);
}

#[test]
fn a_slot_without_a_verdict_says_why_and_keeps_what_was_measured() {
    let judge = common::JUDGE.replace("bytes=0\n", "bytes=0\n[ \"$(cat out)\" = a ] && exit 0\n");
    let recipe = Recipe {
        judge,
        attempts: "per_slot = 2\nrerun = [\"unjudged\"]\nstale_after = \"1h\"",
        ..Recipe::default()
    };
    let study = recipe.lay();
    study.register();
    study.complete();
    let rows = table(&exported(&study, "slots.csv", &["--csv", "slots"]));
    let unjudged: Vec<_> = rows.iter().filter(|row| row["arm"] == "a").collect();
    assert_eq!(unjudged.len(), 4);
    for row in unjudged {
        assert_eq!(
            (row["status"].as_str(), row["reason"].as_str()),
            ("unjudged", "no-report")
        );
        assert_eq!((row["resolved"].as_str(), row["passed"].as_str()), ("", ""));
        assert!(
            !row["duration_s"].is_empty() && !row["ended_at"].is_empty(),
            "{row:?}"
        );
    }
    let runs = table(&exported(&study, "runs.csv", &["--csv", "runs"]));
    let second = runs.iter().filter(|row| row["attempt"] == "2");
    assert_eq!((runs.len(), second.count()), (12, 4));
}

#[test]
fn runs_have_a_row_each_and_texts_are_no_formulas() {
    let study = study(false);
    study.register();
    study.data(&["start", "t0", "a", "--ref", "=cmd|' /C calc'!A0"]);
    study.data(&[
        "finish",
        "1",
        "--exit",
        "0",
        "--wall",
        "90ms",
        "--cost",
        "1.000001 USD",
    ]);
    study.data(&["score", "1", "--no-report"]);
    study.data(&["start", "t0", "a", "--ref", "  @x"]);
    let rows = table(&exported(&study, "runs.csv", &["--csv", "runs"]));
    assert_eq!(rows.len(), 2);
    let first = &rows[0];
    for (column, cell) in [
        ("run", "1"),
        ("phase", "confirmatory"),
        ("task", "t0"),
        ("arm", "a"),
        ("attempt", "1"),
        ("state", "unjudged"),
        ("cause", "no-report"),
        ("executed", "elsewhere"),
        ("reference", "'=cmd|' /C calc'!A0"),
        ("duration_s", "0.09"),
        ("cost_usd", "1.000001"),
        ("timed_out", "0"),
        ("exit", "0"),
        ("passed", ""),
    ] {
        assert_eq!(first[column], cell, "{column}");
    }
    assert_eq!(
        (rows[1]["state"].as_str(), rows[1]["attempt"].as_str()),
        ("live", "2")
    );
    assert_eq!(rows[1]["reference"], "'  @x");
    assert_eq!(rows[1]["duration_s"], "");
    let slots = table(&exported(&study, "slots.csv", &["--csv", "slots"]));
    let live = slots.iter().find(|row| row["reason"] == "live").unwrap();
    assert_eq!(
        (live["status"].as_str(), live["cost_usd"].as_str()),
        ("missing", "")
    );
}

#[test]
fn the_seal_is_on_tables_too_and_looking_behind_it_is_recorded() {
    let study = study(true);
    study.register();
    let scored = |study: &Study| {
        study.data(&["start", "t0", "a"]);
        study.data(&["finish", "1", "--exit", "7"]);
        study.write("report.json", "{\"correct\": true, \"bytes\": 77}");
        study.data(&["score", "1", "--report", "report.json"]);
    };
    scored(&study);
    let values = [
        "passed",
        "resolved",
        "claimed",
        "false_claim",
        "size_of_output",
        "outcomes.task",
    ];
    let first = |rows: Vec<BTreeMap<String, String>>| {
        let mut rows = rows.into_iter();
        rows.find(|row| row["arm"] == "a" && !row["started_at"].is_empty())
            .unwrap()
    };
    let sealed = first(table(&exported(&study, "sealed.csv", &["--csv", "slots"])));
    assert_eq!(sealed["status"], "scored");
    for value in values {
        assert_eq!(sealed[value], "", "{value}");
    }
    let runs = first(table(&exported(&study, "runs.csv", &["--csv", "runs"])));
    for value in ["passed", "size_of_output", "exit", "cpu_s"] {
        assert_eq!(runs[value], "", "{value}");
    }
    let before = study.data(&["status", "study.prereg.db"]);
    let path = exported(
        &study,
        "open.csv",
        &["--csv", "slots", "--unblind", "--actor", "user:auditor"],
    );
    let open = first(table(&path));
    assert_eq!(
        (open["resolved"].as_str(), open["size_of_output"].as_str()),
        ("1", "77")
    );
    let after = study.data(&["status", "study.prereg.db"]);
    assert_eq!(
        after["head"]["seq"],
        before["head"]["seq"].as_u64().unwrap() + 1
    );
    assert_eq!(after["unblindings"][0]["actor"], "user:auditor");
    // Nothing of the statements is sealed, and nothing is recorded for them.
    study.prereg(&["export", "--prml", "--unblind"]);
    study.prereg(&["export", "--in-toto", "--unblind"]);
    assert_eq!(
        study.data(&["status", "study.prereg.db"])["head"],
        after["head"]
    );
}

#[test]
fn an_export_after_the_study_opens_what_an_earlier_one_committed_to() {
    let study = study(true);
    study.register();
    study.data(&["start", "t0", "a"]);
    study.data(&["finish", "1", "--exit", "7"]);
    study.write("report.json", "{\"correct\": true, \"bytes\": 77}");
    study.data(&["score", "1", "--report", "report.json"]);
    let early = fs::read_to_string(exported(&study, "early.jsonl", &[])).unwrap();
    study.complete();
    let late = fs::read_to_string(exported(&study, "late.jsonl", &[])).unwrap();
    assert!(!early.contains("\"opening\""));
    let mut opened: Vec<String> = Vec::new();
    for (early, late) in early.lines().zip(late.lines()).skip(1) {
        let (early, late) = (read_entry(early).unwrap(), read_entry(late).unwrap());
        assert_eq!(
            (early.seq, early.digest, &early.body),
            (late.seq, late.digest, &late.body)
        );
        let sealed = read_body(&early.body).unwrap().sealed;
        let Some(opening) = late.opening else {
            assert!(sealed.is_empty(), "{early:?}");
            continue;
        };
        let opening = read_opening(&opening).unwrap();
        assert_eq!(opening.commitments(), sealed);
        opened.extend(opening.values.keys().cloned());
    }
    for name in ["execution", "evidence", "outcomes.passed", "outcomes.task"] {
        assert!(
            opened.iter().any(|opened| opened == name),
            "{name}: {opened:?}"
        );
    }
    study.data(&["verify", "early.jsonl"]);
    study.data(&["verify", "late.jsonl"]);
}

/// What the two foreign forms must look like, as far as their schemas say.
fn assert_valid(schema: &Value, instance: &Value) {
    let validator = jsonschema::options().offline().build(schema).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(instance)
        .map(|fault| fault.to_string())
        .collect();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn the_statement_names_what_is_registered_by_digest() {
    let study = study(true);
    assert_eq!(
        study
            .prereg(&["export", "study.prereg.db", "--in-toto"])
            .code,
        Some(1)
    );
    study.register();
    let early = study.prereg(&["export", "--in-toto"]).out;
    study.complete();
    let said = study.prereg(&["export", "--in-toto"]);
    assert_eq!(
        said.out, early,
        "the study goes on, and the statement stays"
    );
    let statement = said.json();
    let digest = json!({ "type": "object", "required": ["sha256"], "properties": { "sha256": { "type": "string", "pattern": "^[0-9a-f]{64}$" } } });
    let subject = json!({ "type": "object", "required": ["name", "digest"], "additionalProperties": false,
        "properties": { "name": { "type": "string", "minLength": 1 }, "digest": digest } });
    let schema = json!({ "type": "object", "required": ["_type", "subject", "predicateType"], "additionalProperties": false,
        "properties": {
            "_type": { "const": "https://in-toto.io/Statement/v1" },
            "subject": { "type": "array", "minItems": 1, "items": subject },
            "predicateType": { "type": "string", "pattern": "^[a-z][a-z0-9+.-]*:." },
            "predicate": { "type": "object" } } });
    assert_valid(&schema, &statement);
    let predicate = &statement["predicate"];
    let subjects: BTreeMap<String, String> = statement["subject"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subject| {
            (
                subject["name"].as_str().unwrap().to_owned(),
                subject["digest"]["sha256"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let of_file = |name: &str| Digest::of(&[&fs::read(study.base.join(name)).unwrap()]).to_string();
    assert_eq!(subjects["protocol"], of_file("study.toml"));
    assert_eq!(subjects["files/judge.sh"], of_file("judge.sh"));
    let canonical = prereg::protocol::canonical::bytes(&predicate["registration"]);
    assert_eq!(
        subjects["registration"],
        Digest::of(&[&canonical]).to_string()
    );
    let status = study.data(&["status", "study.prereg.db"]);
    assert_eq!(predicate["digest"], status["standing"]["registered"]);
    assert_eq!(predicate["seed"], "a text");
    let entries = fs::read_to_string(exported(&study, "all.jsonl", &[])).unwrap();
    let seq = usize::try_from(predicate["head"]["seq"].as_u64().unwrap()).unwrap();
    let entry = read_entry(entries.lines().nth(seq).unwrap()).unwrap();
    assert_eq!(predicate["head"]["digest"], json!(entry.digest));
    assert!(entry.body.contains("\"do\":\"register\""));
}

#[test]
fn the_manifest_binds_the_primary_comparison() {
    let study = study(true);
    study.register();
    let said = study.prereg(&["export", "--prml"]);
    let mut manifest = serde_json::Map::new();
    let mut inner = String::new();
    for line in said.out.lines() {
        let (key, value) = line.split_once(':').unwrap();
        let value = value.trim().trim_matches('\'');
        let number = || serde_json::from_str::<Value>(value).unwrap();
        let value = match key.trim() {
            "seed" | "threshold" | "treatments" => number(),
            _ => json!(value),
        };
        match (key.strip_prefix("  "), value.as_str()) {
            (Some(key), _) => manifest[&inner][key] = value,
            (None, Some("")) => {
                inner = key.to_owned();
                manifest.insert(inner.clone(), json!({}));
            }
            (None, _) => {
                manifest.insert(key.to_owned(), value);
            }
        }
    }
    let keys: Vec<&String> = manifest.keys().collect();
    assert!(keys.is_sorted(), "{keys:?}");
    let text = json!({ "type": "string", "minLength": 1 });
    let schema = json!({ "type": "object", "additionalProperties": false,
        "required": ["version", "claim_id", "created_at", "metric", "comparator", "threshold", "dataset", "seed", "producer"],
        "properties": {
            "version": { "const": "prml/0.1" },
            "claim_id": { "pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$" },
            "created_at": { "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$" },
            "metric": text, "metric_args": { "type": "object" },
            "comparator": { "enum": [">=", ">", "==", "<=", "<"] },
            "threshold": { "type": "number" },
            "dataset": { "type": "object", "required": ["id", "hash"], "additionalProperties": false, "properties": { "id": text, "hash": text } },
            "seed": { "type": "integer", "minimum": 0 },
            "producer": { "type": "object", "required": ["id"], "additionalProperties": false, "properties": { "id": text } } } });
    let manifest = Value::Object(manifest);
    assert_valid(&schema, &manifest);
    let status = study.data(&["status", "study.prereg.db"]);
    assert_eq!(
        manifest["metric_args"]["registration"],
        status["standing"]["registered"]
    );
    assert_eq!(manifest["metric_args"]["treatment"], "b");
    assert_eq!(manifest["threshold"], json!(0.05));
    assert_eq!(manifest["producer"]["id"], "user:operator");
    let seed = Digest::of(&[b"a text"]).0;
    let seed = u64::from_be_bytes(seed[..8].try_into().unwrap());
    assert_eq!(manifest["seed"], json!(seed));
    let file = study.data(&["export", "--prml", "--to", "claim.prml.yaml"]);
    assert_eq!(file["sha256"], json!(Digest::of(&[said.out.as_bytes()])));
    let written = fs::read_to_string(study.base.join("claim.prml.yaml")).unwrap();
    assert_eq!(written, said.out);
    let said = study.prereg(&["export", "--prml", "--treatment", "a"]);
    assert_eq!(said.code, Some(2), "{said:?}");
}

#[test]
fn nothing_is_stated_of_what_is_not_registered() {
    let recipe = Recipe::default();
    let study = recipe.lay();
    study.register();
    let copy = study.base.join("draft.jsonl");
    let text = fs::read_to_string(exported(&study, "all.jsonl", &[])).unwrap();
    // The draft alone: what stood on the record before it was registered.
    let lines: Vec<&str> = text.lines().collect();
    let open = read_entry(lines[1]).unwrap();
    let head = prereg::record::entry::Head {
        seq: 1,
        digest: open.digest,
    };
    let header = prereg::record::export::Header::new("study", head, false);
    fs::write(copy, format!("{}\n{}\n", header.line(), lines[1])).unwrap();
    let said = import(&study, &["draft.jsonl", "--to", "draft.prereg.db"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for form in ["--in-toto", "--prml"] {
        let said = study.prereg(&["export", "draft.prereg.db", form, "--to", "x", "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(4), "no-registration")
        );
    }
    let slots = study.prereg(&["export", "draft.prereg.db", "--csv", "slots"]);
    assert_eq!(
        slots.out.lines().count(),
        1,
        "no slot is registered: {slots:?}"
    );
    let two = study.prereg(&["export", "draft.prereg.db", "--csv", "slots", "--prml"]);
    assert_eq!(two.code, Some(2), "one form at a time");
}

#[test]
fn every_form_is_the_same_bytes_in_any_surroundings() {
    let study = study(false);
    study.register();
    study.complete();
    exported(&study, "all.jsonl", &[]);
    study.data(&["import", "all.jsonl", "--to", "copy.prereg.db"]);
    let other = study.folder.path().join("other");
    fs::create_dir(&other).unwrap();
    let forms: [&[&str]; 5] = [
        &[],
        &["--csv", "slots"],
        &["--csv", "runs"],
        &["--in-toto"],
        &["--prml"],
    ];
    for form in forms {
        let bytes = |record: &str, folder: &Path, locale: &str, zone: &str, umask: &str| {
            let record = study.base.join(record);
            let mut line = vec![record.to_str().unwrap()];
            line.extend(form);
            let program = env!("CARGO_BIN_EXE_prereg");
            let script = format!("umask {umask}; exec {program} export \"$@\"");
            let mut shell = std::process::Command::new("sh");
            shell
                .args(["-c", &script, "sh"])
                .args(&line)
                .current_dir(folder);
            shell
                .env("LANG", locale)
                .env("LC_ALL", locale)
                .env("TZ", zone);
            let output = shell.output().unwrap();
            assert!(output.status.success(), "{output:?}");
            output.stdout
        };
        let first = bytes("study.prereg.db", &study.base, "C", "UTC", "022");
        assert!(!first.is_empty());
        for locale in ["C", "de_DE.UTF-8", "tr_TR.UTF-8"] {
            for zone in ["UTC", "Asia/Kolkata", "America/St_Johns"] {
                for (record, folder, umask) in [
                    ("study.prereg.db", study.base.as_path(), "000"),
                    ("copy.prereg.db", other.as_path(), "077"),
                ] {
                    let again = bytes(record, folder, locale, zone, umask);
                    assert!(again == first, "{form:?} {record} {locale} {zone} {umask}");
                }
            }
        }
    }
}

#[test]
fn deviations_voids_refusals_and_looks_are_said_in_full() {
    let study = study(true);
    study.register();
    study.data(&["start", "t0", "a"]);
    study.data(&["finish", "1", "--exit", "0"]);
    study.data(&[
        "deviate",
        "--note",
        "the agent was updated\nto 2.1",
        "--actor",
        "user:anna",
    ]);
    let block = study.data(&["show", "1"])["block"].to_string();
    study.data(&[
        "void",
        &block,
        "--reason",
        "the disk was full",
        "--actor",
        "user:ben",
    ]);
    assert_eq!(study.prereg(&["start", "t9", "a"]).code, Some(4));
    study.data(&["show", "1", "--unblind", "--actor", "user:cleo"]);
    let status = study.prereg(&["status", "study.prereg.db"]).out;
    let line = |start: &str| {
        let found = status
            .lines()
            .find(|line| line.trim_start().starts_with(start));
        found
            .unwrap_or_else(|| panic!("{start}: {status}"))
            .to_owned()
    };
    assert!(line("deviated").ends_with("user:anna: the agent was updated\\nto 2.1"));
    assert!(line("voided").ends_with("user:ben: the disk was full"));
    assert!(line("voided").contains(&format!("block {block}: ")));
    assert!(line("unblinded").ends_with("1 time before the study had ended"));
    assert!(status.contains("user:cleo"), "{status}");
    let refusals = study.data(&["verify", "study.prereg.db"])["refusals"].clone();
    assert!(refusals.as_u64() > Some(0));
    let json = study.data(&["status", "study.prereg.db"]);
    assert_eq!(json["standing"]["refusals"], refusals);
    assert_eq!(
        json["deviations"][0]["note"],
        "the agent was updated\nto 2.1"
    );
    assert_eq!(json["voids"][0]["reason"], "the disk was full");
    assert_eq!(json["voids"][0]["block"].to_string(), block);
    assert_eq!(json["unblindings"][0]["actor"], "user:cleo");
    let show = study.prereg(&["show", "1"]).out;
    assert!(show.contains("the disk was full"), "{show}");
    assert_eq!(
        study.data(&["show", "1"])["void"]["text"],
        "the disk was full"
    );
    let said = ["deviate", "void", "unblind"];
    let entries = study.entries();
    for action in said {
        let is_it = |entry: &&Value| entry["command"]["action"]["do"] == action;
        assert_eq!(entries.iter().filter(is_it).count(), 1, "{action}");
    }
    let refused = entries
        .iter()
        .filter(|entry| entry["ruling"].get("refused").is_some());
    assert_eq!(json!(refused.count()), refusals);
    study.verify();
    // Once nothing is sealed any more, nobody looks behind the seal.
    study.complete();
    let head = study.data(&["status", "study.prereg.db"])["head"].clone();
    study.data(&["status", "study.prereg.db", "--unblind"]);
    assert_eq!(study.data(&["status", "study.prereg.db"])["head"], head);
}
