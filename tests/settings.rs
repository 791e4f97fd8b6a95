//! Settings: what an arm was asked to use, and what it reports that it used.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; what is shared prints"
)]

mod common;

use std::fs;

use common::{Recipe, Study};
use serde_json::{Value, json};

/// A study whose arms print what they used, from a file that the test can change.
fn study(effective: &str, print: &str) -> Study {
    let arm = |letter: &str| format!("printf {letter} > out; {print}");
    let study = Recipe {
        tasks: 1,
        repeats: 3,
        runs_max: 1,
        arms: [arm("a"), arm("b")],
        ..Recipe::default()
    }
    .lay();
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    let text = text
        .replace(
            "[execution]\n",
            "[execution]\nrequests = { model = \"m-1\", effort = \"high\" }\n",
        )
        .replace(
            "[claim]\n",
            &format!("[observation]\nfrom = \"stdout\"\n{effective}\n[claim]\n"),
        );
    study.write("study.toml", &text);
    fs::write(&study.log, "m-1").unwrap();
    study
}

const BOTH: &str = "effective = { model = \"observed.model\", effort = \"observed.effort\" }";
/// Says what the log holds by now, and nothing of the effort.
const PRINT: &str = r#"printf '{"model": "%s"}' "$(cat "$LOG")""#;

fn settings(study: &Study, run: &str) -> Value {
    study.data(&["show", run])["used"].clone()
}

#[test]
fn a_change_refuses_the_next_start_of_that_arm_and_names_both_values() {
    // The second run of all changes what is used from then on.
    let print = format!(r#"[ "$(ls .. | grep -c '^2$')" = 1 ] && printf m-2 > "$LOG"; {PRINT}"#);
    let study = study(BOTH, &print);
    let said = study.prereg(&["run", "study.toml", "--json"]);
    let json = said.json();
    assert_eq!(
        (said.code, &json["code"]),
        (Some(4), &json!("binding-changed")),
        "{said:?}"
    );
    let runs = study.runs();
    let changed = &runs[1];
    assert_eq!(changed["used"], json!({ "effort": null, "model": "m-2" }));
    assert_eq!(runs[0]["used"], json!({ "effort": null, "model": "m-1" }));
    // Whatever its settings were, it was executed and is judged as registered.
    assert_eq!(changed["state"], "scored");
    let arm = changed["arm"].as_str().unwrap();
    let status = study.prereg(&["status"]);
    let wanted = format!(
        "binding-changed: {arm} was asked to use `model` = \"m-1\", and run 2 reports that it used \"m-2\""
    );
    assert!(status.out.contains(&wanted), "{status:?}");
    let shown = study.prereg(&["show", "2"]).out;
    for line in [
        "  setting   effort: \"high\" requested, what was used is unknown\n",
        "  setting   model: \"m-1\" requested, used \"m-2\"\n",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    // Asked again, the answer is the same.
    let again = study.prereg(&["run", "study.toml", "--json"]);
    assert_eq!(again.json()["code"], "binding-changed");
    assert_eq!(study.runs().len(), runs.len());
    study.verify();

    // Put right and said so, it goes on to the end.
    let unknown = study.prereg(&["deviate", "--note", "n", "--arm", "c", "--json"]);
    assert_eq!(unknown.error_code(), "unknown-arm");
    fs::write(&study.log, "m-1").unwrap();
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    assert!(text.contains("grep -c"));
    study.data(&["deviate", "--note", "the alias is pinned", "--arm", arm]);
    let status = study.prereg(&["status"]);
    assert!(status.out.contains("the alias is pinned"), "{status:?}");
    study.complete();
    study.verify();
    let export = study.prereg(&["export"]).out;
    assert!(export.contains(r#""used":{"effort":null,"model":"m-2"}"#));
}

#[test]
fn what_is_unknown_is_not_known_to_have_changed() {
    for (effective, print) in [
        (BOTH, "true"),
        (BOTH, "printf '{}'"),
        (BOTH, "printf 'no JSON'"),
        (
            "effective = { model = \"observed.list[7]\" }",
            "printf '{\"list\": []}'",
        ),
        ("", "printf '{\"model\": \"m-2\"}'"),
    ] {
        let study = study(effective, print);
        study.complete();
        study.verify();
        let nothing = json!({ "effort": null, "model": null });
        assert_eq!(settings(&study, "1"), nothing, "{effective} {print}");
    }
}

#[test]
fn a_setting_that_is_no_text_is_compared_by_its_json() {
    let effective = "effective = { model = \"observed.n\", effort = \"observed.list\" }";
    let study = study(effective, "printf '{\"n\": 7.0, \"list\": [1, 2]}'");
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    let text = text.replace("\"m-1\", effort = \"high\"", "\"7\", effort = \"[1,2]\"");
    study.write("study.toml", &text);
    study.complete();
    study.verify();
    assert_eq!(settings(&study, "3")["effort"], json!([1, 2]));
}

#[test]
fn an_arm_elsewhere_is_held_to_its_own_settings() {
    let study = study(BOTH, "true");
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    let text = text.replace(
        "differs = [\"command\"]",
        "differs = [\"command\", \"requests\", \"executed\"]\nexecuted = \"elsewhere\"\nrequests = { model = \"m-9\" }",
    );
    let text = text.replace("per_slot = 3", "per_slot = 3\nlate_report = \"refuse\"");
    study.write("study.toml", &text);
    study.register();
    let run = |arm: &str, run: &str, model: &str| {
        study.data(&["start", "t0", arm, "--ref", "x"]);
        study.write(
            "o.json",
            &format!("{{\"model\": \"{model}\", \"effort\": \"high\"}}"),
        );
        study.data(&["finish", run, "--exit", "0", "--observed", "o.json"]);
        study.write("r.json", "{\"correct\": true, \"bytes\": 1}");
        study.data(&["score", run, "--report", "r.json"]);
    };
    run("a", "1", "m-1");
    run("b", "2", "m-9");
    run("b", "3", "m-1");
    // The other arm has its own settings, and goes on.
    run("a", "4", "m-1");
    run("a", "5", "m-1");
    let said = study.prereg(&["start", "t0", "b", "--ref", "x", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(4), "binding-changed")
    );
    assert_eq!(
        said.json()["error"]["facts"],
        json!({ "code": "binding-changed", "arm": "b", "run": 3, "name": "model", "requested": "m-9", "effective": "m-1" })
    );
    study.verify();
}
