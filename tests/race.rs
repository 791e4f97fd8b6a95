//! Many processes ask for the same thing at the same moment: one gets it, and the others hear why not.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and prints the seed of its dice"
)]

mod common;

use std::fs::{self, OpenOptions};
use std::process::{Command, Stdio};

use common::{Recipe, Said, Study, end_of, wait_until};
use serde_json::Value;

/// Runs processes that all begin at the same moment; returns what each said.
fn race(study: &Study, commands: &[Vec<String>]) -> Vec<Said> {
    let gate = study.folder.path().join("gate");
    let ready = study.folder.path().join("ready");
    let _ = fs::remove_file(&gate);
    let _ = fs::remove_file(&ready);
    assert!(
        Command::new("mkfifo")
            .arg(&gate)
            .status()
            .unwrap()
            .success()
    );
    let spawn = |arguments: &Vec<String>| {
        // A process waits at the gate until somebody opens its other side.
        let script = "echo >> \"$READY\"; : < \"$GATE\"; exec \"$0\" \"$@\"";
        let mut command = Command::new("sh");
        command
            .args(["-c", script, env!("CARGO_BIN_EXE_prereg")])
            .args(arguments)
            .arg("--json")
            .current_dir(&study.base)
            .env("GATE", &gate)
            .env("READY", &ready)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let children: Vec<_> = commands.iter().map(spawn).collect();
    wait_until("not everybody came to the gate", || {
        fs::read(&ready).is_ok_and(|lines| lines.len() >= commands.len())
    });
    // Kept open for whoever has said that it is ready and has not come to the gate.
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&gate)
        .unwrap();
    let said: Vec<Said> = children.into_iter().map(end_of).collect();
    drop(opened);
    for said in &said {
        let text = format!("{}{}", said.out, said.err).to_lowercase();
        assert!(
            !text.contains("locked") && !text.contains("busy"),
            "{said:?}"
        );
    }
    said
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn codes(said: &[Said]) -> (usize, usize) {
    let count = |code| said.iter().filter(|said| said.code == Some(code)).count();
    (count(0), count(4))
}

/// Asserts that one process won and all others were refused, with one of these codes.
fn assert_one_wins(said: &[Said], refusals: &[&str]) {
    assert_eq!(codes(said), (1, said.len() - 1), "{said:?}");
    for said in said.iter().filter(|said| said.code == Some(4)) {
        assert!(refusals.contains(&said.error_code().as_str()), "{said:?}");
    }
}

/// Returns the refusals on the record, and how many starts were granted.
fn recorded(study: &Study) -> (Vec<String>, usize) {
    let entries = study.entries();
    let code = |body: &Value| Some(body["ruling"]["refused"]["code"].as_str()?.to_owned());
    let started = entries
        .iter()
        .filter(|body| body["ruling"]["granted"][0]["event"] == "started");
    (entries.iter().filter_map(code).collect(), started.count())
}

/// Returns the arm whose slot is the first of a study with one task.
fn first_arm(recipe: &Recipe) -> &'static str {
    let scratch = recipe.lay();
    scratch.register();
    match scratch.prereg(&["start", "t0", "a"]).code {
        Some(0) => "a",
        _ => "b",
    }
}

/// `processes` start the one place that is free, and the record has exactly the expected refusals.
fn race_for_one_place(processes: usize, repeats: usize, refusal: &str) {
    let recipe = Recipe {
        tasks: 1,
        repeats,
        runs_max: 3,
        ..Recipe::default()
    };
    let arm = first_arm(&recipe);
    let study = recipe.lay();
    study.register();
    let said = race(&study, &vec![words(&["start", "t0", arm]); processes]);
    assert_one_wins(&said, &[refusal]);
    study.verify();
    assert_eq!(
        recorded(&study),
        (vec![refusal.to_owned(); processes - 1], 1)
    );
}

#[test]
fn two_processes_start_one_place() {
    race_for_one_place(2, 1, "slots-used");
    race_for_one_place(2, 2, "out-of-order");
}

#[test]
fn eight_processes_start_one_place() {
    race_for_one_place(8, 1, "slots-used");
    race_for_one_place(8, 2, "out-of-order");
}

#[test]
fn sixty_four_processes_start_one_place() {
    race_for_one_place(64, 2, "out-of-order");
}

#[test]
fn no_more_runs_are_live_than_may_be() {
    let study = Recipe {
        tasks: 1,
        controls: true,
        runs_max: 3,
        ..Recipe::default()
    }
    .lay();
    study.register();
    let said = race(&study, &vec![words(&["start", "t0", "nothing"]); 16]);
    assert_eq!(codes(&said), (3, 13), "{said:?}");
    let (refusals, started) = recorded(&study);
    assert_eq!((refusals, started), (vec!["cap-reached".to_owned(); 13], 3));
    study.verify();
}

#[test]
fn the_same_operation_happens_once_whoever_repeats_it() {
    let recipe = Recipe {
        tasks: 1,
        ..Recipe::default()
    };
    let arm = first_arm(&recipe);
    let study = recipe.lay();
    study.register();
    let said = race(
        &study,
        &vec![words(&["start", "t0", arm, "--key", "once"]); 8],
    );
    assert_eq!(codes(&said), (8, 0), "{said:?}");
    let answers: Vec<Value> = said.iter().map(Said::json).collect();
    assert!(
        answers.iter().all(|answer| answer["run"] == 1),
        "{answers:?}"
    );
    let first = answers.iter().filter(|answer| answer["repeated"] == false);
    assert_eq!(first.count(), 1, "{answers:?}");
    assert_eq!(recorded(&study), (Vec::new(), 1));
    let other = study.prereg(&[
        "start", "t0", "b", "--key", "once", "--actor", "me", "--json",
    ]);
    let other = if arm == "b" {
        study.prereg(&["start", "t0", "a", "--key", "once", "--json"])
    } else {
        other
    };
    assert_eq!(
        (other.code, other.error_code()),
        (Some(4), "key-reused".to_owned())
    );
    study.verify();
}

#[test]
fn of_writers_that_saw_the_same_head_one_writes() {
    let recipe = Recipe {
        tasks: 1,
        ..Recipe::default()
    };
    let arm = first_arm(&recipe);
    let study = recipe.lay();
    study.register();
    let head = study.data(&["status"])["head"]["seq"].to_string();
    let asked = words(&["start", "t0", arm, "--if-head", &head]);
    let said = race(&study, &vec![asked; 6]);
    assert_eq!(codes(&said), (1, 5), "{said:?}");
    let refused = said.iter().filter(|said| said.code == Some(4));
    assert!(
        refused
            .clone()
            .all(|said| said.error_code() == "changed-since-read")
    );
    assert_eq!(recorded(&study), (Vec::new(), 1), "no refusal is recorded");
    study.verify();
}

/// Returns a study with one run that has ended.
fn with_ended_run() -> Study {
    let recipe = Recipe {
        tasks: 1,
        ..Recipe::default()
    };
    let arm = first_arm(&recipe);
    let study = recipe.lay();
    study.register();
    study.data(&["start", "t0", arm]);
    study.data(&["finish", "1", "--exit", "0"]);
    study
}

#[test]
fn the_same_report_is_taken_once() {
    let study = with_ended_run();
    study.write("report", r#"{"correct": true, "bytes": 1}"#);
    let said = race(
        &study,
        &vec![words(&["score", "1", "--report", "report"]); 8],
    );
    assert_eq!(codes(&said), (8, 0), "{said:?}");
    let scored = said.iter().filter(|said| said.json()["entry"].is_u64());
    assert_eq!(scored.count(), 1, "{said:?}");
    assert_eq!(study.entries().len(), 5);
    study.verify();
}

#[test]
fn of_different_reports_the_first_stands() {
    let study = with_ended_run();
    let score = |bytes: usize| {
        let name = format!("report{bytes}");
        study.write(&name, &format!("{{\"correct\": true, \"bytes\": {bytes}}}"));
        words(&["score", "1", "--report", &name])
    };
    let commands: Vec<_> = (0..8).map(score).collect();
    let said = race(&study, &commands);
    assert_one_wins(&said, &["already-closed"]);
    study.verify();
}

#[test]
fn a_protocol_is_registered_once() {
    let study = Recipe::default().lay();
    let said = race(&study, &vec![words(&["register", "study.toml"]); 8]);
    assert_eq!(codes(&said), (8, 0), "{said:?}");
    let new = said.iter().filter(|said| said.json()["new"] == true);
    assert_eq!(new.count(), 1, "{said:?}");
    assert_eq!(study.entries().len(), 2);
    study.verify();
}

#[test]
fn of_different_protocols_one_is_registered() {
    let study = Recipe::default().lay();
    let text = Recipe::default().protocol();
    let register = |number: usize| {
        let name = format!("other{number}.toml");
        study.write(&name, &text.replace("A study of a test", &name));
        words(&["register", &name])
    };
    let commands: Vec<_> = (0..8).map(register).collect();
    let said = race(&study, &commands);
    assert_one_wins(&said, &["registration-differs"]);
    study.verify();
}

#[test]
fn one_session_executes_a_study() {
    let study = Recipe {
        arms: [1, 2].map(|_| "echo {run.id} >> \"$LOG\"; sleep 0.2; printf b > out".to_owned()),
        env_pass: "\"PATH\", \"LOG\"",
        ..Recipe::default()
    }
    .lay();
    study.register();
    let mut first = study.spawn(&["run", "study.toml"]);
    wait_until("no arm began", || !study.log().is_empty());
    let second = study.prereg(&["run", "study.toml", "--json"]);
    assert_eq!(
        (second.code, second.error_code()),
        (Some(4), "already-running".to_owned())
    );
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let mut log: Vec<u64> = study
        .log()
        .lines()
        .map(|run| run.parse().unwrap())
        .collect();
    log.sort_unstable();
    assert_eq!(log, [1, 2, 3, 4, 5, 6, 7, 8]);
    study.verify();
}

/// A user's key can be any text, also one that the engine might have thought of.
#[test]
fn a_key_of_a_user_does_not_stop_the_study() {
    let recipe = Recipe {
        tasks: 1,
        attempts: "per_slot = 3\nrerun = [\"stale\"]\nstale_after = \"2s\"",
        timeout: "500ms",
        grace: "100ms",
        judge_timeout: "500ms",
        ..Recipe::default()
    };
    let arm = first_arm(&recipe);
    let study = recipe.lay();
    study.register();
    study.data(&["start", "t0", arm, "--key", "expire-1"]);
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let again = study.data(&["start", "t0", arm]);
    assert_eq!(again["run"], 2);
    study.verify();
}
