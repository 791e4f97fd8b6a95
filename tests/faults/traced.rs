//! strace kills a step at each of its calls, or lets the call fail.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::common::{Dice, Recipe, Said, Study};
use super::stage::{Stage, is_there};

/// The calls that change something.
const WRITING: &[&str] = &[
    "write",
    "pwrite64",
    "fsync",
    "fdatasync",
    "rename",
    "ftruncate",
    "unlink",
];

/// How often a step makes each call.
fn count(stage: &Stage, calls: &[&str]) -> BTreeMap<String, usize> {
    stage.lay();
    let log = stage.study.folder.path().join("calls");
    let said = traced(stage, &format!("trace={}", calls.join(",")), Some(&log));
    assert_eq!(said.code, Some(0), "{said:?}");
    let mut counts = BTreeMap::new();
    for line in fs::read_to_string(&log).unwrap().lines() {
        // A line begins with the process.
        let call = line.split_whitespace().nth(1).unwrap_or_default();
        if let Some((name, _)) = call.split_once('(') {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn traced(stage: &Stage, expression: &str, log: Option<&Path>) -> Said {
    trace(&stage.study, &stage.words(), expression, log)
}

pub(crate) fn trace(study: &Study, words: &[&str], expression: &str, log: Option<&Path>) -> Said {
    let mut command = Command::new("strace");
    let program = study.command(words);
    command.args(["-f", "-qq", "-o"]);
    command.arg(log.unwrap_or(Path::new("/dev/null")));
    command.args(expression.split(' ').flat_map(|part| ["-e", part]));
    command.arg(program.get_program()).args(program.get_args());
    command.current_dir(&study.base);
    command.env("LOG", &study.log);
    Said::of(command.output().unwrap())
}

fn is_covered() -> bool {
    let covered = is_there("strace");
    if !covered {
        println!("not covered: faults at single calls, since strace is not there");
    }
    covered
}

/// Every place where a call may be met: the stage, the call, and how often it was made before.
fn places<'s>(stages: &'s [Stage], calls: &[&str]) -> Vec<(&'s Stage, String, usize)> {
    let mut places = Vec::new();
    for stage in stages {
        for (call, count) in count(stage, calls) {
            places.extend((1..=count).map(|at| (stage, call.clone(), at)));
        }
    }
    places
}

/// Returns some of many, or all.
fn sample<T>(dice: &mut Dice, mut all: Vec<T>, count: Option<usize>) -> Vec<T> {
    while count.is_some_and(|count| all.len() > count) {
        all.swap_remove(dice.below(all.len() as u64) as usize);
    }
    all
}

/// Returns how often a whole study of so many tasks, executed one run after another, flushes a file.
fn flushes(tasks: usize) -> usize {
    let study = Recipe {
        tasks,
        repeats: 1,
        runs_max: 1,
        ..Recipe::default()
    }
    .lay();
    let log = study.folder.path().join("calls");
    let flushing = "trace=fsync,fdatasync,msync,sync";
    let said = trace(&study, &["run", "study.toml"], flushing, Some(&log));
    assert_eq!(said.code, Some(0), "{said:?}");
    let calls = fs::read_to_string(&log).unwrap();
    // A call that another thread interrupts is told in two lines, the second without its arguments.
    calls.lines().filter(|line| line.contains("sync(")).count()
}

#[test]
fn a_run_costs_one_flush_a_commit() {
    if !is_covered() {
        return;
    }
    // A task has two runs. The end of a run is one commit; its score and the next start share another.
    let (few, many) = (flushes(2), flushes(5));
    assert_eq!(many - few, 3 * 2 * 2, "{few}, {many}");
}

fn kill_at_calls(name: &str, some: Option<usize>) {
    if !is_covered() {
        return;
    }
    let mut dice = Dice::new(name);
    let stages = Stage::all();
    let all = places(&stages, WRITING);
    let known = all.len();
    let places = sample(&mut dice, all, some);
    for (stage, call, at) in &places {
        stage.lay();
        let said = traced(
            stage,
            &format!("trace={call} inject={call}:signal=KILL:when={at}"),
            None,
        );
        let place = format!("{:?}, killed at {call} {at}", stage.step);
        assert_eq!(said.code, None, "{place}: {said:?}");
        stage.assert_goes_on(&place, &said);
    }
    println!("{name}: {} of {known} places", places.len());
    assert!(known > 60, "{known} places");
}

#[test]
fn a_step_that_is_killed_at_a_call_goes_on() {
    kill_at_calls("kills at calls", Some(24));
}

#[test]
#[ignore = "takes a minute; the sample runs always"]
fn a_step_that_is_killed_at_any_call_goes_on() {
    kill_at_calls("kills at all calls", None);
}

fn fail_at_calls(name: &str, some: Option<usize>) {
    if !is_covered() {
        return;
    }
    let mut dice = Dice::new(name);
    let stages = Stage::all();
    let mut all = Vec::new();
    for (stage, call, at) in places(&stages, &[WRITING, &["openat"]].concat()) {
        let errors: &[&str] = match call.as_str() {
            "openat" => &["EMFILE", "EIO", "ENOSPC"],
            _ => &["EIO", "ENOSPC"],
        };
        for error in errors {
            // Once, and from then on.
            for more in ["", "+"] {
                all.push((
                    stage,
                    call.clone(),
                    format!("error={error}:when={at}{more}"),
                ));
            }
        }
    }
    let known = all.len();
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    let places = sample(&mut dice, all, some);
    for (stage, call, how) in &places {
        stage.lay();
        let said = traced(stage, &format!("trace={call} inject={call}:{how}"), None);
        let place = format!("{:?}, {call} {how}", stage.step);
        // The loader may find no library; a protocol that cannot be read is a defect of it.
        let may = match call.as_str() {
            "openat" => [0, 1, 127, 3].as_slice(),
            _ => &[0, 1],
        };
        assert!(
            said.code.is_some_and(|code| may.contains(&code)),
            "{place}: {said:?}"
        );
        if said.code == Some(0) && call != "write" {
            serde_json::from_str::<serde_json::Value>(&said.out).unwrap();
        }
        if said.code == Some(1) && call != "write" {
            let code = said.error_code();
            assert!(!code.is_empty(), "{place}: {said:?}");
            *codes.entry(code.clone()).or_default() += 1;
            let entries = stage.has_happened();
            if ["not-committed", "disk-full"].contains(&code.as_str()) {
                assert!(!entries, "{place}: it happened all the same: {said:?}");
            }
        }
        stage.assert_goes_on(&place, &said);
    }
    println!(
        "{name}: {} of {known} places; faults {codes:?}",
        places.len()
    );
}

#[test]
fn a_step_whose_call_fails_says_what_is_so() {
    fail_at_calls("failing calls", Some(40));
}

#[test]
#[ignore = "takes some minutes; the sample runs always"]
fn a_step_whose_any_call_fails_says_what_is_so() {
    fail_at_calls("all failing calls", None);
}

/// A session whose writes fail ends, says so, and goes on when it is asked again.
fn fail_in_sessions(name: &str, count: usize) {
    if !is_covered() {
        return;
    }
    let mut dice = Dice::new(name);
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..count {
        let study = Recipe {
            attempts: "per_slot = 20\nrerun = [\"unjudged\", \"failed\", \"lost\", \"stale\"]\nstale_after = \"1h\"",
            ..Recipe::default()
        }
        .lay();
        study.register();
        let (call, error) = [
            ("fdatasync", "EIO"),
            ("pwrite64", "ENOSPC"),
            ("pwrite64", "EIO"),
            ("fdatasync", "ENOSPC"),
        ][round % 4];
        let at = 1 + dice.below(if call == "pwrite64" { 120 } else { 16 });
        let more = ["", "+"][round / 4 % 2];
        let expression = format!("trace={call} inject={call}:error={error}:when={at}{more}");
        let said = trace(&study, &["run", "study.toml", "--json"], &expression, None);
        let place = format!("run, {expression}");
        match said.code {
            Some(0) => {}
            Some(1) => *codes.entry(said.error_code()).or_default() += 1,
            _ => panic!("{place}: {said:?}"),
        }
        study.assert_nobody_is_left();
        let told = said.err.lines().filter_map(|line| {
            let line = line.strip_prefix("progress    ")?;
            line.split_once('/')?.0.parse::<u64>().ok()
        });
        study.verify();
        let ended = study.data(&["status"])["standing"]["slots_ended"].as_u64();
        assert!(ended >= told.max(), "{place}: {ended:?} {said:?}");
        study.complete();
        study.verify();
        let states = study.states();
        let scored = states.iter().filter(|run| run.1 == "scored");
        assert_eq!(scored.count(), 8, "{place}: {states:?}");
    }
    println!("{name}: {count} sessions; faults {codes:?}");
}

#[test]
fn a_session_whose_call_fails_says_so_and_goes_on() {
    fail_in_sessions("failing sessions", 8);
}

#[test]
#[ignore = "takes minutes; the sample runs always"]
fn a_session_whose_call_fails_says_so_and_goes_on_100() {
    fail_in_sessions("100 failing sessions", 100);
}
