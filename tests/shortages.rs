//! What the machine is short of is never taken for an answer: a ruling is recorded as it would be with
//! plenty, or nothing is.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails where it stands; the shared dice print their seed"
)]

mod common;

use std::process::Command;

use common::{Recipe, Said, Study};
use rusqlite::Connection;

/// Executes a verb under a limit of the shell.
fn limited(study: &Study, limit: &str, arguments: &[&str]) -> Said {
    let prereg = study.command(arguments);
    let words = prereg.get_args().map(|word| word.to_str().unwrap());
    let words: Vec<&str> = std::iter::once(prereg.get_program().to_str().unwrap())
        .chain(words)
        .collect();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{limit}; exec \"$@\""), "sh"]);
    shell.args(words).current_dir(&study.base);
    Said::of(shell.output().unwrap())
}

fn begun() -> Study {
    let study = Recipe::default().lay();
    study.register();
    study.data(&["start", "t0", "a"]);
    study.data(&["finish", "1", "--exit", "0"]);
    study
}

#[test]
fn what_cannot_be_worked_out_here_is_not_recorded() {
    let study = begun();
    study.write("report.json", "{\"correct\": true, \"bytes\": 1}");
    let entries = study.entries().len();
    let mut without = 0;
    for kibibytes in (40_000..800_000).step_by(20_000) {
        let limit = format!("ulimit -v {kibibytes}");
        let said = limited(
            &study,
            &limit,
            &["score", "1", "--report", "report.json", "--json"],
        );
        if said.code == Some(0) {
            break;
        }
        without += u32::from(said.code == Some(1) && said.error_code() == "no-threads");
        assert_eq!(study.entries().len(), entries, "{said:?}");
        let verified = limited(&study, &limit, &["verify", "study.prereg.db"]);
        assert_ne!(verified.code, Some(5), "{verified:?}");
    }
    assert!(without > 0, "no limit was between the two");
    study.data(&["score", "1", "--report", "report.json"]);
    assert_eq!(study.runs()[0]["state"], "scored");
    study.verify();
}

#[test]
fn what_a_session_has_no_file_for_takes_no_slots() {
    let recipe = Recipe {
        repeats: 10,
        ..Recipe::default()
    };
    let mut refused = 0;
    for files in 18..40 {
        let study = recipe.lay();
        study.register();
        let limit = format!("ulimit -n {files}");
        let said = limited(&study, &limit, &["run", "study.toml", "--json"]);
        // Those that were under way; the session ends with them.
        assert!(failed(&study) <= recipe.runs_max, "{limit}: {said:?}");
        study.verify();
        if said.code == Some(0) {
            break;
        }
        // Whatever it is that no file is left for: the session says so and ends.
        let says = said.code == Some(1) && said.out.contains("Too many open files");
        assert!(says, "{limit}: {said:?}");
        refused += 1;
    }
    assert!(refused > 0, "no limit was between the two");
}

/// Returns how many runs have failed.
fn failed(study: &Study) -> usize {
    let failed = |run: &serde_json::Value| run["cause"] == "failed";
    study.runs().iter().filter(|run| failed(run)).count()
}

#[test]
fn a_limit_on_the_size_of_files_is_said() {
    let study = begun();
    let said = limited(&study, "ulimit -f 0", &["start", "t0", "b"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    for blocks in [8, 64, 100, 120] {
        let said = limited(
            &study,
            &format!("ulimit -f {blocks}"),
            &["start", "t0", "b"],
        );
        assert!(said.code.is_some(), "{said:?}");
    }
    study.verify();
}

#[test]
fn a_number_that_readers_disagree_on_is_not_taken() {
    let study = begun();
    for arguments in [
        ["void", "9007199254740992", "--reason=x"],
        ["draw", "append", "--from=18446744073709551615"],
    ] {
        assert_eq!(study.prereg(&arguments).code, Some(2), "{arguments:?}");
    }
    study.verify();
}

#[test]
fn rows_of_a_draft_that_are_not_what_was_opened_decide_nothing() {
    for forgery in [
        "UPDATE drafts SET registration = replace(registration, '\"per_slot\":3', '\"per_slot\":4')",
        "DELETE FROM drafts",
    ] {
        let study = begun();
        let connection = Connection::open(study.record()).unwrap();
        assert_eq!(connection.execute(forgery, []).unwrap(), 1, "{forgery}");
        drop(connection);
        for verb in [
            &["start", "t0", "b"][..],
            &["status"],
            &["register", "study.toml"],
        ] {
            let said = study.prereg(&[verb, &["--json"]].concat());
            assert_eq!(said.code, Some(1), "{forgery}: {said:?}");
            assert_eq!(said.error_code(), "row-unreadable", "{forgery}");
        }
        assert_eq!(study.prereg(&["verify", "study.prereg.db"]).code, Some(5));
    }
}

#[test]
fn a_full_disk_is_the_fault_of_what_is_written_there() {
    let study = begun();
    for _ in 0..60 {
        study.data(&["deviate", "--note", &"long ".repeat(200)]);
    }
    // More than the index beside the log takes, and less than the export.
    let limit = "trap '' XFSZ; ulimit -f 80";
    let said = limited(&study, limit, &["export", "--to", "all.jsonl", "--json"]);
    assert_eq!(
        (said.code, said.error_code()),
        (Some(1), "file".to_owned()),
        "{said:?}"
    );
    assert!(
        said.out.contains("all.jsonl") && !said.out.contains("study.prereg.db"),
        "{said:?}"
    );
    let names = std::fs::read_dir(&study.base).unwrap();
    let names = names.map(|found| found.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names.filter(|name| name.starts_with("all.jsonl")).collect();
    assert!(left.is_empty(), "{left:?}");
    study.data(&["export", "--to", "all.jsonl"]);
}
