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

use common::{Dice, Recipe, Study, end_of, is_alive};
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

/// Returns the living process that supervises run 1 of a study, once it is noted.
fn supervisor(study: &Study) -> i32 {
    let noted = || {
        let notes = common::files_below(&study.base.join("study.prereg.runs"));
        let note = notes
            .into_iter()
            .find(|path| path.ends_with("1.supervisor"))?;
        let identity: Value = serde_json::from_slice(&fs::read(note).ok()?).ok()?;
        i32::try_from(identity["pid"].as_i64()?).ok()
    };
    common::wait_until("no supervisor was noted", || noted().is_some());
    noted().unwrap()
}

fn kill_with(signal: rustix::process::Signal, pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

/// A study of one slot an arm, whose first run takes a while and tells when it has begun.
fn slow(arm: &str) -> Study {
    let arm = format!("echo {{run.id}} >> \"$LOG\"; {arm}");
    Recipe {
        tasks: 1,
        repeats: 1,
        arms: [arm, "printf b > out".to_owned()],
        runs_max: 1,
        timeout: "10m",
        ..Recipe::default()
    }
    .lay()
}

fn begin(study: &Study) -> Child {
    let runner = study.spawn(&["run", "study.toml"]);
    common::wait_until("the first arm never started", || !study.log().is_empty());
    runner
}

/// A run does not end with its session: the next one waits for it, and it is executed once.
#[test]
fn a_run_outlives_its_session_and_is_taken_up() {
    let study = slow("sleep 2; echo said; printf b > out; exit 3");
    let mut runner = begin(&study);
    runner.kill().unwrap();
    runner.wait().unwrap();
    study.complete();
    study.assert_nobody_is_left();
    study.verify();
    assert_eq!(study.log(), "1\n");
    let run = study.data(&["show", "1"]);
    assert_eq!(run["state"], "scored", "{run}");
    assert_eq!(run["execution"]["exit"], 3, "{run}");
    assert_eq!(run["execution"]["stdout"]["bytes"], 5, "{run}");
}

/// A run whose receipt nobody was there to read is recorded as it ended.
#[test]
fn a_receipt_is_read_by_the_next_session() {
    let study = slow("sleep 1; printf b > out");
    let mut runner = begin(&study);
    let supervisor = supervisor(&study);
    runner.kill().unwrap();
    runner.wait().unwrap();
    common::wait_until("the supervisor never ended", || !is_alive(supervisor));
    let said = study.data(&["reconcile"]);
    assert_eq!(said["runs"][0]["found"], "recorded", "{said}");
    assert_eq!(study.data(&["reconcile"])["runs"][0]["found"], "ended");
    study.complete();
    study.verify();
    assert_eq!(study.log(), "1\n");
    assert!(study.states().iter().all(|run| run.1 == "scored"));
}

/// A run whose supervisor is killed leaves nothing and is lost, whether its session lives or not.
#[test]
fn a_run_without_its_supervisor_is_lost() {
    for session_dies in [false, true] {
        let again = "if [ -e \"$LOG.again\" ]; then printf b > out; else (setsid sleep 300 &); sleep 300; fi";
        let study = slow(again);
        let mut runner = begin(&study);
        let supervisor = supervisor(&study);
        fs::write(format!("{}.again", study.log.display()), "").unwrap();
        if session_dies {
            runner.kill().unwrap();
        }
        kill_with(rustix::process::Signal::KILL, supervisor);
        let said = end_of(runner);
        if session_dies {
            let said = study.data(&["reconcile"]);
            assert_eq!(said["runs"][0]["found"], "lost", "{said}");
        } else {
            assert_eq!(said.code, Some(0), "{said:?}");
        }
        study.assert_nobody_is_left();
        study.complete();
        study.verify();
        let lost = ("a".to_owned(), "unjudged".to_owned(), "lost".to_owned());
        assert_eq!(study.states()[0], lost);
    }
}

/// A supervisor that was started and given no order executes nothing.
#[test]
fn a_closed_gate_is_an_end_without_an_execution() {
    let study = slow("true");
    for order in ["", "{\"command\": [\"touch\", \"executed\"]"] {
        use std::io::Write;
        let mut asked = study.command(&["__supervise"]);
        asked.stdin(std::process::Stdio::piped());
        let mut supervisor = asked.spawn().unwrap();
        let mut stdin = supervisor.stdin.take().unwrap();
        stdin.write_all(order.as_bytes()).unwrap();
        drop(stdin);
        assert_eq!(supervisor.wait().unwrap().code(), Some(1));
    }
    assert!(!study.base.join("executed").exists());
}

/// `cancel` ends a run with everything it has started, with a session at work and without.
#[test]
fn a_cancelled_run_leaves_nothing() {
    for session_dies in [false, true] {
        let study = slow("(setsid sleep 300 &); trap '' TERM; sleep 300; sleep 300");
        let mut runner = begin(&study);
        if session_dies {
            runner.kill().unwrap();
        }
        let said = study.data(&["cancel", "1"]);
        assert_eq!(said["cause"], "cancelled", "{said}");
        study.assert_nobody_is_left();
        let code = if session_dies { None } else { Some(0) };
        assert_eq!(end_of(runner).code, code);
        study.verify();
        let again = study.prereg(&["cancel", "1", "--json"]);
        assert_eq!(
            (again.code, again.error_code().as_str()),
            (Some(4), "already-closed")
        );
    }
}

/// TERM ends a session and not its runs.
#[test]
fn a_session_that_is_asked_to_end_leaves_its_runs() {
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::HUP] {
        let study = slow("sleep 2; printf b > out");
        let runner = begin(&study);
        kill_with(signal, runner.id() as i32);
        let said = end_of(runner);
        assert_eq!(said.code, Some(130), "{said:?}");
        study.complete();
        study.verify();
        assert_eq!(study.log(), "1\n");
    }
}

/// Only a person can say that a run is lost of which nothing can be proved; not of one that goes on.
#[test]
fn a_run_is_lost_by_word_only_if_it_is_not_there() {
    let study = slow("sleep 300");
    let mut runner = begin(&study);
    let supervisor = supervisor(&study);
    runner.kill().unwrap();
    runner.wait().unwrap();
    let word = [
        "reconcile",
        "1",
        "--lost",
        "--reason",
        "the machine is gone",
        "--json",
    ];
    let said = study.prereg(&word);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(4), "still-executed")
    );
    let found = study.data(&["reconcile"]);
    assert_eq!(found["runs"][0]["found"], "running", "{found}");
    kill_with(rustix::process::Signal::KILL, supervisor);
    let said = study.prereg(&word);
    assert_eq!(said.code, Some(0), "{said:?}");
    study.assert_nobody_is_left();
    study.verify();
    assert_eq!(study.states()[0].2, "lost");
}

/// A run of which nobody can tell whether it has ended keeps its place, and holds up no other.
#[test]
fn a_run_whose_end_cannot_be_proved_holds_up_no_other() {
    let arm = |letter: &str| {
        format!(
            "echo {{run.id}} >> \"$LOG\"; [ {{run.id}} = 1 ] && sleep 300; printf {letter} > out"
        )
    };
    let study = Recipe {
        tasks: 3,
        repeats: 1,
        arms: [arm("a"), arm("b")],
        runs_max: 2,
        timeout: "10m",
        ..Recipe::default()
    }
    .lay();
    let mut runner = begin(&study);
    let supervisor = supervisor(&study);
    runner.kill().unwrap();
    runner.wait().unwrap();
    kill_with(rustix::process::Signal::KILL, supervisor);
    // Of a machine that does not tell when its processes began, nobody knows.
    let mut notes = common::files_below(&study.base).into_iter();
    let note = notes.find(|path| path.ends_with("1.supervisor")).unwrap();
    let mut identity: Value = serde_json::from_slice(&fs::read(&note).unwrap()).unwrap();
    identity["start_ticks"] = Value::Null;
    fs::write(&note, identity.to_string()).unwrap();
    for _ in 0..2 {
        let said = study.prereg(&["run", "study.toml", "--json"]);
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "end-unproven"),
            "{said:?}"
        );
        let message = said.json()["error"]["message"].to_string();
        assert!(
            message.contains("prereg reconcile 1 --lost --reason"),
            "{message}"
        );
        let states = study.states();
        let count = |wanted: &str| {
            states
                .iter()
                .filter(|(_, state, _)| state == wanted)
                .count()
        };
        // The other two tasks were done; the slot after it in its own block waits.
        assert_eq!((count("live"), count("scored")), (1, 4), "{states:?}");
    }
    study.verify();
    study.data(&[
        "reconcile",
        "1",
        "--lost",
        "--reason",
        "nothing of it is there",
    ]);
    study.complete();
    study.verify();
    study.assert_nobody_is_left();
    assert_eq!(study.states()[0].2, "lost");
}

/// A run of which something may be left, as its supervisor says, is neither over nor lost.
#[test]
fn a_run_that_could_not_be_swept_is_not_over() {
    let study = slow("[ {run.id} -gt 1 ] || sleep 300; printf b > out");
    let mut runner = begin(&study);
    let supervisor = supervisor(&study);
    runner.kill().unwrap();
    runner.wait().unwrap();
    kill_with(rustix::process::Signal::KILL, supervisor);
    common::wait_until("the supervisor never ended", || !is_alive(supervisor));
    let notes = common::files_below(&study.base.join("study.prereg.runs"));
    let mut notes = notes.into_iter();
    let note = notes.find(|path| path.ends_with("1.supervisor")).unwrap();
    let stream = serde_json::json!({ "bytes": 0, "kept": 0, "tail": 0, "digest": "00".repeat(32) });
    let receipt = serde_json::json!({
        "tier": "subreaper",
        "before": { "digest": null, "at": null },
        "became": { "ended": {
            "exit": 0, "signal": null, "timed_out": false, "interrupted": false, "over_limit": false,
            "was_short_of_memory": false, "wall_us": 1, "usage": {}, "leaked": false,
            "remains": "timed out", "stdout": stream, "stderr": stream, "capture_fault": null,
        } },
    });
    fs::write(note.with_extension("receipt"), receipt.to_string()).unwrap();
    for _ in 0..2 {
        let found = study.data(&["reconcile"]);
        assert_eq!(found["runs"][0]["found"], "unproven", "{found}");
        let said = study.prereg(&["run", "study.toml", "--json"]);
        assert_eq!(said.error_code(), "end-unproven", "{said:?}");
        assert_eq!(study.states()[0].1, "live");
    }
    study.data(&[
        "reconcile",
        "1",
        "--lost",
        "--reason",
        "the disk it hung on is back",
    ]);
    study.complete();
    study.verify();
    study.assert_nobody_is_left();
    assert_eq!(study.states()[0].2, "lost");
}

/// A runner that is killed while the judge is at work judges again and executes nothing again.
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
