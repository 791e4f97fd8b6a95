//! Who a noted supervisor is, put to the test: its number given to another process, and the machine
//! started anew as far as anybody can tell. Whoever is not it is never signalled.
//!
//! A sample runs always; `cargo test --test identity -- --ignored` runs them all.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and says what it could not cover"
)]

mod common;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Recipe, Said, Study, is_alive, processes, wait_until};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use serde_json::Value;

/// A study of one slot an arm, whose first run goes on and shows that it does.
fn lasting() -> Study {
    let beats = "echo begun >> \"$LOG\"; while :; do echo >> \"$LOG.beats\"; sleep 0.02; done";
    Recipe {
        tasks: 1,
        repeats: 1,
        arms: [beats.to_owned(), "printf b > out".to_owned()],
        runs_max: 1,
        timeout: "10m",
        ..Recipe::default()
    }
    .lay()
}

/// Starts the study, and kills its session once the first run is at work; returns its supervisor.
fn abandoned(study: &Study) -> i32 {
    let mut session = study.spawn(&["run", "study.toml"]);
    wait_until("the first arm never started", || !study.log().is_empty());
    let notes = common::files_below(&study.base.join("study.prereg.runs"));
    let mut notes = notes.into_iter();
    let note = notes.find(|path| path.ends_with("1.supervisor")).unwrap();
    let identity: Value = serde_json::from_slice(&fs::read(note).unwrap()).unwrap();
    session.kill().unwrap();
    session.wait().unwrap();
    i32::try_from(identity["pid"].as_i64().unwrap()).unwrap()
}

fn end(pid: i32) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
}

fn beats(study: &Study) -> u64 {
    let log = study.log.with_file_name("log.beats");
    fs::metadata(log).map_or(0, |file| file.len())
}

/// What is said of an abandoned run, and what must come of it.
const WORDS: [&[&str]; 2] = [&["reconcile"], &["cancel", "1"]];

/// Gives the number of a supervisor that was killed to a stranger, who must outlive whatever is said.
///
/// Only for the first process of a name space of its own.
fn reuse(rounds: usize) {
    let mut reused = 0;
    for round in 0..rounds {
        let study = lasting();
        let pid = abandoned(&study);
        end(pid);
        wait_until("the supervisor never ended", || {
            // Whoever was left alone comes to the first process of the name space.
            while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
            !std::path::Path::new(&format!("/proc/{pid}")).exists()
        });
        let Some(mut stranger) = stranger(pid) else {
            continue;
        };
        reused += 1;
        study.data(WORDS[round % WORDS.len()]);
        assert!(stranger.try_wait().unwrap().is_none(), "round {round}");
        assert_eq!(study.states()[0].2, "lost", "round {round}");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
    println!("{reused} of {rounds} numbers were given to a stranger");
    assert!(reused * 10 >= rounds * 9, "numbers cannot be given here");
}

/// Returns a process that has a number.
fn stranger(pid: i32) -> Option<Child> {
    for _ in 0..50 {
        fs::write("/proc/sys/kernel/ns_last_pid", (pid - 1).to_string()).unwrap();
        let mut child = Command::new("sleep").arg("300").spawn().unwrap();
        if i32::try_from(child.id()) == Ok(pid) {
            return Some(child);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    None
}

#[test]
#[ignore = "only in a name space of its own: the tests below start it there"]
fn inside_for_a_sample() {
    reuse(6);
}

#[test]
#[ignore = "only in a name space of its own: the tests below start it there"]
fn inside_for_all() {
    reuse(400);
}

/// Executes a test of this file as the first process of a name space in which numbers can be given.
fn inside(test: &str) {
    let own = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let can = Command::new("unshare")
        .args(own)
        .args(["sh", "-c", "echo 1000 > /proc/sys/kernel/ns_last_pid"])
        .stderr(Stdio::null())
        .status();
    if !can.is_ok_and(|status| status.success()) {
        println!("not covered: numbers cannot be given to processes here");
        return;
    }
    let said = Command::new("unshare")
        .args(own)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .output();
    let said = Said::of(said.unwrap());
    println!("{}", said.out);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("1 passed"), "{said:?}");
}

#[test]
fn a_number_that_somebody_else_has_is_not_signalled() {
    inside("inside_for_a_sample");
}

#[test]
#[ignore = "takes minutes; a sample runs always"]
fn a_number_that_somebody_else_has_is_not_signalled_400() {
    inside("inside_for_all");
}

/// A run of another boot is lost, and nothing is signalled for it: not even what still carries its mark.
#[test]
fn a_run_of_another_boot_is_lost() {
    let boot_id = "/proc/sys/kernel/random/boot_id";
    let in_another_boot = "mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"";
    let other = tempfile::NamedTempFile::new().unwrap();
    fs::write(other.path(), "00000000-0000-4000-8000-000000000000\n").unwrap();
    let after = |study: &Study, words: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c"]);
        command.arg(in_another_boot).arg(other.path());
        command.arg(env!("CARGO_BIN_EXE_prereg")).args(words);
        command.current_dir(&study.base);
        Said::of(command.output().unwrap())
    };
    let sees = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c"])
        .arg(in_another_boot)
        .arg(other.path())
        .args(["cat", boot_id])
        .output();
    if !sees.is_ok_and(|sees| sees.stdout.starts_with(b"00000000-")) {
        println!("not covered: no other boot can be shown here");
        return;
    }
    for words in WORDS {
        let study = lasting();
        let supervisor = abandoned(&study);
        let said = after(&study, words);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_eq!(study.states()[0].2, "lost", "{said:?}");
        let run = study.data(&["show", "1"]);
        let note = run["note"].as_str().unwrap();
        assert!(note.contains("started anew"), "{run}");
        assert!(is_alive(supervisor), "{words:?}");
        let before = beats(&study);
        std::thread::sleep(Duration::from_millis(300));
        assert!(beats(&study) > before, "{words:?}: the arm was ended");
        end(supervisor);
        for pid in processes(&format!("LOG={}", study.log.display())) {
            end(i32::try_from(pid).unwrap());
        }
        study.verify();
    }
}
