//! `analyze`: the registered answer, derived again by hand; what it refuses; tables that nobody registered.

#![allow(
    clippy::unwrap_used,
    clippy::float_arithmetic,
    clippy::print_stdout,
    reason = "a test stops at the first broken assumption, and computes with what it holds against"
)]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Recipe, Said, Study, prereg};
use prereg::analysis::registered::Registered;
use prereg::analysis::registered::observed::{Fate, Observed, Slot, Task};
use prereg::folder::DiskFolder;
use prereg::protocol::check::check;
use serde_json::{Value, json};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn say(folder: &Path, arguments: &[&str]) -> Said {
    Said::of(prereg(arguments).current_dir(folder).output().unwrap())
}

fn data(folder: &Path, arguments: &[&str]) -> Value {
    let said = say(folder, &[arguments, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{arguments:?}: {said:?}");
    said.json()
}

/// Runs the quickstart in a folder of its own.
fn quickstart() -> (tempfile::TempDir, Said) {
    let folder = tempfile::tempdir().unwrap();
    let protocols = root().join("protocols");
    let copied = Command::new("cp")
        .arg("-r")
        .args([
            protocols.join("quickstart"),
            protocols.join("quickstart.toml"),
        ])
        .arg(folder.path())
        .status();
    assert!(copied.unwrap().success());
    let said = say(folder.path(), &["run", "quickstart.toml", "--quiet"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    (folder, said)
}

/// Returns, for each task and arm, how many of its slots have an outcome, from the exported table.
fn successes(folder: &Path, column: &str) -> BTreeMap<(String, String), i64> {
    let table = say(folder, &["export", "--csv", "slots"]).out;
    let mut rows = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let place = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let (task, arm, value) = (place("task"), place("arm"), place(column));
    let mut counts = BTreeMap::new();
    for row in rows {
        let key = (row[task].to_owned(), row[arm].to_owned());
        *counts.entry(key).or_default() += row[value].parse::<i64>().unwrap();
    }
    counts
}

#[test]
fn the_answer_of_the_quickstart_is_the_one_that_a_hand_computes() {
    let (folder, ran) = quickstart();
    let folder = folder.path();
    let counts = successes(folder, "smaller");
    let tasks: Vec<&String> = counts.keys().map(|(task, _)| task).collect();
    let mut differences = BTreeMap::new();
    for task in tasks {
        let of = |arm: &str| counts[&(task.clone(), arm.to_owned())];
        differences.insert(task.clone(), of("best") - of("fast"));
    }
    let differences: Vec<i64> = differences.into_values().collect();
    let n = differences.len() as f64;
    assert_eq!(differences.len(), 12);

    // Every way to flip the signs of the twelve tasks, equally likely.
    let sum: i64 = differences.iter().sum();
    let ways = 1_u32 << differences.len();
    let reaches = |pattern: &u32| {
        let flipped = differences.iter().enumerate();
        let flipped = flipped.map(|(i, one)| if pattern >> i & 1 == 1 { -one } else { *one });
        flipped.sum::<i64>().abs() >= sum.abs()
    };
    let p = (0..ways).filter(reaches).count() as f64 / f64::from(ways);

    // The paired t interval, with the 0.975 quantile of Student's t at 11 degrees of freedom from a table.
    let shares: Vec<f64> = differences.iter().map(|one| *one as f64 / 2.0).collect();
    let mean = shares.iter().sum::<f64>() / n;
    let squares: f64 = shares.iter().map(|one| (one - mean) * (one - mean)).sum();
    let se = (squares / (n - 1.0) / n).sqrt();
    let reach = 2.200_985_160_091_639 * se;

    let answer = data(folder, &["analyze"]);
    let primary = &answer["answer"]["primary"][0];
    let close = |value: &Value, expected: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - expected).abs() < 1e-12, "{value} for {expected}");
    };
    close(&primary["p"], p);
    close(&primary["estimate"], mean);
    close(&primary["se"], se);
    close(&primary["ci"][0], mean - reach);
    close(&primary["ci"][1], (mean + reach).min(1.0));
    assert_eq!(primary["tasks"], 12);
    assert_eq!(answer["answer"]["verdict"], "shown");
    assert_eq!(answer["answer"]["controls"][0]["gate"], "pass");

    // What `run` said is the same answer, in the same words.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = answer["sentence"].as_str().unwrap();
    assert!(words(&ran.out).contains(&words(sentence)), "{ran:?}");
    assert!(sentence.contains("best is better."), "{sentence}");

    // Holm over the two secondaries: the smaller p twice.
    let secondary = answer["answer"]["secondary"].as_array().unwrap();
    let raw: Vec<f64> = secondary
        .iter()
        .map(|one| one["p"].as_f64().unwrap())
        .collect();
    let smaller = usize::from(raw[1] < raw[0]);
    close(
        &secondary[smaller]["p_adjusted"],
        (2.0 * raw[smaller]).min(1.0),
    );

    // The same bytes again, and from the record that was made again from the export.
    assert_eq!(answer, data(folder, &["analyze"]));
    say(folder, &["export", "--to", "export.jsonl"]);
    let other = tempfile::tempdir().unwrap();
    let export = folder.join("export.jsonl");
    data(other.path(), &["import", export.to_str().unwrap()]);
    assert_eq!(answer, data(other.path(), &["analyze"]));
}

#[test]
fn an_answer_to_an_edited_record_is_none() {
    let study = Recipe {
        tasks: 2,
        ..Recipe::default()
    }
    .lay();
    study.complete();
    assert_eq!(study.prereg(&["analyze"]).code, Some(0));
    let edited = "UPDATE runs SET facts = replace(facts, '\"passed\":true', '\"passed\":false')";
    let record = rusqlite::Connection::open(study.record()).unwrap();
    assert!(record.execute(edited, []).unwrap() > 0);
    drop(record);
    let said = study.prereg(&["analyze", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "tables-differ")
    );
}

#[test]
fn an_exported_table_is_compared_and_names_move_no_cursor() {
    let study = Recipe {
        tasks: 3,
        ..Recipe::default()
    }
    .lay();
    study.complete();
    study.data(&["export", "--csv", "slots", "--to", "slots.csv"]);
    let arms = ["--reference", "a", "--treatment", "b"];
    let found = study.data(&[&["analyze", "--outcomes", "slots.csv"], &arms[..]].concat());
    assert_eq!(found["results"]["flow"]["tasks_drawn"], 3);
    assert_eq!(found["cluster"], Value::Null);
    // An export is neither a record nor a table.
    study.data(&["export", "--to", "whole.jsonl"]);
    let table = [&["analyze", "--outcomes", "whole.jsonl"], &arms[..]].concat();
    for words in [&["analyze", "whole.jsonl"][..], &table] {
        let said = study.prereg(words);
        assert_eq!(
            (said.code, said.err.as_str()),
            (
                Some(2),
                "usage[export]: `whole.jsonl` is an export, and no record: `prereg import whole.jsonl` makes the record again; analyze that\n"
            )
        );
    }
    study.write(
        "odd.csv",
        "task,arm,repeat,status,resolved\nt,\u{1b}[31mA\u{202e},1,scored,1\nt,B\u{7},1,scored,0\n",
    );
    let arms = [
        "--reference",
        "\u{1b}[31mA\u{202e}",
        "--treatment",
        "B\u{7}",
    ];
    let said = study.prereg(&[&["analyze", "--outcomes", "odd.csv"], &arms[..]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let raw = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
    assert!(!said.out.chars().any(raw), "{said:?}");
}

fn sealed_study() -> Study {
    Recipe {
        tasks: 2,
        repeats: 1,
        seal: true,
        ..Recipe::default()
    }
    .lay()
}

#[test]
fn nothing_is_said_before_the_study_has_ended() {
    let study = sealed_study();
    study.register();
    study.data(&["start", "t0", "a"]);
    let said = study.prereg(&["analyze"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert_eq!(
        said.err,
        "refused[sealed]: outcomes are sealed until the study has ended: 4 of 4 slots have not ended, 1 runs are live; `prereg run` goes on with them\n"
    );
    assert_eq!(study.prereg(&["analyze", "--json"]).error_code(), "sealed");
    let open = Recipe {
        seal: false,
        ..Recipe::default()
    }
    .lay();
    assert_eq!(open.prereg(&["analyze", "study.prereg.db"]).code, Some(1));
    open.register();
    let said = open.prereg(&["analyze", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(4), "not-ended")
    );
}

#[test]
fn few_tasks_a_failed_control_and_missing_slots_conclude_nothing() {
    let verdict = |recipe: Recipe| {
        let study = recipe.lay();
        study.complete();
        let answer = study.data(&["analyze"]);
        let rejects = answer["answer"]["primary"][0]["confirmatory"].clone();
        (answer["answer"]["verdict"].clone(), rejects)
    };
    let small = || Recipe {
        tasks: 2,
        repeats: 1,
        ..Recipe::default()
    };
    assert_eq!(verdict(small()), (json!("descriptive"), json!(false)));
    let wrong = Recipe {
        controls: true,
        judge: "#!/bin/sh\nprintf '{\"correct\": true, \"bytes\": 1}' > report.json\n".to_owned(),
        ..small()
    };
    assert_eq!(verdict(wrong), (json!("control-failed"), json!(false)));
    let silent = Recipe {
        judge: "#!/bin/sh\nexit 0\n".to_owned(),
        ..small()
    };
    assert_eq!(verdict(silent), (json!("incomplete"), json!(false)));
}

#[test]
fn every_run_of_a_slot_is_in_the_exposure() {
    let study = Recipe {
        judge: "#!/bin/sh\nexit 0\n".to_owned(),
        repeats: 1,
        ..Recipe::default()
    }
    .lay();
    study.complete();
    let answer = study.data(&["analyze"]);
    for arm in answer["answer"]["flow"]["arms"].as_array().unwrap() {
        // Two tasks, each of which was tried three times.
        assert_eq!((&arm["slots"], &arm["unjudged"]), (&json!(2), &json!(2)));
        let exposure = &arm["exposure"];
        assert_eq!(
            (&exposure["runs"], &exposure["timed"]),
            (&json!(6), &json!(6))
        );
    }
}

/// Returns the answer to a study of six tasks with two repeats, from what each slot of a task has in order.
fn answer_to(protocol: &str, slots: [[&[Option<f64>]; 2]; 2]) -> Value {
    let folder = DiskFolder::at(&root().join("tests/protocols"));
    let checked = check(protocol.as_bytes(), &folder).unwrap();
    let slots = (0..6).flat_map(|task| {
        slots.iter().enumerate().flat_map(move |(arm, repeats)| {
            repeats.iter().map(move |values| Slot {
                task,
                arm,
                turn: 0,
                stage: 0,
                started: true,
                fate: Fate::Scored,
                reason: None,
                values: values.to_vec(),
                exposed: None,
                wall: None,
            })
        })
    });
    let observed = Observed {
        tasks: (0..6)
            .map(|task| Task {
                id: task.to_string(),
                cluster: None,
                groups: Vec::new(),
            })
            .collect(),
        slots: slots.collect(),
        ..Observed::default()
    };
    let registration = &checked.registration;
    let registered = Registered {
        protocol: &registration.protocol,
        analysis: registration.protocol.analysis.as_ref().unwrap(),
        digest: registration.digest(),
        threads: NonZeroUsize::MIN,
    };
    json!(registered.answer(&observed))
}

#[test]
fn descriptions_read_the_registered_success_its_missing_values_and_what_it_costs() {
    let base = fs::read_to_string(root().join("tests/protocols/base.toml")).unwrap();
    let price = "[[outcomes]]\nid = \"price\"\nkind = \"money\"\nvalue = \"1\"\nbetter = \"lower\"\nmissing = \"available\"\n";
    let described = "[analysis.descriptive]\npass_at = [1, 2]\npass_hat = [2]\n\
                     cost_effectiveness = { lambda = [1, 10] }\n";
    let protocol = |missing: &str| {
        let filled = base.replacen("missing = 0", &format!("missing = {missing}"), 1);
        format!("{filled}\n{price}{described}")
            .replacen("outcome = \"passed\"", "outcome = \"price\"", 1)
            .replacen("\"sign_flip\"", "\"t_cr2\"", 1)
            .replace("_resolved\"\n", "_resolved\"\noutcome = \"passed\"\n")
            .replace(
                "[limitations]\n",
                "[limitations]\n\"missing-unbounded\" = \"x\"\n",
            )
    };
    // The outcomes in their order: passed, false_claim, price.
    let slot = |passed, price| [passed, Some(0.0), Some(price)];
    let (no, lost) = (slot(Some(0.0), 1.0), slot(None, 2.0));
    let dear = slot(Some(0.0), 2.0);
    let answer = answer_to(&protocol("1"), [[&no, &no], [&lost, &dear]]);
    let pair = &answer["described"][0];
    assert_eq!(pair["success"], "passed");
    let passes = &pair["pass_k"]["b"];
    assert_eq!(
        (&passes["pass@2"], &passes["pass^2"]),
        (&json!(1.0), &json!(0.0))
    );
    assert_eq!(pair["pass_k"]["a"]["pass@2"], 0.0);

    let costs = &pair["cost_effectiveness"];
    assert_eq!(
        (&costs["icer"], &costs["quadrant"]),
        (&json!(2.0), &json!("more_effective_dearer"))
    );
    assert_eq!(costs["cost_per_resolved_ratio"]["ci_flag"], "invalid_value");
    let curve = &costs["acceptability"];
    assert_eq!(curve["B"], Value::Null);
    let points = curve["points"].as_array().unwrap().iter();
    let found: Vec<(f64, f64)> = points
        .map(|point| {
            (
                point["lambda"].as_f64().unwrap(),
                point["p_positive"].as_f64().unwrap(),
            )
        })
        .collect();
    // One of two runs succeeds in every draw and costs 1 USD more: worth it above 2 USD a success.
    let expected = [0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
    let expected = expected.map(|worth| (worth, f64::from(u8::from(worth > 2.0))));
    assert_eq!(found, expected);

    let answer = answer_to(&protocol("\"available\""), [[&no, &no], [&lost, &dear]]);
    let pair = &answer["described"][0];
    // No task has a verdict in every slot.
    assert_eq!(pair["pass_k"]["b"]["pass@2"], Value::Null);
}

/// Returns the folder that a variable names, or the project's own.
fn folder(variable: &str, own: &str) -> PathBuf {
    std::env::var_os(variable).map_or_else(|| root().join(own), PathBuf::from)
}

fn reference(name: &str) -> Value {
    let path = folder("PREREG_STATS", "tests/stats").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Asserts that every leaf of a reference has a counterpart, and that what is exact agrees.
fn assert_like(found: &Value, expected: &Value, place: &str) {
    let sampled = place.contains("_mc") || place.contains("bootstrap");
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            for (key, expected) in expected {
                let place = format!("{place}.{key}");
                let found = found.get(key).unwrap_or_else(|| panic!("no {place}"));
                assert_like(found, expected, &place);
            }
        }
        (Value::Array(found), Value::Array(expected)) => {
            assert_eq!(found.len(), expected.len(), "{place}");
            for (found, expected) in found.iter().zip(expected) {
                assert_like(found, expected, place);
            }
        }
        _ if sampled => {}
        (Value::Number(found), Value::Number(expected)) => {
            let (found, expected) = (found.as_f64().unwrap(), expected.as_f64().unwrap());
            let off = (found - expected).abs();
            let near = off <= 1e-8 * expected.abs() || off <= 1e-8;
            assert!(near, "{place}: {found} for {expected}");
        }
        _ => assert_eq!(found, expected, "{place}"),
    }
}

#[test]
fn a_table_gives_the_results_of_the_references() {
    let mut seen = 0;
    for entry in fs::read_dir(folder("PREREG_STATS", "tests/stats")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".json") || reference(&name)["results"].is_null() {
            continue;
        }
        let expected = reference(&name);
        let text = |key: &str| expected[key].as_str().unwrap().to_owned();
        let table = folder("PREREG_DATA", "tests/data").join(text("dataset"));
        let (reference, treatment, k) = (
            text("reference"),
            text("treatment"),
            expected["k"].to_string(),
        );
        let mut arguments = vec!["analyze", "--outcomes", table.to_str().unwrap()];
        arguments.extend(["--reference", &reference, "--treatment", &treatment]);
        arguments.extend(["--repeats", &k, "--resamples", "999"]);
        let limit = expected["results"]["time_to_success"]["limit"].to_string();
        if limit != "null" {
            arguments.extend(["--limit", &limit]);
        }
        let found = data(root(), &arguments);
        assert_eq!(found["stamp"], "exploratory, not registered");
        assert_like(&found["results"], &expected["results"], &name);
        seen += 1;
    }
    assert!(seen > 3, "{seen}");
}

#[test]
fn cases_give_what_the_references_expect() {
    for (name, option) in [
        ("edge-tasks.json", "--tasks"),
        ("edge-numeric.json", "--numeric"),
    ] {
        let path = folder("PREREG_STATS", "tests/stats").join(name);
        let all = data(root(), &["analyze", option, path.to_str().unwrap()]);
        let expected = reference(name);
        let cases = expected["cases"].as_array().unwrap();
        for (found, expected) in all["cases"].as_array().unwrap().iter().zip(cases) {
            assert_eq!(found["name"], expected["name"]);
            assert_like(&found["expect"], &expected["expect"], name);
        }
        // One case by itself.
        let one = tempfile::tempdir().unwrap();
        fs::write(one.path().join("case.json"), cases[1].to_string()).unwrap();
        let found = data(one.path(), &["analyze", option, "case.json"]);
        assert_like(&found["expect"], &cases[1]["expect"], name);
    }
    for case in reference("edge-tables.json")["cases"].as_array().unwrap() {
        let counts = ["a", "b", "c", "d"].map(|key| case["counts"][key].to_string());
        let found = data(root(), &["analyze", "--counts", &counts.join(",")]);
        let place = format!("{}", case["name"]);
        assert_like(&found["expect"], &case["expect"], &place);
        assert_like(&found["rate_ci"], &case["rate_ci"], &place);
    }
}

#[test]
fn what_nobody_registered_has_pages() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let mut table =
        "task,arm,repeat,status,resolved,claimed,false_claim,cost_usd,kind\n".to_owned();
    for task in 0..12 {
        for arm in ["plain", "guided"] {
            for repeat in 1..=2 {
                let unjudged = task == 3 && arm == "plain" && repeat == 2;
                let passes = (task + repeat) % 3 == 0 || arm == "guided" && task % 2 == 0;
                let (status, resolved) = match unjudged {
                    true => ("unjudged", String::new()),
                    false => ("scored", u8::from(passes).to_string()),
                };
                let false_claim = match unjudged {
                    true => "",
                    false if passes => "0",
                    false => "1",
                };
                table.push_str(&format!(
                    "t{task},{arm},{repeat},{status},{resolved},1,{false_claim},0.{}{repeat},x\n",
                    task % 5 + 1
                ));
            }
        }
    }
    write("runs.csv", &table);
    write(
        "slots.json",
        "{\"cases\": [{\"name\": \"one\", \"k\": 1, \"tasks\": [{\"task\": \"t1\", \"a\": [0], \"b\": [1]}, {\"task\": \"t2\", \"a\": [null], \"b\": [1]}]}, {\"k\": 2, \"tasks\": [{\"task\": \"t1\", \"cluster\": \"r1\", \"a\": [0, null], \"b\": [1, 1]}, {\"task\": \"t2\", \"cluster\": \"r2\", \"a\": [0, 1], \"b\": [1, 0]}]}]}",
    );
    write(
        "numbers.json",
        "{\"a\": [0.7, 1.6, 1.1], \"b\": [1.9, 0.8, 2.5], \"clusters\": null}",
    );
    let mut told = String::new();
    for words in [
        "--outcomes runs.csv --reference plain --treatment guided --worth 2 --resamples 999 --quiet",
        "--counts 1,7,1,12",
        "--counts 0,0,0,0",
        "--tasks slots.json",
        "--numeric numbers.json",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let said = say(folder.path(), &[&["analyze"], words.as_slice()].concat());
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{words:?}");
        told.push_str(&format!(
            "$ prereg analyze {}\n{}\n",
            words.join(" "),
            said.out
        ));
    }
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("analyze__pages", told);
    });
}

#[test]
fn a_wrong_table_is_told_line_by_line() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "bad.csv",
        "task,arm,repeat,status,resolved\nt1,a,1,scored,1\nt1,a,1,scored,0\nt1,b,one,scored,2\nt2,b,1,judged,\n",
    );
    write(
        "short.json",
        "{\"k\": 2, \"tasks\": [{\"task\": \"t\", \"a\": [1], \"b\": [1, 0]}]}",
    );
    fs::create_dir(folder.path().join("folder")).unwrap();
    std::os::unix::fs::symlink("bad.csv", folder.path().join("link")).unwrap();
    let pipe = Command::new("mkfifo")
        .arg(folder.path().join("pipe"))
        .status();
    assert!(pipe.unwrap().success());
    let mut told = String::new();
    for words in [
        "--outcomes bad.csv --reference a --treatment b",
        "--outcomes folder --reference a --treatment b",
        "--outcomes link --reference a --treatment b",
        "--outcomes pipe --reference a --treatment b",
        "--tasks link",
        "--outcomes bad.csv --reference a",
        "--outcomes gone.csv --reference a --treatment b",
        "--tasks short.json",
        "--numeric short.json",
        "--counts 1,2,3",
        "--counts 1,2,3,4 --tasks short.json",
    ] {
        let words: Vec<&str> = words.split(' ').collect();
        let said = say(folder.path(), &[&["analyze"], words.as_slice()].concat());
        told.push_str(&format!("$ prereg analyze {}\n", words.join(" ")));
        told.push_str(&format!(
            "{}{}[{}]\n\n",
            said.out,
            said.err,
            said.code.unwrap()
        ));
    }
    insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("analyze__wrong", told);
    });
}

/// Fieller's interval takes tasks for unrelated: beside clusters it is not shown.
#[test]
fn a_ratio_over_clusters_has_no_interval_that_knows_none() {
    let folder = tempfile::tempdir().unwrap();
    let values = json!({ "a": [1.0, 2.0, 3.0, 5.0], "b": [1.5, 3.0, 4.0, 9.0], "clusters": ["x", "x", "y", "y"] });
    let mut alone = values.clone();
    alone.as_object_mut().unwrap().remove("clusters");
    for (input, shown) in [(values, false), (alone, true)] {
        fs::write(folder.path().join("n.json"), input.to_string()).unwrap();
        let said = say(folder.path(), &["analyze", "--numeric", "n.json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_eq!(said.out.contains("Fieller"), shown, "{}", said.out);
    }
}
