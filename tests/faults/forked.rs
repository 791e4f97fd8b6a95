//! The process that supervisors are forked from dies, alone or with its session, or is not there.

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::common::{Recipe, Study, end_of, wait_until};
use super::supervised::{children, is_zombie};

/// A study of one slot an arm, whose first run tells when it has begun.
fn study(arm: &str) -> Study {
    Recipe {
        tasks: 1,
        repeats: 1,
        arms: [
            format!("echo {{run.id}} >> \"$LOG\"; {arm}"),
            "printf b > out".to_owned(),
        ],
        runs_max: 1,
        timeout: "10m",
        ..Recipe::default()
    }
    .lay()
}

/// A session whose first arm has begun, and what its supervisors are forked from.
fn begin(study: &Study) -> (Child, i32) {
    let runner = study.spawn(&["run", "study.toml"]);
    wait_until("the first arm never started", || !study.log().is_empty());
    let found = children(runner.id());
    assert_eq!(found.len(), 1, "a session has one child: {found:?}");
    (runner, found[0])
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

fn is_gone(pid: i32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

fn assert_all_scored_once(study: &Study) {
    study.complete();
    study.verify();
    study.assert_nobody_is_left();
    assert_eq!(study.log(), "1\n");
    let states = study.states();
    assert!(states.iter().all(|run| run.1 == "scored"), "{states:?}");
}

fn is_covered() -> bool {
    let covered = Path::new("/proc/self/task").exists();
    if !covered {
        println!("not covered: what supervisors are forked from, without /proc");
    }
    covered
}

/// A session leaves no process behind, and has no zombie among its own while it is at work.
#[test]
fn what_supervisors_come_from_ends_with_its_session() {
    if !is_covered() {
        return;
    }
    let study = study("sleep 0.3; printf b > out");
    let (runner, zygote) = begin(&study);
    let said = end_of(runner);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(is_gone(zygote));
    assert_all_scored_once(&study);
}

/// Its death ends no run, and starts none: what follows is supervised by others.
#[test]
fn a_session_outlives_what_its_supervisors_come_from() {
    if !is_covered() {
        return;
    }
    let study = study("sleep 0.5; printf b > out");
    let (runner, zygote) = begin(&study);
    kill(zygote);
    let said = end_of(runner);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_all_scored_once(&study);
}

/// Whoever dies but the supervisor, the run ends with a receipt, which the next session reads.
#[test]
fn a_run_outlives_its_session_and_what_its_supervisor_comes_from() {
    if !is_covered() {
        return;
    }
    for zygote_dies in [true, false] {
        let study = study("sleep 0.5; printf b > out");
        let (mut runner, zygote) = begin(&study);
        let supervisors = || children(zygote.unsigned_abs());
        let supervisors = supervisors();
        assert_eq!(supervisors.len(), 1, "a run has one: {supervisors:?}");
        runner.kill().unwrap();
        runner.wait().unwrap();
        if zygote_dies {
            kill(zygote);
        }
        let runs = study.base.join("study.prereg.runs");
        let receipt = || {
            let files = super::common::files_below(&runs);
            files.iter().any(|path| path.ends_with("1.receipt"))
        };
        wait_until("there was never a receipt", receipt);
        if !zygote_dies {
            // It takes in the last that it has forked, and ends.
            wait_until("it never ended", || is_gone(zygote) || is_zombie(zygote));
            let left = supervisors.iter().filter(|pid| !is_gone(**pid));
            assert_eq!(left.count(), 0, "{supervisors:?}");
        }
        assert_all_scored_once(&study);
    }
}

/// Returns a number that the system tells of a process.
fn told(pid: i32, name: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.unwrap().trim_start_matches(':').trim();
    number.trim_end_matches(" kB").parse().unwrap()
}

/// While a run sleeps, so does whoever was forked for it, and all of them are small.
#[test]
fn who_is_forked_is_small_and_sleeps() {
    if !is_covered() {
        return;
    }
    let study = study("sleep 2; printf b > out");
    let (runner, zygote) = begin(&study);
    std::thread::sleep(Duration::from_millis(300));
    let mut there = children(zygote.unsigned_abs());
    there.push(zygote);
    let woken = || -> Vec<u64> {
        let all = there.iter();
        all.map(|pid| told(*pid, "voluntary_ctxt_switches"))
            .collect()
    };
    let before = woken();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(woken(), before);
    for pid in &there {
        let own = told(*pid, "RssAnon");
        assert!(own < 8 * 1024, "{own} kB");
    }
    assert_eq!(end_of(runner).code, Some(0));
    assert_all_scored_once(&study);
}
