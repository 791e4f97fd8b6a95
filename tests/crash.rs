//! The runner is killed at random moments and started again until its study is complete.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and prints the seed of its dice"
)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use common::{Dice, Recipe, Study, end_of};
use serde_json::Value;

/// A study whose arms log each execution, and take a few moments.
fn recipe() -> Recipe {
    let arm = |answer: char| {
        format!(
            "echo {{run.id}} $(date +%s%N) >> \"$LOG\"; sleep 0.01; printf {answer} > out; printf '{{\"done\": true}}' > claim.json"
        )
    };
    Recipe {
        tasks: 3,
        repeats: 2,
        arms: [arm('a'), arm('b')],
        controls: true,
        ..Recipe::default()
    }
}

/// Kills the runner of one study after another, until that many were killed.
fn kill_at_random(name: &str, kills: usize) {
    let mut dice = Dice::new(name);
    let study = recipe().lay();
    let began = Instant::now();
    study.complete();
    let mut length = began.elapsed();
    check(&study, &[]);
    let mut killed = 0;
    while killed < kills {
        let study = recipe().lay();
        let mut announced = Vec::new();
        loop {
            let delay = Duration::from_micros(dice.below(length.as_micros() as u64));
            let mut runner = study.spawn(&["run", "study.toml"]);
            if killed < kills {
                // A machine that was busy when the length was measured would never see a kill.
                length = length.min(kill_after(&mut runner, delay).unwrap_or(length));
            }
            let said = end_of(runner);
            announced.push(said.err);
            if said.code.is_some() {
                assert_eq!(said.code, Some(0), "{}", announced.concat());
                break;
            }
            killed += 1;
            look_after_kill(&study, &announced);
        }
        check(&study, &announced);
    }
    println!("{name}: {killed} kills over {length:?}");
}

/// Kills a process after a time, unless it ends before; returns then how long it took.
fn kill_after(runner: &mut Child, delay: Duration) -> Option<Duration> {
    let began = Instant::now();
    while began.elapsed() < delay {
        if runner.try_wait().unwrap().is_some() {
            return Some(began.elapsed());
        }
        std::thread::sleep(Duration::from_millis(1).min(delay));
    }
    runner.kill().unwrap();
    None
}

/// Asserts that what a killed runner had announced is on the record, and that the record holds.
fn look_after_kill(study: &Study, announced: &[String]) {
    let text = announced.concat();
    if !text.contains("registered") {
        return;
    }
    study.verify();
    let status = study.data(&["status", "study.prereg.db"]);
    assert!(status["standing"]["registered"].is_string(), "{text}");
    let ended = status["standing"]["slots_ended"].as_u64().unwrap();
    assert!(
        ended >= told(&text),
        "{ended} slots ended; announced: {text}"
    );
}

/// Returns how many slots the progress lines say have ended.
fn told(text: &str) -> u64 {
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("progress    "));
    // A line may be cut off by the kill.
    let ended = lines.filter_map(|line| line.split_once('/')?.0.parse().ok());
    ended.max().unwrap_or(0)
}

/// A slot of the plan: task, arm, repeat.
type Slot = (String, String, u64);

/// Asserts that a complete study is what its plan says, whatever happened on the way.
fn check(study: &Study, announced: &[String]) {
    let story = announced.concat();
    study.verify();
    let status = study.data(&["status", "study.prereg.db"]);
    assert_eq!(status["standing"]["slots_ended"], 12, "{story}");
    assert_eq!(status["standing"]["live"], serde_json::json!({}), "{story}");
    assert!(status["standing"]["completed"].is_i64(), "{story}");

    let mut slots: BTreeMap<u64, Slot> = BTreeMap::new();
    let mut scored: BTreeMap<Slot, i64> = BTreeMap::new();
    let mut scored_runs: BTreeMap<u64, i64> = BTreeMap::new();
    let mut live: BTreeSet<u64> = BTreeSet::new();
    for body in study.entries() {
        let at = body["command"]["at"].as_i64().unwrap();
        for event in body["ruling"]["granted"].as_array().unwrap_or(&Vec::new()) {
            let run = event["run"].as_u64().unwrap_or(0);
            match event["event"].as_str().unwrap() {
                "started" => {
                    live.insert(run);
                    let Some(slot) = slot(event) else { continue };
                    assert!(
                        !scored.contains_key(&slot),
                        "run {run} after a score: {story}"
                    );
                    slots.insert(run, slot);
                }
                "scored" => {
                    live.remove(&run);
                    assert_eq!(scored_runs.insert(run, at), None, "run {run}: {story}");
                    if let Some(slot) = slots.get(&run) {
                        assert_eq!(scored.insert(slot.clone(), at), None, "{story}");
                    }
                }
                "unjudged" => drop(live.remove(&run)),
                _ => {}
            }
        }
    }
    assert!(live.is_empty(), "{live:?} never ended: {story}");
    let found: BTreeSet<Slot> = slots.values().cloned().collect();
    assert_eq!(found, planned(), "{story}");

    let mut executed = BTreeSet::new();
    for line in study.log().lines() {
        let (run, nanos) = line.split_once(' ').unwrap();
        let (run, at): (u64, i64) = (run.parse().unwrap(), nanos.parse::<i64>().unwrap() / 1000);
        assert!(
            executed.insert(run),
            "run {run} was executed twice: {story}"
        );
        let slot = &slots[&run];
        let ended = scored.get(slot).copied().unwrap_or(i64::MAX);
        assert!(
            at < ended,
            "{slot:?} was executed after its outcome was recorded: {story}"
        );
    }
    for run in scored_runs.keys().filter(|run| slots.contains_key(run)) {
        assert!(
            executed.contains(run),
            "run {run} was scored and never executed: {story}"
        );
    }
    study.assert_nobody_is_left();
    let left = common::files_below(&study.base.join("study.prereg.runs"));
    let left: Vec<_> = left
        .iter()
        .filter(|path| path.extension().is_none())
        .collect();
    assert!(left.is_empty(), "workspaces or notes are left: {left:?}");
}

fn slot(started: &Value) -> Option<Slot> {
    let text = |name: &str| started[name].as_str().unwrap().to_owned();
    Some((
        text("task"),
        text("arm"),
        started["place"]["repeat"].as_u64()?,
    ))
}

fn planned() -> BTreeSet<Slot> {
    let mut slots = BTreeSet::new();
    for task in ["t0", "t1", "t2"] {
        for arm in ["a", "b"] {
            slots.extend([1, 2].map(|repeat| (task.to_owned(), arm.to_owned(), repeat)));
        }
    }
    slots
}

#[test]
fn a_study_survives_kills_at_random_moments_1() {
    kill_at_random("kills 1", 10);
}

#[test]
fn a_study_survives_kills_at_random_moments_2() {
    kill_at_random("kills 2", 10);
}

#[test]
fn a_study_survives_kills_at_random_moments_3() {
    kill_at_random("kills 3", 10);
}

#[test]
fn a_study_survives_kills_at_random_moments_4() {
    kill_at_random("kills 4", 10);
}

#[test]
fn a_study_survives_kills_at_random_moments_5() {
    kill_at_random("kills 5", 10);
}

#[test]
#[ignore = "takes minutes; a sample runs always"]
fn a_study_survives_200_kills_at_random_moments() {
    kill_at_random("200 kills", 200);
}

/// An arm that would go on for long is ended by the session after the one that was killed.
#[test]
fn what_a_killed_runner_left_is_ended_first() {
    let arm =
        "if [ -e \"$LOG\" ]; then printf b > out; else echo {run.id} >> \"$LOG\"; sleep 300; fi";
    let study = Recipe {
        arms: [arm.to_owned(), "printf b > out".to_owned()],
        runs_max: 1,
        timeout: "10m",
        ..Recipe::default()
    }
    .lay();
    let mut runner = study.spawn(&["run", "study.toml"]);
    common::wait_until("the first arm never started", || !study.log().is_empty());
    runner.kill().unwrap();
    runner.wait().unwrap();
    let tag = format!("LOG={}", study.log.display());
    assert!(
        !common::processes(&tag).is_empty(),
        "the arm dies with its runner: nothing to test"
    );
    study.complete();
    study.assert_nobody_is_left();
    study.verify();
    let runs = study.states();
    assert_eq!(
        runs[0],
        ("a".to_owned(), "unjudged".to_owned(), "lost".to_owned())
    );
    assert_eq!(
        runs.iter().filter(|run| run.1 == "scored").count(),
        8,
        "{runs:?}"
    );
}

/// A runner that is killed while the judge is at work judges again and executes nothing again.
/// The runner is killed the moment its arm is there, often before it could note whom it started.
#[test]
fn an_arm_that_nobody_noted_is_ended_too() {
    let arm = "if [ -e \"$LOG.again\" ]; then printf b > out; else sleep 300; fi";
    for _ in 0..8 {
        let study = Recipe {
            tasks: 1,
            repeats: 1,
            arms: [arm.to_owned(), arm.to_owned()],
            runs_max: 1,
            timeout: "10m",
            ..Recipe::default()
        }
        .lay();
        let mut runner = study.spawn(&["run", "study.toml"]);
        let tag = format!("LOG={}", study.log.display());
        let end = Instant::now() + Duration::from_secs(30);
        while common::processes(&tag).len() < 2 {
            assert!(Instant::now() < end, "the arm never started");
        }
        runner.kill().unwrap();
        runner.wait().unwrap();
        fs::write(format!("{}.again", study.log.display()), "").unwrap();
        study.complete();
        study.assert_nobody_is_left();
        study.verify();
    }
}

#[test]
fn a_run_that_ended_is_judged_again_and_not_executed_again() {
    let judge = format!(
        "{}[ -e \"$LOG.judged\" ] || {{ : > \"$LOG.judged\"; sleep 300; }}\n",
        common::JUDGE
    );
    let study = Recipe {
        arms: [1, 2].map(|_| "echo {run.id} >> \"$LOG\"; printf b > out".to_owned()),
        judge,
        judge_timeout: "10m",
        runs_max: 1,
        ..Recipe::default()
    }
    .lay();
    let mut runner = study.spawn(&["run", "study.toml"]);
    let judged = study.log.with_file_name("log.judged");
    common::wait_until("the judge never started", || judged.exists());
    runner.kill().unwrap();
    runner.wait().unwrap();
    study.complete();
    study.assert_nobody_is_left();
    study.verify();
    let log: Vec<String> = study.log().lines().map(str::to_owned).collect();
    assert_eq!(log, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    let runs = study.states();
    assert!(runs.iter().all(|run| run.1 == "scored"), "{runs:?}");
}

/// A killed `register` leaves a record that the next one completes, or none.
#[test]
fn a_registration_is_whole_or_not_there() {
    let mut dice = Dice::new("register");
    let study = recipe().lay();
    let began = Instant::now();
    study.register();
    let length = began.elapsed().as_micros() as u64;
    for _ in 0..12 {
        let study = recipe().lay();
        let mut runner = study.spawn(&["register", "study.toml"]);
        std::thread::sleep(Duration::from_micros(dice.below(length)));
        runner.kill().unwrap();
        let said = end_of(runner);
        if said.out.contains("registered") {
            study.verify();
        }
        study.register();
        study.verify();
        let entries = study.entries();
        assert_eq!(entries.len(), 2, "{entries:?}");
    }
}

/// A record is begun anew when whoever made it was killed before it had tables.
#[test]
fn a_record_that_was_only_begun_is_begun_again() {
    let study = recipe().lay();
    let connection = rusqlite::Connection::open(study.record()).unwrap();
    let begun = connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()));
    begun.unwrap();
    drop(connection);
    let said = study.prereg(&["status", "study.prereg.db", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.error_code(), "record-not-found");
    let said = study.prereg(&["verify", "study.prereg.db"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("no entries"), "{said:?}");
    study.complete();
    study.verify();
}

/// A killed `start` that is asked again with its key starts one run.
#[test]
fn a_start_that_is_asked_again_starts_once() {
    let mut dice = Dice::new("start");
    let study = Recipe {
        controls: true,
        runs_max: 1000,
        ..Recipe::default()
    }
    .lay();
    study.register();
    let began = Instant::now();
    study.data(&["start", "t0", "right", "--key", "first"]);
    let length = began.elapsed().as_micros() as u64;
    for number in 2..22 {
        let key = format!("key {number}");
        let start = ["start", "t0", "right", "--key", &key];
        let mut asked = study.spawn(&start);
        std::thread::sleep(Duration::from_micros(dice.below(length)));
        asked.kill().unwrap();
        asked.wait().unwrap();
        assert_eq!(study.data(&start)["run"], number);
        assert_eq!(study.data(&start)["repeated"], true);
    }
    study.verify();
}

/// A killed `export --to` leaves a whole file under its name, or none.
#[test]
fn an_export_is_whole_or_not_there() {
    let mut dice = Dice::new("export");
    let study = recipe().lay();
    study.complete();
    let began = Instant::now();
    study.data(&["export", "--to", "whole.jsonl"]);
    let length = began.elapsed().as_micros() as u64;
    let whole = fs::read(study.base.join("whole.jsonl")).unwrap();
    let place = study.base.join("export.jsonl");
    let mut there = 0;
    for _ in 0..20 {
        let mut runner = study.spawn(&["export", "--to", "export.jsonl"]);
        std::thread::sleep(Duration::from_micros(dice.below(length)));
        runner.kill().unwrap();
        runner.wait().unwrap();
        if place.exists() {
            there += 1;
            assert!(fs::read(&place).unwrap() == whole, "half an export");
            fs::remove_file(&place).unwrap();
        }
    }
    println!("export: {there} of 20 were whole");
    study.data(&["export", "--to", "export.jsonl"]);
    assert!(fs::read(&place).unwrap() == whole);
    study.verify();
}
