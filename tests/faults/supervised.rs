//! Whatever dies of a session that executes runs: engine, supervisors, what stands inside, arms.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::common::{Dice, Recipe, Study, best_tier, end_of, files_below};
use super::stage::is_there;
use super::traced::trace;

/// The calls at which something of a session may die.
const CALLS: &[&str] = &[
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "openat",
    "unlink",
    "mkdir",
    "clone",
    "clone3",
    "kill",
    "pidfd_open",
    "unshare",
    "sendmsg",
    "recvmsg",
    "mount",
    "execve",
    "wait4",
];
/// How often a call is made before, at most.
const AT_MAX: u64 = 14;

/// How a run of the study comes to its end.
const ARMS: &[&str] = &[
    "printf a > out; (setsid sleep 300 &)",
    "exit 3",
    "kill -9 $$",
    "trap '' TERM; (setsid sleep 300 &); while :; do sleep 0.05; done",
];

/// A judge that starts no other program: a kill at a call that only it makes would end each of them, and
/// leave a slot without an attempt.
const JUDGE: &str = r#"#!/bin/sh
said=
[ -f out ] && IFS= read -r said <out
correct=false
[ "$said" = b ] && correct=true
printf '{"correct": %s, "bytes": 1}\n' "$correct" >report.json
"#;

fn study(arm: &str) -> Study {
    Recipe {
        judge: JUDGE.to_owned(),
        tasks: 1,
        repeats: 1,
        runs_max: 2,
        arms: [arm.to_owned(), "sleep 0.05; printf b > out".to_owned()],
        timeout: "700ms",
        grace: "100ms",
        attempts: "per_slot = 9\nrerun = [\"unjudged\", \"lost\", \"stale\", \"failed\"]\nstale_after = \"1h\"",
        ..Recipe::default()
    }
    .lay()
}

/// Lets a study go on until it is complete, and asserts that nothing is left and nothing happened twice.
fn assert_goes_on(study: &Study, place: &str) {
    for attempt in 0.. {
        let said = study.prereg(&["run", "study.toml"]);
        if said.code == Some(0) {
            break;
        }
        assert!(attempt < 3, "{place}: {said:?}");
    }
    study.verify();
    study.assert_nobody_is_left();
    let before = study.entries().len();
    let said = study.prereg(&["run", "study.toml"]);
    assert_eq!(said.code, Some(0), "{place}: {said:?}");
    assert_eq!(study.entries().len(), before, "{place}");
    let mut scored = BTreeSet::new();
    for run in study.runs().iter().filter(|run| run["state"] == "scored") {
        assert!(
            scored.insert(run["arm"].to_string()),
            "{place}: scored twice"
        );
    }
    assert_eq!(scored.len(), 2, "{place}: {:?}", study.runs());
    assert_nothing_is_left(study, place);
}

fn assert_nothing_is_left(study: &Study, place: &str) {
    let kept = ["stdout", "stderr", "lock"];
    let runs = study.base.join("study.prereg.runs");
    for path in files_below(&runs) {
        let end = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        assert!(kept.contains(&end.as_str()), "{place}: {path:?} is left");
    }
    if !best_tier().ends_with("cgroup") {
        return;
    }
    let Some(record) = fs::read_dir(&runs).unwrap().find_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".lock").map(str::to_owned)
    }) else {
        return;
    };
    for folder in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(!name.contains(&record), "{place}: the group {name} is left");
        }
    }
}

fn kill_at_calls(name: &str, count: usize) {
    if !is_there("strace") {
        println!("not covered: a session killed at single calls, since strace is not there");
        return;
    }
    let mut dice = Dice::new(name);
    let mut killed = 0;
    for i in 0..count {
        let call = CALLS[i % CALLS.len()];
        let at = 1 + dice.below(AT_MAX);
        let arm = ARMS[dice.below(ARMS.len() as u64) as usize];
        let study = study(arm);
        study.register();
        let expression = format!("trace={call} inject={call}:signal=KILL:when={at}");
        let said = trace(&study, &["run", "study.toml"], &expression, None);
        killed += usize::from(said.code != Some(0));
        assert_goes_on(&study, &format!("{arm}, killed at {call} {at}: {said:?}"));
    }
    println!("{name}: {killed} of {count} sessions ended by it");
}

#[test]
fn a_session_that_dies_at_a_call_loses_nothing() {
    kill_at_calls("sessions at calls", CALLS.len());
}

#[test]
#[ignore = "takes many minutes; a sample runs always"]
fn a_session_that_dies_at_any_call_loses_nothing() {
    kill_at_calls("sessions at many calls", 800);
}

/// Returns whether nobody has taken a process in that has ended.
pub(crate) fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('Z'))
}

/// Returns the living children of a process.
pub(crate) fn children(pid: u32) -> Vec<i32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(
            text.split_whitespace()
                .filter_map(|child| child.parse::<i32>().ok())
                .filter(|child| !is_zombie(*child)),
        );
    }
    found
}

/// Who is killed.
#[derive(Clone, Copy, PartialEq)]
enum Killed {
    Supervisors,
    /// What supervisors are forked from.
    Zygote,
    WithEngine,
}

/// Kills supervisors, the engine with them or not, or what they come from, at random moments.
fn kill_supervisors(name: &str, count: usize, who: Killed) {
    if !Path::new("/proc/self/task").exists() {
        println!("not covered: supervisors killed, without /proc");
        return;
    }
    let mut dice = Dice::new(name);
    let mut killed = 0;
    for _ in 0..count {
        let study = study(ARMS[0]);
        study.register();
        let mut runner = study.spawn(&["run", "study.toml"]);
        std::thread::sleep(Duration::from_micros(dice.below(250_000)));
        let mut found = children(runner.id());
        if who != Killed::Zygote {
            let forked = found
                .iter()
                .flat_map(|zygote| children(zygote.unsigned_abs()));
            found = forked.collect();
        }
        if who == Killed::WithEngine {
            runner.kill().unwrap();
        }
        for child in found {
            // It may have ended by itself; nobody else was given its number since.
            killed +=
                usize::from(kill_process(Pid::from_raw(child).unwrap(), Signal::KILL).is_ok());
        }
        let said = end_of(runner);
        assert_goes_on(&study, &format!("{said:?}"));
    }
    println!("{name}: {killed} killed");
}

#[test]
fn a_session_whose_supervisors_die_loses_nothing_else() {
    kill_supervisors("supervisors", 6, Killed::Supervisors);
    kill_supervisors("what they come from", 4, Killed::Zygote);
    kill_supervisors("both", 4, Killed::WithEngine);
}

#[test]
#[ignore = "takes many minutes; a sample runs always"]
fn sessions_whose_supervisors_die_lose_nothing_else() {
    kill_supervisors("300 supervisors", 300, Killed::Supervisors);
    kill_supervisors("100 of what they come from", 100, Killed::Zygote);
    kill_supervisors("100 of both", 100, Killed::WithEngine);
}
