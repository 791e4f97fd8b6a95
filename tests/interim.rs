//! Scheduled looks: taken when they are due, obeyed, told without what was compared, and computed again.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test stops at the first broken assumption, and prints the seed of its dice"
)]

mod common;
mod forger;

use common::{Recipe, Study};
use forger::Forgery;
use prereg::engine::command::Action;
use prereg::record::entry::Answer;
use serde_json::{Value, json};

/// A study of so many tasks in two arms, with looks at a half and at the end; `b` is the second arm's command.
fn study(tasks: usize, b: &str) -> Study {
    let recipe = Recipe {
        tasks,
        ..Recipe::default()
    };
    let study = recipe.lay();
    let executed = if b.is_empty() {
        "executed = \"elsewhere\""
    } else {
        ""
    };
    let b = if b.is_empty() { "true" } else { b };
    let protocol = format!(
        r#"language = 1
[study]
id = "study"
title = "A study with looks"
question = "Does b succeed more often than a?"
hypotheses = []
kind = "confirmatory"
[tasks]
frame = "tasks.jsonl"
[[arms]]
id = "a"
command = ["false"]
{executed}
[[arms]]
id = "b"
command = ["{b}"]
differs = ["command"]
{executed}
[allocation]
repeats = 1
runs_max = 2
[execution]
timeout = "20s"
env_pass = ["PATH"]
[[outcomes]]
id = "ok"
kind = "binary"
value = "run.exit == 0"
better = "higher"
missing = 0
[[outcomes]]
id = "again"
kind = "binary"
value = "run.exit == 0"
better = "higher"
missing = 0
[analysis]
reference = "a"
treatments = ["b"]
[analysis.primary]
outcome = "ok"
estimand = "as_drawn"
test = "sign_flip"
objective = "superiority"
[[analysis.secondary]]
id = "second"
outcome = "again"
[analysis.multiplicity]
method = "holm"
[analysis.looks]
fractions = [0.5, 1.0]
spending = "obf"
[limitations]
"no-control" = "a test of the program, not of arms"
"unpinned-command" = "a program of the system, not probed"
"#
    );
    study.write("study.toml", &protocol);
    study
}

/// Returns the numbers of the entries of a record in which something was done, and what.
fn done(study: &Study, what: &str) -> Vec<(u64, Value)> {
    let export = study.prereg(&["export", "study.prereg.db"]).out;
    let entries = export
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let action = |entry: Value| {
        let action = entry["body"]["command"]["action"].clone();
        (action["do"] == what).then(|| (entry["seq"].as_u64().unwrap(), action))
    };
    entries.filter_map(action).collect()
}

fn look(look: u64, tasks: u64, stops: bool) -> Value {
    json!({ "do": "look", "look": look, "tasks": tasks, "stops": stops })
}

#[test]
fn a_look_that_shows_it_ends_the_study() {
    let study = study(24, "true");
    let said = study.prereg(&["run", "study.toml", "--quiet"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("stopped     look-stopped"), "{said:?}");
    let taken = done(&study, "look");
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].1, look(1, 12, true));
    study.verify();

    // What was under way ended; nothing else started, now or later.
    let runs = study.states().len();
    let starts = done(&study, "start");
    assert!((24..48).contains(&starts.len()), "{runs} runs");
    assert!(starts.iter().all(|start| start.0 < taken[0].0));
    let again = study.prereg(&["run", "study.toml", "--quiet"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(study.states().len(), runs);

    // The answer is that of the look's tasks, at the look's level; what else is compared decides nothing.
    let answer = study.data(&["analyze"])["answer"].clone();
    assert_eq!(answer["verdict"], "shown");
    assert_eq!(answer["flow"]["tasks_analysed"], 12);
    assert_eq!(answer["flow"]["missing"], 0);
    let primary = &answer["primary"][0];
    assert_eq!(primary["tasks"], 12);
    // Two sides: 2 x 2^-12; O'Brien and Fleming spend 0.00305 at a half.
    assert_eq!(primary["p"], 2.0 / 4096.0);
    let nominal = answer["looks"][0]["looks"][0]["nominal_p"]
        .as_f64()
        .unwrap();
    assert!((nominal - 0.003_051).abs() < 1e-6, "{nominal}");
    assert_eq!(primary["level"], nominal);
    assert_eq!(primary["ci_level"], 1.0 - nominal);
    assert_eq!(answer["looks"][0]["stopped_at"], 1);
    assert_eq!(answer["secondary"][0]["confirmatory"], false);
}

#[test]
fn a_look_that_does_not_lets_the_study_go_on() {
    let study = study(12, "false");
    study.complete();
    assert_eq!(
        done(&study, "look")
            .iter()
            .map(|look| &look.1)
            .collect::<Vec<_>>(),
        [&look(1, 6, false)]
    );
    study.verify();
    let answer = study.data(&["analyze"])["answer"].clone();
    assert_eq!(answer["verdict"], "not-shown");
    assert_eq!(answer["primary"][0]["tasks"], 12);
    assert_eq!(answer["looks"][0]["looks"].as_array().unwrap().len(), 2);
    assert_eq!(answer["secondary"][0]["confirmatory"], false);
}

#[test]
fn a_look_that_says_something_else_is_found() {
    for (arm, stops) in [("true", true), ("false", false)] {
        let study = study(24, arm);
        study.prereg(&["run", "study.toml", "--quiet"]);
        let [(seq, taken)] = <[_; 1]>::try_from(done(&study, "look")).unwrap();
        assert_eq!(taken["stops"], stops);
        let export = study.prereg(&["export", "study.prereg.db"]).out;
        let mut forgery = Forgery::of(export.as_bytes());
        let mut command = forgery.command(seq);
        let (_, ruling) = forgery.said(seq);
        let Action::Look { stops, .. } = &mut command.action else {
            panic!("no look: {command:?}");
        };
        *stops = !*stops;
        let Answer::Granted(mut events) = ruling else {
            panic!("refused: {ruling:?}");
        };
        let event = serde_json::to_string(&events[0]).unwrap();
        let turned = match *stops {
            true => event.replace("false", "true"),
            false => event.replace("true", "false"),
        };
        events[0] = serde_json::from_str(&turned).unwrap();
        forgery.say(seq, &command, Answer::Granted(events));
        study.write(
            "forged.jsonl",
            std::str::from_utf8(&forgery.bytes()).unwrap(),
        );
        let said = study.prereg(&["verify", "forged.jsonl", "--json"]);
        assert_eq!(
            (said.code, said.error_code()),
            (Some(5), "look-differs".to_owned()),
            "{said:?}"
        );
        assert_eq!(said.json()["error"]["entry"], seq, "{said:?}");

        // Where outcomes are left out nobody can tell, and that is said.
        let mut sealed = Forgery::of(export.as_bytes());
        study.write(
            "sealed.jsonl",
            std::str::from_utf8(&sealed.exported(true)).unwrap(),
        );
        let said = study.prereg(&["verify", "sealed.jsonl", "--json"]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(said.json()["withheld"].as_u64().unwrap() > 24, "{said:?}");
    }
}

#[test]
fn a_look_by_hand_comes_before_the_next_start() {
    let study = study(8, "");
    study.register();
    let early = study.prereg(&["look", "--json"]);
    assert_eq!(
        (early.code, early.error_code()),
        (Some(4), "look-not-due".to_owned())
    );
    assert_eq!(early.json()["error"]["facts"]["open"], 8, "{early:?}");
    let next = |study: &Study| study.data(&["status"])["next"].clone();
    for run in 1..=8 {
        let slot = next(&study)["start"].clone();
        let (task, arm) = (
            slot["task"].as_str().unwrap(),
            slot["arm"].as_str().unwrap(),
        );
        study.data(&["start", task, arm, "--ref", "by hand"]);
        study.data(&["finish", &run.to_string(), "--exit", "0"]);
        study.data(&["score", &run.to_string()]);
    }
    assert_eq!(next(&study), json!({ "look": 1, "tasks": 4 }));
    let entries = study.data(&["status"])["head"]["seq"].clone();
    let refused = study.prereg(&["start", "t4", "a", "--ref", "by hand", "--json"]);
    assert_eq!(
        (refused.code, refused.error_code()),
        (Some(4), "look-due".to_owned())
    );
    // Asking while a look is due is a poll.
    assert_eq!(study.data(&["status"])["head"]["seq"], entries);
    let taken = study.prereg(&["look"]);
    assert_eq!(
        (taken.code, taken.out.as_str()),
        (Some(0), "look        1: the study goes on\n")
    );
    assert!(next(&study)["start"].is_object());
    study.verify();
}
