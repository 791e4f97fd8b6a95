//! Exposure: whether a run had what its arm stands for, sealed as outcomes are and told with the answer.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; what is shared prints"
)]

mod common;

use std::fs;

use common::{JUDGE, Recipe, Study};
use serde_json::{Value, json};

/// A study that checks what each of its arms stands for.
fn study(checks: &str, seal: bool) -> Study {
    let note = r#"
        note=
        case $(cat out) in
            b) [ -e read ] && note=', "note": "read"' ;;
        esac
        printf '{"correct": %s, "bytes": 1%s}\n' "$correct" "$note" >report.json
    "#;
    let study = Recipe {
        tasks: 4,
        repeats: 1,
        runs_max: 1,
        seal,
        arms: [
            "printf a > out".to_owned(),
            // Every second run of it reads.
            "printf b > out; echo x >> \"$LOG\"; [ $(($(wc -l < \"$LOG\") % 2)) = 0 ] || : > read"
                .to_owned(),
        ],
        judge: format!("{JUDGE}{note}"),
        ..Recipe::default()
    }
    .lay();
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    study.write(
        "study.toml",
        &format!("{text}\n[manipulation_check]\n{checks}\n"),
    );
    study
}

fn exposed(study: &Study, arm: &str) -> Vec<Value> {
    let runs = study.runs().into_iter().filter(|run| run["arm"] == arm);
    runs.map(|run| run["exposed"].clone()).collect()
}

#[test]
fn each_scored_run_says_whether_it_was_exposed_and_the_answer_counts_them() {
    // Where the report has no note, nothing is known; a claim is always known.
    let study = study("a = \"!claim.done\"\nb = \"report.note == 'read'\"", false);
    study.complete();
    study.verify();
    assert_eq!(exposed(&study, "a"), vec![json!(true); 4]);
    let of_b = exposed(&study, "b");
    assert_eq!(of_b, [json!(true), Value::Null, json!(true), Value::Null]);
    let answer = study.data(&["analyze"]);
    let arms = &answer["answer"]["flow"]["arms"];
    assert_eq!(
        arms[0]["exposed"],
        json!({ "yes": 4, "no": 0, "unknown": 0 })
    );
    assert_eq!(
        arms[1]["exposed"],
        json!({ "yes": 2, "no": 0, "unknown": 2 })
    );
    let page = study.prereg(&["analyze"]).out;
    assert!(
        page.contains("2 scored runs exposed, 0 not, 2 unknown"),
        "{page}"
    );
    let second = study.runs().iter().position(|run| run["exposed"].is_null());
    let shown = study
        .prereg(&["show", &(second.unwrap() + 1).to_string()])
        .out;
    assert!(shown.contains("  exposed     unknown\n"), "{shown}");
}

#[test]
fn an_arm_that_is_not_checked_says_nothing_and_false_is_not_unknown() {
    let study = study("b = \"run.exit == 1\"", false);
    study.complete();
    study.verify();
    assert_eq!(exposed(&study, "a"), vec![Value::Null; 4]);
    assert_eq!(exposed(&study, "b"), vec![json!(false); 4]);
    let answer = study.data(&["analyze"]);
    let arms = &answer["answer"]["flow"]["arms"];
    assert_eq!(arms[0]["exposed"], Value::Null);
    assert_eq!(
        arms[1]["exposed"],
        json!({ "yes": 0, "no": 4, "unknown": 0 })
    );
}

#[test]
fn it_is_sealed_as_outcomes_are_and_verified_from_what_it_follows_from() {
    let study = study("a = \"true\"\nb = \"report.note == 'read'\"", true);
    study.register();
    for run in ["1", "2"] {
        let arm = if run == "1" { "a" } else { "b" };
        study.data(&["start", "t0", arm, "--ref", "x"]);
        study.data(&["finish", run, "--exit", "0"]);
        study.write("r.json", r#"{"correct": true, "bytes": 1, "note": "read"}"#);
        study.data(&["score", run, "--report", "r.json"]);
        let shown = study.data(&["show", run]);
        assert_eq!(
            (&shown["sealed"], &shown["exposed"]),
            (&json!(true), &Value::Null)
        );
        let seen = study.prereg(&["show", run]).out;
        assert!(!seen.contains("exposed"), "{seen}");
    }
    let scores = study.entries();
    let sealed: Vec<Vec<&String>> = scores
        .iter()
        .filter(|body| body["command"]["action"]["do"] == "score")
        .map(|body| body["sealed"].as_object().unwrap().keys().collect())
        .collect();
    let names = [
        "evidence",
        "exposed",
        "outcomes.false_claim",
        "outcomes.passed",
    ];
    assert_eq!(sealed, [names, names]);
    study.verify();
    let export = study.prereg(&["export"]).out;
    assert!(!export.contains("\"exposed\":true"), "{export}");
    study.data(&["export", "--to", "sealed.jsonl"]);
    let said = study.prereg(&["verify", "sealed.jsonl"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let open = study.data(&["show", "2", "--unblind"]);
    assert_eq!(open["exposed"], true);
}

#[test]
fn a_check_that_fails_leaves_its_run_unjudged_as_an_outcome_would() {
    let study = study(
        "b = \"1 / report.bytes > 0 && report.bytes / 0 > 1\"",
        false,
    );
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    study.write(
        "study.toml",
        &text.replace(
            "per_slot = 3\nrerun = [\"unjudged\", \"lost\", \"stale\"]",
            "per_slot = 1",
        ),
    );
    study.complete();
    study.verify();
    let of_b = study.states().into_iter().filter(|(arm, ..)| arm == "b");
    for (_, state, cause) in of_b {
        assert_eq!(
            (state.as_str(), cause.as_str()),
            ("unjudged", "outcome-error")
        );
    }
}
