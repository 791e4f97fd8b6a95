//! Arms and judges that do their worst, files that change, an operator in a hurry, a full disk.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands, and prints the seed of its dice"
)]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use common::{JUDGE, Recipe, Said, Study, end_of, files_below, processes, wait_until};
use prereg::units::Digest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A study of one slot an arm: `a` does its worst, `b` is as it should be.
fn against(worst: &str) -> Recipe {
    Recipe {
        tasks: 1,
        repeats: 1,
        arms: [worst.to_owned(), "printf b > out".to_owned()],
        attempts: "per_slot = 1\nstale_after = \"1h\"",
        ..Recipe::default()
    }
}

/// Completes a study and returns the run of `a`; `b` is scored as if nothing had been.
fn worst_run(study: &Study) -> Value {
    study.complete();
    study.verify();
    let runs = study.runs();
    assert_eq!(runs.len(), 2, "{runs:?}");
    let of = |arm: &str| runs.iter().find(|run| run["arm"] == arm).unwrap().clone();
    let good = of("b");
    assert_eq!(good["state"], "scored", "{good}");
    assert_eq!(good["outcomes"]["passed"], true, "{good}");
    of("a")
}

fn assert_state(run: &Value, state: &str, cause: Option<&str>) {
    assert_eq!(
        (run["state"].as_str(), run["cause"].as_str()),
        (Some(state), cause),
        "{run}"
    );
}

/// Returns what `a` came to when it does its worst.
fn outcome_of(worst: &str) -> Value {
    let study = against(worst).lay();
    let run = worst_run(&study);
    study.assert_nobody_is_left();
    run
}

#[test]
fn a_flood_of_output_is_counted_and_capped() {
    let study = Recipe {
        output_max: "64KiB",
        ..against("head -c 100000000 /dev/zero; printf a > out")
    }
    .lay();
    let run = worst_run(&study);
    assert_state(&run, "scored", None);
    let stdout = &run["execution"]["stdout"];
    assert_eq!(
        (stdout["bytes"].as_u64(), stdout["kept"].as_u64()),
        (Some(100_000_000), Some(65536))
    );
    let digest = Digest::of(&[&vec![0; 100_000_000]]);
    assert_eq!(stdout["digest"], digest.to_string());
    let kept = files_below(&study.base.join("study.prereg.runs"));
    let kept: Vec<_> = kept
        .iter()
        .filter(|path| path.extension().is_some_and(|name| name == "stdout"))
        .collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::metadata(kept[0]).unwrap().len(), 65536);
}

#[test]
fn an_arm_that_ignores_its_limit_is_ended() {
    let study = Recipe {
        timeout: "300ms",
        grace: "200ms",
        ..against("trap '' TERM; printf a > out; while :; do sleep 0.05; done")
    }
    .lay();
    let run = worst_run(&study);
    assert_eq!(run["ending"]["timed_out"], true, "{run}");
    assert_eq!(run["execution"]["signal"], 9, "{run}");
    assert_state(&run, "scored", None);
    study.assert_nobody_is_left();
}

#[test]
fn a_child_in_the_background_is_ended() {
    let run = outcome_of("sleep 300 & printf b > out");
    assert_state(&run, "scored", None);
    assert_eq!(run["outcomes"]["passed"], true);
    assert_eq!(run["execution"]["leaked"], false);
}

#[test]
fn a_child_that_left_the_group_is_ended_or_noticed() {
    let study = against("setsid sleep 300 & sleep 0.1; printf b > out").lay();
    let run = worst_run(&study);
    assert_state(&run, "scored", None);
    // The limit of the weakest tier: it is said, and the process is there.
    let is_left = common::best_tier() == "pgroup";
    assert_eq!(run["execution"]["leaked"], is_left);
    for pid in processes(&format!("LOG={}", study.log.display())) {
        assert!(is_left, "{pid} is left");
        let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
        kill_process(pid, Signal::KILL).unwrap();
    }
    study.assert_nobody_is_left();
}

#[test]
fn an_arm_that_deletes_its_workspace_is_judged_by_nothing() {
    for worst in [
        "rm -rf \"$PWD\"",
        "chmod 0 . && rm -rf \"$PWD\"",
        "rm -rf \"$PWD\"; printf b > \"$PWD\"",
    ] {
        let run = outcome_of(worst);
        assert_state(&run, "scored", None);
        assert_eq!(run["outcomes"]["passed"], false, "{worst}");
    }
}

/// Makes a folder outside of the study with a file in it that nobody may touch.
fn precious(study: &Study) -> std::path::PathBuf {
    let folder = study.folder.path().join("precious");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("out"), "b").unwrap();
    fs::write(
        folder.join("report.json"),
        "{\"correct\": true, \"bytes\": 1}",
    )
    .unwrap();
    folder
}

fn assert_untouched(folder: &Path) {
    let mut names: Vec<_> = files_below(folder);
    names.sort_unstable();
    assert_eq!(names, [folder.join("out"), folder.join("report.json")]);
    assert_eq!(fs::read_to_string(folder.join("out")).unwrap(), "b");
    assert_eq!(
        fs::read_to_string(folder.join("report.json")).unwrap(),
        "{\"correct\": true, \"bytes\": 1}"
    );
}

#[test]
fn a_workspace_that_became_a_link_is_not_followed() {
    let mut study = against("rm -rf \"$PWD\"; ln -s \"$PRECIOUS\" \"$PWD\"");
    study.env_pass = "\"PATH\", \"LOG\", \"PRECIOUS\"";
    let mut study = study.lay();
    let folder = precious(&study);
    study
        .env
        .insert("PRECIOUS".to_owned(), folder.display().to_string());
    let run = worst_run(&study);
    assert_state(&run, "scored", None);
    assert_eq!(run["outcomes"]["passed"], false);
    assert_untouched(&folder);
}

#[test]
fn a_place_that_another_arm_has_taken_is_cleared() {
    let worst = "for run in 1 2 3; do [ -e ../$run ] || mkdir -p ../$run/x; done; ln -s /etc ../4";
    let run = outcome_of(worst);
    assert_state(&run, "scored", None);
    let mut recipe = against(worst);
    recipe.repeats = 2;
    recipe.runs_max = 1;
    let study = recipe.lay();
    study.complete();
    study.verify();
    let states = study.states();
    assert!(states.iter().all(|state| state.1 == "scored"), "{states:?}");
}

#[test]
fn links_in_the_place_of_the_judges_files_are_not_followed() {
    let worst = "rm -rf report.json hidden claim.json; ln -s \"$PRECIOUS/report.json\" report.json; ln -s \"$PRECIOUS\" hidden; ln -s /etc/passwd claim.json";
    let mut study = Recipe {
        judge: format!("{JUDGE}[ \"$(cat hidden/answer)\" = 42 ] || exit 3\n"),
        judge_more: "files = { \"hidden\" = \"hidden\" }",
        files: vec![("hidden/answer", "42\n".to_owned())],
        env_pass: "\"PATH\", \"LOG\", \"PRECIOUS\"",
        ..against(worst)
    }
    .lay();
    let folder = precious(&study);
    study
        .env
        .insert("PRECIOUS".to_owned(), folder.display().to_string());
    let run = worst_run(&study);
    assert_state(&run, "scored", None);
    assert_eq!(run["outcomes"]["passed"], false);
    assert_untouched(&folder);
    // Nothing of what the link leads to is on the record.
    let export = study.prereg(&["export", "study.prereg.db"]).out;
    assert!(!export.contains("root:"));
}

#[test]
fn a_claim_that_is_no_file_is_unknown() {
    for worst in [
        "mkfifo claim.json",
        "mkdir claim.json",
        "printf '{' > claim.json",
        "ln -s /dev/zero claim.json",
        "truncate -s 1T claim.json",
    ] {
        let run = outcome_of(worst);
        assert_state(&run, "scored", None);
        assert_eq!(run["outcomes"]["passed"], false, "{worst}: {run}");
        assert_eq!(
            run["outcomes"]["false_claim"],
            Value::Null,
            "{worst}: {run}"
        );
    }
    let run = outcome_of("printf '{\"done\": true}' > claim.json");
    assert_eq!(run["outcomes"]["false_claim"], true, "{run}");
}

#[test]
fn a_report_that_the_arm_wrote_does_not_count() {
    let judge = "#!/bin/sh\n[ -f out ] && [ \"$(cat out)\" = b ] && printf '{\"correct\": true, \"bytes\": 1}' > report.json\nexit 0\n";
    let study = Recipe {
        judge: judge.to_owned(),
        ..against("printf '{\"correct\": true, \"bytes\": 1}' > report.json")
    }
    .lay();
    assert_state(&worst_run(&study), "unjudged", Some("no-report"));
}

#[test]
fn an_arm_that_a_signal_ended_is_scored() {
    for (worst, signal) in [
        ("kill -9 $$", 9),
        ("kill -SEGV $$", 11),
        ("kill -TERM $$", 15),
    ] {
        let run = outcome_of(worst);
        assert_state(&run, "scored", None);
        assert_eq!(run["execution"]["signal"], signal, "{worst}");
        assert_eq!(run["execution"]["exit"], Value::Null, "{worst}");
    }
    let run = outcome_of("exit 77");
    assert_eq!(run["execution"]["exit"], 77);
}

/// The judge does something else when `out` holds an a.
fn judged_by(worst: &str, judge_timeout: &'static str) -> Value {
    let judge = format!(
        "#!/bin/sh\nif [ \"$(cat out)\" = a ]; then\n{worst}\nexit $?\nfi\n{}",
        JUDGE.trim_start_matches("#!/bin/sh\n")
    );
    let study = Recipe {
        judge,
        judge_timeout,
        ..against("printf a > out")
    }
    .lay();
    let run = worst_run(&study);
    study.assert_nobody_is_left();
    run
}

#[test]
fn a_judge_that_fails_leaves_a_run_unjudged() {
    let rows = [
        ("exit 3", "judge-error"),
        ("kill -9 $$", "judge-error"),
        ("exit 0", "no-report"),
        ("printf '{' > report.json", "bad-report"),
        ("printf '{\"correct\": true}' > report.json", "bad-report"),
        (
            "printf '{\"correct\": true, \"correct\": true, \"bytes\": 1}' > report.json",
            "bad-report",
        ),
        (
            "printf '{\"correct\": true, \"bytes\": NaN}' > report.json",
            "bad-report",
        ),
        (
            "printf '{\"correct\": true, \"bytes\": 1, \"more\": 1}' > report.json",
            "bad-report",
        ),
        (
            "printf '{\"correct\": true, \"bytes\": 1} x' > report.json",
            "bad-report",
        ),
        ("printf '\\377' > report.json", "bad-report"),
        (": > report.json", "bad-report"),
        ("mkfifo report.json", "bad-report"),
        ("ln -s /etc/passwd report.json", "bad-report"),
        ("truncate -s 1T report.json", "bad-report"),
        // It said that it failed; what it wrote before does not count.
        (
            "printf '{\"correct\": true, \"bytes\": 1}' > report.json; exit 1",
            "judge-error",
        ),
    ];
    for (worst, cause) in rows {
        let run = judged_by(worst, "20s");
        assert_eq!(
            (run["state"].as_str(), run["cause"].as_str()),
            (Some("unjudged"), Some(cause)),
            "{worst}: {run}"
        );
        assert_eq!(run["outcomes"], Value::Null, "{worst}");
    }
}

#[test]
fn a_judge_that_hangs_meets_its_limit() {
    let run = judged_by(
        "trap '' TERM; printf '{\"correct\": true, \"bytes\": 1}' > report.json; while :; do sleep 0.05; done",
        "500ms",
    );
    assert_state(&run, "unjudged", Some("judge-timeout"));
}

#[test]
fn a_program_that_is_not_there_stops_the_study_before_anything_is_written() {
    let study = against("[\"no-such-program-6b1f\"]").lay();
    let said = study.prereg(&["run", "study.toml", "--json"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.error_code(), "program-not-on-path", "{said:?}");
    assert!(!study.record().exists());
}

#[test]
fn a_program_that_cannot_be_started_is_a_failed_run() {
    let study = Recipe {
        files: vec![("arm.sh", "#!/no/such/interpreter\n".to_owned())],
        ..against("[\"./arm.sh\"]")
    }
    .lay();
    assert_state(&worst_run(&study), "unjudged", Some("failed"));
}

#[test]
fn the_cut_off_ends_the_study_and_its_seal() {
    let recipe = Recipe {
        tasks: 4,
        arms: [1, 2].map(|_| "sleep 0.4; printf b > out".to_owned()),
        runs_max: 1,
        ..Recipe::default()
    };
    let study = recipe.lay();
    let cutoff = std::time::SystemTime::now() + std::time::Duration::from_millis(1500);
    let cutoff = cutoff.duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = jiff::Timestamp::from_millisecond(cutoff.as_millis() as i64).unwrap();
    let protocol = recipe.protocol();
    let with_cutoff = protocol.replacen("[claim]", &format!("[cutoff]\nat = \"{at}\"\n[claim]"), 1);
    study.write("study.toml", &with_cutoff);
    let said = study.prereg(&["run", "study.toml", "--json"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let json = said.json();
    assert_eq!(
        (&json["state"], &json["code"]),
        (&"stopped".into(), &"past-cutoff".into()),
        "{said:?}"
    );
    let runs = study.runs();
    assert!(!runs.is_empty() && runs.len() < 16, "{runs:?}");
    assert!(runs.iter().all(|run| run["state"] == "scored"), "{runs:?}");
    assert_eq!(runs[0]["outcomes"]["passed"], true, "the study has ended");
    let entries = study.entries().len();
    let again = study.prereg(&["run", "study.toml"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.out.starts_with("stopped     past-cutoff: "),
        "{again:?}"
    );
    assert_eq!(study.entries().len(), entries);
    study.verify();
}

#[test]
fn an_outcome_that_cannot_be_computed_says_why() {
    let recipe = against(": > out");
    let study = recipe.lay();
    let divides = "value = \"report.correct || 1 / report.bytes > 9\"";
    let protocol = recipe.protocol();
    study.write(
        "study.toml",
        &protocol.replacen("value = \"report.correct\"", divides, 1),
    );
    study.complete();
    let said = study.prereg(&["show", "1"]);
    assert!(said.out.contains("outcome-error"), "{said:?}");
    assert!(said.out.contains("reason    `passed`: "), "{said:?}");
    assert!(said.out.contains("zero"), "{said:?}");
}

#[test]
fn a_breaker_stops_the_study_from_using_up_its_slots() {
    let study = Recipe {
        files: vec![("arm.sh", "#!/no/such/interpreter\n".to_owned())],
        arms: ["[\"./arm.sh\"]".to_owned(), "printf b > out".to_owned()],
        runs_max: 1,
        attempts: "per_slot = 1\nstale_after = \"1h\"\n[breaker]\nfailures = 1",
        ..Recipe::default()
    }
    .lay();
    let failed = |study: &Study| {
        let runs = study.runs();
        runs.iter().filter(|run| run["cause"] == "failed").count()
    };
    for failures in 1..=2 {
        let said = study.prereg(&["run", "study.toml", "--json"]);
        assert_eq!(said.code, Some(4), "{said:?}");
        let json = said.json();
        assert_eq!(
            (&json["state"], &json["code"]),
            (&"held".into(), &"breaker-open".into()),
            "{said:?}"
        );
        assert_eq!(
            failed(&study),
            failures,
            "one failure, and nothing after it"
        );
        // Asking while held is a poll.
        let entries = study.entries().len();
        let again = study.prereg(&["run", "study.toml", "--json"]);
        assert_eq!(again.json()["state"], "held", "{again:?}");
        assert_eq!(study.entries().len(), entries);
        let said = study.prereg(&["status", "--json"]);
        assert_eq!(said.json()["standing"]["breaker"]["open"], true, "{said:?}");
        let said = study.prereg(&["breaker", "clear", "--json"]);
        assert_eq!(said.json()["changed"], true, "{said:?}");
    }
    study.verify();
}

#[test]
fn a_file_that_changed_since_the_registration_is_named() {
    let study = Recipe {
        workspace: "{ copy = \"input\" }",
        files: vec![("input/one", "1".to_owned())],
        ..against("printf a > out")
    }
    .lay();
    study.register();
    let changes = [
        ("judge.sh", "#!/bin/sh\nexit 1\n", "judge.sh"),
        ("input/one", "2", "input"),
        ("input/two", "2", "input"),
        ("report.schema.json", "{}", "judge.schema"),
        ("tasks.jsonl", "{\"id\": \"t0\", \"x\": 1}\n", "frame"),
    ];
    for (path, text, named) in changes {
        let place = study.base.join(path);
        let before = fs::read_to_string(&place).ok();
        study.write(path, text);
        let said = study.prereg(&["run", "study.toml", "--json"]);
        assert_eq!(
            (said.code, said.error_code()),
            (Some(4), "registration-differs".to_owned()),
            "{path}: {said:?}"
        );
        let differs = said.json()["error"]["facts"]["differs"].to_string();
        assert!(differs.contains(named), "{path}: {differs}");
        match before {
            Some(text) => study.write(path, &text),
            None => fs::remove_file(place).unwrap(),
        }
    }
    study.complete();
    study.verify();
}

#[test]
fn a_program_that_a_task_fills_in_is_bound_for_each_task() {
    let study = Recipe {
        files: vec![("t0/arm.sh", "#!/bin/sh\nprintf \"$1\" > out\n".to_owned())],
        ..against("[\"./{task.id}/arm.sh\", \"a\"]")
    }
    .lay();
    study.register();
    study.write("t0/arm.sh", "#!/bin/sh\nprintf b > out\n");
    let said = study.prereg(&["run", "study.toml", "--json"]);
    assert_eq!(said.error_code(), "registration-differs", "{said:?}");
    let differs = said.json()["error"]["facts"]["differs"].to_string();
    assert!(differs.contains("t0/arm.sh"), "{differs}");
}

#[test]
fn a_folder_without_files_says_nothing_to_an_arm() {
    let study = Recipe {
        workspace: "{ copy = \"input\" }",
        files: vec![("input/one", "1".to_owned())],
        ..against("if [ -d two ]; then printf b > out; fi")
    }
    .lay();
    study.register();
    fs::create_dir(study.base.join("input/two")).unwrap();
    let run = worst_run(&study);
    assert_eq!(run["outcomes"]["passed"], false, "{run}");
}

/// The first arm changes a registered file; nothing is executed or judged by the changed one.
fn change_in_session(file: &str, worst: &str, recipe: Recipe) {
    let mut study = Recipe {
        runs_max: 1,
        repeats: 2,
        env_pass: "\"PATH\", \"LOG\", \"STUDY\"",
        attempts: "per_slot = 3\nrerun = [\"unjudged\", \"failed\", \"lost\"]\nstale_after = \"1h\"",
        ..recipe
    }
    .lay();
    study
        .env
        .insert("STUDY".to_owned(), study.base.display().to_string());
    let before = fs::read_to_string(study.base.join(file)).unwrap();
    let said = study.prereg(&["run", "study.toml", "--json"]);
    assert_eq!(
        (said.code, said.error_code()),
        (Some(1), "file-changed".to_owned()),
        "{worst}: {said:?}"
    );
    assert!(
        said.json()["error"]["message"]
            .as_str()
            .unwrap()
            .contains(file.split('/').next().unwrap()),
        "{said:?}"
    );
    study.verify();
    assert!(
        study.log().is_empty(),
        "the changed file was used: {}",
        study.log()
    );
    study.write(file, &before);
    // Later sessions have nothing to change any more.
    study.env.insert(
        "STUDY".to_owned(),
        study.folder.path().display().to_string(),
    );
    study.complete();
    study.verify();
    let runs = study.runs();
    for run in &runs {
        let passed = &run["outcomes"]["passed"];
        let right = run["state"] == "unjudged" || *passed == (run["arm"] == "b");
        assert!(right, "{run}");
    }
    let scored = runs.iter().filter(|run| run["state"] == "scored").count();
    assert_eq!(scored, 4, "{runs:?}");
    study.assert_nobody_is_left();
}

#[test]
fn a_judge_that_changes_during_a_session_does_not_judge() {
    let worst =
        "printf a > out; printf '#!/bin/sh\\necho judged >> \"$LOG\"\\n' > \"$STUDY/judge.sh\"";
    if !common::has_own_view() {
        change_in_session("judge.sh", worst, against(worst));
        return;
    }
    let passed = Recipe {
        env_pass: "\"PATH\", \"LOG\", \"STUDY\"",
        ..against(worst)
    };
    let mut study = passed.lay();
    let base = study.base.display().to_string();
    study.env.insert("STUDY".to_owned(), base);
    study.complete();
    assert!(!study.log().contains("judged"), "{}", study.log());
    assert_eq!(
        fs::read_to_string(study.base.join("judge.sh")).unwrap(),
        JUDGE
    );
}

#[test]
fn an_input_that_changes_during_a_session_is_not_laid() {
    let worst = "if [ -e two ]; then echo laid >> \"$LOG\"; fi; printf a > out; echo 2 > \"$STUDY/input/one\"";
    let recipe = Recipe {
        workspace: "{ copy = \"input\" }",
        files: vec![("input/one", "1".to_owned())],
        ..against(worst)
    };
    change_in_session("input/one", worst, recipe);
}

#[test]
fn a_program_that_changes_during_a_session_is_not_executed() {
    let program = "#!/bin/sh\nprintf b > out\n";
    let worst =
        "printf a > out; printf '#!/bin/sh\\necho executed >> \"$LOG\"\\n' > \"$STUDY/arm.sh\"";
    let mut recipe = against(worst);
    recipe.arms[1] = "[\"./arm.sh\"]".to_owned();
    recipe.files = vec![("arm.sh", program.to_owned())];
    change_in_session("arm.sh", worst, recipe);
}

fn interrupt(runner: &std::process::Child) {
    kill_process(Pid::from_child(runner), Signal::INT).unwrap();
}

/// Arms that wait for a file, and say that they wait.
fn waiting() -> Study {
    let arm = |answer| {
        format!(
            "echo {{run.id}} >> \"$LOG\"; while [ ! -e \"$LOG.go\" ]; do sleep 0.02; done; printf {answer} > out"
        )
    };
    Recipe {
        tasks: 2,
        repeats: 2,
        arms: [arm('a'), arm('b')],
        attempts: "per_slot = 3\nrerun = [\"cancelled\", \"lost\"]\nstale_after = \"1h\"",
        ..Recipe::default()
    }
    .lay()
}

#[test]
fn one_interrupt_lets_live_runs_end() {
    let study = waiting();
    let runner = study.spawn(&["run", "study.toml"]);
    wait_until("two arms wait", || study.log().lines().count() == 2);
    interrupt(&runner);
    std::thread::sleep(std::time::Duration::from_millis(300));
    fs::write(study.log.with_file_name("log.go"), "").unwrap();
    let said = end_of(runner);
    assert_eq!(said.code, Some(130), "{said:?}");
    study.verify();
    let states = study.states();
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(states.iter().all(|state| state.1 == "scored"), "{states:?}");
    study.complete();
    study.verify();
    assert_eq!(study.states().len(), 8);
    study.assert_nobody_is_left();
}

#[test]
fn an_interrupt_at_the_end_takes_nothing_away() {
    let worst =
        "echo >> \"$LOG\"; while [ ! -e \"$LOG.{run.id}\" ]; do sleep 0.02; done; printf a > out";
    let mut recipe = against(worst);
    recipe.arms[1] = worst.replace("printf a", "printf b");
    let study = recipe.lay();
    let go = |run: &str| fs::write(study.log.with_file_name(run), "").unwrap();
    go("log.1");
    let runner = study.spawn(&["run", "study.toml"]);
    wait_until("the last arm waits", || study.log().lines().count() == 2);
    interrupt(&runner);
    std::thread::sleep(std::time::Duration::from_millis(300));
    go("log.2");
    let said = end_of(runner);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.starts_with("complete"), "{said:?}");
    study.verify();
}

#[test]
fn two_interrupts_cancel_live_runs() {
    let study = waiting();
    let runner = study.spawn(&["run", "study.toml"]);
    wait_until("two arms wait", || study.log().lines().count() == 2);
    interrupt(&runner);
    std::thread::sleep(std::time::Duration::from_millis(300));
    interrupt(&runner);
    let said = end_of(runner);
    assert_eq!(said.code, Some(130), "{said:?}");
    study.assert_nobody_is_left();
    study.verify();
    let states = study.states();
    assert_eq!(states.len(), 2, "{states:?}");
    assert!(
        states
            .iter()
            .all(|state| (state.1.as_str(), state.2.as_str()) == ("unjudged", "cancelled")),
        "{states:?}"
    );
    fs::write(study.log.with_file_name("log.go"), "").unwrap();
    study.complete();
    study.verify();
    let states = study.states();
    assert_eq!(
        states.iter().filter(|state| state.1 == "scored").count(),
        8,
        "{states:?}"
    );
}

/// A judge that the operator ended says nothing of the run, which is judged again.
#[test]
fn a_judge_that_is_interrupted_judges_again() {
    let judge = format!(
        "#!/bin/sh\nif [ ! -e \"$LOG.go\" ]; then echo >> \"$LOG\"; sleep 300; fi\n{}",
        JUDGE.trim_start_matches("#!/bin/sh\n")
    );
    let study = Recipe {
        judge,
        judge_timeout: "10m",
        ..against("printf a > out")
    }
    .lay();
    let runner = study.spawn(&["run", "study.toml"]);
    wait_until("a judge waits", || !study.log().is_empty());
    interrupt(&runner);
    std::thread::sleep(std::time::Duration::from_millis(300));
    interrupt(&runner);
    let said = end_of(runner);
    assert_eq!(said.code, Some(130), "{said:?}");
    study.assert_nobody_is_left();
    study.verify();
    fs::write(study.log.with_file_name("log.go"), "").unwrap();
    assert_state(&worst_run(&study), "scored", None);
}

/// Runs the binary as somebody who may write nothing here.
fn as_nobody(study: &Study, arguments: &[&str]) -> Said {
    let mut command = study.command(arguments);
    command.uid(65534).gid(65534);
    Said::of(command.output().unwrap())
}

#[test]
fn a_folder_that_may_not_be_written_to_can_be_read() {
    let study = Recipe::default().lay();
    study.complete();
    study.data(&["export", "--to", "export.jsonl"]);
    let fresh = Recipe::default().lay();
    for study in [&study, &fresh] {
        fs::set_permissions(study.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for path in files_below(&study.base) {
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o555 | 0o444)).unwrap();
        }
        fs::set_permissions(&study.base, fs::Permissions::from_mode(0o555)).unwrap();
    }
    if !rustix::process::geteuid().is_root() {
        println!("not root: what another user sees is not tested");
        return;
    }
    let before = files_below(&study.base);
    let Ok(reachable) = Command::new(env!("CARGO_BIN_EXE_prereg"))
        .arg("--version")
        .uid(65534)
        .gid(65534)
        .status()
    else {
        println!("another user cannot reach the binary: not tested");
        return;
    };
    assert!(reachable.success());
    for verb in [&["run", "study.toml"][..], &["register", "study.toml"]] {
        let said = as_nobody(&fresh, verb);
        assert_eq!(said.code, Some(1), "{verb:?}: {said:?}");
    }
    for verb in [
        &["verify", "export.jsonl"][..],
        &["verify", "study.prereg.db"],
        &["status"],
        &["show", "1"],
        &["export"],
    ] {
        let said = as_nobody(&study, verb);
        assert_eq!(said.code, Some(0), "{verb:?}: {said:?}");
    }
    assert_eq!(files_below(&study.base), before);
}

/// A small disk of its own, taken away again with the value.
struct Disk<'p>(&'p Path);

impl<'p> Disk<'p> {
    /// Mounts it, if that may be done here.
    fn mount(place: &'p Path, options: &str) -> Option<Self> {
        fs::create_dir_all(place).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(place)
            .output();
        mount
            .is_ok_and(|mount| mount.status.success())
            .then_some(Self(place))
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(self.0).status();
        assert!(unmounted.unwrap().success());
    }
}

#[test]
fn a_full_disk_loses_nothing_and_work_goes_on_after() {
    for left in [40_usize, 80, 120, 160, 200, 260, 320, 400] {
        let study = Recipe {
            tasks: 4,
            attempts: "per_slot = 20\nrerun = [\"unjudged\", \"failed\", \"lost\", \"stale\"]\nstale_after = \"1h\"",
            ..Recipe::default()
        }
        .lay();
        let place = study.folder.path().join("disk");
        let Some(disk) = Disk::mount(&place, "size=8m") else {
            println!("no disk may be mounted here: a full disk is not tested");
            return;
        };
        let db = place.join("study.prereg.db");
        let db = db.to_str().unwrap();
        let filler = place.join("filler");
        fs::write(&filler, vec![0; 1024 * (8192 - left)]).unwrap();
        let said = study.prereg(&["run", "study.toml", "--db", db, "--json"]);
        println!(
            "{left} KiB left: exit {:?} {}",
            said.code,
            said.out.chars().take(200).collect::<String>()
        );
        assert!(matches!(said.code, Some(0 | 1)), "{said:?}");
        if said.code == Some(1) {
            assert_eq!(said.error_code(), "disk-full", "{said:?}");
        }
        let ended = said
            .err
            .lines()
            .filter_map(|line| {
                line.strip_prefix("progress    ")?
                    .split_once('/')?
                    .0
                    .parse::<u64>()
                    .ok()
            })
            .max();
        if db_is_there(&place) {
            let verified = study.prereg(&["verify", db]);
            println!(
                "  verify: {:?} {}{}",
                verified.code,
                verified.out.lines().next().unwrap_or(""),
                verified.err
            );
            // What was begun and has no tables yet is empty.
            assert_eq!(verified.code, Some(0), "{verified:?}");
            if ended.is_some() {
                let status = study.data(&["status", db]);
                let kept = status["standing"]["slots_ended"].as_u64();
                assert!(kept >= ended, "{kept:?} {ended:?}");
            }
        }
        fs::remove_file(&filler).unwrap();
        let said = study.prereg(&["run", "study.toml", "--db", db]);
        assert_eq!(said.code, Some(0), "{left}: {said:?}");
        let verified = study.prereg(&["verify", db]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
        let status = study.data(&["status", db]);
        assert_eq!(status["standing"]["slots_ended"], 16);
        assert_eq!(status["tally"]["scored"], 16, "{status}");
        assert!(ended.is_none_or(|ended| ended <= 16));
        drop(disk);
    }
}

fn db_is_there(place: &Path) -> bool {
    fs::metadata(place.join("study.prereg.db")).is_ok_and(|file| file.len() > 0)
}

#[test]
fn a_file_system_that_is_read_only_can_be_read() {
    let study = Recipe::default().lay();
    study.complete();
    let place = study.folder.path().join("disk");
    let Some(disk) = Disk::mount(&place, "size=4m") else {
        println!("no disk may be mounted here: a read-only one is not tested");
        return;
    };
    let db = place.join("study.prereg.db");
    fs::copy(study.record(), &db).unwrap();
    let remounted = Command::new("mount")
        .args(["-o", "remount,ro"])
        .arg(&place)
        .status();
    assert!(remounted.unwrap().success());
    let db = db.to_str().unwrap();
    for verb in [
        &["verify", db][..],
        &["status", db],
        &["show", "1", "--db", db],
        &["export", db],
    ] {
        let said = study.prereg(verb);
        assert_eq!(said.code, Some(0), "{verb:?}: {said:?}");
    }
    for verb in [
        &["run", "study.toml", "--db", db][..],
        &["start", "t0", "a", "--db", db],
    ] {
        let said = study.prereg(verb);
        assert_eq!(said.code, Some(1), "{verb:?}: {said:?}");
    }
    drop(disk);
}

#[test]
fn a_run_that_met_its_limit_and_is_not_scored_leaves_no_workspace() {
    let recipe = Recipe {
        tasks: 1,
        repeats: 1,
        arms: [
            "touch left; sleep 60".to_owned(),
            "printf b > out".to_owned(),
        ],
        timeout: "1s",
        ..Recipe::default()
    };
    let study = recipe.lay();
    let text = recipe
        .protocol()
        .replace("[claim]", "[scoring]\non_timeout = \"unjudged\"\n[claim]")
        .replace(
            "\"few-tasks\"",
            "\"timeout-unscored\" = \"a test\"\n\"few-tasks\"",
        );
    study.write("study.toml", &text);
    study.complete();
    study.verify();
    let unjudged = (
        "a".to_owned(),
        "unjudged".to_owned(),
        "timed-out".to_owned(),
    );
    assert!(study.states().contains(&unjudged), "{:?}", study.states());
    let left = files_below(&study.base.join("study.prereg.runs"));
    let left: Vec<_> = left.iter().filter(|path| path.ends_with("left")).collect();
    assert!(left.is_empty(), "{left:?}");
}
