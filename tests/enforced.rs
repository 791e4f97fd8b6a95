//! Keys that hold runs together, each by what it does to a run.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; what is shared prints"
)]

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Recipe, Said, Study, best_tier};
use serde_json::Value;

/// A study of two runs whose `[execution]` has more lines.
fn with(lines: &str, arm: &str) -> Study {
    let study = Recipe {
        tasks: 1,
        repeats: 1,
        runs_max: 1,
        arms: [arm.to_owned(), "printf b > out".to_owned()],
        ..Recipe::default()
    }
    .lay();
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    study.write(
        "study.toml",
        &text.replace("[execution]\n", &format!("[execution]\n{lines}\n")),
    );
    study
}

fn run(study: &Study) -> Said {
    study.prereg(&["run", "study.toml", "--json"])
}

fn execution(study: &Study, run: &str) -> Value {
    study.data(&["show", run])["execution"].clone()
}

#[test]
fn the_best_tier_is_used_and_recorded_of_every_run() {
    for least in ["pgroup", best_tier()] {
        let study = with(&format!("containment = \"{least}\""), "printf a > out");
        study.complete();
        study.verify();
        for run in ["1", "2"] {
            assert_eq!(execution(&study, run)["containment"], best_tier());
        }
    }
    if best_tier() != "pidns_cgroup" {
        let said = run(&with("containment = \"pidns_cgroup\"", "true"));
        assert_eq!(
            (said.code, said.error_code().as_str()),
            (Some(1), "containment-unavailable")
        );
    }
}

#[test]
fn a_clean_up_follows_every_run_by_a_label_that_no_other_run_has() {
    let clean = "cleanup = [\"sh\", \"-c\", \"echo {run.label} >> \\\"$LOG.clean\\\"\"]";
    let study = with(clean, "printf a > out");
    study.complete();
    let cleaned = fs::read_to_string(study.log.with_file_name("log.clean")).unwrap();
    let labels: Vec<&str> = cleaned.lines().collect();
    assert_eq!(labels.len(), 2, "{labels:?}");
    let head = study.data(&["head"]);
    for (label, run) in labels.iter().zip(1..) {
        let rest = label.strip_prefix("prereg-study-").unwrap();
        let (record, number) = rest.split_once('-').unwrap();
        assert_eq!(
            (record.len(), number),
            (12, run.to_string().as_str()),
            "{head}"
        );
    }
}

#[test]
fn a_clean_up_that_fails_ends_the_session_and_no_run_is_lost_by_it() {
    let study = with(
        "cleanup = [\"sh\", \"-c\", \"echo stuck >&2; exit 3\"]",
        "printf a > out",
    );
    let said = run(&study);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "cleanup-failed")
    );
    assert!(
        said.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains("stuck"),
        "{said:?}"
    );
    assert_eq!(study.runs().len(), 1);
    assert_eq!(study.runs()[0]["state"], "scored");
    study.verify();
}

#[test]
fn nothing_starts_on_a_disk_that_is_too_full() {
    let study = with("free_space_min = \"1000000GiB\"", "printf a > out");
    let said = run(&study);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(1), "free-space")
    );
    assert_eq!(study.runs().len(), 0);
    study.verify();
    with("free_space_min = \"1KiB\"", "printf a > out").complete();
}

#[test]
fn a_limit_on_processor_time_is_a_limit_on_the_time_of_a_run() {
    if !best_tier().ends_with("cgroup") {
        println!("not covered: processor time, without control groups");
        return;
    }
    let study = with("cpu_time_max = \"1s\"", "while :; do :; done");
    study.complete();
    study.verify();
    let first = study.data(&["show", "1"]);
    assert_eq!(first["execution"]["ended_by"], "cpu-limit", "{first}");
    assert_eq!(first["ending"]["timed_out"], true, "{first}");
    assert_eq!(execution(&study, "2")["ended_by"], "itself");
}

#[test]
fn what_a_run_does_to_its_workspace_is_seen() {
    let study = with(
        "",
        "printf a > out; ln -s out link; mkfifo pipe; truncate -s 1T sparse; rm sparse",
    );
    study.complete();
    study.verify();
    let [first, second] = ["1", "2"].map(|run| study.data(&["show", run]));
    let seen = |run: &Value| run["execution"]["workspace"].clone();
    assert_eq!(seen(&first)["before"], seen(&second)["before"]);
    assert_ne!(seen(&first)["after"], seen(&first)["before"]);
    assert_ne!(seen(&first)["after"], seen(&second)["after"]);
    let at = |name: &str| seen(&first)[name].as_i64().unwrap();
    assert!(at("first_write") <= at("last_write"));
    assert!(
        first["started_at"].as_i64().unwrap() <= at("first_write"),
        "{first}"
    );
    assert!(
        at("last_write") <= first["ended_at"].as_i64().unwrap(),
        "{first}"
    );
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]);
    let said = git.args(words).current_dir(folder).output().unwrap();
    assert!(said.status.success(), "{words:?}: {said:?}");
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_commit_is_laid_without_what_came_after_it() {
    if Command::new("git").arg("--version").output().is_err() {
        println!("not covered: git workspaces, since git is not there");
        return;
    }
    let study = with(
        "",
        "cat fixed.txt > out; git log --oneline | wc -l; git status --short; git cat-file -e $(cat later) && echo leaked; git branch -a",
    );
    let repository = study.base.join("repository");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "-q", "."]);
    let commit = |text: &str| {
        fs::write(repository.join("fixed.txt"), text).unwrap();
        git(&repository, &["add", "."]);
        git(&repository, &["commit", "-q", "-m", text]);
        git(&repository, &["rev-parse", "HEAD"])
    };
    commit("old");
    let wanted = commit("b");
    let later = commit("the answer");
    let text = fs::read_to_string(study.base.join("study.toml")).unwrap();
    let text = text.replace("$(cat later)", &later);
    let laid = format!("workspace = {{ git = {{ url = \"repository\", commit = \"{wanted}\" }} }}");
    study.write("study.toml", &text.replace("workspace = \"empty\"", &laid));
    study.complete();
    study.verify();
    let outputs = study.data(&["show", "1"]);
    assert_eq!(outputs["outcomes"]["passed"], true, "{outputs}");
    let said = fs::read_to_string(outputs["outputs"][0].as_str().unwrap()).unwrap();
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert_eq!(lines, ["1", "?? out", "* (no branch)"], "{said}");
    assert_eq!(
        execution(&study, "1")["workspace"]["before"],
        execution(&study, "2")["workspace"]["before"]
    );
}
