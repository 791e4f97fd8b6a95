//! What is judged: a copy of what a run has left, and nothing that could still change it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; what is shared prints"
)]

mod common;

use std::fs;

use common::{JUDGE, Recipe, Study, files_below, wait_until};
use serde_json::json;

fn study(arm: &str, judge: &str) -> Study {
    Recipe {
        tasks: 1,
        repeats: 1,
        runs_max: 1,
        attempts: "per_slot = 1\nrerun = []\nstale_after = \"1h\"",
        arms: [arm.to_owned(), "printf b > out".to_owned()],
        judge: format!("#!/bin/sh\n{judge}\n{}", &JUDGE["#!/bin/sh\n".len()..]),
        ..Recipe::default()
    }
    .lay()
}

#[test]
fn a_judge_gets_what_the_run_has_left_at_the_place_where_it_had() {
    let arm = r#"
        printf b > out; pwd > where; mkdir -p a/b; printf x > a/b/run; chmod 755 a/b/run
        ln -s ../out a/link; touch -d 2001-02-03 old; mkdir shut; printf y > shut/in; chmod 500 shut
    "#;
    let look = r#"
        {
            [ "$(cat where)" = "$(pwd)" ] && echo same place
            [ -x a/b/run ] && [ ! -x out ] && echo same modes
            [ "$(readlink a/link)" = ../out ] && echo same links
            [ "$(date -r old +%Y)" = 2001 ] && echo same times
            [ "$(stat -c %a shut)" = 500 ] && [ "$(cat shut/in)" = y ] && echo same folders
        } >> "$LOG"
    "#;
    let study = study(arm, look);
    study.complete();
    study.verify();
    let log = study.log();
    let said: Vec<&str> = log.lines().take(5).collect();
    let all = [
        "same place",
        "same modes",
        "same links",
        "same times",
        "same folders",
    ];
    assert_eq!(said, all, "{log}");
    assert!(study.runs().iter().all(|run| run["state"] == "scored"));
    assert!(study.runs().iter().all(|run| run["left"].is_null()));
    // Nothing of either stays behind.
    let left: Vec<_> = files_below(&study.base)
        .into_iter()
        .filter(|path| path.ends_with("out"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_judge_that_is_executed_again_gets_the_same_again() {
    // The first time it spoils all, and is killed with its session.
    let spoil = r#"
        if [ ! -e "$LOG" ]; then
            [ "$(cat out)" = b ] || exit 9
            rm -f out; : > "$LOG"; sleep 60
        fi
        [ -e out ] || echo missing >> "$LOG"
    "#;
    let study = study("printf b > out", spoil);
    let mut session = study.spawn(&["run", "study.toml"]);
    wait_until("the judge begins", || study.log.exists());
    session.kill().unwrap();
    session.wait().unwrap();
    study.complete();
    study.verify();
    assert_eq!(study.log(), "");
    for run in study.runs() {
        assert_eq!(run["outcomes"]["passed"], true, "{run}");
    }
}

#[test]
fn what_was_changed_after_the_end_is_not_judged() {
    let study = study(
        "printf a > out",
        "[ -e \"$LOG\" ] || { : > \"$LOG\"; sleep 60; }",
    );
    let mut session = study.spawn(&["run", "study.toml"]);
    wait_until("the judge begins", || study.log.exists());
    session.kill().unwrap();
    session.wait().unwrap();
    // Somebody turns what the run has left into what passes.
    let all = files_below(&study.base).into_iter();
    let mut left = all.filter(|path| path.ends_with("1.left/out"));
    fs::write(left.next().unwrap(), "b").unwrap();
    study.complete();
    study.verify();
    let run = study.data(&["show", "1"]);
    assert_eq!(
        (&run["state"], &run["cause"]),
        (&json!("unjudged"), &json!("judge-error"))
    );
    let shown = study.prereg(&["show", "1"]).out;
    let reason = "what the run had left was changed between its end and its judgement";
    assert!(shown.contains(reason), "{shown}");
    assert_eq!(study.data(&["show", "2"])["state"], "scored");
}

#[test]
fn what_is_too_large_for_a_copy_is_judged_where_it_stands_and_that_is_recorded() {
    let arm = "printf b > out; truncate -s 1T sparse";
    let study = study(arm, "[ -e sparse ] || exit 9");
    study.complete();
    study.verify();
    let run = study.data(&["show", "1"]);
    assert_eq!(run["state"], "scored", "{run}");
    let shown = study.prereg(&["show", "1"]).out;
    assert!(
        shown.contains("  workspace more than is digested"),
        "{shown}"
    );
    let export = study.prereg(&["export"]).out;
    assert_eq!(export.matches(r#""in_place":true"#).count(), 1, "{export}");
}
